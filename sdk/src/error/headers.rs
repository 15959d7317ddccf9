//! Response headers used by errors.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header::RETRY_AFTER};

use crate::clock;

/// Returns the delay in `Retry-After`: seconds, or a date relative to the response's own `Date`, so that a wrong local clock doesn't matter.
///
/// Unreadable values count as absent; of several headers, the first counts.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let now = date(headers).unwrap_or_else(clock::wall);
    Some(until.duration_since(now).unwrap_or_default())
}

/// Returns the time of the response by the server's clock.
pub(crate) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(http::header::DATE)?.to_str().ok()?).ok()
}

/// Returns the request ID.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<&str> {
    let name = ["x-request-id", "request-id"].into_iter().find(|name| headers.contains_key(*name))?;
    headers.get(name)?.to_str().ok()
}

/// Returns whether the body is JSON, by its media type.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// Returns whether the body is HTML, by its media type.
pub(super) fn is_html(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind == "text/html" || kind == "application/xhtml+xml")
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}
