//! Topics, subscriptions, and their effect on sending.

use http::Method;
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, UNKNOWN_ID, email_of, email_with, expect_fields_of};

fn topic(sandbox: &Sandbox, default: &str) -> String {
    sandbox.created("/topics", &json!({ "name": "News", "default_subscription": default }))
}

fn contact(sandbox: &Sandbox, address: &str, topic: &str, choice: Option<&str>) -> String {
    let topics: Vec<_> = choice.iter().map(|choice| json!({ "id": topic, "subscription": choice })).collect();
    sandbox.created("/contacts", &json!({ "email": address, "topics": topics }))
}

fn subscriptions(sandbox: &Sandbox, contact: &str) -> Vec<(Value, Value)> {
    let items = sandbox.items(format!("/contacts/{contact}/topics")).into_iter();
    items.map(|item| (item["id"].clone(), item["subscription"].clone())).collect()
}

#[test]
fn a_topic_is_created_read_updated_and_deleted() {
    let sandbox = Sandbox::new();
    let id = topic(&sandbox, "opt_in");
    let shown = sandbox.get(format!("/topics/{id}")).json();
    let expected = json!({
        "object": "topic", "id": id, "name": "News", "description": null, "default_subscription": "opt_in",
        "visibility": "private", "created_at": "2026-03-02 12:00:00.000000+00",
    });
    assert_eq!(shown, expected);
    expect_fields_of(&sandbox.items("/topics")[0], &shown);
    let path = format!("/topics/{id}");
    let all = json!({ "name": "Digest", "description": "Weekly", "visibility": "public" });
    assert_eq!(sandbox.patch(&path, &all).json(), json!({ "object": "topic", "id": id }));
    let shown = sandbox.get(&path).json();
    expect_fields_of(&json!({"name": "Digest", "description": "Weekly", "visibility": "public"}), &shown);
    sandbox.patch(&path, &json!({ "description": null }));
    let shown = sandbox.get(&path).json();
    expect_fields_of(&json!({ "name": "Digest", "description": null }), &shown);
    let gone = sandbox.delete(&path);
    assert_eq!(gone.expect_status(200).json(), json!({ "object": "topic", "id": id, "deleted": true }));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(sandbox.ask(method, &path).send("").status, 404);
    }
    assert_eq!(sandbox.patch(&path, &json!({})).status, 404);
    sandbox.get("/topics/news").rejected(422, "invalid_parameter", "UUID");
}

#[test]
fn names_and_descriptions_have_a_maximum_length() {
    let sandbox = Sandbox::new();
    let id = topic(&sandbox, "opt_in");
    let path = format!("/topics/{id}");
    for (field, most) in [("name", 50), ("description", 200)] {
        // Characters, not bytes.
        let mut body = json!({ "name": "x", "default_subscription": "opt_in" });
        body[field] = json!("é".repeat(most));
        sandbox.created("/topics", &body);
        assert_eq!(sandbox.patch(&path, &json!({ field: "é".repeat(most) })).status, 200);
        body[field] = json!("é".repeat(most + 1));
        sandbox.post("/topics", &body).invalid(&(most + 1).to_string());
        let too_long = json!({ field: "é".repeat(most + 1) });
        sandbox.patch(&path, &too_long).invalid(field);
    }
}

#[test]
fn an_invalid_topic_is_rejected() {
    let sandbox = Sandbox::new();
    sandbox.post("/topics", &json!({})).invalid("Missing `name`");
    sandbox.post("/topics", &json!({ "name": "x" })).invalid("Missing `default_subscription`");
    for (field, value) in [
        ("name", json!("")),
        ("name", json!("  ")),
        ("name", json!(1)),
        ("default_subscription", json!("opt-in")),
        ("default_subscription", json!("")),
        ("default_subscription", json!(true)),
        ("description", json!([])),
        ("visibility", json!("hidden")),
        ("visibility", json!("Public")),
    ] {
        let mut body = json!({ "name": "x", "default_subscription": "opt_in" });
        body[field] = value;
        sandbox.post("/topics", &body).invalid(field);
    }
    assert_eq!(sandbox.get("/topics").json()["data"], json!([]));
    let path = format!("/topics/{}", topic(&sandbox, "opt_in"));
    for body in [
        json!({ "default_subscription": "opt_out" }),
        json!({ "name": "" }),
        json!({ "visibility": "everybody" }),
    ] {
        sandbox.patch(&path, &body).invalid(body.as_object().unwrap().keys().next().unwrap());
    }
    assert_eq!(sandbox.get(&path).json()["default_subscription"], "opt_in");
}

