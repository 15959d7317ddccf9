//! The authorization request and its redirect (`docs/specification.md`, GET /oauth/authorize).

use std::sync::Arc;

use oauth2::{AuthUrl, ClientId, CsrfToken, PkceCodeChallenge, RedirectUrl, basic::BasicClient};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use tokio::sync::Mutex;
use url::Url;

use super::server::AuthorizationServer;
use crate::{
    auth::{record::TokenRecord, scope::Scope},
    clock::JoinHandle,
    error::{AuthError, CallbackError, OAuthError, OAuthErrorCode, Result, printable},
    problem::SettingsError,
};

/// The number of random bytes in a `state` and in a verifier, which are 43 and 86 characters long.
const STATE_BYTES: u32 = 32;
const VERIFIER_BYTES: u32 = 64;
/// The maximum length of a redirect parameter, decoded, in characters.
const MAX_PARAMETER: usize = 8192;

impl AuthorizationServer {
    /// Returns a builder for an authorization request with this client ID and redirect URI.
    ///
    /// `redirect_uri` must be registered for the client; the port of a loopback address may differ.
    pub fn authorize(
        &self,
        client_id: impl Into<String>,
        redirect_uri: impl Into<String>,
    ) -> AuthorizationRequestBuilder<'_> {
        AuthorizationRequestBuilder {
            server: self,
            client_id: client_id.into(),
            redirect_uri: redirect_uri.into(),
            scopes: Vec::new(),
        }
    }
}

/// Builds an [`AuthorizationRequest`].
#[derive(Clone, Debug)]
#[must_use]
pub struct AuthorizationRequestBuilder<'a> {
    server: &'a AuthorizationServer,
    client_id: String,
    redirect_uri: String,
    scopes: Vec<Scope>,
}

impl AuthorizationRequestBuilder<'_> {
    /// Requests a scope; repeatable. Without a scope, the service grants all scopes that the client is registered for.
    pub fn scope(mut self, scope: Scope) -> Self {
        if !self.scopes.contains(&scope) {
            self.scopes.push(scope);
        }
        self
    }

    /// Builds the request, with a random `state` and PKCE verifier. Nothing is sent.
    ///
    /// # Errors
    /// The redirect URI isn't https, http to a loopback address, or a private-use scheme; or it has a fragment.
    pub fn build(self) -> Result<AuthorizationRequest> {
        let redirect = redirect_address(&self.redirect_uri)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256_len(VERIFIER_BYTES);
        let state = CsrfToken::new_random_len(STATE_BYTES);
        let redirect_uri = RedirectUrl::new(self.redirect_uri.clone()).map_err(|error| {
            SettingsError::new("redirect_uri", "must be an absolute URL").with_value(error.to_string())
        })?;
        let client = BasicClient::new(ClientId::new(self.client_id.clone()))
            .set_auth_uri(AuthUrl::from_url(self.server.authorization.clone()))
            .set_redirect_uri(redirect_uri);
        let scopes = self.scopes.iter().map(|scope| oauth2::Scope::new(scope.as_str().to_owned()));
        let (url, state) =
            client.authorize_url(move || state).add_scopes(scopes).set_pkce_challenge(challenge).url();
        Ok(AuthorizationRequest {
            url,
            client_id: self.client_id,
            redirect_uri: self.redirect_uri,
            redirect,
            scope: self.scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(" "),
            issuer: self.server.issuer.clone(),
            issuer_in_redirect: self.server.issuer_in_redirect,
            state: state.into_secret().into(),
            verifier: verifier.into_secret().into(),
        })
    }
}

/// An authorization request: the URL for the browser, and the secrets that authenticate the redirect.
#[derive(Clone)]
pub struct AuthorizationRequest {
    url: Url,
    client_id: String,
    redirect_uri: String,
    redirect: Url,
    scope: String,
    issuer: Option<String>,
    issuer_in_redirect: bool,
    state: SecretString,
    verifier: SecretString,
}

