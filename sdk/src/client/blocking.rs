//! Blocking calls, for programs without an async runtime.

use std::{
    cell::Cell,
    fmt,
    future::{Future, IntoFuture},
    io,
    sync::{Arc, OnceLock, mpsc},
};

use futures_util::StreamExt as _;
use tokio::runtime::{Builder, Runtime};

use super::{
    page::{Item, List, Page, Paginator},
    wait::Wait,
};
use crate::{
    call::{Call, Core},
    error::{Error, Result},
    problem::SettingsError,
};

thread_local! {
    /// Whether the thread belongs to the runtime below.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// The runtime of all blocking calls: two threads, started by the first of them.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("idempost")
            .on_thread_start(|| IS_WORKER.set(true))
            .enable_all()
            .build()
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|error| {
        Error::from(
            SettingsError::new("blocking", "requires a runtime thread, which couldn't be started")
                .found(error.to_string()),
        )
    })
}

/// Runs a future on that runtime, and blocks until it has completed and the client's token refresh is saved. Within another runtime, it blocks
/// that runtime's thread.
pub(crate) fn settled<T: Send + 'static>(
    core: Arc<Core>,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    wait_for(async move {
        let outcome = future.await;
        core.credentials.close().await;
        outcome
    })
}

/// Runs a future on that runtime, and blocks until it completes.
fn wait_for<T: Send + 'static>(future: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    if IS_WORKER.get() {
        let rule = "can't be used in a callback of a blocking call, which would wait for itself";
        return Err(SettingsError::new("blocking", rule).into());
    }
    let (done, value) = mpsc::sync_channel(1);
    let task = runtime()?.spawn(async move {
        // The receiver waits below.
        let _ = done.send(future.await);
    });
    match value.recv() {
        Ok(value) => value,
        Err(_) => match runtime()?.block_on(task) {
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            _ => Err(SettingsError::new("blocking", "requires a runtime thread, which has stopped").into()),
        },
    }
}

impl<T: Send + 'static> Call<T> {
    /// Sends the request and blocks the thread until its outcome is known (feature `blocking`).
    ///
    /// ```no_run
    /// # fn example() -> idempost::Result<()> {
    /// let client = idempost::Client::from_env()?;
    /// let email = idempost::Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
    /// println!("accepted as {}", client.emails().send(&email).blocking()?.id);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the call.
    pub fn blocking(self) -> Result<T> {
        settled(Arc::clone(self.core()), self.into_future())
    }
}

impl<T: Item> List<T> {
    /// Requests one page and blocks the thread until it arrives (feature `blocking`).
    ///
    /// # Errors
    /// Those of the call.
    pub fn blocking(self) -> Result<Page<T>> {
        settled(Arc::clone(self.call().core()), self.into_future())
    }

    /// Returns all items, page by page, as [`stream`](Self::stream) yields them. Each page request blocks the thread (feature `blocking`).
    pub fn blocking_iter(self) -> BlockingIter<T> {
        BlockingIter { core: Arc::clone(self.call().core()), items: Some(self.stream()) }
    }
}

impl<T: Send + 'static> Wait<T> {
    /// Blocks the thread until the wait ends (feature `blocking`).
    ///
    /// # Errors
    /// Those of the wait.
    pub fn blocking(self) -> Result<T> {
        settled(self.core(), self.into_future())
    }
}

/// An iterator over the items of a list: [`List::blocking_iter`].
#[must_use = "an iterator does nothing until it is used"]
pub struct BlockingIter<T> {
    core: Arc<Core>,
    items: Option<Paginator<T>>,
}

impl<T> fmt::Debug for BlockingIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockingIter").field(&self.items).finish()
    }
}

impl<T: Item> Iterator for BlockingIter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let mut items = self.items.take()?;
        let next = settled(Arc::clone(&self.core), async move {
            let item = items.next().await;
            Ok((item, items))
        });
        match next {
            Ok((item, items)) => {
                self.items = item.is_some().then_some(items);
                item
            }
            Err(error) => Some(Err(error)),
        }
    }
}
