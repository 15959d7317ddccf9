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
use std::process::{Child, Command, Stdio};

use crate::service::Service;
use crate::support::{Idempost, Ran, wait_until};

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
        let bench = Self { idempost: service.idempost(), service };
        bench.write("people.csv", csv(people));
        bench
    }

    /// Writes a file in the program's folder.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.idempost.home().join(name), content).unwrap();
    }

    /// Runs `bulk` with these arguments.
    fn bulk(&self, arguments: &[&str]) -> Ran {
        self.idempost.run(&("bulk", arguments))
    }

    /// Runs `bulk send people.csv --yes` with the message and these flags.
    fn send(&self, flags: &[&str]) -> Ran {
        self.idempost.run(&(("bulk send people.csv --yes", MESSAGE), flags))
    }

    /// Starts the same command without waiting for it.
    fn start(&self, flags: &[&str]) -> Child {
        self.sending(flags).spawn().unwrap()
    }

    fn sending(&self, flags: &[&str]) -> Command {
        let mut command = self.idempost.command();
        command.args(["bulk", "send", "people.csv", "--yes"]).args(MESSAGE).args(flags).stdin(Stdio::null());
        command
    }

    /// The number of emails that each recipient got.
    fn delivered(&self) -> BTreeMap<String, usize> {
        let mut delivered = BTreeMap::new();
        for mail in self.service.core().mails("sb_test") {
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

    /// Waits until the service has received this number of requests.
    fn until_asked(&self, requests: usize) {
        wait_until(&format!("the service has {requests} requests"), || self.service.asked() >= requests);
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
