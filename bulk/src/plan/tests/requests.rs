//! The bodies of requests.

use super::*;

#[test]
fn a_row_overrides_the_defaults_field_by_field() {
    let folder = Folder::new();
    let message = Message::new()
        .from("hi@acme.test")
        .subject("{{{NAME|you}}}")
        .html("<p>{{{NAME}}}</p>")
        .text("{{{NAME}}} {{{N}}}")
        .cc("c@x.test")
        .bcc("d@x.test")
        .reply_to("r@x.test")
        .topic_id("t1")
        .tag("kind", "k{{{N}}}")
        .header("X-Name", "{{{NAME}}}")
        .variable("NAME", "<Ada>")
        .variable("N", 7);
    let csv = "to,cc,bcc,reply_to,from,subject,text,html,topic_id,tag:kind,header:x-name,var:NAME\n\
               a@x.test,,,,,,,,,,,\n\
               b@x.test; c@x.test,e@x.test;f@x.test,g@x.test,s@x.test,Bob <b@x.test>,S,T,H,t2,own,mine,Bob\n";
    let plan = folder.csv(csv, &message).unwrap();
    let expected = json!([
        {
            "from": "hi@acme.test", "to": ["a@x.test"], "subject": "<Ada>", "cc": ["c@x.test"], "bcc": ["d@x.test"],
            "reply_to": ["r@x.test"], "html": "<p>&lt;Ada&gt;</p>", "text": "<Ada> 7", "headers": {"X-Name": "<Ada>"},
            "topic_id": "t1", "tags": [{"name": "kind", "value": "k7"}],
        },
        {
            "from": "Bob <b@x.test>", "to": ["b@x.test", "c@x.test"], "subject": "S", "cc": ["e@x.test", "f@x.test"],
            "bcc": ["g@x.test"], "reply_to": ["s@x.test"], "html": "H", "text": "T", "headers": {"x-name": "mine"},
            "topic_id": "t2", "tags": [{"name": "kind", "value": "own"}],
        },
    ]);
    assert_eq!(json!(emails(&plan)), expected);
    let recipients: Vec<_> = prepare_all(&plan).remove(0).rows.into_iter().map(|row| row.recipient).collect();
    assert_eq!(recipients, ["a@x.test", "b@x.test; c@x.test"]);
}

#[test]
fn a_stored_template_has_the_variables_of_prefixed_columns() {
    let folder = Folder::new();
    let message =
        Message::new().template("welcome").subject("{{{CITY|x}}}").variable("PLAN", "free").variable("N", 7);
    let plan =
        folder.csv("to,var:NAME,CITY,var:PLAN\na@x.test,Ada,Rome,\nb@x.test,,,pro\n", &message).unwrap();
    let expected = json!([
        {"to": ["a@x.test"], "subject": "Rome", "template": {"id": "welcome", "variables": {"N": 7, "NAME": "Ada", "PLAN": "free"}}},
        {"to": ["b@x.test"], "subject": "x", "template": {"id": "welcome", "variables": {"N": 7, "PLAN": "pro"}}},
    ]);
    assert_eq!(json!(emails(&plan)), expected);
}

#[test]
fn a_body_and_a_stored_template_of_row_and_message_replace_each_other() {
    let folder = Folder::new();
    let rows = [
        json!({"to": "a@x.test", "template": {"id": "own", "variables": {"A": 1}}, "variables": {"A": 2, "B": 3}}),
        json!({"to": "b@x.test"}),
        json!({"to": "c@x.test", "template": {"id": "own"}, "html": "x"}),
    ];
    let plan = folder.json(&rows, &message()).unwrap();
    let expected = json!([
        {
            "from": "Acme <hi@acme.test>", "to": ["a@x.test"], "subject": "Hello",
            "template": {"id": "own", "variables": {"A": 1, "B": 3}},
        },
        {"from": "Acme <hi@acme.test>", "to": ["b@x.test"], "subject": "Hello", "html": "<p>Hi</p>"},
    ]);
    assert_eq!(json!(emails(&plan)), expected);
    assert_eq!(describe_plan(&plan), ["row 3 (line 3): /html: `html` and `template` are mutually exclusive"]);
    let stored = Message::new().from("hi@acme.test").subject("s").template("welcome").variable("A", 1);
    let rows = "to,html,text,template\na@x.test,own,,\nb@x.test,,own,\nc@x.test,,,own\nd@x.test,,,\n";
    let bodies = emails(&folder.csv(rows, &stored).unwrap());
    let bodies: Vec<_> = bodies
        .iter()
        .map(|email| json!([email.get("html"), email.get("text"), email.get("template")]))
        .collect();
    let expected = json!([
        ["own", null, null],
        [null, "own", null],
        [null, null, {"id": "own", "variables": {"A": 1}}],
        [null, null, {"id": "welcome", "variables": {"A": 1}}],
    ]);
    assert_eq!(json!(bodies), expected);
}

