//! The credential of a client, and the `Authorization` header derived from it.

use std::sync::Arc;

use http::HeaderValue;
use url::Url;

use super::fingerprint;
#[cfg(feature = "oauth")]
use super::session::Session;
#[cfg(feature = "oauth")]
pub(crate) use super::session::Token;
use crate::{
    clock::Instant,
    error::{ApiError, AuthError},
    transport::Transport,
    types::{AccessToken, ApiKey, TokenClaims},
};

/// An uninhabited type: without sessions, no credential can be refreshed.
#[cfg(not(feature = "oauth"))]
#[derive(Clone)]
pub(crate) enum Token {}

/// The credential of a client.
#[derive(Clone)]
pub(crate) enum Credentials {
    /// A fixed header for all calls.
    Fixed(HeaderValue),
    /// A session, and the origin of the client's base URL.
    #[cfg(feature = "oauth")]
    Session(Session, String),
}

/// The authorization of one attempt.
pub(crate) struct Authorized {
    /// The value of the `Authorization` header.
    pub(crate) header: HeaderValue,
    /// The header's access token, if a 401 should lead to a refresh.
    pub(crate) token: Option<Token>,
}

/// An access token that the API rejected with a 401, and that response.
pub(crate) struct Rejected {
    pub(crate) token: Token,
    pub(crate) response: ApiError,
}

impl Credentials {
    #[expect(clippy::needless_pass_by_value, reason = "the secret's memory is zeroed here")]
    pub(crate) fn api_key(key: ApiKey) -> Self {
        Self::Fixed(key.header())
    }

    #[expect(clippy::needless_pass_by_value, reason = "the secret's memory is zeroed here")]
    pub(crate) fn access_token(token: AccessToken) -> Self {
        Self::Fixed(token.header())
    }

    #[cfg(feature = "oauth")]
    pub(crate) fn session(session: Session) -> Self {
        Self::Session(session, String::new())
    }

    /// Binds a session to the origin of the base URL, and provides it with the client's transport unless it has its own.
    pub(crate) fn for_client(self, base_url: &Url, transport: &Arc<dyn Transport>) -> Self {
        #[cfg(feature = "oauth")]
        if let Self::Session(session, _) = self {
            session.inherit_transport(transport);
            return Self::Session(session, crate::transport::endpoint::origin(base_url));
        }
        let _ = (base_url, transport);
        self
    }

    /// Returns the credential for the next attempt. Waits for a refresh until `deadline` at the latest; the refresh itself continues in the
    /// background.
    ///
    /// After the first 401 of a call, `rejected` is the rejected token; the result is then a different token, or an error with the response.
    #[cfg_attr(not(feature = "oauth"), expect(clippy::unused_async, reason = "only a session waits"))]
    pub(crate) async fn authorize(
        &self,
        deadline: Option<Instant>,
        rejected: Option<Rejected>,
    ) -> Result<Authorized, Arc<AuthError>> {
        match self {
            Self::Fixed(header) => {
                let _ = (deadline, rejected);
                Ok(Authorized { header: header.clone(), token: None })
            }
            #[cfg(feature = "oauth")]
            Self::Session(session, origin) => {
                if let Some(Rejected { token, response }) = rejected {
                    session.reject(&token).map_err(|error| error.with_response(response))?;
                }
                let token = session.token_for(origin, deadline).await?;
                let header = token.header.clone().ok_or(AuthError::NoAccessToken)?;
                Ok(Authorized { header, token: Some(token) })
            }
        }
    }

    /// Returns the fingerprint of the account: see [`Client::account_fingerprint`](crate::Client::account_fingerprint).
    #[cfg_attr(not(feature = "oauth"), expect(clippy::unused_async, reason = "only a session waits"))]
    pub(crate) async fn account_fingerprint(&self, salt: &[u8]) -> crate::error::Result<Option<String>> {
        let of_subject = |token: &str| {
            TokenClaims::from_token(token)?
                .subject
                .map(|subject| fingerprint::compute(salt, "subject", &subject))
        };
        match self {
            Self::Fixed(header) => {
                let value = header.to_str().unwrap_or_default();
                let secret = value.strip_prefix("Bearer ").unwrap_or(value);
                Ok(of_subject(secret).or_else(|| Some(fingerprint::compute(salt, "secret", secret))))
            }
            #[cfg(feature = "oauth")]
            Self::Session(session, _) => {
                let record = session.record().await?.ok_or(AuthError::LoggedOut)?;
                let token = match record.access_token {
                    // Even an expired token identifies its account.
                    Some(token) => token,
                    None => session.access_token().await?,
                };
                Ok(of_subject(token.expose()))
            }
        }
    }

    /// Records that the API rejected a token: the next call requests another one.
    pub(crate) fn reject(&self, token: &Token) {
        match self {
            Self::Fixed(_) => {}
            // The rejection of a new token is reported when the next one is requested.
            #[cfg(feature = "oauth")]
            Self::Session(session, _) => drop(session.reject(token)),
        }
        let _ = token;
    }

    /// Returns the error for the second 401 of a call: the token was new, so further calls with it don't request another refresh.
    pub(crate) fn give_up(&self, rejected: Rejected) -> AuthError {
        match self {
            Self::Fixed(_) => {}
            #[cfg(feature = "oauth")]
            Self::Session(session, _) => session.reject_fresh(&rejected.token),
        }
        AuthError::TokenRejected { response: None }.with_response(rejected.response)
    }
}

partial_debug!(Credentials = "Credentials([redacted])");
