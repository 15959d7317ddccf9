//! The trace of HTTP messages: `-v` requests and responses, `-vv` also headers, `-vvv` also bodies. Secrets are redacted.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{TryStreamExt as _, stream};
use http::{HeaderMap, Response, StatusCode, header};
use idempost::transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest};
use serde_json::Value;
use url::form_urlencoded;

use super::secret;

/// Maximum bytes shown of a body.
const MAX_SHOWN_BYTES: usize = 4_000;

/// Prints lines of a trace.
pub(crate) type Tracer = Arc<dyn Fn(&str) + Send + Sync>;

/// A transport that traces each message, for logins and sessions, which aren't calls.
pub(crate) struct TracedTransport {
    transport: Arc<dyn Transport>,
    level: u8,
    trace: Tracer,
}

impl TracedTransport {
    /// The transport itself for level 0.
    pub(crate) fn wrap(transport: Arc<dyn Transport>, level: u8, trace: Tracer) -> Arc<dyn Transport> {
        if level == 0 { transport } else { Arc::new(Self { transport, level, trace }) }
    }
}

impl fmt::Debug for TracedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracedTransport").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Transport for TracedTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let mut lines = vec![format!("> {} {}", request.method, request.url)];
            if self.level >= 2 {
                lines.extend(headers('>', &request.headers));
            }
            if self.level >= 3 {
                // A body that can't be read fails in the transport.
                let pieces: Result<Vec<_>, _> = request.body.stream().try_collect().await;
                let is_form = request
                    .headers
                    .get(header::CONTENT_TYPE)
                    .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
                let body = pieces.unwrap_or_default().concat();
                lines.extend(if is_form { redact_form('>', &body) } else { redact_body('>', &body) });
            }
            (self.trace)(&lines.join("\n"));
            let started = Instant::now();
            let result = self.transport.send(request).await;
            let took = started.elapsed();
            let response = result.inspect_err(|error| (self.trace)(&format_failure(took, error)))?;
            let (head, body) = response.into_parts();
            (self.trace)(&self::format_response(head.status, &head.headers, b"", took, self.level));
            let body = if self.level >= 3 { self.trace_body(body) } else { body };
            Ok(Response::from_parts(head, body))
        })
    }
}

impl TracedTransport {
    /// The same body, traced as soon as it ends or is dropped: even an incomplete one can contain a token.
    fn trace_body(&self, body: ResponseBody) -> ResponseBody {
        let seen = Seen { bytes: Vec::new(), trace: Arc::clone(&self.trace) };
        ResponseBody::stream(stream::unfold((body, seen), |(mut body, mut seen)| async move {
            let chunk = body.chunk().await?;
            if let Ok(bytes) = &chunk {
                let room = (MAX_SHOWN_BYTES * 16).saturating_sub(seen.bytes.len());
                seen.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Some((chunk, (body, seen)))
        }))
    }
}

/// The part of a body that has arrived.
struct Seen {
    bytes: Vec<u8>,
    trace: Tracer,
}

impl Drop for Seen {
    fn drop(&mut self) {
        if let Some(line) = redact_body('<', &self.bytes) {
            (self.trace)(&line);
        }
    }
}

pub(crate) fn format_response(
    status: StatusCode,
    all: &HeaderMap,
    body: &[u8],
    took: Duration,
    level: u8,
) -> String {
    let mut lines = vec![format!("< {status} in {} ms", took.as_millis())];
    if level >= 2 {
        lines.extend(headers('<', all));
    }
    if level >= 3 {
        lines.extend(redact_body('<', body));
    }
    lines.join("\n")
}

/// The trace of a request without a response.
pub(crate) fn format_failure(took: Duration, error: &impl fmt::Display) -> String {
    format!("< no complete response after {} ms: {error}", took.as_millis())
}

/// The headers, with secrets redacted.
pub(crate) fn headers(sign: char, headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers.iter().map(move |(name, value)| {
        let secret = matches!(*name, header::AUTHORIZATION | header::SET_COOKIE | header::COOKIE)
            || value.is_sensitive();
        let value = if secret { secret::REDACTED.into() } else { String::from_utf8_lossy(value.as_bytes()) };
        format!("{sign} {name}: {value}")
    })
}

/// The body with secrets redacted; `None` if it is empty.
pub(crate) fn redact_body(sign: char, body: &[u8]) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(mut json) => {
            secret::redact_secrets(&mut json);
            json.to_string()
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let cut = text.floor_char_boundary(MAX_SHOWN_BYTES);
    let more = if cut < text.len() { "…" } else { "" };
    Some(format!("{sign} {}{more}", &text[..cut]))
}

/// The fields of a form with secrets redacted; `None` if it is empty.
fn redact_form(sign: char, body: &[u8]) -> Option<String> {
    let mut line = String::new();
    for (name, value) in form_urlencoded::parse(body) {
        let value = if secret::is_secret(&name) { secret::REDACTED } else { &*value };
        // Writing to a string can't fail.
        let _ = write!(line, "{}{name}={value}", if line.is_empty() { "" } else { "&" });
    }
    (!line.is_empty()).then(|| format!("{sign} {line}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn secrets_are_redacted_in_headers_and_at_every_depth_of_a_body() {
        // G-08
        let headers = HeaderMap::from_iter([
            (header::SET_COOKIE, HeaderValue::from_static("sentinel")),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ]);
        let body = br#"{"data":[{"signing_secret":"sentinel","id":"1"}],"access_token":"sentinel"}"#;
        let shown = format_response(StatusCode::OK, &headers, body, Duration::from_millis(7), 3);
        assert_eq!(
            shown,
            "< 200 OK in 7 ms\n< set-cookie: [redacted]\n< content-type: application/json\n\
             < {\"data\":[{\"signing_secret\":\"[redacted]\",\"id\":\"1\"}],\"access_token\":\"[redacted]\"}"
        );
        assert_eq!(
            format_response(StatusCode::OK, &headers, body, Duration::from_millis(7), 1),
            "< 200 OK in 7 ms"
        );
    }

    #[test]
    fn secrets_of_a_form_are_redacted() {
        // G-08
        let form = b"grant_type=a%20b&code=x&code_verifier=x&refresh_token=x&device_code=x&client_secret=x&token=x&client_id=c";
        assert_eq!(
            redact_form('>', form).unwrap(),
            "> grant_type=a b&code=[redacted]&code_verifier=[redacted]&refresh_token=[redacted]&device_code=[redacted]\
             &client_secret=[redacted]&token=[redacted]&client_id=c"
        );
        assert_eq!(redact_form('>', b""), None);
    }

    #[test]
    fn a_large_body_is_cut_at_a_character_boundary() {
        let text = redact_body('<', "é".repeat(10_000).as_bytes()).unwrap();
        assert!(text.ends_with("é…") && text.len() <= MAX_SHOWN_BYTES + 8);
    }
}
