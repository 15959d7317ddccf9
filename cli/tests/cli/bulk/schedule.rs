//! Jobs that send on certain days and hours, with a clock that the tests move.

use std::process::Command;

use rustix::process::Signal;

use serde_json::json;

use super::Bench;
use crate::support::{Finish as _, has, lines, shows, signal};

/// Returns the seconds from now until an hour of the next day (UTC).
fn until(hours: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    86_400 - now % 86_400 + hours * 3_600
}

/// Runs `bulk` with its clock moved by seconds until it waits for its schedule, and interrupts it. Returns why it waits.
pub(super) fn wait_for_schedule(mut command: Command, offset: u64) -> String {
    let mut child = command.env("IDEMPOST_BULK_CLOCK_OFFSET", offset.to_string()).spawn().unwrap();
    let mut lines = lines(&mut child.stderr);
    let paused = lines.find(|line| line.contains("paused for ")).unwrap();
    signal(&child, Signal::INT);
    child.finish().exits(130);
    paused
}

impl Bench {
    pub(super) fn resuming(&self) -> Command {
        let mut command = self.idempost.command();
        command.args(["bulk", "resume"]);
        command
    }
}

#[test]
fn a_warm_up_sends_up_to_the_cap_of_each_day() {
    let bench = Bench::with(16);
    let noon = until(12);
    let paused = wait_for_schedule(bench.sending("--daily 2,5 --time-zone UTC"), noon);
    shows(&paused, &["paused for 11 h 59 min: until ", "cap for this day is 2 emails"]);
    assert_eq!(bench.delivered().len(), 2);
    // The job keeps its schedule.
    wait_for_schedule(bench.resuming(), noon + 3_600);
    assert_eq!(bench.delivered().len(), 2);
    for (day, sent) in [(1, 6), (5, 10), (6, 14)] {
        let paused = wait_for_schedule(bench.resuming(), noon + day * 86_400);
        assert!(paused.contains("cap for this day is 5 emails"), "{paused}");
        assert_eq!(bench.delivered().len(), sent, "requests have 2 emails, the smallest cap");
    }
    bench.bulk(&["resume", "--no-schedule"]).ok();
    bench.each_got_one(16);
}

#[test]
fn a_job_waits_for_its_window() {
    let bench = Bench::with(3);
    let paused = wait_for_schedule(bench.sending("--window 08:00-20:00 --time-zone UTC"), until(5));
    assert!(paused.contains(" 08:00 UTC, outside the window 08:00-20:00"), "{paused}");
    assert_eq!(bench.sends(), 0);
    bench.later(until(9), "resume").ok();
    bench.each_got_one(3);
}

#[test]
fn a_cap_below_the_emails_of_a_planned_request_is_rejected() {
    let bench = Bench::with(100);
    bench.plan("").ok();
    let expected = "requests in the plan contain up to 100 emails, more than the daily cap of 99";
    bench.bulk("resume --daily 99").fails_with(1, &[expected]);
    assert_eq!(bench.sends(), 0);
}

#[test]
fn a_plan_with_a_schedule_is_sent_by_the_same_flags_and_keeps_it() {
    let bench = Bench::with(16);
    let schedule = "--daily 2,5 --time-zone UTC";
    let planned = bench.plan(&(schedule, "--json")).json();
    has(&planned, &json!({"requests": 8, "estimate_days": 4}));
    let noon = until(12);
    wait_for_schedule(bench.resuming(), noon);
    assert_eq!(bench.delivered().len(), 2);
    wait_for_schedule(bench.sending(schedule), noon + 3_600);
    assert_eq!(bench.delivered().len(), 2);
    assert_eq!(bench.job(), planned["job"]);
}

#[test]
fn a_domain_gets_no_more_than_its_rate_even_after_an_interruption() {
    let bench = Bench::with(6);
    let rates = "--domain-rate EXAMPLE.com=2/h --domain-rate other.test=100/min";
    let paused = wait_for_schedule(bench.sending(rates), 0);
    assert!(paused.contains("example.com is limited to 2 emails per h"), "{paused}");
    assert_eq!(bench.delivered().len(), 2);
    wait_for_schedule(bench.resuming(), 1_800);
    assert_eq!(bench.delivered().len(), 2);
    wait_for_schedule(bench.resuming(), 2 * 3_600);
    assert_eq!(bench.delivered().len(), 4);
    bench.bulk(&["resume", "--no-schedule"]).ok();
    bench.each_got_one(6);
}
