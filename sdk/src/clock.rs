//! Time and tasks: tokio's, except in WebAssembly, where tokio has no clock and the host provides timers.

#[cfg(not(target_family = "wasm"))]
pub(crate) use tokio::time::{Instant, sleep, timeout, timeout_at};
#[cfg(all(feature = "oauth", not(target_family = "wasm")))]
pub(crate) use tokio::{spawn, task::JoinHandle};
#[cfg(target_family = "wasm")]
pub(crate) use wasm::*;

/// Returns the time of day.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn wall() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

#[cfg(target_family = "wasm")]
mod wasm {
    use std::{
        pin::pin,
        time::{Duration, SystemTime},
    };

    use futures_util::future::{Either, select};
    use gloo_timers::future::TimeoutFuture;
    use send_wrapper::SendWrapper;
    use web_time::web::SystemTimeExt as _;

    pub(crate) use web_time::Instant;

    /// The longest timer that the host supports, in milliseconds.
    const LONGEST: u32 = i32::MAX as u32;

    pub(crate) fn wall() -> SystemTime {
        web_time::SystemTime::now().to_std()
    }

    pub(crate) async fn sleep(time: Duration) {
        let begun = Instant::now();
        while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            // The host's timers can fire up to a millisecond early.
            let millis = left.as_nanos().div_ceil(1_000_000).min(LONGEST.into()) as u32;
            SendWrapper::new(TimeoutFuture::new(millis)).await;
        }
    }

    pub(crate) async fn timeout<F: IntoFuture>(limit: Duration, work: F) -> Result<F::Output, Elapsed> {
        match select(pin!(work.into_future()), pin!(sleep(limit))).await {
            Either::Left((output, _)) => Ok(output),
            Either::Right(_) => Err(Elapsed),
        }
    }

    pub(crate) async fn timeout_at<F: IntoFuture>(end: Instant, work: F) -> Result<F::Output, Elapsed> {
        timeout(end.saturating_duration_since(Instant::now()), work).await
    }

    pub(crate) struct Elapsed;

    /// The result of a task: an error if it was interrupted.
    #[cfg(feature = "oauth")]
    pub(crate) type JoinHandle<T> = tokio::sync::oneshot::Receiver<T>;

    #[cfg(feature = "oauth")]
    pub(crate) fn spawn<T: 'static>(task: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        let (done, result) = tokio::sync::oneshot::channel();
        wasm_bindgen_futures::spawn_local(async move {
            let _ = done.send(task.await);
        });
        result
    }
}
