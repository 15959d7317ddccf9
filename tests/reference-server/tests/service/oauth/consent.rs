//! The consent page.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::json;

use super::{
    authorization_request, authorize, authorize_with, consent, consent_page, decide, redirected, register,
    sandbox, urlencoded,
};
use crate::support::{KEY, Sandbox};

#[test]
fn the_page_names_client_and_scopes_under_a_strict_content_security_policy() {
    let sandbox = sandbox();
    let answer = authorize_with(&sandbox, "full", "scope", Some("emails:send"));
    let (path, _) = consent_page(&sandbox, &answer);
    let page = sandbox.visit(&path);
    let text = page.text();
    assert!(text.contains("<b>full</b> asks for access"));
    assert!(text.contains("send emails") && !text.contains("do everything"));
    assert!(!text.contains("<script") && !text.contains("http-equiv"));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    for rule in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_eq!(page.headers["x-frame-options"], "DENY");
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert_eq!(page.headers["cache-control"], "no-store");
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains("Secure"), "{cookie}");
}

#[test]
fn the_cookie_and_form_keep_the_path_of_the_public_url() {
    for (url, prefix) in
        [("https://mail.test/box", "/box"), ("https://mail.test", ""), ("https://mail.test/a/b/", "/a/b")]
    {
        let sandbox = Sandbox::with(&Settings { public_url: Some(url.to_owned()), ..Settings::default() });
        // The proxy has removed the prefix from the path.
        let answer = authorize(&sandbox, &authorization_request("idempost-cli"));
        let location = answer.headers["location"].to_str().unwrap();
        let (public, name) = location.split_once("/_/consent/").unwrap();
        assert_eq!(public, url.trim_end_matches('/'));
        let page = sandbox.visit(&format!("/_/consent/{name}"));
        let cookie = page.headers["set-cookie"].to_str().unwrap();
        assert!(
            cookie.contains(&format!("; Path={prefix}/_/consent/{name}; ")) && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        assert!(page.text().contains("<form method=post>"), "the form is sent to its own URL");
    }
}

#[test]
fn markup_in_a_client_name_is_escaped() {
    let sandbox = sandbox();
    let registered = register(&sandbox, &json!({"client_name": "<script>x</script>\"'"})).json();
    let (path, _) = consent(&sandbox, registered["client_id"].as_str().unwrap());
    let text = sandbox.visit(&path).text();
    assert!(!text.contains("<script>x") && text.contains("&lt;script&gt;"), "{text}");
}

#[test]
fn a_cross_site_form_post_is_rejected() {
    let sandbox = sandbox();
    let (path, token) = consent(&sandbox, "full");
    let form = urlencoded(&[("token", &token), ("account", KEY), ("decision", "allow")]);
    let without_cookie = sandbox.ask(Method::POST, &path).no_key().send(form.clone());
    let with_other =
        sandbox.ask(Method::POST, &path).no_key().header("cookie", "sandbox_consent=x").send(form);
    let without_token = decide(&sandbox, &path, "", "allow");
    for answer in [without_cookie, with_other, without_token] {
        assert_eq!(answer.status, 403);
    }
    // The request is still pending.
    assert!(redirected(&decide(&sandbox, &path, &token, "allow")).1.contains_key("code"));
}

#[test]
fn a_request_is_decided_once_and_expires_after_ten_minutes() {
    let sandbox = sandbox();
    let (path, token) = consent(&sandbox, "full");
    assert_eq!(decide(&sandbox, &path, &token, "deny").status, 303);
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 404);
    let pending = || consent(&sandbox, "full");
    let ((young, young_token), (path, token)) = (pending(), pending());
    sandbox.advance(599);
    assert_eq!(decide(&sandbox, &young, &young_token, "allow").status, 303);
    sandbox.advance(1);
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 404);
    assert_eq!(sandbox.visit("/_/consent/unknown").status, 404);
}

#[test]
fn an_invalid_account_is_prompted_for_again() {
    let sandbox = sandbox();
    let (path, token) = consent(&sandbox, "full");
    let form = urlencoded(&[("token", &token), ("account", "<b>me"), ("decision", "allow")]);
    let ask = sandbox.ask(Method::POST, &path).no_key().header("cookie", format!("sandbox_consent={token}"));
    let answer = ask.send(form).expect_status(422);
    assert!(answer.text().contains("starts with sb_ or re_") && answer.text().contains("&lt;b&gt;me"));
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 303);
}

#[test]
fn a_sending_only_key_cannot_give_consent() {
    let sandbox = sandbox();
    let made = sandbox.post("/api-keys", &json!({"name": "k", "permission": "sending_access"})).json();
    let made = made["token"].as_str().unwrap();
    let (path, token) = consent(&sandbox, "full");
    for account in ["sb_test_sending", made] {
        let form = urlencoded(&[("token", &token), ("account", account), ("decision", "allow")]);
        let ask =
            sandbox.ask(Method::POST, &path).no_key().header("cookie", format!("sandbox_consent={token}"));
        let answer = ask.send(form);
        assert_eq!(answer.status, 422, "{account}");
        assert!(answer.text().contains("full access"), "{}", answer.text());
    }
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 303);
}

#[test]
fn form_action_allows_redirects_to_the_client() {
    // Browsers apply `form-action` to redirects after a form post; it can't express an IPv6 address.
    let sandbox = sandbox();
    for (client, redirect, rule) in [
        ("full", "http://127.0.0.1:4711/callback", "form-action 'self' http:"),
        ("web", "http://[::1]:4711/cb", "form-action 'self' http:"),
        ("web", "https://app.test/cb", "form-action 'self' https:"),
        ("own", "com.example.app:/cb", "form-action 'self' com.example.app:"),
    ] {
        let answer = authorize_with(&sandbox, client, "redirect_uri", Some(redirect));
        let (path, _) = consent_page(&sandbox, &answer);
        let page = sandbox.visit(&path);
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.ends_with(rule), "{policy}");
    }
}

#[test]
fn full_access_is_not_described_as_unable_to_read() {
    let sandbox = sandbox();
    for (scope, everything) in [("emails:send full_access", true), ("emails:send", false)] {
        let (path, _) = consent_page(&sandbox, &authorize_with(&sandbox, "full", "scope", Some(scope)));
        let text = sandbox.visit(&path).text();
        assert_eq!(text.contains("everything"), everything, "{text}");
        assert_eq!(text.contains("nothing else"), !everything, "{text}");
    }
}

#[test]
fn resetting_a_tenant_invalidates_its_codes() {
    let sandbox = sandbox();
    let code = super::code_for(&sandbox, "full");
    sandbox.act("/_/reset").expect_status(200);
    let answer = super::exchanged(&sandbox, "full", &code);
    assert_eq!(super::error(&answer), (400, "invalid_grant".to_owned()));
}
