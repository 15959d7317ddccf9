//! Accounts on the page: an ID and a label in place of the API key.
//!
//! The list of accounts needs no credential, and users may use real keys with the sandbox. So the list shows only the beginning of a key,
//! without the password, and an ID that grants access only under `/_/`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};

use crate::state::State;
use crate::state::keys::DEFAULT_KEY;
use crate::state::links::{Tag, TagPurpose};
use crate::state::tenant::Tenant;
use crate::wire::Problem;

/// The prefix of an ID, which no API key has.
const PREFIX: &str = "account_";
/// The number of characters of a key in its label.
const LABEL_LENGTH: usize = 6;
/// The number of characters of an account's name after the password, in its label.
const NAME_LENGTH: usize = 24;

/// The ID of a tenant's account, stable for the lifetime of the sandbox's state.
pub fn id(state: &State, tenant: &str) -> String {
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(state.links.tag(TagPurpose::Account, tenant)))
}

/// The beginning of a tenant's key, or of its part after the password. The sandbox's default key isn't secret and is shown in full.
pub fn key_label(state: &State, tenant: &str) -> String {
    if tenant == DEFAULT_KEY {
        return tenant.to_owned();
    }
    let Some(password) = state.settings.password.as_ref().map(SecretString::expose_secret) else {
        return format!("{}…", tenant.chars().take(LABEL_LENGTH).collect::<String>());
    };
    let (prefix, rest) = tenant.split_at_checked(3).unwrap_or((tenant, ""));
    let name = rest.strip_prefix(password).unwrap_or_default();
    format!("{prefix}…{}", name.chars().take(NAME_LENGTH).collect::<String>())
}

/// Finds the account with this ID. `None` if the text isn't an ID; it may be a key.
pub fn find_by_id(state: &State, text: &str) -> Option<Result<Arc<Tenant>, Problem>> {
    let encoded = text.strip_prefix(PREFIX)?;
    let tag: Option<Tag> = URL_SAFE_NO_PAD.decode(encoded).ok().and_then(|tag| tag.try_into().ok());
    let tenant = tag.and_then(|tag| state.tenants.find_by_tag(TagPurpose::Account, tag));
    // The page links to the default account before it exists.
    let default = || {
        let name = state.default_account();
        (tag? == state.links.tag(TagPurpose::Account, &name)).then(|| state.tenants.find_or_empty(&name))
    };
    let tenant = tenant.or_else(default);
    Some(tenant.ok_or_else(|| Problem::not_found("The account does not exist or no longer exists.")))
}
