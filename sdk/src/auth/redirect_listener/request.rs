//! Checks whether a request can come from a browser navigation, and which page it requests.

use http::{Method, Request, StatusCode, header};

/// The path of the redirect URI.
pub(super) const CALLBACK: &str = "/callback";
/// The path of the final page.
pub(super) const DONE: &str = "/done";
/// The maximum length of a request target, in bytes.
const MAX_TARGET: usize = 12 * 1024;

/// How to respond to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// Reject it; nothing changes.
    Refuse(StatusCode),
    /// It may be the authorization response; contains its query.
    Callback(&'a str),
    /// It requests the final page.
    Done,
}

/// Checks everything except the query.
pub(super) fn classify<'a, B>(request: &'a Request<B>, host: &str) -> Decision<'a> {
    let headers = request.headers();
    let refuse = Decision::Refuse;
    let mut hosts = headers.get_all(header::HOST).iter();
    let named = (hosts.next(), hosts.next());
    // Browsers omit the default port (RFC 9110, 7.2).
    let is_ours = |named: &[u8]| {
        named == host.as_bytes() || host.strip_suffix(":80").is_some_and(|host| named == host.as_bytes())
    };
    if !matches!(named, (Some(named), None) if is_ours(named.as_bytes())) {
        return refuse(StatusCode::MISDIRECTED_REQUEST);
    }
    if request.method() != Method::GET {
        return refuse(StatusCode::METHOD_NOT_ALLOWED);
    }
    let uri = request.uri();
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if uri.authority().is_some() || target.starts_with("//") {
        return refuse(StatusCode::BAD_REQUEST);
    }
    if target.len() > MAX_TARGET {
        return refuse(StatusCode::URI_TOO_LONG);
    }
    if uri.path() != CALLBACK && uri.path() != DONE {
        return refuse(StatusCode::NOT_FOUND);
    }
    // Browsers mark navigations as such, and scripts' requests with their origin.
    let is = |name: &str, value: &[u8]| headers.get_all(name).iter().all(|found| found.as_bytes() == value);
    if !is("origin", b"null") || !is("sec-fetch-mode", b"navigate") {
        return refuse(StatusCode::FORBIDDEN);
    }
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get_all(header::CONTENT_LENGTH).iter().any(|length| length.as_bytes() != b"0");
    if has_body {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE);
    }
    if uri.path() == DONE { Decision::Done } else { Decision::Callback(uri.query().unwrap_or_default()) }
}
