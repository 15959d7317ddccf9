//! State that survives a restart: `idempost sandbox serve --data DIR`.
//!
//! The service always responds from memory. A writer saves changes to one file, several times a second and each time in one transaction, so a killed
//! process loses at most the changes of about the last second (or of the last two writes, on a slower disk), and the file is always consistent.
//! Requests that outpace the writer wait for it (`backlog.rs`). The file is a [`redb`] database: after a crash the last transaction is complete,
//! checksums detect damage, and a lock excludes a second process. Each write appends all of its records in a few large values (`segment.rs`), since a
//! database value costs more than a record; later writes gradually copy the records still in use out of the oldest values, and delete these values
//! (`index.rs`). Records are MessagePack with field names, so that a later version may add fields.
//!
//! Persisted are sent, captured and received emails, all resources of all tenants, OAuth grants and the key that signs their tokens, idempotency
//! keys, quota usage, scheduled jobs, and changes to the sandbox's clock.
//! Not persisted are recorded requests and logs, faults, pending authorization requests, attachments being fetched, and the files of contact imports.
//! After a restart, the affected emails and unfinished imports have failed.

mod batch;
mod index;
mod overlay;
mod restore;
mod segment;
mod store;
mod tables;
mod tree;

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::batch::{Batch, Known, encode};
use self::store::Store;
#[doc(hidden)]
pub use self::store::catches_panic;
use idempost_reference_server::service::Service;
use idempost_reference_server::settings::Settings;

/// The delay between two writes.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// The delay between a failed write and the next attempt.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// An error while persisting or restoring the state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersistenceError {
    /// Another process has locked the folder.
    #[error("another sandbox is using it")]
    InUse,
    /// It was written by a later version of this program.
    #[error(
        "it was written by a newer version of this program (format {found}; this version supports formats up to {known})"
    )]
    Newer {
        /// The format of the file.
        found: u64,
        /// The newest supported format.
        known: u64,
    },
    /// It was written by an older version of this program, with a different email format. It was left unchanged.
    #[error(
        "it was written by an older version of this program (format {found}; this version supports format {known})"
    )]
    Older {
        /// The format of the file.
        found: u64,
        /// The supported format.
        known: u64,
    },
    /// It can't be read. It was left unchanged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// An I/O error.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A record could not be serialized.
    #[error("a record can't be written: {0}")]
    Unwritten(String),
}

/// Persists changes until it is [closed](Self::close) or dropped.
pub struct Persistence {
    /// The writer stops once this is dropped.
    running: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
    failing: Arc<AtomicBool>,
}

/// Restores the service from this folder, and persists its state there. The folder is created if it doesn't exist.
///
/// `on_status` is called when writing fails, and when it succeeds again; the service keeps running in the meantime.
///
/// # Errors
/// Fails if the folder can't be used. In that case, nothing in it is changed.
pub fn open(
    folder: &Path,
    settings: Settings,
    on_status: impl Fn(Result<(), &PersistenceError>) + Send + 'static,
) -> Result<(Arc<Service>, Persistence), PersistenceError> {
    create_folder(folder)?;
    let store = Store::open(folder)?;
    let service = restore::restore_service(&store, settings)?;
    service.state().persistent.store(true, Ordering::Relaxed);
    let ((running, stopped), failing) = (mpsc::channel(), Arc::new(AtomicBool::new(false)));
    let known = Known::new(store.tenants()?, store.last_tenant());
    // The first write deletes the evicted ones on disk.
    service.state().tenants.order();
    let mut writer = Writer {
        folder: folder.to_owned(),
        store: Some(store),
        retry_at: None,
        service: Arc::downgrade(&service),
        known,
        pending: Batch::default(),
        clock: Vec::new(),
        stopped,
        failing: Arc::clone(&failing),
        on_status: Box::new(on_status),
    };
    // Writes the restored state before the first request.
    service.state().snapshot_lock.record_change();
    writer.write(false);
    let thread = std::thread::Builder::new().name("persistence".to_owned()).spawn(move || writer.run())?;
    Ok((service, Persistence { running: Some(running), thread: Some(thread), failing }))
}

