//! Asking after something until it is settled, or the time is over.
//!
//! The pauses grow, so that a quick end is seen quickly and a slow one costs few requests. When the time is over it is looked at once more:
//! what happened during the last pause counts.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout};

use crate::{
    call::Call,
    error::{Error, Result, WaitTimeout},
};

/// How long it is asked unless the caller says otherwise.
const LIMIT: Duration = Duration::from_mins(2);
/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// No pause is longer unless the caller says otherwise.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long the last look may take when the time is over; a service that doesn't answer can't make the wait endless.
const LAST_LOOK: Duration = Duration::from_secs(5);

type Ask<T> = Box<dyn Fn() -> Call<T> + Send + Sync>;
type Listener<T> = Box<dyn Fn(&T) + Send + Sync>;

/// What a look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It won't change by itself any more.
    Settled,
    /// It goes on; this is its state in the service's own word, if the service named one.
    Open(Option<String>),
}

/// A wait on its way to being done: set its options, then `.await` it.
///
/// It gives the thing as it is once it is settled, well or badly; [`Error::WaitTimeout`] says that the time was over before.
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use std::time::Duration;
///
/// let email = client.emails().wait("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").limit(Duration::from_secs(30)).await?;
/// println!("{:?}", email.summary.last_event);
/// # Ok(())
/// # }
/// ```
///
/// A look that fails and could succeed later is no end of the wait; any other failure is. When the time is over, the last look has
/// 5 seconds more. Dropping the future gives up waiting, and
/// changes nothing at the service.
#[must_use = "a wait does nothing until it is awaited"]
pub struct Wait<T> {
    ask: Ask<T>,
    state: fn(&T) -> State,
    limit: Duration,
    longest_pause: Duration,
    on_look: Option<Listener<T>>,
}

impl<T> Wait<T> {
    pub(crate) fn new(ask: impl Fn() -> Call<T> + Send + Sync + 'static, state: fn(&T) -> State) -> Self {
        Self { ask: Box::new(ask), state, limit: LIMIT, longest_pause: LONGEST_PAUSE, on_look: None }
    }

    /// The longest to wait; 2 minutes without it.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The longest pause between two looks; 10 seconds without it.
    pub fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest_pause = pause;
        self
    }

    /// Is told what each look has shown.
    pub fn on_look(mut self, listener: impl Fn(&T) + Send + Sync + 'static) -> Self {
        self.on_look = Some(Box::new(listener));
        self
    }

    async fn run(self) -> Result<T>
    where
        T: Send + 'static,
    {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE.min(self.longest_pause);
        let mut known = None;
        let mut looks = 0;
        loop {
            looks += 1;
            let left = self.limit.saturating_sub(begun.elapsed());
            match timeout(left.saturating_add(LAST_LOOK), (self.ask)()).await {
                Ok(Ok(found)) => {
                    if let Some(listener) = &self.on_look {
                        listener(&found);
                    }
                    match (self.state)(&found) {
                        State::Settled => return Ok(found),
                        State::Open(state) => known = state.or(known),
                    }
                }
                Ok(Err(error)) if error.is_retryable() => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
            let waited = begun.elapsed();
            let Some(left) = self.limit.checked_sub(waited).filter(|left| !left.is_zero()) else {
                return Err(Error::WaitTimeout(Box::new(WaitTimeout { state: known, waited, looks })));
            };
            sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(self.longest_pause);
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

/// `Debug` names the limits.
impl<T> fmt::Debug for Wait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("limit", &self.limit)
            .field("longest_pause", &self.longest_pause)
            .finish_non_exhaustive()
    }
}
