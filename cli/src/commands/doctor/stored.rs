//! Checks the stored credentials of the active profile without opening the keyring's secrets: the login, its store, its lock and its files.

use std::path::Path;

use idempost::auth::AuthError;

use super::{Checks, ERROR, OK, WARNING};
use crate::commands::auth;
use crate::context::Context;
use crate::credentials::{CredentialKind, Credentials, Overview};
use crate::output::report;
use crate::settings::{Settings, paths};

/// Checks the stored credentials that apply if no other credential is given.
pub(super) async fn checks(settings: &Settings, context: &Context, checks: &mut Checks) {
    let found = context.credentials().and_then(|credentials| {
        let overview = credentials.overview()?;
        Ok((credentials, overview))
    });
    let (credentials, overview) = match found {
        Ok((credentials, Some(overview))) => (credentials, overview),
        Ok((_, None)) => {
            let hint =
                format!("log in: {}; or set IDEMPOST_API_KEY, or pass --api-key-file PATH", auth::LOGIN);
            return checks.add("credential", ERROR, "not found", Some(&hint));
        }
        Err(fail) => {
            let message = report::message(&fail);
            return checks.add("credential", ERROR, message, Some(auth::LOGIN));
        }
    };
    login(&overview, checks);
    if let Some(set) = &settings.base_url {
        let asked = set.value.origin().ascii_serialization();
        if asked != overview.metadata.origin {
            let message =
                format!("the login is for {}, but the base URL is {asked}", overview.metadata.origin);
            let hint = Some("choose the profile of this service, or log in to it");
            checks.add("origin", ERROR, message, hint);
        }
    }
    check_store(&credentials, &overview, checks).await;
    match credentials.holder() {
        None => checks.ok("lock", "free"),
        Some(holder) => {
            let hint = "a token refresh takes at most half a minute; a suspended process holds the lock until it exits";
            checks.add("lock", WARNING, format!("held by {holder}"), Some(hint));
        }
    }
    if let Some(path) = &overview.path {
        check_modes(path, checks);
    }
}

/// The state of the login, and how long its access token is valid.
fn login(overview: &Overview, checks: &mut Checks) {
    let metadata = &overview.metadata;
    if metadata.kind == CredentialKind::ApiKey {
        return checks.ok("credential", format!("API key of profile `{}`", overview.profile));
    }
    if let Some(ended) = &metadata.ended {
        let message = AuthError::Ended(ended.clone()).to_string();
        return checks.add("credential", ERROR, message, Some(auth::LOGIN));
    }
    let who = format!("login of profile `{}`, scope {}", overview.profile, metadata.scope);
    let left = metadata.expires_at().and_then(|at| at.duration_since(std::time::SystemTime::now()).ok());
    let (state, rest) = match (&metadata.pending, left) {
        (Some(_), left) => {
            let then = if left.is_some() {
                "the access token is still valid"
            } else {
                "the next request retries it"
            };
            (WARNING, format!("the outcome of the last token refresh is unknown; {then}"))
        }
        (None, Some(left)) => (OK, format!("access token valid for {} min", left.as_secs() / 60)),
        (None, None) => (OK, "access token is refreshed by the next request".to_owned()),
    };
    checks.add("credential", state, format!("{who}; {rest}"), None);
}

/// Whether a refreshed login could be written to its store.
async fn check_store(credentials: &Credentials, overview: &Overview, checks: &mut Checks) {
    let place = match &overview.path {
        Some(path) => format!("{} {}", overview.store.name(), path.display()),
        None => overview.store.name().to_owned(),
    };
    match credentials.probe(overview.store).await {
        Ok(()) => checks.ok("store", place),
        Err(error) => {
            let hint =
                "without it the login can't be refreshed; nothing is lost until a refresh is attempted";
            let message = format!("{place}: {}", report::error_chain(&error));
            checks.add("store", ERROR, message, Some(hint));
        }
    }
}

/// Read access to the file exposes the login; write access to its folder allows replacing it.
fn check_modes(path: &Path, checks: &mut Checks) {
    for part in [Some(path), path.parent()].into_iter().flatten() {
        if let Some(mode) = paths::permission_bits(part).filter(|mode| mode & 0o077 != 0) {
            let message = format!("{} is accessible to others (mode {mode:03o})", part.display());
            checks.add("file modes", ERROR, message, Some(&format!("chmod go= {}", part.display())));
        }
    }
}
