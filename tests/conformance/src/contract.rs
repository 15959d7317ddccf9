//! `openapi.yaml` as a judge: does a request, or an answer, keep the contract?
//!
//! The judge knows nothing of the client or the server; it reads the document and the bytes. A breach is a sentence that
//! says where, which rule, and what was found.

mod delivery;
mod document;
mod message;
mod operation;

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use delivery::Deliveries;
use document::Document;
use operation::{Answers, Operation};

/// The text of the contract.
pub const OPENAPI: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml"));

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path below the base address, still percent-encoded.
    pub path: String,
    /// The query without its question mark; empty when there is none.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// An answer as it left.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// The contract, every schema of it compiled.
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
    /// When `openapi.yaml` can't be read as what this judge understands.
    pub fn get() -> &'static Self {
        static CONTRACT: OnceLock<Contract> = OnceLock::new();
        CONTRACT.get_or_init(|| Self::read(OPENAPI))
    }

    /// Compiles a document.
    ///
    /// # Panics
    ///
    /// When the document isn't what this judge understands.
    pub fn read(yaml: &str) -> Self {
        let document = Document::parse(yaml);
        Self {
            operations: Operation::all(&document),
            deliveries: Deliveries::read(&document),
            no_such_route: Answers::named(&document, &[("404", "NotFound"), ("405", "MethodNotAllowed")]),
        }
    }

    /// What the request breaks. A key, a parameter or a header that the contract doesn't have is a breach too.
    pub fn breaches_of_request(&self, request: &Request) -> Vec<String> {
        match self.operation(&request.method, &request.path) {
            Some(operation) => operation.breaches_of_request(request),
            None => vec![format!("{} {} is no operation of the contract", request.method, request.path)],
        }
    }

    /// What the answer to such a request breaks. What it adds beyond the contract is none.
    pub fn breaches_of_answer(&self, method: &Method, path: &str, answer: &Answer) -> Vec<String> {
        match self.operation(method, path) {
            Some(operation) => operation.answers.breaches(answer),
            None => self.no_such_route.breaches(answer),
        }
    }

    /// What a delivery to a webhook breaks: its headers, and its body by the type that the body names.
    pub fn breaches_of_delivery(&self, headers: &HeaderMap, body: &Bytes) -> Vec<String> {
        self.deliveries.breaches(headers, body)
    }

    /// The types of event that webhooks are told.
    pub fn event_types(&self) -> impl Iterator<Item = &str> {
        self.deliveries.types()
    }

    /// The names of all operations (`operationId`).
    pub fn operation_ids(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().map(|operation| operation.id.as_str())
    }

    /// The name of the operation that such a request asks for.
    pub fn operation_id(&self, method: &Method, path: &str) -> Option<&str> {
        self.operation(method, path).map(|operation| operation.id.as_str())
    }

    // A fixed path goes before one with a parameter, whatever the methods: GET /emails/batch asks for no email.
    fn operation(&self, method: &Method, path: &str) -> Option<&Operation> {
        let fitting = || self.operations.iter().filter(|operation| operation.takes(path));
        let fewest = fitting().map(Operation::parameters_in_path).min()?;
        fitting().find(|operation| operation.parameters_in_path() == fewest && operation.method == *method)
    }
}

#[cfg(test)]
mod tests;
