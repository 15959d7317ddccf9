//! A soak test: a persistent sandbox, a webhook listener, a watch of received mail and bulk jobs run together, and are repeatedly killed and
//! restarted. `IDEMPOST_SOAK_MINUTES=30 cargo test -p idempost-cli --test cli soak:: -- --ignored --nocapture` prints what it counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{CommandLine as _, Finish as _, Idempost, Running, free_port, signal};

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
    port: u16,
    listener_port: u16,
    sandbox: Option<Running>,
    listener: Option<Running>,
    watch: Option<Running>,
    random: StdRng,
    kills: BTreeMap<&'static str, usize>,
}

impl Soak {
    fn start() -> Self {
        let port = free_port();
        let mut soak = Self {
            idempost: Idempost::at(format!("http://127.0.0.1:{port}"), "sb_local"),
            port,
            listener_port: free_port(),
            sandbox: None,
            listener: None,
            watch: None,
            random: StdRng::seed_from_u64(11),
            kills: BTreeMap::new(),
        };
        soak.start_sandbox();
        let create = "webhooks create --event email.delivered --secret-file secret";
        soak.run(&format!("{create} http://127.0.0.1:{}/", soak.listener_port));
        soak.start_listener();
        soak.start_watch();
        soak
    }

    fn run(&self, line: &str) -> String {
        self.idempost.run(line).ok()
    }

    /// Starts a command that appends its results to a file in the program's folder.
    fn spawn(&self, line: &str, name: &str) -> Running {
        let append = |name: String| File::options().create(true).append(true).open(self.file(&name)).unwrap();
        let mut command = self.idempost.command();
        command.args(line.words()).stdout(append(name.to_owned())).stderr(append(format!("{name}.log")));
        Running(command.spawn().unwrap())
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.idempost.home().join(name)
    }

    fn start_sandbox(&mut self) {
        let flags = format!("--data data --keep {RETAINED} --max-memory 128MiB");
        self.sandbox = Some(self.spawn(&format!("sandbox serve --port {} {flags}", self.port), "sandbox"));
        self.run("sandbox wait --timeout 5m");
    }

    fn start_listener(&mut self) {
        let listen = format!("webhooks listen --port {} --secret-file secret -o ndjson", self.listener_port);
        self.listener = Some(self.spawn(&listen, "events"));
    }

    fn start_watch(&mut self) {
        // The first watch reads from the start; the others resume.
        let start = if self.file("received").exists() { "" } else { "--from-start" };
        self.watch = Some(self.spawn(&format!("received watch {start} --interval 1s -o ndjson"), "received"));
    }

    fn end(&mut self, name: &'static str, child: Option<Running>, which: Signal) {
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
        self.idempost.write("rows.csv", rows);
        let mut line = "bulk send rows.csv --yes --from hi@acme.test --subject Hello --text Hi";
        for attempt in 0.. {
            let mut child = self.idempost.spawn(line);
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
        soak.run("sandbox clock advance 1h");
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
