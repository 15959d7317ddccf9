//! Downloads of attachments by signed links, which need no key.

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::resources::attachments::File;
use crate::resources::{emails, received};
use crate::state::State;
use crate::wire::{HandlerResult, Problem};

/// `GET /_/files/{token}`: a file of a sent email.
pub fn sent_file(state: &State, token: &str) -> HandlerResult {
    download(emails::attachments::open(state, token))
}

/// `GET /_/received-files/{token}`: a file of a received email.
pub fn received_file(state: &State, token: &str) -> HandlerResult {
    download(received::attachments::open(state, token))
}

/// Downloads a file. Its content is untrusted, so browsers must save it instead of showing it.
fn download(file: Result<File, Problem>) -> HandlerResult {
    let file = file?;
    let mut response: Response<Bytes> = Response::new(file.bytes);
    let headers = response.headers_mut();
    let content_type = HeaderValue::try_from(file.content_type)
        .unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, content_type);
    let name = utf8_percent_encode(&file.filename, NON_ALPHANUMERIC);
    if let Ok(disposition) = HeaderValue::try_from(format!("attachment; filename*=utf-8''{name}")) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    // The URL grants access.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    Ok(response)
}