impl AuthorizationRequest {
    /// Returns the URL to open in a browser. Programs must not fetch it themselves.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the redirect URI.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Extracts the code from the complete URL that the browser was redirected to.
    ///
    /// The `state` is verified first, so that another page can neither inject a code nor end the authorization with a forged error.
    /// [`AuthError::Callback`] means that this URL isn't the response to this request: keep waiting for the response.
    ///
    /// # Errors
    /// [`AuthError::Callback`] when the URL is not the response to this request; [`AuthError::Rejected`] when it is an error response.
    pub fn code_from_url(&self, redirected: &str) -> Result<AuthorizationCode, AuthError> {
        let url = Url::parse(redirected.trim()).map_err(|_| CallbackError::Url)?;
        let here = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port(), url.path().to_owned())
        };
        if here(&url) != here(&self.redirect) {
            return Err(CallbackError::Url.into());
        }
        self.code_from_query(url.query().unwrap_or_default())
    }

    /// Extracts the code from the query of a request to the redirect URI.
    pub(crate) fn code_from_query(&self, query: &str) -> Result<AuthorizationCode, AuthError> {
        let [state, code, error, issuer, description] =
            unique_parameters(query, ["state", "code", "error", "iss", "error_description"])?;
        let state = state.ok_or(CallbackError::State)?;
        if !bool::from(state.as_bytes().ct_eq(self.state.expose_secret().as_bytes())) {
            return Err(CallbackError::State.into());
        }
        match (issuer, &self.issuer) {
            (Some(named), Some(issuer)) if named != *issuer => {
                return Err(AuthError::IssuerMismatch { issuer: printable(&named, 200) });
            }
            (None, Some(_)) if self.issuer_in_redirect => {
                return Err(AuthError::IssuerMismatch { issuer: "no issuer".to_owned() });
            }
            _ => {}
        }
        match (code, error) {
            // RFC 6749, appendix A.11
            (Some(code), None)
                if !code.is_empty() && code.bytes().all(|byte| matches!(byte, b' '..=b'~')) =>
            {
                Ok(AuthorizationCode { code: code.into(), exchange: Arc::default() })
            }
            (None, Some(error)) => Err(AuthError::Rejected(OAuthError {
                code: OAuthErrorCode::from(printable(&error, 100)),
                description: description.map(|text| printable(&text, 200)),
                status: None,
            })),
            (Some(_), None) => Err(CallbackError::Parameters("`code` is malformed").into()),
            _ => Err(CallbackError::Parameters("exactly one of `code` and `error` must be present").into()),
        }
    }

    /// Serializes the request with its `state` and PKCE verifier, so that another process or a later request of a web application can check the
    /// redirect. Store it like a password, and delete it after ten minutes, when the code expires.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&Written {
            url: self.url.to_string(),
            client_id: self.client_id.clone(),
            redirect_uri: self.redirect_uri.clone(),
            scope: self.scope.clone(),
            issuer: self.issuer.clone(),
            issuer_in_redirect: self.issuer_in_redirect,
            state: self.state.expose_secret().to_owned(),
            verifier: self.verifier.expose_secret().to_owned(),
        })
        .unwrap_or_default()
    }

    /// Parses the output of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// The bytes are not an authorization request. The message contains no part of them.
    pub fn from_json(bytes: &[u8]) -> Result<Self> {
        let wrong = || SettingsError::new("authorization_request", "must be the output of `to_json`");
        let written: Written = serde_json::from_slice(bytes).map_err(|_| wrong())?;
        Ok(Self {
            url: Url::parse(&written.url).map_err(|_| wrong())?,
            redirect: redirect_address(&written.redirect_uri)?,
            client_id: written.client_id,
            redirect_uri: written.redirect_uri,
            scope: written.scope,
            issuer: written.issuer,
            issuer_in_redirect: written.issuer_in_redirect,
            state: written.state.into(),
            verifier: written.verifier.into(),
        })
    }

    pub(super) fn client_id(&self) -> &str {
        &self.client_id
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn verifier(&self) -> &str {
        self.verifier.expose_secret()
    }
}

/// The serialized form of a request.
#[derive(Serialize, Deserialize)]
struct Written {
    url: String,
    client_id: String,
    redirect_uri: String,
    scope: String,
    issuer: Option<String>,
    issuer_in_redirect: bool,
    state: String,
    verifier: String,
}

partial_debug! {
    /// `Debug` omits the URL, state and verifier, which are secret.
    AuthorizationRequest { client_id, redirect_uri, scope }
}

/// An authorization code: valid for one exchange within 10 minutes.
///
/// `Debug` prints `[redacted]`.
#[derive(Clone)]
pub struct AuthorizationCode {
    code: SecretString,
    pub(super) exchange: Arc<Mutex<Exchange>>,
}

impl AuthorizationCode {
    pub(crate) fn expose(&self) -> &str {
        self.code.expose_secret()
    }
}

partial_debug!(AuthorizationCode = "AuthorizationCode([redacted])");

/// The exchange of a code. It continues if its caller is dropped, and all later callers receive the same tokens.
#[derive(Default)]
pub(super) enum Exchange {
    #[default]
    NotSent,
    Running(JoinHandle<Result<TokenRecord, AuthError>>),
    Done(Box<TokenRecord>),
}

/// Returns the parameters with these names; each must occur at most once and within the length limit.
fn unique_parameters<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Result<[Option<String>; N], CallbackError> {
    if !is_well_encoded(query) {
        return Err(CallbackError::Parameters("not percent-encoded text"));
    }
    let mut found = [const { None }; N];
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let Some(at) = names.iter().position(|known| *known == name) else { continue };
        if value.chars().count() > MAX_PARAMETER {
            return Err(CallbackError::Parameters("a parameter is longer than 8192 characters"));
        }
        if found[at].replace(value.into_owned()).is_some() {
            return Err(CallbackError::Parameters("a parameter is repeated"));
        }
    }
    Ok(found)
}

