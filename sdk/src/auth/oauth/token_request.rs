//! Requests to the token and revocation endpoints (`docs/specification.md`, POST /oauth/token; RFC 7009).
//!
//! The forms are built here rather than by the oauth2 crate, which discards any response that it can't parse completely, and with it possibly the
//! only copy of a refresh token.

use std::time::SystemTime;

use url::Url;

use super::{
    authorization::{AuthorizationCode, AuthorizationRequest, Exchange},
    http::HttpClient,
    server::AuthorizationServer,
    token_response::{classify, rejection},
};
use crate::{
    auth::{record::TokenRecord, token_endpoint::RefreshOutcome},
    clock::{self, spawn},
    error::{AuthError, Result},
    transport::{RequestDelivery, TransportError, TransportErrorKind, endpoint},
};

/// Why an exchange has no outcome: its runtime ended, or it panicked.
pub(super) const INTERRUPTED: &str = "the exchange was interrupted";

/// The outcome of one request for the tokens of a login, and when it was sent.
pub(super) struct Requested {
    pub(super) outcome: RefreshOutcome,
    pub(super) obtained_at: SystemTime,
}

impl AuthorizationServer {
    /// Exchanges an authorization code for tokens. Once sent, the request is never retried, since a code can be used only once. Dropping the future
    /// doesn't stop the request: another exchange of the same code, or of its clone, returns the outcome.
    ///
    /// # Errors
    /// [`AuthError::Rejected`] if the server rejects the code. [`AuthError::Unreachable`] if the request was not sent, and
    /// [`AuthError::NotOAuthEndpoint`] if another server responded: the same code can be tried again.
    /// [`AuthError::CodeLost`] if the response was lost or is unusable: a new authorization is required.
    pub async fn exchange(
        &self,
        authorization: &AuthorizationRequest,
        code: &AuthorizationCode,
    ) -> Result<TokenRecord> {
        let mut exchange = code.exchange.lock().await;
        if let Exchange::NotSent = *exchange {
            *exchange =
                Exchange::Running(spawn(self.clone().exchange_once(authorization.clone(), code.clone())));
        }
        let outcome = match &mut *exchange {
            Exchange::Running(running) => running.await,
            Exchange::Done(record) => return Ok(TokenRecord::clone(record)),
            Exchange::NotSent => Ok(Err(AuthError::CodeLost { reason: INTERRUPTED.to_owned() })),
        };
        *exchange = Exchange::NotSent;
        let record = outcome.map_err(|_| AuthError::CodeLost { reason: INTERRUPTED.to_owned() })??;
        *exchange = Exchange::Done(Box::new(record.clone()));
        Ok(record)
    }

