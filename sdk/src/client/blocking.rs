//! Blocking calls, for programs without an async runtime.

use std::{
    cell::Cell,
    future::{Future, IntoFuture},
    io::{self, Write},
    pin::Pin,
    sync::OnceLock,
    task::{Context, Poll},
    thread,
};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use tokio::{
    io::AsyncWrite,
    runtime::{Builder, Handle, Runtime},
};

use super::{
    page::{Item, List, ListPosition, Page, Paginator},
    wait::Wait,
};
#[cfg(feature = "oauth")]
use crate::auth::used_sessions;
use crate::{
    call::Call,
    error::{Error, Result},
    problem::SettingsError,
};

thread_local! {
    /// Whether the thread runs a blocking call, or belongs to the runtime below.
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Returns the runtime of all blocking calls: two threads, started by the first call. The call itself runs on its caller's thread.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("idempost")
            .on_thread_start(|| IN_CALL.set(true))
            .enable_all()
            .build()
    };
    RUNTIME.get_or_init(start).as_ref().map_err(thread_error)
}

fn thread_error(error: &io::Error) -> Error {
    let rule = "requires a runtime thread, which couldn't be started";
    SettingsError::new("blocking", rule).with_value(error.to_string()).into()
}

/// Runs a future on that runtime, and blocks until it has completed and the token refreshes that it caused have been saved. Within another runtime,
/// it blocks that runtime's thread.
pub(crate) fn block_on<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    if IN_CALL.get() {
        let rule = "can't be used in a callback of a blocking call, which would wait for itself";
        return Err(SettingsError::new("blocking", rule).into());
    }
    let runtime = runtime()?;
    let run = || {
        let _running = InCall::enter();
        runtime.block_on(async {
            let outcome = future.await;
            #[cfg(feature = "oauth")]
            used_sessions::close().await;
            outcome
        })
    };
    if Handle::try_current().is_err() {
        return run();
    }
    // A thread within another runtime can't drive this one.
    thread::scope(|scope| {
        let running =
            thread::Builder::new().spawn_scoped(scope, run).map_err(|error| thread_error(&error))?;
        running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Marks the thread while it runs a blocking call.
struct InCall;

impl InCall {
    fn enter() -> Self {
        IN_CALL.set(true);
        #[cfg(feature = "oauth")]
        used_sessions::begin();
        Self
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        IN_CALL.set(false);
    }
}

/// Blocks the thread until an async function of this crate completes, in programs without an async runtime (feature `blocking`).
///
/// [`Call`], [`List`] and [`Wait`] have this method without the trait. The trait adds it to every other future in this crate:
///
/// ```no_run
/// # fn example() -> idempost::Result<()> {
/// use idempost::{Attachment, Blocking as _, Client, Email};
///
/// let report = Attachment::from_file("report.pdf").blocking()?;
/// let email = Email::new("hi@acme.test", "ada@example.com", "Your report").text("It is attached.").attach(report);
/// let client = Client::from_env()?;
/// client.emails().send(&email).blocking()?;
/// # Ok(())
/// # }
/// ```
///
/// The future runs on the crate's own runtime, and a token refresh that it causes is saved before the method returns, so programs without a runtime
/// don't need [`Session::close`](crate::auth::Session::close).
pub trait Blocking<T>: IntoFuture<Output = Result<T>> {
    /// Runs the future, and blocks the thread until it completes.
    ///
    /// # Errors
    /// The errors of the future; [`Error::Settings`] in a callback of another blocking call, which would wait for itself.
    fn blocking(self) -> Result<T>;
}

impl<F, T> Blocking<T> for F
where
    F: IntoFuture<Output = Result<T>, IntoFuture: Send>,
    T: Send,
{
    fn blocking(self) -> Result<T> {
        block_on(self.into_future())
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
    /// The errors of the call.
    pub fn blocking(self) -> Result<T> {
        block_on(self.into_future())
    }
}

impl<T: Item> List<T> {
    /// Requests one page and blocks the thread until it arrives (feature `blocking`).
    ///
    /// # Errors
    /// The errors of the call.
    pub fn blocking(self) -> Result<Page<T>> {
        block_on(self.into_future())
    }

    /// Returns all items, page by page, as [`stream`](Self::stream) yields them. Each page request blocks the thread (feature `blocking`).
    pub fn blocking_iter(self) -> BlockingIter<T> {
        BlockingIter { items: self.stream(), failed: false }
    }
}

impl Call<Bytes> {
    /// Writes the body to `writer` as [`write_to`](Self::write_to) does, and blocks the thread until it is complete (feature `blocking`).
    ///
    /// ```no_run
    /// # fn example(client: &idempost::Client, url: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut file = std::fs::File::create("report.pdf")?;
    /// let bytes = client.received().download(url).blocking_write_to(&mut file)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`write_to`](Self::write_to).
    pub fn blocking_write_to(self, writer: &mut (impl Write + Send)) -> Result<u64> {
        block_on(self.write_to(&mut BlockingWriter(writer)))
    }
}

/// A writer used on the thread of a blocking call, which it may block.
struct BlockingWriter<'a, W>(&'a mut W);

impl<W: Write> AsyncWrite for BlockingWriter<'_, W> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

impl<T: Send + 'static> Wait<T> {
    /// Blocks the thread until the wait ends (feature `blocking`).
    ///
    /// # Errors
    /// The errors of the wait.
    pub fn blocking(self) -> Result<T> {
        block_on(self.into_future())
    }
}

/// An iterator over the items of a list: [`List::blocking_iter`].
#[must_use = "an iterator does nothing until it is used"]
pub struct BlockingIter<T> {
    items: Paginator<T>,
    failed: bool,
}

impl<T> BlockingIter<T> {
    /// Returns the position after the last item: see [`Paginator::position`].
    pub fn position(&self) -> Option<ListPosition> {
        self.items.position()
    }
}

partial_debug!(BlockingIter<T> { items });

impl<T: Item> Iterator for BlockingIter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.failed {
            return None;
        }
        // Inside another runtime, each blocking call starts a thread.
        if let Some(item) = self.items.next_received() {
            return Some(Ok(item));
        }
        let next = block_on(self.items.try_next());
        self.failed = next.is_err();
        next.transpose()
    }
}