/// Returns whether every `%` starts an encoded byte, and the decoded bytes are UTF-8.
fn is_well_encoded(query: &str) -> bool {
    let mut parts = query.split('%');
    parts.next();
    parts.all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
        && percent_encoding::percent_decode_str(query).decode_utf8().is_ok()
}

/// Parses and validates a redirect URI.
fn redirect_address(given: &str) -> Result<Url, SettingsError> {
    let wrong = |rule: &str| SettingsError::new("redirect_uri", rule).with_value(printable(given, 200));
    let url = Url::parse(given).map_err(|_| wrong("must be an absolute URL"))?;
    if url.fragment().is_some() {
        return Err(wrong("must not have a fragment"));
    }
    match url.scheme() {
        "http" if crate::transport::endpoint::is_loopback(&url) => Ok(url),
        "http" => Err(wrong("must use https; plain http is allowed only for loopback addresses")),
        "file" | "ftp" | "data" | "javascript" | "blob" | "about" | "vbscript" | "ws" | "wss" => {
            Err(wrong("must use https, http to a loopback address, or a private-use scheme"))
        }
        _ => Ok(url),
    }
}

/// Returns a verifier's challenge (RFC 7636, 4.2), as the oauth2 crate computes it.
#[cfg(test)]
fn code_challenge(verifier: &str) -> String {
    let verifier = oauth2::PkceCodeVerifier::new(verifier.to_owned());
    PkceCodeChallenge::from_code_verifier_sha256(&verifier).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn server() -> AuthorizationServer {
        AuthorizationServer::new("https://api.example.com").unwrap()
    }

    fn authorization() -> AuthorizationRequest {
        server().authorize("c", "http://127.0.0.1:4711/callback").scope(Scope::EmailsSend).build().unwrap()
    }

    fn parameters_of(url: &Url) -> HashMap<String, String> {
        url.query_pairs().into_owned().collect()
    }

    fn back(authorization: &AuthorizationRequest, rest: &str) -> Result<AuthorizationCode, AuthError> {
        let state = &parameters_of(authorization.url())["state"];
        authorization.code_from_url(&format!("http://127.0.0.1:4711/callback?state={state}&{rest}"))
    }

    #[test]
    fn the_challenge_matches_the_example_of_the_rfc() {
        // AUTHZ-16: RFC 7636, appendix B
        assert_eq!(
            code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn a_request_has_every_parameter_of_the_specification() {
        // AUTHZ-14, AUTHZ-16, TOK-10, TOK-12, A-45
        let authorization = authorization();
        let sent = parameters_of(authorization.url());
        assert!(authorization.url().as_str().starts_with("https://api.example.com/oauth/authorize?"));
        assert_eq!(sent["client_id"], "c");
        assert_eq!(sent["response_type"], "code");
        assert_eq!(sent["redirect_uri"], "http://127.0.0.1:4711/callback");
        assert_eq!(sent["scope"], "emails:send");
        assert_eq!(sent["code_challenge_method"], "S256");
        assert_eq!(sent["code_challenge"], code_challenge(authorization.verifier()));
        assert_eq!(sent["code_challenge"].len(), 43);
        assert_eq!(sent["state"].len(), 43);
        assert_eq!(authorization.verifier().len(), 86);
        assert!(authorization.verifier().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)));
    }

    #[test]
    fn requests_never_share_a_secret() {
        // AUTHZ-14
        let (one, two) = (authorization(), authorization());
        assert_ne!(parameters_of(one.url())["state"], parameters_of(two.url())["state"]);
        assert_ne!(one.verifier(), two.verifier());
    }

    #[test]
    fn a_stored_request_accepts_its_redirect_and_nothing_else_is_a_request() {
        let authorization = authorization();
        let written = authorization.to_json();
        let read = AuthorizationRequest::from_json(&written).unwrap();
        assert_eq!(read.to_json(), written);
        assert_eq!(back(&authorization, "code=abc").unwrap().expose(), "abc");
        assert_eq!(back(&read, "code=abc&scope=x&iss=anything").unwrap().expose(), "abc");
        assert_eq!(read.verifier(), authorization.verifier());
        for end in 0..written.len() {
            let error = AuthorizationRequest::from_json(&written[..end]).unwrap_err().to_string();
            assert!(!error.contains(authorization.verifier()), "{error}");
        }
    }

    #[test]
    fn a_redirect_with_another_state_is_ignored_whatever_its_parameters() {
        // AUTHZ-14, C-03
        let authorization = authorization();
        let state = parameters_of(authorization.url())["state"].clone();
        let near = format!("{}{}", &state[..42], if state.ends_with('A') { 'B' } else { 'A' });
        for query in [
            "code=abc".to_owned(),
            "error=access_denied".to_owned(),
            format!("code=abc&state={near}"),
            format!("error=access_denied&state={}", "x".repeat(43)),
            format!("code=abc&state={state}x"),
            "code=abc&state=".to_owned(),
        ] {
            match authorization.code_from_url(&format!("http://127.0.0.1:4711/callback?{query}")) {
                Err(AuthError::Callback(CallbackError::State)) => {}
                other => panic!("{query}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_code_has_at_most_8192_characters_and_a_malformed_one_is_named() {
        let authorization = authorization();
        let longest = "x".repeat(8192);
        assert_eq!(back(&authorization, &format!("code={longest}")).unwrap().expose(), longest);
        for (rest, part) in
            [("code=", "`code` is malformed"), ("code=a&error=b", "exactly one of `code` and `error`")]
        {
            let error = back(&authorization, rest).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_malformed_redirect_is_ignored() {
        // C-03
        let authorization = authorization();
        for rest in [
            "",
            "code=",
            "code=a&code=b",
            "code=a&error=access_denied",
            "error=a&error=b",
            "code=%00",
            "code=%ZZ",
            "code=a%2",
            "code=%E2%82",
            "code=caf%C3%A9",
            "code=a&state=again",
            "code=a%0Ab",
            "code=%FF%FE",
            "error=access_denied&error_description=%C0%80",
            &format!("code={}", "x".repeat(8193)),
        ] {
            assert!(matches!(back(&authorization, rest), Err(AuthError::Callback(_))), "{rest}");
        }
        for elsewhere in [
            "https://127.0.0.1:4711/callback",
            "http://127.0.0.1:4712/callback",
            "http://127.0.0.1:4711/",
            "nonsense",
        ] {
            let state = &parameters_of(authorization.url())["state"];
            let address = format!("{elsewhere}?state={state}&code=a");
            assert!(matches!(
                authorization.code_from_url(&address),
                Err(AuthError::Callback(CallbackError::Url))
            ));
        }
    }

    #[test]
    fn an_error_response_has_its_code_and_description() {
        // AUTHZ-32, C-06, C-13
        for name in [
            "invalid_request",
            "unauthorized_client",
            "invalid_scope",
            "server_error",
            "access_denied",
            "odd",
        ] {
            match back(&authorization(), &format!("error={name}&error_description=why+%1B%5B31m")) {
                Err(AuthError::Rejected(error)) => {
                    assert_eq!(error.code.as_str(), name);
                    let description = error.description.unwrap();
                    assert!(
                        description.starts_with("why ") && !description.contains('\u{1b}'),
                        "{description}"
                    );
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_response_of_another_issuer_ends_the_login() {
        // C-05
        let mut server = server();
        server.issuer = Some("https://api.example.com".to_owned());
        server.issuer_in_redirect = true;
        let authorization = server.authorize("c", "http://127.0.0.1:4711/callback").build().unwrap();
        assert!(back(&authorization, "code=a&iss=https%3A%2F%2Fapi.example.com").is_ok());
        for rest in ["code=a&iss=https%3A%2F%2Fevil.test", "code=a"] {
            assert!(matches!(back(&authorization, rest), Err(AuthError::IssuerMismatch { .. })), "{rest}");
        }
        // RFC 9207, section 2.4: only a server that announces `iss` must send it.
        server.issuer_in_redirect = false;
        let authorization = server.authorize("c", "http://127.0.0.1:4711/callback").build().unwrap();
        assert!(back(&authorization, "code=a").is_ok());
        assert!(back(&authorization, "code=a&iss=https%3A%2F%2Fevil.test").is_err());
    }

    #[test]
    fn a_redirect_uri_that_would_leak_the_code_is_rejected() {
        //
        for wrong in [
            "",
            "callback",
            "http://example.com/cb",
            "https://a.test/#x",
            "javascript:alert(1)",
            "file:///tmp/x",
        ] {
            let error = server().authorize("c", wrong).build().unwrap_err().to_string();
            assert!(error.contains("redirect_uri"), "{error}");
        }
        for right in ["https://a.test/cb", "http://localhost/cb", "http://[::1]:1/cb", "com.example.app:/cb"]
        {
            assert!(server().authorize("c", right).build().is_ok(), "{right}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        // AUTH-08, C-16
        let authorization = authorization();
        let shown = format!("{authorization:?} {:?}", back(&authorization, "code=sentinel"));
        let state = &parameters_of(authorization.url())["state"];
        assert!(
            !shown.contains(state.as_str())
                && !shown.contains(authorization.verifier())
                && !shown.contains("sentinel")
        );
    }
}
