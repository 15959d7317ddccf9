//! A replayable request body: a list of chunks, each consisting of bytes, a file or a stream. Attachments are Base64-encoded while they are sent.
//!
//! The length is known before the first byte is sent, so the request has a `Content-Length` and the service can reject it early.
//! A second attempt sends the same bytes as the first or fails, as an idempotency key requires.

#[cfg_attr(target_family = "wasm", path = "body/no_file_source.rs")]
mod file_source;
mod stream_source;

use std::{io, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::stream;
use serde_json::Value;

pub(crate) use self::file_source::FileSource;
use self::{
    file_source::OpenFile,
    stream_source::{OpenStream, StreamSource},
};

/// The maximum size of a piece before Base64, in bytes: a multiple of three, so that Base64 needs no padding in between.
const CHUNK: usize = 96 * 1024;

/// A request body. Cloning is cheap, and each clone can be sent.
#[derive(Clone, Debug, Default)]
pub struct Body {
    chunks: Vec<Chunk>,
    len: u64,
}

/// Content of a known length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Bytes(Bytes),
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "there are no files"))]
    File(Arc<FileSource>),
    Stream(Arc<StreamSource>),
}

impl Source {
    pub(crate) fn stream<S>(len: u64, open: impl Fn() -> S + Send + Sync + 'static) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        Self::Stream(Arc::new(StreamSource::new(len, open)))
    }

    /// Returns the length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file) => file.len(),
            Self::Stream(stream) => stream.len(),
        }
    }

    async fn open(self) -> io::Result<OpenSource> {
        Ok(match self {
            Self::Bytes(bytes) => OpenSource::Bytes(bytes),
            Self::File(file) => OpenSource::File(file.open().await?),
            Self::Stream(stream) => OpenSource::Stream(stream.open()),
        })
    }
}

#[derive(Clone, Debug)]
struct Chunk {
    source: Source,
    /// Whether it is sent as Base64.
    encoded: bool,
}

impl Chunk {
    /// Returns the length on the wire, in bytes.
    fn len(&self) -> u64 {
        let len = self.source.len();
        if self.encoded { encoded_len(len) } else { len }
    }
}

/// A part of a body, as shown in a [`Preview`](crate::call::Preview).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyPart {
    /// Text, sent as is.
    Text(Bytes),
    /// The content of an attachment, Base64-encoded when it is sent.
    Encoded {
        /// The attachment's index, from 0, among the attachments with content.
        attachment: usize,
        /// The content's size before Base64, in bytes.
        bytes: u64,
    },
    /// The content of a file or a stream, sent as is.
    File {
        /// Its size in bytes.
        bytes: u64,
    },
}

impl Body {
    pub(crate) fn with_bytes(self, bytes: impl Into<Bytes>) -> Self {
        self.with_source(Source::Bytes(bytes.into()))
    }

    /// Adds content, sent as is.
    pub(crate) fn with_source(self, source: Source) -> Self {
        self.with_chunk(Chunk { source, encoded: false })
    }

    /// Adds content, sent as Base64.
    pub(crate) fn with_base64(self, source: Source) -> Self {
        self.with_chunk(Chunk { source, encoded: true })
    }

    fn with_chunk(mut self, chunk: Chunk) -> Self {
        self.len = self.len.saturating_add(chunk.len());
        self.chunks.push(chunk);
        self
    }

