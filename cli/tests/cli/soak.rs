//! A soak test: a persistent sandbox, a webhook listener, a watch of received mail and bulk jobs run together, and are repeatedly killed and
//! restarted. `IDEMPOST_SOAK_MINUTES=30 cargo test -p idempost-cli --test cli soak:: -- --ignored --nocapture` prints what it counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{CommandLine as _, Finish as _, Idempost, signal};

const ROWS: usize = 1_000;
const RECEIVED: usize = 10;
/// The emails that the sandbox retains.
const RETAINED: usize = 5_000;
/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The peak and the last resident memory, in KiB, of a process that is restarted occasionally.
#[derive(Default)]
struct Memory {
    greatest: u64,
    last: u64,
}

impl Memory {
    fn sample(&mut self, child: &Child) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        if let Some(resident) = resident.and_then(|value| value.split_whitespace().next()) {
            self.last = resident.parse().unwrap();
            self.greatest = self.greatest.max(self.last);
        }
    }
}

/// The processes of the soak test, and where they write.
struct Soak {
    idempost: Idempost,
    port: String,
    listener_port: String,
    sandbox: Option<Child>,
    listener: Option<Child>,
    watch: Option<Child>,
    random: StdRng,
    kills: BTreeMap<&'static str, usize>,
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

impl Soak {
    fn start() -> Self {
        let port = free_port();
        let idempost = Idempost::new()
            .env("IDEMPOST_BASE_URL", format!("http://127.0.0.1:{port}"))
            .env("IDEMPOST_API_KEY", "sb_local");
        let mut soak = Self {
            idempost,
            port,
            listener_port: free_port(),
            sandbox: None,
            listener: None,
            watch: None,
            random: StdRng::seed_from_u64(11),
            kills: BTreeMap::new(),
        };
        soak.start_sandbox();
        let endpoint = format!("http://127.0.0.1:{}/", soak.listener_port);
        soak.run(&["webhooks", "create", &endpoint, "--event", "email.delivered", "--secret-file", "secret"]);
        soak.start_listener();
        soak.start_watch();
        soak
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.idempost.run(arguments).ok()
    }

    /// Starts a command that appends its results to a file in the program's folder.
    fn spawn(&self, arguments: &[&str], name: &str) -> Child {
        let append = |name: String| File::options().create(true).append(true).open(self.file(&name)).unwrap();
        let mut command = self.idempost.command();
        command.args(arguments).stdout(append(name.to_owned())).stderr(append(format!("{name}.log")));
        command.spawn().unwrap()
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.idempost.home().join(name)
    }

    fn start_sandbox(&mut self) {
        let retained = RETAINED.to_string();
        let flags = ["--data", "data", "--keep", &retained, "--max-memory", "128MiB"];
        let serve = [&["sandbox", "serve", "--port", &self.port][..], &flags].concat();
        self.sandbox = Some(self.spawn(&serve, "sandbox"));
        self.run(&["sandbox", "wait", "--timeout", "5m"]);
    }

    fn start_listener(&mut self) {
        let listen =
            ["webhooks", "listen", "--port", &self.listener_port, "--secret-file", "secret", "-o", "ndjson"];
        self.listener = Some(self.spawn(&listen, "events"));
    }

    fn start_watch(&mut self) {
        let watch = ["received", "watch", "--from-start", "--interval", "1s", "-o", "ndjson"];
        // The first watch reads from the start; the others resume.
        let watch =
            if self.file("received").exists() { [&watch[..2], &watch[3..]].concat() } else { watch.to_vec() };
        self.watch = Some(self.spawn(&watch, "received"));
    }

    fn end(&mut self, name: &'static str, child: Option<Child>, which: Signal) {
        let mut child = child.unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{name} ended by itself:\n{}", self.log(name));
        signal(&child, which);
        child.wait().unwrap();
        *self.kills.entry(name).or_default() += 1;
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(&format!("{name}.log"))).unwrap_or_default()
    }

    /// Sends an email for each row of a file, and kills the job before it ends, up to three times.
    fn bulk(&mut self, round: usize) {
        let mut rows = "to\n".to_owned();
        for row in 0..ROWS {
            writeln!(rows, "r{round}-{row}@example.com").unwrap();
        }
        std::fs::write(self.file("rows.csv"), rows).unwrap();
        let mut line = "bulk send rows.csv --yes --from hi@acme.test --subject Hello --text Hi";
        for attempt in 0.. {
            let mut child = self.idempost.spawn(&line.words());
            if attempt < 3 {
                std::thread::sleep(Duration::from_millis(self.random.gen_range(100..1_000)));
                if child.try_wait().unwrap().is_none() {
                    signal(&child, Signal::KILL);
                    child.wait().unwrap();
                    *self.kills.entry("bulk").or_default() += 1;
                    // A job that was killed before it was planned must be started again.
                    let planned = self.idempost.run(&["bulk", "status", "--json"]);
                    let rows = self.idempost.run(&["bulk", "list", "--json"]).stdout;
                    if planned.code == Some(0) && jobs(&rows) > round {
                        line = "bulk resume";
                    }
                    continue;
                }
            }
            child.finish().exits(0);
            return;
        }
    }

