//! `auth token`: an access token for other programs, and nothing else on standard output.

use posthaste::auth::AuthError;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{LOGIN, failed, of_store};
use crate::context::Context;
use crate::credentials::KeptKind;
use crate::diagnostics::Fail;
use crate::settings::Credential;

/// Print an access token that is good now, for other programs
///
/// It is renewed first if it is about to end. With an API key in the environment or kept by `auth login --with-token`, that is printed.
/// Whoever sees it can use it: mind your shell's history and logs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  curl -H \"Authorization: Bearer $(posthaste auth token)\" https://api.example.com/emails"
)]
pub(crate) struct Args {}

/// Prints it.
pub(super) async fn run(_: &Args, context: &Context) -> Result<(), Fail> {
    let print = |token: &str| context.out.result(&[token.to_owned()], &json!({ "token": token }));
    if let Some(given) = &context.settings()?.credential {
        let (Credential::ApiKey(secret) | Credential::AccessToken(secret)) = &given.value;
        return print(secret.expose_secret());
    }
    let credentials = context.credentials()?;
    match credentials.overview().map_err(|error| of_store(&error))? {
        Some(kept) if kept.facts.kind == KeptKind::ApiKey => {
            let key = credentials.api_key().await.map_err(|error| of_store(&error))?;
            let key = key.ok_or_else(|| super::refused(&AuthError::LoggedOut))?;
            print(key.key.expose_secret())
        }
        Some(_) => print(context.session(&credentials).access_token().await.map_err(failed)?.expose()),
        None => Err(Fail::Auth { message: "not logged in".to_owned(), hint: Some(LOGIN.to_owned()) }),
    }
}
