//! Validation of requests and responses against `openapi.yaml`.
//!
//! It depends on neither the client nor the server: it reads the document and the bytes. A violation is a sentence with
//! the location, the rule and the value found.

mod delivery;
mod document;
mod message;
mod operation;

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

use delivery::Deliveries;
use document::Document;
pub use operation::Declared;
use operation::{Answers, Operation};

/// The text of the contract.
pub const OPENAPI: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml"));

/// Returns the contract as JSON, parsed once.
///
/// # Panics
///
/// If `openapi.yaml` can't be represented as JSON.
pub fn openapi() -> &'static Value {
    static JSON: OnceLock<Value> = OnceLock::new();
    JSON.get_or_init(|| yaml_serde::from_str(OPENAPI).expect("openapi.yaml is representable as JSON"))
}

/// A request as received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path below the base URL, percent-encoded.
    pub path: String,
    /// The query without its question mark; empty if there is none.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A response as sent.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// A JSON response with the headers that the contract requires of every response.
    ///
    /// # Panics
    ///
    /// If the status is invalid.
    pub fn json(status: u16, body: &str) -> Self {
        let headers = [
            ("content-type", "application/json; charset=utf-8"),
            ("ratelimit-limit", "10"),
            ("ratelimit-remaining", "9"),
            ("ratelimit-reset", "1"),
            ("ratelimit-policy", "10;w=1"),
            ("x-request-id", "0bf6a8c6-29c2-4a6a-a9b9-3a1d6b8d7f0e"),
        ];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let status = StatusCode::from_u16(status).expect("a status");
        Self { status, headers: headers.into_iter().collect(), body: Bytes::copy_from_slice(body.as_bytes()) }
    }
}

/// The contract with its compiled schemas.
pub struct Contract {
    operations: Vec<Operation>,
    no_such_route: Answers,
    deliveries: Deliveries,
}

impl Contract {
    /// The contract of this project, compiled once.
    ///
    /// # Panics
    ///
    /// If `openapi.yaml` uses features that this validator doesn't support.
    pub fn get() -> &'static Self {
        static CONTRACT: OnceLock<Contract> = OnceLock::new();
        CONTRACT.get_or_init(|| Self::compile(openapi().clone()))
    }

    /// Compiles a document.
    ///
    /// # Panics
    ///
    /// If the document uses features that this validator doesn't support.
    pub fn compile(openapi: Value) -> Self {
        let document = Document::new(openapi);
        Self {
            operations: Operation::all(&document),
            deliveries: Deliveries::read(&document),
            no_such_route: Answers::read(
                &document.node("/x-other-requests").expect("openapi.yaml has x-other-requests"),
            ),
        }
    }

    /// Returns the violations of a request. A key, a parameter or a header that the contract doesn't list is a violation too.
    pub fn breaches_of_request(&self, request: &Request) -> Vec<String> {
        match self.operation(&request.method, &request.path) {
            Some(operation) => operation.breaches_of_request(request),
            None => vec![format!("{} {} isn't an operation of the contract", request.method, request.path)],
        }
    }

    /// Returns the violations of the response to such a request. Additional fields are allowed.
    pub fn breaches_of_answer(&self, method: &Method, path: &str, answer: &Answer) -> Vec<String> {
        match self.operation(method, path) {
            Some(operation) => operation.answers.breaches(answer),
            None => self.no_such_route.breaches(answer),
        }
    }

    /// Returns the violations of a webhook delivery: its headers, and its body by the event type in it.
    pub fn breaches_of_delivery(&self, headers: &HeaderMap, body: &Bytes) -> Vec<String> {
        self.deliveries.breaches(headers, body)
    }

    /// Returns the webhook event types.
    pub fn event_types(&self) -> impl Iterator<Item = &str> {
        self.deliveries.types()
    }

    /// Returns every response of every operation.
    pub fn responses(&self) -> impl Iterator<Item = Declared<'_>> {
        self.operations.iter().flat_map(|operation| operation.answers.declared(&operation.id))
    }

    /// Returns the operation of a request.
    pub fn operation_id(&self, method: &Method, path: &str) -> Option<&str> {
        self.operation(method, path).map(|operation| operation.id.as_str())
    }

    fn operation(&self, method: &Method, path: &str) -> Option<&Operation> {
        find(&self.operations, method, path)
    }
}

// A literal path takes precedence over a parameter, regardless of the methods: `GET /emails/batch` gets no email.
fn find<'a>(operations: &'a [Operation], method: &Method, path: &str) -> Option<&'a Operation> {
    let path: Vec<_> = path.trim_start_matches('/').split('/').collect();
    let fitting: Vec<_> = operations.iter().filter(|operation| operation.takes(&path)).collect();
    let fewest = fitting.iter().map(|operation| operation.parameters_in_path()).min()?;
    fitting
        .into_iter()
        .find(|operation| operation.parameters_in_path() == fewest && operation.method == *method)
}

/// The successful responses of the sandbox's own routes.
pub struct Successes(Vec<Operation>);

impl Successes {
    /// Compiles the document that the sandbox serves. Unlike a client, the result rejects fields that a response doesn't declare.
    ///
    /// # Panics
    ///
    /// If the document uses features that this validator doesn't support.
    pub fn compile(mut document: Value) -> Self {
        let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
        let operations = paths.filter_map(Value::as_object_mut).flat_map(|methods| methods.values_mut());
        let responses = operations.filter_map(|operation| operation["responses"].as_object_mut());
        for response in responses.flat_map(|responses| responses.values_mut()) {
            for place in ["/schema", "/schema/properties/data/items"] {
                let schema = response.pointer_mut(&format!("/content/application~1json{place}"));
                if let Some(Value::Object(schema)) = schema
                    && ["$ref", "anyOf", "properties"].iter().any(|key| schema.contains_key(*key))
                {
                    schema.insert("unevaluatedProperties".to_owned(), false.into());
                }
            }
        }
        Self(Operation::all(&Document::new(document)))
    }

    /// Returns the violations of a successful response: its status, its media type, and its JSON.
    pub fn breaches(&self, method: &Method, path: &str, answer: &Answer) -> Vec<String> {
        find(&self.0, method, path).map(|route| route.answers.breaches_of_success(answer)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
