//! The parameters of a request to an OAuth endpoint: of a form or of a JSON object, each at most once.

use std::collections::HashMap;

use bytes::Bytes;
use http::{Request, header};
use serde_json::Value;
use url::form_urlencoded;

use super::refusal::Refusal;

/// Parameters by name. A parameter that was sent without a value counts as not sent (RFC 6749, 3.2), but for `scope`, which says with nothing
/// that nothing is asked for.
#[derive(Debug, Default)]
pub(crate) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// Reads the body: a JSON object if it is called one, else a form.
    pub(crate) fn of_body(request: &Request<Bytes>) -> Result<Self, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
            return Self::of_json(request.body());
        }
        Self::of_pairs(request.body())
    }

    /// Reads a query.
    pub(crate) fn of_query(request: &Request<Bytes>) -> Result<Self, Refusal> {
        Self::of_pairs(request.uri().query().unwrap_or_default().as_bytes())
    }

    fn of_pairs(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut found = HashMap::new();
        for (name, value) in form_urlencoded::parse(bytes) {
            let name = name.into_owned();
            if found.insert(name.clone(), value.into_owned()).is_some() {
                return Err(Refusal::invalid_request(format!("`{name}` is in the request twice.")));
            }
        }
        Ok(Self(found))
    }

    fn of_json(bytes: &[u8]) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| Refusal::invalid_request(format!("The body is not JSON: {error}.")))?;
        let Value::Object(fields) = value else {
            return Err(Refusal::invalid_request("The body must be a JSON object."));
        };
        let mut found = HashMap::new();
        for (name, value) in fields {
            match value {
                Value::String(text) => drop(found.insert(name, text)),
                Value::Null => {}
                _ => return Err(Refusal::invalid_request(format!("`{name}` must be a string."))),
            }
        }
        Ok(Self(found))
    }

    /// A parameter, if it has a value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.is_empty())
    }

    /// A parameter as it was given, also as nothing.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter that there must be.
    pub(crate) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::invalid_request(format!("`{name}` is missing.")))
    }
}
