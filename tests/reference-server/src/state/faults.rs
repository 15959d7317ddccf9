//! Scripted faults: which requests and stages of SMTP sessions fail, and how.
//!
//! ```
//! use http::Method;
//! use idempost_reference_server::faults::{Action, Rule, SmtpStage};
//! use idempost_reference_server::{Service, Settings};
//!
//! let service = Service::new(Settings::default());
//! // The next two sends respond with 503, later ones succeed.
//! service.faults().add(Rule::new(Action::http_response(503, "busy")).on_request(Method::POST, "/emails").times(2));
//! // The next request is processed, but its response is lost.
//! service.faults().add(Rule::new(Action::DropAfter));
//! // The next recipient in an SMTP session is rejected.
//! service.faults().add(Rule::new(Action::smtp_reply(550, "5.1.1 No such mailbox")).on_smtp(SmtpStage::Rcpt));
//! ```
//!
//! A rule applies to every API key unless it is restricted to [an account](Rule::for_account). `/_/faults` reads and writes the script over
//! HTTP, where a rule belongs to the account that adds it unless it is for all accounts. The sandbox's own routes are exempt.

pub mod smtp;

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

pub use self::smtp::SmtpStage;
use crate::lock::lock;
use crate::wire::{Problem, pattern_matches};
use fastrand::Rng;

/// The effect of a fault.
#[derive(Clone, Debug)]
pub enum Action {
    /// Drops the connection before the service processes the request. Needs the HTTP or SMTP mount.
    DropBefore,
    /// Processes the request, then drops the connection before the first byte of the response. Needs the HTTP or SMTP mount.
    DropAfter,
    /// Processes the request, sends the response's headers and this number of bytes of its body, then drops the connection. Needs the HTTP
    /// mount.
    Truncate(usize),
    /// Accepts the request and never responds, until the client gives up or the server stops; the request isn't processed. Needs the HTTP
    /// or SMTP mount.
    Stall,
    /// Processes the request immediately and delays the response. Combines with another fault.
    Delay(Duration),
    /// Sends this HTTP response without processing the request.
    Answer {
        /// The status code.
        status: StatusCode,
        /// Headers in addition to the standard ones, over which they take precedence.
        headers: HeaderMap,
        /// The body, sent unchanged.
        body: Bytes,
    },
    /// Responds with 429 `rate_limit_exceeded` without processing the request, with or without this `retry-after`.
    TooMany {
        /// The header's value, sent unchanged, so that it may be malformed.
        retry_after: Option<String>,
    },
    /// Sends this SMTP reply without executing the command; after 421, and in place of the greeting, the connection is closed.
    Reply {
        /// The code.
        code: u16,
        /// The enhanced status code and the text.
        text: Cow<'static, str>,
    },
}

impl Action {
    /// A response of this status with this body and the headers of a JSON response.
    ///
    /// # Panics
    /// If `status` isn't in 100 to 999.
    pub fn http_response(status: u16, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).expect("a status from 100 to 999");
        let mut headers = HeaderMap::new();
        headers
            .insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        Self::Answer { status, headers, body: body.into() }
    }

    /// An SMTP reply of this code, with this enhanced status code and text.
    pub fn smtp_reply(code: u16, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Reply { code, text: text.into() }
    }

    /// The error response of this status and name, as the service itself would send it.
    ///
    /// # Panics
    /// If `status` isn't in 100 to 999.
    pub fn error(status: u16, name: &'static str, message: &str) -> Self {
        let status = StatusCode::from_u16(status).expect("a status from 100 to 999");
        let (parts, body) = Problem::new(status, name, message).into_response().into_parts();
        Self::Answer { status, headers: parts.headers, body }
    }

    /// Adds a header to the response.
    ///
    /// # Panics
    /// If the name or value isn't a valid header, or if this isn't an [`Answer`](Self::Answer).
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

