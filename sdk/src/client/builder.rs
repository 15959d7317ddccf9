//! Client settings.

mod environment;

use std::{sync::Arc, time::Duration};

use super::handle::Client;
use crate::{
    auth::Credentials,
    call::{Budget, Core, IDEMPOTENCY_KEY, Limiter, RESERVED_HEADERS, RateLimit, RetryPolicy},
    error::Result,
    problem::{SettingsError, mask_credentials},
    transport::{Transport, endpoint::base_url},
    types::{AccessToken, ApiKey, RecipientGuard},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The default maximum size of a response body, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// The default of [`ClientBuilder::connect_timeout`].
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Headers that can be set for a single call, but not for all calls.
const PER_CALL_HEADERS: [HeaderName; 3] = [header::USER_AGENT, header::CONTENT_TYPE, IDEMPOTENCY_KEY];

impl Client {
    /// Creates a client for the service at `base_url`, with an API key and default settings.
    ///
    /// # Errors
    /// The URL or the key is malformed.
    pub fn new(base_url: &str, api_key: &str) -> Result<Self> {
        Self::builder().base_url(base_url).api_key(api_key).build()
    }

    /// The base URL of Resend's API.
    pub const RESEND_BASE_URL: &str = "https://api.resend.com";

    /// Creates a client for Resend, with an API key and default settings.
    ///
    /// # Errors
    /// The key is malformed.
    pub fn resend(api_key: &str) -> Result<Self> {
        Self::new(Self::RESEND_BASE_URL, api_key)
    }

    /// Returns a builder for a client with custom settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

/// Builds a [`Client`]; [`build`](Self::build) validates all settings.
#[must_use]
pub struct ClientBuilder {
    base_url: Option<Result<String, SettingsError>>,
    /// The name of the base URL in errors: `base_url`, or the variable that it comes from.
    base_url_setting: &'static str,
    credentials: Option<Result<Credentials, SettingsError>>,
    user_agent: Option<String>,
    default_headers: Vec<(String, String)>,
    timeout: Option<Duration>,
    attempt_timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    idle_timeout: Duration,
    response_limit: usize,
    allow_plain_http: bool,
    retry: RetryPolicy,
    rate_limit: RateLimit,
    transport: Option<Arc<dyn Transport>>,
    recipients: RecipientGuard,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            base_url: None,
            base_url_setting: "base_url",
            credentials: None,
            user_agent: None,
            default_headers: Vec::new(),
            timeout: None,
            attempt_timeout: None,
            connect_timeout: None,
            idle_timeout: Duration::from_secs(30),
            response_limit: MAX_RESPONSE_BYTES,
            allow_plain_http: false,
            retry: RetryPolicy::default(),
            rate_limit: RateLimit::default(),
            transport: None,
            recipients: RecipientGuard::default(),
        }
    }
}

