//! State that outlives the process: `posthaste sandbox serve --data DIR`.
//!
//! The service answers from memory, as ever. A keeper writes what has changed into one file, several times a second and each time in one transaction, so
//! that a process that is killed has lost at most what it answered within about the last second (or while the last two writes took, on a disk that is slower
//! than that), and what is there fits together. Requests that outrun the keeper wait for it (`backlog.rs`). The file is a
//! [`redb`] database: a crash leaves the last transaction whole, its checksums show damage, and its lock keeps a second process out. Records are
//! MessagePack with the names of their fields, so that a later version may know more fields.
//!
//! Kept are emails and mails, received ones, all resources of all tenants, logins with the key that signs their tokens, idempotency keys, what was to
//! happen later, and a clock that was moved.
//! Not kept are requests and logs, faults, logins that were half made, and attachments that were being fetched: such an email has failed.

mod batch;
mod job;
mod overlay;
mod restore;
mod snapshot;
mod store;
mod tables;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::batch::{Batch, encode};
use self::store::Store;
use crate::lock::lock;
use crate::service::Service;
use crate::settings::Settings;

/// How long a change may wait before it is written.
const PAUSE: Duration = Duration::from_millis(100);
/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// Why state could not be kept, or not be found again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersistenceError {
    /// Another process has it.
    #[error("another sandbox is using it")]
    InUse,
    /// A later version wrote it.
    #[error(
        "a newer version of this program wrote it (format {found}; this one knows formats up to {known})"
    )]
    Newer {
        /// The format that was found.
        found: u64,
        /// The newest that is known.
        known: u64,
    },
    /// An older version of this program wrote it, with emails in another shape. It was left as it is.
    #[error("an older version of this program wrote it (format {found}; this one knows format {known})")]
    Older {
        /// The format that was found.
        found: u64,
        /// The one that is known.
        known: u64,
    },
    /// It can't be read. It was left as it is.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The system refuses.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A record could not be written.
    #[error("a record cannot be written: {0}")]
    Unwritten(String),
}

/// Writes what changes, until it is [closed](Self::close) or dropped.
pub struct Persistence {
    shared: Arc<Shared>,
    work: Option<JoinHandle<()>>,
}

struct Shared {
    stop: Mutex<bool>,
    wake: Condvar,
    failing: AtomicBool,
}

/// A service that goes on where the last one with this folder ended, and who keeps its state. The folder is made if there is none.
///
/// `told` hears of it when nothing can be written any more, and when it can be again; the service goes on meanwhile.
///
/// # Errors
/// If the folder can't be used. Nothing in it is changed then.
pub fn open(
    folder: &Path,
    settings: Settings,
    delivery: impl Fn(Result<(), &PersistenceError>) + Send + 'static,
) -> Result<(Arc<Service>, Persistence), PersistenceError> {
    make(folder)?;
    let store = Store::open(folder)?;
    let service = restore::service(&store, settings)?;
    service.state().set_persistent();
    let shared =
        Arc::new(Shared { stop: Mutex::new(false), wake: Condvar::new(), failing: AtomicBool::new(false) });
    let known = service.state().tenants.all().iter().map(|tenant| tenant.name.clone()).collect();
    let mut writer = Writer {
        folder: folder.to_owned(),
        store: Some(store),
        retry_at: None,
        service: Arc::downgrade(&service),
        known,
        pending: Batch::default(),
        clock: Vec::new(),
        shared: Arc::clone(&shared),
        delivery: Box::new(delivery),
    };
    // What came of finding it again is written before anybody is served.
    writer.write();
    let work = std::thread::Builder::new().name("keeper".to_owned()).spawn(move || writer.run())?;
    Ok((service, Persistence { shared, work: Some(work) }))
}

/// Makes the folder, for its owner alone: there are keys and mails in it.
fn make(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Persistence {
    /// Writes what is left, and answers whether that went well.
    pub fn close(mut self) -> bool {
        self.stop();
        !self.shared.failing.load(Ordering::SeqCst)
    }

    fn stop(&mut self) {
        *lock(&self.shared.stop) = true;
        self.shared.wake.notify_all();
        if let Some(work) = self.work.take() {
            // A thread that panicked has said so.
            let _ = work.join();
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
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

/// Hears when nothing can be written any more, and when it can be again.
type WebhookDelivery = dyn Fn(Result<(), &PersistenceError>) + Send;

/// The thread that writes.
struct Writer {
    folder: PathBuf,
    /// None after a failure: a database that has met one is to be opened anew.
    store: Option<Store>,
    /// After a failure: when it is tried again.
    retry_at: Option<Instant>,
    service: Weak<Service>,
    /// The tenants of which something is written.
    known: BTreeSet<String>,
    /// What could not be written yet.
    pending: Batch,
    /// The clock as it is written.
    clock: Vec<u8>,
    shared: Arc<Shared>,
    delivery: Box<WebhookDelivery>,
}

impl Writer {
    fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        loop {
            let is_behind = self
                .service
                .upgrade()
                .is_some_and(|service| service.state().snapshot_lock.backlog().is_full());
            let stopped = {
                let stop = lock(&shared.stop);
                let pause = if is_behind { Duration::ZERO } else { PAUSE };
                let waited = shared.wake.wait_timeout_while(stop, pause, |stop| !*stop);
                *waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
            };
            if stopped {
                self.retry_at = None;
            }
            let alive = self.write();
            if stopped || !alive {
                return;
            }
        }
    }

    /// False once the service is gone.
    fn write(&mut self) -> bool {
        let Some(service) = self.service.upgrade() else { return false };
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return true;
        }
        let (collected, started) = (self.collect(&service), Instant::now());
        match collected.and_then(|()| self.commit()) {
            Ok(()) => {
                self.retry_at = None;
                service.state().snapshot_lock.backlog().end_write(started.elapsed());
                if self.shared.failing.swap(false, Ordering::SeqCst) {
                    (self.delivery)(Ok(()));
                }
            }
            Err(error) => {
                self.store = None;
                self.retry_at = Some(Instant::now() + RETRY);
                service.state().snapshot_lock.backlog().give_up();
                if !self.shared.failing.swap(true, Ordering::SeqCst) {
                    (self.delivery)(Err(&error));
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

    fn collect(&mut self, service: &Service) -> Result<(), PersistenceError> {
        let closed = service.state().snapshot_lock.close();
        let mut batch = Batch::collect(service, &mut self.known);
        service.state().snapshot_lock.backlog().begin_write();
        drop(closed);
        let clock = encode(&service.clock().kept())?;
        if clock != self.clock {
            self.clock.clone_from(&clock);
            batch.clock = Some(clock);
        }
        self.pending.then(batch);
        Ok(())
    }
}

/// Also after a panic: nobody waits for a thread that is gone.
impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(service) = self.service.upgrade() {
            service.state().snapshot_lock.backlog().give_up();
        }
    }
}
