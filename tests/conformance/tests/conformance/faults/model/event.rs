//! The events: what the network and the service do during one attempt, and the evidence that the client gets.

use std::time::Duration;

/// The course of one attempt.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: &'static str,
    pub(super) act: Act,
    /// Whether the service executes the request, unless it did so under the same key before.
    pub(super) executes: bool,
    pub(super) evidence: Evidence,
    /// Whether the same request can succeed later.
    pub(super) passes: bool,
}

/// The peer's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Refuses the connection.
    Refuse,
    /// Lets the connection time out.
    Unconnected,
    /// Presents a certificate that isn't trusted.
    Untrusted,
    /// Closes the connection, or resets the stream, before it has the whole request.
    CutRequest,
    /// The same after the whole request.
    Cut,
    /// Resets the connection after the whole request.
    Reset,
    /// Closes the connection within the head of the response.
    CutHead,
    /// Stays silent after the whole request.
    Stall,
    /// Closes the connection, or resets the stream, within the body of the response.
    CutBody(Response),
    /// Stays silent within the body of the response.
    StallBody(Response),
    Respond(Response),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: &'static str,
    pub(super) retry_after: Option<&'static str>,
}

impl Response {
    pub(super) fn content_type(self) -> &'static str {
        if self.body.starts_with('<') { "text/html" } else { "application/json" }
    }

    /// The part of the body that arrives before a cut or a stall.
    pub(super) fn half(self) -> &'static str {
        &self.body[..self.body.len() / 2]
    }
}

/// The evidence that an attempt at a change gives the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// No byte of the request was sent.
    NotSent,
    /// The request was sent, and there is no response.
    NoResponse,
    /// An error response that the service may have sent after it executed the request, or that it didn't write itself.
    Undecided,
    /// The service did nothing.
    Rejected,
    /// A success without its value.
    Unreadable { by_service: bool, complete: bool, is_json: bool },
    /// The value.
    Value,
}

impl Act {
    pub(super) fn connects(self) -> bool {
        !matches!(self, Self::Refuse | Self::Unconnected | Self::Untrusted)
    }

    /// Whether the attempt ends at a time limit.
    pub(super) fn stalls(self) -> bool {
        matches!(self, Self::Unconnected | Self::Stall | Self::StallBody(_))
    }

    /// The part of the response that arrives.
    pub(super) fn response(self) -> Option<Response> {
        match self {
            Self::CutBody(response) | Self::StallBody(response) | Self::Respond(response) => Some(response),
            _ => None,
        }
    }

    /// Whether the event exists without sockets, where all cuts are alike.
    pub(super) fn is_scripted(self) -> bool {
        !matches!(self, Self::Reset | Self::CutHead)
    }

    /// Whether it exists over sockets without TLS.
    pub(super) fn is_wired(self) -> bool {
        self != Self::Untrusted && self.response().is_none_or(|response| response.status >= 200)
    }
}

impl Event {
    /// Whether it rejects the credential, and not its permissions.
    pub(super) fn rejects_token(&self) -> bool {
        self.name == "401"
    }

    /// The shortest delay before a retry: the one that the service requests, or otherwise a second after a 409 or 429.
    pub(super) fn least_delay(&self) -> Duration {
        let response = self.act.response();
        match (response.map(|response| response.status), response.and_then(|response| response.retry_after)) {
            (_, Some(seconds)) => Duration::from_secs(seconds.parse().unwrap()),
            (Some(409 | 429), None) => Duration::from_secs(1),
            _ => Duration::ZERO,
        }
    }

    /// Whether neither the attempt nor the delay after it takes time.
    pub(super) fn is_immediate(&self) -> bool {
        !self.act.stalls() && self.least_delay().is_zero()
    }
}

const fn event(name: &'static str, act: Act, executes: bool, evidence: Evidence, passes: bool) -> Event {
    Event { name, act, executes, evidence, passes }
}

const fn response(status: u16, body: &'static str) -> Response {
    Response { status, body, retry_after: None }
}

const fn respond(status: u16, body: &'static str) -> Act {
    Act::Respond(response(status, body))
}

const fn respond_after(status: u16, body: &'static str, seconds: &'static str) -> Act {
    Act::Respond(Response { status, body, retry_after: Some(seconds) })
}

const fn unreadable(by_service: bool, complete: bool, is_json: bool) -> Evidence {
    Evidence::Unreadable { by_service, complete, is_json }
}

const VALUE: &str =
    r#"{"object":"email","id":"4ef9a417-02e9-4d39-ad75-9611e0fcc33c","event":"user.created"}"#;
const PAGE: &str = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
const UNNAMED: &str = r#"{"message":"No."}"#;
const LIMITED: &str = r#"{"name":"rate_limit_exceeded","message":"No."}"#;
const INVALID: &str = r#"{"name":"validation_error","message":"No."}"#;
const FAILED: &str = r#"{"name":"application_error","message":"No."}"#;
const CONCURRENT: &str = r#"{"name":"concurrent_idempotent_requests","message":"No."}"#;

