//! A response as it arrives: status and headers first, then the body in chunks.

use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{FutureExt as _, StreamExt as _};

use super::{RequestDelivery, TransportError, TransportErrorKind};
use crate::clock::{Instant, timeout_at};

/// A response body: in-memory bytes, or a stream of chunks.
pub struct ResponseBody(Source);

enum Source {
    Bytes(Bytes),
    Stream(Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>),
}

impl ResponseBody {
    /// Creates a body from chunks, without trailers. An error ends the body; its delivery must be [`RequestDelivery::Unknown`], since the response
    /// head has already arrived.
    pub fn stream(chunks: impl Stream<Item = Result<Bytes, TransportError>> + Send + 'static) -> Self {
        Self(Source::Stream(Box::pin(chunks)))
    }

    /// Returns the next chunk, or `None` at the end.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, TransportError>> {
        match &mut self.0 {
            Source::Bytes(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()).map(Ok),
            Source::Stream(chunks) => chunks.next().await,
        }
    }

    /// Reads the body until its end, `limit` bytes or the deadline, and returns what has arrived.
    pub(crate) async fn collect(mut self, limit: usize, deadline: Option<Instant>) -> Collected {
        let mut body = Collected { bytes: Bytes::new(), missing: None };
        let mut joined = BytesMut::new();
        loop {
            // Most chunks have already arrived, and a timer costs more than reading one.
            let next = match (self.chunk().now_or_never(), deadline) {
                (Some(next), _) => next,
                (None, None) => self.chunk().await,
                (None, Some(deadline)) => timeout_at(deadline, self.chunk()).await.unwrap_or_else(|_| {
                    Some(Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)))
                }),
            };
            let mut chunk = match next {
                None => break,
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => {
                    body.missing = Some(error);
                    break;
                }
            };
            let room = limit - body.bytes.len() - joined.len();
            if chunk.len() > room {
                chunk.truncate(room);
                let too_large = TransportError::new(RequestDelivery::Unknown, TransportErrorKind::TooLarge);
                body.missing = Some(too_large);
            }
            // Most bodies arrive as one chunk, which needs no copy.
            if body.bytes.is_empty() && joined.is_empty() {
                body.bytes = chunk;
            } else {
                if joined.is_empty() {
                    joined.extend_from_slice(&std::mem::take(&mut body.bytes));
                }
                joined.extend_from_slice(&chunk);
            }
            if body.missing.is_some() {
                break;
            }
        }
        if !joined.is_empty() {
            body.bytes = joined.freeze();
        }
        body
    }
}

/// The part of a body that has arrived.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) bytes: Bytes,
    /// Why the rest is missing, if it is.
    pub(crate) missing: Option<TransportError>,
}

conversions! {
    ResponseBody {
        Bytes: bytes => Self(Source::Bytes(bytes)),
        Vec<u8>: bytes => Self::from(Bytes::from(bytes)),
        &'static str: text => Self::from(Bytes::from_static(text.as_bytes())),
    }
}

partial_debug! {
    /// `Debug` omits the body, which can contain private text.
    ResponseBody = "ResponseBody"
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn lost() -> TransportError {
        TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Closed)
    }

    async fn collected(
        chunks: Vec<Result<&'static str, TransportError>>,
        limit: usize,
    ) -> (String, Option<TransportErrorKind>) {
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| chunk.map(Bytes::from)).collect();
        let body = ResponseBody::stream(stream::iter(chunks)).collect(limit, None).await;
        (String::from_utf8(body.bytes.to_vec()).unwrap(), body.missing.map(|error| error.kind()))
    }

    #[tokio::test]
    async fn a_body_is_joined_from_its_chunks() {
        assert_eq!(collected(vec![], 9).await, (String::new(), None));
        assert_eq!(collected(vec![Ok("abc")], 9).await, ("abc".into(), None));
        assert_eq!(collected(vec![Ok("abc"), Ok(""), Ok("def"), Ok("g")], 7).await, ("abcdefg".into(), None));
    }

    #[tokio::test]
    async fn an_interrupted_body_keeps_the_bytes_that_arrived() {
        let closed = Some(TransportErrorKind::Closed);
        assert_eq!(collected(vec![Err(lost())], 9).await, (String::new(), closed));
        assert_eq!(collected(vec![Ok("abc"), Err(lost())], 9).await, ("abc".into(), closed));
        assert_eq!(collected(vec![Ok("abc"), Ok("de"), Err(lost())], 9).await, ("abcde".into(), closed));
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_truncated() {
        // B-17
        let large = Some(TransportErrorKind::TooLarge);
        assert_eq!(collected(vec![Ok("abcd")], 3).await, ("abc".into(), large));
        assert_eq!(collected(vec![Ok("ab"), Ok("cd")], 3).await, ("abc".into(), large));
        assert_eq!(collected(vec![Ok("ab"), Ok("c")], 3).await, ("abc".into(), None));
        assert_eq!(collected(vec![Ok("ab"), Ok("c"), Ok("d")], 3).await, ("abc".into(), large));
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_ends_a_body_that_stalls_and_keeps_its_start() {
        // B-04
        let chunks = stream::iter([Ok(Bytes::from("abc"))]).chain(stream::pending());
        let end = Instant::now() + std::time::Duration::from_secs(3);
        let body = ResponseBody::stream(chunks).collect(9, Some(end)).await;
        assert_eq!(body.bytes, "abc");
        assert_eq!(body.missing.unwrap().kind(), TransportErrorKind::Timeout);
        assert_eq!(Instant::now(), end);
    }
}
