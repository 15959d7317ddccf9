//! `auth logout`: revokes the grant at the service and removes the stored credentials.

use idempost::auth::{AuthError, Revocation};
use serde_json::{Value, json};

use super::login_failure;
use crate::actions::confirm::confirm_locally;
use crate::commands::completions::cache;
use crate::context::Context;
use crate::credentials::{CredentialKind, Credentials};
use crate::diagnostics::Fail;
use crate::output::{format_count, report};
use crate::settings::file::{self, ConfigFile};
use crate::settings::profiles::{self, DEFAULT};
use crate::settings::store::ConfigStore;

const LOCAL_HINT: &str = "to remove the login without revoking it: idempost auth logout --local";

/// Log out: revoke access at the service and remove the stored credentials
///
/// Waits for a token refresh in progress. If access can't be revoked, the login stays, marked as ended: no command uses it, and the next logout tries
/// again; the exit code is 7 if a retry may succeed. A stored API key is removed from this machine only; it stays valid until you delete it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost auth logout\n  idempost --profile work auth logout\n  idempost auth logout --all --yes"
)]
pub(crate) struct Args {
    /// Log out of every profile
    #[arg(long)]
    all: bool,
    /// Remove the login from this machine without revoking access
    #[arg(long)]
    local: bool,
}

/// Logs out of one profile or of all.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let profiles = if args.all {
        all_profiles(context).await?
    } else {
        vec![context.settings()?.selected_profile().map(str::to_owned)]
    };
    let (mut ended, mut failures) = (Vec::new(), Vec::new());
    for profile in profiles {
        match log_out_profile(profile.as_deref(), args.local, context).await {
            Ok(Some(done)) => ended.push(done),
            Ok(None) => context
                .out
                .note(&format!("profile `{}` wasn't logged in", profile.as_deref().unwrap_or(DEFAULT))),
            Err(fail) => failures.push((profile.unwrap_or_else(|| DEFAULT.to_owned()), fail)),
        }
    }
    cache::clear(&context.env);
    let lines: Vec<String> = ended.iter().map(summary_line).collect();
    context.out.result(&lines, &json!({ "logged_out": ended }))?;
    reset_default_profile(context)?;
    match failures.len() {
        0 => Ok(()),
        1 if !args.all => Err(failures.remove(0).1),
        many => {
            let causes: Vec<_> =
                failures.iter().map(|(name, fail)| format!("  {name}: {}", report::message(fail))).collect();
            let profiles = format_count(many, "profile");
            Err(Fail::error(format!("{profiles} couldn't be logged out:\n{}", causes.join("\n")))
                .hint("log out one by one: idempost --profile NAME auth logout"))
        }
    }
}

/// A profile with nothing but a login no longer exists, so it can't stay the default.
fn reset_default_profile(context: &Context) -> Result<(), Fail> {
    let Some(file) = &context.settings()?.file else { return Ok(()) };
    let gone = |file: &ConfigFile| {
        let name = file.default_profile().map(|entry| entry.text);
        name.is_some_and(|name| name != DEFAULT && !profiles::names(Some(file), &context.env).contains(&name))
    };
    if gone(file) {
        let store = ConfigStore::lock(&context.env)?;
        if store.read()?.is_some_and(|file| gone(&file)) {
            store.update(|text| file::without_setting(text, None, "default_profile"))?;
        }
    }
    Ok(())
}

async fn all_profiles(context: &Context) -> Result<Vec<Option<String>>, Fail> {
    let names = Credentials::profiles(&context.env)?;
    if names.len() > 1 {
        confirm_locally(&format!("Log out of {} profiles ({})?", names.len(), names.join(", ")), context)
            .await?;
    }
    Ok(names.into_iter().map(Some).collect())
}

async fn log_out_profile(
    profile: Option<&str>,
    local: bool,
    context: &Context,
) -> Result<Option<Value>, Fail> {
    let credentials = Credentials::new(&context.env, profile)?;
    credentials.take_unfinished()?;
    let stored = credentials.overview();
    if matches!(stored, Ok(None)) {
        return Ok(None);
    }
    let name = profile.unwrap_or(DEFAULT);
    // Unreadable credentials count as a login, whose session reports the reason.
    if matches!(&stored, Ok(Some(stored)) if stored.metadata.kind == CredentialKind::ApiKey) {
        credentials.remove().await?;
        return Ok(Some(json!({ "profile": name, "kind": "api_key", "revoked": false })));
    }
    let session = context.session(&credentials)?;
    let revoked = if local {
        session.discard().await.map_err(login_failure)?;
        false
    } else {
        let ended = session.logout().await;
        match ended.map_err(|error| {
            login_failure(error).hint(format!("try again: idempost auth logout; {LOCAL_HINT}"))
        })? {
            Revocation::NotRevoked(error) => return Err(revocation_failure(&error)),
            revocation => matches!(revocation, Revocation::Revoked),
        }
    };
    Ok(Some(json!({ "profile": name, "kind": "login", "revoked": revoked })))
}

/// The login stays, marked as ended.
fn revocation_failure(error: &AuthError) -> Fail {
    let message = format!(
        "access couldn't be revoked: {}; the tokens may stay valid at the service",
        report::error_chain(error)
    );
    if error.is_retryable() || matches!(error, AuthError::Unreachable(_)) {
        return Fail::unavailable(message).hint(format!("try again: idempost auth logout; {LOCAL_HINT}"));
    }
    Fail::auth(message).hint(LOCAL_HINT)
}

fn summary_line(done: &Value) -> String {
    let name = done["profile"].as_str().unwrap_or_default();
    match (done["kind"] == "api_key", done["revoked"] == true) {
        (true, _) => format!(
            "removed the API key of profile `{name}` from this machine; it stays valid at the service"
        ),
        (false, true) => format!("logged out of profile `{name}`; access revoked"),
        (false, false) => format!("logged out of profile `{name}`"),
    }
}
