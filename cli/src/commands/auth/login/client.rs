//! The OAuth client ID for a login.

use idempost::auth::{AuthorizationServer, NewOAuthClient};

use crate::commands::auth::failed;
use crate::diagnostics::Fail;

/// The client ID that services may have registered for this program in advance.
const DEFAULT_CLIENT_ID: &str = "idempost-cli";
/// The redirect URIs; the port is chosen at run time (RFC 8252, 7.3).
const REDIRECTS: [&str; 2] = ["http://127.0.0.1/callback", "http://[::1]/callback"];

/// A client ID, and whether it was registered just now.
pub(super) struct ResolvedClient {
    pub(super) client_id: String,
    pub(super) is_new: bool,
}

/// Returns the ID that was given or stored; otherwise the default one if the service knows it; otherwise registers a client.
pub(super) async fn resolve(
    server: &AuthorizationServer,
    given: Option<&str>,
    redirect_uri: &str,
) -> Result<ResolvedClient, Fail> {
    if let Some(given) = given {
        return Ok(ResolvedClient { client_id: given.to_owned(), is_new: false });
    }
    if server.is_registered(DEFAULT_CLIENT_ID, redirect_uri).await.map_err(failed)? {
        return Ok(ResolvedClient { client_id: DEFAULT_CLIENT_ID.to_owned(), is_new: false });
    }
    if !server.supports_registration() {
        return Err(Fail::Auth {
            message: "the service doesn't know this program and doesn't support dynamic client registration; nothing was stored"
                .to_owned(),
            hint: Some("ask the service's operator for a client ID, and log in with --client-id ID".to_owned()),
        });
    }
    let client = NewOAuthClient::new("idempost", REDIRECTS[0]).redirect_uri(REDIRECTS[1]);
    let client = server.register(&client).await.map_err(failed)?;
    Ok(ResolvedClient { client_id: client.client_id, is_new: true })
}
