//! Accounts as the page names them: by an ID and a label, never by their API key.
//!
//! The list of accounts needs no credential, and people use real keys with the sandbox. So the list shows the beginning of a key only, and an
//! ID that opens the account under `/_/` and nowhere else.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header;

use crate::state::State;
use crate::state::keys::USUAL_KEY;
use crate::state::tenant::Tenant;
use crate::wire::problem::Problem;

/// How an ID starts; no API key does.
const PREFIX: &str = "account_";
/// The characters of a key that a label shows.
const SHOWN: usize = 6;

/// The ID of a tenant's account, as long as the sandbox's state lives.
pub(super) fn id(state: &State, tenant: &str) -> String {
    let signed = state.links.sign("account", tenant.as_bytes());
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(&signed[..16]))
}

/// The beginning of a tenant's key. The key that the sandbox suggests is no secret and is shown whole.
pub(super) fn label(tenant: &str) -> String {
    if tenant == USUAL_KEY {
        return tenant.to_owned();
    }
    format!("{}…", tenant.chars().take(SHOWN).collect::<String>())
}

/// The account with this ID. None if the word isn't an ID, but perhaps a key.
pub(super) fn named(state: &State, word: &str) -> Option<Result<Arc<Tenant>, Problem>> {
    if !word.starts_with(PREFIX) {
        return None;
    }
    let mut tenants = state.tenants.all().into_iter();
    let tenant = tenants.find(|tenant| id(state, &tenant.name) == word);
    Some(tenant.ok_or_else(|| Problem::not_found("The account is not there (any more).")))
}

/// The word after `Bearer` in a request's header.
pub(super) fn bearer(headers: &http::HeaderMap) -> Option<&str> {
    let (scheme, word) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| word.trim())
}
