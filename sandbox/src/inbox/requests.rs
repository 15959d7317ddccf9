//! Recorded requests on the page: `GET /_/requests`, `GET /_/requests/{number}`, and the request of an email.
//!
//! Credentials are never shown, neither in headers nor in bodies. A request belongs to the tenant of its key, even if the key is deleted later; a
//! request with an invalid key is shown to all tenants, to help find out why it failed.

mod curl;

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use crate::inbox::messages::Header;
use idempost_reference_server::model::log;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::State;
use idempost_reference_server::state::requests::KeptRequest;
use idempost_reference_server::store::packed_headers::PackedHeaders;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::{Page, list, quote};
use idempost_reference_server::wire::problem::{self, Problem};
use idempost_reference_server::wire::timestamp::to_database_format;
use idempost_reference_server::wire::view::view;

/// The maximum number of bytes shown of a body.
const MAX_BODY: usize = 256 << 10;
/// The maximum and default number of requests per page.
const MAX_PAGE: usize = 100;
const HIDDEN: &str = "[hidden]";
/// Headers with credentials.
const CREDENTIALS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// The parameters of the list.
pub(super) const QUERY: &[Input] = &[
    Input::new("method", Kind::Text, "Requests with this method, ignoring case"),
    Input::new("path", Kind::Text, "Requests with this text in the path, ignoring case"),
    Input::new(
        "status",
        Kind::Short(3),
        "Responses with this status, or with these first digits, such as `4xx`",
    ),
    Input::new("before", Kind::Integer(0, u64::MAX), "Only requests with a lower number"),
];

/// `GET /_/requests`: the matching requests, newest first.
pub(super) fn index(call: &AccountCall<'_>) -> HandlerResult {
    let parameters = call.parameters();
    let text = |name| parameters.text(name).filter(|value| !value.is_empty());
    let (method, path) = (text("method").map(str::to_ascii_uppercase), text("path").map(str::to_lowercase));
    let status = text("status").map(read_status).transpose()?;
    let before = text("before").map(str::parse).transpose();
    let wrong = |_| Problem::validation("`before` must be the number of a request in the list.");
    let before: Option<u64> = before.map_err(wrong)?;
    let all = call.state.tenants.requests.shared();
    let shown = |request: &&Arc<KeptRequest>| {
        before.is_none_or(|before| request.number < before)
            && method.as_ref().is_none_or(|method| request.method.as_str() == method)
            && path.as_ref().is_none_or(|path| request.path.to_lowercase().contains(path))
            && status.is_none_or(|status| request.status.as_str().starts_with(status))
            && request.is_shown_to(&call.tenant.name)
    };
    let mut found = all.iter().rev().filter(shown);
    let items = found.by_ref().take(MAX_PAGE).map(|request| RequestItem(request)).collect();
    Ok(list(&Page { items, has_more: found.next().is_some() }))
}

/// `GET /_/requests/{number}`.
pub(super) fn show(state: &State, tenant: &str, number: &str) -> HandlerResult {
    let request = number.parse().ok().and_then(|number| state.tenants.requests.get(number));
    let request = request.filter(|request| request.is_shown_to(tenant));
    let request =
        request.ok_or_else(|| Problem::not_found("The request does not exist, or no longer exists."))?;
    Ok(problem::json(StatusCode::OK, &RequestDetail::new(state, &request)))
}

/// `GET /_/messages/{id}/request`: the request that created the email.
pub(super) fn for_email(state: &State, tenant: &str, email: Uuid) -> HandlerResult {
    let text = email.to_string();
    let id = text.as_bytes();
    let all = state.tenants.requests.shared();
    let found = all.iter().find(|request| {
        // Responses to later requests contain the ID, too: lists, whose method differs, and changes, whose path has the ID.
        request.method == http::Method::POST
            && !request.path.contains(&text)
            && request.status.is_success()
            && request.answer_body.len() < MAX_BODY
            && request.answer_body.windows(id.len()).any(|part| part == id)
            && request.is_shown_to(tenant)
    });
    let found = found.ok_or_else(|| {
        Problem::not_found("No recorded request created this email: a broadcast or an automation sent it, or the request was evicted.")
    })?;
    Ok(problem::json(StatusCode::OK, &RequestDetail::new(state, found)))
}

