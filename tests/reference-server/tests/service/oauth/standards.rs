//! What the RFCs ask of an authorization server beyond the specification, as clients of other authors rely on it.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use super::{
    authorization_request, authorize, authorize_with, code_exchange, code_for, consent, consent_page, decide,
    error, exchanged, redirected, refreshed, register, sandbox, token, tokens, urlencoded, with,
};
use crate::restarts::Restartable;
use crate::support::{Answer, Sandbox};

const SERVER: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

fn metadata(sandbox: &Sandbox, path: &str, host: &str) -> Value {
    let answer = sandbox.ask(Method::GET, path).no_key().header("host", host).send("");
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

fn basic(sandbox: &Sandbox, path: &str, user: &str, password: &str, form: &[(&str, &str)]) -> Answer {
    sandbox
        .ask(Method::POST, path)
        .no_key()
        .header("authorization", crate::support::basic(user, password))
        .header("content-type", "application/x-www-form-urlencoded")
        .send(urlencoded(form))
}

#[test]
fn the_issuer_is_the_host_that_the_client_asked() {
    // RFC 8414, 3.3
    let sandbox = Sandbox::with(&Settings { allowed_hosts: vec!["sandbox".into()], ..Settings::default() });
    for host in ["localhost:4010", "127.0.0.1:4010", "[::1]:4010", "sandbox:4010", "mail.localhost"] {
        let server = metadata(&sandbox, SERVER, host);
        let issuer = format!("http://{host}");
        assert_eq!(server["issuer"], issuer);
        assert_eq!(server["token_endpoint"], format!("{issuer}/oauth/token"));
        assert_eq!(metadata(&sandbox, RESOURCE, host)["authorization_servers"], json!([issuer]));
    }
    assert_eq!(metadata(&sandbox, SERVER, "evil.test/@localhost")["issuer"], "http://localhost");
    sandbox.ask(Method::GET, SERVER).no_key().header("host", "evil.test").send("").expect_status(403);
}

#[test]
fn the_metadata_lists_endpoints_and_capabilities() {
    // RFC 8414, 2; RFC 9728, 2
    let sandbox = sandbox();
    let (issuer, methods) = ("http://localhost", ["none", "client_secret_basic", "client_secret_post"]);
    let scopes = json!(["full_access", "emails:send"]);
    let expected = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "registration_endpoint": format!("{issuer}/oauth/register"),
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
    });
    assert_eq!(metadata(&sandbox, SERVER, "localhost"), expected);
    assert_eq!(sandbox.visit(SERVER).headers["cache-control"], "public, max-age=300");
    let expected = json!({
        "resource": issuer, "authorization_servers": [issuer], "bearer_methods_supported": ["header"], "scopes_supported": scopes,
    });
    assert_eq!(metadata(&sandbox, RESOURCE, "localhost"), expected);
}

#[test]
fn a_public_url_is_the_issuer_and_its_path_follows_the_well_known_one() {
    // RFC 8414, 3.1
    let url = Some("https://mail.test/box".to_owned());
    let sandbox = Sandbox::with(&Settings { public_url: url, ..Settings::default() });
    for path in [SERVER, "/.well-known/oauth-authorization-server/box"] {
        for host in ["mail.test", "localhost:4010"] {
            assert_eq!(metadata(&sandbox, path, host)["issuer"], "https://mail.test/box", "{path}");
        }
    }
    let other = format!("{SERVER}/other");
    assert_ne!(sandbox.visit(&other).status, 200);
}

#[test]
fn authorization_responses_name_their_issuer() {
    // RFC 9207
    let sandbox = sandbox();
    for decision in ["allow", "deny"] {
        let (path, form) = consent(&sandbox, "full");
        let (_, query) = redirected(&decide(&sandbox, &path, &form, decision));
        assert_eq!(query["iss"], "http://sandbox.invalid", "{decision}");
    }
    let wrong = authorize_with(&sandbox, "full", "scope", Some("bad"));
    assert_eq!(redirected(&wrong).1["iss"], "http://sandbox.invalid");
}

#[test]
fn refresh_tokens_and_codes_are_no_api_keys() {
    let sandbox = sandbox();
    for credential in [tokens(&sandbox, "full").refresh, code_for(&sandbox, "full")] {
        for (method, path) in [(Method::GET, "/emails"), (Method::POST, "/topics")] {
            let answer = sandbox.ask(method, path).key(&credential).json(&json!({}));
            answer.rejected(401, "invalid_access_token", "");
        }
    }
}

