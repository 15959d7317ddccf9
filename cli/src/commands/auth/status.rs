//! `auth status` and `whoami`: the identity that commands use, and the state of its login.

use std::time::SystemTime;

use idempost::auth::StoreError;
use idempost::types::{AccessToken, TokenClaims};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::LOGIN;
use crate::context::Context;
use crate::credentials::{CredentialKind, Overview};
use crate::diagnostics::Fail;
use crate::output::time::format_relative;
use crate::output::{json, record, secret};
use crate::settings::{Credential, Setting, Source};

/// Show who commands act as: profile, service, credential, scope and expiry
///
/// Each part is shown with its source: a flag, a variable, a line of the configuration file, the keyring or a file. The account is shown if the access
/// token names it; an API key doesn't. Exits with 4 if not logged in or if the login has ended. Sends nothing and doesn't open the keyring.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost whoami\n  idempost auth status --jq .scope")]
pub(crate) struct Args {}

/// Prints the status.
pub(crate) fn run(_: &Args, context: &Context) -> Result<(), Fail> {
    if context.global.sandbox {
        let mut document = json!({ "sandbox": true });
        context.identity()?.add_to(&mut document);
        return context.out.result(&record::lines(&document), &document);
    }
    let settings = context.settings()?;
    let credentials = context.credentials()?;
    let overview = credentials.overview();
    let mut document = json!({
        "profile": context.settings()?.profile_name(),
        "profile_source": settings.profile.as_ref().map_or(&Source::BuiltIn, |profile| &profile.source).to_string(),
        "base_url": settings.base_url.as_ref().map(|base_url| base_url.value.as_str()),
        "base_url_source": settings.base_url.as_ref().map(|base_url| base_url.source.to_string()),
    });
    let mut print = |fields: Value| {
        json::extend(&mut document, &fields);
        context.out.result(&record::lines(&document), &document)
    };
    if let Some(given) = context.credential()? {
        return print(explicit_summary(given, settings.base_url.as_ref()));
    }
    let Some(overview) = overview? else {
        return Err(Fail::auth(format!("profile `{}` isn't logged in", context.settings()?.profile_name()))
            .hint(LOGIN));
    };
    let mut fields = describe(&overview);
    if let Some(holder) = credentials.holder() {
        fields["renewed_by"] = holder.to_string().into();
    }
    print(fields)?;
    if let Some(holder) = credentials.holder() {
        context.out.note(&format!("token refresh in progress: {holder}"));
    }
    if let (Some(pending), None) = (&overview.metadata.pending, &overview.metadata.ended) {
        let since = Timestamp::try_from(pending.since).unwrap_or_default();
        context.out.note(&format!(
            "a token refresh started {} and its outcome is unknown",
            format_relative(&since.to_string(), Timestamp::now())
        ));
    }
    if let Some(base_url) = &settings.base_url
        && base_url.value.origin().ascii_serialization() != overview.metadata.origin
    {
        return Err(Fail::auth(format!(
            "the login is for {}, but {} requests {}",
            overview.metadata.origin, base_url.source, base_url.value
        ))
        .hint("log in there with another profile: idempost --profile NAME auth login"));
    }
    match &overview.metadata.ended {
        Some(ended) => Err(super::auth_failure(&idempost::auth::AuthError::Ended(ended.clone()))),
        None => Ok(()),
    }
}

/// A credential from a flag or the environment.
fn explicit_summary(given: &Setting<Credential>, base_url: Option<&Setting<url::Url>>) -> Value {
    let (kind, key, claims) = match &given.value {
        Credential::ApiKey(key) => ("api_key", Some(secret::mask(key.expose_secret())), None),
        Credential::AccessToken(token) => {
            let token = AccessToken::new(token.expose_secret()).ok();
            ("access_token", None, token.and_then(|token| token.claims()))
        }
    };
    json!({
        "origin": base_url.map(|base_url| base_url.value.origin().ascii_serialization()),
        "kind": kind,
        "credential_source": given.source.to_string(),
        "key": key,
        "account": claims.as_ref().and_then(|claims| claims.subject.as_ref()),
        "state": "logged_in",
        "scope": claims.as_ref().and_then(|claims| claims.scope.as_ref()),
        "expires_at": claims.as_ref().and_then(TokenClaims::expires_at).and_then(rfc3339),
    })
}

/// The login's state as one word.
pub(super) fn login_state(overview: Result<&Overview, &StoreError>) -> &'static str {
    match overview {
        Ok(overview) if overview.metadata.ended.is_some() => "ended",
        Ok(_) => "logged_in",
        Err(_) => "unreadable",
    }
}

/// The status as JSON; contains no secrets.
pub(super) fn describe(overview: &Overview) -> Value {
    let metadata = &overview.metadata;
    let login = metadata.kind == CredentialKind::Login;
    json!({
        "profile": overview.profile,
        "origin": metadata.origin,
        "kind": if login { "login" } else { "api_key" },
        "credential_source": overview.path.as_ref().map_or_else(|| overview.store.name().into(), |path| path.to_string_lossy()),
        "key": metadata.key,
        "account": metadata.account,
        "state": login_state(Ok(overview)),
        "scope": login.then_some(&metadata.scope),
        "issuer": metadata.issuer,
        "client_id": login.then_some(&metadata.client_id),
        "expires_at": metadata.expires_at().and_then(rfc3339),
        "obtained_at": metadata.obtained_at,
        "generation": login.then_some(metadata.generation),
        "pending_since": metadata.pending.as_ref().and_then(|pending| rfc3339(pending.since)),
        "store": overview.store.name(),
        "path": overview.path,
    })
}

fn rfc3339(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|at| format!("{at:.0}"))
}