#[test]
fn a_contact_s_choice_overrides_the_topic_default() {
    // TOPIC-01, TOPIC-02, TOPIC-03, GEN-06
    let sandbox = Sandbox::new();
    let (wanted, unwanted) = (topic(&sandbox, "opt_in"), topic(&sandbox, "opt_out"));
    let id = contact(&sandbox, "ada@example.com", &unwanted, Some("opt_in"));
    let expect = |first: &str, second: &str| {
        let expected = vec![(json!(unwanted), json!(first)), (json!(wanted), json!(second))];
        assert_eq!(subscriptions(&sandbox, &id), expected);
        assert_eq!(subscriptions(&sandbox, "ADA@example.com"), expected);
    };
    expect("opt_in", "opt_in");
    let path = format!("/contacts/{id}/topics");
    let expected = json!({
        "id": unwanted, "name": "News", "description": null, "subscription": "opt_in",
        "created_at": "2026-03-02 12:00:00.000000+00",
    });
    assert_eq!(sandbox.items(&path)[0], expected);
    let one = |id: &str, choice: &str| json!({ "id": id, "subscription": choice });
    let answer = sandbox.patch(&path, &json!({ "topics": [one(&wanted, "opt_out")] }));
    assert_eq!(answer.expect_status(200).json(), json!({ "object": "contact_topics", "id": id }));
    expect("opt_in", "opt_out");
    // A bare array is equivalent, and so is the address in the path; the last of two choices wins.
    let both = json!([one(&unwanted, "opt_in"), one(&unwanted, "opt_out"), one(&wanted, "opt_in")]);
    assert_eq!(sandbox.patch("/contacts/ada@example.com/topics", &both).status, 200);
    expect("opt_out", "opt_in");
    assert_eq!(sandbox.patch(&path, &json!([])).status, 200);
    expect("opt_out", "opt_in");
    // A problem in any entry rejects the whole update.
    for (body, part) in [
        (json!([one(&unwanted, "opt_in"), one(UNKNOWN_ID, "opt_in")]), "topics[1].id"),
        (json!([one(&unwanted, "opt_in"), one("news", "opt_in")]), "UUID"),
        (json!([one(&unwanted, "opt_in"), one(&wanted, "maybe")]), "topics[1].subscription"),
        (json!([one(&unwanted, "opt_in"), { "id": wanted }]), "Missing `topics[1].subscription`"),
        (json!([one(&unwanted, "opt_in"), { "subscription": "opt_in" }]), "Missing `topics[1].id`"),
        (json!([one(&unwanted, "opt_in"), 1]), "topics[1]"),
        (json!({ "topics": one(&unwanted, "opt_in") }), "topics"),
        (json!({}), "Missing `topics`"),
        (json!("opt_in"), ""),
    ] {
        sandbox.patch(&path, &body).invalid(part);
    }
    expect("opt_out", "opt_in");
    for unknown in [UNKNOWN_ID, "bob@example.com", "bob"] {
        let path = format!("/contacts/{unknown}/topics");
        assert_eq!(sandbox.get(&path).status, 404);
        assert_eq!(sandbox.patch(&path, &json!([])).status, 404);
    }
    // Deleting a topic deletes its subscriptions.
    sandbox.delete(format!("/topics/{unwanted}"));
    assert_eq!(subscriptions(&sandbox, &id), [(json!(wanted), json!("opt_in"))]);
}

#[test]
fn subscriptions_are_checked_per_address() {
    // EMAIL-27
    let sandbox = Sandbox::new();
    let topic = topic(&sandbox, "opt_in");
    contact(&sandbox, "yes@example.com", &topic, Some("opt_in"));
    contact(&sandbox, "no@example.com", &topic, Some("opt_out"));
    contact(&sandbox, "silent@example.com", &topic, None);
    let wanted = email_of(&json!({
        "topic_id": topic, "to": ["Yes <YES@example.com>", "no@example.com", "stranger@example.com"],
        "cc": ["NO@example.com", "silent@example.com"], "bcc": ["no@example.com"],
    }));
    let id = sandbox.sent(&wanted);
    let mail = sandbox.mail();
    assert_eq!(mail.to, ["Yes <YES@example.com>", "stranger@example.com"]);
    assert_eq!(mail.cc, ["silent@example.com"]);
    assert!(mail.bcc.is_empty());
    let mime = String::from_utf8_lossy(&mail.mime).to_lowercase();
    assert!(!mime.contains("no@example.com"), "{mime}");
    sandbox.advance(10);
    let record = sandbox.record(&id);
    expect_fields_of(&json!({ "last_event": "delivered", "topic_id": topic }), &record);
    // The record has the requested recipients.
    for field in ["to", "cc", "bcc"] {
        assert_eq!(record[field], wanted[field], "{field}");
    }
}

