//! The description of one operation, as created by the resources.

use std::{borrow::Cow, fmt, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::Serialize;
use url::Url;

use super::{
    retry::{RetryListener, RetryPolicy},
    state::Idempotency,
    state::OutcomeListener,
};
use crate::{
    body::Body,
    error::Result,
    problem::{self, Problem, Problems, Validate},
    transport::UploadListener,
    types::IdempotencyKey,
};

/// The header that makes a send safe to retry (`docs/specification.md`, POST /emails).
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that makes a batch permissive.
pub(super) const BATCH_VALIDATION: HeaderName = HeaderName::from_static("x-batch-validation");

/// Headers that belong to the credential, the connection or the message framing (RFC 9110, 7.6.1; RFC 9112, 6).
pub(crate) const RESERVED_HEADERS: [HeaderName; 8] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The name of an operation given by method and path.
const RAW: &str = "request";

/// The routes on which the service honors the key, for requests by method and path.
const KEYED_ROUTES: [&str; 2] = ["/emails", "/emails/batch"];

/// A path without its IDs, which can be email addresses: `/emails/{id}`.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    parts: [&'static str; 4],
    ids: usize,
}

impl Route {
    /// Returns the route, unless the caller chose the path, which may contain IDs.
    pub(crate) fn known_route(self) -> Option<Self> {
        (!self.parts[0].is_empty()).then_some(self)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.parts[0])?;
        self.parts[1..].iter().take(self.ids).try_for_each(|part| write!(f, "{{id}}{part}"))
    }
}

/// One operation: the request to make.
#[derive(Clone)]
pub(crate) struct Operation {
    /// The name in logs and errors, such as `emails.send`.
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    pub(crate) path: Cow<'static, str>,
    pub(crate) route: Route,
    /// A URL outside the service's base URL. The client sends it neither credentials nor default headers.
    pub(crate) external_url: Option<Url>,
    /// The query of a path written by the caller, unchanged.
    raw_query: Option<String>,
    pub(crate) query: Vec<(Cow<'static, str>, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) idempotency: Idempotency,
    pub(crate) key: Option<IdempotencyKey>,
    /// Input problems, which prevent the call from being sent.
    pub(crate) problems: Option<Problems>,
    /// Problems of the call itself, which [`Call::skip_validation`](super::Call::skip_validation) can't skip.
    pub(crate) faults: Vec<Problem>,
    /// The number of IDs that the response must contain.
    pub(crate) ids: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) on_upload: Option<UploadListener>,
    pub(crate) on_retry: Option<RetryListener>,
    pub(crate) on_outcome: Option<OutcomeListener>,
}

impl Operation {
    pub(crate) fn new(name: &'static str, method: Method, path: impl Into<Cow<'static, str>>) -> Self {
        let path = path.into();
        let known = if let Cow::Borrowed(path) = path { path } else { "" };
        // PATCH requests of the API set values.
        let idempotent = method.is_idempotent() || method == Method::PATCH;
        let idempotency = if idempotent { Idempotency::Idempotent } else { Idempotency::NotIdempotent };
        Self {
            name,
            method,
            path,
            route: Route { parts: [known, "", "", ""], ids: 0 },
            external_url: None,
            raw_query: None,
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Body::default(),
            idempotency,
            key: None,
            problems: None,
            faults: Vec::new(),
            ids: None,
            timeout: None,
            retry: None,
            on_upload: None,
            on_retry: None,
            on_outcome: None,
        }
    }

    /// Appends an ID to the path, as one encoded segment, and the part of the path after it. A path has up to three IDs.
    pub(crate) fn with_id(mut self, id: &str, after: &'static str) -> Self {
        let path = self.path.to_mut();
        match problem::path_segment(id) {
            Ok(segment) => path.push_str(&segment),
            Err(problem) => self.faults.push(problem),
        }
        path.push_str(after);
        self.route.ids += 1;
        self.route.parts[self.route.ids] = after;
        self
    }

    /// Creates an operation at a URL issued by the service. It must use https if the client's base URL does.
    pub(crate) fn external(name: &'static str, url: &str, base: &Url) -> Self {
        let mut operation = Self::new(name, Method::GET, "/");
        let fits = |url: &Url| match url.scheme() {
            "https" => url.has_host(),
            "http" => url.has_host() && base.scheme() == "http",
            _ => false,
        };
        match Url::parse(url).ok().filter(fits) {
            Some(url) => operation.external_url = Some(url),
            // The URL itself grants access, so the problem doesn't quote it.
            None => {
                operation.faults.push(Problem::new(
                    "",
                    "url",
                    "a download URL must be an absolute https URL",
                ));
            }
        }
        operation
    }

    /// Creates an operation by method and path.
    pub(crate) fn raw(method: Method, path: String) -> Self {
        let fault = problem::path_fault(&path);
        let mut operation = match path.split_once('?') {
            Some((path, query)) => {
                Self { raw_query: Some(query.to_owned()), ..Self::new(RAW, method, path.to_owned()) }
            }
            None => Self::new(RAW, method, path),
        };
        operation.faults.extend(fault);
        let keyed = operation.method == Method::POST && KEYED_ROUTES.contains(&operation.path.as_ref());
        if keyed { operation.keyed() } else { operation }
    }

