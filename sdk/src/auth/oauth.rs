//! The authorization server, as a program that logs somebody in sees it: where to send the browser, where to get tokens.
//!
//! The authorization code flow with PKCE (RFC 6749, 7636, 8252; `SPEC.md`, GET /oauth/authorize and POST /oauth/token), over the same
//! [`Transport`] as every call. Requests are made by the oauth2 crate; answers are judged here, because a token answer that is
//! odd in one field may still hold the only good refresh token.

mod authorize;
mod http;
mod metadata;
mod register;
mod token;
mod token_response;

use std::{fmt, sync::Arc};

use url::Url;

pub use self::{
    authorize::{AuthorizationCode, AuthorizationRequest, AuthorizationRequestBuilder},
    register::{NewOAuthClient, OAuthClient},
};
pub(crate) use self::{http::Wire, token::HttpTokenEndpoint};
use crate::{
    error::Result,
    transport::{
        Transport,
        endpoint::{self, origin},
    },
};

open_enum! {
    /// What an access token may do (`SPEC.md`, Authentication 3).
    Scope {
        /// Every route.
        FullAccess = "full_access",
        /// The routes that send an email, and the one that sends a broadcast.
        EmailsSend = "emails:send",
    }
}

/// The service's authorization server: its endpoints, and whom the tokens are for.
///
/// ```no_run
/// # async fn example() -> posthaste::Result<()> {
/// use std::time::Duration;
///
/// use posthaste::{
///     Client,
///     auth::{AuthorizationServer, RedirectListener, MemoryStore, Scope, Session},
/// };
///
/// let server = AuthorizationServer::of("https://api.example.com")?;
/// let receiver = RedirectListener::bind().await?;
/// let authorization = server.authorize("client_123", receiver.redirect_uri()).scope(Scope::EmailsSend).begin()?;
/// println!("Open {} in your browser.", authorization.url());
///
/// let code = receiver.wait(&authorization, Duration::from_secs(300)).await?;
/// let tokens = server.exchange(&authorization, &code).await?;
/// let session = Session::start(MemoryStore::new(), tokens).await?;
/// let client = Client::builder().base_url("https://api.example.com").session(session).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AuthorizationServer {
    pub(crate) issuer: Option<String>,
    /// Whether every redirect names the issuer (RFC 9207), so that one that doesn't is not from this server.
    pub(crate) names_itself: bool,
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) revocation: Option<Url>,
    pub(crate) registration: Option<Url>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) origin: String,
    pub(crate) wire: Wire,
}

impl AuthorizationServer {
    /// The endpoints at the paths of the specification: `/oauth/authorize`, `/oauth/token`, `/oauth/revoke`, `/oauth/register` behind
    /// the service's address. (The specification names the first two; the others are where the public service has them.)
    ///
    /// # Errors
    /// The address is not one that a client would take. The network is not touched.
    pub fn of(base_url: &str) -> Result<Self> {
        let base = endpoint::address(base_url)?;
        let at = |path: &str| {
            let mut url = base.clone();
            url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
            url
        };
        Ok(Self {
            issuer: None,
            names_itself: false,
            authorization: at("/oauth/authorize"),
            token: at("/oauth/token"),
            revocation: Some(at("/oauth/revoke")),
            registration: Some(at("/oauth/register")),
            scopes: vec![Scope::FullAccess, Scope::EmailsSend],
            origin: origin(&base),
            wire: Wire::default(),
        })
    }

    /// Says which API the tokens are for, if it lives elsewhere than the authorization server. Tokens are sent to that origin and no other.
    ///
    /// # Errors
    /// The address is not one that a client would take.
    pub fn for_api(mut self, base_url: &str) -> Result<Self> {
        self.origin = origin(&endpoint::address(base_url)?);
        Ok(self)
    }

    /// Sends over the application's own HTTP stack. It must open a fresh connection for each request: an idle one that breaks can lose the
    /// answer to a refresh.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.wire = Wire::over(Arc::new(transport));
        self
    }

    /// The issuer's name, if the server's metadata told it.
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// The scopes that the server says it has.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Whether programs can register by themselves.
    pub fn registers(&self) -> bool {
        self.registration.is_some()
    }

    /// The origin that the tokens are for.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

impl fmt::Debug for AuthorizationServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationServer")
            .field("issuer", &self.issuer)
            .field("authorization", &self.authorization.as_str())
            .field("token", &self.token.as_str())
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
