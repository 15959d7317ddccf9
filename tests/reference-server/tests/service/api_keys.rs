//! API keys created by a tenant, and their redaction in the log.

use http::Method;
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, email, email_with};

fn create(sandbox: &Sandbox, body: &Value) -> (String, String) {
    let key = sandbox.post("/api-keys", body).expect_status(201).json();
    (key["id"].as_str().unwrap().to_owned(), key["token"].as_str().unwrap().to_owned())
}

#[test]
fn a_created_key_works_until_it_is_deleted() {
    let sandbox = Sandbox::new();
    let (id, token) = create(&sandbox, &json!({"name": "CI"}));
    let item =
        json!({"id": id, "name": "CI", "created_at": "2026-03-02 12:00:00.000000+00", "last_used_at": null});
    assert_eq!(sandbox.get("/api-keys").json()["data"], json!([item]));
    sandbox.advance(5);
    assert_eq!(sandbox.ask(Method::POST, "/emails").key(&token).json(&email()).status, 200);
    assert_eq!(sandbox.service.mails(KEY).len(), 1, "the mail is the tenant's own");
    assert_eq!(sandbox.service.mails(&token).len(), 1);
    let list = sandbox.get("/api-keys").json();
    assert_eq!(list["data"][0]["last_used_at"], "2026-03-02 12:00:05.000000+00");

    let path = format!("/api-keys/{id}");
    let renamed = sandbox.patch(&path, &json!({"name": "Build"}));
    assert_eq!(renamed.json(), json!({"object": "api_key", "id": id}));
    assert_eq!(sandbox.get("/api-keys").json()["data"][0]["name"], "Build");

    // A key can delete itself.
    let deleted = sandbox.ask(Method::DELETE, &path).key(&token).send("");
    assert_eq!(deleted.json(), json!({"object": "api_key", "id": id, "deleted": true}));
    sandbox.account(&token).get("/emails").rejected(403, "invalid_api_key", "");
    assert_eq!(sandbox.delete(&path).name(), "not_found");
}

#[test]
fn a_sending_only_key_can_only_send() {
    let sandbox = Sandbox::new();
    let (_, token) = create(&sandbox, &json!({"name": "App", "permission": "sending_access"}));
    assert_eq!(sandbox.ask(Method::POST, "/emails").key(&token).json(&email()).status, 200);
    for path in ["/emails", "/api-keys", "/emails/receiving"] {
        sandbox.account(&token).get(path).rejected(401, "restricted_api_key", "");
    }
}

#[test]
fn invalid_fields_are_rejected() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.post("/api-keys", &json!({})).name(), "missing_required_field");
    for body in [
        json!({"name": ""}),
        json!({"name": 1}),
        json!({"name": "x", "permission": "admin"}),
        json!({"name": "x", "domain_id": "x"}),
        json!({"name": "x", "domain_id": "8b3c4d5e-0000-4000-8000-000000000000"}),
    ] {
        sandbox.post("/api-keys", &body).invalid("");
    }
    assert_eq!(sandbox.get("/api-keys").json()["data"], json!([]));
}

#[test]
fn evicting_a_tenant_deletes_its_keys() {
    let sandbox = Sandbox::new();
    let (_, token) = create(&sandbox, &json!({"name": "CI"}));
    assert_eq!(sandbox.act("/_/reset").status, 200);
    assert_eq!(sandbox.ask(Method::GET, "/emails").key(&token).send("").name(), "invalid_api_key");
}

#[test]
fn a_log_entry_shows_bodies_with_secrets_redacted() {
    let sandbox = Sandbox::new();
    let (_, token) = create(&sandbox, &json!({"name": "CI"}));
    let hook = json!({"endpoint": "https://acme.test/hook", "events": ["email.sent"]});
    let secret = sandbox.post("/webhooks", &hook).json()["signing_secret"].clone();
    let id = sandbox.sent(&email());
    let entries = sandbox.get("/logs").json()["data"].clone();
    let entry = |at: usize| sandbox.get(format!("/logs/{}", entries[at]["id"].as_str().unwrap())).json();
    let sent = entry(0);
    assert_eq!((&sent["object"], &sent["request_body"]), (&json!("log"), &email()));
    assert_eq!(sent["response_body"], json!({"id": id}));
    for field in ["id", "created_at", "endpoint", "method", "response_status", "user_agent"] {
        assert_eq!(sent[field], entries[0][field], "{field}");
    }
    let hooked = entry(1);
    assert_eq!((&hooked["request_body"], &hooked["response_body"]["object"]), (&hook, &json!("webhook")));
    let all = format!("{hooked}{}", entry(2));
    assert!(!all.contains(secret.as_str().unwrap()) && !all.contains(&token), "{all}");
    assert_eq!(sandbox.get("/logs/x").name(), "invalid_parameter");
    assert_eq!(sandbox.get("/logs/8b3c4d5e-0000-4000-8000-000000000000").name(), "not_found");
}

