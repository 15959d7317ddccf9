//! Connections to webhook endpoints and to hosted attachments.

use std::sync::OnceLock;

use reqwest::redirect::Policy;
use url::{Host, Url};

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// The HTTP clients of one service, for webhook endpoints and hosted attachments.
#[derive(Default)]
pub(crate) struct HttpClients {
    near: OnceLock<reqwest::Client>,
    far: OnceLock<reqwest::Client>,
}

impl HttpClients {
    pub(crate) fn to(&self, url: &Url) -> Result<reqwest::Client, reqwest::Error> {
        // A redirect counts as a failed response: the secret was issued for the registered address.
        let builder = reqwest::Client::builder().redirect(Policy::none());
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
