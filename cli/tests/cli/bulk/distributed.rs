//! Jobs with workers and a real queue.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use http::Method;
use idempost_needs::needs;
use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;
use tempfile::{NamedTempFile, TempDir};

use serde_json::json;

use super::{Bench, MESSAGE};
use crate::support::{Finish as _, Idempost, Ran, Running, free_port, has, kill, shows, signal, wait_until};

/// A NATS server that syncs each record.
pub(crate) struct Queue {
    server: Running,
    port: u16,
    folder: TempDir,
}

impl Queue {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let store = folder.path().join("store");
        let config = format!(
            "listen: 127.0.0.1:{port}\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
            store.display()
        );
        std::fs::write(folder.path().join("nats.conf"), config).unwrap();
        Self { server: server(&folder, port), port, folder }
    }

    /// Restarts the server with the data it has stored.
    fn restart(&mut self) {
        self.server = server(&self.folder, self.port);
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

fn server(folder: &TempDir, port: u16) -> Running {
    let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    let mut command = Command::new(program);
    command.arg("--config").arg(folder.path().join("nats.conf")).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Running(command.spawn().unwrap());
    wait_until("the queue accepts connections", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    server
}

fn worker(idempost: &Idempost, queue: &Queue) -> Child {
    idempost.spawn(&["bulk", "worker", "--queue", &queue.address()])
}

/// Interrupts a worker, which ends well.
#[track_caller]
fn ends(worker: Child) -> Ran {
    signal(&worker, Signal::INT);
    worker.finish().exits(0)
}

/// A program whose messages go to a file, which can be read while it runs.
struct Logged {
    child: Child,
    log: NamedTempFile,
}

impl Logged {
    fn start(command: &mut Command) -> Self {
        let log = NamedTempFile::new().unwrap();
        let child = command.stderr(log.reopen().unwrap()).spawn().unwrap();
        Self { child, log }
    }

    #[track_caller]
    fn until_it_says(&self, text: &str) {
        let said = || std::fs::read_to_string(self.log.path()).unwrap().contains(text);
        wait_until(&format!("it says {text}"), said);
    }
}

/// Sends a second job, with a single row.
fn send_another(bench: &Bench, queue: &str) -> Ran {
    bench.write("others.csv", "to,NAME\nother@example.com,Other\n");
    bench.bulk(&(["send", "others.csv", "--yes", "--queue", queue], MESSAGE))
}

#[needs("nats-server")]
#[test]
fn every_row_of_a_distributed_job_is_sent_once_although_a_worker_and_the_coordinator_are_killed() {
    let (bench, queue) = (Bench::with(3_000), Queue::start());
    let machines = [bench.service.idempost(), bench.service.idempost(), bench.service.idempost()];
    let [mut first, second, third] = [0, 1, 2].map(|n| worker(&machines[n], &queue));
    let address = queue.address();
    let flags = ["--max-rps", "5", "--queue", &address];
    let mut coordinator = bench.start(&flags);
    bench.wait_for_sends(4);
    kill(&mut first);
    bench.wait_for_sends(8);
    kill(&mut coordinator);

    bench.bulk(&["resume"]).says(&["is distributed over a queue"]);
    bench.send(&flags).exits(0);
    bench.each_got_one(3_000);
    has(&bench.status(), &json!({"state": "finished", "sent": 3_000}));
    ends(second);
    ends(third);
}

#[needs("nats-server")]
#[test]
fn a_worker_with_the_credential_of_another_account_takes_nothing() {
    // F-13
    let (bench, queue) = (Bench::with(3_500), Queue::start());
    let machine = bench.service.idempost();
    let other = bench.service.idempost().env("IDEMPOST_API_KEY", "sb_other");
    let (ours, theirs) = (worker(&machine, &queue), worker(&other, &queue));
    let address = queue.address();
    let flags = ["--max-rps", "5", "--queue", &address];
    let sending = bench.start(&flags);
    bench.wait_for_sends(2);
    let refused =
        ["belongs to profile `default`", "but this command uses profile `default`", "--same-account"];
    other.run(&["bulk", "worker", &bench.job(), "--queue", &address]).fails_with(4, &refused);
    bench.with_key("sb_other", "resume").fails(4);
    sending.finish().exits(0);
    bench.each_got_one(3_500);
    assert_eq!(bench.service.core().mails("sb_other").len(), 0);
    // Without the name of a job, it waits for other jobs of its own account.
    ends(ours).says(&["sending for job"]);
    ends(theirs).says(&["belongs to profile `default`"]);
}

#[needs("nats-server")]
#[test]
fn workers_without_a_coordinator_are_paused_and_canceled_through_their_queue() {
    let (bench, queue) = (Bench::with(6_000), Queue::start());
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let flags = ["--max-rps", "2", "--queue", &address];
    let coordinator = bench.start(&flags);
    bench.wait_for_sends(2);
    signal(&coordinator, Signal::INT);
    coordinator.finish().exits(130).says(&["left, and the workers continue"]);
    bench.wait_for_sends(4);

    let status = bench.bulk("status --json").says(&["workers may still be sending"]).json();
    let id = status["job"].as_str().unwrap();
    for command in [&["pause", id][..], &["cancel", id, "--yes"]] {
        bench.bulk(command).fails_with(2, &["--queue", "workers may be sending job"]);
    }
    assert_eq!(bench.status()["state"], "stopped");
    bench.bulk(&["cancel", id, "--yes", "--queue", "nats://127.0.0.1:1"]).exits(7);
    assert_eq!(bench.status()["state"], "stopped");

    bench.bulk(&["pause", id, "--queue", &address]).ok();
    // A paused job keeps no worker from another one.
    send_another(&bench, &address).exits(0);
    // The only worker has left the paused job, and so receives no more responses for it.
    let paused_at = bench.sends();
    let resumed = bench.idempost.spawn(&(["bulk", "resume", id], flags));
    bench.wait_for_sends(paused_at + 3);
    // The process that collects the results is killed before it has canceled the job in the queue.
    bench.bulk(&["cancel", id, "--yes"]).says(&["its process stops"]);
    signal(&resumed, Signal::KILL);
    resumed.finish();
    let hint = format!("workers may still be sending; to stop them: idempost bulk cancel {id} --queue …");
    bench.bulk("status --json").says(&[&hint]);

    let canceled = bench.bulk(&["cancel", id, "--yes", "--queue", &address]).exits(0);
    let status = bench.bulk(&["status", id, "--json"]).json();
    let (sent, left) = (status["sent"].as_u64().unwrap(), status["remaining"].as_u64().unwrap());
    assert_eq!((&status["state"], sent + left), (&"canceled".into(), 6_000), "{status}");
    shows(&canceled.stderr.replace(',', ""), &[&format!("{left} rows won't be sent")]);
    bench.bulk(&["cancel", id, "--yes"]).says(&["already canceled"]);
    ends(worker);
    bench.each_got_one(usize::try_from(sent).unwrap() + 1);
}

#[needs("nats-server")]
#[test]
fn workers_of_an_earlier_part_are_paused_and_canceled_with_the_job() {
    let (bench, queue) = (Bench::with(6_000), Queue::start());
    let worker = worker(&bench.service.idempost(), &queue);
    let address = queue.address();
    let flags = ["--max-rps", "2", "--queue", &address];
    let coordinator = bench.start(&flags);
    bench.wait_for_sends(2);
    signal(&coordinator, Signal::INT);
    coordinator.finish().exits(130);
    let id = bench.job();
    bench.write("people.csv", super::csv(6_001));
    bench.send("--add").fails_with(1, &[&id, "is distributed over a queue"]);

    bench.bulk("status people.csv").says(&["workers may still be sending", &id]);
    for command in ["pause people.csv", "cancel people.csv --yes"] {
        bench.bulk(command).fails_with(2, &["--queue", &format!("workers may be sending job {id}")]);
    }
    bench.bulk(&["pause", "people.csv", "--queue", &address]).ok();
    bench.bulk(&["cancel", "people.csv", "--yes", "--queue", &address]).exits(0);
    let status = bench.bulk("status people.csv --json").json();
    let (sent, left) = (status["sent"].as_u64().unwrap(), status["remaining"].as_u64().unwrap());
    assert_eq!((&status["state"], sent + left), (&"canceled".into(), 6_000), "{status}");
    ends(worker);
    bench.each_got_one(usize::try_from(sent).unwrap());
}

#[needs("nats-server")]
#[test]
fn a_job_without_a_coordinator_keeps_no_worker_from_another_one() {
    let (bench, queue) = (Bench::with(300), Queue::start());
    let machine = bench.service.idempost();
    let mut worker = worker(&machine, &queue);
    let address = queue.address();
    let flags = ["--max-rps", "1", "--queue", &address];
    bench.kill_after(1, &flags);
    bench.wait_for_sends(3);
    let id = bench.job();
    send_another(&bench, &address).exits(0);
    bench.bulk(&["cancel", &id, "--yes", "--queue", &address]).says(&["nothing was left to cancel"]);
    let status = bench.bulk(&["status", &id, "--json"]).json();
    has(&status, &json!({"state": "finished", "sent": 300}));
    bench.each_got_one(301);
    kill(&mut worker);
}

#[needs("nats-server")]
#[test]
fn a_short_job_does_not_wait_for_a_long_one() {
    let (bench, queue) = (Bench::with(4_000), Queue::start());
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let mut long = bench.start(&["--max-rps", "2", "--queue", &address]);
    bench.wait_for_sends(2);
    send_another(&bench, &address).exits(0);
    assert_eq!(bench.delivered().get("other@example.com"), Some(&1));
    assert!(bench.delivered().len() < 4_001, "the long job goes on");
    kill(&mut long);
    ends(worker);
}

#[needs("nats-server")]
#[test]
fn a_job_of_a_higher_priority_goes_first() {
    let (bench, queue) = (Bench::with(6_000), Queue::start());
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let mut normal = bench.start(&["--max-rps", "4", "--queue", &address]);
    bench.wait_for_sends(2);
    bench.write("urgent.csv", super::csv(1_500).replace("\np", "\nurgent"));
    let send = format!("send urgent.csv --yes --max-rps 4 --priority high --queue {address}");
    bench.bulk(&(send, MESSAGE)).exits(0);
    let bodies = bench.service.bodies();
    let is_urgent = |body: &serde_json::Value| body[0]["to"].to_string().contains("urgent");
    let first = bodies.iter().position(is_urgent).unwrap();
    let last = bodies.iter().rposition(is_urgent).unwrap();
    // The worker finishes the work that it has started for the other job.
    let between = (first..last).filter(|index| !is_urgent(&bodies[*index])).count();
    assert!(between <= 4, "{between} of {}", last - first);
    assert!(bench.delivered().len() < 7_500, "the other job goes on");
    kill(&mut normal);
    ends(worker);
}

#[needs("nats-server")]
#[test]
fn workers_stay_when_the_queue_restarts_and_when_they_cannot_serve_a_job() {
    let (bench, mut queue) = (Bench::with(300), Queue::start());
    let machine = bench.service.idempost();
    let spelled = bench.service.base_url().replace("127.0.0.1", "localhost");
    let elsewhere = bench.service.idempost().env("IDEMPOST_BASE_URL", spelled);
    let address = queue.address();
    let start =
        |idempost: &Idempost| Logged::start(idempost.command().args(["bulk", "worker", "--queue", &address]));
    let workers = [start(&machine), start(&elsewhere)];
    for worker in &workers {
        worker.until_it_says("waiting for a job");
    }
    kill(&mut queue.server);
    for worker in &workers {
        worker.until_it_says("the queue doesn't respond");
    }
    queue.restart();
    bench.send(&["--max-rps", "1", "--queue", &queue.address()]).exits(0);
    bench.each_got_one(300);
    let told = ["sending for job", "is left to other workers: the job belongs to"];
    for (worker, told) in workers.into_iter().zip(told) {
        worker.until_it_says(told);
        ends(worker.child);
    }
}

#[needs("nats-server")]
#[test]
fn a_job_without_workers_says_so() {
    let (bench, queue) = (Bench::with(3), Queue::start());
    let address = queue.address();
    let sending = Logged::start(&mut bench.sending(&["--queue", &address]));
    sending.until_it_says("no worker is processing the job; start one: idempost bulk worker");
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    sending.child.finish().exits(0);
    ends(worker);
}

#[needs("nats-server")]
#[test]
fn a_pause_for_a_quota_is_reported_once() {
    let (bench, queue) = (Bench::with(3), Queue::start());
    let exhausted = Action::error(429, "daily_quota_exceeded", "No.");
    bench.service.faults().add(Rule::new(exhausted).on_request(Method::POST, "/emails/batch").percent(100));
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let sending = Logged::start(&mut bench.sending(&["--queue", &address]));
    sending.until_it_says("paused for 15 min");
    // Until the worker has stopped, the process looks several times.
    bench.bulk(&["pause", &bench.job()]).ok();
    let Logged { child, log } = sending;
    child.finish().exits(6);
    assert_eq!(std::fs::read_to_string(log.path()).unwrap().matches("paused for").count(), 1);
    ends(worker);
}

#[test]
fn a_queue_that_is_not_there_is_unavailable_and_nothing_is_sent() {
    let bench = Bench::with(3);
    let refused = bench.send("--queue nats://mailer:s3cret@127.0.0.1:1").exits(7);
    refused.says(&["nats://127.0.0.1:1"]).hides(&["s3cret"]);
    assert_eq!(bench.delivered().len(), 0);
}

#[test]
fn the_sandbox_of_one_command_has_no_queue() {
    let bench = Bench::with(3);
    let line = "--sandbox bulk send people.csv --yes --queue nats://127.0.0.1:1";
    bench.idempost.run(&(line, MESSAGE)).fails_with(2, &["can't be used with --sandbox", "sandbox serve"]);
    let worker = bench.idempost.run("--sandbox bulk worker --queue nats://127.0.0.1:1");
    worker.fails_with(2, &["can't be used with --sandbox"]);
}

#[test]
fn problems_of_the_queue_s_flags_are_reported_at_once_and_without_the_password() {
    let bench = Bench::with(3);
    let flags =
        "--queue http://mailer:s3cret@127.0.0.1 --queue-ca nowhere.pem --queue-key k.pem --max-outage 1h";
    let expected = [
        "nats:// or tls://",
        "--queue-ca must name a file",
        "--queue-cert and --queue-key together",
        "--max-outage can't be used with --queue",
    ];
    bench.send(flags).hides(&["s3cret"]).fails_with(2, &expected);
}
