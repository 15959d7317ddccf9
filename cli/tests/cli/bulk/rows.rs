//! Which rows are sent: valid, invalid, corrected, in every format.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Bench, MESSAGE, csv};
use crate::support::{Idempost, has};

#[test]
fn every_row_is_sent_once_and_the_same_command_sends_nothing_more() {
    let bench = Bench::with(250);
    let report = bench.send("--json").json();
    let expected =
        json!({"object": "bulk_report", "state": "finished", "sent": 250, "requests": 3, "rows": 250});
    has(&report, &expected);
    assert_eq!(report.get("already_complete"), None);
    bench.each_got_one(250);
    let subjects: Vec<_> = bench.service.mails().into_iter().map(|mail| mail.subject).collect();
    assert!(subjects.contains(&"Hello Person 7".to_owned()), "{subjects:?}");
    for quiet in ["", "--quiet"] {
        let again = bench.send(quiet);
        assert_eq!(again.stderr.contains("`bulk send` with --again"), quiet.is_empty(), "{again:?}");
        again.ok_with(&[": already complete since 20", ", nothing sent now"]);
        let again = bench.send(&(quiet, "--json")).json();
        has(&again, &json!({"already_complete": true, "sent": 250}));
        assert!(again["complete_since"].as_str().unwrap().starts_with("20"), "{again}");
    }
    bench.each_got_one(250);
    bench.send(&["--again"]).ok();
    let delivered = bench.delivered();
    assert!(delivered.len() == 250 && delivered.values().all(|emails| *emails == 2));
    let requests = bench.service.requests();
    let keys: BTreeSet<_> =
        requests.iter().filter_map(|request| request.headers.get("idempotency-key")).collect();
    assert_eq!(keys.len(), 6, "every batch has its own key: {keys:?}");
}

#[test]
fn a_file_without_rows_is_a_complete_job_only_after_its_first_run() {
    let bench = Bench::with(0);
    let report = bench.send("--json").json();
    has(&report, &json!({"state": "finished", "rows": 0, "sent": 0}));
    assert_eq!(report.get("already_complete"), None);
    has(&bench.send("--json").json(), &json!({"already_complete": true, "sent": 0}));
}

#[test]
fn a_plan_shows_counts_emails_and_an_estimate_without_a_credential() {
    let bench = Bench::with(0);
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", bench.service.base_url());
    idempost.write("people.csv", csv(250) + "P7@example.com,\n,\n");
    let plan = idempost.run(&("bulk plan people.csv", MESSAGE)).ok_with(&[
        "rows        252 (251 valid, 0 invalid, 1 blank)",
        "recipients  251 (1 with the recipients of an earlier row)",
        "estimate    251 rows = 3 requests; 0.3 s at 10 requests/s",
        "row 3\n  from      hi@acme.test\n  to        p3@example.com\n  subject   Hello Person 3\n  | Hi",
    ]);
    assert!(!plan.contains("row 4\n"), "{plan}");
    let plan = idempost.run(&("bulk plan people.csv --json", MESSAGE)).json();
    has(&plan, &json!({"valid": 251, "batches": 3, "duplicates": 1}));
    assert_eq!(plan["emails"][0]["email"]["subject"], "Hello Person 1");
    assert_eq!(bench.service.asked(), 0);
    let unset = Idempost::new();
    unset.write("people.csv", csv(1));
    unset.run(&("bulk plan people.csv", MESSAGE)).ok();
    // Without a base URL, the plan isn't kept.
    unset.run("bulk list").says(&["no jobs yet"]);
}

#[test]
fn invalid_rows_are_all_reported_and_nothing_is_sent() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME\nada@example.com,Ada\nb@@example.com,Bob\ncy@example.com,Cy\n,Dee\n");
    let expected = [
        "2 of 4 rows are invalid; nothing was sent",
        "row 2 (line 3), to: an address must have exactly one `@` (found `b@@example.com`)",
        "row 4 (line 5), to: ",
        "invalid.csv",
        "--skip-invalid",
    ];
    bench.send("").fails_with(2, &expected);
    let error = bench.send(&["--json"]).error(2);
    assert_eq!((error["problems"].as_array().unwrap().len(), &error["outcome"]), (2, &"not_sent".into()));
    assert_eq!(bench.service.asked(), 0);

    bench.send(&["--skip-invalid"]).exits(10).prints(&["2 sent, 2 invalid"]);
    bench.each_got_one(2);

    let list = bench.bulk("report --json --jq '.files[0]'").ok();
    let list = std::fs::read_to_string(list.trim()).unwrap();
    assert!(list.starts_with("to,NAME,_row,_problem\nb@@example.com,Bob,2,"), "{list}");
    // One row is corrected, the other one removed.
    let corrected = list.lines().take(2).collect::<Vec<_>>().join("\n").replace("b@@", "b@");
    bench.write("corrected.csv", corrected + "\n");
    bench.send("--only corrected.csv").ok();
    bench.each_got_one(3);
    bench.write("sent.csv", "to,NAME,_row,_problem\nada@example.com,Ada,1,\n");
    let refused = bench.send("--only sent.csv");
    refused.fails_with(2, &["has rows that weren't invalid in the earlier job: 1"]);
}

