//! Jobs and accounts: a job can be continued only with the account that started it.

use std::process::Stdio;
use std::time::Duration;

use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;

use super::{Bench, MESSAGE};
use crate::service::Service;
use crate::support::{Ran, signal};

/// The credential of another account of the same service.
const OTHER: &str = "sb_other";

impl Bench {
    /// Sends the first batches of a job and interrupts it. Returns its ID.
    fn interrupted(&self) -> String {
        self.service.core().faults().add(Rule::new(Action::Delay(Duration::from_secs(1))).always());
        let child = self.start(&["--concurrency", "1"]);
        self.until_asked(1);
        signal(&child, Signal::INT);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
        self.service.core().faults().clear();
        self.bulk(&["status", "--json"]).json()["job"].as_str().unwrap().to_owned()
    }

    /// Runs `bulk` with the credential of another account.
    fn as_other(&self, key: &str, arguments: &[&str]) -> Ran {
        let mut command = self.idempost.command();
        command.arg("bulk").args(arguments).env("IDEMPOST_API_KEY", key).stdin(Stdio::null());
        Ran::of(command.output().unwrap())
    }

    /// Creates another key of the job's account.
    fn another_key(&self) -> String {
        self.idempost
            .run(&["api-keys", "create", "rotated", "--json", "--jq", ".token"])
            .ok()
            .trim()
            .to_owned()
    }
}

#[test]
fn a_job_is_never_continued_from_another_account() {
    // F-13
    let bench = Bench::with(500);
    let id = bench.interrupted();
    let before = bench.bulk(&["status", &id, "--json"]).json();
    let send = [&["send", "people.csv", "--yes"], &MESSAGE[..]].concat();
    for command in [
        &["resume", &id][..],
        &send,
        &["retry", "--rejected", &id, "--yes"],
        &["reconcile", &id],
        &["cancel", &id, "--yes"],
    ] {
        let stderr = bench.as_other(OTHER, command).fails(4);
        let url = bench.service.base_url();
        for part in [
            "belongs to profile `default` at",
            "but this command uses profile `default` at",
            &url,
            "--same-account",
        ] {
            assert!(stderr.contains(part), "{command:?} {part}: {stderr}");
        }
        assert!(!stderr.contains("sb_"), "{stderr}");
    }
    assert_eq!(bench.service.core().mails(OTHER).len(), 0);
    assert_eq!(bench.bulk(&["status", &id, "--json"]).json(), before);
    bench.bulk(&["resume", &id]).ok();
    bench.each_got_one(500);
    // It isn't reported as finished either.
    bench.as_other(OTHER, &["resume", &id]).fails(4);
    let secret = std::fs::read_to_string(before["folder"].as_str().unwrap().to_owned() + "/account.json");
    assert!(!secret.unwrap().contains("sb_test"));
}

#[test]
fn a_replaced_key_continues_a_job_only_with_same_account() {
    // F-13
    let bench = Bench::with(300);
    let id = bench.interrupted();
    let key = bench.another_key();
    let stderr = bench.as_other(&key, &["resume", &id]).fails(4);
    assert!(stderr.contains("--same-account") && !stderr.contains(&key), "{stderr}");
    bench.as_other(&key, &["resume", &id, "--same-account"]).ok();
    bench.each_got_one(300);
    // Both belong to the job from now on.
    bench.as_other(&key, &["reconcile", &id]).ok();
    bench.bulk(&["reconcile", &id]).ok();
    bench.as_other(OTHER, &["reconcile", &id]).fails(4);
}

#[test]
fn a_job_that_was_planned_without_a_credential_gets_its_first_sender() {
    // F-13
    let bench = Bench::with(300);
    let planned = [&["bulk", "plan", "people.csv", "--json"], &MESSAGE[..]].concat();
    let without = bench.idempost.command().args(planned).env_remove("IDEMPOST_API_KEY").output().unwrap();
    assert!(Ran::of(without).ok().contains("bulk_plan"));
    let id = bench.interrupted();
    bench.as_other(OTHER, &["resume", &id]).fails(4);
    bench.bulk(&["resume", &id]).ok();
    bench.each_got_one(300);
}

#[test]
fn a_job_is_never_continued_at_another_base_url() {
    // F-13
    let (bench, other) = (Bench::with(300), Service::start());
    let id = bench.interrupted();
    let url = other.base_url();
    for command in [&["resume", &id][..], &["reconcile", &id], &["cancel", &id, "--yes"]] {
        let ran = bench.bulk(&[command, &["--base-url", &url]].concat());
        ran.fails_with(4, &[&url, &bench.service.base_url()]);
        let same = bench.bulk(&[command, &["--base-url", &url, "--same-account"]].concat());
        same.fails(4);
    }
    assert_eq!(other.asked(), 0);
}