#[test]
fn emails_with_attachments_or_a_schedule_are_sent_one_by_one() {
    let folder = Folder::new();
    folder.file("files/é.txt", "abc");
    folder.file("b.bin", [0, 255]);
    let csv = "to,attachment,scheduled_at\n\
               a@x.test,,\n\
               b@x.test,files/é.txt; b.bin,\n\
               c@x.test,,in 1 hour\n\
               d@x.test,,\n";
    let plan = folder.csv(csv, &message()).unwrap();
    assert_eq!((plan.counts().batches, plan.counts().singles, plan.batches()), (1, 2, 3));
    let requests = prepare_all(&plan);
    let rows: Vec<Vec<u64>> = requests.iter().map(|p| p.rows.iter().map(|row| row.row).collect()).collect();
    assert_eq!(rows, [vec![2], vec![3], vec![1, 4]]);
    let kinds: Vec<_> = requests.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [BatchKind::Single, BatchKind::Single, BatchKind::Batch]);
    let emails = emails(&plan);
    let expected =
        json!([{"filename": "é.txt", "content": "YWJj"}, {"filename": "b.bin", "content": "AP8="}]);
    assert_eq!(emails[0]["attachments"], expected);
    assert_eq!(emails[1]["scheduled_at"], "in 1 hour");
    let size: usize = requests.iter().map(|p| p.body.len()).sum();
    assert_eq!(plan.counts().bytes, size as u64, "the content of files is counted");
    let preview = plan.preview(2).unwrap();
    assert_eq!(preview.len(), 2);
    assert_eq!(
        (preview[1].row, &preview[1].attachments[..]),
        (2, &["files/é.txt".to_owned(), "b.bin".to_owned()][..])
    );
    let scheduled = folder.csv("to\na@x.test\nb@x.test\n", &message().scheduled_at("in 2 hours")).unwrap();
    assert_eq!((scheduled.counts().singles, scheduled.counts().batches), (2, 0));
}

#[test]
fn an_attachment_that_is_missing_too_large_or_outside_of_the_folder_is_a_problem() {
    let folder = Folder::new();
    folder.file("input/ok.txt", "x");
    folder.file("secret.txt", "x");
    let large = fs::File::create(folder.0.path().join("input/large")).unwrap();
    large.set_len(31 * 1024 * 1024).unwrap();
    let secret = folder.0.path().join("secret.txt");
    let csv = format!(
        "to,attachment\na@x.test,missing.txt\na@x.test,../secret.txt\na@x.test,{}\na@x.test,.\na@x.test,large\na@x.test,ok.txt\n",
        secret.display()
    );
    let input = Input::csv(folder.file("input/people.csv", csv));
    let made = folder.plan(input, &message()).unwrap();
    let problems = describe_plan(&made);
    let expected = [
        "couldn't read the attachment",
        "or below",
        "or below",
        "an attachment must be a regular file",
        "the attachments must have at most 41943040 bytes after Base64",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains("attachment: ") && problem.contains(expected), "{problem}");
    }
    fs::remove_file(folder.0.path().join("input/ok.txt")).unwrap();
    let error = made.preparer().unwrap().prepare(0).unwrap_err();
    assert!(matches!(error, BulkError::PlanChanged(_)), "{error}");
    let elsewhere = PlanOptions { attachments: Some(folder.0.path().to_owned()), ..PlanOptions::default() };
    let input = Input::csv(folder.file("input/other.csv", "to,attachment\na@x.test,secret.txt\n"));
    let made = plan(input, &message(), &elsewhere, &folder.jobs()).unwrap();
    assert_eq!(emails(&made)[0]["attachments"][0]["content"], "eA==");
}

