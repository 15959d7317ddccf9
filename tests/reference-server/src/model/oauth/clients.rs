//! OAuth clients.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::digest::{is_secret, sha256};
use crate::model::oauth::SCOPES;

/// A registered OAuth client (`docs/specification.md`, OAuth artifacts).
///
/// A public client has no secret. All use PKCE.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OAuthClient {
    /// The client ID.
    pub client_id: String,
    /// The name shown on the consent page.
    pub name: String,
    /// The allowed redirect URIs. For a loopback address the port may differ.
    pub redirect_uris: Vec<String>,
    /// `authorization_code`, `refresh_token`.
    pub grant_types: Vec<String>,
    /// The allowed scopes, which are granted if a request names none.
    pub scopes_allowed: Vec<String>,
    /// The client's home page.
    pub client_uri: Option<String>,
    /// The client's logo.
    pub logo_uri: Option<String>,
    /// A disabled client is rejected as unknown.
    pub disabled: bool,
    /// How the client authenticates, if it has a secret.
    pub secret: Option<ClientSecret>,
    /// Whether the client registered itself (RFC 7591).
    pub is_dynamic: bool,
}

/// How clients can authenticate.
pub const AUTHENTICATION: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];

/// The secret of a confidential client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ClientSecret {
    /// `client_secret_basic` or `client_secret_post`.
    pub method: String,
    /// The SHA-256 hash of the secret, in Base64url.
    pub hash: String,
}

impl ClientSecret {
    pub(crate) fn new(method: &str, secret: &str) -> Self {
        Self { method: method.to_owned(), hash: hash_secret(secret) }
    }

    pub(crate) fn matches(&self, given: &str) -> bool {
        is_secret(self.hash.as_bytes(), hash_secret(given).as_bytes())
    }
}

fn hash_secret(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(sha256(&[secret.as_bytes()]))
}

impl OAuthClient {
    /// A client with both grant types, all scopes and this redirect URI.
    pub fn new(
        client_id: impl Into<String>,
        name: impl Into<String>,
        redirect_uri: impl Into<String>,
    ) -> Self {
        Self {
            client_id: client_id.into(),
            name: name.into(),
            redirect_uris: vec![redirect_uri.into()],
            grant_types: vec!["authorization_code".to_owned(), "refresh_token".to_owned()],
            scopes_allowed: SCOPES.map(str::to_owned).to_vec(),
            client_uri: None,
            logo_uri: None,
            disabled: false,
            secret: None,
            is_dynamic: false,
        }
    }

    /// The clients of every sandbox: this project's command-line client, and Resend's.
    pub fn defaults() -> Vec<Self> {
        vec![
            Self::new("idempost-cli", "idempost", "http://127.0.0.1/callback")
                .with_redirect_uri("http://[::1]/callback"),
            Self::new(
                "7136aa0b-625c-4c9c-8820-e9784c8eb141",
                "Resend's command-line client",
                "http://127.0.0.1/oauth/callback",
            ),
        ]
    }

    fn with_redirect_uri(mut self, redirect_uri: &str) -> Self {
        self.redirect_uris.push(redirect_uri.to_owned());
        self
    }

    /// Whether the redirect URI is registered, compared exactly; only the port of a loopback address may differ.
    pub(crate) fn accepts_redirect_uri(&self, redirect_uri: &str) -> bool {
        self.redirect_uris
            .iter()
            .any(|known| known == redirect_uri || differ_only_in_port(known, redirect_uri))
    }

    pub(crate) fn allows_grant_type(&self, grant_type: &str) -> bool {
        self.grant_types.iter().any(|known| known == grant_type)
    }
}

/// Whether two URIs have the same loopback host and differ only in their port. They are compared as text: parsing would normalize them, so
/// different texts could match.
fn differ_only_in_port(known: &str, given: &str) -> bool {
    split_port(known).is_some_and(|known| split_port(given) == Some(known))
}

/// The scheme, the host and the rest of a loopback URI.
fn split_port(text: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = text.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme))?;
    let host = LOOPBACK.into_iter().find(|host| rest.starts_with(host))?;
    let rest = &rest[host.len()..];
    let Some(ported) = rest.strip_prefix(':') else { return Some((scheme, host, rest)) };
    let digits = ported.find(|character: char| !character.is_ascii_digit()).unwrap_or(ported.len());
    ported[..digits].parse::<u16>().ok()?;
    Some((scheme, host, &ported[digits..]))
}

/// The hosts whose port may differ (`docs/specification.md`, GET /oauth/authorize).
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// `127.0.0.1`, `localhost` or `[::1]` (`docs/specification.md`, GET /oauth/authorize).
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback() && address.octets() == [127, 0, 0, 1],
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether a redirect stays on the user's machine: to a loopback address, or to the program of a private-use scheme.
pub fn is_on_this_machine(redirect: &str) -> bool {
    Url::parse(redirect).is_ok_and(|url| url.scheme() != "https" || is_loopback(&url))
}

/// Whether a URI is acceptable as a redirect URI. The specification doesn't define this: https with any host, http with a loopback host,
/// and private-use schemes.
pub fn can_be_redirect(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not an absolute URI")?;
    // The parser would drop these and return a different URI.
    if text.contains(|character: char| character.is_control() || character == ' ') {
        return Err("contains a space or a control character");
    }
    if url.fragment().is_some() {
        return Err("has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user name or password");
    }
    match url.scheme() {
        "http" if !is_loopback(&url) => Err("is http without a loopback host"),
        // Schemes that browsers handle themselves, and schemes of other protocols.
        "file" | "ftp" | "data" | "javascript" | "blob" | "about" | "vbscript" | "chrome" | "edge"
        | "filesystem" | "intent" | "jar" | "mailto" | "resource" | "view-source" | "ws" | "wss" => {
            Err("has a scheme that is not allowed")
        }
        _ => Ok(url),
    }
}
