//! Attachments that are hosted elsewhere: fetched after the request was answered.
//!
//! The service itself opens no connection. It leaves errands; a mount takes them, fetches, and brings the outcome back.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use url::{Host, Url};

use crate::resources::emails::attachments::Content;
use crate::resources::emails::draft::Draft;
use crate::resources::emails::record::Email;
use crate::service::Service;
use crate::state::Tenant;

/// The largest file that is fetched, in bytes.
const LARGEST: usize = 40 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// What an email still lacks before it can leave.
#[derive(Debug)]
pub struct Errand {
    tenant: Weak<Tenant>,
    email: Weak<Email>,
    draft: Box<Draft>,
}

/// A file that was fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Which attachment of the email it is.
    pub index: usize,
    /// Its bytes.
    pub content: Bytes,
}

impl Errand {
    pub(crate) fn new(tenant: &Arc<Tenant>, email: &Arc<Email>, draft: Box<Draft>) -> Self {
        Self { tenant: Arc::downgrade(tenant), email: Arc::downgrade(email), draft }
    }

    /// Where to fetch from, with the place of each in the email's attachments.
    pub fn addresses(&self) -> impl Iterator<Item = (usize, &Url)> {
        self.draft.attachments.iter().enumerate().filter_map(|(index, attachment)| {
            match &attachment.content {
                Content::Hosted(url) => Some((index, url)),
                Content::Bytes(_) => None,
            }
        })
    }

    pub(crate) fn open(self) -> Option<(Arc<Tenant>, Arc<Email>, Box<Draft>)> {
        Some((self.tenant.upgrade()?, self.email.upgrade()?, self.draft))
    }
}

/// Runs every errand that waits, each in a task of its own.
pub(crate) fn run_all(service: &Arc<Service>) {
    while let Some(errand) = service.next_errand() {
        let service = Arc::clone(service);
        tokio::spawn(async move {
            let outcome = fetch(&errand).await;
            service.finish_errand(errand, outcome);
        });
    }
}

async fn fetch(errand: &Errand) -> Result<Vec<Fetched>, String> {
    let mut files = Vec::new();
    for (index, url) in errand.addresses() {
        let content = fetch_one(url).await.map_err(|error| format!("{url}: {error}"))?;
        files.push(Fetched { index, content });
    }
    Ok(files)
}

async fn fetch_one(url: &Url) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let mut builder = reqwest::Client::builder().timeout(PATIENCE);
    if is_loopback(url) {
        // A proxy of the environment knows nothing of this machine's own addresses.
        builder = builder.no_proxy();
    }
    let mut response = builder.build()?.get(url.clone()).send().await?.error_for_status()?;
    let mut content = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if content.len() + chunk.len() > LARGEST {
            return Err(format!("larger than {LARGEST} bytes").into());
        }
        content.extend_from_slice(&chunk);
    }
    Ok(content.freeze())
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
