//! Validation of rows.

use super::*;

#[test]
fn all_problems_of_all_rows_are_reported_with_row_line_column_and_value() {
    let folder = Folder::new();
    let csv = "to,from,tag:kind,var:NAME,html,\n\
               a@x.test,,,Ada,,\n\
               nobody; b@x.test,also,not a tag,,,\n\
               ,,,,,\n\
               ,,,Bob,,stray\n\
               c@x.test,x\n\
               d@x.test,,,,<b>own</b>,\n\
               e@x.test,,,E,,,7\n";
    let message = Message::new().from("hi@acme.test").subject("{{{NAME|you}}}").html("{{{NAME}}}{{{NAME}}}");
    let plan = folder.csv(csv, &message).unwrap();
    let expected = [
        "row 2 (line 3): from: an address must have exactly one `@` (found \"also\")",
        "row 2 (line 3): to: an address must have exactly one `@` (found \"nobody\")",
        "row 2 (line 3): tag:kind: a tag value must contain only ASCII letters, digits, `_` and `-` (found \"not a tag\")",
        "row 2 (line 3): var:NAME: the variable `NAME` in `html` has no value, and its placeholder has no fallback",
        "row 4 (line 5): column 6 has no name in the header (found \"stray\")",
        "row 4 (line 5): to: `to` must have at least one address",
        "row 5 (line 6): a row must have 6 fields, as many as the header; is a quote missing? (found \"2 fields\")",
        "row 7 (line 8): a row must have 6 fields, as many as the header; is a quote missing? (found \"7 fields\")",
    ];
    assert_eq!(describe_plan(&plan), expected);
    let counts = plan.counts();
    assert_eq!((counts.rows, counts.valid, counts.invalid, counts.blank, counts.problems), (7, 2, 4, 1, 8));
    let sent: Vec<_> = prepare_all(&plan).into_iter().flat_map(|p| p.rows).map(|row| row.row).collect();
    assert_eq!(sent, [1, 6]);
    assert_eq!(emails(&plan)[1]["html"], "<b>own</b>", "a row's own column is no template");
}

#[test]
fn what_follows_from_a_missing_variable_is_no_further_problem() {
    let folder = Folder::new();
    let message = Message::new().from("hi@acme.test").subject("s").text("{{{A}}}").tag("kind", "{{{A}}}");
    let plan = folder.csv("to,var:A\na@x.test,\nb@x.test,b\n", &message).unwrap();
    let missing = |field| {
        format!(
            "row 1 (line 2): var:A: the variable `A` in `{field}` has no value, and its placeholder has no fallback"
        )
    };
    assert_eq!(describe_plan(&plan), [missing("text"), missing("tags")]);
}

#[test]
fn invalid_rows_are_written_with_their_problems_and_can_be_corrected_there() {
    let folder = Folder::new();
    let csv = "\u{feff}to;var:NAME\na@x.test;Ada\nnobody;\"B;ob\"\nb@x.test\nc@x.test;C;more\n";
    let plan = folder.csv(csv, &message()).unwrap();
    let path = plan.invalid_rows().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let expected = "\u{feff}to;var:NAME;_row;_problem\n\
        nobody;\"B;ob\";2;\"to: an address must have exactly one `@` (found \"\"nobody\"\")\"\n\
        b@x.test;;3;\"a row must have 2 fields, as many as the header; is a quote missing? (found \"\"1 fields\"\")\"\n\
        c@x.test;C;4;\"a row must have 2 fields, as many as the header; is a quote missing? (found \"\"3 fields\"\")\";more\n";
    assert_eq!(text, expected);
    let corrected = text.replace("nobody", "b@x.test").replace(";more", "");
    let again = folder.csv(corrected, &message()).unwrap();
    assert_eq!((again.counts().valid, again.invalid_rows()), (3, None));
    let again = folder.csv(text, &message()).unwrap();
    let rewritten = fs::read_to_string(again.invalid_rows().unwrap()).unwrap();
    assert!(rewritten.starts_with("\u{feff}to;var:NAME;_row;_problem\nnobody;\"B;ob\";1;"), "{rewritten}");
}

