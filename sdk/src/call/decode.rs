//! Decoding of responses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Map, Value};

use crate::error::{DecodeCause, DecodeError};

/// Decodes a complete successful response.
pub(crate) type Decode<T> = fn(http::Response<Bytes>) -> Result<T, Box<DecodeError>>;

pub(crate) fn decode<T: DeserializeOwned>(response: http::Response<Bytes>) -> Result<T, Box<DecodeError>> {
    // An empty body holds no value, and neither does `null`.
    let body: &[u8] = if response.body().is_empty() { b"null" } else { response.body() };
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    // The path to the failing field is tracked only after a first decoding has failed.
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let again = serde_path_to_error::deserialize(&mut deserializer);
    let again = again.map_err(|error| (error.path().to_string(), error.into_inner()));
    let again =
        again.and_then(|value: T| deserializer.end().map(|()| value).map_err(|error| (String::new(), error)));
    again.map_err(|(path, error)| decode_error(response, &path, error))
}

fn decode_error(response: http::Response<Bytes>, path: &str, error: serde_json::Error) -> Box<DecodeError> {
    let (head, body) = response.into_parts();
    Box::new(DecodeError::new(head, &body, path, DecodeCause::Json(error)))
}

/// The fields of the API's responses to a change; every such response has at least one of them.
const RESPONSE_FIELDS: [&str; 7] = ["id", "object", "data", "event", "contact", "contact_id", "segment_id"];
/// The fields of a response to a send.
const SENT_FIELDS: [&str; 2] = ["id", "data"];

/// Checks that the response to a change comes from the API: a response from a proxy or another service must not count as a success, even if every
/// field of the record is optional.
pub(crate) fn ensure_api_response(
    response: http::Response<Bytes>,
    keyed: bool,
) -> Result<http::Response<Bytes>, Box<DecodeError>> {
    let fields: &[&str] = if keyed { &SENT_FIELDS } else { &RESPONSE_FIELDS };
    let object = serde_json::from_slice::<BTreeMap<String, Option<IgnoredAny>>>(response.body());
    let missing = match object {
        Ok(object) if fields.iter().any(|field| matches!(object.get(*field), Some(Some(_)))) => {
            return Ok(response);
        }
        Ok(_) => {
            let text = format!("the body has none of the fields {}", fields.join(", "));
            serde::de::Error::custom(text)
        }
        Err(error) => error,
    };
    Err(decode_error(response, "", missing))
}

/// Checks that the response to a download is the whole content, unless a range was requested, and isn't encoded if no encoding was accepted.
pub(crate) fn ensure_requested_form(
    requested: &HeaderMap,
    head: &http::response::Parts,
) -> Result<(), Box<DecodeError>> {
    let encoding = head.headers.get(header::CONTENT_ENCODING).filter(|encoding| *encoding != "identity");
    let accepts_none = requested.get(header::ACCEPT_ENCODING).is_some_and(|accepted| accepted == "identity");
    let text = match encoding.filter(|_| accepts_none) {
        Some(encoding) => format!("it has the encoding {encoding:?}, which wasn't requested"),
        None if head.status == StatusCode::PARTIAL_CONTENT && !requested.contains_key(header::RANGE) => {
            "it is a part of the content, but the whole was requested".to_owned()
        }
        None => return Ok(()),
    };
    let error = <serde_json::Error as serde::de::Error>::custom(text);
    Err(decode_error(http::Response::from_parts(head.clone(), Bytes::new()), "", error))
}

/// The author of an unreadable body, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// Nothing indicates that the API wrote it.
    Unknown,
    /// A JSON object with a field of the API's responses.
    Likely,
    /// A JSON object with a record's ID, or a list of such objects: clearly the API's.
    Api,
}

/// Returns the author of a body, which may contain anything after its JSON.
pub(crate) fn author(body: &[u8]) -> Author {
    let mut documents = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    let Some(Ok(Value::Object(fields))) = documents.next() else { return Author::Unknown };
    let has_id = |fields: &Map<String, Value>| {
        let ids = ["id", "contact", "contact_id"].into_iter().filter_map(|name| fields.get(name)?.as_str());
        ids.into_iter().any(|id| !id.is_empty())
    };
    let items = fields.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if has_id(&fields) || items.iter().filter_map(Value::as_object).any(has_id) {
        Author::Api
    } else if RESPONSE_FIELDS.iter().any(|field| fields.get(*field).is_some_and(|value| !value.is_null())) {
        Author::Likely
    } else {
        Author::Unknown
    }
}

