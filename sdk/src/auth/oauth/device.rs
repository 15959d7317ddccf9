//! The device flow (RFC 8628): the user opens a page on any device, and enters a code there.

use std::{sync::Arc, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use super::{
    server::AuthorizationServer,
    token_request::{INTERRUPTED, Requested},
    token_response::{oauth_error, rejection},
};
use crate::{
    auth::{record::TokenRecord, scope::Scope, token_endpoint::RefreshOutcome},
    clock::{Instant, JoinHandle, sleep, spawn},
    error::{AuthError, OAuthErrorCode, Result, printable},
    transport::endpoint,
    types::lenient::{self, readable_or_default},
};

/// The grant type (RFC 8628, 3.4).
pub(super) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The time that `slow_down` adds to the interval (RFC 8628, 3.5).
const SLOW_DOWN_INCREMENT: Duration = Duration::from_secs(5);
/// The longest interval between polls after failures without an OAuth error.
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// The polling interval if the server states none (RFC 8628, 3.2).
const DEFAULT_INTERVAL: u64 = 5;
/// The minimum polling interval, and the maximum lifetime of a device code, regardless of what the server states.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum length of a user code, in characters.
const MAX_USER_CODE: usize = 64;
/// The response, in errors about it.
const DESCRIPTION: &str = "the device authorization response: ";

impl AuthorizationServer {
    /// Returns a builder for a device flow login with this client ID, for programs without a browser on the same machine.
    ///
    /// ```no_run
    /// # async fn example() -> idempost::Result<()> {
    /// use idempost::auth::{AuthorizationServer, FileStore, Scope, Session};
    ///
    /// let server = AuthorizationServer::discovery().api("https://api.example.com").await?;
    /// let device = server.authorize_device("client_123").scope(Scope::EmailsSend).send().await?;
    /// println!("Open {} on any device and enter {}.", device.verification_uri(), device.user_code());
    /// let tokens = server.exchange_device(&device).await?;
    /// let session = Session::start(FileStore::new("/var/lib/shop/login"), &tokens).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn authorize_device(&self, client_id: impl Into<String>) -> DeviceAuthorizationBuilder<'_> {
        DeviceAuthorizationBuilder { server: self, client_id: client_id.into(), scopes: Vec::new() }
    }

    /// Waits until the user has decided, and returns the tokens. Polls the token endpoint as often as the server allows.
    ///
    /// Dropping the future ends the polling, but not a request in flight: another call with the same authorization, or with its clone, returns
    /// the outcome of that request, and continues at the same interval.
    ///
    /// # Errors
    /// [`AuthError::Rejected`] with `access_denied` if the user denied access, or with another error of the server;
    /// [`AuthError::DeviceCodeExpired`] if the user didn't decide in time; [`AuthError::CodeLost`] if the response with the tokens was lost.
    /// Network failures, 429 and 5xx only delay the next request.
    pub async fn exchange_device(&self, device: &DeviceAuthorization) -> Result<TokenRecord> {
        let mut polling = device.polling.lock().await;
        loop {
            if let Some(record) = &polling.tokens {
                return Ok(record.clone());
            }
            if polling.request.is_none() {
                if polling.next >= device.expires_at {
                    return Err(polling.trouble.take().unwrap_or(AuthError::DeviceCodeExpired).into());
                }
                sleep(polling.next.saturating_duration_since(Instant::now())).await;
                polling.request = Some(spawn(self.clone().poll(device.clone())));
            }
            let Some(request) = &mut polling.request else { continue };
            let requested = request.await;
            polling.request = None;
            let Ok(requested) = requested else {
                return Err(AuthError::CodeLost { reason: INTERRUPTED.to_owned() }.into());
            };
            let mut retry_after = None;
            match requested.outcome {
                RefreshOutcome::Rejected(error) if error.code == OAuthErrorCode::AuthorizationPending => {
                    polling.trouble = None;
                }
                // The user hasn't decided yet, either (RFC 8628, 3.5).
                RefreshOutcome::Rejected(error) if error.code == OAuthErrorCode::SlowDown => {
                    polling.trouble = None;
                    polling.interval += SLOW_DOWN_INCREMENT;
                }
                RefreshOutcome::Rejected(error) if error.code == OAuthErrorCode::ExpiredToken => {
                    return Err(AuthError::DeviceCodeExpired.into());
                }
                RefreshOutcome::InvalidGrant(error) => {
                    // An earlier response may have been the one with the tokens.
                    let lost =
                        polling.trouble.take().filter(|error| matches!(error, AuthError::CodeLost { .. }));
                    return Err(lost.unwrap_or(AuthError::Rejected(error)).into());
                }
                RefreshOutcome::Throttled { status, retry_after: pause } => {
                    polling.interval += SLOW_DOWN_INCREMENT;
                    polling.trouble = Some(AuthError::Throttled { status, retry_after: pause });
                    retry_after = pause;
                }
                RefreshOutcome::NotSent(error) if error.kind().is_transient() => {
                    polling.back_off(AuthError::Unreachable(error));
                }
                RefreshOutcome::Unknown { reason } => polling.back_off(AuthError::CodeLost { reason }),
                outcome => {
                    let requested = Requested { outcome, ..requested };
                    let record = self.record(requested, &device.client_id, &device.scope)?;
                    polling.tokens = Some(record.clone());
                    return Ok(record);
                }
            }
            polling.next =
                Instant::now() + polling.interval.max(retry_after.unwrap_or_default()).min(MAX_LIFETIME);
        }
    }

    async fn poll(self, device: DeviceAuthorization) -> Requested {
        let form = [
            ("grant_type", DEVICE_GRANT),
            ("device_code", device.device_code.expose_secret()),
            ("client_id", device.client_id.as_str()),
        ];
        self.request_tokens(&form).await
    }
}

