//! The OAuth client ID for a login.

use idempost::auth::{AuthorizationServer, NewOAuthClient};

use crate::commands::auth::login_failure;
use crate::context::Context;
use crate::diagnostics::Fail;

/// The client ID that services may have preregistered for this program.
const DEFAULT_CLIENT_ID: &str = "idempost-cli";
/// The redirect URIs; the port is chosen at run time (RFC 8252, 7.3).
const REDIRECTS: [&str; 2] = ["http://127.0.0.1/callback", "http://[::1]/callback"];

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
    for known in known_ids(server, context)? {
        if server.is_registered(&known).await.map_err(login_failure)? {
            return Ok(known);
        }
    }
    register(server).await
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
        return Err(Fail::auth("the service doesn't know this program and doesn't support dynamic client registration; nothing was stored").hint("ask the service's operator for a client ID, and log in with --client-id ID"));
    }
    let mut client = NewOAuthClient::new("idempost", REDIRECTS[0]).redirect_uri(REDIRECTS[1]);
    if server.supports_device_flow() {
        client = client.device_flow();
    }
    Ok(server.register(&client).await.map_err(login_failure)?.client_id)
}
