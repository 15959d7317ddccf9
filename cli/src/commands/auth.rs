//! `auth`: browser logins, stored API keys and OAuth grants.

use idempost::auth::{AuthError, EndReason, Ended, OAuthErrorCode};

pub(crate) use crate::credentials::{LOGIN, store_failure};
use crate::diagnostics::Fail;
use crate::output::report;
use crate::rows::prelude::*;

mod grants;
mod list;
mod login;
mod logout;
mod profile;
mod refresh;
mod rename;
pub(crate) mod status;
mod token;
mod use_profile;

noun!(Auth, "Log in, log out and manage profiles", VERBS);

const VERBS: &[Verb] = &[
    Verb::custom("login", &own(login::run)).is(&[Property::MakesProfile, Property::NeedsRunningService]),
    Verb::custom("logout", &own(logout::run)).is(&[Property::NeedsRunningService]),
    Verb::custom("status", &Direct(status::run)).is(&[Property::Local]),
    Verb::custom("token", &own(token::run)).is(&[Property::NeedsRunningService]),
    Verb::custom("refresh", &own(refresh::run)).is(&[Property::NeedsRunningService]),
    Verb::custom("list", &Direct(list::run)).alias("ls").is(&[Property::Local]),
    Verb::custom("use", &Direct(use_profile::run)).is(&[Property::Local]),
    Verb::custom("rename", &own(rename::run)).is(&[Property::Local]),
    Verb::noun::<grants::Grants>("grants"),
];

/// A failure of a login attempt.
fn login_failure(error: idempost::Error) -> Fail {
    match error {
        idempost::Error::Auth(error)
            if !matches!(*error, AuthError::NotSaved(_) | AuthError::Throttled { status: 429, .. }) =>
        {
            auth_failure(&error)
        }
        other => Fail::Sdk(other),
    }
}

fn auth_failure(error: &AuthError) -> Fail {
    let auth = |message: String, hint: &str| Fail::auth(message).hint(hint);
    let text = report::error_chain(error);
    match error {
        AuthError::Rejected(rejection) => match rejection.code {
            OAuthErrorCode::AccessDenied => {
                auth("access was denied in the browser; nothing was stored".to_owned(), LOGIN)
            }
            OAuthErrorCode::ServerError | OAuthErrorCode::TemporarilyUnavailable => {
                Fail::unavailable(format!("the service reported an error: {text}; nothing was stored"))
                    .hint(format!("try again: {LOGIN}"))
            }
            OAuthErrorCode::InvalidScope => {
                auth(format!("the service rejected the scope: {text}"), "request another one: --scope SCOPE")
            }
            OAuthErrorCode::InvalidClient | OAuthErrorCode::UnauthorizedClient => auth(
                format!("the service rejected this OAuth client: {text}"),
                "pass another client ID: --client-id ID",
            ),
            _ => auth(format!("the service rejected the login: {text}"), LOGIN),
        },
        AuthError::RedirectTimeout { .. } => auth(
            format!("{text}; nothing was stored"),
            "for more time, pass --login-timeout 15m; if the browser shows an error about the client, pass --client-id ID; otherwise try again",
        ),
        AuthError::ListenFailed(_) => Fail::error(text)
            .hint("choose a free port with --port, or store an API key: idempost auth login --with-token"),
        AuthError::Store(error) => store_failure(error),
        AuthError::Ended(Ended { reason: EndReason::LoggedOut, .. }) => {
            auth(text, "to revoke it: idempost auth logout; to log in again: idempost auth login")
        }
        AuthError::UnexpectedResponse { status, .. } => {
            let hint = report::responder_hint(*status);
            if error.is_retryable() { Fail::unavailable(text).hint(hint) } else { auth(text, hint) }
        }
        AuthError::NotOAuthEndpoint { .. } => Fail::unavailable(text),
        error if error.is_retryable() => Fail::unavailable(text),
        AuthError::NoDeviceFlow => auth(text, "log in through a browser: idempost auth login"),
        AuthError::DeviceCodeExpired => {
            auth(format!("{text}; nothing was stored"), "idempost auth login --device")
        }
        AuthError::ForeignEndpoint { .. } => {
            Fail::rejected(text).hint("if you trust both: idempost auth login --trust-endpoints")
        }
        AuthError::NoMetadata | AuthError::Metadata(_) => {
            Fail::rejected(text).hint("to name the authorization server: idempost auth login --issuer URL")
        }
        _ => auth(text, LOGIN),
    }
}
