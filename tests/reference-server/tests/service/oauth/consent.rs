//! The page on which a person decides.

use http::Method;

use super::{asking, authorize, consent_page, decide, encoded, redirected, sandbox, with};
use crate::support::KEY;

#[test]
fn the_page_says_who_asks_for_what_and_lets_nothing_in() {
    let sandbox = sandbox();
    let answer = authorize(&sandbox, &with(asking("full"), "scope", Some("emails:send")));
    let (path, _) = consent_page(&sandbox, &answer);
    let page = sandbox.ask(Method::GET, &path).no_key().send("");
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
}

#[test]
fn a_name_with_markup_stays_text() {
    let sandbox = sandbox();
    let registered = sandbox
        .ask(Method::POST, "/oauth/register")
        .no_key()
        .json(&serde_json::json!({"client_name": "<script>x</script>\"'", "redirect_uris": ["http://127.0.0.1/callback"]}));
    let id = registered.json()["client_id"].as_str().unwrap().to_owned();
    let (path, _) = consent_page(&sandbox, &authorize(&sandbox, &asking(&id)));
    let text = sandbox.ask(Method::GET, &path).no_key().send("").text();
    assert!(!text.contains("<script>x") && text.contains("&lt;script&gt;"), "{text}");
}

#[test]
fn a_form_from_elsewhere_decides_nothing() {
    let sandbox = sandbox();
    let (path, token) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
    let form = encoded(&[("token", &token), ("account", KEY), ("decision", "allow")]);
    let without_cookie = sandbox.ask(Method::POST, &path).no_key().send(form.clone());
    let with_other =
        sandbox.ask(Method::POST, &path).no_key().header("cookie", "sandbox_consent=x").send(form);
    let without_token = decide(&sandbox, &path, "", "allow");
    for answer in [without_cookie, with_other, without_token] {
        assert_eq!(answer.status, 403);
    }
    // And it can still be decided by the person.
    assert!(redirected(&decide(&sandbox, &path, &token, "allow")).1.contains_key("code"));
}

#[test]
fn a_request_is_decided_once_and_within_ten_minutes() {
    let sandbox = sandbox();
    let (path, token) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
    assert_eq!(decide(&sandbox, &path, &token, "deny").status, 303);
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 404);
    let (path, token) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
    sandbox.advance(601);
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 404);
    assert_eq!(sandbox.ask(Method::GET, "/_/consent/unknown").no_key().send("").status, 404);
}

#[test]
fn an_account_that_can_not_be_is_asked_for_again() {
    let sandbox = sandbox();
    let (path, token) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
    let form = encoded(&[("token", &token), ("account", "<b>me"), ("decision", "allow")]);
    let answer = sandbox
        .ask(Method::POST, &path)
        .no_key()
        .header("cookie", format!("sandbox_consent={token}"))
        .send(form);
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains("starts with sb_ or re_") && answer.text().contains("&lt;b&gt;me"));
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 303);
}

#[test]
fn a_key_that_may_only_send_lets_nobody_in() {
    let sandbox = sandbox();
    let made =
        sandbox.post("/api-keys", &serde_json::json!({"name": "k", "permission": "sending_access"})).json();
    let made = made["token"].as_str().unwrap();
    let (path, token) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
    for account in ["sb_test_sending", made] {
        let form = encoded(&[("token", &token), ("account", account), ("decision", "allow")]);
        let ask =
            sandbox.ask(Method::POST, &path).no_key().header("cookie", format!("sandbox_consent={token}"));
        let answer = ask.send(form);
        assert_eq!(answer.status, 422, "{account}");
        assert!(answer.text().contains("full access"), "{}", answer.text());
    }
    assert_eq!(decide(&sandbox, &path, &token, "allow").status, 303);
}

#[test]
fn the_rule_for_forms_lets_the_browser_go_wherever_the_client_sends_it_on() {
    // A browser holds every redirect after a form to this rule; an address of IPv6 can't be written in one.
    let sandbox = sandbox();
    for (client, redirect, rule) in [
        ("full", "http://127.0.0.1:4711/callback", "form-action 'self' http:"),
        ("web", "http://[::1]:4711/cb", "form-action 'self' http:"),
        ("web", "https://app.test/cb", "form-action 'self' https:"),
        ("own", "com.example.app:/cb", "form-action 'self' com.example.app:"),
    ] {
        let asking = with(asking(client), "redirect_uri", Some(redirect));
        let (path, _) = consent_page(&sandbox, &authorize(&sandbox, &asking));
        let page = sandbox.ask(Method::GET, &path).no_key().send("");
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.ends_with(rule), "{policy}");
    }
}

#[test]
fn behind_https_the_cookie_stays_there() {
    for (address, secure) in [("https://sandbox.test", true), ("http://127.0.0.1:4010", false)] {
        let sandbox = sandbox();
        sandbox.service.listens_at(address);
        let (path, _) = consent_page(&sandbox, &authorize(&sandbox, &asking("full")));
        let page = sandbox.ask(Method::GET, &path).no_key().send("");
        assert_eq!(page.headers["set-cookie"].to_str().unwrap().contains("; Secure"), secure, "{address}");
    }
}

#[test]
fn whoever_may_do_everything_is_not_said_to_read_nothing() {
    let sandbox = sandbox();
    for (scope, everything) in [("emails:send full_access", true), ("emails:send", false)] {
        let (path, _) =
            consent_page(&sandbox, &authorize(&sandbox, &with(asking("full"), "scope", Some(scope))));
        let text = sandbox.ask(Method::GET, &path).no_key().send("").text();
        assert_eq!(
            (text.contains("everything"), text.contains("nothing else")),
            (everything, !everything),
            "{text}"
        );
    }
}

#[test]
fn a_code_of_a_tenant_that_was_forgotten_is_forgotten_with_it() {
    let sandbox = sandbox();
    let code = super::code(&sandbox, &asking("full"));
    assert_eq!(sandbox.ask(Method::POST, "/_/reset").send("").status, 200);
    let answer = super::token(&sandbox, &super::redeeming("full", &code));
    assert_eq!(super::error(&answer), (400, "invalid_grant".to_owned()));
}
