//! Converts a submitted message to the equivalent `POST /emails` request.
//!
//! The request passes through the service like any other, with the same validation, rate limit, idempotency, events and log. Resend does the same
//! (see its page on SMTP); the specification doesn't define it. The envelope determines the recipients:
//!
//! | field | source |
//! |---|---|
//! | `to`, `cc` | the addresses of these headers that are also in the envelope |
//! | `bcc` | the other envelope recipients |
//! | `html`, `text` | the parts of the body that aren't files, in order |
//! | `attachments` | the files, with their content IDs |
//! | `headers` | all other headers, except those added by servers |
//!
//! The header `Resend-Idempotency-Key` becomes the request's `Idempotency-Key`.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use mail_parser::{Address, Message};
use serde_json::{Map, Value, json};

use crate::smtp::reply::Reply;
use idempost_reference_server::mime::{self, unfolded_headers};
use idempost_reference_server::model::received::{contents, format_mailbox, list_addresses, parts};

/// In lower case, like the list below.
const IDEMPOTENCY_KEY: &str = "resend-idempotency-key";
/// The other headers that correspond to request fields or are added by servers.
const STANDARD_HEADERS: &str =
    "from to cc bcc reply-to subject date message-id mime-version return-path received dkim-signature";

/// The maximum length of an API message in a reply, in characters; a reply line has at most 512 (RFC 5321, 4.5.3.1.5).
const MAX_MESSAGE: usize = 400;

/// Returns the request that sends this message to these recipients. The error is the reply to an invalid message.
pub(super) fn build_request(key: &str, recipients: &[String], raw: &[u8]) -> Result<Request<Bytes>, Reply> {
    let message = mime::parse(raw).map_err(|error| Reply::too_complex(error.text()))?;
    let message = message.filter(|message| !message.headers().is_empty()).ok_or(Reply::INVALID_MESSAGE)?;
    let body = Bytes::from(build_body(&message, recipients).to_string());
    let mut request = Request::post("/emails").body(body).map_err(|_| Reply::FAILED)?;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let bearer = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| Reply::BAD_KEY)?;
    headers.insert(header::AUTHORIZATION, bearer);
    let idempotency = unfolded_headers(&message).find(|(name, _)| name.eq_ignore_ascii_case(IDEMPOTENCY_KEY));
    if let Some((_, value)) = idempotency {
        let value = HeaderValue::try_from(value).map_err(|_| Reply::BAD_IDEMPOTENCY_KEY)?;
        headers.insert("idempotency-key", value);
    }
    Ok(request)
}

/// Returns the SMTP reply for the response to that request.
pub(super) fn reply_for(response: &Response<Bytes>) -> Reply {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    if response.status().is_success() {
        return Reply::new(250, format!("2.0.0 Sent as {}", text("id")));
    }
    let (code, enhanced) = match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => (550, "5.7.1"),
        StatusCode::PAYLOAD_TOO_LARGE => (552, "5.3.4"),
        StatusCode::TOO_MANY_REQUESTS => (451, "4.7.0"),
        StatusCode::CONFLICT if text("name") == "concurrent_idempotent_requests" => (451, "4.5.0"),
        status if status.is_server_error() => (451, "4.3.0"),
        _ => (554, "5.6.0"),
    };
    let message: String = text("message").chars().take(MAX_MESSAGE).collect();
    Reply::new(code, format!("{enhanced} {message}"))
}

fn build_body(message: &Message<'_>, recipients: &[String]) -> Value {
    let mut envelope = Envelope::new(recipients);
    let (to, cc) = (envelope.take(message.to()), envelope.take(message.cc()));
    let bcc = envelope.into_remaining();
    let fields = [
        ("from", sender(message).map(Value::from)),
        ("to", non_empty_list(to)),
        ("cc", non_empty_list(cc)),
        ("bcc", non_empty_list(bcc)),
        ("reply_to", non_empty_list(as_addresses(message, "reply-to", message.reply_to()))),
        ("subject", message.subject().map(Value::from)),
        ("html", parts::html(message).map(Value::from)),
        ("text", parts::text(message).map(Value::from)),
        ("headers", headers(message)),
        ("attachments", non_empty_list(attachments(message))),
    ];
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect())
}

fn non_empty_list<T: Into<Value>>(list: Vec<T>) -> Option<Value> {
    (!list.is_empty()).then(|| list.into_iter().map(Into::into).collect())
}

/// Returns the sender: the first of several, as mail clients show it.
fn sender(message: &Message<'_>) -> Option<String> {
    as_addresses(message, "from", message.from()).into_iter().next()
}

/// Returns the addresses in a header. If it can't be parsed, returns its text, for the error message.
fn as_addresses(message: &Message<'_>, name: &str, parsed: Option<&Address<'_>>) -> Vec<String> {
    let found = list_addresses(parsed);
    if !found.is_empty() {
        return found;
    }
    let all = unfolded_headers(message);
    all.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

/// Returns the headers that aren't request fields. Repeated values are joined with `, `.
fn headers(message: &Message<'_>) -> Option<Value> {
    let mut headers = Map::new();
    for (name, value) in unfolded_headers(message) {
        let lower = name.to_ascii_lowercase();
        let is_standard = STANDARD_HEADERS.split(' ').any(|standard| standard == lower);
        if is_standard || lower == IDEMPOTENCY_KEY || lower.starts_with("content-") {
            continue;
        }
        match headers.get_mut(name) {
            Some(Value::String(known)) => {
                known.push_str(", ");
                known.push_str(&value);
            }
            _ => drop(headers.insert(name.to_owned(), value.into())),
        }
    }
    (!headers.is_empty()).then_some(Value::Object(headers))
}

fn attachments(message: &Message<'_>) -> Vec<Value> {
    let files = contents(message).into_iter().map(|(file, bytes)| {
        let mut attachment = json!({
            "filename": file.filename,
            "content_type": file.content_type,
            "content": STANDARD.encode(bytes),
        });
        if let Some(id) = file.content_id {
            attachment["content_id"] = id.into();
        }
        attachment
    });
    files.collect()
}

/// The distinct envelope recipients that no header has listed yet.
struct Envelope<'a> {
    left: Vec<Option<&'a str>>,
    /// Positions by address in lower case.
    places: HashMap<String, usize>,
}

impl<'a> Envelope<'a> {
    fn new(recipients: &'a [String]) -> Self {
        let mut envelope = Self { left: Vec::new(), places: HashMap::new() };
        for recipient in recipients {
            let place = envelope.left.len();
            envelope.places.entry(recipient.to_lowercase()).or_insert_with(|| {
                envelope.left.push(Some(recipient));
                place
            });
        }
        envelope
    }

    /// Takes the recipients that this header lists, as written there.
    fn take(&mut self, header: Option<&Address<'_>>) -> Vec<String> {
        let named = header.into_iter().flat_map(Address::iter);
        let taken = named.filter_map(|one| {
            let address = one.address()?.trim();
            self.left[*self.places.get(&address.to_lowercase())?].take()?;
            Some(format_mailbox(one.name().map(str::trim), address))
        });
        taken.collect()
    }

    fn into_remaining(self) -> Vec<&'a str> {
        self.left.into_iter().flatten().collect()
    }
}
