//! A service for one test, and the program set to talk to it.

use std::sync::Arc;

use posthaste_reference_server::{ReferenceServer, Service as Core, Settings};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::Posthaste;

pub(crate) struct Service {
    // Dropped first: it stops the server that the runtime runs.
    server: ReferenceServer,
    _runtime: Runtime,
    judges: bool,
}

/// Whatever the program has sent keeps the contract, or the test fails.
impl Drop for Service {
    fn drop(&mut self) {
        if self.judges && !std::thread::panicking() {
            posthaste_conformance::bench::judge_requests(self.core());
        }
    }
}

impl Service {
    pub(crate) fn start() -> Self {
        Self::with(Settings { seed: Some(0), ..Settings::default() })
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(ReferenceServer::over_http(settings));
        Self { server, _runtime: runtime, judges: true }
    }

    /// For a test that sends on purpose what the contract doesn't know.
    pub(crate) fn unjudged(mut self) -> Self {
        self.judges = false;
        self
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// What a test looks at from behind.
    pub(crate) fn core(&self) -> &Arc<Core> {
        self.server.service()
    }

    /// The program, set to talk to it.
    pub(crate) fn posthaste(&self) -> Posthaste {
        Posthaste::new()
            .env("POSTHASTE_BASE_URL", self.base_url())
            .env("POSTHASTE_API_KEY", self.server.api_key())
    }

    /// The bodies of all requests with a body, in order.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let requests = self.core().requests();
        let bodies = requests.iter().filter(|request| !request.body.is_empty());
        bodies.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// How many requests have arrived.
    pub(crate) fn asked(&self) -> usize {
        self.core().requests().len()
    }
}