    /// Returns the body's length on the wire, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the whole body if it is held in memory in one piece, as bodies without attachments are.
    pub fn as_bytes(&self) -> Option<Bytes> {
        match self.chunks.as_slice() {
            [] => Some(Bytes::new()),
            [Chunk { source: Source::Bytes(bytes), encoded: false }] => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Returns the body from its first byte, in pieces of at most 128 KiB, so that a transport can measure progress. Files and streams are read while
    /// they are sent.
    ///
    /// # Errors
    /// A file can't be read, or has changed since it was attached; or a stream failed, or isn't as long as stated.
    pub fn stream(&self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let chunks = self.chunks.clone().into_iter();
        stream::try_unfold((chunks, None), |(mut chunks, open)| async move {
            let mut open: Option<(OpenSource, bool)> = open;
            loop {
                if let Some((current, encoded)) = &mut open
                    && let Some(bytes) = current.next(*encoded).await?
                {
                    return Ok(Some((bytes, (chunks, open))));
                }
                let Some(Chunk { source, encoded }) = chunks.next() else { return Ok(None) };
                open = Some((source.open().await?, encoded));
            }
        })
    }

    /// Changes a JSON body. Encoded content stays in its position and isn't read.
    pub(crate) fn edit_json(&self, change: impl FnOnce(&mut Value)) -> serde_json::Result<Self> {
        // A placeholder for content. It is random, so nothing else in the body equals it.
        let mark = format!("{:032x}", rand::random::<u128>());
        let (mut text, mut contents) = (Vec::new(), Vec::new());
        for chunk in &self.chunks {
            if let Chunk { source: Source::Bytes(bytes), encoded: false } = chunk {
                text.extend_from_slice(bytes);
            } else {
                text.extend_from_slice(mark.as_bytes());
                contents.push(chunk.clone());
            }
        }
        let mut value = serde_json::from_slice(&text)?;
        change(&mut value);
        let text = serde_json::to_string(&value)?;
        let mut contents = contents.into_iter();
        let mut body = Self::default();
        for (i, plain) in text.split(&mark).enumerate() {
            if i > 0 {
                body = contents.next().into_iter().fold(body, Self::with_chunk);
            }
            body = body.with_bytes(plain.to_owned());
        }
        Ok(body)
    }

    pub(crate) fn parts(&self) -> Vec<BodyPart> {
        let mut attachment = 0;
        let mut next = |bytes| {
            attachment += 1;
            BodyPart::Encoded { attachment: attachment - 1, bytes }
        };
        let part = |chunk: &Chunk| match &chunk.source {
            source if chunk.encoded => next(source.len()),
            Source::Bytes(bytes) => BodyPart::Text(bytes.clone()),
            source => BodyPart::File { bytes: source.len() },
        };
        self.chunks.iter().map(part).collect()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::default().with_bytes(bytes)
    }
}

/// Returns the length of `bytes` bytes in padded Base64.
pub(crate) fn encoded_len(bytes: u64) -> u64 {
    bytes.div_ceil(3).saturating_mul(4)
}

/// Content that is being read.
enum OpenSource {
    Bytes(Bytes),
    File(OpenFile),
    Stream(OpenStream),
}

impl OpenSource {
    async fn next(&mut self, encoded: bool) -> io::Result<Option<Bytes>> {
        let piece = match self {
            Self::Bytes(bytes) => next_piece(bytes),
            Self::File(file) => file.next().await?,
            // Only the last piece can need Base64 padding.
            Self::Stream(stream) => stream.next(if encoded { 3 } else { 1 }, CHUNK).await?,
        };
        Ok(piece.map(|piece| if encoded { encode(&piece) } else { piece }))
    }
}

/// Takes the next piece of in-memory bytes.
fn next_piece(bytes: &mut Bytes) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| bytes.split_to(bytes.len().min(CHUNK)))
}

fn encode(piece: &[u8]) -> Bytes {
    let mut text = BytesMut::zeroed(usize::try_from(encoded_len(piece.len() as u64)).unwrap_or(usize::MAX));
    let written = STANDARD.encode_slice(piece, &mut text).unwrap_or_default();
    text.truncate(written);
    text.freeze()
}

#[cfg(test)]
mod tests {
    use std::{
        path::{Path, PathBuf},
        time::SystemTime,
    };

    use futures_util::{StreamExt as _, TryStreamExt as _};

    use super::*;

    async fn sent(body: &Body) -> io::Result<Vec<u8>> {
        let pieces: Vec<Bytes> = body.stream().try_collect().await?;
        Ok(pieces.concat())
    }

    async fn file(path: &Path) -> Source {
        Source::File(Arc::new(FileSource::inspect(path.to_owned()).await.unwrap()))
    }

