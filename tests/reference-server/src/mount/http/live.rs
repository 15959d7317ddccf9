//! A streaming body.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use super::ConnectionCut;
use crate::reply::Aborted;

/// Sends each chunk immediately as a frame.
pub(super) struct StreamBody(pub(super) mpsc::Receiver<Result<Bytes, Aborted>>);

impl Body for StreamBody {
    type Data = Bytes;
    type Error = ConnectionCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ConnectionCut>>> {
        self.0
            .poll_recv(context)
            .map(|written| written.map(|part| part.map(Frame::data).map_err(|Aborted| ConnectionCut)))
    }
}
