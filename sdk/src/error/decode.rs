//! Successful responses that can't be decoded.

use std::fmt;

use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::{
    headers::request_id,
    summary::{CallSummary, Outcome, call_accessors},
    text::{BUDGET_EXHAUSTED, printable},
};
use crate::transport::TransportError;

/// The number of bytes of an unreadable body that are kept as a sample.
const MAX_SAMPLE: usize = 512;
/// The maximum length of a cause and of a path, in characters.
const MAX_REASON: usize = 300;

/// A successful response that is incomplete or doesn't match the specification.
///
/// A 2xx alone doesn't mean that the service accepted the request: a captive portal, a maintenance page or, with a wrong base URL, another service
/// returns one too. [`Error::outcome`](crate::Error::outcome) is therefore
///
/// - [`Accepted`](Outcome::Accepted) if the body clearly comes from the API: a JSON object with an ID, or truncated JSON (by its media type);
/// - otherwise [`Unknown`](Outcome::Unknown) for a change, and [`Rejected`](Outcome::Rejected) for a read, which changes nothing.
///
/// In both cases, a change with an idempotency key is requested once more, which can't act twice. After `Accepted`, the email is on its way, but its
/// ID may be missing; see [`id`](Self::id).
#[derive(thiserror::Error)]
#[error("{}", self.summary_line())]
#[non_exhaustive]
pub struct DecodeError {
    /// The status of the response, always 2xx.
    pub status: StatusCode,
    /// The response headers.
    pub headers: HeaderMap,
    /// The path of the field that couldn't be read, such as `data[3].id`; empty for the whole body.
    pub path: String,
    /// The start of the body, at most 512 bytes, with control characters escaped. It can contain private text, so `Debug` omits it.
    pub sample: String,
    /// The cause.
    pub source: DecodeCause,
    id: Option<String>,
    secret: Option<SecretString>,
    pub(super) call: CallSummary,
}

call_accessors!(DecodeError);

/// The reason why a body couldn't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeCause {
    /// It isn't the JSON that the specification defines.
    // Its message can quote the body.
    #[error("{}", printable(&.0.to_string(), MAX_REASON))]
    Json(serde_json::Error),
    /// It didn't arrive completely.
    #[error(transparent)]
    Incomplete(TransportError),
}

impl DecodeError {
    pub(crate) fn new(head: http::response::Parts, body: &[u8], path: &str, source: DecodeCause) -> Self {
        let Readable { id, secret } = Readable::from_body(body);
        Self {
            status: head.status,
            headers: head.headers,
            path: printable(path, MAX_REASON),
            sample: printable(&String::from_utf8_lossy(&body[..body.len().min(MAX_SAMPLE)]), MAX_SAMPLE),
            source,
            id,
            secret,
            call: CallSummary::of_request(Outcome::Accepted),
        }
    }

    /// Returns the ID of the record, if the service accepted the request and the ID precedes the unreadable part; only for a single email, not for a
    /// batch. Otherwise, a call with the same input and the same [`idempotency_key`](Self::idempotency_key) returns the ID within 24 hours; a change
    /// without a key has to be looked up.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|_| self.call.outcome == Outcome::Accepted)
    }

    /// Returns the secret that the service created for an API key or a webhook, if the readable part of the response contains it. The service never
    /// returns an API key's secret again.
    pub fn secret(&self) -> Option<&str> {
        self.secret.as_ref().map(ExposeSecret::expose_secret)
    }

    /// Returns the request ID.
    pub fn request_id(&self) -> Option<&str> {
        request_id(&self.headers)
    }

    /// Returns the message of the [`Error`](crate::Error).
    pub(super) fn headline(&self) -> String {
        let status = self.status.as_u16();
        let page =
            format!("status {status}, but this isn't the API's response (a proxy, or a wrong base URL?)");
        let accepted = format!("the service accepted the request (status {status})");
        match self.call.outcome {
            Outcome::Accepted => match (self.id(), self.idempotency_key()) {
                (Some(id), _) => {
                    let id = printable(id, 100);
                    format!("{accepted} with the ID {id}, but the rest of its response couldn't be read")
                }
                (None, Some(_)) => format!(
                    "{accepted}, but the ID in its response couldn't be read; a call with the same idempotency key returns it"
                ),
                (None, None) => format!("{accepted}, but its response couldn't be read"),
            },
            Outcome::Unknown => format!("the outcome is unknown: {page}"),
            Outcome::NotSent | Outcome::Rejected => page,
        }
    }

    fn summary_line(&self) -> String {
        let mut line = match (&self.source, self.path.trim_start_matches('.')) {
            (DecodeCause::Incomplete(_), _) => "the body is incomplete".to_owned(),
            (DecodeCause::Json(_), "") => "the body doesn't match the specification".to_owned(),
            (DecodeCause::Json(_), path) => format!("{path} doesn't match the specification"),
        };
        if self.call.budget_exhausted {
            line.push_str(BUDGET_EXHAUSTED);
        }
        line
    }
}

/// The readable beginning of a JSON object that is truncated or malformed after it.
#[derive(Default)]
struct Readable {
    id: Option<String>,
    secret: Option<SecretString>,
}

impl Readable {
    fn from_body(body: &[u8]) -> Self {
        let mut found = Self::default();
        // The rest doesn't matter.
        let _ = serde_json::Deserializer::from_slice(body).deserialize_map(&mut found);
        found.id = found.id.filter(|id| !id.is_empty());
        found
    }
}

impl<'de> Visitor<'de> for &mut Readable {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            let text = match name.as_str() {
                "id" | "token" | "signing_secret" => match fields.next_value()? {
                    Value::String(text) => text,
                    _ => continue,
                },
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if name == "id" { self.id = Some(text) } else { self.secret = Some(text.into()) }
        }
        Ok(())
    }
}

partial_debug! {
    /// `Debug` omits the sample and the headers, which can contain private text and secrets.
    DecodeError {
        status = [status.as_u16()], path, source, request_id = [request_id()], attempts = [attempts()]
    }
}
