//! Which rows are sent: valid, invalid, corrected, in every format.

use super::{Bench, MESSAGE, csv};
use crate::support::Idempost;

#[test]
fn every_row_is_sent_once_and_the_same_command_sends_nothing_more() {
    let bench = Bench::with(250);
    let report = bench.send(&["--json"]).json();
    assert_eq!((&report["object"], &report["state"]), (&"bulk_report".into(), &"finished".into()));
    assert_eq!(report.get("already_complete"), None);
    assert_eq!(
        (&report["sent"], &report["requests"], &report["rows"]),
        (&250.into(), &3.into(), &250.into())
    );
    bench.each_got_one(250);
    let subjects: Vec<_> =
        bench.service.core().mails("sb_test").into_iter().map(|mail| mail.subject).collect();
    assert!(subjects.contains(&"Hello Person 7".to_owned()), "{subjects:?}");
    for quiet in [&[][..], &["--quiet"]] {
        let again = bench.send(quiet);
        assert_eq!(again.stderr.contains("bulk send --again"), quiet.is_empty(), "{again:?}");
        let result = again.ok();
        assert!(
            result.contains(": already complete since 20") && result.contains(", nothing sent now"),
            "{result}"
        );
        let again = bench.send(&[quiet, &["--json"]].concat()).json();
        assert_eq!((&again["already_complete"], &again["sent"]), (&true.into(), &250.into()));
        assert!(again["complete_since"].as_str().unwrap().starts_with("20"), "{again}");
    }
    bench.each_got_one(250);
    bench.send(&["--again"]).ok();
    let delivered = bench.delivered();
    assert!(delivered.len() == 250 && delivered.values().all(|emails| *emails == 2));
    let keys: std::collections::BTreeSet<_> = bench
        .service
        .core()
        .requests()
        .iter()
        .map(|request| request.headers["idempotency-key"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys.len(), 6, "every batch has its own key: {keys:?}");
}

#[test]
fn a_plan_shows_counts_emails_and_an_estimate_without_a_credential() {
    let bench = Bench::with(0);
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", bench.service.base_url());
    std::fs::write(idempost.home().join("people.csv"), csv(250) + "P7@example.com,\n,\n").unwrap();
    let plan = idempost.run(&("bulk plan people.csv", MESSAGE)).ok();
    for line in [
        "rows        252 (251 valid, 0 invalid, 1 blank)",
        "recipients  251 (1 with the recipients of an earlier row)",
        "estimate    251 rows = 3 requests; 0.3 s at 10 requests/s",
        "row 3\n  from      hi@acme.test\n  to        p3@example.com\n  subject   Hello Person 3\n  | Hi",
    ] {
        assert!(plan.contains(line), "{line}\n{plan}");
    }
    assert!(!plan.contains("row 4\n"), "{plan}");
    let plan = idempost.run(&("bulk plan people.csv --json", MESSAGE)).json();
    assert_eq!((&plan["valid"], &plan["batches"], &plan["duplicates"]), (&251.into(), &3.into(), &1.into()));
    assert_eq!(plan["emails"][0]["email"]["subject"], "Hello Person 1");
    assert_eq!(bench.service.asked(), 0);
    let unset = Idempost::new();
    std::fs::write(unset.home().join("people.csv"), csv(1)).unwrap();
    unset.run(&("bulk plan people.csv", MESSAGE)).ok();
    assert!(unset.run("bulk list").stderr.contains("no jobs yet"), "without a base URL, the plan isn't kept");
}

#[test]
fn invalid_rows_are_all_reported_and_nothing_is_sent() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME\nada@example.com,Ada\nb@@example.com,Bob\ncy@example.com,Cy\n,Dee\n");
    let stderr = bench.send(&[]).fails(2);
    for text in [
        "2 of 4 rows are invalid; nothing was sent",
        "row 2 (line 3), to: an address must have exactly one `@` (found `b@@example.com`)",
        "row 4 (line 5), to: ",
        "invalid.csv",
        "--skip-invalid",
    ] {
        assert!(stderr.contains(text), "{text}\n{stderr}");
    }
    let error = bench.send(&["--json"]).error(2);
    assert_eq!((error["problems"].as_array().unwrap().len(), &error["outcome"]), (2, &"not_sent".into()));
    assert_eq!(bench.service.asked(), 0);

    let skipped = bench.send(&["--skip-invalid"]);
    assert_eq!(skipped.code, Some(10), "{skipped:?}");
    assert!(skipped.stdout.contains("2 sent, 2 invalid"), "{skipped:?}");
    bench.each_got_one(2);

    let list = bench.bulk(&["report", "--json", "--jq", ".files[0]"]).ok();
    let list = std::fs::read_to_string(list.trim()).unwrap();
    assert!(list.starts_with("to,NAME,_row,_problem\nb@@example.com,Bob,2,"), "{list}");
    // One row is corrected, the other one removed.
    let corrected = list.lines().take(2).collect::<Vec<_>>().join("\n").replace("b@@", "b@");
    bench.write("corrected.csv", corrected + "\n");
    bench.idempost.run(&("bulk send people.csv --only corrected.csv --yes", MESSAGE)).ok();
    bench.each_got_one(3);
    bench.write("sent.csv", "to,NAME,_row,_problem\nada@example.com,Ada,1,\n");
    let stderr = bench.idempost.run(&("bulk send people.csv --only sent.csv --yes", MESSAGE)).fails(2);
    assert!(stderr.contains("has rows that weren't invalid in the earlier job: 1"), "{stderr}");
}

