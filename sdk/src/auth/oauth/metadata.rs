//! Authorization server metadata (RFC 8414, and OpenID Connect Discovery).

use http::StatusCode;
use serde::Deserialize;
use url::Url;

use super::{
    http::{HttpClient, HttpResponse},
    server::AuthorizationServer,
};
use crate::{
    auth::scope::Scope,
    error::{AuthError, Result, printable},
    transport::{
        Transport,
        endpoint::{self, origin},
    },
};

/// The part of the metadata that the authorization flow needs.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<Scope>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AuthorizationServer {
    /// Discovers the metadata of an issuer: `/.well-known/oauth-authorization-server`, or else
    /// `/.well-known/openid-configuration`.
    ///
    /// # Errors
    /// [`AuthError::NoMetadata`] if neither exists; [`AuthError::Metadata`] if the metadata is invalid or unsupported: it has another
    /// issuer, has an unencrypted endpoint, or lacks PKCE with S256.
    pub async fn discover(issuer: &str) -> Result<Self> {
        Self::discover_through(issuer, HttpClient::default()).await
    }

    /// Like [`discover`](Self::discover), over a custom transport, which the server then uses for all its requests.
    ///
    /// # Errors
    /// Those of [`discover`](Self::discover).
    pub async fn discover_with(issuer: &str, transport: impl Transport) -> Result<Self> {
        Self::discover_through(issuer, HttpClient::over(transport)).await
    }

    async fn discover_through(issuer: &str, http: HttpClient) -> Result<Self> {
        let base = endpoint::address(issuer)?;
        for url in metadata_urls(&base) {
            let response = http.get(&url).await.map_err(AuthError::Unreachable)?;
            if let Some(metadata) = read(response, &url)? {
                return Ok(server(metadata, &base, http)?);
            }
        }
        Err(AuthError::NoMetadata.into())
    }
}

/// The metadata URLs of an issuer: before its path (RFC 8414, 3.1), or after it (OpenID Connect Discovery, 4.1).
fn metadata_urls(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    [
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("{path}/.well-known/openid-configuration")),
    ]
}

/// Parses the metadata in a response; `None` if the server has none at this URL.
fn read(response: HttpResponse, url: &Url) -> Result<Option<Metadata>, AuthError> {
    match response.status {
        StatusCode::OK => {}
        status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => return Ok(None),
        _ => return Err(response.unexpected(url)),
    }
    serde_json::from_slice(&response.complete().map_err(AuthError::Unreachable)?)
        .map(Some)
        .map_err(|error| AuthError::Metadata(printable(&error.to_string(), 200)))
}

