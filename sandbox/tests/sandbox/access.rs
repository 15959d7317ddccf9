//! Which credentials may use which of the sandbox's own routes, with and without a password.

use std::collections::BTreeSet;

use http::Method;
use idempost_sandbox::{OAuthClient, Settings, smtp};
use serde_json::{Value, json};

use crate::inbox_routes::{HEAD, Listed, listed};
use crate::smtp_receiving::{SmtpServer, auth_plain, say};
use crate::support::{Answer, Sandbox, basic, email};

const PASSWORD: &str = "correct-horse";
/// The full key of the account that the send-only credentials belong to.
const OWN: &str = "sb_correct-horse_w1";
const OTHER: &str = "sb_correct-horse_w2";

/// Every own route, and the start of a login.
fn routes() -> impl Iterator<Item = Listed> {
    let mut all = listed();
    let head = all.iter().filter(|route| HEAD.contains(&&*route.path));
    let head: Vec<_> = head.map(|route| Listed { method: Method::HEAD, ..route.clone() }).collect();
    all.extend(head);
    let (path, access) = ("/oauth/authorize".to_owned(), "password".to_owned());
    all.push(Listed { method: Method::GET, path, access });
    all.into_iter()
}

fn settings() -> Settings {
    Settings {
        password: Some(PASSWORD.to_owned().into()),
        oauth_clients: vec![OAuthClient::new("app", "app", "http://127.0.0.1/callback")],
        ..Settings::default()
    }
}

/// Credentials of the account of [`OWN`] that may only send.
fn send_only(sandbox: &Sandbox) -> Vec<String> {
    let own = |path: &str, body: &Value| sandbox.account(OWN).post(path, body).expect_status(201).json();
    let domain = own("/domains", &json!({"name": "acme.test"}))["id"].clone();
    let created = own("/api-keys", &json!({"name": "k", "permission": "sending_access"}));
    let body = json!({"name": "k", "permission": "sending_access", "domain_id": domain});
    let of_one_domain = own("/api-keys", &body);
    let token = |answer: &Value| answer["token"].as_str().unwrap().to_owned();
    vec![
        format!("{OWN}_sending"),
        format!("re_{PASSWORD}_sending"),
        token(&created),
        token(&of_one_domain),
        sandbox.service.grant("app", OWN, "emails:send").access_token,
    ]
}

fn bearer(credential: &str) -> String {
    format!("Bearer {credential}")
}

/// Why a request was rejected for its credential.
fn rejection(answer: &Answer) -> Option<String> {
    let names = "password_required restricted_api_key invalid_permission missing_api_key invalid_api_key";
    let json = serde_json::from_slice::<Value>(&answer.body).ok()?;
    json["name"].as_str().filter(|name| names.split(' ').any(|known| known == *name)).map(str::to_owned)
}

fn ask(sandbox: &Sandbox, method: &Method, path: &str, authorization: Option<&str>) -> Answer {
    let ask = sandbox.ask(method.clone(), path).no_key();
    match authorization {
        Some(value) => ask.header("authorization", value).send(""),
        None => ask.send(""),
    }
}

/// Expects each route to reject requests with this header for the reason that its access determines.
fn expect_rejections(
    sandbox: &Sandbox,
    routes: impl Iterator<Item = Listed>,
    authorization: Option<&str>,
    expected: impl Fn(&str) -> Option<&'static str>,
) {
    for Listed { method, path, access } in routes {
        let answer = ask(sandbox, &method, &path, authorization);
        let found = rejection(&answer);
        assert_eq!(
            found.as_deref(),
            expected(&access),
            "{authorization:?} {method} {path}: {}",
            answer.text()
        );
    }
}

#[test]
fn operations_of_own_routes_have_a_summary_and_distinct_ids() {
    let document = Sandbox::new().get("/_/openapi.json").json();
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let text = operation["summary"].as_str().unwrap();
            assert!(!text.is_empty() && !text.ends_with('.'), "{path}: {text}");
            assert!(ids.insert(operation["operationId"].to_string()), "{path}: {operation}");
        }
    }
}