/// A job with an invalid row, whose correction is in `list.csv` and in `corrected.csv`.
fn skipped(flags: &[&str]) -> Bench {
    let bench = Bench::with(0);
    let people = "to,NAME,order\nada@example.com,Ada,1\nb@@example.com,Bob,2\n";
    bench.write("people.csv", people);
    bench.write("corrected.csv", people.replace("b@@", "b@"));
    assert_eq!(bench.send(&[flags, &["--skip-invalid"]].concat()).code, Some(10));
    let list = bench.bulk(&["report", "--json", "--jq", ".files[0]"]).ok();
    bench.write("list.csv", std::fs::read_to_string(list.trim()).unwrap().replace("b@@", "b@"));
    bench
}

#[test]
fn a_corrected_row_is_sent_once_whether_alone_or_with_its_file() {
    // F-09
    for flags in [&["--ignore-column", "order"][..], &["--key", "order"]] {
        for orders in [[0, 1], [1, 0]] {
            let bench = skipped(flags);
            for order in orders {
                let with_list = order == 0;
                if !with_list {
                    std::fs::copy(
                        bench.idempost.home().join("corrected.csv"),
                        bench.idempost.home().join("people.csv"),
                    )
                    .unwrap();
                }
                let how = if with_list { &["--only", "list.csv"][..] } else { &["--add"] };
                // The same command sends nothing more.
                for _ in 0..2 {
                    let report = bench.send(&[flags, how, &["--json"]].concat()).json();
                    assert_eq!(report["sent"], 2, "{flags:?} {how:?} {report}");
                    bench.each_got_one(2);
                }
            }
            // It is one job.
            let status = bench.bulk(&["status", "people.csv", "--json"]).json();
            assert_eq!((&status["sent"], &status["state"]), (&2.into(), &"finished".into()));
        }
    }
}

