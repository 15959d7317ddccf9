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

/// The connections of one service to the endpoints of its webhooks.
#[derive(Default)]
pub(crate) struct HttpClients {
    near: OnceLock<reqwest::Client>,
    far: OnceLock<reqwest::Client>,
}

impl HttpClients {
    pub(crate) fn to(&self, url: &Url) -> Result<reqwest::Client, reqwest::Error> {
        // A redirect is an answer, and none of the 2xx: the secret speaks to the address that was registered.
        let builder = reqwest::Client::builder().redirect(Policy::none());
        // A proxy of the environment knows nothing of this machine's own addresses.
        let near = is_loopback(url);
        let (kept, builder) = if near { (&self.near, builder.no_proxy()) } else { (&self.far, builder) };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let client = builder.build()?;
        Ok(kept.get_or_init(|| client).clone())
    }
}
