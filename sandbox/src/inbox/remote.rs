//! Requests an email's remote images and links, only on a user's request and only from public addresses.

pub(super) mod images;
pub(super) mod links;

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderValue, Method, StatusCode, header};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use url::Url;

use idempost_reference_server::state::State;
use idempost_reference_server::state::http_clients::error_chain;
use idempost_reference_server::state::http_clients::public::{self, Networks, NotPublic};

/// The number of concurrent requests per email.
const CONCURRENT: usize = 6;
const MAX_REDIRECTS: usize = 5;

/// Requests public addresses.
#[derive(Clone)]
struct Remote {
    client: reqwest::Client,
    servers: Arc<[SocketAddr]>,
}

/// A final response, after all redirects.
struct Fetched {
    response: reqwest::Response,
    /// Whether a redirect led to an `http:` URL.
    is_insecure: bool,
}

/// The reason why there is no response.
#[derive(Debug)]
struct Failure {
    kind: FailureKind,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureKind {
    /// The URL or a redirect's isn't public.
    NotPublic,
    Unreachable,
    /// The response is invalid: its redirect or its content.
    Broken,
    /// Requests for this or other emails have used up the time.
    NoTime,
}

impl Failure {
    /// Creates a failure with its URL, possibly a redirect's.
    fn new(url: &Url, kind: FailureKind, reason: &dyn std::fmt::Display) -> Self {
        Self { kind, reason: format!("{:.200}: {reason}", url.as_str()) }
    }

    fn from_reqwest(url: &Url, error: &reqwest::Error) -> Self {
        let kind = match NotPublic::from_error(error) {
            Some(_) => FailureKind::NotPublic,
            None => FailureKind::Unreachable,
        };
        Self::new(url, kind, &error_chain(error))
    }
}

/// Runs a task for each URL, several concurrently. Each task has a timeout, and so do all together. Dropping the result cancels them.
async fn run_for_each<T: Send + 'static, F>(
    state: &State,
    urls: &[Url],
    task: impl Fn(Remote, Url) -> F,
) -> Vec<(Url, Result<T, Failure>)>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let timeout = state.settings.remote_timeout;
    let deadline = Instant::now() + 3 * timeout;
    let all_failed = |kind, reason: &str| {
        urls.iter().map(|url| (url.clone(), Err(Failure { kind, reason: reason.to_owned() }))).collect()
    };
    let Ok(_permit) = timeout_at(deadline, state.http_clients.remote.acquire()).await else {
        return all_failed(FailureKind::NoTime, "the requests of other emails took too long");
    };
    let client = match state.http_clients.client(Networks::Public) {
        Ok(client) => client,
        Err(error) => return all_failed(FailureKind::Unreachable, &error_chain(&error)),
    };
    let remote = Remote { client, servers: state.settings.remote_servers.clone().into() };
    let (mut results, mut running) = (Vec::with_capacity(urls.len()), JoinSet::new());
    for url in urls {
        if running.len() == CONCURRENT {
            results.extend(running.join_next().await.and_then(Result::ok));
        }
        let (url, task, own_deadline) =
            (url.clone(), task(remote.clone(), url.clone()), Instant::now() + timeout);
        running.spawn(async move {
            let (limit, kind, most) = if own_deadline < deadline {
                (own_deadline, FailureKind::Unreachable, timeout)
            } else {
                (deadline, FailureKind::NoTime, 3 * timeout)
            };
            let timed_out =
                || Err(Failure { kind, reason: format!("timed out after {} s", most.as_secs_f64()) });
            // A task must not start without time remaining.
            let result = if Instant::now() < limit { timeout_at(limit, task).await.ok() } else { None };
            (url, result.unwrap_or_else(timed_out))
        });
    }
    while let Some(result) = running.join_next().await {
        results.extend(result.ok());
    }
    results
}

impl Remote {
    /// Requests a URL with the first method, or the next one if the server doesn't support it. Every redirect is checked like the original URL.
    async fn follow(
        &self,
        mut url: Url,
        methods: &[Method],
        accept: HeaderValue,
    ) -> Result<Fetched, Failure> {
        let mut is_insecure = false;
        for _ in 0..=MAX_REDIRECTS {
            public::check(&url, &self.servers)
                .map_err(|reason| Failure::new(&url, FailureKind::NotPublic, &reason))?;
            let response = self
                .request(&url, methods, &accept)
                .await
                .map_err(|error| Failure::from_reqwest(&url, &error))?;
            if !response.status().is_redirection() {
                return Ok(Fetched { response, is_insecure });
            }
            let location =
                response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
            let location = location.and_then(|location| url.join(location).ok());
            url = location.ok_or_else(|| Failure {
                kind: FailureKind::Broken,
                reason: "the redirect has no valid location".to_owned(),
            })?;
            is_insecure |= url.scheme() == "http";
        }
        let reason = format!("more than {MAX_REDIRECTS} redirects");
        Err(Failure { kind: FailureKind::Broken, reason })
    }

    async fn request(
        &self,
        url: &Url,
        methods: &[Method],
        accept: &HeaderValue,
    ) -> reqwest::Result<reqwest::Response> {
        let mut methods = methods.iter().cloned();
        let mut method = methods.next().unwrap_or_default();
        loop {
            let request = self.client.request(method, url.clone()).header(header::ACCEPT, accept);
            let response = request.send().await?;
            let is_unsupported =
                matches!(response.status(), StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED);
            match methods.next().filter(|_| is_unsupported) {
                Some(next) => method = next,
                None => return Ok(response),
            }
        }
    }
}
