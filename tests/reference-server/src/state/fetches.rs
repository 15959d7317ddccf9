//! Emails whose hosted attachments must be fetched, after their request was answered.
//!
//! The service itself opens no connection. A mount takes a job, fetches its files and returns the outcome.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use tokio::sync::Semaphore;
use url::Url;

use crate::lock::lock;
use crate::model::email::Email;
use crate::model::email::attachments::MAX_BASE64;
use crate::model::email::draft::Draft;
use crate::state::http_clients::public::NotPublic;
use crate::state::tenant::Tenant;

/// The number of emails whose files are fetched at the same time, each one file after the other. An email has at most 30 MiB of files, so
/// at most 120 MiB are in flight.
const MAX_RUNNING: usize = 4;

/// The hosted attachments of an email that must be fetched before it is sent.
#[derive(Debug)]
pub struct FetchJob {
    tenant: Weak<Tenant>,
    email: Weak<Email>,
    pub(crate) draft: Box<Draft>,
    /// The approximate number of bytes while it waits.
    size: usize,
}

/// A fetched file.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The index of the attachment in the email.
    pub index: usize,
    /// The file's content.
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

    /// The URLs to fetch, each with the index of its attachment in the email.
    pub fn addresses(&self) -> impl Iterator<Item = (usize, &Url)> {
        let attachments = self.draft.attachments.iter().enumerate();
        attachments.filter_map(|(index, attachment)| Some((index, attachment.content.url()?)))
    }

    pub(crate) fn open(self) -> Option<(Arc<Tenant>, Arc<Email>, Box<Draft>)> {
        Some((self.tenant.upgrade()?, self.email.upgrade()?, self.draft))
    }
}

/// The reason why the files of an email were not fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A file was unreachable: its address and the reason.
    #[error("{0}")]
    Unreachable(String),
    /// The files exceed the total size limit of the email's attachments. No more than the limit was read.
    #[error("the attachments have more than {MAX_BASE64} characters of Base64 in all")]
    TooLarge,
    /// A file is at an address that this service doesn't request.
    #[error("{0}")]
    AddressNotAllowed(String),
}

impl From<NotPublic> for FetchError {
    fn from(reason: NotPublic) -> Self {
        Self::AddressNotAllowed(reason.to_string())
    }
}

impl From<&str> for FetchError {
    fn from(reason: &str) -> Self {
        Self::Unreachable(reason.to_owned())
    }
}

impl FetchError {
    /// The reason in the email's event.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "attachment_unreachable",
            Self::TooLarge => "attachments_too_large",
            Self::AddressNotAllowed(_) => "attachment_address_not_allowed",
        }
    }
}

/// The queue of emails whose files must be fetched, and the number of those in flight.
pub struct FetchQueue {
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
    /// Creates a queue for emails of at most `max_waiting` bytes in total.
    pub fn new(max_waiting: usize) -> Self {
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        Self { waiting: Mutex::default(), running, max_waiting }
    }

    /// Adds an email, unless the waiting ones use too much memory.
    pub fn push(&self, job: FetchJob) -> Result<(), &'static str> {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes + job.size > self.max_waiting {
            // Evicted emails are still queued here.
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

    /// Whether no email waits.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.waiting).jobs.is_empty()
    }

    pub fn pop(&self) -> Option<FetchJob> {
        let mut waiting = lock(&self.waiting);
        let job = waiting.jobs.pop_front()?;
        waiting.bytes -= job.size;
        Some(job)
    }

    pub fn clear(&self) {
        *lock(&self.waiting) = Waiting::default();
    }
}