#[test]
fn twenty_problems_are_kept_and_all_are_counted() {
    let folder = Folder::new();
    let plan = folder.csv(format!("to\n{}", "nobody\n".repeat(1_000)), &message()).unwrap();
    assert_eq!((plan.problems().len(), plan.counts().problems, plan.counts().invalid), (20, 1_000, 1_000));
    let invalid = fs::read_to_string(plan.invalid_rows().unwrap()).unwrap();
    assert_eq!((invalid.lines().next(), invalid.lines().count()), (Some("to,_row,_problem"), 1_001));
    assert_eq!(Plan::open(plan.dir()).unwrap().problems(), plan.problems());
}

#[test]
fn rows_of_json_lines_report_shape_and_rules_at_their_pointers() {
    let folder = Folder::new();
    let lines = "\u{feff}{\"to\":\"a@x.test\",\"subject\":7,\"tags\":[{\"name\":\"a b\",\"value\":\"x\"}],\"variables\":{\"A\":[1]},\"attachment\":1}\n\
                 {\"to\":\n\
                 {\"to\":\"b@x.test\",\"variables\":{\"A\":1.5,\"B\":null},\"unknown\":1}\n\
                 {\"to\":\"c@x.test\",\"variables\":{\"A\":\"x\"}}\n\
                 {\"to\":\"c@x.test\",\"variables\":7}\n\
                 [1]\n";
    let input = Input::json_lines(folder.file("a.jsonl", lines));
    let message = message().text("{{{A}}}");
    let plan = folder.plan(input, &message).unwrap();
    let places: Vec<_> =
        plan.problems().iter().map(|p| (p.row, p.column.as_deref().unwrap_or(""), &*p.code)).collect();
    let expected = [
        (1, "/variables/A", "type"),
        (1, "/attachment", "type"),
        (1, "/subject", "type"),
        (1, "/tags/0/name", "charset"),
        (1, "/variables/A", "required"),
        (2, "", "json"),
        (3, "/unknown", "unknown"),
        (5, "/variables", "type"),
        (5, "/variables/A", "required"),
        (6, "", "type"),
        (6, "/variables/A", "required"),
    ];
    assert_eq!(places, expected);
    assert_eq!(emails(&plan).len(), 1);
    assert_eq!(plan.problems()[6].message, "an email has no field `unknown`");
    let invalid = fs::read_to_string(plan.invalid_rows().unwrap()).unwrap();
    assert!(invalid.starts_with("_row,_problem,_json\n1,"), "{invalid}");
    assert!(invalid.lines().nth(2).unwrap().ends_with(",\"{\"\"to\"\":\""), "{invalid}");
}

#[test]
fn a_variable_outside_of_variables_is_reported_with_its_place() {
    let folder = Folder::new();
    let input = Input::json_lines(folder.file("a.jsonl", "{\"to\":\"a@x.test\",\"NAME\":\"Ada\"}\n"));
    let message = message().text("Hello {{{NAME|there}}}");
    let plan = folder.plan(input, &message).unwrap();
    assert_eq!(
        describe_plan(&plan),
        ["row 1 (line 1): /NAME: an email has no field `NAME`; put variables in `variables`"]
    );
}

#[test]
fn large_fields_are_problems_of_their_row() {
    let folder = Folder::new();
    let max = crate::input::MAX_FIELD;
    let csv = format!("to,text\na@x.test,{}\nb@x.test,{}\n", "x".repeat(max), "x".repeat(max + 1));
    let plan = folder.csv(csv, &message()).unwrap();
    assert_eq!(
        describe_plan(&plan),
        [
            "row 2 (line 3): text: a field must have at most 1048576 bytes; is a quote missing? (found \"1048577 bytes\")"
        ]
    );
    let problem = error(folder.csv(format!("to,text\na@x.test,\"{}\"\n", "x\n".repeat(3 << 20)), &message()));
    assert!(problem.contains("people.csv:2, row 1: a row must have at most 4194304 bytes"), "{problem}");
}

#[test]
fn duplicates_and_recipients_are_counted() {
    let folder = Folder::new();
    let csv = "to,cc,bcc\na@x.test,c@x.test,\nAda <A@x.test>,,\nb@x.test;a@x.test,,d@x.test;e@x.test\na@x.test;B@x.test,,\nnobody,,\nnobody,,\n";
    let plan = folder.csv(csv, &message()).unwrap();
    assert_eq!((plan.counts().duplicates, plan.counts().recipients), (2, 9));
}