/// Checks that the response contains an ID for each email that was sent or, if the request was permissive, its rejection; otherwise they can't be
/// matched. The path of the error is `errors` if the service rejected some although the request wasn't permissive: the key's first request was.
pub(crate) fn count_ids(
    response: http::Response<Bytes>,
    ids: usize,
    permissive: bool,
) -> Result<http::Response<Bytes>, Box<DecodeError>> {
    #[derive(Deserialize)]
    struct Named {
        data: Vec<IgnoredAny>,
        #[serde(default)]
        errors: Option<Vec<Value>>,
    }
    let Ok(Named { data, errors }) = serde_json::from_slice(response.body()) else { return Ok(response) };
    let errors = errors.unwrap_or_default();
    let (accepted, rejected) = (data.len(), errors.len());
    let indexes = errors.iter().filter_map(|error| error.get("index")?.as_u64());
    let indexes: BTreeSet<_> = indexes.filter(|index| *index < ids as u64).collect();
    let is_complete = accepted + rejected == ids && indexes.len() == rejected;
    let is_as_requested = if permissive { is_complete } else { accepted == ids };
    if is_as_requested {
        return Ok(response);
    }
    let (path, text) = if is_complete {
        let text = "the first request with this idempotency key was permissive";
        ("errors", format!("{accepted} of {ids} emails were accepted and {rejected} rejected: {text}"))
    } else if permissive {
        (
            "",
            format!("{ids} emails were sent, but the response contains {accepted} IDs and {rejected} errors"),
        )
    } else {
        ("", format!("{ids} emails were sent, but the response contains {accepted} IDs"))
    };
    let error = <serde_json::Error as serde::de::Error>::custom(text);
    Err(decode_error(response, path, error))
}

/// A value together with the response from which it was decoded.
#[derive(Clone)]
#[non_exhaustive]
pub struct WithResponse<T> {
    /// The value.
    pub value: T,
    /// The status, always 2xx.
    pub status: StatusCode,
    /// All response headers.
    pub headers: HeaderMap,
    /// The body as received, after decompression.
    pub body: Bytes,
}

/// The usage of the sending quotas, from the response to a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaUsed {
    /// The usage in the current day (UTC); `None` if the account has no daily quota.
    pub daily: Option<u64>,
    /// The usage in the current month.
    pub monthly: Option<u64>,
}

impl<T> WithResponse<T> {
    /// Returns the usage of the sending quotas, including this request. Only responses to sends contain it, in the headers `x-resend-daily-quota` and
    /// `x-resend-monthly-quota`; [`Client::usage`](crate::Client::usage) also returns the limits.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, email: &idempost::Email) -> idempost::Result<()> {
    /// let sent = client.emails().send(email).with_response().await?;
    /// println!("{}: {:?} recipients this month", sent.value.id, sent.quota_used().monthly);
    /// # Ok(())
    /// # }
    /// ```
    pub fn quota_used(&self) -> QuotaUsed {
        let number = |name| self.headers.get(name)?.to_str().ok()?.trim().parse().ok();
        QuotaUsed { daily: number("x-resend-daily-quota"), monthly: number("x-resend-monthly-quota") }
    }

    /// Returns whether the service had already handled a request with the same idempotency key and repeated its response, so that nothing was sent
    /// again. The service reports this in the header `idempotent-replayed`, which the specification doesn't mention.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, email: &idempost::Email) -> idempost::Result<()> {
    /// let sent = client.emails().send(email).idempotency_key("order-17-receipt").with_response().await?;
    /// println!("{} {}", sent.value.id, if sent.is_replayed() { "was sent before" } else { "is sent" });
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_replayed(&self) -> bool {
        self.headers
            .get("idempotent-replayed")
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
    }
}

/// `Debug` leaves out the body: it can hold private text.
impl<T: fmt::Debug> fmt::Debug for WithResponse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithResponse")
            .field("value", &self.value)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

pub(super) fn decode_with_response<T: DeserializeOwned>(
    response: http::Response<Bytes>,
) -> Result<WithResponse<T>, Box<DecodeError>> {
    let (status, headers, body) = (response.status(), response.headers().clone(), response.body().clone());
    Ok(WithResponse { value: decode(response)?, status, headers, body })
}

pub(super) fn decode_response<T: DeserializeOwned>(
    response: http::Response<Bytes>,
) -> Result<WithResponse<()>, Box<DecodeError>> {
    let WithResponse { status, headers, body, .. } = decode_with_response::<T>(response)?;
    Ok(WithResponse { value: (), status, headers, body })
}
