//! Jobs that the service rejects or doesn't respond to, and the exit codes that tell scripts what to do.

use std::time::Duration;

use idempost_reference_server::faults::{Action, Rule};

use serde_json::json;

use super::Bench;
use crate::service::Service;
use crate::support::{Finish as _, Idempost, has};

#[test]
fn each_reason_that_ends_a_run_has_its_exit_code_and_resuming_sends_the_rest() {
    let error = |status, name| Action::error(status, name, "No.");
    let quota = error(429, "daily_quota_exceeded").header("retry-after", "7200");
    let beyond_the_calendar = Action::TooMany { retry_after: Some(u64::MAX.to_string()) };
    for (fault, accepted, code, says) in [
        (quota, 1, 6, &["paused until 20", "daily_quota_exceeded", "100 rows left", "bulk resume"][..]),
        (beyond_the_calendar, 0, 6, &["paused: rate_limit_exceeded"]),
        (error(401, "invalid_api_key"), 1, 4, &["100 rows left", "idempost doctor"]),
        (Action::DropAfter, 0, 7, &["bulk resume"]),
        // The rejected batches are sent email by email.
        (error(422, "validation_error"), 0, 6, &["requests in a row", "200 rows left"]),
    ] {
        let bench = Bench::with(200);
        bench.fail_sends(Rule::new(fault).skip_first(accepted).always());
        bench.send("--concurrency 1 --max-outage 2s").exits(code).says(says);
        bench.service.faults().clear();
        bench.bulk("resume").hides(&["warning"]).ok();
        bench.each_got_one(200);
    }
    let without = Idempost::new().env("IDEMPOST_BASE_URL", Service::start().base_url());
    without.run("bulk send people.csv").fails(4);
}

#[test]
fn rejected_rows_are_listed_and_can_be_retried() {
    let bench = Bench::with(250);
    let rejected = Action::error(422, "validation_error", "The topic doesn't exist.");
    // The second batch, and each of its rows alone.
    bench.fail_sends(Rule::new(rejected).skip_first(1).times(101));
    let ran = bench.send("--concurrency 1 --max-rejections 0").exits(10);
    ran.prints(&["150 sent, 100 rejected"]).says(&["The topic doesn't exist."]);
    let rejected = "report --rows -o ndjson --jq 'select(.outcome == \"rejected\") | .row'";
    let rows = bench.bulk(rejected).ok();
    assert_eq!(rows.lines().count(), 100);
    assert_eq!(rows.lines().next(), Some("101"));
    let job = bench.job();
    bench.bulk(&["retry", "--rejected", &job]).fails_with(2, &["--yes"]);
    let jobs = bench.bulk("list --json --jq '.data | length'").ok();
    assert_eq!(jobs, "1\n", "without a confirmation, nothing is planned");
    bench.bulk(&["retry", "--rejected", &job, "--yes"]).ok_with(&["250 sent"]);
    bench.each_got_one(250);
    // There is nothing left to retry.
    bench.bulk(&["retry", "--rejected", &job, "--yes"]).says(&["the job has no such rows"]);
    bench.each_got_one(250);
}

#[test]
fn rows_whose_key_has_expired_are_unknown_and_never_sent_again_automatically() {
    // F-09
    let bench = Bench::with(300);
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
    bench.kill_after(1, "--concurrency 1");
    // The service has accepted a batch whose result isn't in the journal, and forgets its key.
    bench.service.core().clock().advance(Duration::from_hours(25));
    let resumed = bench.later(90_000, "resume --json").exits(9);
    has(&resumed.last_error(), &json!({"kind": "unknown", "outcome": "unknown"}));
    bench.each_got_one(300);
    let status = bench.status();
    has(&status, &json!({"unknown": 100, "sent": 200}));
    // The same command doesn't send them either.
    bench.send("").exits(9);
    bench.each_got_one(300);

    let job = status["job"].as_str().unwrap();
    let found = bench.bulk(&["reconcile", job, "--json"]).json();
    has(&found, &json!({"unknown": 100, "inferred": 100}));
    let list = std::fs::read_to_string(found["file"].as_str().unwrap()).unwrap();
    assert_eq!(list.lines().count(), 101, "{list}");
    assert!(list.lines().skip(1).all(|line| line.contains(",inferred_sent,")), "{list}");

    bench.bulk(&["retry", "--unknown", job, "--yes"]).fails_with(2, &["--accept-duplicates"]);
    bench.bulk(&["retry", "--unknown", "--accept-duplicates", job, "--yes"]).ok();
    let delivered = bench.delivered();
    assert_eq!(delivered.values().filter(|emails| **emails == 2).count(), 100, "exactly the unknown rows");
}