    /// Returns whether the caller wrote method and path, so that the response format isn't known.
    pub(crate) fn is_raw(&self) -> bool {
        self.name == RAW
    }

    pub(crate) fn with_body(mut self, body: Body) -> Self {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.body = body;
        self
    }

    /// Sets a JSON body.
    pub(crate) fn with_json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(text) => self.with_body(Body::from(text)),
            Err(error) => {
                let problem = Problem::new("", "type", "the body can't be serialized as JSON");
                self.faults.push(problem.with_value(error));
                self
            }
        }
    }

    /// Sets a `multipart/form-data` body.
    pub(crate) fn with_form(mut self, boundary: &str, body: Body) -> Self {
        self.body = body;
        if let Ok(kind) = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}")) {
            self.headers.insert(header::CONTENT_TYPE, kind);
        }
        self
    }

    /// Adds a query parameter.
    pub(crate) fn with_query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((Cow::Borrowed(name), value.into()));
        self
    }

    pub(crate) fn with_queries(self, parameters: Vec<(&'static str, String)>) -> Self {
        parameters.into_iter().fold(self, |operation, (name, value)| operation.with_query(name, value))
    }

    /// Marks a `POST` as idempotent: a second request has the same effect as the first.
    pub(crate) fn idempotent(mut self) -> Self {
        self.idempotency = Idempotency::Idempotent;
        self
    }

    /// Marks a `POST` on which the service honors an idempotency key: a random one, unless the caller sets another.
    pub(crate) fn keyed(self) -> Self {
        Self { idempotency: Idempotency::Keyed, key: Some(IdempotencyKey::random()), ..self }
    }

    /// Returns whether the service honors an idempotency key here.
    pub(crate) fn is_keyed(&self) -> bool {
        self.idempotency == Idempotency::Keyed
    }

    /// Sets the number of IDs that the response must contain; that of a permissive batch, IDs and errors together.
    pub(crate) fn with_ids(mut self, ids: usize) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Validates the input; problems prevent the call from being sent.
    pub(crate) fn validate(mut self, input: &(impl Validate + ?Sized)) -> Self {
        self.problems = input.check().err();
        self
    }

    pub(crate) fn path_and_query(&self) -> String {
        match self.encoded_query() {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone().into_owned(),
        }
    }

    pub(crate) fn encoded_query(&self) -> Option<String> {
        let raw = self.raw_query.clone();
        if self.query.is_empty() {
            return raw;
        }
        let query = url::form_urlencoded::Serializer::new(raw.unwrap_or_default());
        Some({ query }.extend_pairs(&self.query).finish())
    }
}

impl Operation {
    /// Fails if problems prevent the operation from being sent.
    pub(crate) fn ensure_valid(&mut self) -> Result<()> {
        let faults = std::mem::take(&mut self.faults);
        match self.problems.take() {
            Some(problems) => Err(problems.prepend(faults).into()),
            None => Problems::check(faults).map_err(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_without_a_key_and_unknown_methods_are_not_idempotent() {
        let idempotency = |method, path: &str| Operation::raw(method, path.to_owned()).idempotency;
        assert_eq!(idempotency(Method::POST, "/emails"), Idempotency::Keyed);
        assert_eq!(idempotency(Method::POST, "/emails/batch"), Idempotency::Keyed);
        assert_eq!(idempotency(Method::POST, "/email"), Idempotency::NotIdempotent);
        assert_eq!(idempotency(Method::POST, "/broadcasts"), Idempotency::NotIdempotent);
        for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(idempotency(method, "/x"), Idempotency::Idempotent);
        }
        // Methods are case-sensitive, but a service may ignore case.
        for method in ["post", "SEND"] {
            assert_eq!(idempotency(method.parse().unwrap(), "/emails"), Idempotency::NotIdempotent);
        }
    }

    #[test]
    fn a_route_shows_no_id() {
        let route = |operation: Operation| operation.route.to_string();
        let start = |path| Operation::new("x", Method::GET, path);
        assert_eq!(route(start("/emails")), "/emails");
        assert_eq!(route(start("/emails/").with_id("a@b", "/cancel")), "/emails/{id}/cancel");
        let inner = start("/contacts/").with_id("a@b", "/segments/").with_id("s", "");
        assert_eq!(
            (inner.path.as_ref(), route(inner.clone()).as_str()),
            ("/contacts/a%40b/segments/s", "/contacts/{id}/segments/{id}")
        );
        assert_eq!(route(Operation::raw(Method::GET, "/contacts/a@b".to_owned())), "");
        let wrong = start("/contacts/").with_id("", "/segments/").with_id("..", "");
        assert_eq!(wrong.faults.len(), 2);
    }

    #[test]
    fn a_query_is_encoded_and_one_in_the_path_is_kept() {
        let mut operation = Operation::raw(Method::GET, "/emails?limit=5".to_owned());
        operation.query.push(("after".into(), "a&b=c d".into()));
        assert_eq!(operation.path_and_query(), "/emails?limit=5&after=a%26b%3Dc+d");
        assert_eq!(Operation::raw(Method::GET, "/emails".to_owned()).path_and_query(), "/emails");
    }
}
