//! Scripted faults: what a test wants to go wrong, and for which requests.
//!
//! ```
//! use http::Method;
//! use posthaste_reference_server::faults::{Action, Rule};
//! use posthaste_reference_server::{Service, Settings};
//!
//! let service = Service::new(Settings::default());
//! // The next two sends are answered 503, then all is well again.
//! service.faults().add(Rule::new(Action::answer(503, "busy")).on(Method::POST, "/emails").times(2));
//! // Whatever comes next is acted upon, but its answer is lost.
//! service.faults().add(Rule::new(Action::DropAfter));
//! ```

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::lock::lock;
use crate::problem::Problem;
use crate::routes::pattern_matches;

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Action {
    /// The connection is lost before the service has acted. Needs the HTTP mount.
    DropBefore,
    /// The service acts, then the connection is lost before any byte of the answer. Needs the HTTP mount.
    DropAfter,
    /// The service acts; of its answer the headers and so many bytes of the body arrive, then the connection is lost.
    /// Needs the HTTP mount.
    Truncate(usize),
    /// The service acts at once; its answer is held back for so long. Goes together with another fault.
    Delay(Duration),
    /// The service does not act and gives this answer.
    Answer {
        /// The status line's number.
        status: StatusCode,
        /// Headers besides those that every answer carries; they win over those.
        headers: HeaderMap,
        /// The body, sent as it is.
        body: Bytes,
    },
    /// The service does not act and answers 429 `rate_limit_exceeded`, with this `retry-after` or without one.
    TooMany {
        /// The header's value as it is sent, so that it may also be garbage.
        retry_after: Option<String>,
    },
}

impl Action {
    /// An answer of this status with this body and the headers of a JSON answer.
    ///
    /// # Panics
    /// If `status` is not from 100 to 999.
    pub fn answer(status: u16, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).expect("a status from 100 to 999");
        let mut headers = HeaderMap::new();
        headers
            .insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        Self::Answer { status, headers, body: body.into() }
    }

    /// The error body of this status and name, as the service itself would send it.
    ///
    /// # Panics
    /// If `status` is not from 100 to 999.
    pub fn error(status: u16, name: &'static str, message: &str) -> Self {
        let status = StatusCode::from_u16(status).expect("a status from 100 to 999");
        let (parts, body) = Problem::new(status, name, message).into_response().into_parts();
        Self::Answer { status, headers: parts.headers, body }
    }

    /// The same answer with one more header.
    ///
    /// # Panics
    /// If name or value can't be a header, or if this is no [`Answer`](Self::Answer).
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let Self::Answer { headers, .. } = &mut self else { panic!("only an answer has headers") };
        headers.append(
            HeaderName::try_from(name).expect("a header name"),
            HeaderValue::try_from(value).expect("a header value"),
        );
        self
    }
}

/// A fault and the requests that meet it.
#[derive(Clone, Debug)]
pub struct Rule {
    action: Action,
    method: Option<Method>,
    path: Option<String>,
    after: usize,
    times: Option<usize>,
}

impl Rule {
    /// The next request, whatever it is, meets this fault.
    pub fn new(action: Action) -> Self {
        Self { action, method: None, path: None, after: 0, times: Some(1) }
    }

    /// Only requests of this method and path meet it. In the path `{…}` stands for any one segment.
    #[must_use]
    pub fn on(mut self, method: Method, path: impl Into<String>) -> Self {
        self.method = Some(method);
        self.path = Some(path.into());
        self
    }

    /// The first so many matching requests are spared.
    #[must_use]
    pub fn after(mut self, spared: usize) -> Self {
        self.after = spared;
        self
    }

    /// So many matching requests meet it. Without this: one.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Every matching request meets it, until the faults are cleared.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    fn matches(&self, method: &Method, path: &str) -> bool {
        self.method.as_ref().is_none_or(|wanted| wanted == method)
            && self.path.as_ref().is_none_or(|pattern| pattern_matches(pattern, path))
    }
}

/// The script of one service. Rules are tried in the order in which they were added; the first that matches acts.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Rule>>,
}

impl Faults {
    /// Adds a rule to the script.
    pub fn add(&self, rule: Rule) {
        lock(&self.rules).push(rule);
    }

    /// The next request, whatever it is, meets this fault.
    pub fn next(&self, action: Action) {
        self.add(Rule::new(action));
    }

    /// Takes all rules back.
    pub fn clear(&self) {
        lock(&self.rules).clear();
    }

    /// How many rules have not been used up. A test that ends with 0 has met every fault that it scripted.
    pub fn pending(&self) -> usize {
        lock(&self.rules).len()
    }

    /// What this request meets: a fault, and how long its answer is held back.
    pub(crate) fn meet(&self, method: &Method, path: &str) -> (Option<Action>, Duration) {
        let mut rules = lock(&self.rules);
        let mut met = None;
        let mut delay = Duration::ZERO;
        for rule in rules.iter_mut() {
            if !rule.matches(method, path) || (met.is_some() && !matches!(rule.action, Action::Delay(_))) {
                continue;
            }
            if rule.after > 0 {
                rule.after -= 1;
                continue;
            }
            if let Some(times) = &mut rule.times {
                if *times == 0 {
                    continue;
                }
                *times -= 1;
            }
            match &rule.action {
                Action::Delay(by) => delay += *by,
                action => met = Some(action.clone()),
            }
        }
        rules.retain(|rule| rule.times != Some(0));
        (met, delay)
    }
}

/// How an answer is to travel, in the extensions of the response. A mount reads it; a caller of
/// [`Service::handle`](crate::Service::handle) may look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Held back for so long.
    pub delay: Duration,
    /// Cut off after so many bytes of the body; `Some(None)` before the first byte of the status line.
    pub cut: Option<Option<usize>>,
}

pub(crate) fn too_many(retry_after: Option<&str>) -> Response<Bytes> {
    let mut response = Problem::rate_limited().into_response();
    if let Some(value) = retry_after.and_then(|value| HeaderValue::try_from(value).ok()) {
        response.headers_mut().insert(http::header::RETRY_AFTER, value);
    }
    response
}
