//! Attachments that are hosted elsewhere: fetched after the request was answered.
//!
//! The service itself opens no connection. It leaves errands; a mount takes them, fetches, and brings the outcome back.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::{Host, Url};

use crate::lock::lock;
use crate::resources::emails::attachments::{Content, MOST, base64_size, encoded_size};
use crate::resources::emails::draft::Draft;
use crate::resources::emails::record::Email;
use crate::service::Service;
use crate::state::Tenant;
use crate::store::size::Size as _;

/// Emails whose files are fetched at a time, each one file after the other. An email has at most 30 MiB of them, so at most 120 MiB are in flight.
const MAX_RUNNING: usize = 4;
/// How many bytes the emails may have at most that wait for their files.
const MAX_WAITING: usize = 128 << 20;
/// How long one file may take.
const FILE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long all files of an email may take.
const EMAIL_TIMEOUT: Duration = Duration::from_mins(1);

/// What an email still lacks before it can leave.
#[derive(Debug)]
pub struct Errand {
    tenant: Weak<Tenant>,
    email: Weak<Email>,
    draft: Box<Draft>,
    /// How many bytes it keeps while it waits, nearly.
    size: usize,
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
        Self {
            tenant: Arc::downgrade(tenant),
            email: Arc::downgrade(email),
            size: draft.size() + draft.bodies.size(),
            draft,
        }
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

/// Why the files of an email could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// One of them could not be had: its address and the reason.
    #[error("{0}")]
    Unreachable(String),
    /// They are larger than what the email's attachments may still have. No more than that was read.
    #[error("the attachments have more than {MOST} characters of Base64 in all")]
    TooLarge,
}

impl From<&str> for FetchError {
    fn from(reason: &str) -> Self {
        Self::Unreachable(reason.to_owned())
    }
}

impl FetchError {
    /// As the email's event gives it.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "attachment_unreachable",
            Self::TooLarge => "attachments_too_large",
        }
    }
}

/// The emails whose files are still to be fetched, and how many may be under way.
pub(crate) struct FetchQueue {
    waiting: Mutex<Waiting>,
    running: Arc<Semaphore>,
    max_waiting: usize,
}

#[derive(Default)]
struct Waiting {
    errands: VecDeque<Errand>,
    bytes: usize,
}

impl FetchQueue {
    /// A queue for emails of so many bytes, and never more than [`MAX_WAITING`].
    pub(crate) fn new(max_bytes: usize) -> Self {
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        Self { waiting: Mutex::default(), running, max_waiting: MAX_WAITING.min(max_bytes) }
    }

    /// Adds an email, unless those that wait take too much memory already.
    pub(crate) fn push(&self, errand: Errand) -> Result<(), &'static str> {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes + errand.size > self.max_waiting {
            // Emails that were forgotten meanwhile still wait here.
            waiting.errands.retain(|errand| errand.email.strong_count() > 0);
            waiting.bytes = waiting.errands.iter().map(|errand| errand.size).sum();
        }
        if waiting.bytes + errand.size > self.max_waiting {
            return Err("too_many_attachments_to_fetch");
        }
        waiting.bytes += errand.size;
        waiting.errands.push_back(errand);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Option<Errand> {
        let mut waiting = lock(&self.waiting);
        let errand = waiting.errands.pop_front()?;
        waiting.bytes -= errand.size;
        Some(errand)
    }

    pub(crate) fn clear(&self) {
        *lock(&self.waiting) = Waiting::default();
    }
}

/// Runs the errands that may run now, each in a task of its own. One that ends makes room for others.
pub(crate) fn run_all(service: &Arc<Service>) {
    while let Ok(permit) = Arc::clone(&service.fetches().running).try_acquire_owned() {
        let Some(errand) = service.next_errand() else { return };
        let service = Arc::clone(service);
        tokio::spawn(async move {
            let outcome = timeout(EMAIL_TIMEOUT, fetch(&service, &errand)).await;
            let outcome = outcome.unwrap_or_else(|_| Err("the files took too long".into()));
            service.finish_errand(errand, outcome);
            drop(permit);
            run_all(&service);
        });
    }
}

async fn fetch(service: &Service, errand: &Errand) -> Result<Vec<Fetched>, FetchError> {
    let mut left = MOST.saturating_sub(encoded_size(&errand.draft.attachments));
    let mut files = Vec::new();
    for (index, url) in errand.addresses() {
        let content = fetch_one(service, url, left).await?;
        left -= base64_size(content.len());
        files.push(Fetched { index, content });
    }
    Ok(files)
}

/// Fetches a file of at most `most` characters of Base64. A redirect isn't followed: it could lead from an address that the sender may use
/// to one that only this machine reaches.
async fn fetch_one(service: &Service, url: &Url, most: usize) -> Result<Bytes, FetchError> {
    let unreachable = |reason: &dyn fmt::Display| FetchError::Unreachable(format!("{url}: {reason}"));
    let client = service.couriers().to(url).map_err(|error| unreachable(&error))?;
    let answer = client.get(url.clone()).timeout(FILE_TIMEOUT).send().await;
    let mut answer = answer.map_err(|error| unreachable(&error))?;
    if !answer.status().is_success() {
        return Err(unreachable(&format!(
            "the status is {}, and redirects aren't followed",
            answer.status()
        )));
    }
    let announced = usize::try_from(answer.content_length().unwrap_or_default()).unwrap_or(usize::MAX);
    if announced > most / 4 * 3 {
        return Err(FetchError::TooLarge);
    }
    let mut content = Vec::with_capacity(announced);
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        if base64_size(content.len() + chunk.len()) > most {
            return Err(FetchError::TooLarge);
        }
        content.extend_from_slice(&chunk);
    }
    // Boxed, so that no spare capacity is kept for as long as the mail.
    Ok(content.into_boxed_slice().into())
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