/// Builds a device authorization request.
#[derive(Clone, Debug)]
#[must_use]
pub struct DeviceAuthorizationBuilder<'a> {
    server: &'a AuthorizationServer,
    client_id: String,
    scopes: Vec<Scope>,
}

impl DeviceAuthorizationBuilder<'_> {
    /// Requests a scope; repeatable. Without a scope, the service grants all scopes that the client is registered for.
    pub fn scope(mut self, scope: Scope) -> Self {
        if !self.scopes.contains(&scope) {
            self.scopes.push(scope);
        }
        self
    }

    /// Requests a device code.
    ///
    /// # Errors
    /// [`AuthError::NoDeviceFlow`] if the server's metadata doesn't offer the device flow; nothing was sent. Other errors if the server can't be
    /// reached, rejects the client or the scope, or returns an unencrypted page URL.
    pub async fn send(self) -> Result<DeviceAuthorization> {
        let Some(endpoint) = &self.server.device_authorization else {
            return Err(AuthError::NoDeviceFlow.into());
        };
        let scope = self.scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ");
        let mut form = vec![("client_id", self.client_id.as_str())];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let sent = Instant::now();
        let response = self.server.http.post_form(endpoint, &form).await.map_err(AuthError::Unreachable)?;
        if !response.status.is_success() || oauth_error(&response).is_some() {
            return Err(rejection(&response, endpoint).into());
        }
        let granted: Granted = response.json(endpoint, DESCRIPTION)?;
        let unusable = |what: String| AuthError::Metadata(format!("{DESCRIPTION}{what}"));
        let page = |given: &str| {
            endpoint::parse_oauth_url(given).map_err(|error| unusable(format!("`verification_uri`: {error}")))
        };
        let complete = granted.verification_uri_complete.as_deref().map(page).transpose()?;
        let user_code = granted.user_code;
        // The user types the code by hand.
        if user_code.trim().is_empty() || printable(&user_code, MAX_USER_CODE) != user_code {
            return Err(unusable("`user_code` is empty or isn't a short text".to_owned()).into());
        }
        let interval = Duration::from_secs(granted.interval.unwrap_or(DEFAULT_INTERVAL));
        let interval = interval.clamp(MIN_INTERVAL, MAX_LIFETIME);
        let expires_in = Duration::from_secs(granted.expires_in).min(MAX_LIFETIME);
        Ok(DeviceAuthorization {
            verification_uri: page(&granted.verification_uri)?,
            verification_uri_complete: complete,
            user_code,
            device_code: granted.device_code.into(),
            expires_in,
            expires_at: sent + expires_in,
            polling: Arc::new(Mutex::new(Polling {
                interval,
                next: Instant::now() + interval,
                request: None,
                tokens: None,
                trouble: None,
            })),
            client_id: self.client_id,
            scope,
        })
    }
}

/// The response (RFC 8628, 3.2).
#[derive(Deserialize)]
struct Granted {
    device_code: String,
    user_code: String,
    // Google's name differs.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    /// In seconds, which some servers send as text.
    #[serde(deserialize_with = "lenient::value")]
    expires_in: u64,
    #[serde(default, deserialize_with = "readable_or_default")]
    interval: Option<u64>,
}

/// A device flow login waiting for the user's decision. Clones share it.
#[derive(Clone)]
pub struct DeviceAuthorization {
    client_id: String,
    scope: String,
    device_code: SecretString,
    user_code: String,
    verification_uri: Url,
    verification_uri_complete: Option<Url>,
    expires_in: Duration,
    expires_at: Instant,
    polling: Arc<Mutex<Polling>>,
}

impl DeviceAuthorization {
    /// Returns the URL of the page that the user opens on any device.
    pub fn verification_uri(&self) -> &Url {
        &self.verification_uri
    }

    /// Returns the page's URL including the user code, if the server provides one, for a link or a QR code. Show the user code as well, so that the
    /// user can compare it (RFC 8628, 3.3.1).
    pub fn verification_uri_complete(&self) -> Option<&Url> {
        self.verification_uri_complete.as_ref()
    }

    /// Returns the code that the user enters.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns how long after the request the user can still authorize it.
    pub fn expires_in(&self) -> Duration {
        self.expires_in
    }
}

partial_debug! {
    /// `Debug` omits the device code, which is secret, and the user code.
    DeviceAuthorization { client_id, scope, verification_uri = [verification_uri.as_str()] }
}

/// The polling of the token endpoint.
struct Polling {
    interval: Duration,
    /// The earliest time for the next request.
    next: Instant,
    /// The request in flight, which continues if its caller is dropped.
    request: Option<JoinHandle<Requested>>,
    tokens: Option<TokenRecord>,
    /// Why the most recent requests failed; `None` while the user simply hasn't decided yet.
    trouble: Option<AuthError>,
}

impl Polling {
    /// Doubles the interval after a request without an OAuth response (RFC 8628, 3.5).
    fn back_off(&mut self, trouble: AuthError) {
        self.interval = self.interval.max((self.interval * 2).min(MAX_BACKOFF));
        // The lost response may have contained the tokens, which would explain a later rejection.
        if !matches!(self.trouble, Some(AuthError::CodeLost { .. })) {
            self.trouble = Some(trouble);
        }
    }
}
