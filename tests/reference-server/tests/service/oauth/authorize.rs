//! `GET /oauth/authorize`.

use http::Method;
use idempost_reference_server::{OAuthClient, Settings};

use super::{
    REDIRECT, authorization_request, authorize, authorize_with, code, consent_page, decide, error, exchanged,
    redirected, sandbox, urlencoded, with,
};
use crate::support::{Answer, Sandbox};

#[test]
fn a_valid_request_reaches_the_consent_page_without_a_credential() {
    // AUTHZ-18, AUTHZ-19, AUTHZ-34, GEN-15
    let sandbox = sandbox();
    let answer = authorize_with(&sandbox, "full", "resource", Some("https://api.test"));
    assert_eq!(answer.status, 302);
    let (to, query) = redirected(&answer);
    assert!(to.contains("/_/consent/"), "{to}");
    assert!(query.is_empty());
}

#[test]
fn errors_are_json_until_the_redirect_uri_is_validated() {
    // AUTHZ-02, AUTHZ-04, AUTHZ-08, AUTHZ-09, AUTHZ-22, AUTHZ-23, AUTHZ-24
    let sandbox = sandbox();
    for (name, value, wanted) in [
        ("client_id", None, "invalid_request"),
        ("client_id", Some("nobody"), "invalid_client"),
        ("client_id", Some("disabled"), "invalid_client"),
        ("redirect_uri", None, "invalid_request"),
        ("redirect_uri", Some(""), "invalid_request"),
        ("redirect_uri", Some("garbage"), "invalid_request"),
        ("redirect_uri", Some("ftp://x/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/callback/"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/other"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/Callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/callback?x=1"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/x/../callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/callback%20"), "invalid_request"),
        ("redirect_uri", Some("https://127.0.0.1:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://user@127.0.0.1:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://localhost:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.2:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711@evil.test/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:99999/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.1:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1.evil.test:4711/callback"), "invalid_request"),
        ("redirect_uri", Some("http://127.0.0.1:4711/callback#x"), "invalid_request"),
        ("redirect_uri", Some("https://evil.test/callback"), "invalid_request"),
    ] {
        let answer = authorize_with(&sandbox, "full", name, value);
        assert_eq!(error(&answer), (400, wanted.to_owned()), "{name}={value:?}");
    }
    for redirect in [
        "https://app.test:444/cb",
        "http://localhost.evil.test:4711/cb",
        "http://localhost:4711@evil.test/cb",
        "http://[::1]:4711@evil.test/cb",
        "http://[::1]:65536/cb",
    ] {
        let answer = authorize_with(&sandbox, "web", "redirect_uri", Some(redirect));
        assert_eq!(error(&answer), (400, "invalid_request".to_owned()), "{redirect}");
    }
}

#[test]
fn a_loopback_redirect_uri_matches_on_any_port() {
    // AUTHZ-05, AUTHZ-06, AUTHZ-07
    let sandbox = sandbox();
    for (client, redirect) in [
        ("full", "http://127.0.0.1:1/callback"),
        ("full", "http://127.0.0.1:65535/callback"),
        ("web", "http://localhost:4711/cb"),
        ("web", "http://[::1]:4711/cb"),
        ("full", "http://127.0.0.1:80/callback"),
        ("full", "http://127.0.0.1/callback"),
        ("web", "https://app.test/cb"),
    ] {
        let answer = authorize_with(&sandbox, client, "redirect_uri", Some(redirect));
        assert_eq!(answer.status, 302, "{redirect}");
        let (path, form) = consent_page(&sandbox, &answer);
        let (to, query) = redirected(&decide(&sandbox, &path, &form, "allow"));
        assert_eq!(to, redirect);
        assert_eq!(query["state"], "xyz", "{redirect}");
    }
}

/// A service with the client `c`, which has this redirect URI.
fn sandbox_with_redirect_uri(registered: &str) -> Sandbox {
    let oauth_clients = vec![OAuthClient::new("c", "C", registered)];
    Sandbox::with(&Settings { oauth_clients, ..Settings::default() })
}

#[test]
fn parameters_are_appended_to_the_redirect_uri_without_rewriting_it() {
    // AUTHZ-20, AUTHZ-21, AUTHZ-25; RFC 6749, 3.1.2
    for (registered, redirect, prefix) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:80/cb", "http://127.0.0.1:80/cb?"),
        ("http://[::1]:80/cb", "http://[::1]:80/cb", "http://[::1]:80/cb?"),
        ("https://localhost/cb", "https://localhost:443/cb", "https://localhost:443/cb?"),
        ("https://app.test:443/cb", "https://app.test:443/cb", "https://app.test:443/cb?"),
        ("https://App.test/%7Ea/../cb", "https://App.test/%7Ea/../cb", "https://App.test/%7Ea/../cb?"),
        ("https://app.test", "https://app.test", "https://app.test?"),
        ("https://app.test/cb?", "https://app.test/cb?", "https://app.test/cb?"),
        ("https://app.test/cb?a=b%20c+d", "https://app.test/cb?a=b%20c+d", "https://app.test/cb?a=b%20c+d&"),
        ("https://app.test/cb?a&", "https://app.test/cb?a&", "https://app.test/cb?a&"),
        ("http://127.0.0.1/cb?a=1", "http://127.0.0.1:8080/cb?a=1", "http://127.0.0.1:8080/cb?a=1&"),
        ("com.example.app:/cb?a='", "com.example.app:/cb?a='", "com.example.app:/cb?a='&"),
        // A header can't contain these characters, which browsers encode in the same way.
        (
            "https://app.test/\u{e9}?\u{e9}",
            "https://app.test/\u{e9}?\u{e9}",
            "https://app.test/%C3%A9?%C3%A9&",
        ),
    ] {
        let sandbox = sandbox_with_redirect_uri(registered);
        let request = with(authorization_request("c"), "redirect_uri", Some(redirect));
        let appended = |answer: &Answer| {
            let location = answer.headers["location"].to_str().unwrap();
            location.strip_prefix(prefix).unwrap_or_else(|| panic!("{redirect}: {location}")).to_owned()
        };
        let rest = appended(&authorize(&sandbox, &with(request.clone(), "scope", Some("foo"))));
        assert!(rest.starts_with("error=invalid_scope&error_description="), "{redirect}: {rest}");
        for (decision, parameter) in [("allow", "code="), ("deny", "error=access_denied&")] {
            let (path, form) = consent_page(&sandbox, &authorize(&sandbox, &request));
            let rest = appended(&decide(&sandbox, &path, &form, decision));
            assert!(rest.starts_with(parameter) && rest.contains("&state=xyz&iss="), "{redirect}: {rest}");
        }
    }
}

#[test]
fn redirect_uris_that_only_a_url_parser_considers_equal_differ() {
    // AUTHZ-04
    for (registered, redirect) in [
        ("https://app.test/cb", "https://app.test:443/cb"),
        ("https://app.test:443/cb", "https://app.test/cb"),
        ("https://app.test/cb", "https://app.test/cb?"),
        ("https://app.test/cb?", "https://app.test/cb"),
        ("https://app.test/cb?a=1", "https://app.test/cb?a=1&b=2"),
        ("https://app.test/cb?a=1", "https://app.test/cb"),
        ("https://app.test", "https://app.test/"),
        ("https://app.test/cb", "https://app.test/x/../cb"),
        ("https://app.test/cb", "HTTPS://app.test/cb"),
        ("https://app.test/~", "https://app.test/%7E"),
        ("http://127.0.0.1/cb?a=1", "http://127.0.0.1:4711/cb?a=2"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:4711/cb?"),
    ] {
        let sandbox = sandbox_with_redirect_uri(registered);
        let answer = authorize_with(&sandbox, "c", "redirect_uri", Some(redirect));
        assert_eq!(error(&answer), (400, "invalid_request".to_owned()), "{registered} {redirect}");
    }
}

#[test]
fn later_errors_redirect_with_error_description_and_state() {
    // AUTHZ-03, AUTHZ-13, AUTHZ-15, AUTHZ-17, AUTHZ-25, AUTHZ-26, AUTHZ-27, AUTHZ-28, AUTHZ-29, AUTHZ-30, AUTH-06, A-45
    let sandbox = sandbox();
    let long = "x".repeat(1025);
    for (client, name, value, wanted) in [
        ("full", "response_type", Some("token"), "invalid_request"),
        ("full", "response_type", None, "invalid_request"),
        ("full", "code_challenge_method", Some("plain"), "invalid_request"),
        ("full", "code_challenge_method", None, "invalid_request"),
        ("full", "code_challenge", None, "invalid_request"),
        ("full", "code_challenge", Some("tooshort"), "invalid_request"),
        ("full", "code_challenge", Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM"), "invalid_request"),
        ("full", "code_challenge", Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="), "invalid_request"),
        ("full", "state", Some(long.as_str()), "invalid_request"),
        ("refresh-only", "resource", None, "unauthorized_client"),
        ("full", "scope", Some("foo"), "invalid_scope"),
        ("full", "scope", Some("emails:send foo"), "invalid_scope"),
        ("full", "scope", Some(""), "invalid_scope"),
        ("sender", "scope", Some("full_access"), "invalid_scope"),
        ("nothing", "scope", None, "invalid_scope"),
    ] {
        let answer = authorize_with(&sandbox, client, name, value);
        assert_eq!(answer.status, 302, "{name}={value:?}");
        let (to, query) = redirected(&answer);
        assert_eq!(to, REDIRECT);
        assert_eq!(query["error"], wanted, "{name}={value:?}");
        assert!(!query["error_description"].is_empty());
        assert_eq!(query["state"], if name == "state" { long.as_str() } else { "xyz" });
        assert!(!query.contains_key("code"));
    }
    let bad = with(authorization_request("full"), "scope", Some("foo"));
    let answer = authorize(&sandbox, &with(bad, "state", None));
    assert!(!redirected(&answer).1.contains_key("state"));
}

#[test]
fn a_state_of_1024_characters_is_returned_unchanged() {
    // AUTHZ-12, AUTHZ-13, AUTHZ-20, LIM-11, A-45
    let sandbox = sandbox();
    let odd = format!("a b&c=d%+#?/\"<é>\u{1f600}{}", "x".repeat(1024 - 17));
    assert_eq!(odd.chars().count(), 1024);
    let (path, token) = consent_page(&sandbox, &authorize_with(&sandbox, "full", "state", Some(&odd)));
    let (to, query) = redirected(&decide(&sandbox, &path, &token, "allow"));
    assert_eq!(to, REDIRECT);
    assert_eq!(query["state"], odd);
    assert!(!query["code"].is_empty());
}

#[test]
fn scope_is_the_requested_one_or_defaults_to_the_registered_one() {
    // GEN-11, AUTHZ-10, AUTHZ-11, AUTHZ-33, SCOPE-10
    let sandbox = sandbox();
    for (client, scope, granted) in [
        ("full", Some("emails:send full_access"), "emails:send full_access"),
        ("full", Some("emails:send"), "emails:send"),
        ("full", None, "full_access emails:send"),
        ("sender", None, "emails:send"),
    ] {
        let code = code(&sandbox, &with(authorization_request(client), "scope", scope));
        let answer = exchanged(&sandbox, client, &code);
        assert_eq!(answer.json()["scope"], granted, "{client} {scope:?}");
    }
}

#[test]
fn a_request_over_the_storage_limit_is_a_server_error() {
    // AUTHZ-31
    let sandbox = Sandbox::with(&Settings { keep_records: 1, ..Settings::default() });
    let authorization_request = authorization_request("idempost-cli");
    assert!(redirected(&authorize(&sandbox, &authorization_request)).0.contains("/_/consent/"));
    let (to, query) = redirected(&authorize(&sandbox, &authorization_request).expect_status(302));
    assert_eq!(to, REDIRECT);
    assert_eq!(query["error"], "server_error");
    assert_eq!(query["state"], "xyz");
    // The first request has expired and frees its slot.
    sandbox.advance(601);
    assert!(redirected(&authorize(&sandbox, &authorization_request)).0.contains("/_/consent/"));
}

#[test]
fn a_repeated_parameter_is_rejected() {
    let sandbox = sandbox();
    let mut twice = authorization_request("full");
    twice.push(("redirect_uri", "https://evil.test/callback"));
    assert_eq!(error(&authorize(&sandbox, &twice)), (400, "invalid_request".to_owned()));
    // The client and its redirect URI are valid, so the error redirects (AUTHZ-25).
    for name in ["scope", "response_type"] {
        let mut twice = authorization_request("full");
        twice.extend([(name, "emails:send"), (name, "emails:send")]);
        let (to, query) = redirected(&authorize(&sandbox, &twice));
        assert_eq!((to.as_str(), query["error"].as_str()), (REDIRECT, "invalid_request"), "{name}");
        assert_eq!(query["state"], "xyz");
    }
    let mut twice = authorization_request("full");
    twice.push(("state", "other"));
    let (_, query) = redirected(&authorize(&sandbox, &twice));
    assert_eq!(query["error"], "invalid_request");
    assert!(!query.contains_key("state"), "neither belongs to the client");
    assert_eq!(sandbox.ask(Method::POST, "/oauth/authorize").no_key().send("").status, 405);
}

#[test]
fn parameters_that_no_endpoint_reads_are_ignored_even_if_repeated() {
    // AUTHZ-18; RFC 6749, 3.1; RFC 8707, 2: a client may name several resources.
    let sandbox = sandbox();
    for name in ["resource", "x", "\u{e9}"] {
        let mut twice = authorization_request("full");
        twice.extend([(name, "https://api.test"), (name, "https://files.test")]);
        assert!(redirected(&authorize(&sandbox, &twice)).0.contains("/_/consent/"), "{name}");
    }
}

#[test]
fn a_state_that_cannot_round_trip_is_rejected_and_an_empty_one_is_absent() {
    // AUTHZ-12, AUTHZ-26
    let sandbox = sandbox();
    let without = urlencoded(&with(authorization_request("full"), "state", None));
    let ask = |state: &str| {
        let path = format!("/oauth/authorize?{without}&state={state}");
        redirected(&sandbox.visit(&path))
    };
    for state in ["%FF", "a%C3", "%ED%A0%80"] {
        let (to, query) = ask(state);
        assert_eq!((to.as_str(), query["error"].as_str()), (REDIRECT, "invalid_request"), "{state}");
        assert!(!query.contains_key("state"));
    }
    assert!(ask("%zz%").0.contains("/_/consent/"));
    let bad = with(authorization_request("full"), "scope", Some("foo"));
    let (_, query) = redirected(&authorize(&sandbox, &with(bad, "state", Some(""))));
    assert!(query["error"] == "invalid_scope" && !query.contains_key("state"));
}

#[test]
fn an_error_description_contains_only_allowed_characters() {
    // RFC 6749, 4.1.2.1 and 5.2
    let sandbox = sandbox();
    let token = super::tokens(&sandbox, "full").refresh;
    let long = "y".repeat(5000);
    for odd in ["\"\\<script>\u{e9}\u{1f600}\r\n\u{7f}", long.as_str()] {
        let (_, query) = redirected(&authorize_with(&sandbox, "full", "scope", Some(odd)));
        let refresh = with(super::refresh_request("full", &token), "scope", Some(odd));
        let json = super::post_form(&sandbox, "/oauth/token", &refresh).json();
        for description in [&query["error_description"], json["error_description"].as_str().unwrap()] {
            let allowed = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
            assert!((1..=300).contains(&description.len()), "{description:?}");
            assert!(description.chars().all(allowed), "{description:?}");
        }
    }
}