    fn receive(&self, round: usize) {
        for number in 0..RECEIVED {
            let subject = format!("no {round}-{number}");
            let receive = "sandbox receive --from ada@example.com --to in@acme.test --text Hi --subject";
            self.idempost.run(&(receive, [subject])).ok();
        }
    }
}

impl Drop for Soak {
    fn drop(&mut self) {
        for child in [&mut self.sandbox, &mut self.listener, &mut self.watch].into_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn jobs(list: &str) -> usize {
    let list: Value = serde_json::from_str(list).unwrap();
    list["data"].as_array().or(list.as_array()).map_or(0, Vec::len)
}

/// The deliveries that the listener has printed so far.
struct Delivered {
    file: BufReader<File>,
    line: String,
    /// The IDs of the emails that each recipient got.
    emails: BTreeMap<String, BTreeSet<String>>,
}

impl Delivered {
    fn of(path: &Path) -> Self {
        let file = BufReader::new(File::open(path).unwrap());
        Self { file, line: String::new(), emails: BTreeMap::new() }
    }

    /// Reads the lines that have been added; returns the number of recipients.
    fn read(&mut self) -> usize {
        while self.file.read_line(&mut self.line).unwrap() > 0 && self.line.ends_with('\n') {
            // A killed process may leave half of a line.
            let event = serde_json::from_str(&std::mem::take(&mut self.line)).unwrap_or(Value::Null);
            // A listener starts with a line about itself.
            if let Some(data) = event.pointer("/payload/data") {
                let (Some(to), Some(id)) = (data["to"][0].as_str(), data["email_id"].as_str()) else {
                    panic!("not a delivery: {event}");
                };
                self.emails.entry(to.to_owned()).or_default().insert(id.to_owned());
            }
        }
        self.emails.len()
    }
}

/// The subjects of the received emails that were printed.
fn received(path: &Path) -> BTreeSet<String> {
    // A killed process may leave half of a line.
    let mails = std::fs::read_to_string(path).unwrap();
    let mails = mails.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    mails.map(|mail| mail["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "takes as many minutes as IDEMPOST_SOAK_MINUTES says, or one"]
fn soak() {
    let minutes = std::env::var("IDEMPOST_SOAK_MINUTES").map_or(1, |minutes| minutes.parse().unwrap());
    let begun = Instant::now();
    let length = Duration::from_mins(minutes);
    let mut soak = Soak::start();
    let (mut sandbox, mut listener, mut watch) = (Memory::default(), Memory::default(), Memory::default());
    // After the last restart of the sandbox, and some time for its retained data to fill up again.
    let mut settled = None;
    let mut round = 0;
    let mut delivered = Delivered::of(&soak.file("events"));
    while begun.elapsed() < length {
        soak.receive(round);
        soak.bulk(round);
        // An email that is no longer retained has no deliveries.
        let sent = Instant::now();
        while delivered.read() + RETAINED / 2 < (round + 1) * ROWS {
            assert!(sent.elapsed() < TIMEOUT, "round {round}: {} delivered", delivered.emails.len());
            std::thread::sleep(Duration::from_millis(20));
        }
        sandbox.sample(soak.sandbox.as_ref().unwrap());
        listener.sample(soak.listener.as_ref().unwrap());
        watch.sample(soak.watch.as_ref().unwrap());
        if round % 3 == 1 {
            let child = soak.listener.take();
            soak.end("events", child, Signal::KILL);
            soak.start_listener();
        }
        if round % 3 == 2 {
            let child = soak.watch.take();
            soak.end("received", child, Signal::KILL);
            soak.start_watch();
        }
        // A killed sandbox may lose its last second (see `persistence.rs`), so it is stopped.
        if round % 5 == 4 && begun.elapsed() < length / 3 {
            let child = soak.sandbox.take();
            soak.end("sandbox", child, Signal::TERM);
            soak.start_sandbox();
        }
        if begun.elapsed() > length / 2 && settled.is_none() {
            settled = Some(sandbox.last);
        }
        round += 1;
    }
    // Deliveries that found no listener are retried after minutes and hours.
    let (rows, mails) = (round * ROWS, round * RECEIVED);
    let end = Instant::now() + TIMEOUT;
    loop {
        let received = received(&soak.file("received"));
        if delivered.read() == rows && received.len() == mails {
            let twice: Vec<_> = delivered.emails.iter().filter(|(_, ids)| ids.len() != 1).take(5).collect();
            assert!(twice.is_empty(), "more than one email: {twice:?}");
            break;
        }
        assert!(
            Instant::now() < end,
            "{} of {rows} delivered, {} of {mails} received",
            delivered.emails.len(),
            received.len()
        );
        soak.run(&["sandbox", "clock", "advance", "1h"]);
        std::thread::sleep(Duration::from_secs(2));
    }
    let settled = settled.unwrap();
    println!(
        "{rows} emails in {round} jobs and {mails} received mails, 0 lost, 0 twice; kills: {:?}",
        soak.kills
    );
    println!(
        "KiB: sandbox {settled} after half of the time, {} at the end; at most {}, listener {}, watch {}",
        sandbox.last, sandbox.greatest, listener.greatest, watch.greatest
    );
    assert!(sandbox.last < settled + settled / 5, "the sandbox's memory grows");
}
