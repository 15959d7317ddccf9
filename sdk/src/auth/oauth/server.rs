//! The authorization server's endpoints.

use url::Url;

use super::http::HttpClient;
use crate::{
    auth::scope::Scope,
    error::Result,
    transport::{
        Transport,
        endpoint::{self, origin},
    },
};

/// The authorization server of a service: its endpoints, and the origin that its tokens are bound to.
///
/// ```no_run
/// # async fn example() -> idempost::Result<()> {
/// use std::time::Duration;
///
/// use idempost::{
///     Client,
///     auth::{AuthorizationServer, FileStore, RedirectListener, Scope, Session},
/// };
///
/// let server = AuthorizationServer::new("https://api.example.com")?;
/// let receiver = RedirectListener::bind().await?;
/// let authorization = server.authorize("client_123", receiver.redirect_uri()).scope(Scope::EmailsSend).build()?;
/// println!("Open {} in your browser.", authorization.url());
///
/// let code = receiver.wait(&authorization, Duration::from_secs(300)).await?;
/// let tokens = server.exchange(&authorization, &code).await?;
/// let session = Session::start(FileStore::new("/var/lib/shop/login"), &tokens).await?;
/// let client = Client::builder().base_url("https://api.example.com").session(session).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AuthorizationServer {
    pub(crate) issuer: Option<String>,
    /// Whether every redirect contains the issuer (RFC 9207), so that a redirect without it isn't from this server.
    pub(crate) issuer_in_redirect: bool,
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) revocation: Option<Url>,
    pub(crate) registration: Option<Url>,
    pub(crate) device_authorization: Option<Url>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) origin: String,
    pub(crate) http: HttpClient,
}

impl AuthorizationServer {
    /// Creates a server with the endpoints of the specification: `/oauth/authorize`, `/oauth/token`, `/oauth/revoke` and `/oauth/register` below the
    /// base URL. (The specification names the first two; the others are Resend's.)
    ///
    /// # Errors
    /// The URL is not a valid base URL. Nothing is sent.
    pub fn new(base_url: &str) -> Result<Self> {
        let base = endpoint::parse_secure_url(base_url)?;
        let at = |path: &str| {
            let mut url = base.clone();
            url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
            url
        };
        Ok(Self {
            issuer: None,
            issuer_in_redirect: false,
            authorization: at("/oauth/authorize"),
            token: at("/oauth/token"),
            revocation: Some(at("/oauth/revoke")),
            registration: Some(at("/oauth/register")),
            device_authorization: None,
            scopes: vec![Scope::FullAccess, Scope::EmailsSend],
            origin: origin(&base),
            http: HttpClient::default(),
        })
    }

    /// Binds the tokens to an API at a different origin. They are sent only to that origin.
    ///
    /// # Errors
    /// The URL is not a valid base URL.
    pub fn for_api(mut self, base_url: &str) -> Result<Self> {
        self.origin = origin(&endpoint::parse_secure_url(base_url)?);
        Ok(self)
    }

    /// Sets the transport. Default: reqwest with default settings, even if a client has another transport, since the login takes place before the
    /// client exists. To share one transport with a client, wrap it in an [`Arc`](std::sync::Arc). Token requests require a [new
    /// connection](crate::transport::TransportRequest::new_connection).
    #[must_use]
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.http = HttpClient::new(transport);
        self
    }

    /// Returns the issuer, if the server was discovered through its metadata.
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// Returns the scopes that the server supports.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Returns whether the server supports client registration.
    pub fn supports_registration(&self) -> bool {
        self.registration.is_some()
    }

    /// Returns whether the server offers the device flow ([`authorize_device`](Self::authorize_device)).
    pub fn supports_device_flow(&self) -> bool {
        self.device_authorization.is_some()
    }

    /// Returns the origin that the tokens are bound to.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

partial_debug!(AuthorizationServer {
    issuer, authorization = [authorization.as_str()], token = [token.as_str()], origin
});
