//! A service with a password, for sandboxes that other machines can reach.

use http::Method;
use idempost_sandbox::{Settings, smtp};
use serde_json::json;

use crate::smtp_receiving::{SmtpServer, auth_plain, say};
use crate::support::{Answer, Sandbox, basic, email};

const PASSWORD: &str = "correct:horse";

fn settings() -> Settings {
    Settings { password: Some(PASSWORD.into()), ..Settings::default() }
}

fn with_password(sandbox: &Sandbox, method: Method, path: &str) -> Answer {
    let header = basic("anybody", PASSWORD);
    sandbox.ask(method, path).no_key().header("authorization", header).send("")
}

#[test]
fn api_keys_must_contain_the_password() {
    let sandbox = Sandbox::with(&settings());
    let send = |key: &str| sandbox.ask(Method::POST, "/emails").key(key).json(&email());
    for key in
        ["sb_correct:horse", "re_correct:horse", "sb_correct:horse_worker1", "sb_correct:horse_sending"]
    {
        assert_eq!(send(key).status, 200, "{key}");
    }
    for key in [
        "sb_local",
        "sb_",
        "sb_correct",
        "sb_correct:horses",
        "correct:horse",
        "sb_Correct:horse",
        "sb__correct:horse",
    ] {
        let answer = send(key);
        assert_eq!((answer.status.as_u16(), answer.name().as_str()), (403, "invalid_api_key"), "{key}");
    }
    assert_eq!(sandbox.ask(Method::POST, "/emails").no_key().json(&email()).status, 401);
    with_password(&sandbox, Method::POST, "/emails").rejected(401, "missing_api_key", "");
    let counts = ["sb_correct:horse", "re_correct:horse", "sb_correct:horse_worker1"];
    assert_eq!(counts.map(|key| sandbox.service.mails(key).len()), [2, 1, 1], "each key has its own account");

    let created =
        sandbox.ask(Method::POST, "/api-keys").key("sb_correct:horse").json(&json!({"name": "CI"})).json();
    let token = created["token"].as_str().unwrap();
    assert_eq!(send(token).status, 200, "a created key belongs to an account with the password");
}

#[test]
fn own_routes_ask_for_the_password_after_a_wrong_one() {
    let sandbox = Sandbox::with(&settings());
    let routes = [
        (Method::GET, "/_/"),
        (Method::GET, "/_/messages?key=sb_local"),
        (Method::GET, "/_/nowhere"),
        (Method::POST, "/_/reset"),
        (Method::GET, "/oauth/authorize/"),
    ];
    for (method, path) in routes {
        let wrong = ["", "Basic", "Basic !", "Bearer sb_local", "Bearer account_AAAAAAAAAAAAAAAAAAAAAA"]
            .map(str::to_owned);
        let wrong_passwords =
            [("anybody", ""), ("anybody", "correct"), ("correct", "horse"), ("anybody", "correct:horse ")];
        let wrong_passwords = wrong_passwords.map(|(user, password)| basic(user, password));
        for header in wrong.into_iter().chain(wrong_passwords) {
            let answer =
                sandbox.ask(method.clone(), path).no_key().header("authorization", &*header).send("");
            assert_eq!(
                (answer.status.as_u16(), answer.name().as_str()),
                (401, "password_required"),
                "{method} {path} {header}"
            );
            assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Basic "));
        }
        let answer = with_password(&sandbox, method.clone(), path);
        let challenge = answer.headers.get("www-authenticate");
        assert!(
            challenge.is_none_or(|challenge| !challenge.as_bytes().starts_with(b"Basic")),
            "{method} {path}"
        );
    }
    let metadata = sandbox.ask(Method::GET, "/.well-known/oauth-authorization-server").no_key().send("");
    metadata.expect_status(200);
}

#[test]
fn the_page_leads_from_the_password_to_an_account_id() {
    let sandbox = Sandbox::with(&settings());
    let page = with_password(&sandbox, Method::GET, "/_/").expect_status(303);
    let location = page.headers["location"].to_str().unwrap().to_owned();
    let account = location.strip_prefix("./?key=").unwrap();
    assert!(account.starts_with("account_") && !location.contains("horse"), "{location}");
    let location = location.replacen('.', "/_", 1);
    assert_eq!(with_password(&sandbox, Method::GET, &location).status, 200);
    sandbox.account("sb_correct:horse").sent(&email());
    assert_eq!(sandbox.account(account).items("/_/messages").len(), 1);
    let stream = format!("/_/messages?key={account}");
    assert_eq!(sandbox.ask(Method::GET, stream).no_key().send("").status, 200);
    let api = sandbox.ask(Method::GET, "/emails").key(account).send("");
    assert_eq!(api.status, 403, "an account ID isn't an API key");
}

#[test]
fn the_password_does_not_replace_the_host_and_origin_rules() {
    let sandbox = Sandbox::with(&Settings { allowed_hosts: vec!["Mail.internal".into()], ..settings() });
    let ask = |host: &str, origin: Option<&str>| {
        let mut ask = sandbox.ask(Method::GET, "/_/messages").key("sb_correct:horse").header("host", host);
        if let Some(origin) = origin {
            ask = ask.header("origin", origin);
        }
        ask.send("").status.as_u16()
    };
    assert_eq!(
        (ask("mail.internal:4010", None), ask("localhost", None), ask("evil.test", None)),
        (200, 200, 403)
    );
    assert_eq!(ask("mail.internal:4010", Some("http://mail.internal:4010")), 200);
    assert_eq!(ask("mail.internal:4010", Some("https://evil.test")), 403);
    let health = sandbox.ask(Method::GET, "/healthz").no_key().header("host", "10.0.0.7:4010").send("");
    assert_eq!(health.json(), json!({"status": "ok"}), "probes use addresses that the sandbox doesn't know");
    let shown = format!("{:?} {:?}", settings(), idempost_sandbox::service(settings()));
    assert!(!shown.contains(PASSWORD), "{shown}");
}

#[tokio::test]
async fn smtp_requires_auth_with_a_key_that_contains_the_password() {
    let server = SmtpServer::with(&settings(), smtp::Options::new("sb_correct:horse")).await;
    let begin = async |login: Option<&str>| {
        let mut stream = server.raw().await;
        say(&mut stream, "EHLO client").await;
        if let Some(key) = login {
            say(&mut stream, &auth_plain("inbound", key)).await;
        }
        say(&mut stream, "MAIL FROM:<a@example.com>").await[..3].to_owned()
    };
    assert_eq!(begin(None).await, "530");
    assert_eq!(begin(Some("sb_local")).await, "530");
    assert_eq!(begin(Some("sb_correct:horse")).await, "250");
}