fn server(metadata: Metadata, base: &Url, http: HttpClient) -> Result<AuthorizationServer, AuthError> {
    let named = metadata.issuer.trim_end_matches('/');
    if named != base.as_str().trim_end_matches('/') {
        let named = printable(named, 200);
        return Err(AuthError::Metadata(format!("its issuer is {named}")));
    }
    let methods = &metadata.code_challenge_methods_supported;
    if !methods.is_empty() && !methods.iter().any(|method| method == "S256") {
        return Err(AuthError::Metadata("PKCE with S256 is not supported".to_owned()));
    }
    let address = |name: &str, given: &str| {
        endpoint::address(given).map_err(|error| AuthError::Metadata(format!("`{name}`: {error}")))
    };
    let maybe = |name: &str, given: Option<&str>| given.map(|given| address(name, given)).transpose();
    Ok(AuthorizationServer {
        authorization: address("authorization_endpoint", &metadata.authorization_endpoint)?,
        token: address("token_endpoint", &metadata.token_endpoint)?,
        revocation: maybe("revocation_endpoint", metadata.revocation_endpoint.as_deref())?,
        registration: maybe("registration_endpoint", metadata.registration_endpoint.as_deref())?,
        issuer_in_redirect: metadata.authorization_response_iss_parameter_supported,
        issuer: Some(metadata.issuer),
        scopes: metadata.scopes_supported,
        origin: origin(base),
        http,
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        testing::{Reply, ScriptedTransport},
        transport::Collected,
    };

    async fn discover(
        issuer: &str,
        place: &'static str,
        change: impl FnOnce(&mut serde_json::Value),
    ) -> Result<AuthorizationServer> {
        let mut page = serde_json::json!({
            "issuer": issuer,
            "authorization_endpoint": "https://auth.example.com/authorize",
            "token_endpoint": "https://auth.example.com/token",
            "scopes_supported": ["full_access", "emails:send", "later"],
            "code_challenge_methods_supported": ["S256"],
        });
        change(&mut page);
        let pages = ScriptedTransport::new([Reply::bytes(404, "").repeated()]);
        let pages = pages.on("GET", place, [Reply::json(200, page)]);
        AuthorizationServer::discover_with(issuer, pages).await
    }

    const RFC: &str = "/.well-known/oauth-authorization-server";

    #[tokio::test]
    async fn endpoints_are_discovered_at_both_well_known_urls() {
        let server = discover("https://api.example.com", RFC, |_| {}).await.unwrap();
        assert_eq!(server.token.as_str(), "https://auth.example.com/token");
        assert_eq!((server.origin(), server.supports_registration()), ("https://api.example.com", false));
        let found =
            discover("https://api.example.com/mail", "/.well-known/oauth-authorization-server/mail", |_| {})
                .await;
        assert_eq!(found.unwrap().origin(), "https://api.example.com");
        assert!(
            discover("https://api.example.com/mail", "/mail/.well-known/openid-configuration", |_| {})
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_discovered_server_names_its_issuer_its_scopes_and_whether_clients_can_register() {
        let server = discover("https://api.example.com", RFC, |page| {
            page["registration_endpoint"] = "https://auth.example.com/register".into();
        });
        let server = server.await.unwrap();
        assert_eq!(server.issuer(), Some("https://api.example.com"));
        assert_eq!(server.scopes(), ["full_access", "emails:send", "later"].map(Scope::from));
        assert!(server.supports_registration());
        assert_eq!(AuthorizationServer::new("https://api.example.com").unwrap().issuer(), None);
    }

    #[test]
    fn a_server_without_metadata_differs_from_one_that_fails() {
        let url = Url::parse("https://api.example.com/.well-known/oauth-authorization-server").unwrap();
        let found = |status| {
            let body = Collected { bytes: Bytes::new(), missing: None };
            read(HttpResponse { status, headers: http::HeaderMap::new(), body }, &url)
        };
        for status in [StatusCode::NOT_FOUND, StatusCode::UNAUTHORIZED, StatusCode::GONE] {
            assert!(matches!(found(status), Ok(None)), "{status}");
        }
        for status in [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::INTERNAL_SERVER_ERROR,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::NO_CONTENT,
            StatusCode::FOUND,
        ] {
            assert!(found(status).is_err(), "{status}");
        }
    }

    #[tokio::test]
    async fn untrusted_metadata_is_rejected() {
        let wrong: [(&str, serde_json::Value); 4] = [
            ("issuer", "https://evil.test".into()),
            ("token_endpoint", "http://api.example.com/token".into()),
            ("token_endpoint", serde_json::Value::Null),
            ("code_challenge_methods_supported", serde_json::json!(["plain"])),
        ];
        for (field, value) in wrong {
            let error = discover("https://api.example.com", RFC, |page| page[field] = value.clone())
                .await
                .unwrap_err();
            let crate::Error::Auth(error) = error else { panic!("{error:?}") };
            assert!(matches!(*error, AuthError::Metadata(_)), "{field}: {error:?}");
        }
    }

    #[tokio::test]
    async fn a_server_without_metadata_is_distinguished_from_a_failing_one() {
        let error = discover("https://api.example.com", "/elsewhere", |_| {}).await.unwrap_err();
        assert!(matches!(error, crate::Error::Auth(error) if matches!(*error, AuthError::NoMetadata)));
    }
}
