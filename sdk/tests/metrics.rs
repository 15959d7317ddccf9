//! The metrics that a client exports. This is a separate test binary, since the meter provider is global to the process.

#![cfg(feature = "otel")]

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use idempost::{Client, Email, call::RetryPolicy};
use idempost_reference_server::{
    ReferenceServer,
    faults::{Action, Rule},
};
use opentelemetry::{KeyValue, global};
use opentelemetry_sdk::metrics::{
    InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
    data::{AggregatedMetrics, Histogram, MetricData, ResourceMetrics, ScopeMetrics},
};

/// How often each set of attributes was recorded, by instrument name.
type Counts = BTreeMap<(String, String), u64>;

fn text<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> String {
    let mut pairs: Vec<_> =
        attributes.map(|attribute| format!("{}={}", attribute.key, attribute.value)).collect();
    pairs.sort();
    pairs.join(" ")
}

fn counts(exported: &[ResourceMetrics]) -> Counts {
    fn points<T: Copy>(histogram: &Histogram<T>) -> Vec<(String, u64)> {
        histogram.data_points().map(|point| (text(point.attributes()), point.count())).collect()
    }
    let metrics = exported.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(ScopeMetrics::metrics);
    metrics
        .flat_map(|metric| {
            let points = match metric.data() {
                AggregatedMetrics::F64(MetricData::Histogram(histogram)) => points(histogram),
                AggregatedMetrics::U64(MetricData::Histogram(histogram)) => points(histogram),
                AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                    sum.data_points().map(|point| (text(point.attributes()), point.value())).collect()
                }
                other => panic!("{other:?}"),
            };
            points.into_iter().map(|(attributes, count)| ((metric.name().to_owned(), attributes), count))
        })
        .collect()
}

#[tokio::test]
async fn calls_attempts_and_limiter_waits_are_measured() {
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    global::set_meter_provider(provider.clone());

    let server = ReferenceServer::start().await;
    let unavailable = Action::Answer {
        status: http::StatusCode::SERVICE_UNAVAILABLE,
        headers: http::HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    server.service().faults().add(Rule::new(unavailable).on_request(Method::POST, "/emails"));
    let client = Client::builder()
        .base_url(server.base_url())
        .api_key(server.api_key())
        .retry(RetryPolicy::default().base_delay(Duration::from_millis(1)))
        .build()
        .unwrap();
    let email = Email::new("a@acme.test", "ada@example.com", "Hello").text("Works");
    client.emails().send(&email).await.unwrap();
    client.emails().get("49a3999c-0ce1-4ea6-ab68-afcd6dc2e794").await.unwrap_err();
    // A caller that stops waiting doesn't make the call a success.
    server
        .service()
        .faults()
        .add(Rule::new(Action::Delay(Duration::from_secs(5))).on_request(Method::GET, "/emails"));
    tokio::time::timeout(Duration::from_millis(300), client.emails().list()).await.unwrap_err();

    provider.force_flush().unwrap();
    let base: url::Url = server.base_url().parse().unwrap();
    let request = |method: &str, error: &str, status: u16, template: &str| {
        let error = if error.is_empty() { String::new() } else { format!("error.type={error} ") };
        let host =
            format!("server.address={} server.port={}", base.host_str().unwrap(), base.port().unwrap());
        let rest = format!("http.response.status_code={status} {host} url.template={template}");
        ("http.client.request.duration", format!("{error}http.request.method={method} {rest}"))
    };
    let (name, attributes) = request("GET", "canceled", 0, "/emails");
    let canceled_request = (name, attributes.replace("http.response.status_code=0 ", ""));
    let call = |name, attributes: &str| (name, attributes.to_owned());
    let (sent, missed) = ("idempost.operation=emails.send", "error.type=404 idempost.operation=emails.get");
    let canceled = "error.type=canceled idempost.operation=emails.list";
    let expected = [
        (canceled_request, 1),
        (call("idempost.call.attempts", canceled), 1),
        (call("idempost.call.duration", canceled), 1),
        (call("idempost.limiter.wait", "idempost.operation=emails.list"), 1),
        (request("GET", "404", 404, "/emails/{id}"), 1),
        (request("POST", "", 200, "/emails"), 1),
        (request("POST", "503", 503, "/emails"), 1),
        (call("idempost.call.attempts", missed), 1),
        (call("idempost.call.attempts", sent), 1),
        (call("idempost.call.duration", missed), 1),
        (call("idempost.call.duration", sent), 1),
        (call("idempost.limiter.wait", "idempost.operation=emails.get"), 1),
        (call("idempost.limiter.wait", sent), 2),
    ];
    let expected: Counts = expected
        .into_iter()
        .map(|((name, attributes), count)| ((name.to_owned(), attributes), count))
        .collect();
    assert_eq!(counts(&exporter.get_finished_metrics().unwrap()), expected);
}
