//! Registering a program with the service (RFC 7591).
//!
//! The specification is silent here beyond that it exists; this is the shape that the public service has.

use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{AuthorizationServer, Scope, token_response::refusal};
use crate::{
    error::AuthError,
    error::{Result, printable},
};

/// A program that wants to log people in.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct NewOAuthClient {
    client_name: String,
    redirect_uris: Vec<String>,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<String>,
}

impl NewOAuthClient {
    /// A program with its name, as people will see it (at most 200 characters), and the address that the browser comes back to. It is a public
    /// client: it has no secret, and proves itself by PKCE.
    pub fn new(client_name: impl Into<String>, redirect_uri: impl Into<String>) -> Self {
        Self {
            client_name: client_name.into(),
            redirect_uris: vec![redirect_uri.into()],
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            token_endpoint_auth_method: "none",
            scope: None,
            client_uri: None,
            logo_uri: None,
        }
    }

    /// Adds an address that the browser may come back to: at most 10, of at most 2048 characters each.
    pub fn redirect_uri(mut self, redirect_uri: impl Into<String>) -> Self {
        self.redirect_uris.push(redirect_uri.into());
        self
    }

    /// What it may ask for. Without any: all that there is.
    pub fn scope(mut self, scope: &Scope) -> Self {
        let scopes = self.scope.get_or_insert_default();
        if !scopes.is_empty() {
            scopes.push(' ');
        }
        scopes.push_str(scope.as_str());
        self
    }

    /// A page about the program.
    pub fn client_uri(mut self, address: impl Into<String>) -> Self {
        self.client_uri = Some(address.into());
        self
    }

    /// A picture of the program.
    pub fn logo_uri(mut self, address: impl Into<String>) -> Self {
        self.logo_uri = Some(address.into());
        self
    }
}

/// A program that the service knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthClient {
    /// What it is known as from now on.
    pub client_id: String,
    /// Its name.
    #[serde(default)]
    pub client_name: Option<String>,
    /// Where the browser may come back to.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// What it may ask for: scopes with a space between.
    #[serde(default)]
    pub scope: Option<String>,
}

impl AuthorizationServer {
    /// Whether the server knows a program that comes back to this address, for one that may have to register first.
    ///
    /// It is asked for access without a challenge. A server that knows neither the program nor the address has to say so to whoever asks; one that knows both
    /// redirects, be it with an error (`SPEC.md`, GET /oauth/authorize). No person sees anything of it.
    ///
    /// # Errors
    /// The server can't be reached, or fails.
    pub async fn knows(&self, client_id: &str, redirect_uri: &str) -> Result<bool> {
        let mut url = self.authorization.clone();
        url.query_pairs_mut()
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("response_type", "code");
        let answer = self.wire.get(&url).await.map_err(AuthError::Unreachable)?;
        let status = answer.status();
        if status.is_redirection() {
            return Ok(true);
        }
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            return Ok(false);
        }
        Err(AuthError::Throttled {
            status: status.as_u16(),
            retry_after: crate::error::retry_after(answer.headers()),
        }
        .into())
    }

    /// Registers a program, once: each registration makes a client of its own, so its id is to be kept.
    ///
    /// # Errors
    /// The server has no place for it, can't be reached, or refuses: a rule of the metadata is broken, or too many were registered.
    pub async fn register(&self, client: &NewOAuthClient) -> Result<OAuthClient> {
        let Some(endpoint) = &self.registration else { return Err(AuthError::NoRegistration.into()) };
        let body = serde_json::to_vec(client).unwrap_or_default();
        let answer = self.wire.post_json(endpoint, body).await.map_err(AuthError::Unreachable)?;
        if answer.status().is_success() {
            return serde_json::from_slice(answer.body()).map_err(|error| {
                AuthError::Metadata(format!(
                    "the answer to the registration: {}",
                    printable(&error.to_string(), 200)
                ))
                .into()
            });
        }
        Err(match refusal(&answer) {
            Some(error) => AuthError::Refused(error),
            None => AuthError::Throttled {
                status: answer.status().as_u16(),
                retry_after: crate::error::retry_after(answer.headers()),
            },
        }
        .into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Response;

    use super::*;
    use crate::{
        auth::oauth::Wire,
        transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest},
    };

    /// Answers everything with this status and body.
    struct Always(u16, &'static str);

    impl Transport for Always {
        fn send(
            &self,
            request: TransportRequest,
        ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
            // Nothing is asked that a person would see, and nothing secret is in an address.
            assert!(!request.url.query().unwrap_or_default().contains("code_challenge"));
            let answer = Response::builder().status(self.0).body(ResponseBody::from(self.1));
            Box::pin(async { Ok(answer.unwrap()) })
        }
    }

    fn server(status: u16, body: &'static str) -> AuthorizationServer {
        let mut server = AuthorizationServer::of("https://api.example.com").unwrap();
        server.wire = Wire::over(Arc::new(Always(status, body)));
        server
    }

    #[tokio::test]
    async fn a_server_that_redirects_knows_the_program_and_one_that_refuses_does_not() {
        for (status, expected) in [
            (302, Some(true)),
            (303, Some(true)),
            (400, Some(false)),
            (401, Some(false)),
            (429, None),
            (500, None),
            (200, None),
        ] {
            let known = server(status, "").knows("c", "http://127.0.0.1:1/callback").await;
            assert_eq!(known.ok(), expected, "{status}");
        }
    }

    #[tokio::test]
    async fn a_registration_gives_an_id_or_says_why_not() {
        let client = NewOAuthClient::new("Shop", "http://127.0.0.1/callback").scope(&Scope::EmailsSend);
        let made = server(201, r#"{"client_id":"abc","later":1}"#).register(&client).await.unwrap();
        assert_eq!((made.client_id.as_str(), made.scope), ("abc", None));
        for (status, body, expected) in [
            (
                400,
                r#"{"error":"invalid_request","error_description":"too long"}"#,
                "invalid_request: too long",
            ),
            (429, "{}", "too busy (status 429)"),
            (200, "{}", "client_id"),
            (200, "<html>", "registration"),
        ] {
            let crate::Error::Auth(error) = server(status, body).register(&client).await.unwrap_err() else {
                panic!("{status} {body}");
            };
            assert!(error.to_string().contains(expected), "{error}");
        }
        let mut none = server(201, "{}");
        none.registration = None;
        assert!(!none.registers() && none.register(&client).await.is_err());
    }
}
