//! Jobs and accounts: a job can be continued only with the account that started it.

use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;

use super::{Bench, MESSAGE, csv};
use crate::service::Service;
use crate::support::{CommandLine, Finish as _, Ran, lines, signal};

/// The credential of another account of the same service.
const OTHER: &str = "sb_other";

impl Bench {
    /// Sends the first batches of a job and interrupts it. Returns its ID.
    fn interrupted(&self) -> String {
        let held = self.service.hold("/emails/batch");
        let mut child = self.start("--concurrency 1");
        held.wait();
        signal(&child, Signal::INT);
        let mut messages = lines(&mut child.stderr);
        assert!(messages.any(|line| line.contains("interrupt again to stop immediately")));
        drop(held);
        child.finish().exits(130);
        self.job()
    }

    /// Runs `bulk` with another key.
    pub(super) fn with_key(&self, key: &str, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.idempost.command().env("IDEMPOST_API_KEY", key).args(("bulk", line).words()).finish()
    }
}

#[test]
fn a_job_is_never_continued_from_another_account() {
    // F-13
    let bench = Bench::with(500);
    let id = bench.interrupted();
    let before = bench.status();
    let url = bench.service.base_url();
    let refused = [
        "belongs to profile `default` at",
        "but this command uses profile `default` at",
        &url,
        "--same-account",
    ];
    let is_refused = |ran: Ran| ran.hides(&["sb_"]).fails_with(4, &refused);
    is_refused(bench.with_key(OTHER, &("send people.csv --yes", MESSAGE)));
    for verb in ["resume", "retry --rejected --yes", "reconcile", "cancel --yes"] {
        is_refused(bench.with_key(OTHER, &(verb, [&id])));
    }
    assert_eq!(bench.service.core().mails(OTHER).len(), 0);
    assert_eq!(bench.status(), before);
    bench.bulk(&["resume", &id]).ok();
    bench.each_got_one(500);
    // It isn't reported as finished either.
    bench.with_key(OTHER, &["resume", &id]).fails(4);
    let secret = std::fs::read_to_string(bench.file("account.json")).unwrap();
    assert!(!secret.contains("sb_test"));
}

#[test]
fn a_replaced_key_continues_a_job_only_with_same_account() {
    // F-13
    let bench = Bench::with(300);
    let id = bench.interrupted();
    let key = bench.service.done("api-keys create rotated --json --jq .token");
    bench.with_key(&key, &["resume", &id]).hides(&[&key]).fails_with(4, &["--same-account"]);
    bench.with_key(&key, &["resume", &id, "--same-account"]).ok();
    bench.each_got_one(300);
    // Both belong to the job from now on.
    bench.with_key(&key, &["reconcile", &id]).ok();
    bench.bulk(&["reconcile", &id]).ok();
    bench.with_key(OTHER, &["reconcile", &id]).fails(4);
}

#[test]
fn a_replaced_key_belongs_to_the_parts_that_are_added_later() {
    // F-13
    let bench = Bench::with(3);
    bench.send("").ok();
    let key = bench.service.done("api-keys create rotated --json --jq .token");
    for (people, flags) in [(4, "--add --same-account"), (5, "--add")] {
        bench.write("people.csv", csv(people));
        bench.with_key(&key, &(("send people.csv --yes", MESSAGE), flags)).ok();
    }
    bench.write("people.csv", csv(6));
    bench.send("--add").ok();
    bench.each_got_one(6);
}

#[test]
fn a_job_that_was_planned_without_a_credential_gets_its_first_sender() {
    // F-13
    let bench = Bench::with(300);
    let mut plan = bench.idempost.command();
    plan.args(("bulk plan people.csv --json", MESSAGE).words()).env_remove("IDEMPOST_API_KEY");
    plan.finish().ok_with(&["bulk_plan"]);
    let id = bench.interrupted();
    bench.with_key(OTHER, &["resume", &id]).fails(4);
    bench.bulk(&["resume", &id]).ok();
    bench.each_got_one(300);
}

