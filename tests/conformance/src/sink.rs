//! A webhook endpoint: every delivery is validated against the contract and verified with the client's own code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idempost::{
    types::SigningSecret,
    webhooks::{WebhookPayload, WebhookVerifier},
};
use tokio::time::{Instant, sleep};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::contract::Contract;

/// The maximum time to wait for a delivery.
const TIMEOUT: Duration = Duration::from_mins(1);

/// An endpoint that accepts every delivery.
pub struct Sink {
    server: MockServer,
    /// Unique in this process: wiremock reuses its servers, and a late delivery to an earlier sink must not count here.
    path: String,
    taken: usize,
}

impl Sink {
    /// Creates an endpoint that accepts everything.
    pub async fn start() -> Self {
        static SINKS: AtomicUsize = AtomicUsize::new(0);
        let address = format!("/hook/{}", SINKS.fetch_add(1, Ordering::Relaxed));
        let server = MockServer::start().await;
        Mock::given(path(&address)).respond_with(ResponseTemplate::new(200)).mount(&server).await;
        Self { server, path: address, taken: 0 }
    }

    /// The URL.
    pub fn address(&self) -> String {
        format!("{}{}", self.server.uri(), self.path)
    }

    /// Returns the next `count` deliveries, validated against the contract and signed with this secret.
    ///
    /// # Panics
    ///
    /// If they don't arrive, or one of them is invalid.
    pub async fn next(&mut self, count: usize, secret: &SigningSecret) -> Vec<WebhookPayload> {
        let verifier = WebhookVerifier::new(secret).expect("a secret");
        let deliveries = self.raw(count).await.into_iter().map(|request| {
            let breaches =
                Contract::get().breaches_of_delivery(&request.headers, &request.body.clone().into());
            assert!(breaches.is_empty(), "the contract is violated: {breaches:#?}");
            let delivery = verifier.verify(&request.headers, &request.body).expect("a valid signature");
            delivery.event().expect("an event")
        });
        deliveries.collect()
    }

    /// Returns the next `count` deliveries as received.
    ///
    /// # Panics
    ///
    /// If they don't arrive.
    async fn raw(&mut self, count: usize) -> Vec<Request> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let all = self.received().await;
            if let Some(new) = all.get(self.taken..self.taken + count) {
                self.taken += count;
                return new.to_vec();
            }
            let came = all.len() - self.taken;
            assert!(Instant::now() < until, "{came} deliveries arrived, expected {count}");
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn received(&self) -> Vec<Request> {
        let mut requests = self.server.received_requests().await.unwrap_or_default();
        requests.retain(|request| request.url.path() == self.path);
        requests
    }

    /// The number of deliveries that no test has read yet.
    pub async fn waiting(&self) -> usize {
        self.received().await.len() - self.taken
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("address", &self.address()).finish_non_exhaustive()
    }
}