#[test]
fn attachments_have_at_most_40_mib_after_base64() {
    // 30 MiB of files.
    let folder = Folder::new();
    for (name, size) in [("a", 15 << 20), ("b", 15 << 20), ("c", 1)] {
        fs::File::create(folder.0.path().join(name)).unwrap().set_len(size).unwrap();
    }
    let plan = folder.csv("to,attachment\na@x.test,a;b\nb@x.test,a;b;c\n", &message()).unwrap();
    let expected = "row 2 (line 3): attachment: the attachments must have at most 41943040 bytes after Base64 encoding (found \"41943044 bytes\")";
    assert_eq!(describe_plan(&plan), [expected]);
    let mut preparer = plan.preparer().unwrap();
    assert_eq!(preparer.prepare(0).unwrap().body.len() as u64, plan.counts().bytes);
    let own = json!({"to": "a@x.test", "attachment": ["a", "b"], "attachments": [{"filename": "d", "content": "eA=="}]});
    let plan = folder.json(&[own], &message()).unwrap();
    assert!(describe_plan(&plan)[0].contains("41943044 bytes"), "{:?}", describe_plan(&plan));
}

#[test]
fn a_file_that_grew_beyond_the_limit_is_not_sent_without_its_content() {
    let folder = Folder::new();
    let file = folder.file("a", "x");
    let plan = folder.csv("to,attachment\na@x.test,a\n", &message()).unwrap();
    fs::File::options().write(true).open(file).unwrap().set_len(31 << 20).unwrap();
    let error = plan.preparer().unwrap().prepare(0).unwrap_err().to_string();
    assert!(error.contains("the attachments must have at most 41943040 bytes after Base64"), "{error}");
}

#[test]
fn a_batch_has_at_most_100_emails_and_4_mib() {
    //
    let folder = Folder::new();
    let people = |n: usize| (0..n).map(|n| format!("a{n}@x.test")).collect::<Vec<_>>().join("\n");
    let plan = folder.csv(format!("to\n{}", people(250)), &message()).unwrap();
    let sizes: Vec<_> = prepare_all(&plan).iter().map(|p| p.rows.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
    let large = message().html("x".repeat(1 << 20));
    let plan = folder.csv(format!("to\n{}", people(7)), &large).unwrap();
    let requests = prepare_all(&plan);
    assert_eq!(requests.iter().map(|p| p.rows.len()).collect::<Vec<_>>(), [3, 3, 1]);
    assert!(requests.iter().all(|p| p.body.len() <= 4 << 20));
    let size: usize = requests.iter().map(|p| p.body.len()).sum();
    assert_eq!(plan.counts().bytes, size as u64);
    let larger = message().html("x".repeat(5 << 20));
    let plan = folder.csv("to\na@x.test\nb@x.test\n", &larger).unwrap();
    assert_eq!(prepare_all(&plan).iter().map(|p| p.rows.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_body_that_fills_4_mib_exactly_is_one_batch() {
    let folder = Folder::new();
    // Both emails have the HTML, one has the name.
    let sizes = |html: usize, name: usize| -> Vec<usize> {
        let csv = format!("to\na@x.test\n{}@x.test\n", "b".repeat(name));
        let plan = folder.csv(csv, &message().html("x".repeat(html))).unwrap();
        prepare_all(&plan).iter().map(|p| p.body.len()).collect()
    };
    let room = (4 << 20) - sizes(1, 1)[0];
    let (html, name) = (1 + room / 2, 1 + room % 2);
    assert_eq!(sizes(html, name), [4 << 20]);
    assert_eq!(sizes(html, name + 1).len(), 2);
}

#[test]
fn a_trial_is_limited_and_sent_to_the_test_address_only() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to,cc\nnobody,\na@x.test,c@x.test\nb@x.test,\nc@x.test,\n");
    let job = JobOptions { limit: Some(2), test_to: Some("me@x.test".to_owned()), ..JobOptions::default() };
    let made = plan(Input::csv(&file), &message().bcc("d@x.test"), &options(job), &folder.jobs()).unwrap();
    let counts = made.counts();
    assert_eq!((counts.rows, counts.valid, counts.invalid, counts.recipients), (3, 2, 1, 2));
    for email in emails(&made) {
        assert_eq!((&email["to"], email.get("cc"), email.get("bcc")), (&json!(["me@x.test"]), None, None));
    }
    let preview = made.preview(5).unwrap();
    assert_eq!(preview.iter().map(|email| email.row).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(preview[0].email.fields().to, ["me@x.test"]);
    assert_eq!(prepare_all(&made)[0].rows[0].recipient, "me@x.test");
}

#[test]
fn the_hash_is_that_of_the_body() {
    let folder = Folder::new();
    let request = prepare_all(&folder.csv("to\na@x.test\n", &message()).unwrap()).remove(0);
    assert_eq!(request.hash, blake3::hash(&request.body).as_bytes()[..16]);
    assert_eq!(request.batch, 0);
}
