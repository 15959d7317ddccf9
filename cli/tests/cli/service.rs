//! A service for one test, and a program configured to use it.

use std::sync::Arc;

use idempost_reference_server::{ReferenceServer, Service as Core, Settings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::{CommandLine, Idempost};

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

    pub(crate) fn with(settings: Settings) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(idempost_sandbox::start(settings));
        Self { server, _runtime: runtime, judges: true }
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
        Idempost::new()
            .env("IDEMPOST_BASE_URL", self.base_url())
            .env("IDEMPOST_API_KEY", self.server.api_key())
    }

    /// Runs a command to its success; returns what it prints, without the line end.
    #[track_caller]
    pub(crate) fn done(&self, line: &(impl CommandLine + ?Sized)) -> String {
        self.idempost().run(line).ok().trim_end().to_owned()
    }

    /// The bodies of all requests that have one, in order.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let requests = self.core().requests();
        let bodies = requests.iter().filter(|request| !request.body.is_empty());
        bodies.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// The number of requests received.
    pub(crate) fn asked(&self) -> usize {
        self.core().requests().len()
    }
}
