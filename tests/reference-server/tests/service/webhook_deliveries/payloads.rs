//! Payload details of email and contact events.

use http::Method;
use serde_json::{Value, json};

use super::{Attempt, deliver, event_types, everything, text, webhook};
use crate::support::{Sandbox, email_of, email_with, expect_fields_of};

/// The events within a minute of a send.
fn events(sandbox: &Sandbox, email: &Value) -> Vec<Value> {
    sandbox.sent(email);
    sandbox.advance(60);
    deliver(sandbox, Some(200)).iter().map(Attempt::json).collect()
}

/// The only pending contact event.
fn contact_event(sandbox: &Sandbox) -> Value {
    let mut events = deliver(sandbox, Some(200));
    assert_eq!(events.len(), 1, "{events:?}");
    events.remove(0).json()
}

#[test]
fn email_events_include_custom_headers() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &everything());
    let mut email = email_with("headers", json!({ "X-Entity-Ref-ID": "42", "X-Campaign": "spring" }));
    let headers =
        json!([{ "name": "X-Entity-Ref-ID", "value": "42" }, { "name": "X-Campaign", "value": "spring" }]);
    // The types of the events of an email, all of which have these headers.
    let types = |email: &Value, headers: Option<&Value>| -> Vec<String> {
        let found = events(&sandbox, email).into_iter().map(|event| (text(&event["type"]), event));
        let of_emails = found.filter(|(kind, _)| kind.starts_with("email."));
        let checked = of_emails.map(|(kind, event)| {
            assert_eq!(event["data"].get("headers"), headers, "{event}");
            kind
        });
        checked.collect()
    };
    for (to, expected) in [
        ("clicked", &["email.sent", "email.delivered", "email.opened", "email.clicked"][..]),
        ("bounced", &["email.sent", "email.bounced"]),
        ("complained", &["email.sent", "email.delivered", "email.complained"]),
        ("delayed", &["email.sent", "email.delivery_delayed", "email.delivered"]),
        ("failed", &["email.failed"]),
        ("suppressed", &["email.suppressed"]),
    ] {
        email["to"] = format!("{to}@example.com").into();
        assert_eq!(types(&email, Some(&headers)), expected, "{to}");
    }
    email["to"] = "ada@example.com".into();
    email["scheduled_at"] = "in 1 min".into();
    let scheduled = types(&email, Some(&headers));
    assert_eq!(scheduled, ["email.scheduled", "email.sent"]);
    sandbox.advance(1);
    assert_eq!(event_types(&sandbox), ["email.delivered"]);
    let without = types(&email_with("headers", json!({})), None);
    assert_eq!(without, ["email.sent", "email.delivered"]);
}

#[test]
fn bounces_and_suppressions_carry_smtp_diagnostics() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.bounced", "email.suppressed"]);
    let bounced = events(&sandbox, &email_with("to", "bounced@example.com")).remove(0);
    let expected = json!({
        "message": "The recipient's email provider sent a hard bounce message, but didn't specify the reason for the hard bounce.",
        "type": "Permanent",
        "subType": "General",
        "diagnosticCode": ["smtp; 550 5.1.1 user unknown"],
    });
    assert_eq!(bounced["data"]["bounce"], expected);
    let suppressed = events(&sandbox, &email_with("to", "suppressed@example.com")).remove(0);
    let expected = json!({
        "message": "Resend has suppressed sending to this address because it is on the account-level suppression list.",
        "type": "OnAccountSuppressionList",
        "reason": "previous_bounce",
        "diagnosticCode": ["smtp; 550 5.1.1 user unknown"],
    });
    assert_eq!(suppressed["data"]["suppressed"], expected);
}

#[test]
fn a_click_reports_the_first_link_of_the_html() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.clicked"]);
    for (html, link) in [
        (
            r#"<a href="https://acme.test/a?x=1&amp;y=2">a</a> <a href="https://acme.test/b">b</a>"#,
            "https://acme.test/a?x=1&y=2",
        ),
        (
            r#"<!-- <a href="https://acme.test/no"> --><a href="mailto:hi@acme.test">m</a><A HREF='http://acme.test/b'>b</A>"#,
            "http://acme.test/b",
        ),
        ("<p>No link</p>", "https://example.com/"),
    ] {
        let email = email_of(&json!({"html": html, "to": "clicked@example.com"}));
        let clicked = events(&sandbox, &email).remove(0);
        assert_eq!(clicked["data"]["click"]["link"], link, "{html}");
    }
    let text_only = events(&sandbox, &email_with("to", "clicked@example.com")).remove(0);
    assert_eq!(text_only["data"]["click"]["link"], "https://example.com/");
}

