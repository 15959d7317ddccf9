//! `auth token`: prints an access token for other programs, and nothing else, on standard output.

use idempost::auth::AuthError;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{LOGIN, login_failure};
use crate::context::Context;
use crate::credentials::CredentialKind;
use crate::diagnostics::Fail;
use crate::settings::Credential;

/// Print a valid access token for use by other programs
///
/// Refreshes the token first if it is about to expire. Prints the API key instead if one is set in the environment or stored by
/// `auth login --with-token`. Treat the output as a secret: mind your shell's history and logs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  curl -H \"Authorization: Bearer $(idempost auth token)\" https://api.example.com/emails"
)]
pub(crate) struct Args {}

/// Prints the token.
pub(super) async fn run(_: Args, context: &Context) -> Result<(), Fail> {
    let print = |token: &str| context.out.result(&[token.to_owned()], &json!({ "token": token }));
    if let Some(given) = context.credential()? {
        let (Credential::ApiKey(secret) | Credential::AccessToken(secret)) = &given.value;
        return print(secret.expose_secret());
    }
    let credentials = context.credentials()?;
    let overview = credentials.overview()?;
    overview.as_ref().map_or(Ok(()), |overview| context.check_origin(overview))?;
    match overview {
        Some(overview) if overview.metadata.kind == CredentialKind::ApiKey => {
            let key = credentials.api_key().await?;
            let key = key.ok_or_else(|| super::auth_failure(&AuthError::LoggedOut))?;
            print(key.key.expose_secret())
        }
        Some(_) => {
            print(context.session(&credentials)?.access_token().await.map_err(login_failure)?.expose())
        }
        None => Err(Fail::auth("not logged in").hint(LOGIN)),
    }
}
