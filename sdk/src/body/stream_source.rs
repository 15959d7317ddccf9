//! Streams of known length as parts of a body.

use std::{io, pin::Pin};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt as _, stream::Fuse};

/// A stream of a known length that can be opened again.
pub(crate) struct StreamSource {
    len: u64,
    open: Box<dyn Fn() -> ByteStream + Send + Sync>,
}

type ByteStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl StreamSource {
    pub(crate) fn new<S>(len: u64, open: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        Self { len, open: Box::new(move || Box::pin(open())) }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn open(&self) -> OpenStream {
        OpenStream { stream: (self.open)().fuse(), left: self.len, unsent: Bytes::new() }
    }
}

partial_debug!(StreamSource { len });

/// The content is only known once it has been read, so no other stream is equal.
impl PartialEq for StreamSource {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A stream that is being read.
pub(super) struct OpenStream {
    stream: Fuse<ByteStream>,
    left: u64,
    unsent: Bytes,
}

impl OpenStream {
    /// Returns the next piece, of at most `most` bytes. Its length is a multiple of `unit`, except for the last piece.
    pub(super) async fn next(&mut self, unit: usize, most: usize) -> io::Result<Option<Bytes>> {
        let mut ended = false;
        while self.unsent.len() < unit && !ended {
            match self.receive().await? {
                Some(bytes) if self.unsent.is_empty() => self.unsent = bytes,
                Some(bytes) => self.unsent = [&self.unsent[..], &bytes].concat().into(),
                None => ended = true,
            }
        }
        let whole = if ended { self.unsent.len() } else { self.unsent.len() / unit * unit };
        let piece = self.unsent.split_to(whole.min(most));
        Ok((!piece.is_empty()).then_some(piece))
    }

    /// Receives the next bytes. The stream must yield exactly the stated length, so that the service can't mistake an incomplete body for a complete
    /// one.
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text);
        let Some(bytes) = self.stream.next().await.transpose()? else {
            let complete = self.left == 0;
            return if complete {
                Ok(None)
            } else {
                Err(wrong("the stream is shorter than its declared length"))
            };
        };
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| wrong("the stream is longer than its declared length"))?;
        Ok(Some(bytes))
    }
}