#[test]
fn unknown_rows_of_an_earlier_part_are_reported_reconciled_and_retried() {
    // F-09
    for canceled in [false, true] {
        let bench = Bench::with(2);
        bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
        bench.kill_after(1, "");
        if canceled {
            bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
        } else {
            bench.service.core().clock().advance(Duration::from_hours(25));
            bench.later(90_000, "resume").exits(9);
        }
        bench.write("people.csv", super::csv(3));
        bench.send(&["--add"]).exits(9).prints(&["1 sent, 2 unknown", "unknown.csv"]);
        let unknown =
            "report people.csv --rows -o ndjson --jq 'select(.outcome == \"unknown\") | .recipient'";
        assert_eq!(bench.bulk(unknown).ok(), "p1@example.com\np2@example.com\n");
        let found = bench.bulk(&["reconcile", "people.csv", "--json"]).json();
        has(&found, &json!({"unknown": 2, "inferred": 2}));
        bench.each_got_one(3);
        let retry = ["retry", "--unknown", "--accept-duplicates", "people.csv", "--yes"];
        bench.bulk(&retry).ok_with(&["3 sent"]);
        bench.bulk(&retry).says(&["the job has no such rows"]);
        assert_eq!(bench.delivered().into_values().collect::<Vec<_>>(), [2, 2, 1]);
    }
}

#[test]
fn an_unknown_row_whose_recipient_has_a_semicolon_in_its_name_is_reconciled() {
    // F-09
    let bench = Bench::with(0);
    bench.write("people.csv", "to\n\"\"\"Doe; Ada\"\" <p1@example.com>\"\n");
    bench.fail_sends(Rule::new(Action::Delay(Duration::from_mins(1))));
    bench.kill_after(1, "");
    bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
    has(&bench.bulk(&["reconcile", "people.csv", "--json"]).json(), &json!({"unknown": 1, "inferred": 1}));
}

#[test]
fn a_login_is_refreshed_during_a_job() {
    let bench = Bench::logged_in("--scope full_access", 300);
    let held = bench.service.hold("/emails/batch");
    let child = bench.start("--concurrency 1");
    held.wait();
    bench.service.core().clock().advance(Duration::from_mins(16));
    drop(held);
    child.finish().ok();
    bench.each_got_one(300);
    let refreshes = bench.service.requests().iter().filter(|request| request.path == "/oauth/token").count();
    assert!(refreshes >= 2, "a login and a refresh: {refreshes}");
}

#[test]
fn a_login_that_may_only_send_gets_a_hint() {
    let bench = Bench::logged_in("", 1);
    bench.send("").exits(4).says(&["auth login --scope full_access"]);
}

#[test]
fn a_job_in_a_temporary_sandbox_ends_with_it() {
    let bench = Bench::with(1);
    bench.send(&["--sandbox"]).says(&["captured by the sandbox"]).ok();
    // So do its lists and the commands for it.
    bench.write("people.jsonl", "{\"to\":\"p1@example.com\",\"template\":{\"id\":\"none\"}}\n");
    let rejected = bench.bulk("send people.jsonl --yes --sandbox --from hi@acme.test").exits(10);
    rejected.says(&["1 row rejected\n"]).hides(&["idempost bulk", "list: "]);
    bench.bulk("list").says(&["no jobs yet"]);
    bench.plan("--sandbox").ok_with(&["1 row = 1 request"]);
    assert_eq!(bench.service.asked(), 0);
}
