//! Encodings, formats and headers.

use flate2::{Compression, write::GzEncoder};

use super::*;

const PEOPLE: &str =
    "to;subject;var:NAME\r\né@bücher.test;\"Grüße;\n\"\"x\"\"\";Zoë <&>\r\nb@x.test;Hi;🐦\r\n";

fn greeting_message() -> Message {
    Message::new().from("hi@acme.test").html("<p>{{{NAME}}}</p>").text("{{{NAME}}}")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_spreadsheet_is_read_in_every_encoding_and_compressed() {
    let people = PEOPLE.replace(";\n", ";");
    let utf16 = |to: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{people}").encode_utf16().flat_map(to).collect()
    };
    let inputs = [
        people.clone().into_bytes(),
        format!("\u{feff}{people}").into_bytes(),
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
        gzip(people.as_bytes()),
        gzip(&utf16(u16::to_le_bytes)),
    ];
    for (i, bytes) in inputs.into_iter().enumerate() {
        let folder = Folder::new();
        let plan = folder.csv(bytes, &greeting_message()).unwrap();
        let expected = json!([
            {"from": "hi@acme.test", "to": ["é@bücher.test"], "subject": "Grüße;\"x\"", "html": "<p>Zoë &lt;&amp;&gt;</p>", "text": "Zoë <&>"},
            {"from": "hi@acme.test", "to": ["b@x.test"], "subject": "Hi", "html": "<p>🐦</p>", "text": "🐦"},
        ]);
        assert_eq!(json!(emails(&plan)), expected, "input {i}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_a_shell_names_is_read() {
    use std::os::fd::AsRawFd as _;

    let folder = Folder::new();
    let (pipe, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"to\na@x.test\n").unwrap();
    drop(writer);
    let input = Input::file(format!("/dev/fd/{}", pipe.as_raw_fd()));
    let plan = folder.plan(input, &message()).unwrap();
    assert_eq!((plan.counts().valid, plan.name()), (1, Some("pipe")));
}

#[test]
fn a_line_break_in_quotes_belongs_to_the_cell() {
    let folder = Folder::new();
    let plan = folder.csv("to,text\r\na@x.test,\"one\r\ntwo\"\r\n\r\nnobody,x\r\n", &message()).unwrap();
    assert_eq!(emails(&plan)[0]["text"], "one\r\ntwo");
    assert!(describe_plan(&plan)[0].starts_with("row 2 (line 5): to: "), "{:?}", describe_plan(&plan));
}

#[test]
fn the_format_is_derived_from_the_name_or_the_first_character() {
    let folder = Folder::new();
    let line = "{\"to\":\"a@x.test\"}\n";
    let files = [
        ("a.csv", "to\na@x.test\n".as_bytes().to_vec()),
        ("a.tsv", b"to\tvar:A,B\na@x.test\t1\n".to_vec()),
        ("a.jsonl", line.as_bytes().to_vec()),
        ("a.ndjson.gz", gzip(line.as_bytes())),
        ("a", format!("\u{feff} \n{line}").into_bytes()),
        ("b", b"to\na@x.test\n".to_vec()),
    ];
    for (name, content) in files {
        let options =
            options(JobOptions { ignore_columns: vec!["var:A,B".to_owned()], ..Default::default() });
        let input = Input::file(folder.file(name, content));
        let plan = plan(input, &message(), &options, &folder.jobs()).unwrap();
        assert_eq!(emails(&plan)[0]["to"], json!(["a@x.test"]), "{name}");
    }
    let input = Input::csv(folder.file("c", "to\tcc;bcc\na@x.test\t\n")).format(Format::Tsv);
    let job = JobOptions { ignore_columns: vec!["cc;bcc".to_owned()], ..JobOptions::default() };
    assert_eq!(plan(input, &message(), &options(job), &folder.jobs()).unwrap().counts().valid, 1);
    let input = Input::file(folder.file("c.csv", "to|subject\na@x.test|a,b\n")).delimiter(b'|');
    let plan = folder.plan(input, &message()).unwrap();
    assert_eq!(emails(&plan)[0]["subject"], "a,b");
}

#[test]
fn a_reader_is_copied_into_the_folder_of_the_job() {
    let folder = Folder::new();
    let input = Input::reader("standard input", "to\na@x.test\n".as_bytes());
    let plan = folder.plan(input, &message()).unwrap();
    assert_eq!((plan.input_name(), plan.counts().valid), ("standard input", 1));
    assert_eq!(fs::read_to_string(plan.dir().join("input")).unwrap(), "to\na@x.test\n");
    assert_eq!(Plan::open(plan.dir()).unwrap().counts(), plan.counts());
}

#[tokio::test]
async fn rows_of_the_application_are_emails_with_variables() {
    let folder = Folder::new();
    let row = |i: u32| json!({"to": format!("r{i}@x.test"), "variables": {"NAME": i}});
    let rows = futures_util::stream::iter((0..12_000).map(row));
    let input = Input::rows(rows, &folder.jobs()).await.unwrap();
    let greeting = greeting_message().subject("s");
    let plan = folder.plan(input, &greeting).unwrap();
    assert_eq!((plan.counts().valid, plan.batches()), (12_000, 120));
    let last = emails(&plan).pop().unwrap();
    assert_eq!((&last["to"], &last["text"]), (&json!(["r11999@x.test"]), &json!("11999")));
    let left = fs::read_dir(folder.jobs()).unwrap().count();
    assert_eq!(left, 1, "only the job's folder is left");
    let map = std::collections::HashMap::from([(vec![1], 1)]);
    let error = Input::rows(futures_util::stream::iter([map]), &folder.jobs()).await.unwrap_err();
    assert!(error.to_string().starts_with("row 1 can't be serialized as JSON: "), "{error}");
}

#[test]
fn a_number_that_json_changes_is_neither_a_variable_nor_a_key() {
    let folder = Folder::new();
    let exact = r#"{"to":"a@x.test","KEY":18446744073709551615,"variables":{"NAME":-9223372036854775808}}"#;
    let half = r#"{"to":"b@x.test","KEY":0.5,"variables":{"NAME":9007199254740991.0}}"#;
    let variable = r#"{"to":"c@x.test","KEY":1,"variables":{"NAME":12345678901234567890123}}"#;
    let key = r#"{"to":"d@x.test","KEY":-18446744073709551616,"variables":{"NAME":1}}"#;
    let file = folder.file("people.jsonl", [exact, half, variable, key].join("\n"));
    let options = options(JobOptions { key: Some("KEY".to_owned()), ..JobOptions::default() });
    let plan = plan(Input::file(file), &greeting_message().subject("s"), &options, &folder.jobs()).unwrap();
    assert_eq!((plan.counts().valid, plan.counts().invalid), (2, 2));
    let found: Vec<_> = plan.problems().iter().map(|problem| (problem.row, &*problem.code)).collect();
    assert_eq!(found, [(3, "type"), (4, "type")]);
    assert!(plan.problems().iter().all(|problem| problem.message.ends_with("write it as a string")));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_plans_no_job() {
    let folder = Folder::new();
    let rows = futures_util::stream::iter([Ok(json!({"to": "a@x.test"})), Err("connection lost")]);
    let error = Input::try_rows(rows, &folder.jobs()).await.unwrap_err();
    assert_eq!(error.to_string(), "the rows can't be read");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "connection lost");
    assert_eq!(fs::read_dir(folder.jobs()).unwrap().count(), 0, "no copy of the rows is left");
}

#[test]
fn a_mistake_in_the_header_is_one_error_and_leaves_no_job() {
    let folder = Folder::new();
    let rows = "a@x.test,x,x\n".repeat(50);
    let problem = error(folder.csv(format!("to,sbject,var:N\n{rows}"), &message()));
    assert_eq!(problem.lines().count(), 1, "{problem}");
    assert!(
        problem.ends_with("people.csv:1: column 2 (`sbject`): unknown column; did you mean `subject`?"),
        "{problem}"
    );
    assert!(error(folder.csv(format!("mail,cc,bcc\n{rows}"), &message())).contains("did you mean `to`?"));
    assert!(error(folder.csv("", &message())).ends_with("people.csv is empty"));
    assert!(error(folder.csv("\u{feff}\r\n \r\n", &message())).ends_with("people.csv is empty"));
    assert!(error(folder.csv("t\0o,x\na@x.test,x\n", &message())).contains("NUL"));
    let problem = error(folder.csv(format!("to,cc,bcc\n{rows}"), &Message::new()));
    let missing = ["`from`", "`subject`", "`html` or `text`"];
    assert_eq!(problem.lines().count(), 3, "{problem}");
    for (line, field) in problem.lines().zip(missing) {
        assert!(
            line.ends_with(&format!("people.csv:1: neither the message nor a column provides {field}")),
            "{line}"
        );
    }
    assert!(folder.csv("to,template\na@x.test,welcome\n", &Message::new()).is_ok());
    fs::remove_dir_all(folder.jobs()).unwrap();
    assert!(folder.csv(format!("to,sbject,var:N\n{rows}"), &message()).is_err());
    assert_eq!(fs::read_dir(folder.jobs()).unwrap().count(), 0);
    assert!(folder.csv("to\n", &message()).unwrap().batches() == 0);
}

#[test]
fn an_input_in_another_encoding_is_refused_with_place_and_fix() {
    let folder = Folder::new();
    let problem = error(folder.csv(b"to,var:N\na@x.test,Zo\xeb\n", &message()));
    let expected = "people.csv:2: byte 0xEB at offset 20 isn't UTF-8; save the file as \"CSV UTF-8\"";
    assert!(problem.ends_with(expected), "{problem}");
    assert!(error(folder.csv(b"PK\x03\x04xl/workbook", &message())).contains("people.csv is a workbook"));
    let problem = error(folder.csv("to,var:N\na@x.test,\"Ada\nb@x.test,Bob\n", &message()));
    assert!(problem.ends_with("people.csv:2, row 1: a quote in this row is never closed"), "{problem}");
    let array = folder.plan(Input::file(folder.file("a.json", "[{\"to\":\"a@x.test\"}]")), &message());
    assert!(error(array).contains("is a JSON array"));
}

#[test]
fn problems_of_message_and_options_are_reported_before_the_input_is_read() {
    let folder = Folder::new();
    let job = JobOptions { test_to: Some("nobody".to_owned()), limit: Some(0), ..JobOptions::default() };
    let missing = Input::csv(folder.0.path().join("missing.csv"));
    let problems = error(plan(missing, &message().html("{{{A"), &options(job), &folder.jobs()));
    let lines: Vec<_> = problems.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["/html:", "/test_to:", "the"], "{problems}");
    let missing = Input::csv(folder.0.path().join("missing.csv"));
    let result = folder.plan(missing, &message());
    assert!(matches!(result, Err(BulkError::Io { action: "read", .. })));
    let folder_as_file = folder.plan(Input::csv(folder.0.path()), &message());
    assert!(matches!(folder_as_file, Err(BulkError::Io { action: "read", .. })));
}