/// Creates the folder, accessible only to its owner because it contains keys and emails.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Persistence {
    /// Writes the remaining changes, and returns whether that succeeded.
    pub fn close(mut self) -> bool {
        self.stop();
        !self.failing.load(Ordering::SeqCst)
    }

    fn stop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            // The panic hook has already reported it.
            let _ = thread.join();
        }
    }
}

impl Drop for Persistence {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Persistence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Persistence").finish_non_exhaustive()
    }
}

/// Called when writing fails, and when it succeeds again.
type StatusCallback = dyn Fn(Result<(), &PersistenceError>) + Send;

/// The writer thread.
struct Writer {
    folder: PathBuf,
    /// `None` after a failure, since the database must then be reopened.
    store: Option<Store>,
    /// After a failure, the time of the next attempt.
    retry_at: Option<Instant>,
    service: Weak<Service>,
    known: Known,
    /// The unwritten changes.
    pending: Batch,
    /// The clock as written.
    clock: Vec<u8>,
    /// Disconnected by [`Persistence::stop`].
    stopped: Receiver<Infallible>,
    failing: Arc<AtomicBool>,
    on_status: Box<StatusCallback>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let is_behind = self
                .service
                .upgrade()
                .is_some_and(|service| service.state().snapshot_lock.backlog().is_full());
            let pause = if is_behind { Duration::ZERO } else { WRITE_INTERVAL };
            let stopped = self.stopped.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected);
            if stopped {
                self.retry_at = None;
            }
            let alive = self.write(stopped);
            if stopped || !alive {
                return;
            }
        }
    }

    /// Writes pending changes, possibly for the last time. Returns false once the service has been dropped.
    fn write(&mut self, is_last: bool) -> bool {
        let Some(service) = self.service.upgrade() else { return false };
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return true;
        }
        let (collected, started) = (self.collect(&service, is_last), Instant::now());
        match collected.and_then(|()| self.commit()) {
            Ok(()) => {
                self.retry_at = None;
                service.state().saved.store(true, Ordering::Relaxed);
                service.state().snapshot_lock.backlog().end_write(started.elapsed());
                if self.failing.swap(false, Ordering::SeqCst) {
                    (self.on_status)(Ok(()));
                }
            }
            Err(error) => {
                self.store = None;
                service.state().saved.store(false, Ordering::Relaxed);
                self.retry_at = Some(Instant::now() + RETRY_DELAY);
                service.state().snapshot_lock.backlog().give_up();
                if !self.failing.swap(true, Ordering::SeqCst) {
                    (self.on_status)(Err(&error));
                }
            }
        }
        true
    }

    fn commit(&mut self) -> Result<(), PersistenceError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let store = match self.store.take() {
            Some(store) => store,
            None => Store::open(&self.folder)?,
        };
        self.store.insert(store).write(&self.pending)?;
        self.pending = Batch::default();
        Ok(())
    }

    fn collect(&mut self, service: &Service, is_last: bool) -> Result<(), PersistenceError> {
        let (state, mut batch) = (service.state(), Batch::default());
        if state.snapshot_lock.has_changes() {
            let _closed = state.snapshot_lock.close();
            batch = Batch::collect(service, &mut self.known);
            state.snapshot_lock.backlog().begin_write();
        } else if is_last {
            // Reads count as uses of their accounts, too.
            batch.collect_tenants(&state.tenants.all(), &mut self.known);
        }
        let mut clock = Vec::new();
        encode(&service.clock().to_stored(), &mut clock)?;
        if clock != self.clock {
            self.clock.clone_from(&clock);
            batch.clock = Some(clock);
        }
        self.pending.merge(batch);
        Ok(())
    }
}

/// Runs even after a panic: nothing may wait for a writer that has ended.
impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(service) = self.service.upgrade() {
            service.state().snapshot_lock.backlog().give_up();
        }
    }
}
