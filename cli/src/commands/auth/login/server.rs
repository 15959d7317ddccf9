//! The authorization server of a login: from `--issuer`, the profile, or the API's metadata.

use idempost::Error;
use idempost::auth::{AuthError, AuthorizationServer};
use serde::{Deserialize, Serialize};
use url::Url;

use super::client;
use crate::commands::auth::login_failure;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::settings::{Settings, keys};

/// The API that a login is for, and how to find its authorization server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) base_url: Url,
    /// `None`: taken from the API's metadata.
    issuer: Option<Url>,
    trust_endpoints: bool,
}

impl Target {
    /// Uses the flags, or else the settings of this base URL.
    pub(super) fn new(issuer: Option<Url>, trust_endpoints: bool, context: &Context) -> Result<Self, Fail> {
        let (settings, base_url) = (context.settings()?, context.base_url()?);
        let saved = settings.issuer.as_ref().filter(|_| belongs_to_server("issuer", base_url, settings));
        let trusted = settings.trust_endpoints.as_ref().is_some_and(|setting| setting.value);
        Ok(Self {
            issuer: issuer.or_else(|| saved.map(|issuer| issuer.value.clone())),
            trust_endpoints: trust_endpoints
                || trusted && belongs_to_server("trust_endpoints", base_url, settings),
            base_url: base_url.clone(),
        })
    }

    /// The server, with the endpoints of its metadata; without metadata and an issuer, the specification's endpoints.
    pub(super) async fn discover(&self, context: &Context) -> Result<AuthorizationServer, Fail> {
        let transport = context.login_transport()?;
        let mut discovery = AuthorizationServer::discovery().transport(transport.clone());
        if self.trust_endpoints {
            discovery = discovery.trust_endpoints();
        }
        let api = self.base_url.as_str();
        let Some(issuer) = &self.issuer else {
            let error = match discovery.api(api).await {
                Err(Error::Auth(error)) => error,
                found => return found.map_err(login_failure),
            };
            let server = AuthorizationServer::new(api)?.transport(transport);
            let is_there = match *error {
                AuthError::NoMetadata => true,
                // Some applications return a page for any path, and so do proxies; only the former have a token endpoint.
                AuthError::UnexpectedResponse { status: 200, is_html: true, .. } => {
                    match server.is_registered(client::DEFAULT_CLIENT_ID).await {
                        Err(Error::Auth(error)) => matches!(*error, AuthError::Rejected(_)),
                        known => known.is_ok(),
                    }
                }
                _ => false,
            };
            return if is_there { Ok(server) } else { Err(login_failure(Error::Auth(error))) };
        };
        let found = discovery.issuer(issuer.as_str()).await.map_err(login_failure)?;
        Ok(found.for_api(api)?)
    }
}

/// The settings of a profile that belong to its base URL.
pub(super) const BOUND: [&str; 2] = ["issuer", "trust_endpoints"];

/// Whether a setting in the configuration file belongs to this base URL, set in the same table or in `[defaults]`: an issuer's tokens must not
/// reach another API.
fn belongs_to_server(key: &str, base_url: &Url, settings: &Settings) -> bool {
    let Some(file) = &settings.file else { return false };
    let name = Some(settings.profile_name());
    let table = name.filter(|name| file.get(Some(name), key).is_some());
    let written = |table| keys::base_url(&file.get(table, "base_url")?.text).ok();
    written(table).or_else(|| written(None)).is_none_or(|written| written == *base_url)
}