#[test]
fn a_stated_delimiter_belongs_to_the_job_and_to_its_lists_of_rows() {
    // The header has more semicolons than anything else.
    let file = "to,NAME,note;a;b;c\nada@example.com,Ada,1\nb@@example.com,Bob,2\n";
    for (stated, delimiter) in [("comma", ","), ("tab", "\t"), ("|", "|")] {
        let bench = Bench::with(0);
        bench.write("people.csv", file.replace(',', delimiter));
        bench.plan("").fails_with(2, &["column 1", "--delimiter"]);
        let ignored = ["--ignore-column", "note;a;b;c"];
        let flags = (ignored, ["--delimiter", stated]);
        bench.plan(&(flags, "--skip-invalid")).ok();
        // The job knows its delimiter.
        bench.bulk("resume people.csv --skip-invalid").exits(10).prints(&["1 sent, 1 invalid"]);
        let invalid = bench.file("invalid.csv");
        let list = std::fs::read_to_string(&invalid).unwrap();
        assert!(list.starts_with(&"to,NAME,note;a;b;c,_row,".replace(',', delimiter)), "{list}");
        std::fs::write(&invalid, list.replace("b@@", "b@")).unwrap();
        bench.bulk(&(["send", "--yes", "--only", invalid.to_str().unwrap()], ignored)).ok();
        bench.each_got_one(2);
        let grown = file.replace("b@@", "b@") + "cy@example.com,Cy,3\n";
        bench.write("people.csv", grown.replace(',', delimiter));
        bench.send(&(flags, "--add")).ok();
        bench.each_got_one(3);
    }
    let bench = Bench::with(1);
    for wrong in ["", "commas", "\"", "é"] {
        bench.plan(&["--delimiter", wrong]).fails_with(2, &["--delimiter must be comma, semicolon, tab, or"]);
    }
    let json = bench.plan("--format jsonl --delimiter comma");
    json.fails_with(2, &[" --delimiter:1:1\n", "JSON Lines, which has no delimiter"]);
    // A stated delimiter replaces even that of TSV.
    bench.plan("--format tsv --delimiter comma").ok();
}

/// A job with an invalid row, whose correction is in `list.csv` and in `corrected.csv`.
fn skipped(flags: &str) -> Bench {
    let bench = Bench::with(0);
    let people = "to,NAME,order\nada@example.com,Ada,1\nb@@example.com,Bob,2\n";
    bench.write("people.csv", people);
    bench.write("corrected.csv", people.replace("b@@", "b@"));
    bench.send(&(flags, "--skip-invalid")).exits(10);
    let list = std::fs::read_to_string(bench.file("invalid.csv")).unwrap();
    bench.write("list.csv", list.replace("b@@", "b@"));
    bench
}

#[test]
fn a_corrected_row_is_sent_once_whether_alone_or_with_its_file() {
    // F-09
    for flags in ["--ignore-column order", "--key order"] {
        for orders in [[0, 1], [1, 0]] {
            let bench = skipped(flags);
            for order in orders {
                let how = if order == 0 {
                    "--json --only list.csv"
                } else {
                    bench.write("people.csv", bench.idempost.read("corrected.csv"));
                    "--json --add"
                };
                // The same command sends nothing more.
                for _ in 0..2 {
                    let report = bench.send(&(flags, how)).json();
                    assert_eq!(report["sent"], 2, "{flags:?} {how:?} {report}");
                    bench.each_got_one(2);
                }
            }
            // It is one job.
            let status = bench.bulk(&["status", "people.csv", "--json"]).json();
            has(&status, &json!({"sent": 2, "state": "finished"}));
        }
    }
}

#[test]
fn corrected_rows_are_sent_only_after_the_valid_ones() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME\nada@example.com,Ada\nb@@example.com,Bob\n");
    bench.send("").fails(2);
    bench.write("list.csv", "to,NAME,_row,_problem\nb@example.com,Bob,2,\n");
    let stderr = bench.send("--only list.csv").fails_with(1, &["--skip-invalid"]);
    assert_eq!(stderr.matches("nothing was sent").count(), 1, "{stderr}");
    assert_eq!(bench.service.asked(), 0);
    // Without its job, the rows that were sent aren't known.
    bench.bulk(&("send --only list.csv --yes", MESSAGE)).fails_with(2, &["FILE"]);
    // A sandbox that ends with the command knows no earlier job.
    bench.send(&["--sandbox", "--only", "list.csv"]).ok();
}

#[test]
fn all_problems_of_the_command_line_are_reported_with_their_flags() {
    let bench = Bench::with(1);
    let wrong = bench.send("--limit 0 --tag x --cc nobody --header X");
    wrong.fails_with(2, &[" --limit:1:1\n", " --tag:1:1\n", " --cc:1:1\n", " --header:1:1\n"]);
    bench.send("--max-rps 0 --concurrency 65 --max-outage soon").fails_with(2, &["3 problems"]);
    let missing = bench.bulk("send nowhere.csv --yes --from a@acme.test");
    missing.fails_with(2, &["couldn't read nowhere.csv"]);
    bench.send(&["--test-to", "nobody"]).fails_with(2, &["--test-to"]);
    assert_eq!(bench.service.asked(), 0);
}

