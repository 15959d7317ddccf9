//! Authorization server metadata (RFC 8414, and OpenID Connect Discovery), and the metadata of the API that names the server (RFC 9728).

use http::{HeaderMap, StatusCode, header::WWW_AUTHENTICATE};
use serde::{Deserialize, de::DeserializeOwned};
use url::Url;

use super::{
    http::{HttpClient, HttpResponse},
    server::AuthorizationServer,
};
use crate::{
    auth::scope::Scope,
    error::{AuthError, Error, Result, printable},
    transport::{
        Transport,
        endpoint::{self, origin},
    },
    types::lenient::null_default,
};

/// The part of the metadata that the authorization flow needs.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    #[serde(default, deserialize_with = "null_default")]
    scopes_supported: Vec<Scope>,
    #[serde(default, deserialize_with = "null_default")]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_default")]
    authorization_response_iss_parameter_supported: bool,
}

/// The part of a protected resource's metadata that names its authorization server.
#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default, deserialize_with = "null_default")]
    authorization_servers: Vec<String>,
}

impl AuthorizationServer {
    /// Discovers the metadata of an issuer: `/.well-known/oauth-authorization-server`, or else
    /// `/.well-known/openid-configuration`.
    ///
    /// # Errors
    /// [`AuthError::NoMetadata`] if neither exists; [`AuthError::UnexpectedResponse`] if the server fails, or if it or a proxy returns something other
    /// than JSON; [`AuthError::Metadata`] if the metadata is invalid or unsupported: it names another issuer,
    /// contains an unencrypted endpoint, or lacks PKCE with S256; [`AuthError::ForeignEndpoint`] if an endpoint is at another origin.
    pub async fn discover(issuer: &str) -> Result<Self> {
        Self::discovery().issuer(issuer).await
    }

    /// Returns the settings for discovering an authorization server, by its issuer or through an API.
    pub fn discovery() -> Discovery {
        Discovery::default()
    }
}

/// Discovery settings.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Discovery {
    http: HttpClient,
    trusts_endpoints: bool,
}

impl Discovery {
    /// Sets the transport, which the server then uses for all its requests. Default: reqwest with default settings.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.http = HttpClient::new(transport);
        self
    }

    setters! {
        /// Accepts endpoints at other origins than the issuer's, which some providers use. The metadata can then direct the authorization code
        /// of one server to another (RFC 9700, section 4.4), so use this only for issuers that the user trusts.
        trust_endpoints = true => trusts_endpoints;
    }

    /// Discovers the server of an issuer; see [`AuthorizationServer::discover`].
    ///
    /// # Errors
    /// The errors of [`AuthorizationServer::discover`].
    pub async fn issuer(self, issuer: &str) -> Result<AuthorizationServer> {
        let base = endpoint::parse_secure_url(issuer)?;
        let mut missing = AuthError::NoMetadata;
        for url in metadata_urls(&base) {
            let response = self.http.get(&url).await.map_err(AuthError::Unreachable)?;
            if is_page(&response) && matches!(missing, AuthError::NoMetadata) {
                missing = response.unexpected(&url);
            }
            if let Some(metadata) = read(response, &url)? {
                return Ok(build_server(metadata, &base, self.http, self.trusts_endpoints)?);
            }
        }
        Err(missing.into())
    }

    /// Discovers an API's authorization server, whose tokens are then bound to the API's origin: the first server named in the API's metadata (RFC
    /// 9728), or the API itself if it has no metadata. The metadata is at `/.well-known/oauth-protected-resource`, or at the URL in the API's 401
    /// response to a request without a credential (`WWW-Authenticate: Bearer resource_metadata="…"`).
    ///
    /// # Errors
    /// The errors of [`AuthorizationServer::discover`]; also [`AuthError::Metadata`] if the metadata describes another API, names no server, or names
    /// a server without metadata.
    pub async fn api(self, base_url: &str) -> Result<AuthorizationServer> {
        let base = endpoint::parse_secure_url(base_url)?;
        let mut found = self.resource(&well_known(&base, "oauth-protected-resource")).await?;
        if found.is_none()
            && let Some(named) = self.challenge(&base).await?
        {
            let url = endpoint::parse_oauth_url(&named)
                .map_err(|error| AuthError::Metadata(format!("`resource_metadata`: {error}")))?;
            found = self.resource(&url).await?;
            if found.is_none() {
                return Err(AuthError::Metadata(format!("{url} contains no metadata of the API")).into());
            }
        }
        let Some(metadata) = found else { return self.issuer(base_url).await };
        if !is_same(&metadata.resource, &base) {
            let named = printable(&metadata.resource, 200);
            return Err(AuthError::Metadata(format!("its resource is {named}")).into());
        }
        let Some(issuer) = metadata.authorization_servers.first() else {
            return Err(AuthError::Metadata("it names no authorization server".to_owned()).into());
        };
        match self.issuer(issuer).await {
            Err(Error::Auth(error)) if matches!(*error, AuthError::NoMetadata) => {
                let issuer = printable(issuer, 200);
                let text = format!("the authorization server {issuer} publishes no metadata");
                Err(AuthError::Metadata(text).into())
            }
            found => found?.for_api(base_url),
        }
    }

    async fn resource(&self, url: &Url) -> Result<Option<ResourceMetadata>, AuthError> {
        let response = self.http.get(url).await.map_err(AuthError::Unreachable)?;
        read(response, url)
    }

    /// Returns the metadata URL from the response to a request without a credential.
    async fn challenge(&self, base: &Url) -> Result<Option<String>, AuthError> {
        let mut url = base.clone();
        url.set_path(&format!("{}/emails", base.path().trim_end_matches('/')));
        let response = self.http.get(&url).await.map_err(AuthError::Unreachable)?;
        Ok(resource_metadata(&response.headers).filter(|_| response.status == StatusCode::UNAUTHORIZED))
    }
}

