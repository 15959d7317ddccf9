//! The transport over the reqwest crate, which no other module uses.

mod download;
mod failure;
mod pool;
mod upload;

use std::{sync::OnceLock, time::Duration};

use self::{
    download::Chunks,
    pool::{Pool, Pooled, Unanswered},
};
use super::{
    BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind,
    TransportRequest, endpoint::is_loopback, proxy::ProxyVariables,
};

/// The default transport: reqwest with its connection pool.
///
/// Three of reqwest's defaults are disabled: redirects (a 307 would resend the body to another origin), its own retries (only the call knows whether
/// a retry is safe), and the environment's proxy for loopback addresses (which would leak a local service's credential).
///
/// While requests are in flight, an HTTP/2 connection is checked by pings. A connection on which a request got no response within its time limit
/// isn't used again.
///
/// Proxies are read from `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`, or their lowercase forms; `NO_PROXY` lists the exceptions: domains with their
/// subdomains (also as `*.example.com`) and addresses, both optionally with a port, networks, or `*`. If the value that applies to a request isn't
/// the URL of an HTTP proxy (or, with the feature `socks`, a SOCKS proxy), or if the proxy requires a password that the value lacks, the request
/// isn't sent and its call fails with [`Error::Settings`](crate::Error::Settings). If a proxy refuses the connection for another reason, the call
/// isn't retried.
///
/// One transport can serve a client, its session and an authorization server: wrap it in an [`Arc`](std::sync::Arc) and pass a clone to each.
///
/// ```
/// # #[cfg(feature = "rustls")]
/// # fn example(ca: reqwest::Certificate) -> idempost::Result<()> {
/// use std::sync::Arc;
///
/// use idempost::{Client, transport::ReqwestTransport};
///
/// let transport = Arc::new(ReqwestTransport::with_config(move |http| {
///     http.add_root_certificate(ca.clone()).pool_max_idle_per_host(4)
/// }));
/// let client = Client::builder()
///     .base_url("https://mail.internal")
///     .api_key("re_…")
///     .transport(Arc::clone(&transport))
///     .build();
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct ReqwestTransport {
    pools: [Pool; 8],
    proxy_variables: OnceLock<ProxyVariables>,
    configure: Option<Configure>,
    connect_timeout: Option<Duration>,
    proxy: Option<String>,
    /// A client built by the application, whose redirect policy is unknown.
    given: Option<reqwest::Client>,
}

/// The interval of HTTP/2 pings, and the time within which a peer has to reply.
const PING: Duration = Duration::from_secs(10);

type Configure = Box<dyn Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync>;

/// How the peer is reached. Loopback addresses are never proxied, and neither are addresses that `NO_PROXY` excludes with entries reqwest doesn't
/// support; plain http needs no certificates, which take as long to load as sending two hundred emails.
#[derive(Clone, Copy)]
enum Route {
    Remote,
    Direct,
    Loopback,
    LoopbackPlain,
}

impl Route {
    fn for_url(url: &url::Url) -> Self {
        match is_loopback(url) {
            false => Self::Remote,
            true if url.scheme() == "http" => Self::LoopbackPlain,
            true => Self::Loopback,
        }
    }
}

impl ReqwestTransport {
    /// Creates a transport with default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a transport with custom reqwest settings, such as a proxy, a CA, or connection pool limits. `configure` runs once per internal client
    /// (pooled or not, remote or loopback); redirects and retries are disabled afterwards. A malformed proxy variable in the environment is an error
    /// even if `configure` sets another proxy.
    pub fn with_config(
        configure: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static,
    ) -> Self {
        Self { configure: Some(Box::new(configure)), ..Self::default() }
    }

    /// Uses this proxy instead of the environment's: `http://`, `https://` or, with the feature `socks`, `socks5://`. Loopback addresses and the
    /// exceptions in `NO_PROXY` are still reached directly. With a malformed URL, calls fail with [`Error::Settings`](crate::Error::Settings).
    #[must_use]
    pub fn proxy(self, url: impl Into<String>) -> Self {
        let url = url.into();
        let variables = OnceLock::from(ProxyVariables::with_proxy(&url));
        Self { proxy: Some(url), proxy_variables: variables, ..self }
    }

    /// Returns the proxy used for requests to this URL, without its password, and the variable or setting that it comes from. `None` if requests are
    /// sent directly.
    ///
    /// Proxies set in [`with_config`](Self::with_config) are unknown here.
    pub fn proxy_for(&self, url: &url::Url) -> Option<(String, &'static str)> {
        let variables = self.proxy_variables.get_or_init(ProxyVariables::from_env);
        let (name, proxy) =
            variables.proxy_for(url).filter(|_| matches!(Route::for_url(url), Route::Remote))?;
        Some((proxy, name))
    }

