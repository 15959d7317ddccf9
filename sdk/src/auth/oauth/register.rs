//! Client registration (RFC 7591).
//!
//! The specification mentions registration without details; the format is Resend's.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{
    device::DEVICE_GRANT,
    server::AuthorizationServer,
    token_response::{oauth_error, rejection},
};
use crate::{
    auth::scope::Scope,
    error::{AuthError, OAuthErrorCode, Result},
    transport::endpoint::is_loopback,
    types::lenient::readable_or_default,
};

/// The response, in errors about it.
const DESCRIPTION: &str = "the registration response: ";

/// A client to register.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct NewOAuthClient {
    client_name: String,
    redirect_uris: Vec<String>,
    grant_types: Vec<&'static str>,
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    application_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<String>,
}

impl NewOAuthClient {
    /// Creates a client with a display name (at most 200 characters) and a redirect URI. It is a public client: it has no secret and uses PKCE.
    pub fn new(client_name: impl Into<String>, redirect_uri: impl Into<String>) -> Self {
        let redirect_uri = redirect_uri.into();
        Self {
            client_name: client_name.into(),
            application_type: application_type(&redirect_uri),
            redirect_uris: vec![redirect_uri],
            grant_types: vec!["authorization_code", "refresh_token"],
            response_types: ["code"],
            token_endpoint_auth_method: "none",
            scope: None,
            client_uri: None,
            logo_uri: None,
        }
    }

    /// Adds a redirect URI: at most 10, of at most 2048 characters each.
    pub fn redirect_uri(mut self, redirect_uri: impl Into<String>) -> Self {
        let redirect_uri = redirect_uri.into();
        if application_type(&redirect_uri) == "web" {
            self.application_type = "web";
        }
        self.redirect_uris.push(redirect_uri);
        self
    }

    /// Also allows the client to use the device flow ([`AuthorizationServer::authorize_device`]).
    pub fn device_flow(mut self) -> Self {
        self.grant_types.push(DEVICE_GRANT);
        self
    }

    /// Adds a scope that the client may request. Without any, it may request all scopes.
    pub fn scope(mut self, scope: &Scope) -> Self {
        let scopes = self.scope.get_or_insert_default();
        if !scopes.is_empty() {
            scopes.push(' ');
        }
        scopes.push_str(scope.as_str());
        self
    }

    setters! {
        /// Sets the URL of a page about the client.
        client_uri: String;
        /// Sets the URL of the client's logo.
        logo_uri: String;
    }
}

/// Returns the application type for OpenID Connect registration: only native applications may use loopback ports and private-use schemes.
fn application_type(redirect_uri: &str) -> &'static str {
    let is_web = |url: Url| url.scheme() == "https" && !is_loopback(&url);
    if Url::parse(redirect_uri).is_ok_and(is_web) { "web" } else { "native" }
}

/// A registered client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthClient {
    /// The client ID.
    pub client_id: String,
    /// The display name.
    #[serde(default, deserialize_with = "readable_or_default")]
    pub client_name: Option<String>,
    /// The redirect URIs.
    #[serde(default, deserialize_with = "readable_or_default")]
    pub redirect_uris: Vec<String>,
    /// The scopes that the client may request, separated by spaces.
    #[serde(default, deserialize_with = "readable_or_default")]
    pub scope: Option<String>,
}

