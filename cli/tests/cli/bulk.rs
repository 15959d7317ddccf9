//! `bulk`: jobs end to end, with interruptions and failures of all kinds.

mod accounts;
mod changed;
pub(crate) mod distributed;
mod feedback;
mod interrupted;
mod on_end;
mod refused;
mod rows;
mod schedule;
mod verbs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command};

use http::Method;
use idempost_reference_server::faults::Rule;
use serde_json::Value;

use crate::service::Service;
use crate::support::{CommandLine, Finish as _, Idempost, Ran, kill, wait_until};

/// The message of all jobs.
const MESSAGE: [&str; 6] = ["--from", "hi@acme.test", "--subject", "Hello {{{NAME|there}}}", "--text", "Hi"];

/// A service, and the program with a file of people.
struct Bench {
    service: Service,
    idempost: Idempost,
}

impl Bench {
    fn with(people: usize) -> Self {
        Self::of(Service::start(), people)
    }

    fn of(service: Service, people: usize) -> Self {
        let idempost = service.idempost();
        Self { service, idempost }.sending_to(people)
    }

    /// With a login instead of an API key.
    fn logged_in(flags: &str, people: usize) -> Self {
        let service = crate::auth::service();
        let idempost = crate::auth::logged_in(&service, flags);
        Self { service, idempost }.sending_to(people)
    }

    fn sending_to(self, people: usize) -> Self {
        self.write("people.csv", csv(people));
        self
    }

    /// Applies a rule to sends only: a run also asks for the time.
    fn fail_sends(&self, rule: Rule) {
        self.service.faults().add(rule.on_method(Method::POST));
    }

    /// Returns the number of sends.
    fn sends(&self) -> usize {
        self.service.requests().iter().filter(|request| request.method == Method::POST).count()
    }

    /// Writes a file in the program's folder.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        self.idempost.write(name, content);
    }

    /// Runs `bulk` with these arguments.
    fn bulk(&self, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.idempost.run(&("bulk", line))
    }

    /// Runs `bulk` with these arguments, and its clock moved by seconds.
    fn later(&self, offset: u64, line: &(impl CommandLine + ?Sized)) -> Ran {
        let mut command = self.idempost.command();
        command.env("IDEMPOST_BULK_CLOCK_OFFSET", offset.to_string()).args(("bulk", line).words()).finish()
    }

    /// Plans people.csv with the message and these flags.
    fn plan(&self, flags: &(impl CommandLine + ?Sized)) -> Ran {
        self.bulk(&(("plan people.csv", MESSAGE), flags))
    }

    /// Runs `bulk send people.csv --yes` with the message and these flags.
    fn send(&self, flags: &(impl CommandLine + ?Sized)) -> Ran {
        self.sending(flags).finish()
    }

    /// Starts the same command without waiting for it.
    fn start(&self, flags: &(impl CommandLine + ?Sized)) -> Child {
        self.sending(flags).spawn().unwrap()
    }

    fn sending(&self, flags: &(impl CommandLine + ?Sized)) -> Command {
        let mut command = self.idempost.command();
        command.args((("bulk send people.csv --yes", MESSAGE), flags).words());
        command
    }

    /// Starts the same command, and kills it after this number of requests.
    fn kill_after(&self, requests: usize, flags: &(impl CommandLine + ?Sized)) {
        let mut child = self.start(flags);
        self.wait_for_sends(requests);
        kill(&mut child);
    }

    /// The status of the latest job.
    fn status(&self) -> Value {
        self.bulk("status --json").json()
    }

    /// The ID of the latest job.
    fn job(&self) -> String {
        self.status()["job"].as_str().unwrap().to_owned()
    }

    /// A file of the latest job.
    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(self.status()["folder"].as_str().unwrap()).join(name)
    }

    /// The number of emails that each recipient got.
    fn delivered(&self) -> BTreeMap<String, usize> {
        let mut delivered = BTreeMap::new();
        for mail in self.service.mails() {
            for to in mail.to {
                *delivered.entry(to).or_default() += 1;
            }
        }
        delivered
    }

    /// Asserts that this number of people received an email each, and none more than one.
    #[track_caller]
    fn each_got_one(&self, people: usize) {
        let delivered = self.delivered();
        let twice: Vec<_> = delivered.iter().filter(|(_, emails)| **emails != 1).collect();
        assert!(twice.is_empty(), "more than one email: {twice:?}");
        assert_eq!(delivered.len(), people);
    }

    /// Waits until the service has received this number of sends.
    fn wait_for_sends(&self, requests: usize) {
        wait_until(&format!("the service has {requests} sends"), || self.sends() >= requests);
    }
}

/// A file with this number of people.
fn csv(people: usize) -> String {
    let mut csv = "to,NAME\n".to_owned();
    for n in 1..=people {
        writeln!(csv, "p{n}@example.com,Person {n}").unwrap();
    }
    csv
}
