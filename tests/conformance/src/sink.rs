//! The endpoint of a webhook: it takes what comes, and every delivery is judged by the contract and verified with the client's own code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use posthaste::{WebhookPayload, WebhookVerifier, types::SigningSecret};
use tokio::time::{Instant, sleep};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::contract::Contract;

/// How long a delivery may take to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

/// An endpoint that answers every delivery with one status.
pub struct Sink {
    server: MockServer,
    /// Unique in this process: wiremock reuses its servers, and a late delivery to an earlier sink must not count here.
    path: String,
    taken: usize,
}

impl Sink {
    /// An endpoint that takes everything.
    pub async fn start() -> Self {
        Self::answering(200).await
    }

    /// An endpoint that answers with this status.
    pub async fn answering(status: u16) -> Self {
        static SINKS: AtomicUsize = AtomicUsize::new(0);
        let address = format!("/hook/{}", SINKS.fetch_add(1, Ordering::Relaxed));
        let server = MockServer::start().await;
        Mock::given(path(&address)).respond_with(ResponseTemplate::new(status)).mount(&server).await;
        Self { server, path: address, taken: 0 }
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("{}{}", self.server.uri(), self.path)
    }

    /// The next so many deliveries, each as the contract says and signed with this secret.
    ///
    /// # Panics
    ///
    /// When they don't come, or one of them isn't.
    pub async fn next(&mut self, count: usize, secret: &SigningSecret) -> Vec<WebhookPayload> {
        let verifier = WebhookVerifier::new(secret).expect("a secret");
        let deliveries = self.raw(count).await.into_iter().map(|request| {
            let breaches =
                Contract::get().breaches_of_delivery(&request.headers, &request.body.clone().into());
            assert!(breaches.is_empty(), "the contract is broken: {breaches:#?}");
            let delivery = verifier.verify(&request.headers, &request.body).expect("a signature that fits");
            delivery.event().expect("an event")
        });
        deliveries.collect()
    }

    /// The next so many deliveries as they came.
    ///
    /// # Panics
    ///
    /// When they don't come.
    pub async fn raw(&mut self, count: usize) -> Vec<Request> {
        let until = Instant::now() + PATIENCE;
        loop {
            let all = self.received().await;
            if let Some(new) = all.get(self.taken..self.taken + count) {
                self.taken += count;
                return new.to_vec();
            }
            let came = all.len() - self.taken;
            assert!(Instant::now() < until, "{came} deliveries came, and {count} were expected");
            sleep(Duration::from_millis(2)).await;
        }
    }

    async fn received(&self) -> Vec<Request> {
        let mut requests = self.server.received_requests().await.unwrap_or_default();
        requests.retain(|request| request.url.path() == self.path);
        requests
    }

    /// How many have come that nobody has looked at.
    pub async fn waiting(&self) -> usize {
        self.received().await.len() - self.taken
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("address", &self.address()).finish_non_exhaustive()
    }
}
