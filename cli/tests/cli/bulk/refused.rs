//! Jobs that the service rejects or doesn't respond to, and the exit codes that tell scripts what to do.

use std::time::Duration;

use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;

use super::{Bench, MESSAGE};
use crate::service::Service;
use crate::support::{Finish as _, signal};

#[test]
fn an_exhausted_quota_pauses_the_job() {
    let bench = Bench::with(300);
    let quota = Action::error(429, "daily_quota_exceeded", "You have reached your daily quota.");
    bench.service.core().faults().add(Rule::new(quota.header("retry-after", "7200")).skip_first(1).always());
    let ran = bench.send(&["--concurrency", "1"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("paused until 20") && ran.stderr.contains("daily_quota_exceeded"), "{ran:?}");
    assert!(ran.stderr.contains("200 rows left") && ran.stderr.contains("bulk resume"), "{ran:?}");
    bench.service.core().faults().clear();
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(300);
}

#[test]
fn a_service_that_does_not_respond_ends_the_run_and_resuming_is_safe() {
    let bench = Bench::with(200);
    bench.service.core().faults().add(Rule::new(Action::DropAfter).always());
    let ran = bench.send(&["--max-outage", "2s"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(ran.stderr.contains("bulk resume"), "{ran:?}");
    bench.service.core().faults().clear();
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(200);
}

#[test]
fn a_rejected_credential_stops_the_job_and_nothing_is_lost() {
    let bench = Bench::with(200);
    let rejected = Action::error(401, "invalid_api_key", "API key is invalid");
    bench.service.core().faults().add(Rule::new(rejected).skip_first(1).always());
    let ran = bench.send(&["--concurrency", "1"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("100 rows left") && ran.stderr.contains("idempost doctor"), "{ran:?}");
    bench.service.core().faults().clear();
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(200);
    let without = crate::support::Idempost::new().env("IDEMPOST_BASE_URL", bench.service.base_url());
    without.run(&["bulk", "send", "people.csv"]).fails(4);
}

#[test]
fn rejected_rows_are_listed_and_can_be_retried() {
    let bench = Bench::with(250);
    let rejected = Action::error(422, "validation_error", "The topic doesn't exist.");
    // The second batch, and each of its rows alone.
    bench.service.core().faults().add(Rule::new(rejected).skip_first(1).times(101));
    let ran = bench.send(&["--concurrency", "1", "--max-rejections", "0"]);
    assert_eq!(ran.code, Some(10), "{ran:?}");
    assert!(
        ran.stdout.contains("150 sent, 100 rejected") && ran.stderr.contains("The topic doesn't exist."),
        "{ran:?}"
    );
    let rows = bench
        .bulk(&["report", "--rows", "-o", "ndjson", "--jq", "select(.outcome == \"rejected\") | .row"])
        .ok();
    assert_eq!(rows.lines().count(), 100);
    assert_eq!(rows.lines().next(), Some("101"));
    let job = bench.bulk(&["status", "--json", "--jq", ".job"]).ok();
    let retried = bench.bulk(&["retry", "--rejected", job.trim(), "--yes"]);
    assert!(retried.stdout.contains("250 sent"), "{retried:?}");
    retried.ok();
    bench.each_got_one(250);
    // There is nothing left to retry.
    let again = bench.bulk(&["retry", "--rejected", job.trim(), "--yes"]);
    assert!(again.stderr.contains("the job has no such rows"), "{again:?}");
    bench.each_got_one(250);
}

#[test]
fn a_retry_is_repeated_until_every_row_is_sent() {
    // F-09
    let bench = Bench::with(2);
    let faults = bench.service.core().faults();
    let rejected = Action::error(422, "validation_error", "The template doesn't exist.");
    faults.add(Rule::new(rejected).times(3));
    assert_eq!(bench.send(&["--max-rejections", "0"]).code, Some(10));
    let retry = |flags: &[&str]| bench.bulk(&[&["retry", "--rejected", "people.csv"], flags].concat());
    let jobs = || bench.bulk(&["list", "--json", "--jq", ".data | length"]).ok();
    assert!(retry(&[]).fails(2).contains("--yes"));
    assert_eq!(jobs().trim(), "1", "without a confirmation, nothing is planned");
    let quota = Action::error(429, "daily_quota_exceeded", "You have reached your daily quota.");
    faults.add(Rule::new(quota.header("retry-after", "7200")).always());
    for _ in 0..2 {
        assert_eq!(retry(&["--yes"]).code, Some(6));
    }
    faults.clear();
    assert!(retry(&["--yes"]).ok().contains("2 sent"));
    bench.each_got_one(2);
    assert!(retry(&["--yes"]).stderr.contains("the job has no such rows"));
    assert_eq!(jobs().trim(), "2");
}

#[test]
fn a_row_of_an_unverified_sender_does_not_stop_the_others() {
    let bench = Bench::with(0);
    let mut people =
        super::csv(150).replace("to,NAME", "to,NAME,from").replace('\n', ",\n").replace("from,", "from");
    people = people.replace("Person 1,\n", "Person 1,hi@unverified.example\n");
    bench.write("people.csv", people);
    let forbidden = Action::error(403, "validation_error", "The unverified.example domain is not verified.");
    // The first batch, and its first row alone.
    bench.service.core().faults().add(Rule::new(forbidden).times(2));
    let ran = bench.send(&["--concurrency", "1"]);
    assert_eq!(ran.code, Some(10), "{ran:?}");
    assert!(
        ran.stdout.contains("149 sent, 1 rejected") && ran.stderr.contains("domain is not verified"),
        "{ran:?}"
    );
    bench.each_got_one(149);
}

#[test]
fn what_rejects_every_request_pauses_the_job() {
    let bench = Bench::with(3_000);
    let missing = Action::error(422, "validation_error", "The template doesn't exist.");
    bench.service.core().faults().add(Rule::new(missing).always());
    let ran = bench.send(&[]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stderr.contains("requests in a row") && ran.stderr.contains("3,000 rows left"), "{ran:?}");
    bench.service.core().faults().clear();
    bench.bulk(&["resume"]).ok();
    bench.each_got_one(3_000);
}

#[test]
fn rows_whose_key_has_expired_are_unknown_and_never_sent_again_automatically() {
    // F-09
    let bench = Bench::with(300);
    let faults = bench.service.core().faults();
    faults.add(Rule::new(Action::Delay(Duration::from_mins(1))));
    let child = bench.start(&["--concurrency", "1"]);
    bench.until_asked(1);
    signal(&child, Signal::KILL);
    child.finish();
    // The service has accepted a batch whose result isn't in the journal, and forgets its key.
    bench.service.core().clock().advance(Duration::from_hours(25));
    let resumed = bench
        .idempost
        .command()
        .args(["bulk", "resume", "--json"])
        .env("IDEMPOST_BULK_CLOCK_OFFSET", "90000")
        .finish();
    let stderr = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert_eq!(resumed.status.code(), Some(9), "{stderr}");
    let error: serde_json::Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&error["error"]["kind"], &error["error"]["outcome"]), (&"unknown".into(), &"unknown".into()));
    bench.each_got_one(300);
    let status = bench.bulk(&["status", "--json"]).json();
    assert_eq!((&status["unknown"], &status["sent"]), (&100.into(), &200.into()), "{status}");
    // The same command doesn't send them either.
    assert_eq!(bench.send(&[]).code, Some(9));
    bench.each_got_one(300);

    let job = status["job"].as_str().unwrap();
    let found = bench.bulk(&["reconcile", job, "--json"]).json();
    assert_eq!((&found["unknown"], &found["inferred"]), (&100.into(), &100.into()), "{found}");
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
        bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_mins(1))));
        let child = bench.start(&[]);
        bench.until_asked(1);
        signal(&child, Signal::KILL);
        child.finish();
        if canceled {
            bench.bulk(&["cancel", "people.csv", "--yes"]).ok();
        } else {
            bench.service.core().clock().advance(Duration::from_hours(25));
            let mut resume = bench.idempost.command();
            resume.args(["bulk", "resume"]).env("IDEMPOST_BULK_CLOCK_OFFSET", "90000");
            assert_eq!(resume.finish().status.code(), Some(9));
        }
        bench.write("people.csv", super::csv(3));
        let added = bench.send(&["--add"]);
        assert_eq!(added.code, Some(9), "{added:?}");
        assert!(
            added.stdout.contains("1 sent, 2 unknown") && added.stdout.contains("unknown.csv"),
            "{added:?}"
        );
        let unknown = "select(.outcome == \"unknown\") | .recipient";
        let rows = bench.bulk(&["report", "people.csv", "--rows", "-o", "ndjson", "--jq", unknown]).ok();
        assert_eq!(rows, "p1@example.com\np2@example.com\n");
        let found = bench.bulk(&["reconcile", "people.csv", "--json"]).json();
        assert_eq!((&found["unknown"], &found["inferred"]), (&2.into(), &2.into()), "{found}");
        bench.each_got_one(3);
        let retry = ["retry", "--unknown", "--accept-duplicates", "people.csv", "--yes"];
        assert!(bench.bulk(&retry).ok().contains("3 sent"));
        assert!(bench.bulk(&retry).stderr.contains("the job has no such rows"));
        assert_eq!(bench.delivered().into_values().collect::<Vec<_>>(), [2, 2, 1]);
    }
}