#[test]
fn a_send_only_credential_uses_no_route_of_a_sandbox_with_a_password() {
    let sandbox = Sandbox::with(&settings());
    for credential in send_only(&sandbox) {
        let is_token = credential.starts_with("ey");
        expect_rejections(&sandbox, routes(), Some(&bearer(&credential)), |access| match access {
            "none" => None,
            "password" => Some("password_required"),
            _ if is_token => Some("invalid_permission"),
            _ => Some("restricted_api_key"),
        });
        for Listed { method, path, access } in routes() {
            let answer = ask(&sandbox, &method, &format!("{path}?key={credential}"), None);
            let expected = match &*access {
                "none" => None,
                "key" if !is_token => Some("restricted_api_key"),
                _ => Some("password_required"),
            };
            assert_eq!(rejection(&answer).as_deref(), expected, "{credential} {method} {path}?key=");
        }
    }
}

#[test]
fn a_full_key_uses_its_account_and_nothing_of_all_accounts() {
    let sandbox = Sandbox::with(&settings());
    let created = sandbox.ask(Method::POST, "/api-keys").key(OWN).json(&json!({"name": "k"})).json();
    let token = sandbox.service.grant("app", OWN, "full_access").access_token;
    for credential in [OWN, OTHER, created["token"].as_str().unwrap(), &token] {
        // A reset would delete the other credentials.
        let routes = routes().filter(|route| route.path != "/_/reset");
        expect_rejections(&sandbox, routes, Some(&bearer(credential)), |access| {
            (access == "password").then_some("password_required")
        });
    }
}

#[test]
fn a_full_key_of_another_account_finds_nothing() {
    let sandbox = Sandbox::with(&settings());
    assert_eq!(sandbox.ask(Method::POST, "/emails").key(OWN).json(&email()).status, 200);
    let id = sandbox.service.mails(OWN)[0].id.clone();
    let of_email = |route: &Listed| route.path.contains("/messages/x") || route.path.contains("/message/x");
    for Listed { method, path, .. } in routes().filter(of_email) {
        let path = path.replace("/x", &format!("/{id}"));
        let answer = ask(&sandbox, &method, &path, Some(&bearer(OTHER)));
        assert!(answer.status.is_client_error(), "{method} {path}: {}", answer.text());
    }
    for path in ["/_/messages", "/api/v1/messages"] {
        ask(&sandbox, &Method::DELETE, path, Some(&bearer(OTHER)));
    }
    ask(&sandbox, &Method::POST, "/_/reset", Some(&bearer(OTHER)));
    assert_eq!(sandbox.service.mails(OWN).len(), 1);
    assert_eq!(ask(&sandbox, &Method::POST, "/_/reset", Some(&bearer(OWN))).status, 200);
    assert!(sandbox.service.mails(OWN).is_empty());
}

#[test]
fn the_password_uses_what_concerns_all_accounts() {
    let sandbox = Sandbox::with(&settings());
    let given = [basic("anyone", PASSWORD), bearer("sb_correct-horse"), bearer("re_correct-horse")];
    for authorization in given {
        let routes = routes().filter(|route| route.access == "password");
        expect_rejections(&sandbox, routes, Some(&authorization), |_| None);
    }
}

#[test]
fn without_a_credential_only_links_and_public_routes_are_served() {
    let sandbox = Sandbox::with(&settings());
    let expected = |access: &str| (access != "none").then_some("password_required");
    expect_rejections(&sandbox, routes(), None, expected);
}

#[test]
fn mailpits_api_rejects_a_send_only_key_in_basic_authentication() {
    let sandbox = Sandbox::with(&settings());
    let key = format!("{OWN}_sending");
    for authorization in [basic(&key, ""), basic("anyone", &key), basic(&key, PASSWORD)] {
        let mailpit = |route: &Listed| route.path.starts_with("/api/") || route.path.starts_with("/view/");
        for Listed { method, path, .. } in routes().filter(mailpit) {
            let answer = ask(&sandbox, &method, &path, Some(&authorization));
            assert_eq!(answer.status, 401, "{authorization} {method} {path}: {}", answer.text());
            assert!(answer.text().contains("may only send"), "{method} {path}: {}", answer.text());
        }
    }
}