#[test]
fn corrected_rows_are_sent_only_after_the_valid_ones() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME\nada@example.com,Ada\nb@@example.com,Bob\n");
    bench.send(&[]).fails(2);
    bench.write("list.csv", "to,NAME,_row,_problem\nb@example.com,Bob,2,\n");
    let stderr = bench.send(&["--only", "list.csv"]).fails(1);
    assert!(stderr.matches("nothing was sent").count() == 1 && stderr.contains("--skip-invalid"), "{stderr}");
    assert_eq!(bench.service.asked(), 0);
    // Without its job, the rows that were sent aren't known.
    let alone = [&["bulk", "send", "--only", "list.csv", "--yes"], &MESSAGE[..]].concat();
    assert!(bench.idempost.run(&alone).fails(2).contains("FILE"));
    // A sandbox that ends with the command knows no earlier job.
    bench.send(&["--sandbox", "--only", "list.csv"]).ok();
}

#[test]
fn a_mistake_in_the_header_is_one_error() {
    let bench = Bench::with(0);
    bench.write("people.csv", csv(50).replacen("to,", "emial,", 1));
    let stderr = bench.send(&[]).fails(2);
    assert!(stderr.starts_with("error: ") && stderr.contains("column 1 (`emial`)"), "{stderr}");
    bench.write("people.csv", "to,NAME,Notes\nada@example.com,Ada,x\n");
    bench.send(&[]).fails_with(2, &["column 3 (`Notes`): unknown column", "--ignore-column NAME"]);
    bench.send(&["--ignore-column", "Notes"]).ok();
    bench.each_got_one(1);
}

#[test]
fn all_problems_of_the_command_line_are_reported_with_their_flags() {
    let bench = Bench::with(1);
    let wrong = ["--limit", "0", "--tag", "x", "--cc", "nobody", "--header", "X"];
    let stderr = bench.send(&wrong).fails(2);
    for flag in ["--limit", "--tag", "--cc", "--header"] {
        assert!(stderr.contains(&format!(" {flag}:1:1\n")), "{flag}\n{stderr}");
    }
    let stderr = bench.send(&["--max-rps", "0", "--concurrency", "65", "--max-outage", "soon"]).fails(2);
    assert!(stderr.contains("3 problems"), "{stderr}");
    bench.bulk(&["send", "--yes"]).fails_with(2, &["missing: FILE"]);
    let stderr = bench.bulk(&["send", "nowhere.csv", "--yes", "--from", "a@acme.test"]).fails(2);
    assert!(stderr.contains("couldn't read nowhere.csv"), "{stderr}");
    bench.send(&["--test-to", "nobody"]).fails_with(2, &["--test-to"]);
    let unconfirmed = bench.idempost.run(&("bulk send people.csv", MESSAGE));
    let stderr = unconfirmed.fails(2);
    let question = "Send 1 email from hi@acme.test, subject \"Hello Person 1\", the first to p1@example.com?";
    assert!(stderr.contains(question) && stderr.contains("--yes"), "{stderr}");
    assert_eq!(bench.service.asked(), 0);
}