/// Reads the first digits of a status.
fn read_status(text: &str) -> Result<&str, Problem> {
    let digits = text.trim_end_matches(['x', 'X']);
    let is_status = text.len() <= 3
        && digits.starts_with(|first| ('1'..='5').contains(&first))
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_status.then_some(digits).ok_or_else(|| {
        Problem::validation(format!(
            "`status` must be a status, or its first digits, such as `4xx`; found {}.",
            quote(text)
        ))
    })
}

view! {
    described pub(super) RequestItem of request: KeptRequest {
        number: request.number,
        created_at: to_database_format(request.received_at),
        method: request.method.as_str(),
        path: request.path,
        query: request.query,
        status: request.status.as_u16(),
        /// The service's processing time in microseconds of real time, excluding scripted delays.
        duration_us: u64::try_from(request.duration.as_micros()).unwrap_or(u64::MAX),
        /// The additional scripted delay, in milliseconds.
        delay_ms: u64::try_from(request.delay.as_millis()).unwrap_or(u64::MAX),
        /// The size of the request body, in bytes.
        size: request.body.len(),
    }
}

described! {
    /// A recorded request with its response.
    pub(super) struct RequestDetail<'a>(state: &State, request: &'a KeptRequest) {
        #[serde(flatten)]
        item: RequestItem<'a> = RequestItem(request),
        headers: Vec<Header> = shown_headers(&request.headers),
        body: RecordedBody = RecordedBody::new(&request.path, &request.body),
        answer_headers: Vec<Header> = shown_headers(&request.answer_headers),
        answer_body: RecordedBody = RecordedBody::new(&request.path, &request.answer_body),
        /// Whether the exchange was recorded without its bodies because of their size.
        bodies_dropped: bool = request.bodies_dropped,
        /// A shell command that repeats the request; `None` if its body wasn't recorded completely.
        curl: Option<String> = curl_command(state, request, &body),
    }
}

fn curl_command(state: &State, request: &KeptRequest, body: &RecordedBody) -> Option<String> {
    let is_known = !request.bodies_dropped && !body.shortened && !is_secret(request);
    // Hidden parts of the body stay hidden.
    let bytes = if log::may_contain_secrets(&request.path) { body.text.as_bytes() } else { &request.body };
    is_known.then(|| curl::curl_command(&state.links.address(), request, bytes))
}

fn shown_headers(headers: &PackedHeaders) -> Vec<Header> {
    let shown = headers.entries().map(|(name, value)| {
        let value = String::from_utf8_lossy(value);
        let value = if CREDENTIALS.contains(&name) {
            // Shows the authentication scheme, hides the credential.
            let scheme = Some(&value).filter(|value| value.is_ascii() && name.ends_with("authorization"));
            let scheme = scheme.and_then(|value| value.split_once(' ')).map(|(scheme, _)| scheme);
            scheme.map_or_else(|| HIDDEN.to_owned(), |scheme| format!("{scheme} {HIDDEN}"))
        } else {
            value.into_owned()
        };
        Header::new(name, value)
    });
    shown.collect()
}

fn is_oauth(path: &str) -> bool {
    path.starts_with("/oauth/")
}

/// Returns whether the whole body is hidden.
fn is_secret(request: &KeptRequest) -> bool {
    is_oauth(&request.path) && !request.body.is_empty()
}

described! {
    /// A recorded body.
    struct RecordedBody {
        /// The complete size in bytes.
        size: usize,
        text: String,
        shortened: bool,
    }
}

impl RecordedBody {
    fn new(path: &str, body: &Bytes) -> Self {
        let size = body.len();
        if is_oauth(path) && size > 0 {
            return Self { size, text: format!("{HIDDEN}: it may contain credentials"), shortened: false };
        }
        let prefix = log::may_contain_secrets(path).then(|| serde_json::from_slice::<Value>(body));
        if let Some(Ok(mut value)) = prefix {
            log::redact(&mut value);
            return Self { size, text: value.to_string(), shortened: false };
        }
        let shown = &body[..size.min(MAX_BODY)];
        Self { size, text: String::from_utf8_lossy(shown).into_owned(), shortened: shown.len() < size }
    }
}
