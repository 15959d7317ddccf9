//! The OpenTelemetry data that a call exports: `traceparent` on its requests, and metrics.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::{Context, KeyValue, global, metrics::Histogram, trace::TraceContextExt as _};
use tracing::Span;
use url::Url;

use super::operation::Operation;
use crate::clock::Instant;

/// A client's instruments.
#[derive(Clone)]
pub(crate) struct Metrics {
    call: Histogram<f64>,
    attempts: Histogram<u64>,
    request: Histogram<f64>,
    limiter: Histogram<f64>,
}

/// The bucket boundaries that the convention recommends for `http.client.request.duration`, in seconds, plus two for calls with retries.
const SECONDS: [f64; 16] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0, 60.0];

impl Metrics {
    /// Creates the instruments with the global meter provider.
    pub(crate) fn new() -> Self {
        let meter = global::meter("idempost");
        let seconds = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        Self {
            call: seconds("idempost.call.duration", "Duration of calls with all attempts and delays."),
            attempts: meter
                .u64_histogram("idempost.call.attempts")
                .with_unit("{attempt}")
                .with_description("Attempts per call.")
                .with_boundaries(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0])
                .build(),
            request: seconds("http.client.request.duration", "Duration of HTTP client requests."),
            limiter: seconds("idempost.limiter.wait", "Time that attempts wait for the rate limit."),
        }
    }
}

/// The metrics of one call.
pub(super) struct Recorder {
    metrics: Metrics,
    operation: KeyValue,
    method: KeyValue,
    template: Option<KeyValue>,
    begun: Instant,
    error: Option<Cow<'static, str>>,
    queued: Option<Instant>,
    attempt: Option<Attempt>,
}

struct Attempt {
    begun: Instant,
    server: [KeyValue; 2],
    error: Option<Cow<'static, str>>,
}

impl Recorder {
    pub(super) fn new(metrics: Metrics, operation: &Operation) -> Self {
        let template = operation.route.known_route();
        Self {
            metrics,
            operation: KeyValue::new("idempost.operation", operation.name),
            method: KeyValue::new("http.request.method", operation.method.to_string()),
            template: template.map(|route| KeyValue::new("url.template", route.to_string())),
            begun: Instant::now(),
            error: None,
            queued: None,
            attempt: None,
        }
    }

    /// Starts measuring the wait for the rate limit.
    pub(super) fn queue(&mut self) {
        self.queued = Some(Instant::now());
    }

    pub(super) fn begin_attempt(&mut self, url: &Url) {
        let now = Instant::now();
        if let Some(queued) = self.queued.take() {
            self.metrics.limiter.record((now - queued).as_secs_f64(), std::slice::from_ref(&self.operation));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = i64::from(url.port_or_known_default().unwrap_or_default());
        let server = [KeyValue::new("server.address", host), KeyValue::new("server.port", port)];
        self.attempt = Some(Attempt { begun: now, server, error: None });
    }

    pub(super) fn record_attempt_failure(&mut self, error_type: Cow<'static, str>) {
        if let Some(attempt) = &mut self.attempt {
            attempt.error = Some(error_type);
        }
    }

    pub(super) fn end_attempt(&mut self, status: Option<u16>) {
        let Some(attempt) = self.attempt.take() else { return };
        let mut attributes = vec![self.method.clone()];
        attributes.extend(attempt.server);
        attributes.extend(self.template.clone());
        attributes.extend(status.map(|status| KeyValue::new("http.response.status_code", i64::from(status))));
        attributes.extend(attempt.error.map(|error| KeyValue::new("error.type", error)));
        self.metrics.request.record(attempt.begun.elapsed().as_secs_f64(), &attributes);
    }

    pub(super) fn record_failure(&mut self, error_type: Cow<'static, str>) {
        self.error = Some(error_type);
    }

    pub(super) fn end(&mut self, attempts: u32) {
        let mut attributes = vec![self.operation.clone()];
        attributes.extend(self.error.take().map(|error| KeyValue::new("error.type", error)));
        self.metrics.call.record(self.begun.elapsed().as_secs_f64(), &attributes);
        self.metrics.attempts.record(attempts.into(), &attributes);
    }
}

/// Adds the W3C headers of the trace that `span` belongs to, unless the caller has set them.
pub(super) fn propagate(span: &Span, headers: &mut HeaderMap) {
    const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
    let context = span.in_scope(Context::current);
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() || headers.contains_key(TRACEPARENT) {
        return;
    }
    let flags = span.trace_flags().to_u8();
    let parent = format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id());
    let state = Some(span.trace_state().header()).filter(|state| !state.is_empty());
    for (name, value) in [(TRACEPARENT, Some(parent)), (HeaderName::from_static("tracestate"), state)] {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
}
