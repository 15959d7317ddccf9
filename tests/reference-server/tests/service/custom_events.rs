//! Custom events: definitions and sending.

use serde_json::{Value, json};

use crate::support::{Sandbox, expect_fields_of};

fn defined(sandbox: &Sandbox, body: &Value) -> String {
    sandbox.post("/events", body).expect_status(201).id()
}

#[test]
fn an_event_is_created_read_by_id_and_name_updated_and_deleted() {
    let sandbox = Sandbox::new();
    let schema = json!({"plan": "string", "seats": "number", "trial": "boolean", "since": "date"});
    let id = defined(&sandbox, &json!({"name": "user.created/a b", "schema": schema}));
    let by_id = sandbox.get(format!("/events/{id}"));
    let by_name = sandbox.get("/events/user.created%2Fa%20b");
    assert_eq!(by_id.json(), by_name.json());
    assert_eq!(by_id.json()["schema"], schema);
    assert_eq!((&by_id.json()["object"], &by_id.json()["updated_at"]), (&json!("event"), &Value::Null));

    let answer = sandbox.patch(format!("/events/{id}"), &json!({"schema": null}));
    assert_eq!(answer.json(), json!({"object": "event", "id": id}));
    let changed = sandbox.get(format!("/events/{id}")).json();
    assert_eq!(changed["schema"], Value::Null);
    assert!(changed["updated_at"].is_string());

    expect_fields_of(&json!({ "id": id, "name": "user.created/a b" }), &changed);
    let item = sandbox.get("/events").json()["data"][0].clone();
    expect_fields_of(&item, &changed);
    let gone = sandbox.delete("/events/user.created%2Fa%20b");
    assert_eq!(gone.json(), json!({"object": "event", "id": id, "deleted": true}));
    assert_eq!(sandbox.get(format!("/events/{id}")).status, 404);
}

#[test]
fn an_invalid_definition_is_rejected() {
    let sandbox = Sandbox::new();
    defined(&sandbox, &json!({"name": "taken"}));
    for (body, words) in [
        (json!({}), "Missing `name`"),
        (json!({"name": ""}), "`name` must not be empty"),
        (json!({"name": 5}), "`name` must be a string"),
        (json!({"name": "resend:x"}), "must not begin with `resend:`"),
        (json!({"name": "taken"}), "`name` must be new"),
        (json!({"name": "x", "schema": []}), "`schema` must be an object"),
        (json!({"name": "x", "schema": {"a": "list"}}), "`schema.a` must be one of"),
        (json!({"name": "x", "schema": {"a": null}}), "`schema.a` must be a string"),
        (json!({"name": "x", "schema": {"a": {"b": "string"}}}), "`schema.a` must be a string"),
        (json!({"name": "x", "schema": {"": "string"}}), "a field without a name"),
    ] {
        sandbox.post("/events", &body).invalid(words);
    }
    let answer = sandbox.patch("/events/taken", &json!({}));
    assert_eq!(answer.name(), "missing_required_field");
    assert_eq!(sandbox.patch("/events/other", &json!({"schema": null})).status, 404);
}

#[test]
fn an_event_names_exactly_one_contact() {
    let sandbox = Sandbox::new();
    let contact = sandbox.post("/contacts", &json!({"email": "ada@example.com"})).json()["id"].clone();
    let unknown = "9f3a3a5e-6d0e-4c57-8d5c-0c8a7d1b2f10";
    for (body, words) in [
        (json!({"email": "a@b.test"}), "Missing `event`"),
        (json!({"event": "x"}), "Missing `contact_id` or `email`"),
        (json!({"event": "x", "email": "a@b.test", "contact_id": contact}), "Only one of"),
        (json!({"event": "x", "contact_id": "x"}), "`contact_id` must be a UUID"),
        (json!({"event": "x", "contact_id": unknown}), "there is no contact"),
        (json!({"event": "x", "email": "nobody"}), "`email` must be an email address"),
        (json!({"event": "x", "email": "A <a@b.test>"}), "without a name"),
        (json!({"event": "resend:x", "email": "a@b.test"}), "must not begin with"),
        (
            json!({"event": "x", "email": "a@b.test", "payload": []}),
            "`payload` must be an object that is not nested too deeply; found an array",
        ),
    ] {
        sandbox.post("/events/send", &body).invalid(words);
    }
    for body in [
        json!({"event": "x", "contact_id": contact}),
        json!({"event": "x", "email": "a@b.test", "contact_id": null, "payload": null}),
    ] {
        assert_eq!(sandbox.post("/events/send", &body).status, 202, "{body}");
    }
    // An event that triggers no automation creates no contact.
    assert_eq!(sandbox.get("/contacts/a@b.test").status, 404);
}

#[test]
fn a_payload_must_match_its_event_s_schema() {
    let sandbox = Sandbox::new();
    let schema = json!({"plan": "string", "seats": "number", "trial": "boolean", "since": "date"});
    defined(&sandbox, &json!({"name": "x", "schema": schema}));
    let send = |payload: Value| {
        sandbox.post("/events/send", &json!({"event": "x", "email": "a@b.test", "payload": payload}))
    };
    for payload in [
        json!({}),
        json!({"plan": "pro", "seats": 5.5, "trial": false, "since": "2026-03-02"}),
        json!({"since": "2026-03-02T12:00:00Z"}),
        json!({"since": "2026-03-02T12:00:00+01:00", "plan": null, "other": [1]}),
    ] {
        assert_eq!(send(payload.clone()).status, 202, "{payload}");
    }
    for (payload, words) in [
        (json!({"plan": 5}), "`payload.plan` must be a string; found a number"),
        (json!({"seats": "5"}), "`payload.seats` must be a number; found a string"),
        (json!({"trial": "yes"}), "`payload.trial` must be a boolean"),
        (json!({"since": "yesterday"}), "`payload.since` must be a date"),
        (json!({"since": 1_772_452_800}), "`payload.since` must be a date"),
    ] {
        send(payload.clone()).invalid(words);
    }
}
