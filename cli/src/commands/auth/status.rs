//! `auth status`: the active credentials and their state.

use std::time::SystemTime;

use idempost::auth::StoreError;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{LOGIN, of_store, profile};
use crate::context::Context;
use crate::credentials::{CredentialKind, Overview};
use crate::diagnostics::Fail;
use crate::output::time::relative;
use crate::settings::Credential;

/// Show the active login: its scope, expiry and store
///
/// Exits with 4 if not logged in or if the login has ended. Sends nothing and doesn't open the keyring.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost auth status\n  idempost auth status --jq .scope")]
pub(crate) struct Args {}

/// Prints the status.
pub(super) fn run(_: &Args, context: &Context) -> Result<(), Fail> {
    let settings = context.settings()?;
    let credentials = context.credentials()?;
    let overview = credentials.overview();
    let name = profile::shown(context)?;
    if let Some(given) = context.credential()? {
        let kind = match given.value {
            Credential::ApiKey(_) => "api_key",
            Credential::AccessToken(_) => "access_token",
        };
        let origin = settings.base_url.as_ref().map(|base_url| base_url.value.origin().ascii_serialization());
        let document = json!({
            "profile": name, "origin": origin, "kind": kind, "source": given.source.to_string(), "state": "logged_in",
        });
        let line = format!(
            "{name}  {}  {} from {}",
            origin.as_deref().unwrap_or("-"),
            kind.replace('_', " "),
            given.source
        );
        return context.out.result(&[line], &document);
    }
    let Some(overview) = overview.map_err(|error| of_store(&error))? else {
        return Err(Fail::Auth {
            message: format!("profile `{name}` isn't logged in"),
            hint: Some(LOGIN.to_owned()),
        });
    };
    let mut document = described(&overview);
    if let Some(holder) = credentials.holder() {
        document["renewed_by"] = holder.to_string().into();
    }
    context.out.result(&[line(&overview)], &document)?;
    if let Some(holder) = credentials.holder() {
        context.out.note(&format!("token refresh in progress: {holder}"));
    }
    if let (Some(pending), None) = (&overview.metadata.pending, &overview.metadata.ended) {
        let since = Timestamp::try_from(pending.since).unwrap_or_default();
        context.out.note(&format!(
            "a token refresh started {} and its outcome is unknown",
            relative(&since.to_string(), Timestamp::now())
        ));
    }
    if let Some(base_url) = &settings.base_url
        && base_url.value.origin().ascii_serialization() != overview.metadata.origin
    {
        return Err(Fail::Auth {
            message: format!(
                "the login is for {}, but {} requests {}",
                overview.metadata.origin, base_url.source, base_url.value
            ),
            hint: Some("log in there with another profile: idempost --profile NAME auth login".to_owned()),
        });
    }
    match &overview.metadata.ended {
        Some(ended) => Err(super::refused(&idempost::auth::AuthError::Ended(ended.clone()))),
        None => Ok(()),
    }
}

/// The login's state as one word.
pub(super) fn state_of(overview: Result<&Overview, &StoreError>) -> &'static str {
    match overview {
        Ok(overview) if overview.metadata.ended.is_some() => "ended",
        Ok(_) => "logged_in",
        Err(_) => "unreadable",
    }
}

/// The status for programs; contains no secrets.
pub(super) fn described(overview: &Overview) -> Value {
    let metadata = &overview.metadata;
    let login = metadata.kind == CredentialKind::Login;
    json!({
        "profile": overview.profile,
        "origin": metadata.origin,
        "kind": if login { "login" } else { "api_key" },
        "state": state_of(Ok(overview)),
        "scope": login.then_some(&metadata.scope),
        "client_id": login.then_some(&metadata.client_id),
        "expires_at": metadata.expires_at().and_then(rfc3339),
        "obtained_at": metadata.obtained_at,
        "generation": login.then_some(metadata.generation),
        "pending_since": metadata.pending.as_ref().and_then(|pending| rfc3339(pending.since)),
        "store": overview.store.word(),
        "path": overview.path,
    })
}

fn rfc3339(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|at| format!("{at:.0}"))
}

fn line(overview: &Overview) -> String {
    let metadata = &overview.metadata;
    let what = match metadata.expires_at().and_then(rfc3339) {
        Some(at) => {
            let ends = relative(&at, Timestamp::now());
            let word = if ends.starts_with("in ") { "expires" } else { "expired" };
            format!("login {}  access token {word} {ends}", metadata.scope)
        }
        None => "API key".to_owned(),
    };
    let place = overview
        .path
        .as_ref()
        .map_or_else(|| overview.store.word().to_owned(), |path| path.display().to_string());
    format!("{}  {}  {what}  {place}", overview.profile, metadata.origin)
}