/// A fault and the requests it applies to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The effect of the fault.
    pub action: Action,
    /// The method that the rule is restricted to.
    pub method: Option<Method>,
    /// The path that the rule is restricted to.
    pub path: Option<String>,
    /// The stage of SMTP sessions that the rule applies to; `None` if it applies to requests.
    pub smtp: Option<SmtpStage>,
    /// The account that the rule is restricted to.
    pub account: Option<String>,
    /// The remaining number of matching requests to skip.
    pub after: usize,
    /// The remaining number of requests to fail.
    pub share: Share,
}

/// The number of matching requests that a fault applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The next matching requests, up to this number.
    Times(usize),
    /// This percentage of matching requests, at random: 0 to 100. [`Settings::seed`](crate::Settings::seed) makes the choice repeatable.
    Percent(u8),
    /// All matching requests, until the rule is removed.
    Always,
}

impl Rule {
    /// A rule that applies this fault to the next request.
    pub fn new(action: Action) -> Self {
        Self { action, method: None, path: None, smtp: None, account: None, after: 0, share: Share::Times(1) }
    }

    /// Restricts the rule to requests of this method and path. In the path `{…}` matches any one segment.
    #[must_use]
    pub fn on_request(self, method: Method, path: impl Into<String>) -> Self {
        self.on_method(method).on_path(path)
    }

    /// Restricts the rule to requests of this method.
    #[must_use]
    pub fn on_method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Restricts the rule to requests of this path. In the path `{…}` matches any one segment.
    #[must_use]
    pub fn on_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Applies the rule to this stage of SMTP sessions instead of requests.
    #[must_use]
    pub fn on_smtp(mut self, stage: SmtpStage) -> Self {
        self.smtp = Some(stage);
        self
    }

    /// Restricts the rule to requests and SMTP sessions of this account, named by its API key. Requests of the authorization server, and
    /// SMTP stages before `AUTH`, belong to no account.
    #[must_use]
    pub fn for_account(mut self, key: impl Into<String>) -> Self {
        self.account = Some(key.into());
        self
    }

    /// Skips this number of matching requests first.
    #[must_use]
    pub fn skip_first(mut self, spared: usize) -> Self {
        self.after = spared;
        self
    }

    /// Applies the fault to this number of matching requests. Default: 1.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.share = Share::Times(times);
        self
    }

    /// Applies the fault to this percentage of matching requests, at random, until the rule is removed. Values above 100 count as 100.
    #[must_use]
    pub fn percent(mut self, percent: u8) -> Self {
        self.share = Share::Percent(percent.min(100));
        self
    }

    /// Applies the fault to every matching request, until the rule is removed.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.share = Share::Always;
        self
    }

    /// Whether the rule is for requests of this account; `None` is a request without one.
    fn is_met_by(&self, account: Option<&str>) -> bool {
        self.account.is_none() || self.account.as_deref() == account
    }

    fn matches(&self, method: &Method, path: &str) -> bool {
        self.smtp.is_none()
            && self.method.as_ref().is_none_or(|wanted| wanted == method)
            && self.path.as_ref().is_none_or(|pattern| pattern_matches(pattern, path))
    }
}

/// A scripted rule and its progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scripted {
    /// The rule's number in this service, from 1.
    pub id: u64,
    /// The rule, with its remaining counts.
    pub rule: Rule,
    /// The number of failed requests.
    pub met: u64,
    /// The account that added the rule over HTTP.
    pub(crate) added_by: Option<String>,
}

impl Scripted {
    pub(crate) fn new(id: u64, rule: Rule) -> Self {
        Self { id, rule, met: 0, added_by: None }
    }
}

/// The fault script of one service. Rules are tried in the order in which they were added; the first match applies.
#[derive(Debug)]
pub struct Faults {
    script: Mutex<Script>,
}

#[derive(Debug)]
struct Script {
    rules: Vec<Scripted>,
    added: u64,
    chance: Rng,
}

