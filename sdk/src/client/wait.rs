//! Polling until a record reaches a terminal state or a timeout passes.
//!
//! The intervals grow, so that short waits end quickly and long ones need few requests. A final poll follows the timeout, so that a change during the
//! last interval counts.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use crate::{
    call::Call,
    clock::{Instant, sleep, timeout},
    error::{Error, Result, WaitTimeout},
};

/// The default of [`Wait::max_wait`].
const MAX_WAIT: Duration = Duration::from_secs(2 * 60);
/// The first interval.
const FIRST_INTERVAL: Duration = Duration::from_millis(500);
/// The minimum for [`Wait::max_interval`]: polling without a pause would put load on the service.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The default of [`Wait::max_interval`].
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// The timeout of the final poll, so that an unresponsive service can't make the wait endless.
const LAST_POLL: Duration = Duration::from_secs(5);

type Listener<T> = Box<dyn Fn(&T) + Send + Sync>;

/// The state of the record after a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Terminal: it no longer changes on its own.
    Settled,
    /// Not terminal; its status as spelled by the service, if there is one.
    Open(Option<String>),
}

impl State {
    /// Returns the state of a record with this status.
    pub(crate) fn from_status<S: ToString>(status: Option<&S>, is_settled: impl FnOnce(&S) -> bool) -> Self {
        match status {
            Some(status) if is_settled(status) => Self::Settled,
            status => Self::Open(status.map(ToString::to_string)),
        }
    }
}

/// A lazy wait: set its options, then `.await` it.
///
/// It returns the record in its terminal state, whether success or failure. [`Error::WaitTimeout`] means that the record didn't reach one in time.
///
/// ```
/// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
/// use std::time::Duration;
///
/// let email = client.emails().wait("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").max_wait(Duration::from_secs(30)).await?;
/// println!("{:?}", email.last_event);
/// # Ok(())
/// # }
/// ```
///
/// A failed poll that may succeed later doesn't end the wait; any other failure does. After the timeout, the final poll has up to 5 seconds to
/// complete. Dropping the future ends the wait without affecting the record.
#[must_use = "a wait does nothing until it is awaited"]
#[expect(clippy::struct_field_names, reason = "the fields are named like their setters")]
pub struct Wait<T> {
    poll: Call<T>,
    state: fn(&T) -> State,
    max_wait: Duration,
    max_interval: Duration,
    on_poll: Option<Listener<T>>,
}

impl<T> Wait<T> {
    pub(crate) fn new(poll: Call<T>, state: fn(&T) -> State) -> Self {
        Self { poll, state, max_wait: MAX_WAIT, max_interval: MAX_INTERVAL, on_poll: None }
    }

    setters! {
        /// Sets the maximum time to wait. Default: 2 minutes.
        max_wait(Duration);
    }

    /// Sets the maximum interval between polls, at least 10 ms. Default: 10 seconds.
    pub fn max_interval(mut self, pause: Duration) -> Self {
        self.max_interval = pause.max(MIN_INTERVAL);
        self
    }

    /// Registers a callback that runs after each successful poll.
    pub fn on_poll(mut self, listener: impl Fn(&T) + Send + Sync + 'static) -> Self {
        self.on_poll = Some(Box::new(listener));
        self
    }

    async fn run(self) -> Result<T>
    where
        T: Send + 'static,
    {
        let begun = Instant::now();
        let mut pause = FIRST_INTERVAL.min(self.max_interval);
        let (mut state, mut last_error) = (None, None);
        let (mut polls, mut successful_polls) = (0, 0);
        loop {
            polls += 1;
            let left = self.max_wait.saturating_sub(begun.elapsed());
            match timeout(left.saturating_add(LAST_POLL), self.poll.clone()).await {
                Ok(Ok(found)) => {
                    (successful_polls, last_error) = (successful_polls + 1, None);
                    if let Some(listener) = &self.on_poll {
                        listener(&found);
                    }
                    match (self.state)(&found) {
                        State::Settled => return Ok(found),
                        State::Open(named) => state = named.or(state),
                    }
                }
                Ok(Err(error)) if error.is_retryable() => last_error = Some(Box::new(error)),
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
            let waited = begun.elapsed();
            let Some(left) = self.max_wait.checked_sub(waited).filter(|left| !left.is_zero()) else {
                let timeout = WaitTimeout { state, waited, polls, successful_polls, last_error };
                return Err(Error::WaitTimeout(Box::new(timeout)));
            };
            sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(self.max_interval);
        }
    }
}

impl<T: Send + 'static> IntoFuture for Wait<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

partial_debug! {
    /// `Debug` prints only the limits.
    Wait<T> { max_wait, max_interval }
}
