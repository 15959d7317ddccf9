//! Emails whose hosted attachments are still to be fetched: after the request was answered.
//!
//! The service itself opens no connection. A mount takes what is to be fetched, fetches it, and brings the outcome back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use tokio::sync::Semaphore;
use url::Url;

use crate::lock::lock;
use crate::model::email::Email;
use crate::model::email::attachments::{Content, MOST};
use crate::model::email::draft::Draft;
use crate::state::tenant::Tenant;
use crate::store::size::Size as _;

/// Emails whose files are fetched at a time, each one file after the other. An email has at most 30 MiB of them, so at most 120 MiB are in flight.
const MAX_RUNNING: usize = 4;
/// How many bytes the emails may have that wait for their files.
const MAX_WAITING: usize = 128 << 20;

/// What an email still lacks before it can leave.
#[derive(Debug)]
pub struct FetchJob {
    tenant: Weak<Tenant>,
    email: Weak<Email>,
    pub(crate) draft: Box<Draft>,
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

impl FetchJob {
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
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "attachment_unreachable",
            Self::TooLarge => "attachments_too_large",
        }
    }
}

/// The emails whose files are still to be fetched, and how many may be under way.
pub(crate) struct FetchQueue {
    waiting: Mutex<Waiting>,
    pub(crate) running: Arc<Semaphore>,
    max_waiting: usize,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<FetchJob>,
    bytes: usize,
}

impl FetchQueue {
    /// A queue for emails of at most `max_bytes` bytes, and never more than [`MAX_WAITING`].
    pub(crate) fn new(max_bytes: usize) -> Self {
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        Self { waiting: Mutex::default(), running, max_waiting: MAX_WAITING.min(max_bytes) }
    }

    /// Adds an email, unless those that wait take too much memory already.
    pub(crate) fn push(&self, job: FetchJob) -> Result<(), &'static str> {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes + job.size > self.max_waiting {
            // Emails that were forgotten meanwhile still wait here.
            waiting.jobs.retain(|job| job.email.strong_count() > 0);
            waiting.bytes = waiting.jobs.iter().map(|job| job.size).sum();
        }
        if waiting.bytes + job.size > self.max_waiting {
            return Err("too_many_attachments_to_fetch");
        }
        waiting.bytes += job.size;
        waiting.jobs.push_back(job);
        Ok(())
    }

    pub(crate) fn pop(&self) -> Option<FetchJob> {
        let mut waiting = lock(&self.waiting);
        let job = waiting.jobs.pop_front()?;
        waiting.bytes -= job.size;
        Some(job)
    }

    pub(crate) fn clear(&self) {
        *lock(&self.waiting) = Waiting::default();
    }
}