#[test]
fn a_challenge_names_the_metadata_of_the_resource() {
    // RFC 6750, 3; RFC 9728, 5.1
    let sandbox = sandbox();
    let resource = "resource_metadata=\"http://localhost:4010/.well-known/oauth-protected-resource\"";
    let ask = || sandbox.ask(Method::GET, "/emails").header("host", "localhost:4010");
    let sending = sandbox.service.grant("full", "sb_test", "emails:send").access_token;
    for (answer, expected) in [
        (ask().no_key().send(""), format!("Bearer {resource}")),
        (ask().key("sb_test_sending").send(""), format!("Bearer {resource}")),
        (ask().key("eyJ.x.y").send(""), format!("Bearer error=\"invalid_token\", {resource}")),
        (
            ask().key(&sending).send(""),
            format!("Bearer error=\"insufficient_scope\", scope=\"full_access\", {resource}"),
        ),
    ] {
        assert_eq!(answer.headers["www-authenticate"], expected, "{}", answer.text());
    }
}

#[test]
fn the_user_name_of_basic_authentication_is_the_client_id() {
    // RFC 6749, 2.3.1
    let sandbox = sandbox();
    let fresh = || code_for(&sandbox, "full");
    let first = fresh();
    let exchange = with(code_exchange("full", &first), "client_id", None);
    assert_eq!(basic(&sandbox, "/oauth/token", "full", "", &exchange).status, 200);
    let second = fresh();
    let both = code_exchange("full", &second);
    assert_eq!(error(&basic(&sandbox, "/oauth/token", "sender", "", &both)), (400, "invalid_request".into()));
    assert_eq!(basic(&sandbox, "/oauth/token", "f%75ll", "", &both).status, 200, "form-encoded inside");
    for (user, password) in [("nobody", ""), ("", "x"), ("%ff", "")] {
        let answer = basic(&sandbox, "/oauth/token", user, password, &exchange);
        assert_eq!(error(&answer), (401, "invalid_client".into()), "{user}");
        assert_eq!(answer.headers["www-authenticate"], "Basic realm=\"OAuth client\"");
    }
}

#[test]
fn a_confidential_client_needs_its_secret_by_the_method_it_registered() {
    // RFC 7591, 3.2.1; RFC 6749, 2.3.1
    let sandbox = sandbox();
    for method in ["client_secret_basic", "client_secret_post"] {
        let registered = register(&sandbox, &json!({"token_endpoint_auth_method": method})).json();
        assert_eq!(registered["token_endpoint_auth_method"], method);
        assert_eq!(registered["client_secret_expires_at"], 0);
        let id = registered["client_id"].as_str().unwrap();
        let secret = registered["client_secret"].as_str().unwrap();
        let unused = code_for(&sandbox, id);
        let form = code_exchange(id, &unused);
        let posted = |secret| token(&sandbox, &[form.as_slice(), &[("client_secret", secret)]].concat());
        let in_header = |secret| basic(&sandbox, "/oauth/token", id, secret, &form);
        let is_basic = method == "client_secret_basic";
        let (right, other) =
            if is_basic { (in_header(secret), posted(secret)) } else { (posted(secret), in_header(secret)) };
        for wrong in [token(&sandbox, &form), in_header("wrong"), posted("wrong"), other] {
            assert_eq!(error(&wrong), (401, "invalid_client".into()), "{method}");
            let description = wrong.json()["error_description"].take();
            assert!(
                description.as_str().unwrap().ends_with(&format!("sent by `{method}`.")),
                "{description}"
            );
        }
        assert_eq!(right.status, 200, "{method}: {}", right.text());

        let refresh = right.tokens().refresh;
        let revoke = [("client_id", id), ("token", &*refresh)];
        let unauthenticated = super::post_form(&sandbox, "/oauth/revoke", &revoke);
        assert_eq!(error(&unauthenticated), (401, "invalid_client".into()));
    }
}

