//! Inboxes of the public API, in beta: threads, replies, drafts, labels, search.

mod drafts;
mod sending;
mod threads;

use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, UNKNOWN_ID, expect_fields_of};

pub(crate) const ADDRESS: &str = "support@acme.test";
/// A sandbox with beta operations and an inbox; returns the path of the inbox.
pub(crate) fn with_inbox() -> (Sandbox, String) {
    let sandbox = Sandbox::with(&Settings { beta: true, seed: Some(7), ..Settings::default() });
    let id = sandbox.created("/inboxes", &json!({ "email_address": ADDRESS, "name": "Support" }));
    (sandbox, format!("/inboxes/{id}"))
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

/// Receives a mail with these header lines; returns nothing, since the inbox gives it an ID of its own.
pub(crate) fn receive(sandbox: &Sandbox, headers: &[&str], text: &str) {
    let mail = format!("{}\r\n\r\n{text}\r\n", headers.join("\r\n"));
    sandbox.service.receive(KEY, &[ADDRESS], mail).unwrap();
}

fn receive_from(sandbox: &Sandbox, from: &str, subject: &str, text: &str) {
    let (from, to) = (format!("From: {from}"), format!("To: {ADDRESS}"));
    let id = format!("Message-ID: <{}.{}@example.com>", subject.len(), text.len());
    receive(sandbox, &[&from, &to, &format!("Subject: {subject}"), &id], text);
}

/// One field of the items of a list.
fn column(sandbox: &Sandbox, path: &str, field: &str) -> Vec<Value> {
    sandbox.items(path).into_iter().map(|mut item| item[field].take()).collect()
}

fn subjects(sandbox: &Sandbox, path: &str) -> Vec<String> {
    sandbox.column(path, "subject")
}

/// Subscribes a webhook to all events of inboxes.
fn subscribe(sandbox: &Sandbox) {
    let kinds = "created updated deleted thread.created thread.folder.updated thread.labels.updated email.received \
        email.sent draft.created draft.updated draft.sent draft.deleted";
    let events: Vec<_> = kinds.split_whitespace().map(|kind| format!("inbox.{kind}")).collect();
    sandbox.subscribe(&events.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The events that were delivered since the last call.
fn events(sandbox: &Sandbox) -> Vec<(String, Value)> {
    let event = |mut event: Value| (event["type"].as_str().unwrap().to_owned(), event["data"].take());
    sandbox.delivered().into_iter().map(event).collect()
}

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

#[test]
fn without_beta_every_operation_of_inboxes_says_how_to_enable_it() {
    let sandbox = Sandbox::new();
    let routes =
        idempost_reference_server::Service::routes().filter(|(_, path)| path.starts_with("/inboxes"));
    let routes: Vec<_> = routes.collect();
    assert_eq!(routes.len(), 29);
    for (method, path) in routes {
        let answer = sandbox.ask(method.clone(), path.replace(['{', '}'], "x")).json(&json!({}));
        answer.rejected(404, "beta_disabled", "is in beta");
        assert!(answer.message().contains("`--beta`"), "{method} {path}");
    }
}

#[test]
fn an_inbox_is_created_changed_and_named_by_id_or_address() {
    let (sandbox, inbox) = with_inbox();
    let id = inbox.rsplit('/').next().unwrap();
    let mut shown = sandbox.get("/inboxes/SUPPORT%40acme.test").json();
    assert_eq!(shown["domain_id"].take().as_str().unwrap().len(), 36);
    let noon = "2026-03-02T12:00:00.000Z";
    let expected = json!({ "object": "inbox", "id": id, "name": "Support", "email_address": ADDRESS, "domain_id": null,
        "receiving_address": null, "from_name": null, "unread": 0, "drafts": 0, "last_received": null,
        "created_at": noon, "updated_at": noon });
    assert_eq!(shown, expected);
    sandbox.advance(60);
    let changed = sandbox.patch(&inbox, &json!({ "name": "Help", "from_name": "Acme Support" }));
    assert_eq!(changed.json(), json!({ "object": "inbox", "id": id }));
    let item = sandbox.items("/inboxes").remove(0);
    expect_fields_of(&json!({ "name": "Help", "from_name": "Acme Support" }), &item);
    assert_eq!(item["updated_at"], "2026-03-02T12:01:00.000Z");
    assert!(item.get("drafts").is_none(), "a list item is short");
    assert_eq!(sandbox.patch(&inbox, &json!({ "from_name": null })).status, 200);
    assert_eq!(sandbox.get(&inbox).json()["from_name"], Value::Null);
    let gone = sandbox.delete(&inbox);
    assert_eq!(gone.json(), json!({ "object": "inbox", "id": id, "deleted": true }));
    for name in [id, ADDRESS, UNKNOWN_ID, "nobody"] {
        sandbox.get(format!("/inboxes/{name}")).rejected(404, "not_found", "Inbox");
    }
}

#[test]
fn invalid_inboxes_are_refused_with_the_field_and_the_rule() {
    let (sandbox, inbox) = with_inbox();
    for (field, value, part) in [
        ("email_address", json!("nobody"), "`email_address`"),
        ("email_address", json!("Support@ACME.test"), "must be an address without an inbox"),
        ("name", json!(""), "`name` must have 1 to 64 characters; found 0"),
        ("name", json!("x".repeat(65)), "found 65"),
        ("from_name", json!("x".repeat(79)), "`from_name` must have 0 to 78"),
        ("forwarding", json!(1), "`forwarding` must be a boolean"),
    ] {
        let mut body = json!({ "email_address": "a@acme.test" });
        body[field] = value;
        sandbox.post("/inboxes", &body).invalid(part);
    }
    sandbox.post("/inboxes", &json!({})).invalid("Missing `email_address`");
    sandbox.patch(&inbox, &json!({})).invalid("at least one of `name`, `from_name`");
}

#[test]
fn a_strict_sandbox_requires_a_receiving_domain_or_forwarding() {
    let settings = Settings { beta: true, strict_domains: true, ..Settings::default() };
    let sandbox = Sandbox::with(&settings);
    let mut inbox = json!({ "email_address": ADDRESS });
    sandbox.post("/inboxes", &inbox).invalid("verified for receiving");
    inbox["forwarding"] = true.into();
    let path = format!("/inboxes/{}", sandbox.created("/inboxes", &inbox));
    let address = sandbox.get(&path).json()["receiving_address"].as_str().unwrap().to_uppercase();
    let receive = |address: &str| sandbox.service.receive(KEY, &[address], "Subject: Hi\r\n\r\nx");
    receive(&address).expect("the address that mail is forwarded to");
    assert_eq!(subjects(&sandbox, &format!("{path}/threads")), ["Hi"]);
    receive(ADDRESS).unwrap_err();
    sandbox.delete(&path);
    receive(&address).unwrap_err();
}

#[test]
fn forwarded_mail_reaches_the_inbox_by_its_receiving_address() {
    let (sandbox, _) = with_inbox();
    let inbox = json!({ "email_address": "sales@acme.test", "forwarding": true });
    let path = format!("/inboxes/{}", sandbox.created("/inboxes", &inbox));
    let address = sandbox.get(&path).json()["receiving_address"].as_str().unwrap().to_uppercase();
    let mail = "From: ada@example.com\r\nSubject: Hi\r\n\r\nx";
    sandbox.service.receive(KEY, &[&address, "sales@acme.test", ADDRESS], mail).unwrap();
    let seen = subjects(&sandbox, &format!("{path}/threads"));
    assert_eq!(seen, ["Hi"], "once, though it has two of its addresses");
    assert_eq!(subjects(&sandbox, &format!("/inboxes/{ADDRESS}/threads")), ["Hi"]);
}

#[test]
fn agent_settings_are_stored_and_replaced() {
    let (sandbox, inbox) = with_inbox();
    let agent = format!("{inbox}/agent");
    let blank = json!({ "object": "inbox_agent", "instructions": null, "tone": null, "actions": [] });
    assert_eq!(sandbox.get(&agent).json(), blank);
    let settings = json!({ "instructions": "Be kind", "tone": "concise_casual", "actions": ["archive", "draft_reply", "archive"] });
    assert_eq!(sandbox.patch(&agent, &settings).json()["object"], "inbox_agent");
    assert_eq!(sandbox.patch(&agent, &json!({ "tone": null })).status, 200);
    let shown = sandbox.get(&agent).json();
    expect_fields_of(&json!({ "instructions": "Be kind", "tone": null }), &shown);
    assert_eq!(shown["actions"], json!(["archive", "draft_reply"]));
    for (body, part) in [
        (json!({}), "at least one of"),
        (json!({ "tone": "loud" }), "`tone` must be one of `concise_professional`"),
        (json!({ "actions": ["fly"] }), "`actions[0]`"),
        (json!({ "instructions": "x".repeat(4_001) }), "at most 4000 characters; found 4001"),
    ] {
        sandbox.patch(&agent, &body).invalid(part);
    }
}

#[test]
fn deleting_an_inbox_deletes_its_records_but_not_the_emails() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "One", "x");
    sandbox.created(&format!("{inbox}/labels"), &json!({ "name": "Urgent" }));
    sandbox.created(&format!("{inbox}/drafts"), &json!({ "text": "x" }));
    assert_eq!(sandbox.delete(&inbox).status, 200);
    let again = sandbox.created("/inboxes", &json!({ "email_address": ADDRESS }));
    for list in ["threads?folders=inbox,archive,spam,sent,trash", "drafts", "labels"] {
        assert!(sandbox.items(format!("/inboxes/{again}/{list}")).is_empty(), "{list}");
    }
    assert_eq!(sandbox.items("/emails/receiving").len(), 1);
}

#[test]
fn changes_of_an_inbox_send_events() {
    let sandbox = Sandbox::with(&Settings { beta: true, ..Settings::default() });
    subscribe(&sandbox);
    let id = sandbox.created("/inboxes", &json!({ "email_address": ADDRESS }));
    let path = format!("/inboxes/{id}");
    sandbox.patch(&path, &json!({ "name": "Help" }));
    receive_from(&sandbox, "ada@example.com", "One", "x");
    let seen = events(&sandbox);
    let expected = ["inbox.created", "inbox.updated", "inbox.thread.created", "inbox.email.received"];
    assert_eq!(kinds(&seen), expected);
    assert!(seen.iter().all(|(_, data)| data["inbox_id"] == id));
    let sources: Vec<_> = seen.iter().map(|(_, data)| data["source"].as_str().unwrap()).collect();
    assert_eq!(sources, ["api", "api", "system", "system"]);
    let inbox = sandbox.get(&path).json();
    let shown = &seen[1].1["inbox"];
    expect_fields_of(&json!({ "name": "Help", "object": "inbox" }), shown);
    let fields = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(shown), fields(&inbox), "the complete record");
    let thread = sandbox.items(format!("{path}/threads")).remove(0);
    assert_eq!((&seen[2].1["thread"]["subject"], &seen[2].1["thread_id"]), (&json!("One"), &thread["id"]));
    let shown = sandbox.get(format!("{path}/threads/{}", thread["id"].as_str().unwrap())).json();
    for (_, data) in &seen[2..] {
        assert_eq!((&data["thread"], &data["email_id"]), (&shown, &data["email"]["id"]));
    }
    let email = &seen[3].1["email"];
    assert_eq!((&email["from"], email.get("text")), (&json!("ada@example.com"), None), "without bodies");
    sandbox.delete(&path);
    let seen = events(&sandbox);
    assert_eq!(seen, [("inbox.deleted".to_owned(), json!({ "source": "api", "inbox_id": id }))]);
}
