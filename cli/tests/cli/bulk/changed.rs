//! Jobs whose file or message changes before they are finished.

use idempost_reference_server::faults::{Action, Rule};

use serde_json::json;

use super::{Bench, csv};
use crate::support::has;

/// Sends 100 of 300 rows.
fn stopped() -> Bench {
    let bench = Bench::with(300);
    send_until_quota(&bench, "--concurrency 1", 1);
    bench.each_got_one(100);
    bench
}

/// Sends with these flags until a quota is exhausted after this number of requests.
fn send_until_quota(bench: &Bench, flags: &str, requests: usize) {
    let quota = Action::error(429, "daily_quota_exceeded", "Enough");
    bench.fail_sends(Rule::new(quota).skip_first(requests).always());
    bench.send(flags).exits(6);
    bench.service.faults().clear();
}

#[test]
fn a_row_appended_to_an_unfinished_job_is_sent_only_by_choice() {
    // F-09
    let bench = stopped();
    bench.write("people.csv", csv(301));
    let expected = [
        "the job `people.csv` (",
        ") exists and differs in: rows; nothing was sent",
        "300 of these rows are already in the job, which has 200 rows left to send",
        "1 new row",
        "--add sends the new rows",
        "idempost bulk resume ",
        "to send all rows as a separate job: --job NAME",
    ];
    bench.send("").fails_with(2, &expected);
    bench.each_got_one(100);
    bench.send(&["--add"]).ok();
    bench.each_got_one(301);
    bench.send(&["--add"]).ok();
    let status = bench.bulk(&["status", "people.csv", "--json"]).json();
    has(&status, &json!({"sent": 301, "state": "finished", "name": "people.csv"}));
    bench.each_got_one(301);
}

#[test]
fn a_finished_job_with_other_rows_is_not_to_be_resumed() {
    let bench = Bench::with(3);
    bench.send("").ok();
    bench.write("people.csv", format!("\u{feff}{}", csv(3).replace('\n', "\r\n")));
    bench.send("").ok_with(&["already complete"]);
    bench.write("people.csv", csv(2));
    let expected = ["exists and differs in: rows; nothing was sent", "1 row only in the job\n", "--job NAME"];
    bench.send("").hides(&["resume"]).fails_with(2, &expected);
    bench.each_got_one(3);
}

#[test]
fn a_planned_job_is_sent_with_its_edited_attachment() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME,attachment\np1@example.com,Ada,a.txt\n");
    for content in ["one", "two", "three"] {
        bench.write("a.txt", content);
        bench.plan("").ok();
    }
    bench.write("a.txt", "four");
    // A job that is resumed isn't planned again.
    let expected = ["attachment `a.txt`, ", "; nothing was sent", "bulk cancel ", "--add"];
    bench.bulk("resume").fails_with(1, &expected);
    bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
    bench.send(&["--add"]).ok();
    bench.each_got_one(1);
}

#[test]
fn an_error_of_planning_says_that_nothing_was_sent() {
    let bench = Bench::with(1);
    bench.plan("").ok();
    let journal = bench.file("journal");
    let jobs = journal.ancestors().nth(2).unwrap();
    std::fs::remove_dir_all(jobs).unwrap();
    std::fs::write(jobs, "").unwrap();
    bench.send("").fails_with(1, &["couldn't ", "; nothing was sent"]);
}

#[test]
fn a_changed_row_is_shown_and_needs_a_choice() {
    let bench = stopped();
    bench.write("people.csv", csv(300).replace("Person 250", "Dr. Person"));
    bench.send(&["--add"]).fails_with(2, &["row 250, p250@example.com", "--changed skip"]);
    bench.send(&["--add", "--changed", "skip"]).ok();
    bench.each_got_one(300);
}

#[test]
fn a_limit_does_not_send_the_other_rows_of_an_unfinished_job() {
    let bench = stopped();
    let expected = [
        "has 150 unsent rows beyond the first 150; nothing was sent",
        "idempost bulk resume ",
        "then this command with --add --limit 150",
    ];
    bench.send("--limit 150").fails_with(2, &expected);
    bench.each_got_one(100);
    bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
    bench.send(&["--limit", "150", "--add"]).ok();
    bench.each_got_one(150);
}

#[test]
fn a_job_is_canceled_as_a_whole_by_the_id_of_an_earlier_part() {
    let bench = stopped();
    let first = bench.job();
    bench.write("people.csv", csv(301));
    send_until_quota(&bench, "--add", 0);
    let part = format!("job {first} is an earlier part of ");
    bench.bulk(&["cancel", &first, "--yes"]).exits(0).says(&[&part, "201 rows won't be sent"]);
    for job in [&first, "people.csv"] {
        bench.bulk(&["resume", job]).says(&["was canceled"]);
    }
    bench.each_got_one(100);
}

