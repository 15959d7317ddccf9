//! The command of `--on-end`.

use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Bench;
use crate::support::{Finish as _, has, lines, signal};

/// Appends the state and the report to a file.
const LOG: &str = r#"read -r report; echo "$IDEMPOST_JOB $IDEMPOST_STATE $report" >> log; echo logged"#;

impl Bench {
    /// The job, the state and the report of each run of the command.
    fn logged(&self) -> Vec<(String, String, Value)> {
        let parsed = |line: &str| {
            let [job, state, report] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            (job.to_owned(), state.to_owned(), serde_json::from_str(report).unwrap())
        };
        self.idempost.read("log").lines().map(parsed).collect()
    }
}

#[test]
fn on_end_gets_the_state_and_the_report_of_each_run() {
    let bench = Bench::with(250);
    let quota = Action::error(429, "daily_quota_exceeded", "You have reached your daily quota.");
    bench.fail_sends(Rule::new(quota).skip_first(1).times(1));
    let flags = ["--concurrency", "1", "--on-end", LOG];
    let paused = bench.send(&flags).exits(6).says(&["logged"]);
    assert!(!paused.stdout.contains("logged"), "{paused:?}");
    let held = bench.service.hold("/emails/batch");
    let mut child = bench.start(&flags);
    held.wait();
    signal(&child, Signal::INT);
    assert!(lines(&mut child.stderr).any(|line| line.contains("interrupt again to stop immediately")));
    drop(held);
    child.finish().exits(130);
    bench.send(&flags).ok();
    bench.each_got_one(250);
    // A job that was complete before doesn't end again.
    bench.send(&flags).ok();
    let logged = bench.logged();
    let states: Vec<_> = logged.iter().map(|(_, state, report)| (&**state, &report["sent"])).collect();
    assert_eq!(states, [("paused", &100.into()), ("stopped", &200.into()), ("finished", &250.into())]);
    for (job, state, report) in &logged {
        has(report, &json!({"job": job.as_str(), "state": state.as_str()}));
    }
}

#[test]
fn a_failed_on_end_command_is_reported_and_changes_no_outcome() {
    let bench = Bench::with(3);
    bench.send(&["--on-end", "exit 3"]).says(&["--on-end: the command failed (exit status: 3)"]).exits(1);
    bench.each_got_one(3);
    assert_eq!(bench.status()["state"], "finished");
    // The exit code of a job that didn't end well stays.
    let bench = Bench::with(3);
    let rejected = Action::error(401, "invalid_api_key", "API key is invalid");
    bench.fail_sends(Rule::new(rejected).always());
    bench.send(&["--on-end", "exit 3"]).says(&["--on-end: the command failed (exit status: 3)"]).exits(4);
}
