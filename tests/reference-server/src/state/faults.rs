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
//!
//! The script is one for the whole service, whatever key a request has: what breaks is the service, not an account.
//! `/_/faults` reads and writes it over HTTP; the sandbox's own routes never meet a fault.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::lock::lock;
use crate::wire::pattern::pattern_matches;
use crate::wire::problem::Problem;

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
    /// The request is taken and nothing ever comes back, until the client gives up or the server ends; the service does not act.
    /// Needs the HTTP mount.
    Stall,
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
    share: Share,
}

/// How many of the requests that match meet a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The next so many.
    Times(usize),
    /// So many of a hundred, by chance: 0 to 100. [`Settings::seed`](crate::Settings::seed) makes the chance repeatable.
    Percent(u8),
    /// All, until the rule is taken back.
    Always,
}

impl Rule {
    /// The next request, whatever it is, meets this fault.
    pub fn new(action: Action) -> Self {
        Self { action, method: None, path: None, after: 0, share: Share::Times(1) }
    }

    /// Only requests of this method and path meet it. In the path `{…}` stands for any one segment.
    #[must_use]
    pub fn on(self, method: Method, path: impl Into<String>) -> Self {
        self.on_method(method).on_path(path)
    }

    /// Only requests of this method meet it.
    #[must_use]
    pub fn on_method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Only requests of this path meet it. In the path `{…}` stands for any one segment.
    #[must_use]
    pub fn on_path(mut self, path: impl Into<String>) -> Self {
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
        self.share = Share::Times(times);
        self
    }

    /// So many of a hundred matching requests meet it, by chance, until the faults are cleared. More than 100 is 100.
    #[must_use]
    pub fn percent(mut self, percent: u8) -> Self {
        self.share = Share::Percent(percent.min(100));
        self
    }

    /// Every matching request meets it, until the faults are cleared.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.share = Share::Always;
        self
    }

    /// What goes wrong.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The method of the requests that meet it, if only one does.
    pub fn method(&self) -> Option<&Method> {
        self.method.as_ref()
    }

    /// The path of the requests that meet it, if only one does.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// How many matching requests are spared first, as far as they have not come yet.
    pub fn spared(&self) -> usize {
        self.after
    }

    /// How many meet it, as far as they have not come yet.
    pub fn share(&self) -> Share {
        self.share
    }

    fn matches(&self, method: &Method, path: &str) -> bool {
        self.method.as_ref().is_none_or(|wanted| wanted == method)
            && self.path.as_ref().is_none_or(|pattern| pattern_matches(pattern, path))
    }
}

/// A rule of the script, and what came of it so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scripted {
    /// Its number in this service, from 1.
    pub id: u64,
    /// The rule, with what is left of it.
    pub rule: Rule,
    /// How many requests have met it.
    pub met: u64,
}

impl Scripted {
    pub(crate) fn new(id: u64, rule: Rule) -> Self {
        Self { id, rule, met: 0 }
    }
}

/// The script of one service. Rules are tried in the order in which they were added; the first that matches acts.
#[derive(Debug)]
pub struct Faults {
    script: Mutex<Script>,
}

#[derive(Debug)]
struct Script {
    rules: Vec<Scripted>,
    added: u64,
    chance: StdRng,
}

impl Faults {
    /// A seed makes chance repeatable.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let chance = seed.map_or_else(StdRng::from_entropy, StdRng::seed_from_u64);
        Self { script: Mutex::new(Script { rules: Vec::new(), added: 0, chance }) }
    }

    /// Adds a rule to the script, and gives its number.
    pub fn add(&self, rule: Rule) -> u64 {
        let mut script = lock(&self.script);
        script.added += 1;
        let id = script.added;
        script.rules.push(Scripted::new(id, rule));
        id
    }

    /// The next request, whatever it is, meets this fault.
    pub fn next(&self, action: Action) {
        self.add(Rule::new(action));
    }

    /// The rules that have not been used up, in the order in which they were added.
    pub fn list(&self) -> Vec<Scripted> {
        lock(&self.script).rules.clone()
    }

    /// Takes a rule back. None if there is none of this number, or it was used up.
    pub fn take_back(&self, id: u64) -> Option<Scripted> {
        let rules = &mut lock(&self.script).rules;
        let place = rules.iter().position(|one| one.id == id)?;
        Some(rules.remove(place))
    }

    /// Takes all rules back.
    pub fn clear(&self) {
        lock(&self.script).rules.clear();
    }

    /// How many rules have not been used up. A test that ends with 0 has met every fault that it scripted.
    pub fn pending(&self) -> usize {
        lock(&self.script).rules.len()
    }

    /// What this request meets: a fault, and how long its answer is held back.
    pub(crate) fn meet(&self, method: &Method, path: &str) -> (Option<Action>, Duration) {
        let Script { rules, chance, .. } = &mut *lock(&self.script);
        let mut met = None;
        let mut delay = Duration::ZERO;
        for one in rules.iter_mut() {
            let rule = &mut one.rule;
            if !rule.matches(method, path) || (met.is_some() && !matches!(rule.action, Action::Delay(_))) {
                continue;
            }
            if rule.after > 0 {
                rule.after -= 1;
                continue;
            }
            match &mut rule.share {
                Share::Always => {}
                Share::Percent(percent) if chance.gen_range(0..100) < *percent => {}
                Share::Times(0) | Share::Percent(_) => continue,
                Share::Times(times) => *times -= 1,
            }
            one.met += 1;
            match &rule.action {
                Action::Delay(by) => delay = delay.saturating_add(*by),
                action => met = Some(action.clone()),
            }
        }
        rules.retain(|one| one.rule.share != Share::Times(0));
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
    /// Never answered.
    pub stalled: bool,
}

pub(crate) fn too_many(retry_after: Option<&str>) -> Response<Bytes> {
    let mut response = Problem::rate_limited().into_response();
    if let Some(value) = retry_after.and_then(|value| HeaderValue::try_from(value).ok()) {
        response.headers_mut().insert(http::header::RETRY_AFTER, value);
    }
    response
}