impl ClientBuilder {
    /// Sets the service's base URL (required): `https`, or `http` for a loopback address. It may have a path prefix.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        (self.base_url, self.base_url_setting) = (Some(Ok(url.into())), "base_url");
        self
    }

    /// Authenticates with an API key.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.credentials = Some(ApiKey::new(key).map(Credentials::api_key));
        self
    }

    /// Authenticates with a fixed OAuth access token, which is never refreshed.
    pub fn access_token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Some(AccessToken::new(token).map(Credentials::access_token));
        self
    }

    /// Authenticates with an OAuth session, whose access token is refreshed on demand. The session must belong to the origin of the base URL: its
    /// tokens are sent nowhere else ([`AuthError::OriginMismatch`](crate::auth::AuthError::OriginMismatch)). It refreshes over the client's
    /// [transport](Self::transport), unless it [has its own](crate::auth::SessionBuilder::transport) or an earlier client's.
    #[cfg(feature = "oauth")]
    pub fn session(mut self, session: crate::auth::Session) -> Self {
        self.credentials = Some(Ok(Credentials::session(session)));
        self
    }

    /// Adds a header to all requests to the service, such as a header required by a gateway. [`Call::header`](crate::Call::header) overrides it for
    /// one call. The client doesn't send it to download URLs, which may be on another host.
    ///
    /// [`build`](Self::build) rejects names and values that HTTP doesn't allow, and headers that the client sets itself.
    pub fn default_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.default_headers.push((name.into(), value.into()));
        self
    }

    setters! {
        /// Sets the application's product token, such as `acme-shop/1.2`, which precedes the client's own product token in `User-Agent`.
        user_agent: String;
        /// Sets the timeout of each call, including all attempts and retry delays. Default: 60 s plus 1 s for each 64 KiB of body.
        timeout(Duration);
        /// Sets the timeout of each attempt, from its request to the end of its response. Default: the call's [`timeout`](Self::timeout).
        attempt_timeout(Duration);
        /// Sets the timeout for connecting. Default: 5 s. Can't be combined with [`transport`](Self::transport), since a custom transport has its own.
        #[cfg(not(target_family = "wasm"))]
        connect_timeout(Duration);
        /// Sets the idle timeout: the maximum time during an attempt without progress in sending the body or receiving the response. Default: 30 s.
        idle_timeout(Duration);
        /// Sets the maximum size of a successful response body after decompression, in bytes. Default: 64 MiB. Streamed downloads have no limit.
        response_limit(usize);
        /// Allows `http` for hosts that are not loopback. Credentials and emails are then transmitted unencrypted.
        allow_plain_http = true => allow_plain_http;
        /// Sets the retry policy.
        retry(RetryPolicy);
        /// Sets the rate limit.
        rate_limit(RateLimit);
        /// Restricts the recipients of everything that the client sends.
        recipient_guard(RecipientGuard) => recipients;
    }

    /// Sends requests over a custom transport, such as the application's own HTTP stack or a
    /// [`ReqwestTransport`](crate::transport::ReqwestTransport) with a proxy or certificates. The session uses it too, unless it has its own.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    /// The first missing or invalid setting, by name. Nothing is sent.
    pub fn build(self) -> Result<Client> {
        let given = self.base_url.transpose()?.unwrap_or_default();
        let base_url = base_url(&given, self.allow_plain_http)
            .map_err(|error| SettingsError { setting: self.base_url_setting.to_owned(), ..error })?;
        let credentials = self.credentials.ok_or_else(|| {
            SettingsError::new("api_key", "is missing; set an API key, an access token or a session")
        })??;
        for (setting, limit) in [
            ("timeout", self.timeout),
            ("attempt_timeout", self.attempt_timeout),
            ("connect_timeout", self.connect_timeout),
            ("idle_timeout", Some(self.idle_timeout)),
        ] {
            if limit.is_some_and(|limit| limit.is_zero()) {
                return Err(SettingsError::new(setting, "must be greater than zero").with_value("0").into());
            }
        }
        self.rate_limit.validate()?;
        let transport = match (self.transport, self.connect_timeout) {
            (Some(_), Some(_)) => {
                let rule = "must be set on the transport passed to the client";
                return Err(SettingsError::new("connect_timeout", rule).into());
            }
            (Some(transport), None) => transport,
            (None, limit) => default_transport(limit.unwrap_or(CONNECT_TIMEOUT))?,
        };
        let core = Core {
            credentials: credentials.for_client(&base_url, &transport),
            #[cfg(feature = "otel")]
            metrics: crate::call::Metrics::new(),
            base_url,
            headers: common_headers(self.user_agent.as_deref(), &self.default_headers)?,
            transport,
            timeout: self.timeout,
            attempt_timeout: self.attempt_timeout,
            idle_timeout: self.idle_timeout,
            response_limit: self.response_limit,
            budget: Budget::new(&self.retry),
            retry: self.retry,
            limiter: Limiter::new(self.rate_limit),
            recipients: self.recipients,
        };
        Ok(Client { core: Arc::new(core) })
    }
}

partial_debug! {
    /// `Debug` prints only the base URL, without a password.
    ClientBuilder { base_url = [base_url.as_ref().and_then(|url| Some(mask_credentials(url.as_ref().ok()?)))] }
}

#[cfg(feature = "reqwest")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature there is no default transport")]
fn default_transport(connect: Duration) -> Result<Arc<dyn Transport>, SettingsError> {
    Ok(Arc::new(crate::transport::ReqwestTransport::with_connect_timeout(connect)))
}

#[cfg(not(feature = "reqwest"))]
fn default_transport(_: Duration) -> Result<Arc<dyn Transport>, SettingsError> {
    Err(SettingsError::new(
        "transport",
        "is missing; without the feature `reqwest` the application must provide one",
    ))
}

