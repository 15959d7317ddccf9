//! Jobs with workers and a real queue.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use idempost_needs::needs;
use rustix::process::Signal;
use tempfile::{NamedTempFile, TempDir};

use super::{Bench, MESSAGE};
use crate::support::{Finish as _, Idempost, Ran, free_port, signal, wait_until};

/// A NATS server that syncs each record. It is killed when this value is dropped.
pub(crate) struct Queue {
    child: Child,
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
        Self { child: server(&folder, port), port, folder }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Restarts the server with the data it has stored.
    fn restart(&mut self) {
        self.child = server(&self.folder, self.port);
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}

fn server(folder: &TempDir, port: u16) -> Child {
    let program = std::env::var_os("NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    let mut command = Command::new(program);
    command.arg("--config").arg(folder.path().join("nats.conf")).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_until("the queue accepts connections", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    child
}

impl Drop for Queue {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn worker(idempost: &Idempost, queue: &Queue) -> Child {
    idempost.spawn(&["bulk", "worker", "--queue", &queue.address()])
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
    let send = ["bulk", "send", "others.csv", "--yes", "--queue", queue];
    bench.idempost.run(&(&send, MESSAGE))
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
    bench.until_asked(4);
    first.kill().unwrap();
    first.wait().unwrap();
    bench.until_asked(8);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();

    let local = bench.bulk(&["resume"]);
    assert!(local.stderr.contains("is distributed over a queue"), "{local:?}");
    let resumed = bench.send(&flags);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    bench.each_got_one(3_000);
    let status = bench.bulk(&["status", "--json"]).json();
    assert_eq!((&status["state"], &status["sent"]), (&"finished".into(), &3_000.into()), "{status}");
    for worker in [second, third] {
        signal(&worker, Signal::INT);
        let ended = Ran::of(worker.finish());
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[needs("nats-server")]
#[test]
fn a_worker_with_the_credential_of_another_account_takes_nothing() {
    // F-13
    let (bench, queue) = (Bench::with(3_500), Queue::start());
    let (machine, other) =
        (bench.service.idempost(), bench.service.idempost().env("IDEMPOST_API_KEY", "sb_other"));
    let (ours, theirs) = (worker(&machine, &queue), worker(&other, &queue));
    let address = queue.address();
    let flags = ["--max-rps", "5", "--queue", &address];
    let sending = bench.start(&flags);
    bench.until_asked(2);
    let id = bench.bulk(&["status", "--json"]).json()["job"].as_str().unwrap().to_owned();
    let named = other.run(&["bulk", "worker", &id, "--queue", &address]).fails(4);
    for part in ["belongs to profile `default`", "but this command uses profile `default`", "--same-account"]
    {
        assert!(named.contains(part), "{part}: {named}");
    }
    let coordinator =
        bench.idempost.command().env("IDEMPOST_API_KEY", "sb_other").args(["bulk", "resume"]).output();
    Ran::of(coordinator.unwrap()).fails(4);
    assert_eq!(Ran::of(sending.wait_with_output().unwrap()).code, Some(0));
    bench.each_got_one(3_500);
    assert_eq!(bench.service.core().mails("sb_other").len(), 0);
    // Without the name of a job, it waits for other jobs of its own account.
    for (worker, told) in [(ours, "sending for job"), (theirs, "belongs to profile `default`")] {
        signal(&worker, Signal::INT);
        let ended = Ran::of(worker.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
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
    bench.until_asked(2);
    signal(&coordinator, Signal::INT);
    let interrupted = Ran::of(coordinator.finish());
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    assert!(interrupted.stderr.contains("left, and the workers continue"), "{interrupted:?}");
    bench.until_asked(4);

    let status = bench.bulk(&["status", "--json"]);
    assert!(status.stderr.contains("workers may still be sending"), "{status:?}");
    let status = status.json();
    let id = status["job"].as_str().unwrap();
    for command in [&["pause", id][..], &["cancel", id, "--yes"]] {
        bench.bulk(command).fails_with(2, &["--queue", "workers may be sending job"]);
    }
    assert_eq!(bench.bulk(&["status", "--json"]).json()["state"], "stopped");
    let unreachable = bench.bulk(&["cancel", id, "--yes", "--queue", "nats://127.0.0.1:1"]);
    assert_eq!(unreachable.code, Some(7), "{unreachable:?}");
    assert_eq!(bench.bulk(&["status", "--json"]).json()["state"], "stopped");

    bench.bulk(&["pause", id, "--queue", &address]).ok();
    let other = send_another(&bench, &address);
    assert_eq!(other.code, Some(0), "a paused job keeps no worker from another one: {other:?}");
    // The only worker has left the paused job, and so receives no more responses for it.
    let paused_at = bench.service.asked();
    let resumed = bench.idempost.spawn(&(["bulk", "resume", id], flags));
    bench.until_asked(paused_at + 3);
    signal(&resumed, Signal::INT);
    Ran::of(resumed.finish());

    let canceled = bench.bulk(&["cancel", id, "--yes", "--queue", &address]);
    assert_eq!(canceled.code, Some(0), "{canceled:?}");
    let status = bench.bulk(&["status", id, "--json"]).json();
    let (sent, left) = (status["sent"].as_u64().unwrap(), status["remaining"].as_u64().unwrap());
    assert_eq!((&status["state"], sent + left), (&"canceled".into(), 6_000), "{status}");
    let left = left.to_string();
    assert!(canceled.stderr.replace(',', "").contains(&format!("{left} rows won't be sent")), "{canceled:?}");
    assert!(bench.bulk(&["cancel", id, "--yes"]).stderr.contains("already canceled"));
    signal(&worker, Signal::INT);
    assert_eq!(Ran::of(worker.finish()).code, Some(0));
    bench.each_got_one(usize::try_from(sent).unwrap() + 1);
}

#[needs("nats-server")]
#[test]
fn a_job_without_a_coordinator_keeps_no_worker_from_another_one() {
    let (bench, queue) = (Bench::with(300), Queue::start());
    let machine = bench.service.idempost();
    let mut worker = worker(&machine, &queue);
    let address = queue.address();
    let flags = ["--max-rps", "1", "--queue", &address];
    let mut coordinator = bench.start(&flags);
    bench.until_asked(1);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    bench.until_asked(3);
    let status = bench.bulk(&["status", "--json"]).json();
    let other = send_another(&bench, &address);
    assert_eq!(other.code, Some(0), "{other:?}");
    let id = status["job"].as_str().unwrap();
    let canceled = bench.bulk(&["cancel", id, "--yes", "--queue", &address]);
    assert!(canceled.stderr.contains("nothing was left to cancel"), "{canceled:?}");
    let status = bench.bulk(&["status", id, "--json"]).json();
    assert_eq!((&status["state"], &status["sent"]), (&"finished".into(), &300.into()), "{status}");
    bench.each_got_one(301);
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[needs("nats-server")]
#[test]
fn a_short_job_does_not_wait_for_a_long_one() {
    let (bench, queue) = (Bench::with(4_000), Queue::start());
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let mut long = bench.start(&["--max-rps", "2", "--queue", &address]);
    bench.until_asked(2);
    let short = send_another(&bench, &address);
    assert_eq!(short.code, Some(0), "{short:?}");
    assert_eq!(bench.delivered().get("other@example.com"), Some(&1));
    assert!(bench.delivered().len() < 4_001, "the long job goes on");
    long.kill().unwrap();
    long.wait().unwrap();
    signal(&worker, Signal::INT);
    assert_eq!(Ran::of(worker.finish()).code, Some(0));
}

#[needs("nats-server")]
#[test]
fn a_job_of_a_higher_priority_goes_first() {
    let (bench, queue) = (Bench::with(6_000), Queue::start());
    let machine = bench.service.idempost();
    let worker = worker(&machine, &queue);
    let address = queue.address();
    let mut normal = bench.start(&["--max-rps", "4", "--queue", &address]);
    bench.until_asked(2);
    bench.write("urgent.csv", super::csv(1_500).replace("\np", "\nurgent"));
    let send =
        ["bulk", "send", "urgent.csv", "--yes", "--max-rps", "4", "--priority", "high", "--queue", &address];
    let urgent = bench.idempost.run(&(&send, MESSAGE));
    assert_eq!(urgent.code, Some(0), "{urgent:?}");
    let bodies = bench.service.bodies();
    let is_urgent = |body: &serde_json::Value| body[0]["to"].to_string().contains("urgent");
    let first = bodies.iter().position(is_urgent).unwrap();
    let last = bodies.iter().rposition(is_urgent).unwrap();
    // The worker finishes the work that it has started for the other job.
    let between = (first..last).filter(|index| !is_urgent(&bodies[*index])).count();
    assert!(between <= 4, "{between} of {}", last - first);
    assert!(bench.delivered().len() < 7_500, "the other job goes on");
    normal.kill().unwrap();
    normal.wait().unwrap();
    signal(&worker, Signal::INT);
    assert_eq!(Ran::of(worker.finish()).code, Some(0));
}

#[needs("nats-server")]
#[test]
fn workers_stay_when_the_queue_restarts_and_when_they_cannot_serve_a_job() {
    let (bench, mut queue) = (Bench::with(300), Queue::start());
    let (machine, elsewhere) = (bench.service.idempost(), bench.service.idempost());
    let spelled = bench.service.base_url().replace("127.0.0.1", "localhost");
    let elsewhere = elsewhere.env("IDEMPOST_BASE_URL", spelled);
    let address = queue.address();
    let start =
        |idempost: &Idempost| Logged::start(idempost.command().args(["bulk", "worker", "--queue", &address]));
    let workers = [start(&machine), start(&elsewhere)];
    for worker in &workers {
        worker.until_it_says("waiting for a job");
    }
    queue.kill();
    for worker in &workers {
        worker.until_it_says("the queue doesn't respond");
    }
    queue.restart();
    let sent = bench.send(&["--max-rps", "1", "--queue", &queue.address()]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    bench.each_got_one(300);
    let told = ["sending for job", "is left to other workers: the job belongs to"];
    for (worker, told) in workers.into_iter().zip(told) {
        worker.until_it_says(told);
        signal(&worker.child, Signal::INT);
        assert_eq!(Ran::of(worker.child.finish()).code, Some(0));
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
    assert_eq!(Ran::of(sending.child.finish()).code, Some(0));
    signal(&worker, Signal::INT);
    assert_eq!(Ran::of(worker.finish()).code, Some(0));
}

#[test]
fn a_priority_is_one_of_three_and_needs_a_queue() {
    let bench = Bench::with(3);
    let stderr = bench.send(&["--priority", "urgent"]).fails(2);
    for part in ["--priority must be low, normal or high", "--priority requires --queue"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[test]
fn a_queue_that_is_not_there_is_unavailable_and_nothing_is_sent() {
    let bench = Bench::with(3);
    let refused = bench.send(&["--queue", "nats://mailer:s3cret@127.0.0.1:1"]);
    assert_eq!(refused.code, Some(7), "{refused:?}");
    assert!(
        refused.stderr.contains("nats://127.0.0.1:1") && !refused.stderr.contains("s3cret"),
        "{refused:?}"
    );
    assert_eq!(bench.delivered().len(), 0);
}

#[test]
fn problems_of_the_queue_s_flags_are_reported_at_once_and_without_the_password() {
    let bench = Bench::with(3);
    let stderr = bench
        .send(&[
            "--queue",
            "http://mailer:s3cret@127.0.0.1",
            "--queue-ca",
            "nowhere.pem",
            "--queue-key",
            "k.pem",
        ])
        .fails(2);
    for part in ["nats:// or tls://", "--queue-ca must name a file", "--queue-cert and --queue-key together"]
    {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!stderr.contains("s3cret"), "{stderr}");
}