#[test]
fn a_job_is_never_continued_at_another_base_url() {
    // F-13
    let (bench, other) = (Bench::with(300), Service::start());
    let id = bench.interrupted();
    let url = other.base_url();
    for verb in ["resume", "reconcile", "cancel --yes"] {
        let elsewhere = (verb, [&*id, "--base-url", &url]);
        bench.bulk(&elsewhere).fails_with(4, &[&url, &bench.service.base_url()]);
        bench.bulk(&(elsewhere, "--same-account")).fails(4);
    }
    assert_eq!(other.asked(), 0);
}

#[test]
fn a_retry_belongs_to_the_account_of_its_job() {
    // F-13
    let bench = Bench::with(105);
    let rejected = Action::error(422, "validation_error", "The topic doesn't exist.");
    // The second batch, and each of its rows alone.
    bench.fail_sends(Rule::new(rejected.clone()).skip_first(1).times(6));
    bench.send(&["--concurrency", "1", "--max-rejections", "0"]);
    bench.fail_sends(Rule::new(rejected).times(2));
    let id = bench.job();
    bench.bulk(&["retry", "--rejected", &id, "--yes"]).exits(10);
    // The latest job is the retry itself.
    let retry = bench.job();
    assert_ne!(retry, id);
    bench.with_key(OTHER, &["retry", "--rejected", &retry, "--yes"]).fails(4);
    bench.with_key(OTHER, &["resume", &retry]).fails(4);
    assert_eq!(bench.service.core().mails(OTHER).len(), 0);
}

#[test]
fn a_job_can_be_canceled_without_a_credential() {
    let bench = Bench::with(300);
    let id = bench.interrupted();
    let mut command = bench.idempost.command();
    command.args(["bulk", "cancel", &id, "--yes"]).env_remove("IDEMPOST_API_KEY");
    command.finish().says(&["canceled job"]);
    assert_eq!(bench.status()["state"], "canceled");
}

#[test]
fn a_job_is_not_sent_again_under_another_spelling_of_its_base_url() {
    // F-13
    let bench = Bench::with(3);
    let url = bench.service.base_url();
    let spelled = url.replace("127.0.0.1", "localhost");
    for job in ["", "--job named"] {
        let sent = bench.sends();
        let elsewhere = (job, ["--base-url", &spelled]);
        bench.send(&(job, "--limit 1")).ok();
        for flags in ["--limit 1", "", "--add"] {
            let refused = [&*url, &spelled, "nothing was sent", "--job NAME"];
            bench.send(&(&elsewhere, flags)).fails_with(4, &refused);
        }
        bench.send(job).ok();
        bench.send(&elsewhere).fails(4);
        // The name still belongs to the job.
        bench.send(job).ok_with(&["already complete"]);
        assert_eq!(bench.sends() - sent, 2);
    }
}

#[test]
fn jobs_at_the_sandbox_of_a_command_end_with_it() {
    let bench = Bench::with(3);
    let in_sandbox = ["sandbox", "run", "--", env!("CARGO_BIN_EXE_idempost")];
    let job = ("bulk send people.csv --yes --json", MESSAGE);
    for _ in 0..2 {
        assert_eq!(bench.idempost.run(&(in_sandbox, &job)).json()["sent"], 3);
    }
    // A job at another service is kept.
    bench.write("key", "sb_test");
    let url = bench.service.base_url();
    bench.idempost.run(&((in_sandbox, ["--base-url", &url, "--api-key-file", "key"]), &job)).ok();
    bench.send("").ok();
    bench.each_got_one(3);
}

#[test]
fn a_job_is_tried_in_a_sandbox_and_then_sent_by_another_service() {
    let (bench, live) = (Bench::with(3), Service::start());
    let url = live.base_url();
    // A plan that was never started doesn't belong to a service.
    bench.plan(&["--base-url", &url]).ok();
    bench.send("").ok();
    bench.each_got_one(3);
    bench.send(&["--base-url", &url]).fails(4);
    assert_eq!(live.asked(), 0);
    for _ in 0..2 {
        bench.send(&["--base-url", &url, "--job", "live"]).ok();
        assert_eq!(live.mails().len(), 3);
    }
    bench.send("").ok_with(&["already complete"]);
    bench.each_got_one(3);
}
