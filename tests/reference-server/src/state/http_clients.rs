//! Connections to webhook endpoints, to hosted attachments, and to the servers of remote images and links.

pub mod public;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;
use tokio::sync::Semaphore;

use self::public::Networks;
use crate::state::names::Names;

/// The number of emails whose remote images or links are requested at the same time.
const MAX_REMOTE: usize = 2;

/// The HTTP clients of one service.
pub struct HttpClients {
    /// One for each [`Networks`].
    clients: [OnceLock<reqwest::Client>; 3],
    allow_private: bool,
    others_reach_it: AtomicBool,
    /// A permit for each email whose remote images or links are requested.
    pub remote: Semaphore,
}

impl HttpClients {
    /// `allow_private` permits webhooks and attachments at private addresses even if others can reach the service, as a public URL that isn't this
    /// machine's implies.
    pub fn new(allow_private: bool, public_url: Option<&str>) -> Self {
        let is_public = public_url.is_some_and(|url| !Names::default().accepts_url(url));
        Self {
            clients: [const { OnceLock::new() }; 3],
            allow_private,
            others_reach_it: AtomicBool::new(is_public),
            remote: Semaphore::new(MAX_REMOTE),
        }
    }

    /// Restricts webhooks and attachments to public addresses, unless private ones are permitted.
    pub fn restrict_to_public(&self) {
        self.others_reach_it.store(true, Ordering::Relaxed);
    }

    /// The addresses that webhooks and hosted attachments may have.
    pub fn networks(&self) -> Networks {
        if self.others_reach_it.load(Ordering::Relaxed) && !self.allow_private {
            Networks::PublicByDefault
        } else {
            Networks::Private
        }
    }

    /// The client for these networks; a [check](Networks::check) must precede every request. It follows no redirects: a webhook's secret was
    /// issued for the registered URL. It uses no proxy, which would resolve the names itself, and doesn't decompress, so that the size of a
    /// response is the size on the wire.
    pub fn client(&self, networks: Networks) -> Result<reqwest::Client, reqwest::Error> {
        let kept = &self.clients[networks as usize];
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        #[cfg(feature = "https")]
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only if another thread has already installed it.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .no_gzip()
            .dns_resolver(Arc::new(networks))
            .user_agent(concat!("idempost-sandbox/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

/// An error with its causes, without the address, which the caller already knows.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = Vec::new();
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.join(": ")
}