    pub(crate) fn with_connect_timeout(limit: Duration) -> Self {
        Self { connect_timeout: Some(limit), ..Self::default() }
    }

    fn client(&self, url: &url::Url, new_connection: bool) -> Result<Pooled, TransportError> {
        if let Some(client) = &self.given {
            return Ok(Pooled::from_client(client.clone()));
        }
        let mut route = Route::for_url(url);
        if matches!(route, Route::Remote) {
            let variables = self.proxy_variables.get_or_init(ProxyVariables::from_env);
            variables.check(url).map_err(|error| {
                TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Settings).with_source(error)
            })?;
            if variables.excludes(url) {
                route = Route::Direct;
            }
        }
        let pool = &self.pools[2 * route as usize + usize::from(new_connection)];
        pool.get(|| self.build(route, new_connection)).map_err(|error| failure::build_error(&error))
    }

    /// Adds the proxy to the error of a request that got no connection.
    fn with_proxy(&self, error: TransportError, url: &url::Url) -> TransportError {
        if error.delivery() != RequestDelivery::NotSent {
            return error;
        }
        let variables = self.proxy_variables.get().filter(|_| matches!(Route::for_url(url), Route::Remote));
        let variable = variables.and_then(|variables| variables.proxy_for(url));
        failure::through_proxy(error, variable, self.configure.is_some() && self.proxy.is_none())
    }

    fn build(&self, route: Route, new_connection: bool) -> reqwest::Result<reqwest::Client> {
        #[cfg(feature = "rustls")]
        install_crypto_provider();
        let mut builder = reqwest::Client::builder()
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PING)
            .http2_keep_alive_timeout(PING)
            .connect_timeout(self.connect_timeout.unwrap_or(Duration::from_secs(10)));
        if matches!(route, Route::Direct) {
            builder = builder.no_proxy();
        }
        if let Some(configure) = &self.configure {
            builder = configure(builder);
        }
        if let (Some(proxy), Route::Remote) = (&self.proxy, route) {
            builder = builder.proxy(reqwest::Proxy::all(proxy)?.no_proxy(reqwest::NoProxy::from_env()));
        }
        builder =
            builder.redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).referer(false);
        if matches!(route, Route::Loopback | Route::LoopbackPlain) {
            builder = builder.no_proxy();
        }
        #[cfg(any(feature = "rustls", feature = "rustls-no-provider"))]
        if matches!(route, Route::LoopbackPlain) {
            builder = builder.tls_certs_only([]);
        }
        if new_connection {
            builder = builder.http1_only().pool_max_idle_per_host(0);
        }
        builder.build()
    }
}

/// Installs ring as the process's default cryptography provider for rustls, unless the application has already installed one.
///
/// The transport calls it before it builds its first client. An application that builds its own `reqwest` or rustls clients without a provider should
/// call it at startup.
#[cfg(feature = "rustls")]
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Fails only if another thread was faster, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// Uses an existing client. Redirects and retries must be disabled; a response from a URL other than the requested one is reported as an error. Token
/// requests require a new connection, which such a client opens only if its pool is empty: prefer [`with_config`](ReqwestTransport::with_config) for
/// sessions.
impl From<reqwest::Client> for ReqwestTransport {
    fn from(client: reqwest::Client) -> Self {
        Self { given: Some(client), ..Self::default() }
    }
}

partial_debug!(ReqwestTransport = "ReqwestTransport");

impl Transport for ReqwestTransport {
    fn send(
        &self,
        mut request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let pooled = self.client(&request.url, request.new_connection)?;
            let idle = request.idle_timeout;
            let answer = {
                let unanswered = Unanswered::new(&pooled);
                let answer = upload::send(pooled.client(), &mut request).await;
                if answer.as_ref().err().is_none_or(|error| error.kind() != TransportErrorKind::Timeout) {
                    unanswered.finish();
                }
                answer
            };
            let mut response = answer.map_err(|error| self.with_proxy(error, &request.url))?;
            if self.given.is_some() && request.url != *response.url() {
                return Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Other)
                    .with_source(
                        "the given reqwest client follows redirects; build it with `Policy::none()`",
                    ));
            }
            let mut head = http::Response::new(());
            *head.status_mut() = response.status();
            std::mem::swap(head.headers_mut(), response.headers_mut());
            Ok(head.map(|()| ResponseBody::stream(Chunks::new(response, pooled, idle))))
        })
    }
}

fn idle_timeout_error() -> TransportError {
    TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout)
}
