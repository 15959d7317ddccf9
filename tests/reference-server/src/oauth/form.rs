//! The parameters of a request to an OAuth endpoint: from a form or a JSON object, each at most once.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use http::{Request, header};
use percent_encoding::percent_decode;
use serde_json::Value;

use crate::wire::OAuthRejection;

/// The maximum size of a body in bytes, and number of parameters. These requests need no credential, and no real client comes near the
/// limits.
pub(super) const MAX_BODY: usize = 64 << 10;

const MAX_PARAMETERS: usize = 64;

/// The parameters that any endpoint or the consent form reads. Others are ignored, whatever their value (RFC 6749, 3.1 and 3.2); a request may
/// contain several of `resource` (RFC 8707).
const NAMES: [&str; 16] = [
    "account",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "decision",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "response_type",
    "scope",
    "state",
    "token",
    "token_type_hint",
];

/// Rejects a body that is too large.
pub(super) fn check_size(body: &[u8]) -> Result<(), OAuthRejection> {
    if body.len() > MAX_BODY {
        return Err(OAuthRejection::invalid_request(format!(
            "The body must have at most {MAX_BODY} bytes; found {}.",
            body.len()
        )));
    }
    Ok(())
}

/// Parameters by name. A parameter without a value counts as absent (RFC 6749, 3.2), except `scope` of an authorization: empty, it requests no scopes.
#[derive(Debug, Default)]
pub struct Parameters {
    found: HashMap<String, String>,
    /// Ambiguous or malformed parameters, with the reason.
    unclear: BTreeMap<String, &'static str>,
    /// The number of all parameters, including those without a value.
    count: usize,
}

impl Parameters {
    /// Parses the body: JSON if its content type says so, else a form. Every parameter must be valid.
    pub fn from_body(request: &Request<Bytes>) -> Result<Self, OAuthRejection> {
        check_size(request.body())?;
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json")) {
            return Self::from_json(request.body());
        }
        let parameters = Self::from_form(request.body());
        parameters.validate()?;
        Ok(parameters)
    }

    /// Parses a query. Some parameters may be invalid, as long as the client and redirect URI are valid.
    pub fn from_query(request: &Request<Bytes>) -> Self {
        Self::from_form(request.uri().query().unwrap_or_default().as_bytes())
    }

    fn from_form(bytes: &[u8]) -> Self {
        let mut read = Self::default();
        for pair in bytes.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            read.count += 1;
            if read.count > MAX_PARAMETERS {
                continue;
            }
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            let Some(name) = decode_form(&pair[..at]).filter(|name| is_known(name)) else { continue };
            let value = decode_form(pair.get(at + 1..).unwrap_or_default());
            if read.found.contains_key(&name) || read.unclear.contains_key(&name) {
                read.found.remove(&name);
                read.unclear.insert(name, "occurs twice in the request");
            } else if let Some(value) = value {
                read.found.insert(name, value);
            } else {
                // It could not be returned unchanged.
                read.unclear.insert(name, "is not UTF-8");
            }
        }
        read
    }

    /// Rejects invalid parameters.
    pub fn validate(&self) -> Result<(), OAuthRejection> {
        if self.count > MAX_PARAMETERS {
            return Err(OAuthRejection::invalid_request(format!(
                "The request must have at most {MAX_PARAMETERS} parameters; found {}.",
                self.count
            )));
        }
        self.unclear.iter().next().map_or(Ok(()), |(name, why)| Err(invalid_parameter(name, why)))
    }

    fn from_json(bytes: &[u8]) -> Result<Self, OAuthRejection> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| OAuthRejection::invalid_request(format!("The body is not JSON: {error}.")))?;
        let Value::Object(fields) = value else {
            return Err(OAuthRejection::invalid_request("The body must be a JSON object."));
        };
        let (mut found, count) = (HashMap::new(), fields.len());
        for (name, value) in fields {
            match value {
                Value::String(text) => drop(found.insert(name, text)),
                Value::Null => {}
                _ if !is_known(&name) => {}
                _ => return Err(OAuthRejection::invalid_request(format!("`{name}` must be a string."))),
            }
        }
        let parameters = Self { found, unclear: BTreeMap::new(), count };
        parameters.validate()?;
        Ok(parameters)
    }

    /// A parameter, if it has a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_raw(name).filter(|value| !value.is_empty())
    }

    /// A parameter as given, possibly empty.
    pub fn get_raw(&self, name: &str) -> Option<&str> {
        debug_assert!(is_known(name), "{name}");
        self.found.get(name).map(String::as_str)
    }

    /// A required parameter.
    pub fn require(&self, name: &str) -> Result<&str, OAuthRejection> {
        if let Some(why) = self.unclear.get(name) {
            return Err(invalid_parameter(name, why));
        }
        self.get(name).ok_or_else(|| OAuthRejection::invalid_request(format!("`{name}` is missing.")))
    }
}

fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

fn invalid_parameter(name: &str, why: &str) -> OAuthRejection {
    OAuthRejection::invalid_request(format!("`{name}` {why}."))
}

/// Decodes a form-encoded name or value; `None` if it isn't UTF-8.
pub(super) fn decode_form(text: &[u8]) -> Option<String> {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