/// Returns the `resource_metadata` parameter of the challenges in a 401 response (RFC 9728, 5.1).
fn resource_metadata(headers: &HeaderMap) -> Option<String> {
    let challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    challenges.into_iter().find_map(|text| challenge_parameter(text, "resource_metadata"))
}

/// Returns a parameter of the challenges in a header: `name=token` or `name="quoted string"` (RFC 9110, 11.6.1).
fn challenge_parameter(mut rest: &str, wanted: &str) -> Option<String> {
    loop {
        let (before, after) = rest.split_once('=')?;
        let name = before.trim_end().rsplit([' ', '\t', ',']).next().unwrap_or_default();
        let mut value = String::new();
        rest = after.trim_start();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut characters = quoted.chars();
            // An unterminated string has no value.
            while let Some(character) = characters.next().filter(|character| *character != '"') {
                value.push(if character == '\\' { characters.next()? } else { character });
            }
            rest = characters.as_str();
        } else {
            let (token, after) = rest.split_at(rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len()));
            (value, rest) = (token.to_owned(), after.trim_start_matches('='));
        }
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
    }
}

/// Returns a well-known URL, inserted before the path of the base URL (RFC 8414, 3.1; RFC 9728, 3.1).
fn well_known(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("/.well-known/{name}{}", base.path().trim_end_matches('/')));
    url
}

/// Returns an issuer's metadata URLs: inserted before its path (RFC 8414, 3.1), or appended to it (OpenID Connect Discovery, 4.1).
fn metadata_urls(issuer: &Url) -> [Url; 2] {
    let mut openid = issuer.clone();
    openid.set_path(&format!("{}/.well-known/openid-configuration", issuer.path().trim_end_matches('/')));
    [well_known(issuer, "oauth-authorization-server"), openid]
}

/// Returns whether a response is an HTML page, which some applications return for any path, and also networks' login pages.
fn is_page(response: &HttpResponse) -> bool {
    response.status == StatusCode::OK && response.is_html()
}

