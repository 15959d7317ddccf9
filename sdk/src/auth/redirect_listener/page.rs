//! The pages shown in the browser. They reveal as little as possible; the program that started the login reports its outcome.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

const PAGE: &str = "<!doctype html><html lang=en><head><meta charset=utf-8>\
    <meta name=viewport content=\"width=device-width,initial-scale=1\"><title>Received</title>\
    <style>:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;display:grid;place-content:center;min-height:90vh;margin:0 1rem;\
    text-align:center}</style></head><body><main><h1>Received</h1><p>Return to the program that opened this page; it shows the result.</p>\
    <p>You can close this page.</p></main></body></html>";

/// Redirects the browser, so that it doesn't stay on the URL with the code.
pub(super) fn redirect(path: &'static str) -> Response<Bytes> {
    let mut response = build_response(StatusCode::SEE_OTHER, Bytes::new());
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(path));
    response
}

/// Returns the final page, regardless of the outcome.
pub(super) fn final_page() -> Response<Bytes> {
    build_response(StatusCode::OK, Bytes::from_static(PAGE.as_bytes()))
}

/// Returns an error page without details.
pub(super) fn error_page(status: StatusCode) -> Response<Bytes> {
    build_response(status, Bytes::new())
}

fn build_response(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONNECTION, "close"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
