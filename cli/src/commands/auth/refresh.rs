//! `auth refresh`: refreshes the login's access token with a narrower scope, or logs in again with a wider one.

use idempost::auth::{AuthError, OAuthErrorCode, RefreshRequest};

use super::{LOGIN, login, login_failure, status};
use crate::context::Context;
use crate::credentials::CredentialKind;
use crate::diagnostics::Fail;
use crate::input::flags::Choices;

/// Get a new access token with different scopes
///
/// Scopes among those of the login apply to this access token, for 15 minutes: the next refresh gets the login's scopes again. For other scopes, you
/// log
/// in again in the browser, as with `auth login`; the earlier login stays in use until you allow access.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost auth refresh --scope emails:send\n  idempost auth refresh --scope full_access"
)]
pub(crate) struct Args {
    /// Scope to request: emails:send or full_access; repeatable
    #[arg(long = "scope", value_name = "SCOPE", required = true, value_parser = Choices(&["emails:send", "full_access"]), hide_possible_values = true)]
    scopes: Vec<String>,
    /// Print the page's URL without opening a browser, if a login is needed
    #[arg(long)]
    no_browser: bool,
}

/// Refreshes, and prints the status; or logs in again.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let credentials = context.credentials()?;
    let metadata = match credentials.overview()? {
        Some(overview) if overview.metadata.kind == CredentialKind::Login => overview.metadata,
        _ => {
            return Err(Fail::auth("not logged in; an API key has no scope").hint(LOGIN));
        }
    };
    let request = RefreshRequest::with_scope(args.scopes.iter().map(String::as_str));
    match context.session(&credentials)?.refresh(request).await {
        Ok(()) => status::run(&status::Args {}, context),
        Err(idempost::Error::Auth(error)) if is_beyond_grant(&error) => {
            context.out.note("the login doesn't include these scopes; log in again to request them");
            let mut scopes: Vec<String> = metadata.scope.split_whitespace().map(str::to_owned).collect();
            scopes.extend(args.scopes);
            login::widen_scopes(scopes, metadata.client_id, args.no_browser, context).await
        }
        Err(error) => Err(login_failure(error)),
    }
}

fn is_beyond_grant(error: &AuthError) -> bool {
    matches!(error, AuthError::Rejected(rejection) if rejection.code == OAuthErrorCode::InvalidScope)
}