#[test]
fn each_row_has_a_url_for_one_click_unsubscribing() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME,TOKEN,header:List-Unsubscribe\na@example.com,Ada,1/ü&x,\nb@example.com,Bo,2,<mailto:b@acme.test>\n");
    let url = ["--list-unsubscribe", "https://acme.test/u?t={{{TOKEN}}}"];
    let twice = bench.send(&[&url[..], &["--header", "List-Unsubscribe: <https://acme.test/u>"]].concat());
    assert!(twice.fails(2).contains("/headers/List-Unsubscribe: the header is set by `list_unsubscribe`"));
    let plain = bench.send(&["--list-unsubscribe", "http://acme.test/u?t={{{TOKEN}}}"]).fails(2);
    assert!(plain.contains(" --list-unsubscribe:1:1\n") && plain.contains("https URL"), "{plain}");
    bench.send(&url).ok();
    let headers = |to: &str| {
        let mail = bench.service.core().mails("sb_test").into_iter().find(|mail| mail.to == [to]).unwrap();
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
    let plan = |flags: &[&str]| bench.idempost.run(&(("bulk plan people.csv", MESSAGE), flags)).stderr;
    assert!(plan(&[]).contains("no List-Unsubscribe header"), "{}", plan(&[]));
    let quiet = plan(&["--list-unsubscribe", "https://acme.test/u?t={{{NAME}}}"]);
    assert_eq!(quiet, "");
    assert_eq!(plan(&["--limit", "1000"]), "");
    let slow = plan(&["--limit", "1000", "--scheduled-at", "in 1 hour"]);
    assert!(
        slow.contains("1,000 emails with an attachment or scheduled_at: one request each, which takes 100 s"),
        "{slow}"
    );
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
    let send = |file: &str| bench.idempost.run(&(&["bulk", "send", file, "--yes"], MESSAGE)).ok();
    send("people.tsv");
    bench.write("people.jsonl", "{\"to\":\"b@example.com\",\"variables\":{\"NAME\":\"Bo\"}}\n{\"to\":[\"c@example.com\"],\"subject\":\"Own\"}\n");
    send("people.jsonl");
    let piped = [&["bulk", "send", "-", "--yes", "--format", "csv"], &MESSAGE[..]].concat();
    bench.idempost.run_with(&piped, "to,NAME\nd@example.com,Dee\n").ok();
    // The same rows are the same job.
    bench.idempost.run_with(&piped, "to,NAME\nd@example.com,Dee\n").ok();
    bench.each_got_one(4);
    let unread = bench.idempost.run_with(&("bulk send - --html-file -", &MESSAGE[..4]), "");
    assert!(unread.fails(2).contains("standard input can be read only once"));
}

#[test]
fn a_command_s_output_is_a_source_that_can_grow() {
    let bench = Bench::with(0);
    let send = |command: &str, flags: &[&str]| {
        let named = ["bulk", "send", "--yes", "--job", "orders", "--key", "order", "--add"];
        bench.idempost.run(&[&named[..], &["--from-command", command], &MESSAGE[..], flags].concat())
    };
    bench.write("a.csv", "to,NAME,order\na@example.com,Ada,1\nb@example.com,Bo,2\n");
    send("cat a.csv", &[]).ok();
    bench.write("b.csv", "to,NAME,order\nb@example.com,Bob,2\nc@example.com,Cy,3\n");
    let grown = send("cat b.csv", &["--json"]).json();
    assert_eq!(grown["sent"], 3);
    let lines = r#"printf '%s\n' '{"to":"d@example.com","variables":{"NAME":"Dee"},"order":"4"}'"#;
    send(lines, &["--ignore-column", "order"]).ok();
    bench.each_got_one(4);
    let failed = send("cat a.csv; echo 'no such table' >&2; exit 3", &[]).fails(2);
    assert!(failed.contains(" --from-command:1:1\n"), "{failed}");
    assert!(failed.contains("the command failed (exit status: 3): no such table"), "{failed}");
    assert!(send("cat a.csv", &["--max-size", "10"]).fails(2).contains("output exceeds 10 bytes"));
    let unnamed = [&["bulk", "plan", "--from-command", "cat a.csv"], &MESSAGE[..]].concat();
    assert!(bench.idempost.run(&unnamed).fails(2).contains("--job"));
    bench.each_got_one(4);
}

#[test]
fn names_and_addresses_beyond_ascii_arrive_unchanged() {
    let bench = Bench::with(0);
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain("to,NAME\nzoë@example.com,Зоя 漢字 👩🏽‍🚀\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    bench.write("people.csv", "\u{feff}to,NAME\njosé@example.com,José \"Pepe\" Núñez\n");
    bench.send(&[]).ok();
    bench.write("people.csv", utf16);
    bench.send(&[]).ok();
    let mut subjects: Vec<_> =
        bench.service.core().mails("sb_test").into_iter().map(|mail| mail.subject).collect();
    subjects.sort();
    assert_eq!(subjects, ["Hello José \"Pepe\" Núñez", "Hello Зоя 漢字 👩🏽‍🚀"]);
    bench.each_got_one(2);
}
