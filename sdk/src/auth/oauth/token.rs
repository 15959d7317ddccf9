//! The token endpoint: a code or a refresh token against new tokens (`SPEC.md`, POST /oauth/token).

use std::{
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use bytes::Bytes;
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode as Code, ClientId, PkceCodeVerifier, RedirectUrl, TokenUrl,
    basic::BasicClient,
};
use url::Url;

use super::{AuthorizationCode, AuthorizationRequest, AuthorizationServer, Wire, token_response::judge};
use crate::{
    auth::{
        record::TokenRecord,
        token_endpoint::{RefreshOutcome, TokenEndpoint},
    },
    error::AuthError,
    error::Result,
    problem::SettingsError,
    transport::{BoxFuture, RequestDelivery, TransportError, TransportErrorKind},
};

impl AuthorizationServer {
    /// Redeems a code, once: the request is never repeated after it has left, since a code is good for one use.
    ///
    /// # Errors
    /// [`AuthError::Refused`] when the service says no; [`AuthError::Unreachable`] when nothing reached it, and the same code can be tried again;
    /// [`AuthError::CodeLost`] when the answer was lost or made no sense: then the login begins anew.
    pub async fn exchange(
        &self,
        authorization: &AuthorizationRequest,
        code: &AuthorizationCode,
    ) -> Result<TokenRecord> {
        let obtained_at = SystemTime::now();
        let client = BasicClient::new(ClientId::new(authorization.client_id.clone()))
            .set_auth_type(AuthType::RequestBody)
            .set_token_uri(TokenUrl::from_url(self.token.clone()))
            .set_redirect_uri(RedirectUrl::new(authorization.redirect_uri.clone()).map_err(|error| {
                SettingsError::new("redirect_uri", "must be an absolute address").found(error.to_string())
            })?);
        let once = Once::new(&self.wire, &self.token);
        let _ = client
            .exchange_code(Code::new(code.expose().to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(authorization.verifier().to_owned()))
            .request_async(&once)
            .await;
        let tokens = match judge(once.answer(), None) {
            RefreshOutcome::Tokens(tokens) => tokens,
            RefreshOutcome::NotSent(error) => return Err(AuthError::Unreachable(error).into()),
            RefreshOutcome::Throttled { status, retry_after } => {
                return Err(AuthError::Throttled { status, retry_after }.into());
            }
            RefreshOutcome::Refused(error) | RefreshOutcome::InvalidGrant(error) => {
                return Err(AuthError::Refused(error).into());
            }
            RefreshOutcome::Unknown { reason, .. } => return Err(AuthError::CodeLost { reason }.into()),
        };
        for oddity in &tokens.oddities {
            tracing::warn!(oddity, "the token answer is odd");
        }
        let mut record = TokenRecord::new(
            self.origin.clone(),
            self.token.as_str(),
            authorization.client_id.clone(),
            tokens.refresh_token,
        );
        record.revocation_endpoint = self.revocation.as_ref().map(ToString::to_string);
        record.scope = tokens.scope.unwrap_or_else(|| authorization.scope.clone());
        record.access_token = tokens.access_token;
        record.obtained_at = obtained_at;
        record.expires_in = tokens.expires_in;
        Ok(record)
    }

    /// Revokes the grant behind a login (RFC 7009): its refresh token and all its access tokens end. Whether there was such a grant, the service
    /// doesn't say.
    ///
    /// # Errors
    /// The server has no place for it, can't be reached, or refuses.
    pub async fn revoke(&self, record: &TokenRecord) -> Result<()> {
        Ok(revoke(&self.wire, record).await?)
    }
}

/// Revokes the grant behind a login where the login says.
pub(crate) async fn revoke(wire: &Wire, record: &TokenRecord) -> Result<(), AuthError> {
    let Some(endpoint) = &record.revocation_endpoint else { return Err(AuthError::NotRevocable) };
    let endpoint = crate::transport::endpoint::address(endpoint).map_err(|_| {
        AuthError::Unreachable(never_left().caused_by("the stored revocation endpoint is no address"))
    })?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", record.refresh_token.expose())
        .append_pair("token_type_hint", "refresh_token")
        .append_pair("client_id", &record.client_id)
        .finish();
    let answer = wire.post_form(&endpoint, form.into_bytes()).await.map_err(AuthError::Unreachable)?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(match super::token_response::refusal(&answer) {
        Some(error) => AuthError::Refused(error),
        None => AuthError::Throttled {
            status: answer.status().as_u16(),
            retry_after: crate::error::retry_after(answer.headers()),
        },
    })
}

/// Shows refresh tokens to the token endpoint that their record names.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpTokenEndpoint {
    pub(crate) wire: Wire,
}

impl TokenEndpoint for HttpTokenEndpoint {
    fn refresh<'a>(&'a self, record: &'a TokenRecord) -> BoxFuture<'a, RefreshOutcome> {
        Box::pin(async move {
            let Ok(endpoint) = crate::transport::endpoint::address(&record.token_endpoint) else {
                return RefreshOutcome::NotSent(
                    never_left().caused_by("the stored token endpoint is no address"),
                );
            };
            let client = BasicClient::new(ClientId::new(record.client_id.clone()))
                .set_auth_type(AuthType::RequestBody)
                .set_token_uri(TokenUrl::from_url(endpoint.clone()));
            let token = oauth2::RefreshToken::new(record.refresh_token.expose().to_owned());
            let once = Once::new(&self.wire, &endpoint);
            let _ = client.exchange_refresh_token(&token).request_async(&once).await;
            judge(once.answer(), Some(&record.refresh_token))
        })
    }

    fn revoke<'a>(&'a self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(revoke(&self.wire, record))
    }
}

/// Carries one request of the oauth2 crate and keeps the answer for [`judge`]: the crate would drop one that it can't read whole, and with it
/// what may be the only good refresh token.
struct Once {
    wire: Wire,
    url: Url,
    answer: Mutex<Option<Result<http::Response<Bytes>, TransportError>>>,
}

/// The answer was kept.
#[derive(Debug, thiserror::Error)]
#[error("the answer was kept")]
struct Kept;

impl Once {
    fn new(wire: &Wire, url: &Url) -> Self {
        Self { wire: wire.clone(), url: url.clone(), answer: Mutex::default() }
    }

    fn answer(self) -> Result<http::Response<Bytes>, TransportError> {
        self.answer.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(|| Err(never_left()))
    }
}

impl<'c> AsyncHttpClient<'c> for Once {
    type Error = Kept;
    type Future = BoxFuture<'c, Result<oauth2::HttpResponse, Kept>>;

    fn call(&'c self, request: oauth2::HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.wire.post_form(&self.url, request.into_body()).await;
            *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
            Err(Kept)
        })
    }
}

fn never_left() -> TransportError {
    TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other)
}