impl AuthorizationServer {
    /// Returns whether the server knows a client, for programs that may have to register first.
    ///
    /// Sends a code that the server never issued to the token endpoint: the server responds with `invalid_client` (or `unauthorized_client`) for a client
    /// that can't log in, and with `invalid_grant` for one that can (RFC 6749, 5.2). The authorization endpoint can't be used, since it is for browsers
    /// only.
    ///
    /// # Errors
    /// The server can't be reached or fails, or its response doesn't show whether it knows the client: [`AuthError::Rejected`] for another OAuth error,
    /// such as `invalid_request`, which the server may check before the client; [`AuthError::UnexpectedResponse`] for anything else, such as an error of
    /// a proxy.
    pub async fn is_registered(&self, client_id: &str) -> Result<bool> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", "none"),
            ("code_verifier", "0000000000000000000000000000000000000000000"),
            ("redirect_uri", "http://127.0.0.1/callback"),
            ("client_id", client_id),
        ];
        let response = self.http.post_form(&self.token, &form).await.map_err(AuthError::Unreachable)?;
        let is_rejection =
            response.status.is_client_error() && response.status != StatusCode::TOO_MANY_REQUESTS;
        let Some(error) = oauth_error(&response).filter(|_| is_rejection) else {
            return Err(response.unexpected(&self.token).into());
        };
        match error.code {
            OAuthErrorCode::InvalidGrant => Ok(true),
            OAuthErrorCode::InvalidClient | OAuthErrorCode::UnauthorizedClient => Ok(false),
            OAuthErrorCode::InvalidRequest
            | OAuthErrorCode::InvalidScope
            | OAuthErrorCode::UnsupportedGrantType
            | OAuthErrorCode::ServerError
            | OAuthErrorCode::TemporarilyUnavailable => Err(AuthError::Rejected(error).into()),
            _ => Err(response.unexpected(&self.token).into()),
        }
    }

    /// Registers a client. Each registration creates another client, so register once and store the ID.
    ///
    /// # Errors
    /// The server has no registration endpoint, can't be reached, or rejects the request: the metadata is invalid, or too many clients are
    /// registered.
    pub async fn register(&self, client: &NewOAuthClient) -> Result<OAuthClient> {
        let Some(endpoint) = &self.registration else { return Err(AuthError::NoRegistration.into()) };
        let body = serde_json::to_vec(client).unwrap_or_default();
        let response = self.http.post_json(endpoint, body).await.map_err(AuthError::Unreachable)?;
        if response.status.is_success() {
            let client: OAuthClient = response.json(endpoint, DESCRIPTION)?;
            if client.client_id.is_empty() {
                return Err(AuthError::Metadata(format!("{DESCRIPTION}`client_id` is missing")).into());
            }
            return Ok(client);
        }
        Err(rejection(&response, endpoint).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Reply, ScriptedTransport};

    /// Responds to every request with this status and body.
    fn server(status: u16, body: &'static str) -> AuthorizationServer {
        let script = ScriptedTransport::from_fn(move |request| {
            // The client never requests a page intended for the user.
            assert_eq!(request.method, "POST");
            Reply::bytes(status, body)
        });
        AuthorizationServer::new("https://api.example.com").unwrap().transport(script)
    }

    #[tokio::test]
    async fn only_errors_about_the_client_or_the_code_tell_whether_a_client_is_registered() {
        for (status, body, expected) in [
            (400, r#"{"error":"invalid_grant"}"#, Some(true)),
            (401, r#"{"error":"invalid_client"}"#, Some(false)),
            (400, r#"{"error":"invalid_client"}"#, Some(false)),
            (400, r#"{"error":"unauthorized_client"}"#, Some(false)),
            // The server may check these before it looks up the client (RFC 6749, 5.2).
            (400, r#"{"error":"invalid_request"}"#, None),
            (400, r#"{"error":"invalid_scope"}"#, None),
            (400, r#"{"error":"unsupported_grant_type"}"#, None),
            (400, r#"{"error":"server_error"}"#, None),
            // Responses of a gateway or another service.
            (400, r#"{"error":"Bad Request"}"#, None),
            (401, r#"{"error":"unauthorized"}"#, None),
            (403, r#"{"error":"access_denied"}"#, None),
            (403, r#"{"error":"Forbidden"}"#, None),
            (404, r#"{"error":"Not Found"}"#, None),
            (405, r#"{"error":"Method Not Allowed"}"#, None),
            (407, r#"{"error":"proxy"}"#, None),
            (415, r#"{"error":"Unsupported Media Type"}"#, None),
            (429, r#"{"error":"too_many_requests"}"#, None),
            (429, r#"{"error":"invalid_grant"}"#, None),
            (500, r#"{"error":"server_error"}"#, None),
            (500, r#"{"error":"invalid_grant"}"#, None),
            (503, r#"{"error":"invalid_client"}"#, None),
            (200, r#"{"error":"invalid_grant"}"#, None),
            (302, r#"{"error":"invalid_grant"}"#, None),
            (400, r#"{"message":"no"}"#, None),
            (400, r#"{"error":{"code":"invalid_grant"}}"#, None),
            (400, "", None),
            (403, "<html>invalid_client", None),
            (404, "<html>", None),
            (200, "<html>", None),
        ] {
            assert_eq!(server(status, body).is_registered("c").await.ok(), expected, "{status} {body}");
        }
    }

    #[tokio::test]
    async fn a_registration_returns_an_id_or_a_reason() {
        let client = NewOAuthClient::new("Shop", "http://127.0.0.1/callback").scope(&Scope::EmailsSend);
        let kind =
            |client: &NewOAuthClient| serde_json::to_value(client).unwrap()["application_type"].clone();
        assert_eq!(kind(&client), "native");
        assert_eq!(kind(&client.clone().redirect_uri("com.example.app:/cb")), "native");
        assert_eq!(kind(&client.clone().redirect_uri("https://shop.example.com/cb")), "web");
        let made = server(201, r#"{"client_id":"abc","later":1}"#).register(&client).await.unwrap();
        assert_eq!((made.client_id.as_str(), made.scope), ("abc", None));
        // The client exists, whatever else the response contains.
        for rest in [r#""redirect_uris":null"#, r#""redirect_uris":"x","scope":["a"]"#, r#""client_name":{}"#]
        {
            let body = format!(r#"{{"client_id":"abc",{rest}}}"#);
            let made = server(201, body.leak()).register(&client).await;
            assert_eq!(made.unwrap().client_id, "abc", "{rest}");
        }
        for (status, body, expected) in [
            (201, r#"{"client_id":""}"#, "client_id"),
            (
                400,
                r#"{"error":"invalid_request","error_description":"too long"}"#,
                "invalid_request: too long",
            ),
            (429, "{}", "overloaded (status 429)"),
            (500, "", "/oauth/register returned 500, not the expected JSON"),
            (404, "<html>", "/oauth/register returned 404, an HTML page"),
            (407, "", "a proxy returned 407 for https://api.example.com/oauth/register"),
            (200, "{}", "client_id"),
            (200, "<html>", "/oauth/register returned 200, an HTML page"),
            (200, "", "/oauth/register returned 200, not the expected JSON"),
        ] {
            let crate::Error::Auth(error) = server(status, body).register(&client).await.unwrap_err() else {
                panic!("{status} {body}");
            };
            assert!(error.to_string().contains(expected), "{error}");
        }
        let mut none = server(201, "{}");
        none.registration = None;
        assert!(!none.supports_registration() && none.register(&client).await.is_err());
    }
}
