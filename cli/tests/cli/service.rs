//! A service for one test, and a program configured to use it; and a scripted peer in its place.

use std::ops::Deref;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use idempost_conformance::peer::{Act, Arrived, Peer};
use idempost_reference_server::faults::Faults;
use idempost_reference_server::{CapturedMail, RecordedRequest, ReferenceServer, Service as Core, Settings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::{CommandLine, Idempost, Ran, TIMEOUT};

pub(crate) struct Service {
    // Dropped first: stops the server that the runtime runs.
    server: ReferenceServer,
    _runtime: Runtime,
    judges: bool,
}

/// Fails the test if the program sent anything that violates the contract.
impl Drop for Service {
    fn drop(&mut self) {
        if self.judges && !std::thread::panicking() {
            idempost_conformance::bench::judge_requests(self.core());
        }
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::with(Settings { seed: Some(0), beta: true, ..Settings::default() })
    }

    /// A service, and the program configured to use it.
    pub(crate) fn with_program() -> (Self, Idempost) {
        let service = Self::start();
        let idempost = service.idempost();
        (service, idempost)
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let runtime = runtime();
        let server = runtime.block_on(idempost_sandbox::start(settings));
        Self { server, _runtime: runtime, judges: true }
    }

    /// For logins. Browsers request pages that aren't part of the contract.
    pub(crate) fn for_logins(settings: Settings) -> Self {
        let service = Self::with(settings).unjudged();
        service.core().set_base_url(&service.base_url());
        service
    }

    /// For a test that deliberately violates the contract.
    pub(crate) fn unjudged(mut self) -> Self {
        self.judges = false;
        self
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The server's internals, for assertions.
    pub(crate) fn core(&self) -> &Arc<Core> {
        self.server.service()
    }

    /// The program, configured to use this service.
    pub(crate) fn idempost(&self) -> Idempost {
        Idempost::at(self.base_url(), self.server.api_key())
    }

    /// Runs a command to its success; returns what it prints, without the line end.
    #[track_caller]
    pub(crate) fn done(&self, line: &(impl CommandLine + ?Sized)) -> String {
        self.run(line).ok().trim_end().to_owned()
    }

    /// The bodies of all requests that have one, in order.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let requests = self.requests();
        let bodies = requests.iter().filter(|request| !request.body.is_empty());
        bodies.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// The number of requests received.
    pub(crate) fn asked(&self) -> usize {
        self.requests().len()
    }

    /// All requests, in order.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.core().requests()
    }

    /// The emails of the account, newest first.
    pub(crate) fn mails(&self) -> Vec<CapturedMail> {
        self.core().mails("sb_test")
    }

    /// The script of faults.
    pub(crate) fn faults(&self) -> &Faults {
        self.core().faults()
    }

    /// Holds the responses for this path until the returned value is dropped. The requests are handled, and recorded afterwards.
    pub(crate) fn hold(&self, path: &'static str) -> Held {
        let ((reach, reached), (release, held)) = (channel(), channel());
        let held = Mutex::new(held);
        self.core().on_request(move |request| {
            if request.path == path {
                let _ = reach.send(());
                let _ = tokio::task::block_in_place(|| held.lock().unwrap().recv_timeout(TIMEOUT));
            }
        });
        Held { reached, _release: release }
    }

    /// Runs a command with the key of this service.
    pub(crate) fn run(&self, line: &(impl CommandLine + ?Sized)) -> Ran {
        self.idempost().run(line)
    }

    /// Runs a command with this standard input.
    pub(crate) fn run_with(&self, line: &(impl CommandLine + ?Sized), input: &str) -> Ran {
        self.idempost().run_with(line, input)
    }
}

/// The responses that a service holds.
#[must_use]
pub(crate) struct Held {
    reached: Receiver<()>,
    _release: Sender<()>,
}

impl Held {
    /// Waits until the service has handled a request.
    #[track_caller]
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(TIMEOUT).expect("no request arrived");
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A scripted peer in place of the service.
pub(crate) struct ScriptedPeer {
    peer: Peer,
    _runtime: Runtime,
}

impl ScriptedPeer {
    /// Performs these acts in order, and repeats the last one.
    pub(crate) fn new(acts: impl Into<Vec<Act>>) -> Self {
        let runtime = runtime();
        Self { peer: runtime.block_on(Peer::acting(acts)), _runtime: runtime }
    }

    /// Handles each request by `script`.
    pub(crate) fn start(script: impl Fn(&Arrived) -> Act + Send + Sync + 'static) -> Self {
        let runtime = runtime();
        Self { peer: runtime.block_on(Peer::start(move |_, request| script(request))), _runtime: runtime }
    }
}

impl Deref for ScriptedPeer {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}
