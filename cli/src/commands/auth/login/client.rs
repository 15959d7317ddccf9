//! The OAuth client ID for a login.

use idempost::Error;
use idempost::auth::{AuthError, AuthorizationServer, NewOAuthClient, OAuthErrorCode};

use crate::commands::auth::login_failure;
use crate::context::Context;
use crate::diagnostics::Fail;

/// The client ID that services may have preregistered for this program.
pub(super) const DEFAULT_CLIENT_ID: &str = "idempost-cli";
/// The redirect URIs; the port is chosen at run time (RFC 8252, 7.3).
const REDIRECTS: [&str; 2] = ["http://127.0.0.1/callback", "http://[::1]/callback"];

const ASK: &str = "ask the service's operator for a client ID, and log in with --client-id ID";

/// Returns the given ID, or else the last login's or the default one if the server knows it, or else registers a client. A new ID is stored with
/// the login, for one server and profile; an abandoned login leaves none.
pub(super) async fn resolve(
    server: &AuthorizationServer,
    given: Option<&str>,
    context: &Context,
) -> Result<String, Fail> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let mut undecided = None;
    for known in known_ids(server, context)? {
        match server.is_registered(&known).await {
            Ok(true) => return Ok(known),
            Ok(false) => {}
            Err(Error::Auth(error)) if is_undecided(&error) => undecided = Some(error),
            Err(error) => return Err(login_failure(error)),
        }
    }
    match undecided {
        Some(error) if !server.supports_registration() => {
            Err(Fail::auth(format!("the service doesn't say whether it knows this program: {error}"))
                .hint(ASK))
        }
        _ => register(server).await,
    }
}

/// Whether the token endpoint rejected the query for another reason than the client.
fn is_undecided(error: &AuthError) -> bool {
    matches!(error, AuthError::Rejected(error) if matches!(
        error.code,
        OAuthErrorCode::InvalidRequest | OAuthErrorCode::InvalidScope | OAuthErrorCode::UnsupportedGrantType
    ))
}

/// The client IDs that the server may know: the last login's and the default one.
pub(super) fn known_ids(server: &AuthorizationServer, context: &Context) -> Result<Vec<String>, Fail> {
    let last = context.credentials()?.overview().ok().flatten().map(|last| last.metadata);
    let last = last.filter(|last| {
        last.origin == server.origin()
            && last.issuer.as_deref() == server.issuer()
            && !last.client_id.is_empty()
    });
    Ok(last.into_iter().map(|last| last.client_id).chain([DEFAULT_CLIENT_ID.to_owned()]).collect())
}

/// Registers this program.
pub(super) async fn register(server: &AuthorizationServer) -> Result<String, Fail> {
    if !server.supports_registration() {
        return Err(Fail::auth("the service doesn't know this program and doesn't support dynamic client registration; nothing was stored").hint(ASK));
    }
    let mut client = NewOAuthClient::new("idempost", REDIRECTS[0]).redirect_uri(REDIRECTS[1]);
    if server.supports_device_flow() {
        client = client.device_flow();
    }
    Ok(server.register(&client).await.map_err(login_failure)?.client_id)
}