    async fn exchange_once(
        self,
        authorization: AuthorizationRequest,
        code: AuthorizationCode,
    ) -> Result<TokenRecord, AuthError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("code_verifier", authorization.verifier()),
            ("redirect_uri", authorization.redirect_uri()),
            ("client_id", authorization.client_id()),
        ];
        let requested = self.request_tokens(&form).await;
        self.record(requested, authorization.client_id(), authorization.scope())
    }

    /// Sends one request for the tokens of a login.
    pub(super) async fn request_tokens(&self, form: &[(&str, &str)]) -> Requested {
        let obtained_at = clock::wall();
        let response = self.http.post_form(&self.token, form).await;
        Requested { outcome: classify(response, &self.token, None), obtained_at }
    }

    /// Creates the record of a login, if its tokens are usable.
    pub(super) fn record(
        &self,
        Requested { outcome, obtained_at }: Requested,
        client_id: &str,
        scope: &str,
    ) -> Result<TokenRecord, AuthError> {
        let tokens = match outcome {
            RefreshOutcome::Tokens(tokens) => tokens,
            RefreshOutcome::NotSent(error) => return Err(AuthError::Unreachable(error)),
            RefreshOutcome::Throttled { status, retry_after } => {
                return Err(AuthError::Throttled { status, retry_after });
            }
            RefreshOutcome::NotOAuthEndpoint { status, path } => {
                return Err(AuthError::NotOAuthEndpoint { status, path });
            }
            RefreshOutcome::Rejected(error) | RefreshOutcome::InvalidGrant(error) => {
                return Err(AuthError::Rejected(error));
            }
            RefreshOutcome::Unknown { reason } => return Err(AuthError::CodeLost { reason }),
            // Only a refresh response can leave the previous refresh token in place.
            RefreshOutcome::Kept(_) => {
                let reason = "the response belongs to a refresh".to_owned();
                return Err(AuthError::CodeLost { reason });
            }
        };
        if tokens.access_token.is_none() {
            return Err(AuthError::UnusableTokens { reason: tokens.deviations.join(", ") });
        }
        for deviation in &tokens.deviations {
            tracing::warn!(deviation, "the token response deviates from the specification");
        }
        let mut record = TokenRecord::from_parts(
            self.origin.clone(),
            self.token.as_str(),
            client_id,
            tokens.refresh_token,
        );
        record.issuer.clone_from(&self.issuer);
        record.revocation_endpoint = self.revocation.as_ref().map(ToString::to_string);
        record.scope = tokens.scope.unwrap_or_else(|| scope.to_owned());
        record.access_token = tokens.access_token;
        record.obtained_at = obtained_at;
        record.served_at = tokens.served_at;
        record.expires_in = tokens.expires_in;
        Ok(record)
    }

    /// Revokes the grant of a login (RFC 7009): its refresh token and all its access tokens become invalid. The response doesn't reveal whether the
    /// grant existed.
    ///
    /// # Errors
    /// The server has no revocation endpoint, can't be reached, or rejects the request.
    pub async fn revoke(&self, record: &TokenRecord) -> Result<()> {
        Ok(self.http.revoke(record).await?)
    }
}

impl HttpClient {
    /// Sends the record's refresh token to its token endpoint, once, and requests `scope`, or the grant's scope.
    pub(crate) async fn refresh(&self, record: &TokenRecord, scope: Option<&str>) -> RefreshOutcome {
        let url = match stored_url(&record.token_endpoint, "token") {
            Ok(url) => url,
            Err(error) => return RefreshOutcome::NotSent(error),
        };
        let mut form = vec![("grant_type", "refresh_token"), ("client_id", &record.client_id)];
        form.extend(record.refresh_token.iter().map(|token| ("refresh_token", token.expose())));
        form.extend(scope.map(|scope| ("scope", scope)));
        classify(self.post_form(&url, &form).await, &url, record.refresh_token.as_ref())
    }

    /// Revokes the grant of a login at the revocation endpoint in its record.
    pub(crate) async fn revoke(&self, record: &TokenRecord) -> Result<(), AuthError> {
        let Some(url) = &record.revocation_endpoint else { return Err(AuthError::NotRevocable) };
        let url = stored_url(url, "revocation").map_err(AuthError::Unreachable)?;
        let (token, hint) = match (&record.refresh_token, &record.access_token) {
            (Some(token), _) => (token.expose(), "refresh_token"),
            (None, Some(token)) => (token.expose(), "access_token"),
            (None, None) => return Ok(()),
        };
        let form = [("token", token), ("token_type_hint", hint), ("client_id", record.client_id.as_str())];
        let response = self.post_form(&url, &form).await.map_err(AuthError::Unreachable)?;
        // The content has no meaning (RFC 7009, 2.2), but an HTML page comes from something else.
        if response.status.is_success() && !response.is_html() {
            return Ok(());
        }
        Err(rejection(&response, &url))
    }
}

fn stored_url(stored: &str, name: &str) -> Result<Url, TransportError> {
    endpoint::parse_oauth_url(stored).map_err(|_| {
        TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other)
            .with_source(format!("the stored {name} endpoint isn't a valid URL"))
    })
}
