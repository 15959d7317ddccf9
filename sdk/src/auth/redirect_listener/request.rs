//! Whether a request can come from a browser that a person looks at, and what it asks for.

use http::{Method, Request, StatusCode, Version, header};

/// The path of the redirect address.
pub(super) const CALLBACK: &str = "/callback";
/// The page that the browser ends on.
pub(super) const DONE: &str = "/done";
/// The longest target of a request.
const TARGET: usize = 8 * 1024;

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// Refuse it; nothing changes.
    Refuse(StatusCode),
    /// It may be the answer: its query.
    Callback(&'a str),
    /// It asks for the last page.
    Done,
}

/// Looks at everything but the query.
pub(super) fn judge<'a, B>(request: &'a Request<B>, host: &str) -> Decision<'a> {
    let headers = request.headers();
    let refuse = Decision::Refuse;
    let mut hosts = headers.get_all(header::HOST).iter();
    let named = (hosts.next(), hosts.next());
    if !matches!(named, (Some(named), None) if named.as_bytes() == host.as_bytes()) {
        return refuse(StatusCode::MISDIRECTED_REQUEST);
    }
    if request.method() != Method::GET {
        return refuse(StatusCode::METHOD_NOT_ALLOWED);
    }
    let uri = request.uri();
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    if uri.authority().is_some() || target.starts_with("//") || request.version() > Version::HTTP_11 {
        return refuse(StatusCode::BAD_REQUEST);
    }
    if target.len() > TARGET {
        return refuse(StatusCode::URI_TOO_LONG);
    }
    if uri.path() != CALLBACK && uri.path() != DONE {
        return refuse(StatusCode::NOT_FOUND);
    }
    // A browser that shows a page says so; a script of another page says where it is from.
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