impl Faults {
    /// A seed makes random choices repeatable.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let chance = seed.map_or_else(Rng::new, Rng::with_seed);
        Self { script: Mutex::new(Script { rules: Vec::new(), added: 0, chance }) }
    }

    /// Adds a rule to the script and returns its number.
    pub fn add(&self, rule: Rule) -> u64 {
        self.add_by(None, rule)
    }

    pub(crate) fn add_by(&self, account: Option<String>, rule: Rule) -> u64 {
        let mut script = lock(&self.script);
        script.added += 1;
        let id = script.added;
        script.rules.push(Scripted { added_by: account, ..Scripted::new(id, rule) });
        id
    }

    /// Applies this fault to the next request.
    pub fn add_once(&self, action: Action) {
        self.add(Rule::new(action));
    }

    /// Lists the rules that aren't used up, in the order in which they were added.
    pub fn list(&self) -> Vec<Scripted> {
        lock(&self.script).rules.clone()
    }

    /// Lists the rules for an account: its own, and those for all accounts.
    pub(crate) fn list_of(&self, account: &str) -> Vec<Scripted> {
        let rules = &lock(&self.script).rules;
        rules.iter().filter(|one| one.rule.is_met_by(Some(account))).cloned().collect()
    }

    /// Removes the rules that an account added. Returns their number.
    pub(crate) fn clear_account(&self, account: &str) -> usize {
        let rules = &mut lock(&self.script).rules;
        let before = rules.len();
        rules.retain(|one| one.added_by.as_deref() != Some(account));
        before - rules.len()
    }

    /// Removes a rule. Returns `None` if no rule has this number, or if it was used up.
    pub fn remove(&self, id: u64) -> Option<Scripted> {
        let rules = &mut lock(&self.script).rules;
        let place = rules.iter().position(|one| one.id == id)?;
        Some(rules.remove(place))
    }

    /// Removes all rules.
    pub fn clear(&self) {
        lock(&self.script).rules.clear();
    }

    /// The number of rules that aren't used up. At the end of a test, 0 means that every scripted fault was applied.
    pub fn pending(&self) -> usize {
        lock(&self.script).rules.len()
    }

    /// Selects the fault for a request, and the delay of its response. `account` finds the account of the request.
    pub(crate) fn apply<'a>(
        &self,
        account: impl FnOnce() -> Option<Cow<'a, str>>,
        method: &Method,
        path: &str,
    ) -> (Option<Action>, Duration) {
        self.apply_to(account, |rule| rule.matches(method, path))
    }

    /// Selects the fault for a stage of an SMTP session, and the delay of the reply.
    #[doc(hidden)]
    pub fn apply_smtp<'a>(
        &self,
        account: impl FnOnce() -> Option<Cow<'a, str>>,
        stage: SmtpStage,
    ) -> (Option<Action>, Duration) {
        self.apply_to(account, |rule| rule.smtp == Some(stage))
    }

    fn apply_to<'a>(
        &self,
        account: impl FnOnce() -> Option<Cow<'a, str>>,
        matches: impl Fn(&Rule) -> bool,
    ) -> (Option<Action>, Duration) {
        // The usual case. Finding the account of a request takes other locks.
        if self.pending() == 0 {
            return (None, Duration::ZERO);
        }
        let account = account();
        let Script { rules, chance, .. } = &mut *lock(&self.script);
        let mut met = None;
        let mut delay = Duration::ZERO;
        for one in rules.iter_mut() {
            let rule = &mut one.rule;
            if !rule.is_met_by(account.as_deref())
                || !matches(rule)
                || (met.is_some() && !matches!(rule.action, Action::Delay(_)))
            {
                continue;
            }
            if rule.after > 0 {
                rule.after -= 1;
                continue;
            }
            match &mut rule.share {
                Share::Always => {}
                Share::Percent(percent) if chance.u8(0..100) < *percent => {}
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

/// How a response is transmitted. Mounts apply it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// The delay before the response.
    pub delay: Duration,
    /// The connection is dropped after this number of bytes of the body; `Some(None)` before the first byte of the status line.
    pub cut: Option<Option<usize>>,
    /// No response is ever sent.
    pub stalled: bool,
}

pub(crate) fn too_many(retry_after: Option<&str>) -> Response<Bytes> {
    let mut response = Problem::rate_limited().into_response();
    if let Some(value) = retry_after.and_then(|value| HeaderValue::try_from(value).ok()) {
        response.headers_mut().insert(http::header::RETRY_AFTER, value);
    }
    response
}
