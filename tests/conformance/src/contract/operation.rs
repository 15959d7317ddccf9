//! One operation: the requests that belong to it, their parts, and their responses.

use std::collections::{BTreeMap, HashSet};

use http::{HeaderMap, Method, header};
use serde_json::Value;

use super::{
    Answer, Request,
    document::{Document, Node},
    message::{Body, Text, sample},
};

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

// Headers of HTTP itself, which the contract doesn't list.
const PLAIN_HEADERS: [header::HeaderName; 9] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TRANSFER_ENCODING,
    header::USER_AGENT,
];

// Headers of responses that are HTTP's or OAuth's own, which the contract doesn't list.
const PLAIN_RESPONSE_HEADERS: [header::HeaderName; 8] = [
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::DATE,
    header::PRAGMA,
    header::REFERRER_POLICY,
    header::TRANSFER_ENCODING,
];

pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: Method,
    path: Vec<Segment>,
    query: Vec<Text>,
    headers: Vec<Text>,
    body: Option<Body>,
    /// Whether the body is optional.
    bodyless: bool,
    /// Whether it needs no credential.
    open: bool,
    pub(super) answers: Answers,
}

enum Segment {
    Fixed(String),
    Parameter(Text),
}

impl Operation {
    pub(super) fn all(document: &Document) -> Vec<Self> {
        let paths = document.node("/paths").expect("openapi.yaml has paths");
        let mut operations = Vec::new();
        for (path, item) in paths.entries() {
            for method in METHODS {
                if let Some(node) = item.get(&method.as_str().to_lowercase()) {
                    operations.push(Self::read(path, method, &node));
                }
            }
        }
        operations
    }

    fn read(path: &str, method: Method, node: &Node<'_>) -> Self {
        let (mut query, mut headers, mut in_path) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in node.get("parameters").map(|node| node.items()).unwrap_or_default() {
            let text = Text::read(parameter.text("name").expect("a parameter has a name"), &parameter);
            match parameter.text("in") {
                Some("query") => query.push(text),
                Some("header") => headers.push(text),
                Some("path") => in_path.push(text),
                other => panic!("openapi.yaml: a parameter of {path} is in {other:?}"),
            }
        }
        let segments = path.trim_start_matches('/').split('/').map(|segment| {
            let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
                return Segment::Fixed(segment.to_owned());
            };
            let at = in_path.iter().position(|text| text.name == name).expect("a path parameter is declared");
            Segment::Parameter(in_path.swap_remove(at))
        });
        let body = node.get("requestBody");
        Self {
            id: node.text("operationId").expect("an operation has an operationId").to_owned(),
            method,
            path: segments.collect(),
            query,
            headers,
            open: node.get("security").is_some_and(|security| security.items().is_empty()),
            bodyless: body.as_ref().is_none_or(|body| !body.flag("required")),
            body: body.and_then(|body| Body::read(&body)),
            answers: Answers::read(&node.get("responses").expect("an operation has responses")),
        }
    }

    pub(super) fn takes(&self, path: &[&str]) -> bool {
        let mut pairs = self.path.iter().zip(path);
        self.path.len() == path.len()
            && pairs.all(|(segment, text)| match segment {
                Segment::Fixed(name) => name == text,
                Segment::Parameter(_) => !text.is_empty(),
            })
    }

    pub(super) fn parameters_in_path(&self) -> usize {
        self.path.iter().filter(|segment| matches!(segment, Segment::Parameter(_))).count()
    }

    pub(super) fn breaches_of_request(&self, request: &Request) -> Vec<String> {
        let mut breaches = self.breaches_of_path(&request.path);
        breaches.extend(self.breaches_of_query(&request.query));
        breaches.extend(self.breaches_of_headers(&request.headers));
        match &self.body {
            _ if self.bodyless && request.body.is_empty() => {}
            Some(body) => breaches.extend(body.breaches(&request.headers, &request.body)),
            None => breaches.push(format!("body: {} has none: {}", self.id, sample(&request.body))),
        }
        breaches
    }

    fn breaches_of_path(&self, path: &str) -> Vec<String> {
        let given = path.trim_start_matches('/').split('/');
        let pairs = self.path.iter().zip(given);
        pairs
            .flat_map(|(segment, text)| match segment {
                Segment::Parameter(rule) => rule.breaches("path parameter", text),
                Segment::Fixed(_) => Vec::new(),
            })
            .collect()
    }

    fn breaches_of_query(&self, query: &str) -> Vec<String> {
        let mut breaches = Vec::new();
        let mut seen = HashSet::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match self.query.iter().find(|rule| rule.name == name) {
                Some(rule) => breaches.extend(rule.breaches("query parameter", &value)),
                None => breaches.push(format!("query parameter {name}: {} has none of that name", self.id)),
            }
            if !seen.insert(name.clone()) {
                breaches.push(format!("query parameter {name}: comes more than once"));
            }
        }
        breaches
    }

    fn breaches_of_headers(&self, headers: &HeaderMap) -> Vec<String> {
        let mut breaches = Vec::new();
        let credential = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = credential.and_then(|text| text.strip_prefix("Bearer "));
        if !self.open && token.is_none_or(str::is_empty) {
            breaches.push("header authorization: is no `Bearer <credential>`".to_owned());
        }
        for name in headers.keys() {
            let listed = self.headers.iter().any(|rule| rule.name.eq_ignore_ascii_case(name.as_str()));
            if !listed && !PLAIN_HEADERS.contains(name) {
                breaches.push(format!("header {name}: {} has none of that name", self.id));
            }
        }
        breaches.extend(self.headers.iter().flat_map(|rule| rule.breaches_among(headers)));
        breaches
    }
}

