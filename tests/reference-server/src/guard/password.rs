//! The password of a sandbox that other machines can reach ([`Settings::password`](crate::Settings::password)).
//!
//! Operations of the service check it as part of the key ([`ApiKeyIndex`](crate::state::keys::ApiKeyIndex)). The other routes don't need a key
//! otherwise; their tables declare which of them need a credential with full access to an account, and which the password itself ([`Access`]).
//! Clients send the password with HTTP Basic authentication (RFC 7617, with any user name), which browsers ask for, or alone as the API key.

use bytes::Bytes;
use http::{Request, Response};
use secrecy::ExposeSecret as _;

use crate::access;
use crate::access::password::{ALL_ACCOUNTS, is_given};
use crate::route::{Access, Area, RouteMatch};
use crate::state::State;
use crate::wire::Problem;

/// Rejects a request without the required password or credential.
pub(super) fn reject_unauthenticated(
    state: &State,
    request: &Request<Bytes>,
    found: &RouteMatch,
) -> Option<Response<Bytes>> {
    let password = state.settings.password.as_ref()?.expose_secret();
    let needs_password = match (found.access(), found.table.area) {
        (Access::Health | Access::Open | Access::Link, _) | (Access::Key(_), Area::Service | Area::OAuth) => {
            return None;
        }
        (Access::Key(_), Area::Own) => false,
        (Access::Password, _) => true,
    };
    if is_given(password, request) {
        return None;
    }
    if needs_password {
        return Some(Problem::password_required(ALL_ACCOUNTS).into_response());
    }
    let problem = access::check(state, request, found.table.anonymous).err()?;
    if ["restricted_api_key", "invalid_permission"].contains(&problem.name) {
        return Some(problem.into_response());
    }
    let rule = "This sandbox has a password: send it by HTTP Basic authentication, or a valid API key as `Authorization: Bearer <API_KEY>`.";
    Some(Problem::password_required(rule).into_response())
}