#[test]
fn a_click_on_a_tracked_email_reports_the_original_link() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.clicked"]);
    let domain = json!({ "name": "acme.test", "tracking_subdomain": "t", "click_tracking": true });
    let domain = text(&sandbox.post("/domains", &domain).json()["id"]);
    sandbox.post(&format!("/domains/{domain}/verify"), &json!({}));
    sandbox.advance(60);
    let email =
        email_of(&json!({"html": r#"<a href="https://shop.test/1">a</a>"#, "to": "clicked@example.com"}));
    let clicked = events(&sandbox, &email).remove(0);
    assert_eq!(clicked["data"]["click"]["link"], "https://shop.test/1");
    let mime = String::from_utf8_lossy(&sandbox.mail().mime).into_owned();
    assert!(mime.contains("t.acme.test/click/"), "the mail is tracked: {mime}");
}

#[test]
fn a_click_on_a_broadcast_never_reports_the_unsubscribe_link() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.clicked"]);
    let segment = text(&sandbox.post("/segments", &json!({ "name": "All" })).json()["id"]);
    let contact = json!({ "email": "clicked@example.com", "segments": [{ "id": segment }] });
    assert_eq!(sandbox.post("/contacts", &contact).status, 201);
    let unsubscribe = r#"<a href="{{{SERVICE_UNSUBSCRIBE_URL}}}">no more</a>"#;
    for (rest, link) in [
        (r#"<a href="https://acme.test/offer">offer</a>"#, "https://acme.test/offer"),
        ("", "https://example.com/"),
    ] {
        let broadcast = json!({
            "segment_id": segment, "from": "hi@acme.test", "subject": "News", "html": format!("{unsubscribe}{rest}"), "send": true,
        });
        assert_eq!(sandbox.post("/broadcasts", &broadcast).status, 201);
        sandbox.advance(60);
        let clicked = deliver(&sandbox, Some(200)).remove(0).json();
        assert_eq!(clicked["data"]["click"]["link"], link);
        assert_eq!(clicked["data"].get("headers"), None, "the service's own headers are not custom ones");
    }
}

#[test]
fn a_contact_created_by_an_event_triggers_contact_created() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["contact.created", "contact.updated"]);
    let automation = json!({
        "name": "Welcome", "status": "enabled",
        "steps": [{ "key": "start", "type": "trigger", "config": { "event_name": "user.created" } },
                  { "key": "wait", "type": "delay", "config": { "duration": "1 hour" } }],
        "connections": [{ "from": "start", "to": "wait" }],
    });
    sandbox.post("/automations", &automation).expect_status(201);
    let send = |event: &str| {
        sandbox
            .post("/events/send", &json!({ "event": event, "email": "ada@example.com" }))
            .expect_status(202);
    };
    send("nobody.listens");
    assert!(event_types(&sandbox).is_empty(), "no automation was triggered, so no contact was created");
    send("user.created");
    let created = contact_event(&sandbox);
    assert_eq!(created["type"], "contact.created");
    let contact = sandbox.get("/contacts/ada@example.com").json();
    expect_fields_of(&json!({ "id": contact["id"], "email": "ada@example.com" }), &created["data"]);
    send("user.created");
    assert!(event_types(&sandbox).is_empty(), "the contact already exists");
}

#[test]
fn audience_id_is_the_first_segment_or_the_account_default() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["contact.created", "contact.updated", "contact.deleted"]);
    let segment = text(&sandbox.post("/segments", &json!({ "name": "All" })).json()["id"]);
    sandbox.post("/contacts", &json!({ "email": "ada@example.com" }));
    let own = text(&contact_event(&sandbox)["data"]["audience_id"]);
    assert!(uuid::Uuid::try_parse(&own).is_ok(), "{own}");
    sandbox.post("/contacts", &json!({ "email": "bob@example.com", "segments": [{ "id": segment }] }));
    assert_eq!(contact_event(&sandbox)["data"]["audience_id"], segment);
    let membership = format!("/contacts/bob@example.com/segments/{segment}");
    sandbox.delete(membership);
    assert_eq!(contact_event(&sandbox)["data"]["audience_id"], own, "the same for every contact");
    sandbox.delete("/contacts/ada@example.com");
    assert_eq!(contact_event(&sandbox)["data"]["audience_id"], own);
    let another = sandbox.ask(Method::POST, "/webhooks").key("sb_other");
    another.json(&json!({ "endpoint": "http://127.0.0.1:9/hook", "events": ["contact.created"] }));
    sandbox.account("sb_other").post("/contacts", &json!({ "email": "ada@example.com" }));
    assert_ne!(contact_event(&sandbox)["data"]["audience_id"], own, "each tenant has its own");
    sandbox.post("/_/events", &json!({ "type": "contact.created" })).expect_status(201);
    assert!(contact_event(&sandbox)["data"]["audience_id"].is_string());
}