/// The value of a success: with the fields of all operations of the model.
pub(super) static VALUED: Event = event("200", respond(200, VALUE), true, Evidence::Value, false);

use Act::{CutBody, CutHead, CutRequest, Refuse, Reset, Stall, StallBody, Unconnected, Untrusted};
use Evidence::{NoResponse, NotSent, Rejected, Undecided, Value};

/// All events. Where the client can't know whether the service has executed the request, there are two of them.
pub(super) static EVENTS: [Event; 57] = [
    event("refused", Refuse, false, NotSent, true),
    event("no connection", Unconnected, false, NotSent, true),
    event("untrusted", Untrusted, false, NotSent, false),
    event("request cut", CutRequest, false, NoResponse, true),
    event("cut", Act::Cut, false, NoResponse, true),
    event("executed, cut", Act::Cut, true, NoResponse, true),
    event("executed, reset", Reset, true, NoResponse, true),
    event("executed, head cut", CutHead, true, NoResponse, true),
    event("stall", Stall, false, NoResponse, true),
    event("executed, stall", Stall, true, NoResponse, true),
    event("200", respond(200, VALUE), true, Value, false),
    event("200 cut", CutBody(response(200, VALUE)), true, unreadable(true, false, true), true),
    event("200 stalled", StallBody(response(200, VALUE)), true, unreadable(true, false, true), true),
    event("200 garbled", respond(200, r#"{"id":"1"} x"#), true, unreadable(true, true, false), true),
    event("200 page", respond(200, PAGE), false, unreadable(false, true, false), true),
    event("executed, 200 page", respond(200, PAGE), true, unreadable(false, true, false), true),
    event("executed, 200 empty", respond(200, ""), true, unreadable(false, true, true), true),
    event("200 without an ID", respond(200, r#"{"ok":true}"#), false, unreadable(false, true, true), true),
    event("101", respond(101, ""), true, Undecided, false),
    event("302", respond(302, PAGE), false, Rejected, false),
    event("303", respond(303, ""), true, Undecided, false),
    event("307", respond(307, ""), false, Rejected, false),
    event("400 invalid", respond(400, INVALID), false, Rejected, false),
    event("400 failed", respond(400, FAILED), false, Undecided, true),
    event("executed, 400 failed", respond(400, FAILED), true, Undecided, true),
    event("401", respond(401, r#"{"name":"missing_api_key"}"#), false, Rejected, false),
    event("401 restricted", respond(401, r#"{"name":"restricted_api_key"}"#), false, Rejected, false),
    event("403 invalid", respond(403, INVALID), false, Rejected, false),
    event("404", respond(404, r#"{"name":"not_found"}"#), false, Rejected, false),
    event("405 page", respond(405, PAGE), false, Rejected, false),
    event("408", respond(408, INVALID), false, Undecided, true),
    event("executed, 408", respond(408, ""), true, Undecided, true),
    event("409 concurrent", respond(409, CONCURRENT), true, Undecided, true),
    event("409 other", respond(409, r#"{"name":"invalid_idempotent_request"}"#), false, Rejected, false),
    event("409 locked", respond(409, r#"{"name":"resource_locked"}"#), false, Rejected, true),
    event("413", respond(413, ""), false, Rejected, false),
    event("421", respond(421, ""), false, Rejected, true),
    event("422 invalid", respond(422, INVALID), false, Rejected, false),
    event("422 limited", respond(422, LIMITED), false, Rejected, true),
    event("425", respond(425, UNNAMED), false, Rejected, true),
    event("429", respond(429, LIMITED), false, Rejected, true),
    event("429 now", respond_after(429, LIMITED, "0"), false, Rejected, true),
    event("429 in 3 s", respond_after(429, PAGE, "3"), false, Rejected, true),
    event("429 in 61 s", respond_after(429, LIMITED, "61"), false, Rejected, true),
    event("429 quota", respond(429, r#"{"name":"daily_quota_exceeded"}"#), false, Rejected, false),
    event("500", respond(500, FAILED), false, Undecided, true),
    event("executed, 500 invalid", respond(500, INVALID), true, Undecided, true),
    event("501", respond(501, ""), false, Rejected, false),
    event("502 page", respond(502, PAGE), false, Undecided, true),
    event("executed, 502 limited", respond(502, LIMITED), true, Undecided, true),
    event("executed, 503 cut", CutBody(response(503, FAILED)), true, Undecided, true),
    event("503 in 3 s", respond_after(503, UNNAMED, "3"), false, Undecided, true),
    event("503 in 61 s", respond_after(503, UNNAMED, "61"), false, Undecided, true),
    event("504", respond(504, ""), false, Undecided, true),
    event("executed, 504", respond(504, ""), true, Undecided, true),
    event("505", respond(505, ""), false, Rejected, false),
    event("511", respond(511, PAGE), false, Rejected, false),
];