#[test]
fn a_login_is_refreshed_during_a_job() {
    let service = Service::start();
    service.core().set_base_url(&service.base_url());
    // Browsers request pages that aren't part of the contract.
    let service = service.unjudged();
    let idempost = crate::auth::logged_in(&service, &["--scope", "full_access"]);
    let bench = Bench { service, idempost };
    bench.write("people.csv", super::csv(600));
    bench.service.core().faults().add(Rule::new(Action::Delay(Duration::from_millis(300))).always());
    let asked = bench.service.asked();
    let child = bench.start(&["--max-rps", "1"]);
    bench.until_asked(asked + 2);
    bench.service.core().clock().advance(Duration::from_mins(16));
    let ran = crate::support::Ran::of(child.finish());
    ran.ok();
    bench.each_got_one(600);
    let refreshes =
        bench.service.core().requests().iter().filter(|request| request.path == "/oauth/token").count();
    assert!(refreshes >= 2, "a login and a refresh: {refreshes}");
}

#[test]
fn a_login_that_may_only_send_gets_a_hint() {
    let service = Service::start();
    service.core().set_base_url(&service.base_url());
    let service = service.unjudged();
    let idempost = crate::auth::logged_in(&service, &[]);
    let bench = Bench { service, idempost };
    bench.write("people.csv", super::csv(1));
    let ran = bench.send(&[]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("auth login --scope full_access"), "{ran:?}");
}

#[test]
fn a_job_in_a_temporary_sandbox_ends_with_it() {
    let bench = Bench::with(1);
    let ran = bench.send(&["--sandbox"]);
    assert!(ran.stderr.contains("captured by the sandbox"), "{ran:?}");
    ran.ok();
    assert!(
        bench.bulk(&["list"]).stderr.contains("no jobs yet"),
        "the job of a temporary sandbox isn't kept"
    );
    let plan = bench.idempost.run(&("--sandbox bulk plan people.csv", MESSAGE));
    assert!(plan.ok().contains("1 row = 1 request"));
    assert_eq!(bench.service.asked(), 0);
}