#[test]
fn each_recipient_gets_one_newsletter_with_unique_recipients() {
    let bench = Bench::with(0);
    bench.write("people.csv", "to,NAME\na@example.com,Ada\nAda <A@example.com>,A.\nb@example.com,Bo\n");
    bench.plan("--unique-recipients").ok_with(&["3 (2 valid, 0 invalid, 1 repeated)"]);
    bench.send(&["--unique-recipients"]).ok();
    bench.each_got_one(2);
}

#[test]
fn a_deleted_job_is_gone_with_its_rows() {
    let bench = Bench::with(3);
    bench.send("").ok();
    let journal = bench.file("journal");
    bench.bulk(&["delete", "people.csv", "--yes"]).ok();
    assert!(!journal.parent().unwrap().exists());
    bench.bulk("list").says(&["no jobs yet"]);
}

#[test]
fn an_input_that_is_too_large_is_refused_before_it_fills_the_disk() {
    let bench = Bench::with(300);
    bench.send(&["--max-size", "1000"]).fails_with(2, &["people.csv has more than 1000 bytes", "--max-size"]);
    assert_eq!(bench.service.asked(), 0);
}

#[test]
fn nothing_is_sent_to_a_suppressed_address() {
    let bench = Bench::with(5);
    bench.write("unsubscribed.csv", "email,date\nP2@example.com,2026-11-01\n\"p4@example.com\",\n");
    bench.send("--suppress unsubscribed.csv").ok();
    let delivered = bench.delivered();
    assert_eq!(delivered.keys().collect::<Vec<_>>(), ["p1@example.com", "p3@example.com", "p5@example.com"]);
    let skipped = std::fs::read_to_string(bench.file("skipped.csv")).unwrap();
    assert_eq!(skipped, "row,recipient,reason\n2,p2@example.com,suppressed\n4,p4@example.com,suppressed\n");
    let bench = Bench::with(5);
    bench.write("unsubscribed.csv", "name,email\nAda,p2@example.com\n");
    bench.send(&["--suppress", "unsubscribed.csv"]).ok();
    assert!(!bench.delivered().contains_key("p2@example.com"));
}

#[test]
fn nothing_is_sent_to_an_address_that_the_account_suppresses() {
    let bench = Bench::with(0);
    bench.write(
        "people.csv",
        "to,cc,NAME\np1@example.com,,A\nP2@example.com,p1@example.com,B\np3@example.com;p2@example.com,,C\n",
    );
    // Two pages of the list.
    let others: Vec<_> = (0..120).map(|n| format!("other{n}@example.com\n")).collect();
    bench.write("others.csv", format!("email\n{}", others.concat()));
    bench.idempost.run(&["suppressions", "add", "p2@example.com"]).ok();
    bench.idempost.run(&["suppressions", "import", "others.csv", "--yes"]).ok();
    bench.plan("").ok();
    bench.plan("--account-suppressions").ok_with(&["2 valid, 0 invalid, 1 suppressed"]);
    bench.send(&["--account-suppressions"]).ok();
    // The service drops the other suppressed recipients.
    assert_eq!(bench.delivered().keys().collect::<Vec<_>>(), ["p1@example.com", "p3@example.com"]);
    let skipped = std::fs::read_to_string(bench.file("skipped.csv")).unwrap();
    assert_eq!(skipped, "row,recipient,reason\n2,P2@example.com,suppressed by the account\n");
    // The list grows while a job runs, but it remains the same job.
    bench.idempost.run(&["suppressions", "add", "p3@example.com"]).ok();
    bench.send(&["--account-suppressions"]).ok_with(&["already complete"]);
}

#[test]
fn an_address_to_suppress_that_cannot_be_read_is_an_error() {
    let bench = Bench::with(5);
    for (text, rule) in [
        ("name,address\nAda,p2@example.com\n", "must name a column `email`"),
        ("email\np2@example.com\np3\n", "an address must have exactly one `@`"),
        ("email,name\n,Ada\n", "address"),
    ] {
        bench.write("unsubscribed.csv", text);
        bench.send(&["--suppress", "unsubscribed.csv"]).fails_with(2, &[rule]);
    }
    assert_eq!(bench.service.asked(), 0);
    bench.send(&["--suppress", "nowhere.csv"]).fails_with(2, &["couldn't read nowhere.csv"]);
}