#[test]
fn a_log_entry_hides_the_signed_urls_of_a_sent_email() {
    let sandbox = Sandbox::new();
    let attachments = json!([{"filename": "a.txt", "content": "YQ=="}]);
    let id = sandbox.sent(&email_with("attachments", attachments));
    let files = format!("/emails/{id}/attachments");
    let file = sandbox.ids(&files).remove(0);
    for answer in [
        sandbox.get(&files),
        sandbox.get(format!("{files}/{file}")),
        sandbox.act(format!("/emails/{id}/share")),
    ] {
        assert!(answer.text().contains("/_/"), "{}", answer.text());
    }
    for entry in sandbox.ids("/logs?limit=3") {
        let entry = sandbox.get(format!("/logs/{entry}")).text();
        assert!(entry.contains("[hidden]") && !entry.contains("/_/"), "{entry}");
    }
}

#[test]
fn the_log_omits_large_bodies() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("text", "x".repeat(100_000)));
    let id = sandbox.get("/logs").json()["data"][0]["id"].clone();
    let entry = sandbox.get(format!("/logs/{}", id.as_str().unwrap())).json();
    assert_eq!(entry["request_body"], Value::Null);
    assert!(entry["response_body"]["id"].is_string());
}

#[test]
fn a_domain_key_cannot_send_from_another_domain_by_any_route() {
    let sandbox = Sandbox::new();
    let domain = sandbox.created("/domains", &json!({"name": "acme.test"}));
    let body = json!({"name": "App", "permission": "sending_access", "domain_id": domain});
    let (_, token) = create(&sandbox, &body);
    let segment = sandbox.created("/segments", &json!({"name": "All"}));
    sandbox.created("/contacts", &json!({"email": "ada@example.com", "segments": [{"id": segment}]}));
    let post = |path: &str, body: &Value| {
        let answer = sandbox.ask(Method::POST, path).key(&token).json(body);
        (answer.status.as_u16(), answer.json()["name"].as_str().unwrap_or_default().to_owned())
    };
    let refused = (403, "invalid_permission".to_owned());
    for (from, own) in [
        ("hi@acme.test", true),
        ("Acme <hi@ACME.test>", true),
        ("hi@other.test", false),
        ("hi@mail.acme.test", false),
        ("\"hi@acme.test\" <hi@other.test>", false),
    ] {
        let alias = format!("t{}", from.len());
        let template =
            json!({"name": "T", "alias": alias, "html": "<p>Hi</p>", "subject": "Hi", "from": from});
        sandbox.published(&template);
        let by_template = json!({"to": "ada@example.com", "template": {"id": alias}});
        for path in ["/emails", "/email", "/emails/sending", "/email/sending"] {
            for email in [&email_with("from", from), &by_template] {
                let answer = post(path, email);
                assert!(if own { answer.0 == 200 } else { answer == refused }, "{path} {email}: {answer:?}");
            }
        }
        let broadcast = json!({"segment_id": segment, "from": from, "subject": "News", "text": "Hi"});
        let draft = sandbox.created("/broadcasts", &broadcast);
        for body in [json!({"scheduled_at": "in 1 hour"}), json!({})] {
            let answer = post(&format!("/broadcasts/{draft}/send"), &body);
            let expected = if own { "scheduled" } else { "draft" };
            assert!(if own { answer.0 < 404 } else { answer == refused }, "{from}: {answer:?}");
            assert_eq!(sandbox.get(format!("/broadcasts/{draft}")).json()["status"], expected, "{from}");
        }
        // Creating or updating a broadcast, a template or an automation requires full access.
        let patch = sandbox.ask(Method::PATCH, format!("/broadcasts/{draft}")).key(&token);
        assert_eq!(patch.json(&json!({"from": from})).name(), "restricted_api_key");
        for path in ["/broadcasts", "/emails/batch", "/templates", "/automations", "/events/send"] {
            assert_eq!(post(path, &broadcast), (401, "restricted_api_key".to_owned()), "{path}");
        }
    }
    assert!(sandbox.mails().iter().all(|mail| mail.from.to_lowercase().contains("@acme.test")));
}
