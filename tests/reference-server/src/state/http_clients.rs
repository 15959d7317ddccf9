//! Connections to webhook endpoints, to hosted attachments, and to the servers of remote images and links.

pub mod public;

use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;
use tokio::sync::Semaphore;
use url::{Host, Url};

use self::public::PublicResolver;

pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// No client follows redirects: a webhook's secret was issued for the registered address, so a redirect counts as a failed response.
fn builder() -> reqwest::ClientBuilder {
    #[cfg(feature = "https")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    reqwest::Client::builder().redirect(Policy::none())
}

/// The number of emails whose remote images or links are requested at the same time.
const MAX_REMOTE: usize = 2;

/// The HTTP clients of one service.
pub struct HttpClients {
    near: OnceLock<reqwest::Client>,
    far: OnceLock<reqwest::Client>,
    public: OnceLock<reqwest::Client>,
    /// A permit for each email whose remote images or links are requested.
    pub remote: Semaphore,
}

impl Default for HttpClients {
    fn default() -> Self {
        let [near, far, public] = [const { OnceLock::new() }; 3];
        Self { near, far, public, remote: Semaphore::new(MAX_REMOTE) }
    }
}

impl HttpClients {
    /// The client for public addresses only; [`public::check`] must precede every request. It uses no proxy, which would resolve the names
    /// itself, and doesn't decompress, so that the size of a response is the size on the wire.
    pub fn public(&self) -> Result<reqwest::Client, reqwest::Error> {
        if let Some(client) = self.public.get() {
            return Ok(client.clone());
        }
        let client = builder()
            .no_proxy()
            .no_gzip()
            .dns_resolver(Arc::new(PublicResolver))
            .user_agent(concat!("idempost-sandbox/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(self.public.get_or_init(|| client).clone())
    }

    /// The client for webhook endpoints and hosted attachments, at any address.
    pub fn to(&self, url: &Url) -> Result<reqwest::Client, reqwest::Error> {
        let builder = builder();
        // A proxy from the environment can't reach this machine's loopback addresses.
        let near = is_loopback(url);
        let (kept, builder) = if near { (&self.near, builder.no_proxy()) } else { (&self.far, builder) };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let client = builder.build()?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

/// An error with its causes, without the address, which the caller has already.
pub fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = Vec::new();
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.join(": ")
}
