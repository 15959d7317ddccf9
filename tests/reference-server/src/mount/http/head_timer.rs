//! The timeout for the heads of requests.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time::sleep_until;

use crate::lock::lock;

/// The timer of a connection. `hyper` starts a timeout for each head and drops it soon after, so all of them share one timer of the runtime: it is
/// reset only when it fires too early, not for each request.
#[derive(Default)]
pub(super) struct HeadTimer(Arc<Running>);

type Running = Mutex<Option<Pin<Box<tokio::time::Sleep>>>>;

struct Timeout {
    deadline: Instant,
    running: Arc<Running>,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Timeout { deadline, running: Arc::clone(&self.0) })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

impl Sleep for Timeout {}

impl Future for Timeout {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline.into();
        let mut running = lock(&self.running);
        let sleep = running.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        while sleep.as_mut().poll(context).is_ready() {
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}