    fn scratch(name: &str, content: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("idempost-body-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        path
    }

    #[tokio::test]
    async fn a_file_is_sent_as_base64_at_every_attempt() {
        // EMAIL-31
        for length in [0, 1, 2, 3, 4, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK * 2 + 77] {
            let content: Vec<u8> = (0..=255).cycle().take(length).collect();
            let path = scratch("twice", &content);
            let source = file(&path).await;
            let body = Body::default().with_bytes("[\"").with_base64(source).with_bytes("\"]");
            let expected = format!("[\"{}\"]", STANDARD.encode(&content)).into_bytes();
            assert_eq!(body.len(), expected.len() as u64);
            assert_eq!(sent(&body).await.unwrap(), expected, "{length}");
            assert_eq!(sent(&body).await.unwrap(), expected, "{length}");
            let memory = Body::default()
                .with_bytes("[\"")
                .with_base64(Source::Bytes(content.into()))
                .with_bytes("\"]");
            assert_eq!(sent(&memory).await.unwrap(), expected, "{length}");
            assert_eq!(memory.len(), body.len());
            std::fs::remove_file(path).unwrap();
        }
    }

    #[tokio::test]
    async fn a_plain_file_and_a_stream_are_sent_unchanged_at_every_attempt() {
        let content: Vec<u8> = (0..=255).cycle().take(CHUNK * 2 + 77).collect();
        let path = scratch("plain", &content);
        let source = file(&path).await;
        let pieces: Vec<_> = content.chunks(1_000).map(Bytes::copy_from_slice).collect();
        let open = move || stream::iter(pieces.clone()).map(Ok);
        let streamed = Source::stream(content.len() as u64, open);
        let expected = [b"<".as_slice(), &content, b">"].concat();
        for body in [
            Body::default().with_bytes("<").with_source(source).with_bytes(">"),
            Body::default().with_bytes("<").with_source(streamed).with_bytes(">"),
        ] {
            assert_eq!(body.len(), expected.len() as u64);
            assert_eq!(sent(&body).await.unwrap(), expected);
            assert_eq!(sent(&body).await.unwrap(), expected);
            assert!(body.parts().contains(&BodyPart::File { bytes: content.len() as u64 }));
        }
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn a_stream_is_sent_as_base64_at_every_attempt_whatever_its_pieces_are() {
        for (length, piece) in [(0, 1), (1, 1), (10, 1), (1_000, 2), (1_001, 4), (CHUNK * 2 + 77, CHUNK + 1)]
        {
            let content: Vec<u8> = (0..=255).cycle().take(length).collect();
            let pieces: Vec<_> = content.chunks(piece).map(Bytes::copy_from_slice).collect();
            // An empty piece isn't the end.
            let pieces: Vec<_> = pieces.into_iter().chain([Bytes::new()]).collect();
            // It must not be polled again after it has ended.
            let open = move || {
                stream::unfold(pieces.clone().into_iter(), |mut left| async {
                    Some((Ok(left.next()?), left))
                })
            };
            let source = Source::stream(length as u64, open);
            let body = Body::default().with_bytes("<").with_base64(source).with_bytes(">");
            let expected = format!("<{}>", STANDARD.encode(&content)).into_bytes();
            assert_eq!(body.len(), expected.len() as u64);
            assert_eq!(sent(&body).await.unwrap(), expected, "{length} {piece}");
            assert_eq!(sent(&body).await.unwrap(), expected, "{length} {piece}");
            assert!(body.parts().contains(&BodyPart::Encoded { attachment: 0, bytes: length as u64 }));
        }
    }

    #[tokio::test]
    async fn content_in_memory_and_of_streams_is_sent_in_pieces_of_bounded_size() {
        let content = Bytes::from(vec![b'a'; CHUNK * 3 + 1]);
        let streamed = content.clone();
        let open = move || stream::iter([Ok(Bytes::new()), Ok(streamed.clone())]);
        let source = Source::stream(content.len() as u64, open);
        for body in [
            Body::default().with_bytes(content.clone()).with_bytes("\r\n"),
            Body::default().with_source(source.clone()),
            Body::default().with_base64(source),
            Body::default().with_base64(Source::Bytes(content.clone())),
        ] {
            let pieces: Vec<Bytes> = body.stream().try_collect().await.unwrap();
            assert!(
                pieces.len() >= 4 && pieces.iter().all(|piece| piece.len() <= 128 * 1024),
                "{}",
                pieces.len()
            );
            assert_eq!(pieces.iter().map(|piece| piece.len() as u64).sum::<u64>(), body.len());
            let copied = pieces[1].as_ptr() != content[CHUNK..].as_ptr();
            assert_eq!(copied, body.len() > content.len() as u64 + 2, "only Base64 needs other memory");
        }
    }

    #[tokio::test]
    async fn a_stream_must_have_the_promised_length() {
        for (len, reason) in [(2, "longer"), (4, "shorter")] {
            let source = Source::stream(len, || stream::iter([Ok(Bytes::from("abc"))]));
            for body in [Body::default().with_source(source.clone()), Body::default().with_base64(source)] {
                let error = sent(&body).await.unwrap_err();
                assert!(error.to_string().contains(reason), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn a_file_that_grew_or_shrank_is_rejected() {
        //
        for now in [b"12345678901".as_slice(), b"1"] {
            let path = scratch(&format!("changed{}", now.len()), b"1234567890");
            let source = file(&path).await;
            std::fs::write(&path, now).unwrap();
            for body in [Body::default().with_base64(source.clone()), Body::default().with_source(source)] {
                let error = sent(&body).await.unwrap_err().to_string();
                assert!(error.contains("changed"), "{error}");
                assert!(error.contains(path.to_str().unwrap()), "{error}");
            }
            std::fs::remove_file(path).unwrap();
        }
    }

    #[tokio::test]
    async fn an_edit_of_the_same_length_during_the_upload_is_detected() {
        //
        let path = scratch("edited", &vec![b'a'; CHUNK * 2]);
        let body = Body::default().with_base64(file(&path).await);
        let mut pieces = std::pin::pin!(body.stream());
        assert!(pieces.try_next().await.unwrap().is_some());
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"b", 0).unwrap();
        file.set_modified(later).unwrap();
        let error = pieces.try_next().await.unwrap_err().to_string();
        assert!(error.contains("changed"), "{error}");
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn a_replaced_file_of_the_same_length_and_time_is_detected() {
        //
        let (path, other) = (scratch("replaced", b"1234567890"), scratch("replacement", b"0987654321"));
        let body = Body::default().with_base64(file(&path).await);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::OpenOptions::new().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(sent(&body).await.unwrap_err().to_string().contains("changed"));
        std::fs::remove_file(path).unwrap();
    }

    #[tokio::test]
    async fn only_regular_files_can_be_attached() {
        //
        assert!(FileSource::inspect(std::env::temp_dir()).await.is_err());
        assert!(FileSource::inspect("/nonexistent/report.pdf".into()).await.is_err());
        assert!(FileSource::inspect("/dev/null".into()).await.is_err());
    }
}