#[test]
fn a_job_of_some_rows_has_no_others_and_the_options_of_the_first_job() {
    let folder = Folder::new();
    folder.file("files/x", "x");
    let file = folder
        .file("people.csv", "to|note|attachment\na@x.test|1|\nb@x.test|2|\nc@x.test|3|x\nd@x.test|4|\n");
    let options = PlanOptions {
        job: JobOptions {
            ignore_columns: vec!["note".to_owned()],
            test_to: Some("me@x.test".to_owned()),
            ..JobOptions::default()
        },
        attachments: Some(folder.0.path().join("files")),
        origin: "https://a.test".to_owned(),
        profile: Some("work".to_owned()),
        ..PlanOptions::default()
    };
    let input = Input::csv(file).delimiter(b'|');
    let first = plan(input, &message(), &options, &folder.jobs()).unwrap();
    let some = first.draft_part(Selection::new(vec![1, 3])).unwrap();
    let some =
        some.write(&mut KnownRows::default(), ChangedRows::Reject).unwrap().publish(Vec::new()).unwrap();
    assert_eq!((first.counts().valid, some.counts().valid), (4, 2));
    let rows: Vec<_> = prepare_all(&some).into_iter().flat_map(|request| request.rows).collect();
    assert_eq!(rows.iter().map(|row| row.row).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(rows.iter().map(|row| row.recipient.as_str()).collect::<Vec<_>>(), ["me@x.test"; 2]);
    assert_eq!(emails(&some)[0]["attachments"], json!([{"filename": "x", "content": "eA=="}]));
    assert_eq!((some.origin(), some.profile()), ("https://a.test", Some("work")));
    assert_ne!(first.id(), some.id());
}

#[test]
fn rows_with_the_same_key_are_sent_once_and_counted() {
    let folder = Folder::new();
    let csv = "to,var:ORDER\na@x.test,1\n\"a@x.test\",1\nA@x.test,1\na@x.test,2\nnobody,3\nnobody,3\n";
    let file = folder.file("orders.csv", csv);
    let keyed = |key: Option<&str>| options(JobOptions { key: key.map(str::to_owned), ..Default::default() });
    let rows = |key: Option<&str>| {
        let options = keyed(key);
        let plan = plan(Input::csv(&file), &message(), &options, &folder.jobs()).unwrap();
        let counts = plan.counts();
        assert_eq!(counts.rows, counts.valid + counts.invalid + counts.repeated);
        let rows = prepare_all(&plan).into_iter().flat_map(|request| request.rows).map(|row| row.row);
        (rows.collect::<Vec<_>>(), counts.repeated, counts.invalid)
    };
    assert_eq!(rows(None), (vec![1, 3, 4], 1, 2));
    assert_eq!(rows(Some("var:ORDER")), (vec![1, 4], 2, 2));
    assert_eq!(rows(Some("to")), (vec![1], 3, 2));
    let missing = plan(Input::csv(&file), &message(), &keyed(Some("order")), &folder.jobs());
    assert!(error(missing).contains("no column is named `order`; the key must be a column"));
    let json = "{\"id\":1,\"to\":\"a@x.test\"}\n{\"to\":\"a@x.test\",\"id\":\"1\"}\n{\"to\":\"a@x.test\"}\n{\"variables\":{\"id\":2},\"to\":\"a@x.test\"}\n";
    let input = Input::json_lines(folder.file("o.jsonl", json));
    let keyed = plan(input, &message(), &keyed(Some("id")), &folder.jobs()).unwrap();
    assert_eq!((keyed.counts().valid, keyed.counts().repeated), (2, 1));
    assert!(
        describe_plan(&keyed)[0].starts_with("row 3 (line 3): id: the row has no key"),
        "{:?}",
        describe_plan(&keyed)
    );
}

#[test]
fn a_field_that_is_there_twice_is_a_problem_of_its_row() {
    let folder = Folder::new();
    let line = "{\"to\":\"a@x.test\",\"to\":\"b@x.test\"}\n{\"to\":\"c@x.test\",\"tags\":[{\"name\":\"a\",\"name\":\"b\"}]}\n";
    let input = Input::json_lines(folder.file("people.jsonl", line));
    let plan = folder.plan(input, &message()).unwrap();
    assert!(describe_plan(&plan)[0].contains("the object contains `to` twice"), "{:?}", describe_plan(&plan));
    assert!(
        describe_plan(&plan)[1].contains("the object contains `name` twice"),
        "{:?}",
        describe_plan(&plan)
    );
}
