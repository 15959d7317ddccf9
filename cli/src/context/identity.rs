//! A command's identity, for messages and plans: the profile, the service, and the source of the credential.

use std::fmt;

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
#[cfg(feature = "sandbox")]
use url::Url;

use crate::credentials::Credentials;
use crate::output::hex;
use crate::settings::env::Env;
use crate::settings::{Credential, Settings};

/// The profile, the base URL and the credential's source. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `None` for a sandbox, which isn't the profile's service.
    pub(super) profile: Option<String>,
    /// `None` if it isn't set, or for the service behind `--sandbox`.
    pub(super) base_url: Option<String>,
    /// The flag, variable or file that overrides the profile's credential.
    pub(super) credential: Option<String>,
}

impl Identity {
    /// The sandbox at this URL, for the questions of `sandbox` commands.
    #[cfg(feature = "sandbox")]
    pub(crate) fn for_sandbox(base_url: &Url) -> Self {
        let base_url = Some(base_url.as_str().trim_end_matches('/').to_owned());
        Self { profile: None, base_url, credential: None }
    }

    /// The base URL, without a trailing slash.
    pub(crate) fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Adds the fields to a JSON object.
    pub(crate) fn add_to(&self, document: &mut Value) {
        document["profile"] = json!(self.profile);
        document["base_url"] = json!(self.base_url);
        document["credential_source"] = json!(self.credential);
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(profile) = &self.profile else {
            return match &self.base_url {
                Some(base_url) => write!(f, "the sandbox at {base_url}"),
                None => f.write_str("this command's own sandbox"),
            };
        };
        write!(f, "profile `{profile}`")?;
        if let Some(credential) = &self.credential {
            write!(f, " with the credential of {credential}")?;
        }
        match &self.base_url {
            Some(base_url) => write!(f, " at {base_url}"),
            None => f.write_str(" without a base URL"),
        }
    }
}

/// A hash of the account that these settings select: the service and the given credential, or the profile's login. `None` without an account.
pub(crate) fn account_key(settings: &Settings, env: &Env) -> Option<String> {
    let mut parts = vec![settings.base_url.as_ref()?.value.as_str().to_owned()];
    if let Some(given) = &settings.credential {
        let (Credential::ApiKey(secret) | Credential::AccessToken(secret)) = &given.value;
        parts.push(secret.expose_secret().to_owned());
    } else {
        let stored = Credentials::new(env, settings.selected_profile()).ok()?.overview().ok()??;
        parts.extend([stored.profile, stored.login, stored.metadata.origin]);
    }
    let hash = Sha256::digest(parts.join("\0"));
    Some(hex(&hash[..16]))
}