fn common_headers(product: Option<&str>, more: &[(String, String)]) -> Result<HeaderMap, SettingsError> {
    let own = concat!("idempost/", env!("CARGO_PKG_VERSION"));
    let agent = product.map_or_else(|| own.to_owned(), |product| format!("{product} {own}"));
    let agent = HeaderValue::try_from(agent).map_err(|_| {
        SettingsError::new("user_agent", "must contain only visible ASCII characters")
            .with_value(format!("{product:?}"))
    })?;
    let json = HeaderValue::from_static("application/json");
    let mut headers = HeaderMap::from_iter([(header::USER_AGENT, agent), (header::ACCEPT, json)]);
    for (name, value) in more {
        let wrong = |rule: &str| SettingsError::new("default_header", rule).with_value(format!("{name:?}"));
        let parsed = HeaderName::try_from(name).map_err(|_| wrong("must have a valid HTTP header name"))?;
        if RESERVED_HEADERS.contains(&parsed) || PER_CALL_HEADERS.contains(&parsed) {
            return Err(wrong("must not be a header that the client sets itself"));
        }
        // A value can be a credential, so neither errors nor `Debug` show it.
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| wrong("must have a value of visible ASCII characters"))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

#[cfg(feature = "reqwest")]
#[cfg(test)]
mod tests {
    use super::*;

    fn rejection_message(url: &str) -> String {
        Client::new(url, "re_x").unwrap_err().to_string()
    }

    #[test]
    fn an_unsafe_base_url_is_rejected() {
        //
        for url in [
            "",
            "api.example.com",
            "/api",
            "ftp://api.example.com",
            "http://api.example.com",
            "http://127.0.0.1.example.com",
            "https://user:secret@api.example.com",
            "https://user:secret@api.example.com:99999",
            "https://user:secret@api.example.com with a space",
            "https://api.example.com/?a=b",
            "https://api.example.com/#x",
        ] {
            let error = rejection_message(url);
            assert!(error.starts_with("base_url "), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
            let builder = Client::builder().base_url(url);
            assert!(!format!("{builder:?}").contains("secret"), "{builder:?}");
        }
        assert!(format!("{:?}", Client::builder().base_url("https://a.test")).contains("https://a.test"));
    }

    #[test]
    fn path_prefixes_slashes_and_ip_literals_are_preserved() {
        // GEN-12, GEN-30, A-47
        for (url, base) in [
            ("https://api.example.com", "https://api.example.com"),
            ("https://api.example.com/", "https://api.example.com"),
            ("https://api.example.com/mail/v1/", "https://api.example.com/mail/v1"),
            ("http://127.0.0.1:4010", "http://127.0.0.1:4010"),
            ("http://[::1]:4010/", "http://[::1]:4010"),
            ("http://localhost:4010", "http://localhost:4010"),
        ] {
            let preview =
                Client::new(url, "re_x").unwrap().request(http::Method::GET, "/x").preview().unwrap();
            assert_eq!(preview.url().as_str(), format!("{base}/x"));
        }
    }

    #[test]
    fn a_zero_timeout_is_rejected_and_an_infinite_one_is_not() {
        //
        let base = || Client::builder().base_url("http://127.0.0.1:1").api_key("re_x");
        assert!(base().timeout(Duration::ZERO).build().is_err());
        assert!(base().timeout(Duration::MAX).attempt_timeout(Duration::MAX).build().is_ok());
    }

    #[test]
    fn a_default_header_is_sent_with_every_request_and_its_value_is_never_shown() {
        let base = || Client::builder().base_url("http://127.0.0.1:1").api_key("re_x");
        let client = base().default_header("x-gateway", "sentinel").build().unwrap();
        let preview = client.request(http::Method::GET, "/x").preview().unwrap();
        assert_eq!(preview.headers()["x-gateway"], "sentinel");
        assert!(!format!("{:?}", preview.headers()).contains("sentinel"));
        let own = client.request(http::Method::GET, "/x").header("x-gateway", "own").preview().unwrap();
        assert_eq!(own.headers()["x-gateway"], "own");
        for (name, value) in
            [("a b", "x"), ("x", "sentinel\n"), ("Authorization", "x"), ("Idempotency-Key", "x"), ("", "x")]
        {
            let error = base().default_header(name, value).build().unwrap_err().to_string();
            assert!(error.starts_with("default_header ") && !error.contains("sentinel"), "{error}");
        }
    }

    #[test]
    fn debug_of_a_client_shows_no_secret() {
        // AUTH-08
        let builder = Client::builder().base_url("http://127.0.0.1:1").api_key("re_sentinel");
        assert!(!format!("{builder:?}").contains("sentinel"));
        assert!(!format!("{:?}", builder.build().unwrap()).contains("sentinel"));
    }
}
