//! The reply to a handled request, for a mount to execute.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio::sync::{mpsc, watch};

use crate::state::State;
use crate::state::faults::Wire;
use crate::wire::Problem;

/// A response, as far as it is known, and what a mount does with it.
pub struct Reply {
    pub response: Response<Bytes>,
    pub then: Then,
}

/// The action of a mount. For [`Wait`](Self::Wait) and [`Perform`](Self::Perform), the response of the reply is that of mounts that can't wait.
pub enum Then {
    /// Sends the response, as a scripted fault demands.
    Send(Wire),
    /// Waits for a task, whose status and body replace those of the response. It ends when the client disconnects.
    Wait(Box<RunTask>),
    /// Like [`Wait`](Self::Wait), but the task runs to its end, even if the client disconnects.
    Perform(Box<RunTask>),
    /// Sends the head of the response, and then each part of the stream, until the client disconnects or the mount stops. Mounts that can't stream
    /// send the body of the response; if it is empty, they respond with 501.
    Stream(Box<StartStream>),
    /// Switches to another protocol (101), until the client disconnects or the mount stops.
    Upgrade(Box<ServeProtocol>),
}

impl From<Response<Bytes>> for Reply {
    fn from(response: Response<Bytes>) -> Self {
        Self { response, then: Then::Send(Wire::default()) }
    }
}

type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;

pub type RunTask = dyn FnOnce(Arc<State>) -> Future<Response<Bytes>> + Send;
pub type StartStream = dyn FnOnce(Arc<State>, Stopped) -> Parts + Send;
pub type ServeProtocol = dyn FnOnce(Arc<State>, OnUpgrade, Stopped) -> Future<()> + Send;

/// Whether the mount is stopping.
type Stopped = watch::Receiver<bool>;

/// The parts of a stream.
pub type Parts = mpsc::Receiver<Result<Bytes, Aborted>>;

/// The stream ends before it is complete: the connection is closed, so that the client notices.
#[derive(Debug)]
pub struct Aborted;

impl Reply {
    /// Responds with the result of a task that ends when the client disconnects.
    pub fn wait<F>(otherwise: Response<Bytes>, task: impl FnOnce(Arc<State>) -> F + Send + 'static) -> Self
    where
        F: std::future::Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self { response: otherwise, then: Then::Wait(Box::new(|state| Box::pin(task(state)))) }
    }

    /// Responds with the result of a task that runs to its end.
    pub fn from_task<F>(
        otherwise: Response<Bytes>,
        task: impl FnOnce(Arc<State>) -> F + Send + 'static,
    ) -> Self
    where
        F: std::future::Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self { response: otherwise, then: Then::Perform(Box::new(|state| Box::pin(task(state)))) }
    }

    /// Responds with a stream.
    pub fn stream(
        first: Response<Bytes>,
        parts: impl FnOnce(Arc<State>, Stopped) -> Parts + Send + 'static,
    ) -> Self {
        Self { response: first, then: Then::Stream(Box::new(parts)) }
    }

    /// Responds with another protocol.
    pub fn upgrade<F>(
        head: Response<Bytes>,
        serve: impl FnOnce(Arc<State>, OnUpgrade, Stopped) -> F + Send + 'static,
    ) -> Self
    where
        F: std::future::Future<Output = ()> + Send + 'static,
    {
        let serve =
            Box::new(|state, upgrade, stopped| Box::pin(serve(state, upgrade, stopped)) as Future<()>);
        Self { response: head, then: Then::Upgrade(serve) }
    }

    /// How a scripted fault demands that the response is sent.
    pub fn wire(&self) -> Wire {
        match self.then {
            Then::Send(wire) => wire,
            _ => Wire::default(),
        }
    }

    /// The response of a mount that has no connection to wait on, to cut, or to use for another protocol.
    pub fn into_response(self) -> Response<Bytes> {
        match self.then {
            Then::Stream(_) if self.response.body().is_empty() => {
                not_implemented("A response of this size needs the HTTP mount.")
            }
            Then::Send(_) | Then::Wait(_) | Then::Perform(_) | Then::Stream(_) => self.response,
            Then::Upgrade(_) => not_implemented("Websockets need the HTTP mount."),
        }
    }
}

fn not_implemented(message: &str) -> Response<Bytes> {
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message).into_response()
}