#[test]
fn each_row_has_a_url_for_one_click_unsubscribing() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME,TOKEN,header:List-Unsubscribe\na@example.com,Ada,1/ü&x,\nb@example.com,Bo,2,<mailto:b@acme.test>\n");
    let url = ["--list-unsubscribe", "https://acme.test/u?t={{{TOKEN}}}"];
    let twice = bench.send(&(&url, "--header 'List-Unsubscribe: <https://acme.test/u>'"));
    twice.fails_with(2, &["/headers/List-Unsubscribe: the header is set by `list_unsubscribe`"]);
    let wrong = bench.send("--list-unsubscribe http://acme.test/u?t={{{TOKEN}}}");
    wrong.fails_with(2, &[" --list-unsubscribe:1:1\n", "https URL"]);
    bench.send(&url).ok();
    let headers = |to: &str| {
        let mail = bench.service.mails().into_iter().find(|mail| mail.to == [to]).unwrap();
        let source = String::from_utf8(mail.mime.to_vec()).unwrap();
        let mut headers: Vec<_> =
            source.lines().filter(|line| line.starts_with("List-Unsubscribe")).map(str::to_owned).collect();
        headers.sort();
        headers
    };
    let expected = [
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
        "List-Unsubscribe: <https://acme.test/u?t=1%2F%C3%BC%26x>",
    ];
    assert_eq!(headers("a@example.com"), expected);
    assert_eq!(headers("b@example.com"), ["List-Unsubscribe: <mailto:b@acme.test>"]);
}

#[test]
fn a_plan_warns_of_newsletters_without_unsubscribing_and_of_slow_rows() {
    let bench = Bench::with(1_001);
    bench.plan("").says(&["no List-Unsubscribe header"]);
    for quiet in ["--list-unsubscribe https://acme.test/u?t={{{NAME}}}", "--limit 1000"] {
        assert_eq!(bench.plan(quiet).stderr, "");
    }
    let slow = "1,000 emails with an attachment or scheduled_at: one request each, which takes 100 s";
    bench.plan("--limit 1000 --scheduled-at 'in 1 hour'").says(&[slow]);
}

#[test]
fn a_trial_sends_the_first_rows_or_to_another_address() {
    let bench = Bench::with(120);
    bench.send(&["--limit", "2"]).ok();
    bench.each_got_one(2);
    bench.send(&["--limit", "3", "--test-to", "me@acme.test"]).ok();
    assert_eq!(bench.delivered()["me@acme.test"], 3);
}

#[test]
fn rows_are_read_in_every_format_and_from_standard_input() {
    let bench = Bench::with(0);
    bench.write("people.tsv", "to\tNAME\na@example.com\tAda, Countess\n");
    let send = |file: &str| bench.bulk(&(["send", file, "--yes"], MESSAGE)).ok();
    send("people.tsv");
    bench.write("people.jsonl", "{\"to\":\"b@example.com\",\"variables\":{\"NAME\":\"Bo\"}}\n{\"to\":[\"c@example.com\"],\"subject\":\"Own\"}\n");
    send("people.jsonl");
    // The same rows are the same job.
    for _ in 0..2 {
        let piped = ("bulk send - --yes --format csv", MESSAGE);
        bench.idempost.run_with(&piped, "to,NAME\nd@example.com,Dee\n").ok();
    }
    bench.each_got_one(4);
}

#[test]
fn a_command_s_output_is_a_source_that_can_grow() {
    let bench = Bench::with(0);
    let send = |command: &str, flags: &str| {
        let named = "send --yes --job orders --key order --add";
        bench.bulk(&((named, ["--from-command", command]), (MESSAGE, flags)))
    };
    bench.write("a.csv", "to,NAME,order\na@example.com,Ada,1\nb@example.com,Bo,2\n");
    send("cat a.csv", "").ok();
    bench.write("b.csv", "to,NAME,order\nb@example.com,Bob,2\nc@example.com,Cy,3\n");
    let grown = send("cat b.csv", "--json").json();
    assert_eq!(grown["sent"], 3);
    let lines = r#"printf '%s\n' '{"to":"d@example.com","variables":{"NAME":"Dee"},"order":"4"}'"#;
    send(lines, "--ignore-column order").ok();
    bench.each_got_one(4);
    let failed = [" --from-command:1:1\n", "the command failed (exit status: 3): no such table"];
    send("cat a.csv; echo 'no such table' >&2; exit 3", "").fails_with(2, &failed);
    send("cat a.csv", "--max-size 10").fails_with(2, &["output exceeds 10 bytes"]);
    bench.bulk(&("plan --from-command 'cat a.csv'", MESSAGE)).fails_with(2, &["--job"]);
    bench.each_got_one(4);
}
