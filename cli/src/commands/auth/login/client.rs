//! Whom the service is to know this program as.

use posthaste::auth::{AuthorizationServer, NewOAuthClient};

use crate::commands::auth::failed;
use crate::diagnostics::Fail;

/// The name that a service may know this program by without being told.
const USUAL: &str = "posthaste-cli";
/// Where the browser comes back to; the port is free (RFC 8252, 7.3).
const REDIRECTS: [&str; 2] = ["http://127.0.0.1/callback", "http://[::1]/callback"];

/// An id, and whether the service has made it just now.
pub(super) struct Who {
    pub(super) client_id: String,
    pub(super) is_new: bool,
}

/// The id that was given or is remembered; else the usual one, if the service knows it; else one that the service makes.
pub(super) async fn who(
    server: &AuthorizationServer,
    given: Option<&str>,
    redirect_uri: &str,
) -> Result<Who, Fail> {
    if let Some(given) = given {
        return Ok(Who { client_id: given.to_owned(), is_new: false });
    }
    if server.is_registered(USUAL, redirect_uri).await.map_err(failed)? {
        return Ok(Who { client_id: USUAL.to_owned(), is_new: false });
    }
    if !server.supports_registration() {
        return Err(Fail::Auth {
            message: "the service does not know this program, and lets no program register by itself; nothing was stored"
                .to_owned(),
            hint: Some("ask for a client id, and log in with --client-id ID".to_owned()),
        });
    }
    let client = NewOAuthClient::new("posthaste", REDIRECTS[0]).redirect_uri(REDIRECTS[1]);
    let client = server.register(&client).await.map_err(failed)?;
    Ok(Who { client_id: client.client_id, is_new: true })
}
