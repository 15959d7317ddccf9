//! Downloads into a writer, in constant memory.

use std::io;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::{
    builder::Call,
    execute,
    state::{AttemptResult, CallState, Idempotency},
};
use crate::{
    clock::{Instant, timeout_at},
    error::{Error, Result, TransportFailure},
    problem::Problem,
    transport::{RequestDelivery, ResponseBody, TransportError, TransportErrorKind},
};

impl Call<Bytes> {
    /// Writes the body to `writer` as it arrives, flushes the writer, and returns the body's size in bytes. Memory use doesn't depend on the size,
    /// and [`ClientBuilder::response_limit`](crate::ClientBuilder::response_limit) doesn't apply.
    ///
    /// After a broken connection, the download resumes where it stopped, as often as the retry policy allows, if the server supports ranges and
    /// identifies the content (`ETag` or `Last-Modified`). By default, the download has no overall timeout, only
    /// [`ClientBuilder::idle_timeout`](crate::ClientBuilder::idle_timeout): [`attempt_timeout`](crate::ClientBuilder::attempt_timeout) ends before the
    /// body.
    ///
    /// ```no_run
    /// # async fn example(client: &idempost::Client, url: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut file = tokio::fs::File::create("report.pdf").await?;
    /// let bytes = client.received().download(url).write_to(&mut file).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of the call; [`Error::Invalid`] if the call isn't a read; [`Error::Decode`] if the response is only a part of the content or is
    /// encoded, although neither was requested; [`Error::Write`] if the writer fails, or stalls until the timeout. Bytes that have been written stay
    /// written.
    pub async fn write_to<W: AsyncWrite + Unpin + Send>(self, writer: &mut W) -> Result<u64> {
        let (core, mut operation) = self.into_parts();
        if !matches!(operation.method, Method::GET | Method::HEAD) {
            let rule = "`write_to` is only for reads, whose response can be requested again";
            operation.faults.push(Problem::new("", "method", rule).with_value(&operation.method));
        }
        // A range counts encoded bytes.
        operation.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let deadline = operation.timeout.or(core.timeout).and_then(|limit| Instant::now().checked_add(limit));
        let attempts = operation.retry.as_ref().unwrap_or(&core.retry).attempt_limit();
        let (mut written, mut resumed) = (0, 0);
        let (head, mut body) = execute::open(&core, operation.clone()).await?.into_parts();
        // The offsets of a range that the caller requested don't count from the start of the content.
        let is_whole = !operation.headers.contains_key(header::RANGE);
        let validator = range_validator(&head.headers).filter(|_| is_whole);
        let size = content_length(&head.headers);
        // Where a range ends, whatever the length of its body.
        let mut end = None;
        loop {
            let ended = copy(&mut body, writer, &mut written, deadline).await?;
            let cut = end.filter(|end| *end != written);
            let closed = || TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Closed);
            let Some(error) = ended.or_else(|| cut.map(|_| closed())) else { break };
            let timed_out = deadline.is_some_and(|deadline| deadline <= Instant::now());
            let (Some(validator), false) = (&validator, timed_out || resumed + 1 >= attempts) else {
                return Err(incomplete_error(error, operation.name, resumed + 1));
            };
            resumed += 1;
            tracing::debug!(written, "resuming a download");
            let mut rest = operation.clone();
            rest.timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let start = HeaderValue::try_from(format!("bytes={written}-"));
            rest.headers.insert(header::RANGE, start.unwrap_or(HeaderValue::from_static("bytes=0-")));
            rest.headers.insert(header::IF_RANGE, validator.1.clone());
            let (head, more) = match execute::open(&core, rest).await {
                Ok(response) => response.into_parts(),
                // The content has changed.
                Err(Error::Api(response)) if response.status == StatusCode::RANGE_NOT_SATISFIABLE => {
                    return Err(incomplete_error(error, operation.name, resumed + 1));
                }
                Err(error) => return Err(error),
            };
            let is_part = head.status == StatusCode::PARTIAL_CONTENT;
            end = rest_end(&head.headers, written, size, validator).filter(|_| is_part);
            if end.is_none() {
                return Err(incomplete_error(error, operation.name, resumed + 1));
            }
            body = more;
        }
        write_until(deadline, writer.flush()).await?;
        Ok(written)
    }
}

/// Copies the body to its end, or returns why it ended early.
async fn copy<W: AsyncWrite + Unpin + Send>(
    body: &mut ResponseBody,
    writer: &mut W,
    written: &mut u64,
    deadline: Option<Instant>,
) -> Result<Option<TransportError>> {
    loop {
        let chunk = until(deadline, body.chunk()).await.unwrap_or_else(|| {
            Some(Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)))
        });
        match chunk {
            None => return Ok(None),
            Some(Err(error)) => return Ok(Some(error)),
            Some(Ok(chunk)) => {
                write_until(deadline, writer.write_all(&chunk)).await?;
                *written += chunk.len() as u64;
            }
        }
    }
}

async fn write_until(
    deadline: Option<Instant>,
    writing: impl Future<Output = io::Result<()>> + Send,
) -> Result<()> {
    let written = until(deadline, writing).await;
    written.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into())).map_err(Error::Write)
}

/// Returns the output of `work`; `None` if it isn't complete at the deadline.
async fn until<T>(deadline: Option<Instant>, work: impl Future<Output = T> + Send) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => timeout_at(deadline, work).await.ok(),
    }
}

/// Returns the header that identifies the content across ranges, if the server supports them: a strong `ETag`, or `Last-Modified` (RFC 9110,
/// 13.1.5).
fn range_validator(headers: &HeaderMap) -> Option<(HeaderName, HeaderValue)> {
    headers.get(header::ACCEPT_RANGES).filter(|ranges| *ranges == "bytes")?;
    let etag = headers.get(header::ETAG).filter(|etag| !etag.as_bytes().starts_with(b"W/"));
    let modified = || Some((header::LAST_MODIFIED, headers.get(header::LAST_MODIFIED)?.clone()));
    etag.map(|etag| (header::ETAG, etag.clone())).or_else(modified)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Returns the end of the content if a range from `offset` reaches it and the content hasn't changed: parts of two versions must not be combined (RFC
/// 9110, 15.3.7.3).
fn rest_end(
    headers: &HeaderMap,
    offset: u64,
    size: Option<u64>,
    (name, validator): &(HeaderName, HeaderValue),
) -> Option<u64> {
    headers.get(name).is_none_or(|found| found == validator).then_some(())?;
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (range, total) = range.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let end = last.parse::<u64>().ok()?.checked_add(1)?;
    let total = if total == "*" { size } else { Some(total.parse().ok()?) };
    let is_rest =
        first.parse() == Ok(offset) && [total, size].into_iter().flatten().all(|known| known == end);
    is_rest.then_some(end)
}

fn incomplete_error(error: TransportError, operation: &'static str, attempts: u32) -> Error {
    let mut state = CallState::new(operation, Idempotency::Idempotent, None);
    state.attempts = attempts;
    state.record(AttemptResult::NotSent { transient: true });
    let error = TransportError { in_body: true, ..error };
    Error::Unreachable(Box::new(TransportFailure::new(error, state.summary())))
}
