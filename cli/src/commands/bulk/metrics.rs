//! `--metrics-address`: the metrics of a running job, in the format of Prometheus.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use idempost_bulk::Counts;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::progress::Figures;
use crate::actions::http_server;
use crate::context::Context;
use crate::diagnostics::Fail;

/// The only path.
const PATH: &str = "/metrics";
/// The maximum number of open connections; others wait.
const MAX_CONNECTIONS: usize = 16;
/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The media type of the text format of Prometheus.
const TEXT_FORMAT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The metrics of one job, which are served until this is dropped.
pub(super) struct Metrics {
    job: String,
    text: Arc<Mutex<String>>,
    _serving: JoinSet<()>,
}

impl Metrics {
    /// Starts serving the metrics of a job.
    pub(super) async fn serve(address: SocketAddr, job: &str, context: &Context) -> Result<Self, Fail> {
        let failed = |error| Fail::local(format!("couldn't listen on {address}"), error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        context.out.note(&format!("metrics: http://{address}{PATH}"));
        let (text, mut serving) = (Arc::<Mutex<String>>::default(), JoinSet::new());
        let served = Arc::clone(&text);
        serving.spawn(http_server::serve(listener, MAX_CONNECTIONS, TIMEOUT, move |request| {
            std::future::ready(respond(&request, &served))
        }));
        Ok(Self { job: job.to_owned(), text, _serving: serving })
    }

    /// Replaces the figures.
    pub(super) fn set(&self, figures: &Figures) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = render_text(&self.job, figures);
    }
}

fn respond(request: &Request<Incoming>, text: &Mutex<String>) -> Response<Full<Bytes>> {
    let mut response = Response::<Full<Bytes>>::default();
    if request.uri().path() == PATH {
        let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *response.body_mut() = Full::from(body);
        response.headers_mut().insert(CONTENT_TYPE, TEXT_FORMAT);
    } else {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// The text format: a job's ID has no character that needs an escape.
fn render_text(job: &str, figures: &Figures) -> String {
    let Figures { state, requests_per_second, now } = figures;
    let Counts { sent, rejected, unknown, remaining } = now.counts;
    let emails = [("sent", sent), ("rejected", rejected), ("unknown", unknown), ("remaining", remaining)];
    let emails = emails.map(|(outcome, emails)| {
        format!("idempost_bulk_emails{{job=\"{job}\",outcome=\"{outcome}\"}} {emails}\n")
    });
    let running = u8::from(state == "running");
    let others = [
        ("requests_total", "counter", now.requests.to_string()),
        ("throttled_total", "counter", now.throttled.to_string()),
        ("requests_per_second", "gauge", requests_per_second.to_string()),
        ("running", "gauge", running.to_string()),
    ];
    let others = others.map(|(name, kind, value)| {
        format!("# TYPE idempost_bulk_{name} {kind}\nidempost_bulk_{name}{{job=\"{job}\"}} {value}\n")
    });
    format!("# TYPE idempost_bulk_emails gauge\n{}{}", emails.concat(), others.concat())
}