#[test]
fn without_a_password_a_send_only_key_uses_its_account() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.ask(Method::POST, "/emails").key("sb_a_sending").json(&email()).status, 200);
    for path in ["/_/messages", "/_/messages?key=sb_a_sending", "/api/v1/messages"] {
        let list = sandbox.ask(Method::GET, path).key("sb_a_sending").send("").json();
        let mails = list["data"].as_array().or(list["messages"].as_array()).unwrap();
        assert_eq!(mails.len(), 1, "{path}");
    }
    sandbox.account("sb_a_sending").post("/_/clock", &json!({"advance": "1h"})).expect_status(200);
}

#[test]
fn a_key_of_another_account_finds_no_record_of_the_service() {
    let sandbox = Sandbox::with(&Settings { beta: true, ..settings() });
    let ask =
        |method: Method, path: &str, key: &str, body: &Value| sandbox.ask(method, path).key(key).json(body);
    let trigger = json!({"key": "t", "type": "trigger", "config": {"event_name": "user.created"}});
    let segment = ask(Method::POST, "/segments", OWN, &json!({"name": "All"})).json()["id"].clone();
    let broadcast = json!({"segment_id": segment, "from": "hi@acme.test", "subject": "s", "html": "x"});
    let records = [
        ("/emails", email()),
        ("/domains", json!({"name": "acme.test"})),
        ("/segments", json!({"name": "Some"})),
        ("/topics", json!({"name": "News", "default_subscription": "opt_in"})),
        ("/contacts", json!({"email": "ada@example.com"})),
        ("/contact-properties", json!({"key": "company", "type": "string"})),
        ("/templates", json!({"name": "t", "html": "<p>x</p>"})),
        ("/broadcasts", broadcast),
        ("/webhooks", json!({"endpoint": "https://acme.test/hook", "events": ["email.sent"]})),
        ("/events", json!({"name": "user.created"})),
        ("/automations", json!({"name": "a", "steps": [trigger], "connections": []})),
        ("/inboxes", json!({"email_address": "desk@acme.test"})),
    ];
    for (path, body) in records {
        let created = ask(Method::POST, path, OWN, &body);
        assert!(created.status.is_success(), "{path}: {}", created.text());
        let record = format!("{path}/{}", created.json()["id"].as_str().unwrap());
        let answer = ask(Method::GET, &record, OTHER, &json!({}));
        assert_eq!(answer.status, 404, "{record}: {}", answer.text());
        // Some deletions succeed even if there is no such record.
        ask(Method::DELETE, &record, OTHER, &json!({}));
        let list = ask(Method::GET, path, OTHER, &json!({})).json();
        assert!(list["data"].as_array().is_none_or(Vec::is_empty), "{path}: {list}");
        assert_eq!(ask(Method::GET, &record, OWN, &json!({})).status, 200, "{record}");
    }
}

async fn log_in(server: &SmtpServer, user: &str, key: &str) -> String {
    let mut stream = server.raw().await;
    say(&mut stream, "HELO me").await;
    say(&mut stream, &auth_plain(user, key)).await
}

#[tokio::test]
async fn smtp_takes_mail_from_a_send_only_key_and_receives_none() {
    let server = SmtpServer::with(&settings(), smtp::Options::new("sb_correct-horse")).await;
    for credential in send_only(&server.sandbox).iter().filter(|key| !key.starts_with("ey")) {
        for (user, expected) in [("resend", "235"), ("inbound", "535")] {
            let reply = log_in(&server, user, credential).await;
            assert_eq!(&reply[..3], expected, "{user} {credential}: {reply}");
            assert_eq!(reply.contains("requires an API key with full access"), user == "inbound", "{reply}");
        }
    }
    let reply = log_in(&server, "resend", "sb_wrong").await;
    assert!(reply.starts_with("535 ") && reply.contains("doesn't contain the password"), "{reply}");
    let mail = b"Subject: Help\r\n\r\nIt broke\r\n";
    let reply = server.deliver_after(&["HELO me", &auth_plain("inbound", OWN)], mail).await;
    assert!(reply.starts_with("250 "), "{reply}");
    assert_eq!(server.received(OWN).len(), 1);
}
