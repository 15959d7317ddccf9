//! A response body as received by reqwest.

use std::{
    future::Future as _,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::{super::TransportError, failure::transport_error, idle_timeout_error, pool::Pooled};

/// The chunks of a body. The idle timer runs only while the peer is silent.
pub(super) struct Chunks {
    response: reqwest::Response,
    pooled: Pooled,
    idle: Duration,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Chunks {
    pub(super) fn new(response: reqwest::Response, pooled: Pooled, idle: Duration) -> Self {
        Self { response, pooled, idle, silence: None }
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // `chunk` keeps no state between polls: data read so far is in the response.
        if let Poll::Ready(chunk) = pin!(this.response.chunk()).poll(context) {
            this.silence = None;
            return Poll::Ready(chunk.map_err(|error| transport_error(error, None)).transpose());
        }
        let silence = this.silence.get_or_insert_with(|| Box::pin(sleep(this.idle)));
        silence.as_mut().poll(context).map(|()| {
            this.pooled.abandon();
            Some(Err(idle_timeout_error()))
        })
    }
}
