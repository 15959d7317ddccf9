//! Downloads of attachments by signed links, which need no key.

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::resources::attachments::File;
use crate::resources::{emails, received};
use crate::state::State;
use crate::wire::{HandlerResult, response_with};

/// `GET /_/files/{token}`: a file of a sent email.
pub fn sent_file(state: &State, token: &str) -> HandlerResult {
    emails::attachments::open(state, token).map(download)
}

/// `GET /_/received-files/{token}`: a file of a received email.
pub fn received_file(state: &State, token: &str) -> HandlerResult {
    received::attachments::open(state, token).map(download)
}

fn download(file: File) -> Response<Bytes> {
    attachment_response(file.bytes, &file.content_type, &file.filename)
}

/// Responds with untrusted content, which a browser has to save instead of showing it.
pub fn attachment_response(bytes: Bytes, content_type: &str, filename: &str) -> Response<Bytes> {
    let mut response = inert_response(bytes, content_type);
    let name: String = filename.chars().map(|char| if is_misleading(char) { '_' } else { char }).collect();
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    if let Ok(disposition) = HeaderValue::try_from(format!("attachment; filename*=utf-8''{name}")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}

/// Returns whether a character can disguise a file name: control characters and direction marks.
fn is_misleading(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Creates a response that is inert in a browser, whatever its content. Its URL may grant access.
pub fn inert_response(bytes: Bytes, content_type: &str) -> Response<Bytes> {
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let mut response = response_with(bytes, headers);
    if let Ok(content_type) = HeaderValue::try_from(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}