#[test]
fn an_error_before_consent_never_leads_to_the_site_of_a_dynamic_client() {
    // RFC 9700, 4.11
    let sandbox = sandbox();
    let registered = |uri: &str| {
        let answer = register(&sandbox, &json!({"redirect_uris": [uri]})).json();
        answer["client_id"].as_str().unwrap().to_owned()
    };
    let begin = |uri: &str| {
        let id = registered(uri);
        let request = with(authorization_request(&id), "redirect_uri", Some(uri));
        authorize(&sandbox, &with(request, "scope", Some("bad")))
    };
    let answer = begin("https://evil.test/cb");
    assert_eq!(error(&answer), (400, "invalid_scope".into()));
    assert!(!answer.headers.contains_key("location"));
    for uri in [super::REDIRECT, "https://localhost/cb", "com.example.app:/cb"] {
        assert_eq!(redirected(&begin(uri)).1["error"], "invalid_scope", "{uri}");
    }
    // A denial is a decision, so it returns to the client.
    let id = registered("https://app.test/cb");
    let request = with(authorization_request(&id), "redirect_uri", Some("https://app.test/cb"));
    let (path, form) = consent_page(&sandbox, &authorize(&sandbox, &request));
    assert_eq!(redirected(&decide(&sandbox, &path, &form, "deny")).1["error"], "access_denied");
}

#[test]
fn redirect_uris_of_browsers_and_with_credentials_are_rejected() {
    let sandbox = sandbox();
    for uri in
        ["chrome://settings", "view-source:https://a.test", "https://u:p@a.test/cb", "https://u@a.test/cb"]
    {
        let answer = register(&sandbox, &json!({"redirect_uris": [uri]}));
        assert_eq!(error(&answer), (400, "invalid_request".into()), "{uri}");
    }
}

#[test]
fn a_client_without_the_refresh_grant_gets_no_refresh_token() {
    // RFC 6749, 5.1
    let sandbox = sandbox();
    let unused = code_for(&sandbox, "code-only");
    let answer = exchanged(&sandbox, "code-only", &unused).json();
    assert!(answer["access_token"].is_string() && answer.get("refresh_token").is_none(), "{answer}");
}

#[test]
fn registrations_beyond_the_limit_say_when_to_try_again() {
    let sandbox = sandbox();
    for _ in 0..20 {
        assert_eq!(register(&sandbox, &json!({})).status, 201);
    }
    sandbox.advance(600);
    let answer = register(&sandbox, &json!({}));
    assert_eq!(error(&answer), (429, "too_many_requests".into()));
    assert_eq!(answer.headers["retry-after"], "3000");
    sandbox.advance(3_000);
    assert_eq!(register(&sandbox, &json!({})).status, 201);
}

#[test]
fn metadata_answers_head_requests() {
    let sandbox = sandbox();
    for path in [SERVER, RESOURCE, "/.well-known/jwks.json"] {
        assert_eq!(sandbox.ask(Method::HEAD, path).no_key().send("").status, 200, "{path}");
    }
}

#[test]
fn an_access_token_cannot_be_revoked_and_keeps_working() {
    // RFC 7009, 2.2.1
    let sandbox = sandbox();
    let issued = tokens(&sandbox, "full");
    let access = &*issued.access;
    let revoke = |form: &[(&str, &str)]| super::post_form(&sandbox, "/oauth/revoke", form);
    let form = [("client_id", "full"), ("token", access)];
    assert_eq!(error(&revoke(&form)), (400, "unsupported_token_type".into()));
    let hinted = [form.as_slice(), &[("token_type_hint", "access_token")]].concat();
    assert_eq!(error(&revoke(&hinted)), (400, "invalid_request".into()));
    assert_eq!(super::api_status(&sandbox, access), 200);
    assert_eq!(refreshed(&sandbox, "full", &issued.refresh).status, 200);
}

#[test]
fn a_confidential_client_still_needs_its_secret_after_a_restart() {
    let mut sandbox = Restartable::new();
    let registered = register(&sandbox, &json!({"token_endpoint_auth_method": "client_secret_post"})).json();
    sandbox.restart();
    let id = registered["client_id"].as_str().unwrap();
    let unused = code_for(&sandbox, id);
    let form = code_exchange(id, &unused);
    assert_eq!(error(&token(&sandbox, &form)), (401, "invalid_client".into()));
    let secret = ("client_secret", registered["client_secret"].as_str().unwrap());
    assert_eq!(token(&sandbox, &[form.as_slice(), &[secret]].concat()).status, 200);
}
