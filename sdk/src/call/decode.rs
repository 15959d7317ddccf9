//! Answers into values.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::error::Result;

/// Reads an answer; on failure gives the answer back with what is wrong with it.
pub(crate) type Decode<T> = fn(http::Response<Bytes>) -> Result<T, Box<Undecoded>>;

pub(crate) struct Undecoded {
    pub(crate) answer: http::Response<Bytes>,
    pub(crate) error: serde_path_to_error::Error<serde_json::Error>,
}

pub(crate) fn decode<T: DeserializeOwned>(answer: http::Response<Bytes>) -> Result<T, Box<Undecoded>> {
    // An answer without a body says nothing, and `null` is how JSON says so.
    let body: &[u8] = if answer.body().is_empty() { b"null" } else { answer.body() };
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    // Only now is it worth keeping track of where in the body the decoder is.
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let again = serde_path_to_error::deserialize(&mut deserializer);
    let again = again.and_then(|value: T| match deserializer.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(serde_path_to_error::Error::new(serde_path_to_error::Track::new().path(), error)),
    });
    again.map_err(|error| Box::new(Undecoded { answer, error }))
}

/// Whether the answer names as many things as were sent; else nobody could say which is which.
pub(crate) fn count_ids(
    answer: http::Response<Bytes>,
    ids: usize,
) -> Result<http::Response<Bytes>, Box<Undecoded>> {
    #[derive(serde::Deserialize)]
    struct Named {
        data: Vec<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice::<Named>(answer.body()) {
        Ok(named) if named.data.len() != ids => {
            let text = format!("{ids} emails were sent and {} ids came back", named.data.len());
            let error = <serde_json::Error as serde::de::Error>::custom(text);
            let error = serde_path_to_error::Error::new(serde_path_to_error::Track::new().path(), error);
            Err(Box::new(Undecoded { answer, error }))
        }
        _ => Ok(answer),
    }
}

/// A value together with the answer that it was read from.
#[derive(Clone)]
#[non_exhaustive]
pub struct WithResponse<T> {
    /// The value.
    pub value: T,
    /// The status: any of 2xx.
    pub status: StatusCode,
    /// All headers of the answer.
    pub headers: HeaderMap,
    /// The body as it arrived, after decompression.
    pub body: Bytes,
}

/// `Debug` leaves the body out: it can hold private text.
impl<T: fmt::Debug> fmt::Debug for WithResponse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithResponse")
            .field("value", &self.value)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

pub(super) fn decode_with_response<T: DeserializeOwned>(
    answer: http::Response<Bytes>,
) -> Result<WithResponse<T>, Box<Undecoded>> {
    let (status, headers, body) = (answer.status(), answer.headers().clone(), answer.body().clone());
    Ok(WithResponse { value: decode(answer)?, status, headers, body })
}
