//! The reply to a handled request, for a mount to execute.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio::sync::{mpsc, watch};

use crate::state::State;
use crate::state::faults::Wire;
use crate::wire::Problem;

/// The action of a mount. Each variant contains the response as far as it is known; for [`Wait`](Self::Wait) and [`Perform`](Self::Perform), it is
/// the response of mounts that can't wait.
pub enum Reply {
    /// Sends the response.
    Now(Response<Bytes>),
    /// Sends the response as a scripted fault demands.
    Fault(Response<Bytes>, Wire),
    /// Waits for a task, whose status and body replace those of the response. It ends when the client disconnects.
    Wait(Response<Bytes>, Task),
    /// Like [`Wait`](Self::Wait), but the task runs to its end, even if the client disconnects.
    Perform(Response<Bytes>, Task),
    /// Sends the head of the response, and then each part of the stream. Mounts that can't stream send the body of the response; if it is empty,
    /// they respond with 501.
    Stream(Response<Bytes>, Stream),
    /// Switches to another protocol (101).
    Upgrade(Response<Bytes>, Upgrade),
}

type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;

type RunTask = dyn FnOnce(Arc<State>) -> Future<Response<Bytes>> + Send;
type StartStream = dyn FnOnce(Arc<State>, Stopped) -> Parts + Send;
type ServeProtocol = dyn FnOnce(Arc<State>, OnUpgrade, Stopped) -> Future<()> + Send;

/// Whether the mount is stopping.
type Stopped = watch::Receiver<bool>;

/// The parts of a stream.
pub type Parts = mpsc::Receiver<Result<Bytes, Aborted>>;

/// The stream ends before it is complete: the connection is closed, so that the client notices.
#[derive(Debug)]
pub struct Aborted;

/// A task that computes a response.
pub struct Task(Box<RunTask>);

/// A stream of the parts of a body, until the client disconnects or the mount stops.
pub struct Stream(Box<StartStream>);

/// A connection with another protocol, until the client disconnects or the mount stops.
pub struct Upgrade(Box<ServeProtocol>);

impl Reply {
    /// Responds with the result of a task that ends when the client disconnects.
    pub fn wait<F>(otherwise: Response<Bytes>, task: impl FnOnce(Arc<State>) -> F + Send + 'static) -> Self
    where
        F: std::future::Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self::Wait(otherwise, Task(Box::new(|state| Box::pin(task(state)))))
    }

    /// Responds with the result of a task that runs to its end.
    pub fn from_task<F>(
        otherwise: Response<Bytes>,
        task: impl FnOnce(Arc<State>) -> F + Send + 'static,
    ) -> Self
    where
        F: std::future::Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self::Perform(otherwise, Task(Box::new(|state| Box::pin(task(state)))))
    }

    /// Responds with a stream.
    pub fn stream(
        first: Response<Bytes>,
        parts: impl FnOnce(Arc<State>, watch::Receiver<bool>) -> Parts + Send + 'static,
    ) -> Self {
        Self::Stream(first, Stream(Box::new(parts)))
    }

    /// Responds with another protocol.
    pub fn upgrade<F>(
        head: Response<Bytes>,
        serve: impl FnOnce(Arc<State>, OnUpgrade, watch::Receiver<bool>) -> F + Send + 'static,
    ) -> Self
    where
        F: std::future::Future<Output = ()> + Send + 'static,
    {
        let serve = Upgrade(Box::new(|state, upgrade, stopped| Box::pin(serve(state, upgrade, stopped))));
        Self::Upgrade(head, serve)
    }

    /// The response, possibly a placeholder.
    pub fn response(&self) -> &Response<Bytes> {
        match self {
            Self::Now(response)
            | Self::Fault(response, _)
            | Self::Wait(response, _)
            | Self::Perform(response, _)
            | Self::Stream(response, _)
            | Self::Upgrade(response, _) => response,
        }
    }

    /// The response, possibly a placeholder, to add headers.
    pub fn response_mut(&mut self) -> &mut Response<Bytes> {
        match self {
            Self::Now(response)
            | Self::Fault(response, _)
            | Self::Wait(response, _)
            | Self::Perform(response, _)
            | Self::Stream(response, _)
            | Self::Upgrade(response, _) => response,
        }
    }

    /// The scripted delay.
    pub fn delay(&self) -> Duration {
        match self {
            Self::Fault(_, wire) => wire.delay,
            _ => Duration::ZERO,
        }
    }

    /// The response of a mount that has no connection to wait on, to cut, or to use for another protocol.
    pub fn into_response(self) -> Response<Bytes> {
        match self {
            Self::Stream(response, _) if response.body().is_empty() => {
                not_implemented("A response of this size needs the HTTP mount.")
            }
            Self::Now(response)
            | Self::Fault(response, _)
            | Self::Wait(response, _)
            | Self::Perform(response, _)
            | Self::Stream(response, _) => response,
            Self::Upgrade(..) => not_implemented("Websockets need the HTTP mount."),
        }
    }
}

fn not_implemented(message: &str) -> Response<Bytes> {
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message).into_response()
}

impl Task {
    pub async fn run(self, state: Arc<State>) -> Response<Bytes> {
        (self.0)(state).await
    }
}

impl Stream {
    pub fn start(self, state: Arc<State>, stopped: watch::Receiver<bool>) -> Parts {
        (self.0)(state, stopped)
    }
}

impl Upgrade {
    pub async fn serve(self, state: Arc<State>, upgrade: OnUpgrade, stopped: watch::Receiver<bool>) {
        (self.0)(state, upgrade, stopped).await;
    }
}