/// The responses, by status.
pub(super) struct Answers(BTreeMap<u16, AnswerRule>);

struct AnswerRule {
    /// The location of its definition, which operations may share.
    definition: String,
    headers: Vec<Text>,
    body: Option<Body>,
    media_types: Vec<String>,
    /// The error names, each with the location of the schema that lists it.
    names: BTreeMap<String, String>,
}

/// A response that the contract declares for an operation.
#[derive(Clone, Debug)]
pub struct Declared<'a> {
    /// The operation's `operationId`.
    pub operation: &'a str,
    /// The status.
    pub status: u16,
    /// The location of the response's definition, which operations may share.
    pub definition: &'a str,
    /// The error names, each with the location of the schema that lists it; empty for a response that isn't an error.
    pub names: &'a BTreeMap<String, String>,
    /// The names of the headers.
    pub headers: Vec<&'a str>,
}

impl Answers {
    pub(super) fn read(responses: &Node<'_>) -> Self {
        Self(
            responses
                .entries()
                .iter()
                .filter(|(status, _)| *status != "4XX")
                .map(|(status, node)| (code(status), AnswerRule::read(node)))
                .collect(),
        )
    }

    pub(super) fn breaches(&self, answer: &Answer) -> Vec<String> {
        let Some(rule) = self.0.get(&answer.status.as_u16()) else {
            return vec![format!(
                "status {} is not in the contract: {}",
                answer.status,
                sample(&answer.body)
            )];
        };
        let mut breaches: Vec<_> =
            rule.headers.iter().flat_map(|header| header.breaches_among(&answer.headers)).collect();
        for name in answer.headers.keys().filter(|name| !PLAIN_RESPONSE_HEADERS.contains(name)) {
            if !rule.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name.as_str())) {
                breaches.push(format!("header {name}: status {} has none of that name", answer.status));
            }
        }
        if let Some(name) = answer.error_name().filter(|name| !rule.names.contains_key(name)) {
            breaches.push(format!("status {} has no error name {name}", answer.status));
        }
        if let Some(body) = &rule.body {
            breaches.extend(body.breaches(&answer.headers, &answer.body));
        }
        breaches
    }

    pub(super) fn breaches_of_success(&self, answer: &Answer) -> Vec<String> {
        let status = answer.status;
        let Some(rule) = self.0.get(&status.as_u16()) else { return vec![format!("status {status}")] };
        let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next());
        let declared = |declared: &String| declared == "*/*" || Some(declared.as_str()) == kind;
        if !answer.body.is_empty() && !rule.media_types.iter().any(declared) {
            return vec![format!("media type {kind:?}, not one of {:?}", rule.media_types)];
        }
        let body = rule.body.as_ref().filter(|_| kind == Some("application/json"));
        body.map(|body| body.breaches(&answer.headers, &answer.body)).unwrap_or_default()
    }

    pub(super) fn declared<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = Declared<'a>> {
        self.0.iter().map(move |(status, rule)| Declared {
            operation,
            status: *status,
            definition: &rule.definition,
            names: &rule.names,
            headers: rule.headers.iter().map(|header| header.name.as_str()).collect(),
        })
    }
}

impl Answer {
    /// The name of the error, if the response is one: `name`, or `error` of OAuth.
    pub fn error_name(&self) -> Option<String> {
        if !self.status.is_client_error() && !self.status.is_server_error() {
            return None;
        }
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        ERROR_NAMES.iter().find_map(|key| body.get(key)?.as_str()).map(str::to_owned)
    }
}

/// The properties that contain an error's name.
const ERROR_NAMES: [&str; 2] = ["name", "error"];

impl AnswerRule {
    fn read(node: &Node<'_>) -> Self {
        let headers = node.get("headers").map(|headers| headers.entries()).unwrap_or_default();
        let content = node.get("content").map(|content| content.entries()).unwrap_or_default();
        let schema = node.get("content").and_then(|content| content.get("application/json")?.get("schema"));
        Self {
            definition: node.pointer.clone(),
            headers: headers.iter().map(|(name, node)| Text::read(name, node)).collect(),
            body: Body::read(node),
            media_types: content.into_iter().map(|(name, _)| name.to_owned()).collect(),
            names: schema.map(|schema| error_names(&schema)).unwrap_or_default(),
        }
    }
}

/// The parts of a schema that combines several.
fn parts<'a>(schema: &Node<'a>) -> Vec<Node<'a>> {
    ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(key))
        .flat_map(|parts| parts.items())
        .collect()
}

/// The error names that the schema of a body lists, in any of its parts.
fn error_names(schema: &Node<'_>) -> BTreeMap<String, String> {
    let own = schema.get("properties").map(|properties| ERROR_NAMES.map(|key| properties.get(key)));
    let own = own.into_iter().flatten().flatten().flat_map(|property| words(&property));
    own.chain(parts(schema).iter().flat_map(error_names)).collect()
}

/// The values that a schema lists, each with the location of the list.
fn words(schema: &Node<'_>) -> BTreeMap<String, String> {
    schema
        .words()
        .into_iter()
        .map(|word| (word, schema.pointer.clone()))
        .chain(parts(schema).iter().flat_map(words))
        .collect()
}

fn code(status: &str) -> u16 {
    status.parse().expect("statuses are written as numbers")
}
