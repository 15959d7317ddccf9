//! The journal of a job: an append-only log of requests and their results.
//!
//! A batch's intent is durable before its request is sent, and its result before the batch counts as done. After a crash at any point, each batch is
//! therefore in one of three states: no intent (nothing was sent), an intent without a result (possibly sent; the same request is repeated under the
//! same idempotency key), or a result.
//!
//! The file starts with `BULKJ1
//! `, followed by frames ([`frame`]) of one record each ([`record`]). One thread writes them: it takes all waiting records, appends them with one
//! write, syncs, and confirms them together (group commit).

pub(crate) mod damage;
mod frame;
mod record;
mod recovery;
mod sent_id;
mod storage;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    slice,
    sync::Arc,
    thread,
};

pub(crate) use crate::clock::UnixMillis;

#[cfg(feature = "nats")]
pub(crate) use self::record::MAX_TEXT;
use self::writer::Queue;
pub(crate) use self::{
    record::{BodyHash, EmailOutcome, Job, Record},
    recovery::Contradiction,
    sent_id::SentId,
    storage::{FileStorage, Storage},
};
use crate::error::{BulkError, Result};

/// A journal that is open for appending.
///
/// Once a write or a sync has failed, every later append fails with the same cause: the state of the file is unknown until it is recovered.
///
/// Dropping the journal writes the waiting records and blocks until that is done; the caller can release the job's lock afterwards.
#[derive(Debug)]
pub(crate) struct Journal {
    queue: Arc<Queue>,
    writer: Option<thread::JoinHandle<()>>,
    path: PathBuf,
}

impl Journal {
    /// Recovers the journal and opens it for appending. Passes each record to `visit`, in order.
    ///
    /// Cuts off an interrupted write at the end. Blocks while it reads: about 30 ms for a job of a million emails.
    ///
    /// # Errors
    ///
    /// - [`BulkError::JournalDamaged`] if a durable record can't be read, or `visit` reports a contradiction.
    /// - [`BulkError::NotRunnable`] if the journal has another version.
    /// - [`BulkError::Io`] if the storage fails.
    pub(crate) fn open(
        mut storage: impl Storage,
        visit: impl FnMut(Record) -> Result<(), Contradiction>,
    ) -> Result<Self> {
        recovery::recover(&mut storage, visit)?;
        let (queue, path) = (Arc::<Queue>::default(), storage.path().to_owned());
        let writer = thread::Builder::new()
            .name("bulk-journal".to_owned())
            .spawn({
                let queue = Arc::clone(&queue);
                move || writer::run(storage, &queue)
            })
            .map_err(BulkError::io("start the writer of", &path))?;
        Ok(Self { queue, writer: Some(writer), path })
    }

    /// Appends a record. Resolves when the record is durable.
    ///
    /// Dropping the future doesn't prevent the record from being written.
    pub(crate) async fn append(&self, record: &Record) -> Result<()> {
        self.append_all(slice::from_ref(record)).await
    }

    /// Appends records in order. Resolves when all of them are durable.
    pub(crate) async fn append_all(&self, records: &[Record]) -> Result<()> {
        let durable = self.queue.push(records).map_err(|cause| self.error(&cause))?;
        match durable.await {
            Ok(outcome) => outcome.map_err(|cause| self.error(&cause)),
            Err(_) => Err(self.error(&Arc::new(writer::stopped_error()))),
        }
    }

    /// Appends a record that may be lost in a crash: [`Record::Rate`], [`Record::NotSent`], [`Record::EmailResult`]. It is written with the next durable
    /// record, in order.
    pub(crate) fn note(&self, record: &Record) {
        self.queue.note(record);
    }

    fn error(&self, cause: &Arc<io::Error>) -> BulkError {
        BulkError::io("write", &self.path)(io::Error::new(cause.kind(), Arc::clone(cause)))
    }
}

/// Passes the records of a journal to `visit` without changing the journal; none if it doesn't exist. A process that runs the job may be appending:
/// an incomplete record at the end is ignored.
///
/// # Errors
/// The errors of [`Journal::open`].
pub(crate) fn read(path: &Path, visit: impl FnMut(Record) -> Result<(), Contradiction>) -> Result<()> {
    match FileStorage::open_existing(path)? {
        Some(mut storage) => recovery::scan(&mut storage, visit).map(drop),
        None => Ok(()),
    }
}

/// Returns whether a journal has its first bytes, intact or damaged: they are durable before the job's account is recorded.
pub(crate) fn has_begun(journal: impl io::Read) -> io::Result<bool> {
    let mut start = Vec::new();
    journal.take(recovery::HEADER.len() as u64 + 1).read_to_end(&mut start)?;
    Ok(start.len() > recovery::HEADER.len() || start == recovery::HEADER)
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A panic of the writer has already been reported to the appends.
            let _ = writer.join();
        }
    }
}
