//! Spans as OpenTelemetry exports them, and the headers that continue a trace at the service.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use idempost::Email;
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use tracing::{Dispatch, Instrument as _, subscriber::DefaultGuard};
use tracing_subscriber::{filter::LevelFilter, layer::SubscriberExt as _};

use super::script::{Reply, Script, email, silent, untrusted};

/// A second subscriber: with a single one in the process, tracing disables a span for all threads if a thread without the subscriber reaches it first.
static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(tracing_subscriber::registry()));

/// Exports the spans of this thread.
struct Exported {
    spans: InMemorySpanExporter,
    provider: SdkTracerProvider,
    _default: DefaultGuard,
}

impl Exported {
    fn new() -> Self {
        Self::up_to(LevelFilter::TRACE)
    }

    fn up_to(level: LevelFilter) -> Self {
        LazyLock::force(&OTHER);
        let spans = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("test"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false);
        let subscriber = tracing_subscriber::registry().with(level).with(layer);
        Self { spans, provider, _default: tracing::subscriber::set_default(subscriber) }
    }

    /// The spans, in the order in which they began.
    fn spans(&self) -> Vec<SpanData> {
        self.provider.force_flush().unwrap();
        let mut spans = self.spans.get_finished_spans().unwrap();
        spans.sort_by_key(|span| span.start_time);
        spans
    }
}

fn attributes(span: &SpanData) -> BTreeMap<&str, String> {
    span.attributes.iter().map(|attribute| (attribute.key.as_str(), attribute.value.to_string())).collect()
}

fn expected<const N: usize>(fields: [(&'static str, &str); N]) -> BTreeMap<&'static str, String> {
    fields.map(|(name, value)| (name, value.to_owned())).into()
}

fn unavailable() -> Reply {
    Reply::json(503, json!({})).header("x-request-id", "r-1")
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_span_with_a_child_for_each_attempt() {
    let exported = Exported::new();
    let accepted = Reply::json(200, json!({"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}));
    let script = Script::of([unavailable(), Reply::connection_lost(), accepted]).odd();
    script.client().emails().send(&email()).await.unwrap();

    let spans = exported.spans();
    let names: Vec<_> = spans.iter().map(|span| (span.name.as_ref(), span.span_kind.clone())).collect();
    let attempt = ("POST /emails", SpanKind::Client);
    assert_eq!(names, [("emails.send", SpanKind::Internal), attempt.clone(), attempt.clone(), attempt]);
    let call = spans[0].span_context.span_id();
    assert_eq!(spans[1..].iter().map(|span| span.parent_span_id).collect::<Vec<_>>(), [call; 3]);

    let request = [("http.request.method", "POST"), ("url.template", "/emails")];
    let [method, template] = request;
    let (host, port) = (("server.address", "127.0.0.1"), ("server.port", "9"));
    assert_eq!(
        attributes(&spans[0]),
        expected([method, template, ("attempts", "3"), ("http.response.status_code", "200")])
    );
    assert_eq!(
        attributes(&spans[1]),
        expected([
            method,
            template,
            host,
            port,
            ("http.response.status_code", "503"),
            ("error.type", "503"),
            ("request_id", "r-1")
        ])
    );
    let again = |n| ("http.request.resend_count", n);
    assert_eq!(
        attributes(&spans[2]),
        expected([method, template, host, port, again("1"), ("error.type", "closed")])
    );
    assert_eq!(
        attributes(&spans[3]),
        expected([method, template, host, port, again("2"), ("http.response.status_code", "200")])
    );
    let failed: Vec<_> = spans.iter().map(|span| matches!(span.status, Status::Error { .. })).collect();
    assert_eq!(failed, [false, true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_failed_call_has_the_type_of_its_error() {
    let exported = Exported::new();
    let script = Script::of([Reply::json(404, json!({"name": "not_found"})), untrusted(), silent()]).odd();
    let client = script.client();
    client.emails().get("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794").await.unwrap_err();
    client.request(http::Method::GET, "/contacts/ada@example.com").await.unwrap_err();
    tokio::time::timeout(Duration::from_secs(1), client.emails().list()).await.unwrap_err();
    client.emails().send(&Email::new("", "", "")).await.unwrap_err();

    let spans = exported.spans();
    let found: Vec<_> = spans
        .iter()
        .map(|span| (span.name.as_ref(), attributes(span).remove("error.type").unwrap_or_default()))
        .collect();
    let expected = [
        ("emails.get", "404"),
        ("GET /emails/{id}", "404"),
        ("request", "tls"),
        ("GET", "tls"),
        ("emails.list", "canceled"),
        ("GET /emails", "canceled"),
        ("emails.send", "invalid"),
    ];
    assert_eq!(found, expected.map(|(name, error)| (name, error.to_owned())));
    let text = format!("{spans:?}");
    assert!(!text.contains("49a3999c") && !text.contains("ada@"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_span_leaves_the_application_s_span_alone() {
    use tracing::field::Empty;

    let exported = Exported::up_to(LevelFilter::INFO);
    let client = Script::of([Reply::json(404, json!({"name": "not_found"}))]).odd().client();
    let span = tracing::info_span!(
        "handler",
        otel.status_code = Empty,
        http.response.status_code = Empty,
        attempts = Empty,
        "error.type" = Empty
    );
    async {
        client.emails().get("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794").await.unwrap_err();
        client.emails().send(&Email::new("", "", "")).await.unwrap_err();
    }
    .instrument(span)
    .await;
    let spans = exported.spans();
    assert_eq!(
        (spans.len(), attributes(&spans[0]), spans[0].status.clone()),
        (1, expected([]), Status::Unset)
    );
}

#[tokio::test(start_paused = true)]
async fn each_attempt_continues_the_trace_of_its_span() {
    let exported = Exported::new();
    let (ok, page) = (json!({"object": "list", "has_more": false, "data": []}), [unavailable()]);
    let answers = page.into_iter().chain([Reply::json(200, ok.clone()), Reply::json(200, ok)]);
    // The contract doesn't define this header.
    let script = Script::of(answers).odd();
    let client = script.client();
    async { client.emails().list().await.unwrap() }.instrument(tracing::info_span!("application")).await;
    let seen = script.seen();
    let sent: Vec<_> = seen.iter().map(|request| request.header("traceparent")).collect();
    let spans = exported.spans();
    let of_attempts: Vec<_> = spans
        .iter()
        .filter(|span| span.span_kind == SpanKind::Client)
        .map(|span| {
            let context = &span.span_context;
            format!("00-{}-{}-01", context.trace_id(), context.span_id())
        })
        .collect();
    assert_eq!((sent, of_attempts.len()), (of_attempts.iter().map(String::as_str).collect(), 2));
    let traces: Vec<_> = spans.iter().map(|span| span.span_context.trace_id()).collect();
    assert_eq!(traces, [traces[0]; 4], "the application's span, the call's, and two attempts");

    drop(exported);
    client.emails().list().await.unwrap();
    assert_eq!(script.seen()[0].header("traceparent"), "", "without a trace");
}
