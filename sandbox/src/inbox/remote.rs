//! Requests an email's remote images and links, only on a user's request and only from public addresses.

pub(super) mod images;
pub(super) mod links;

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Method, StatusCode, header};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::check::LinkState;
use idempost_reference_server::state::State;
use idempost_reference_server::state::http_clients::error_chain;
use idempost_reference_server::state::http_clients::public::{self, Networks, NotPublic};
use idempost_reference_server::wire::problem::Problem;

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
    /// `Broken` also if the content is invalid; `Skipped` if requests for this or other emails have used up the time.
    state: LinkState,
    reason: String,
}

impl Failure {
    /// Creates a failure with its URL, possibly a redirect's.
    fn new(url: &Url, state: LinkState, reason: &dyn std::fmt::Display) -> Self {
        Self { state, reason: format!("{:.200}: {reason}", url.as_str()) }
    }

    fn from_reqwest(url: &Url, error: &reqwest::Error) -> Self {
        let state = match NotPublic::from_error(error) {
            Some(_) => LinkState::NotPublic,
            None => LinkState::Unreachable,
        };
        Self::new(url, state, &error_chain(error))
    }
}

/// Rejects a request to fetch something remote if fetching is disabled.
pub(super) fn check_enabled(state: &State, what_fails: &str) -> Result<(), Problem> {
    if state.settings.fetch_remote {
        return Ok(());
    }
    let message = format!("{what_fails}, since fetching is disabled (`--no-fetch`).");
    Err(Problem::new(StatusCode::FORBIDDEN, "fetching_disabled", message))
}

/// Runs a task for each URL, several concurrently. Each task has a timeout, and so do all together. Dropping the result cancels them.
async fn run_for_each<T, F: Future<Output = Result<T, Failure>>>(
    state: &State,
    urls: &[Url],
    task: impl Fn(Remote, Url) -> F,
) -> Vec<(Url, Result<T, Failure>)> {
    let timeout = state.settings.remote_timeout;
    let deadline = Instant::now() + 3 * timeout;
    let all_failed = |state, reason: &str| {
        urls.iter().map(|url| (url.clone(), Err(Failure { state, reason: reason.to_owned() }))).collect()
    };
    let Ok(_permit) = timeout_at(deadline, state.http_clients.remote.acquire()).await else {
        return all_failed(LinkState::Skipped, "the requests of other emails took too long");
    };
    let client = match state.http_clients.client(Networks::Public) {
        Ok(client) => client,
        Err(error) => return all_failed(LinkState::Unreachable, &error_chain(&error)),
    };
    let remote = Remote { client, servers: state.settings.remote_servers.clone().into() };
    let limited = |url: &Url| {
        let (url, task) = (url.clone(), task(remote.clone(), url.clone()));
        async move {
            let own_deadline = Instant::now() + timeout;
            let (limit, state, most) = if own_deadline < deadline {
                (own_deadline, LinkState::Unreachable, timeout)
            } else {
                (deadline, LinkState::Skipped, 3 * timeout)
            };
            let timed_out =
                || Err(Failure { state, reason: format!("timed out after {} s", most.as_secs_f64()) });
            // A task must not start without time remaining.
            let result = if Instant::now() < limit { timeout_at(limit, task).await.ok() } else { None };
            (url, result.unwrap_or_else(timed_out))
        }
    };
    let tasks: Vec<_> = urls.iter().map(limited).collect();
    stream::iter(tasks).buffer_unordered(CONCURRENT).collect().await
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
                .map_err(|reason| Failure::new(&url, LinkState::NotPublic, &reason))?;
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
                state: LinkState::Broken,
                reason: "the redirect has no valid location".to_owned(),
            })?;
            is_insecure |= url.scheme() == "http";
        }
        let reason = format!("more than {MAX_REDIRECTS} redirects");
        Err(Failure { state: LinkState::Broken, reason })
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
