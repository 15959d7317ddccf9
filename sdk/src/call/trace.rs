//! The spans of a call and its attempts, named according to OpenTelemetry's semantic conventions for HTTP clients.
//!
//! They contain no path, record ID or header, since each of these can contain an address or a credential. Numbers are `i64`, the integers of
//! OpenTelemetry.

use std::borrow::Cow;

use http::response;
use tracing::{
    Span,
    field::{self, Empty},
};
use url::Url;

#[cfg(feature = "otel")]
use super::otel::Recorder;
use super::{core::Core, operation::Operation};
use crate::{
    error::{Error, request_id},
    transport::{TransportError, TransportErrorKind},
};

/// Creates the span of a call.
pub(super) fn call_span(operation: &Operation) -> Span {
    tracing::debug_span!(
        "idempost",
        otel.name = operation.name,
        otel.status_code = Empty,
        http.request.method = operation.method.as_str(),
        url.template = operation.route.known_route().map(field::display),
        attempts = Empty,
        http.response.status_code = Empty,
        "error.type" = Empty,
    )
}

/// Returns the span of the running call. If it has none, the current span is the application's, which isn't changed.
fn current_span() -> Span {
    let span = Span::current();
    let is_own = span.metadata().is_some_and(|metadata| metadata.target() == module_path!());
    if is_own { span } else { Span::none() }
}

/// Records why the call of the current span failed.
pub(super) fn record_call_failure(error: &Error) {
    let span = current_span();
    if !span.is_disabled() {
        record_error(&span, &error_type(error));
    }
}

fn record_error(span: &Span, error_type: &str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// Records data about a running call.
pub(super) struct Trace {
    /// The span of the running attempt.
    attempt: Span,
    attempts: u32,
    /// The status of the last attempt's response.
    status: Option<u16>,
    /// Whether the call has returned; otherwise it has been canceled.
    has_returned: bool,
    #[cfg(feature = "otel")]
    pub(super) recorder: Recorder,
}

impl Trace {
    #[cfg_attr(not(feature = "otel"), expect(unused_variables, reason = "metrics alone need them"))]
    pub(super) fn new(core: &Core, operation: &Operation) -> Self {
        Self {
            attempt: Span::none(),
            attempts: 0,
            status: None,
            has_returned: false,
            #[cfg(feature = "otel")]
            recorder: Recorder::new(core.metrics.clone(), operation),
        }
    }

    /// Starts an attempt and returns its span.
    pub(super) fn begin_attempt(&mut self, operation: &Operation, url: &Url) -> Span {
        let resends = i64::from(self.attempts);
        self.attempts = self.attempts.saturating_add(1);
        self.status = None;
        self.attempt = tracing::debug_span!(
            "attempt",
            otel.name = format!("{} {}", operation.method, operation.route).trim_end(),
            otel.kind = "client",
            otel.status_code = Empty,
            http.request.method = operation.method.as_str(),
            http.request.resend_count = (resends > 0).then_some(resends),
            server.address = url.host_str(),
            server.port = url.port_or_known_default().map(i64::from),
            url.template = operation.route.known_route().map(field::display),
            http.response.status_code = Empty,
            request_id = Empty,
            "error.type" = Empty,
        );
        #[cfg(feature = "otel")]
        self.recorder.begin_attempt(url);
        self.attempt.clone()
    }

    /// Records the response to the running attempt.
    pub(super) fn record_response(&mut self, head: &response::Parts) {
        self.status = Some(head.status.as_u16());
        if !self.attempt.is_disabled() {
            self.attempt.record("http.response.status_code", i64::from(head.status.as_u16()));
            if let Some(id) = request_id(&head.headers) {
                self.attempt.record("request_id", id);
            }
            tracing::debug!(parent: &self.attempt, "response");
        }
        if !head.status.is_success() {
            self.record_attempt_failure(|| head.status.as_str().to_owned().into());
        }
    }

    pub(super) fn record_no_response(&mut self, error: &TransportError) {
        tracing::debug!(parent: &self.attempt, %error, "no response");
        self.record_attempt_failure(|| transport_error_type(error).into());
    }

    /// Records that the response can't be decoded.
    pub(super) fn record_undecodable(&mut self) {
        self.record_attempt_failure(|| "decode".into());
    }

    fn record_attempt_failure(&mut self, error_type: impl FnOnce() -> Cow<'static, str>) {
        if cfg!(feature = "otel") || !self.attempt.is_disabled() {
            let error_type = error_type();
            record_error(&self.attempt, &error_type);
            #[cfg(feature = "otel")]
            self.recorder.record_attempt_failure(error_type);
        }
    }

    pub(super) fn end_attempt(&mut self) {
        self.attempt = Span::none();
        #[cfg(feature = "otel")]
        self.recorder.end_attempt(self.status);
    }

    pub(super) fn record_success(&mut self) {
        self.has_returned = true;
    }

    /// Records why the call fails.
    pub(super) fn record_failure(&mut self, error: &Error) {
        self.has_returned = true;
        record_call_failure(error);
        #[cfg(feature = "otel")]
        self.recorder.record_failure(error_type(error));
    }
}

/// Records the last fields at the end of the call, even a canceled one.
impl Drop for Trace {
    fn drop(&mut self) {
        if !self.has_returned {
            self.record_attempt_failure(|| "canceled".into());
            record_error(&current_span(), "canceled");
            #[cfg(feature = "otel")]
            self.recorder.record_failure("canceled".into());
        }
        self.end_attempt();
        #[cfg(feature = "otel")]
        self.recorder.end(self.attempts);
        let span = current_span();
        if span.is_disabled() {
            return;
        }
        span.record("attempts", i64::from(self.attempts));
        if let Some(status) = self.status {
            span.record("http.response.status_code", i64::from(status));
        }
    }
}

/// Returns the convention's `error.type`: one of a few values, or the status of an error response.
fn error_type(error: &Error) -> Cow<'static, str> {
    match error {
        Error::Api(error) => return error.status.as_str().to_owned().into(),
        Error::Unreachable(failure) | Error::OutcomeUnknown(failure) => {
            transport_error_type(&failure.transport)
        }
        Error::Invalid(_) => "invalid",
        Error::Settings(_) => "settings",
        Error::File(_) => "file",
        Error::Auth(_) => "auth",
        Error::RateLimit(_) => "rate_limit",
        Error::Decode(_) => "decode",
        _ => "_OTHER",
    }
    .into()
}

fn transport_error_type(error: &TransportError) -> &'static str {
    match error.kind() {
        TransportErrorKind::Connect => "connect",
        TransportErrorKind::Proxy => "proxy",
        TransportErrorKind::Tls => "tls",
        TransportErrorKind::Timeout => "timeout",
        TransportErrorKind::Closed => "closed",
        TransportErrorKind::TooLarge => "too_large",
        TransportErrorKind::Body => "file",
        TransportErrorKind::Settings => "settings",
        TransportErrorKind::Other => "_OTHER",
    }
}
