//! What is kept of the profile in use, as far as it can be judged without a secret: the login, its store, its lock, its files.

use std::path::Path;

use posthaste::auth::AuthError;

use super::{Check, State, check};
use crate::commands::auth;
use crate::context::Context;
use crate::credentials::{Credentials, KeptKind, Overview};
use crate::output::report;
use crate::settings::{Settings, paths};

/// Looks at what is used where no credential was given.
pub(super) async fn checks(settings: &Settings, context: &Context, checks: &mut Vec<Check>) {
    let found = context.credentials().and_then(|credentials| {
        let overview = credentials.overview().map_err(|error| auth::of_store(&error))?;
        Ok((credentials, overview))
    });
    let (credentials, overview) = match found {
        Ok((credentials, Some(overview))) => (credentials, overview),
        Ok((_, None)) => {
            let hint = format!(
                "log in: {}; or set POSTHASTE_API_KEY, or name a file: --api-key-file PATH",
                auth::LOGIN
            );
            return checks.push(check("credential", State::Error, "there is none".to_owned(), Some(&hint)));
        }
        Err(fail) => {
            let message = report::message(&fail);
            return checks.push(check("credential", State::Error, message, Some(auth::LOGIN)));
        }
    };
    checks.push(login(&overview));
    if let Some(set) = &settings.base_url {
        let asked = set.value.origin().ascii_serialization();
        if asked != overview.facts.origin {
            let message = format!("it is for {}, and the base URL is {asked}", overview.facts.origin);
            checks.push(check(
                "origin",
                State::Error,
                message,
                Some("name the profile of this service, or log in to it"),
            ));
        }
    }
    checks.push(store(&credentials, &overview).await);
    checks.push(match credentials.holder() {
        None => check("lock", State::Ok, "free".to_owned(), None),
        Some(holder) => check(
            "lock",
            State::Warning,
            format!("held by {holder}"),
            Some("a renewal takes half a minute at most; a process that was stopped holds it until it ends"),
        ),
    });
    if let Some(path) = &overview.path {
        modes(path, checks);
    }
}

/// Whether it can still be used, and for how long.
fn login(overview: &Overview) -> Check {
    let facts = &overview.facts;
    if facts.kind == KeptKind::ApiKey {
        return check("credential", State::Ok, format!("API key of profile `{}`", overview.profile), None);
    }
    if let Some(ended) = &facts.ended {
        let message = AuthError::Ended(ended.clone()).to_string();
        return check("credential", State::Error, message, Some(auth::LOGIN));
    }
    let who = format!("login of profile `{}`, scope {}", overview.profile, facts.scope);
    let left = facts.expires_at().and_then(|at| at.duration_since(std::time::SystemTime::now()).ok());
    let (state, rest) = match (&facts.pending, left) {
        (Some(_), Some(_)) => {
            (State::Warning, "the answer to a renewal is missing; the access token is still good".to_owned())
        }
        (Some(_), None) => {
            (State::Warning, "the answer to a renewal is missing; the next call tries again".to_owned())
        }
        (None, Some(left)) => (State::Ok, format!("access token for another {} min", left.as_secs() / 60)),
        (None, None) => (State::Ok, "renewed at the next call".to_owned()),
    };
    check("credential", state, format!("{who}; {rest}"), None)
}

/// Whether a renewed login could be written where it belongs.
async fn store(credentials: &Credentials, overview: &Overview) -> Check {
    let place = match &overview.path {
        Some(path) => format!("{} {}", overview.store.word(), path.display()),
        None => overview.store.word().to_owned(),
    };
    match credentials.probe(overview.store).await {
        Ok(()) => check("store", State::Ok, place, None),
        Err(error) => {
            let message = format!("{place}: {}", report::chain(&error));
            check(
                "store",
                State::Error,
                message,
                Some("without it a login can't be renewed; nothing is lost as long as none is tried"),
            )
        }
    }
}

/// Whoever else can read the file has the login; whoever can write its folder can replace it.
fn modes(path: &Path, checks: &mut Vec<Check>) {
    for part in [Some(path), path.parent()].into_iter().flatten() {
        if let Some(mode) = paths::mode(part).filter(|mode| mode & 0o077 != 0) {
            let message = format!("{} is open to others (mode {mode:03o})", part.display());
            checks.push(check(
                "file modes",
                State::Error,
                message,
                Some(&format!("chmod go= {}", part.display())),
            ));
        }
    }
}