/// Parses the metadata in a response; `None` if there is none at this URL.
fn read<T: DeserializeOwned>(response: HttpResponse, url: &Url) -> Result<Option<T>, AuthError> {
    match response.status {
        StatusCode::OK if is_page(&response) => Ok(None),
        StatusCode::OK => response.json(url, "").map(Some),
        // Of a proxy, or until a later request.
        StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::MISDIRECTED_REQUEST
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => Err(response.unexpected(url)),
        status if status.is_client_error() => Ok(None),
        _ => Err(response.unexpected(url)),
    }
}

/// Returns whether the metadata names this URL: the case of its host, its default port and a slash at its end don't matter.
fn is_same(named: &str, url: &Url) -> bool {
    let without_slash = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    Url::parse(named).is_ok_and(|named| without_slash(&named) == without_slash(url))
}

fn build_server(
    metadata: Metadata,
    base: &Url,
    http: HttpClient,
    trusts_endpoints: bool,
) -> Result<AuthorizationServer, AuthError> {
    if !is_same(&metadata.issuer, base) {
        let named = printable(&metadata.issuer, 200);
        return Err(AuthError::Metadata(format!("its issuer is {named}")));
    }
    if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(AuthError::Metadata("PKCE with S256 isn't supported".to_owned()));
    }
    let address = |name: &'static str, given: &str| {
        let url = endpoint::parse_oauth_url(given)
            .map_err(|error| AuthError::Metadata(format!("`{name}`: {error}")))?;
        // Otherwise the metadata could redirect one server's codes and tokens to another (RFC 9700, section 4.4).
        if !trusts_endpoints && origin(&url) != origin(base) {
            let (origin, issuer) = (origin(&url), origin(base));
            return Err(AuthError::ForeignEndpoint { endpoint: name, origin, issuer });
        }
        Ok(url)
    };
    let maybe = |name: &'static str, given: Option<&str>| given.map(|given| address(name, given)).transpose();
    Ok(AuthorizationServer {
        authorization: address("authorization_endpoint", &metadata.authorization_endpoint)?,
        token: address("token_endpoint", &metadata.token_endpoint)?,
        revocation: maybe("revocation_endpoint", metadata.revocation_endpoint.as_deref())?,
        registration: maybe("registration_endpoint", metadata.registration_endpoint.as_deref())?,
        device_authorization: maybe(
            "device_authorization_endpoint",
            metadata.device_authorization_endpoint.as_deref(),
        )?,
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
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        testing::{Reply, ScriptedTransport},
        transport::Collected,
    };

    /// The metadata of a server, with its endpoints at this origin.
    fn page(issuer: &str, origin: &str) -> Value {
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token?tenant=1"),
            "scopes_supported": ["full_access", "emails:send", "later"],
            "code_challenge_methods_supported": ["S256"],
        })
    }

    async fn discover(
        issuer: &str,
        place: &'static str,
        change: impl FnOnce(&mut Value),
    ) -> Result<AuthorizationServer> {
        let mut page = page(issuer, API);
        change(&mut page);
        let pages = ScriptedTransport::new([Reply::bytes(404, "").repeat()]);
        let pages = pages.reply_to("GET", place, [Reply::json(200, page)]);
        AuthorizationServer::discovery().transport(pages).issuer(issuer).await
    }

    const API: &str = "https://api.example.com";
    const LOGIN: &str = "https://login.example.com";
    const RFC: &str = "/.well-known/oauth-authorization-server";

    #[tokio::test]
    async fn endpoints_are_discovered_at_both_well_known_urls() {
        let server = discover(API, RFC, |_| {}).await.unwrap();
        assert_eq!(server.token.as_str(), "https://api.example.com/token?tenant=1");
        assert_eq!((server.origin(), server.supports_registration()), (API, false));
        let found =
            discover("https://api.example.com/mail", "/.well-known/oauth-authorization-server/mail", |_| {})
                .await;
        assert_eq!(found.unwrap().origin(), API);
        assert!(
            discover("https://api.example.com/mail", "/mail/.well-known/openid-configuration", |_| {})
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_discovered_server_names_its_issuer_its_scopes_and_whether_clients_can_register() {
        let server = discover(API, RFC, |page| {
            page["registration_endpoint"] = "https://api.example.com/register".into();
        });
        let server = server.await.unwrap();
        assert_eq!(server.issuer(), Some(API));
        assert_eq!(server.scopes(), ["full_access", "emails:send", "later"].map(Scope::from));
        assert!(server.supports_registration());
        assert_eq!(AuthorizationServer::new(API).unwrap().issuer(), None);
    }

    #[tokio::test]
    async fn null_counts_as_a_missing_field() {
        for field in
            ["registration_endpoint", "scopes_supported", "authorization_response_iss_parameter_supported"]
        {
            let server = discover(API, RFC, |page| page[field] = Value::Null).await;
            assert!(server.is_ok(), "{field}: {server:?}");
        }
        let error = discover(API, RFC, |page| page["code_challenge_methods_supported"] = Value::Null).await;
        assert!(format!("{:?}", error.unwrap_err()).contains("S256"));
    }

    #[tokio::test]
    async fn an_issuer_is_the_same_in_any_spelling_of_its_host_and_port() {
        for issuer in ["https://API.example.com", "https://api.example.com:443/", API] {
            for given in [issuer, API] {
                let found = discover(given, RFC, |page| page["issuer"] = issuer.into()).await;
                assert_eq!(found.unwrap().issuer(), Some(issuer), "{given}");
            }
        }
        for other in [
            "https://api.example.com/a",
            "https://api.example.com?a",
            "http://api.example.com",
            "api.example.com",
        ] {
            assert!(discover(API, RFC, |page| page["issuer"] = other.into()).await.is_err(), "{other}");
        }
    }

    #[test]
    fn a_server_without_metadata_differs_from_one_that_fails() {
        let url = Url::parse("https://api.example.com/.well-known/oauth-authorization-server").unwrap();
        let found = |status| {
            let body = Collected { bytes: Bytes::new(), missing: None };
            read::<Metadata>(HttpResponse { status, headers: HeaderMap::new(), body, served_at: None }, &url)
        };
        for status in [StatusCode::NOT_FOUND, StatusCode::UNAUTHORIZED, StatusCode::GONE] {
            assert!(matches!(found(status), Ok(None)), "{status}");
        }
        for status in [
            StatusCode::OK,
            StatusCode::PROXY_AUTHENTICATION_REQUIRED,
            StatusCode::REQUEST_TIMEOUT,
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
        let wrong: [(&str, Value); 8] = [
            ("issuer", "https://evil.test".into()),
            ("token_endpoint", "http://api.example.com/token".into()),
            ("token_endpoint", Value::Null),
            ("code_challenge_methods_supported", json!(["plain"])),
            ("code_challenge_methods_supported", json!([])),
            // A mix-up attack: the code would come from one server and be sent to another.
            ("authorization_endpoint", "https://honest.example.com/authorize".into()),
            ("token_endpoint", "https://api.example.com:8443/token".into()),
            ("registration_endpoint", "https://evil.test/register".into()),
        ];
        for (field, value) in wrong {
            let error = discover(API, RFC, |page| page[field] = value.clone()).await.unwrap_err();
            let crate::Error::Auth(error) = error else { panic!("{error:?}") };
            assert!(
                matches!(*error, AuthError::Metadata(_) | AuthError::ForeignEndpoint { .. }),
                "{field}: {error:?}"
            );
        }
    }

    #[tokio::test]
    async fn endpoints_of_other_origins_are_accepted_only_if_trusted() {
        let discovery = || {
            let pages = ScriptedTransport::new([Reply::json(200, page(API, LOGIN))]);
            AuthorizationServer::discovery().transport(pages)
        };
        assert!(discovery().issuer(API).await.is_err());
        let trusted = discovery().trust_endpoints().issuer(API).await.unwrap();
        assert_eq!(trusted.authorization.as_str(), "https://login.example.com/authorize");
    }

    #[tokio::test]
    async fn tokens_of_a_server_that_an_api_names_are_bound_to_the_api() {
        // RFC 9728
        let find = async |resource: Value| {
            let pages = ScriptedTransport::new([Reply::bytes(404, "").repeat()])
                .reply_to("GET", "/.well-known/oauth-protected-resource/v1", [Reply::json(200, resource)])
                .reply_to("GET", RFC, [Reply::json(200, page(LOGIN, LOGIN))]);
            AuthorizationServer::discovery().transport(pages).api("https://api.example.com/v1").await
        };
        let servers = json!([LOGIN]);
        let own = "https://api.example.com/v1";
        let found = find(json!({"resource": own, "authorization_servers": servers})).await.unwrap();
        assert_eq!((found.issuer(), found.origin()), (Some(LOGIN), API));
        for wrong in [
            json!({"resource": "https://evil.test", "authorization_servers": servers}),
            json!({"resource": own, "authorization_servers": []}),
            json!({"resource": own}),
        ] {
            assert!(find(wrong.clone()).await.is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn an_api_names_its_metadata_in_a_401() {
        // RFC 9728, 5.1
        let find = async |challenge: &'static str| {
            let resource = json!({
                "resource": API, "authorization_servers": [LOGIN],
            });
            let pages = ScriptedTransport::from_fn(move |request| match request.path() {
                "/emails" => {
                    assert_eq!(request.header("authorization"), "");
                    Reply::bytes(401, "").header("www-authenticate", challenge)
                }
                "/meta" => Reply::json(200, resource.clone()),
                RFC if request.url.host_str() == Some("login.example.com") => {
                    Reply::json(200, page(LOGIN, LOGIN))
                }
                // A single-page application.
                _ => Reply::bytes(200, "<!doctype html>"),
            });
            AuthorizationServer::discovery().transport(pages).api(API).await
        };
        let found = find(
            r#"Basic realm="a, resource_metadata=\"no\"", Bearer resource_metadata="https://api.example.com/meta""#,
        );
        let found = found.await.unwrap();
        assert_eq!((found.issuer(), found.origin()), (Some(LOGIN), API));
        let error = find("Bearer").await.unwrap_err();
        let Error::Auth(error) = error else { panic!("{error:?}") };
        assert!(
            matches!(*error, AuthError::UnexpectedResponse { status: 200, is_html: true, .. }),
            "{error}"
        );
        for wrong in
            ["Bearer resource_metadata=\"http://api.example.com/meta\"", "Bearer resource_metadata=/other"]
        {
            let error = find(wrong).await.unwrap_err();
            assert!(
                matches!(error, Error::Auth(error) if matches!(*error, AuthError::Metadata(_))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn parameters_of_challenges_are_read_as_the_rfc_writes_them() {
        for (challenges, found) in [
            ("Bearer resource_metadata=\"https://a.test/x\"", Some("https://a.test/x")),
            ("bearer error=\"invalid_token\", RESOURCE_METADATA = \"a\\\"b\", x=1", Some("a\"b")),
            ("Basic abc==, DPoP resource_metadata=plain,x=y", Some("plain")),
            ("Bearer x=\"resource_metadata=\\\"no\\\"\"", None),
            ("Bearer resource_metadata=\"\"", Some("")),
            ("Bearer resource_metadata", None),
            ("Bearer a=\"b", None),
            ("=", None),
            ("", None),
        ] {
            assert_eq!(
                challenge_parameter(challenges, "resource_metadata").as_deref(),
                found,
                "{challenges}"
            );
        }
        proptest::proptest!(|(text in "[ -~]{0,40}")| drop(challenge_parameter(&text, "resource_metadata")));
    }

    #[tokio::test]
    async fn a_server_without_metadata_is_distinguished_from_a_failing_one() {
        let error = discover(API, "/elsewhere", |_| {}).await.unwrap_err();
        assert!(matches!(error, crate::Error::Auth(error) if matches!(*error, AuthError::NoMetadata)));
    }
}