#[test]
fn a_retry_belongs_to_the_account_of_its_job() {
    // F-13
    let bench = Bench::with(250);
    let rejected = Action::error(422, "validation_error", "The topic doesn't exist.");
    // The second batch, and each of its rows alone.
    bench.service.core().faults().add(Rule::new(rejected.clone()).skip_first(1).times(101));
    bench.send(&["--concurrency", "1", "--max-rejections", "0"]);
    bench.service.core().faults().add(Rule::new(rejected).times(2));
    let id = bench.bulk(&["status", "--json"]).json()["job"].as_str().unwrap().to_owned();
    assert_eq!(bench.bulk(&["retry", "--rejected", &id, "--yes"]).code, Some(10));
    // The latest job is the retry itself.
    let retry = bench.bulk(&["status", "--json"]).json()["job"].as_str().unwrap().to_owned();
    assert_ne!(retry, id);
    bench.as_other(OTHER, &["retry", "--rejected", &retry, "--yes"]).fails(4);
    bench.as_other(OTHER, &["resume", &retry]).fails(4);
    assert_eq!(bench.service.core().mails(OTHER).len(), 0);
}

#[test]
fn a_job_can_be_canceled_without_a_credential() {
    let bench = Bench::with(300);
    let id = bench.interrupted();
    let mut command = bench.idempost.command();
    command.args(["bulk", "cancel", &id, "--yes"]).env_remove("IDEMPOST_API_KEY");
    assert!(Ran::of(command.output().unwrap()).stderr.contains("canceled job"));
    assert_eq!(bench.bulk(&["status", &id, "--json"]).json()["state"], "canceled");
}

#[test]
fn a_job_is_not_sent_again_under_another_spelling_of_its_base_url() {
    // F-13
    let bench = Bench::with(3);
    let url = bench.service.base_url();
    let spelled = url.replace("127.0.0.1", "localhost");
    for job in [&[][..], &["--job", "named"]] {
        let sent = bench.service.asked();
        bench.send(&[job, &["--limit", "1"]].concat()).ok();
        for flags in [&["--limit", "1"][..], &[], &["--add"]] {
            let stderr = bench.send(&[job, flags, &["--base-url", &spelled]].concat()).fails(4);
            for part in [&*url, &spelled, "nothing was sent", "--job NAME"] {
                assert!(stderr.contains(part), "{part}: {stderr}");
            }
        }
        bench.send(job).ok();
        bench.send(&[job, &["--base-url", &spelled]].concat()).fails(4);
        // The name still belongs to the job.
        assert!(bench.send(job).ok().contains("already complete"));
        assert_eq!(bench.service.asked() - sent, 2);
    }
}

#[test]
fn jobs_at_the_sandbox_of_a_command_end_with_it() {
    let bench = Bench::with(3);
    let program = env!("CARGO_BIN_EXE_idempost");
    let job = [&["bulk", "send", "people.csv", "--yes", "--json"], &MESSAGE[..]].concat();
    for _ in 0..2 {
        let sandbox = [&["sandbox", "run", "--", program], &job[..]].concat();
        assert_eq!(bench.idempost.run(&sandbox).json()["sent"], 3);
    }
    // A job at another service is kept.
    let url = bench.service.base_url();
    let elsewhere =
        [&["sandbox", "run", "--", program, "--base-url", &url, "--api-key-file", "key"], &job[..]].concat();
    bench.write("key", "sb_test");
    bench.idempost.run(&elsewhere).ok();
    bench.send(&[]).ok();
    bench.each_got_one(3);
}

#[test]
fn a_job_is_tried_in_a_sandbox_and_then_sent_by_another_service() {
    let (bench, live) = (Bench::with(3), Service::start());
    let url = live.base_url();
    // A plan that was never started doesn't belong to a service.
    bench.idempost.run(&(&["bulk", "plan", "people.csv", "--base-url", &url], MESSAGE)).ok();
    bench.send(&[]).ok();
    bench.each_got_one(3);
    bench.send(&["--base-url", &url]).fails(4);
    assert_eq!(live.asked(), 0);
    for _ in 0..2 {
        bench.send(&["--base-url", &url, "--job", "live"]).ok();
        assert_eq!(live.core().mails("sb_test").len(), 3);
    }
    assert!(bench.send(&[]).ok().contains("already complete"));
    bench.each_got_one(3);
}