#[test]
fn an_email_fails_when_all_to_recipients_are_opted_out() {
    // EMAIL-24, EMAIL-67, ERR-03
    let sandbox = Sandbox::new();
    let topic = topic(&sandbox, "opt_in");
    contact(&sandbox, "no@example.com", &topic, Some("opt_out"));
    let mut unwanted = email_of(&json!({"topic_id": topic.as_str(), "to": "no@example.com"}));
    // Cc and bcc recipients alone don't make a mail.
    unwanted["cc"] = json!("stranger@example.com");
    let id = sandbox.sent(&unwanted);
    sandbox.advance(60);
    assert_eq!(sandbox.last_event(&id), "failed");
    assert_eq!(sandbox.mails().len(), 0);
    expect_fields_of(&json!({"id": id, "last_event": "failed"}), &sandbox.items("/emails")[0]);
}

#[test]
fn the_default_applies_to_addresses_without_a_choice() {
    // EMAIL-25, EMAIL-26
    for (default, gets) in [("opt_in", true), ("opt_out", false)] {
        let sandbox = Sandbox::new();
        let topic = topic(&sandbox, default);
        contact(&sandbox, "silent@example.com", &topic, None);
        // `unsubscribed` applies to broadcasts only.
        sandbox.created("/contacts", &json!({ "email": "gone@example.com", "unsubscribed": true }));
        for to in ["stranger@example.com", "silent@example.com", "gone@example.com"] {
            let email = email_of(&json!({"topic_id": topic.as_str(), "to": to}));
            let id = sandbox.sent(&email);
            sandbox.advance(10);
            assert_eq!(sandbox.last_event(&id), if gets { "delivered" } else { "failed" }, "{to} {default}");
        }
        assert_eq!(sandbox.mails().len(), if gets { 3 } else { 0 });
    }
}

#[test]
fn subscriptions_of_a_scheduled_email_are_checked_at_send_time() {
    let sandbox = Sandbox::new();
    let news = topic(&sandbox, "opt_in");
    let passing = topic(&sandbox, "opt_in");
    let id = contact(&sandbox, "ada@example.com", &news, Some("opt_in"));
    let later = email_of(&json!({"topic_id": news.as_str(), "scheduled_at": "in 1 hour"}));
    let mut orphan = later.clone();
    orphan["topic_id"] = json!(passing);
    let (later, orphan) = (sandbox.sent(&later), sandbox.sent(&orphan));
    assert_eq!(sandbox.last_event(&later), "scheduled");
    sandbox.patch(format!("/contacts/{id}/topics"), &json!([{ "id": news, "subscription": "opt_out" }]));
    sandbox.delete(format!("/topics/{passing}"));
    sandbox.advance(2 * 3600);
    // A deleted topic counts as opted out.
    assert_eq!((sandbox.last_event(&later), sandbox.last_event(&orphan)), ("failed".into(), "failed".into()));
    assert_eq!(sandbox.service.mails(KEY).len(), 0);
}

#[test]
fn subscriptions_are_checked_per_email_of_a_batch() {
    // EMAIL-23
    let sandbox = Sandbox::new();
    let topic = topic(&sandbox, "opt_out");
    contact(&sandbox, "yes@example.com", &topic, Some("opt_in"));
    let one =
        |to: &str| json!({"from": "hi@acme.test", "to": to, "subject": "Hi", "text": "x", "topic_id": topic});
    let batch = json!([one("yes@example.com"), one("stranger@example.com")]);
    let ids = sandbox.post("/emails/batch", &batch).expect_status(200).ids();
    sandbox.advance(10);
    let events: Vec<_> = ids.iter().map(|id| sandbox.last_event(id)).collect();
    assert_eq!(events, ["delivered", "failed"]);
    assert_eq!(sandbox.mail().to, ["yes@example.com"]);
}

#[test]
fn an_unknown_topic_is_rejected() {
    let sandbox = Sandbox::new();
    let deleted = topic(&sandbox, "opt_in");
    sandbox.delete(format!("/topics/{deleted}"));
    for id in [UNKNOWN_ID, "news", "", &deleted] {
        sandbox.refused(&email_with("topic_id", id)).invalid("topic_id");
    }
    sandbox.refused(&email_with("topic_id", 7)).invalid("`topic_id` must be a string");
    // Another tenant's topics aren't found.
    let id = topic(&sandbox, "opt_in");
    sandbox.account("sb_other").refused(&email_with("topic_id", id.as_str())).invalid("topic_id");
}
