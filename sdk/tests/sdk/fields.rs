//! The declared fields of inputs, and how JSON sets them.

use idempost::{
    Attachment, BatchEmail,
    api_keys::NewApiKey,
    contacts::{ContactPatch, NewContact},
    events::EventOccurrence,
    inboxes::{InboxDraftPatch, InboxForward, InboxReply},
    problem::Problems,
    templates::NewTemplate,
    topics::{NewTopic, TopicPatch},
    types::fields::{Field, Input, Kind},
    webhooks::WebhookPatch,
};
use serde::Serialize;
use serde_json::{Value, json};

/// The path and the code of each shape error.
fn problems<I: Input>(json: &Value) -> Vec<(String, &'static str)> {
    let found = I::read(json).1.err().map(Problems::into_vec).unwrap_or_default();
    found.into_iter().map(|problem| (problem.path, problem.code)).collect()
}

fn at(paths: &[&str], code: &'static str) -> Vec<(String, &'static str)> {
    paths.iter().map(|path| ((*path).to_owned(), code)).collect()
}

/// The request built from JSON.
fn sent<I: Input + Serialize>(json: &Value) -> Value {
    let (input, shape) = I::read(json);
    assert!(shape.is_ok(), "{shape:?}");
    serde_json::to_value(input).unwrap()
}

fn field<I: Input>(name: &str) -> Field {
    *I::FIELDS.iter().find(|field| field.name == name).unwrap()
}

#[test]
fn a_field_declares_its_kind_and_whether_it_is_required_or_clearable() {
    let subscription = field::<NewTopic>("default_subscription");
    assert_eq!((subscription.kind, subscription.required), (Kind::Choice(&["opt_in", "opt_out"]), true));
    let description = field::<TopicPatch>("description");
    assert_eq!((description.kind, description.required, description.clearable), (Kind::Text, false, true));
    assert!(!field::<TopicPatch>("name").clearable);
    assert_eq!(field::<NewContact>("unsubscribed").kind, Kind::Boolean);
    assert_eq!(field::<NewContact>("segments").kind, Kind::List(&Kind::Text));
    assert_eq!(field::<InboxForward>("to").kind, Kind::List(&Kind::Text));
    assert!(field::<InboxDraftPatch>("attachments").clearable);
    assert!(!field::<WebhookPatch>("events").clearable);
}

#[test]
fn every_unreadable_item_of_a_list_is_reported() {
    let contact = json!({
        "email": "ada@example.com", "segments": [1, "s", { "id": 2 }, { "id": "s", "name": "x" }],
        "topics": ["t", { "id": 3, "subscription": "opt_in" }, { "id": "t" }],
    });
    let found = problems::<NewContact>(&contact);
    let mut expected = at(&["/segments/0", "/segments/2/id"], "type");
    expected.extend(at(&["/segments/3/name"], "unknown"));
    expected.extend(at(&["/topics/0", "/topics/1/id"], "type"));
    expected.extend(at(&["/topics/2/subscription"], "required"));
    assert_eq!(found, expected);
    let template = json!({ "name": "x", "html": "y", "variables": [1, { "key": "A", "type": "string" }, 2] });
    assert_eq!(problems::<NewTemplate>(&template), at(&["/variables/0", "/variables/2"], "type"));
    let template = json!({ "name": "x", "html": "y", "variables": [{ "key": "A", "type": "list" }] });
    assert_eq!(problems::<NewTemplate>(&template), at(&["/variables/0/type"], "type"));
    let reply = json!({ "cc": ["a@b.test", 1, null], "headers": { "X-A": 1, "X-B": "b", "X-C": [] } });
    assert_eq!(
        problems::<InboxReply>(&reply),
        at(&["/cc/1", "/cc/2", "/headers/X-A", "/headers/X-C"], "type")
    );
}

#[test]
fn all_wrong_missing_and_unknown_fields_are_reported_at_once() {
    let found = problems::<NewTopic>(&json!({ "name": 1, "visibility": [], "default": "opt_in" }));
    let mut expected = at(&["/name"], "type");
    expected.extend(at(&["/default_subscription"], "required"));
    expected.extend(at(&["/visibility"], "type"));
    expected.extend(at(&["/default"], "unknown"));
    assert_eq!(found, expected);
    assert_eq!(problems::<NewTopic>(&json!([]))[0], (String::new(), "type"));
}

#[test]
fn null_clears_what_can_be_cleared_and_counts_as_missing_elsewhere() {
    assert_eq!(
        sent::<TopicPatch>(&json!({ "description": null, "name": null })),
        json!({ "description": null })
    );
    let draft = json!({ "to": null, "subject": "x", "thread_id": null, "attachments": null });
    assert_eq!(sent::<InboxDraftPatch>(&draft), draft);
    assert_eq!(sent::<WebhookPatch>(&json!({ "events": null })), json!({}));
    let properties = json!({ "properties": { "city": null, "orders": 3 } });
    assert_eq!(sent::<ContactPatch>(&properties), properties);
    assert_eq!(
        problems::<NewTopic>(&json!({ "name": "x", "default_subscription": null })),
        at(&["/default_subscription"], "required")
    );
}

#[test]
fn the_body_of_a_request_is_read_unchanged() {
    let contact = json!({
        "email": "ada@example.com", "first_name": "Ada", "unsubscribed": false, "properties": { "orders": 3 },
        "segments": [{ "id": "s" }], "topics": [{ "id": "t", "subscription": "opt_out" }],
    });
    assert_eq!(sent::<NewContact>(&contact), contact);
    let key = json!({ "name": "x", "permission": "sending_access", "domain_id": "d" });
    assert_eq!(sent::<NewApiKey>(&key), key);
    let forward = json!({ "to": ["a@b.test"], "subject": "x", "headers": { "X-A": "a" } });
    assert_eq!(sent::<InboxForward>(&forward), forward);
}

#[test]
fn attachments_are_read_from_base64_and_urls() {
    let wrong = json!({ "text": "x", "attachments": [
        { "filename": "a.txt", "content": "YWI=" }, { "content": "?" }, { "path": "https://x.test/a", "size": 1 }, {},
    ] });
    let mut expected = at(&["/attachments/1/content"], "base64");
    expected.extend(at(&["/attachments/2/size"], "unknown"));
    expected.extend(at(&["/attachments/3"], "required"));
    assert_eq!(problems::<InboxReply>(&wrong), expected);
}

#[test]
fn a_domain_of_an_api_key_requires_the_permission_to_send_only() {
    let places = |json: Value| {
        let (key, shape) = NewApiKey::read(&json);
        let problems = Problems::merge(shape, key.check()).unwrap_err().into_vec();
        problems.into_iter().map(|problem| (problem.path, problem.code)).collect::<Vec<_>>()
    };
    for permission in [Value::Null, "full_access".into()] {
        let key = json!({ "name": "x", "domain_id": "d", "permission": permission });
        assert_eq!(places(key), at(&["/domain_id"], "exclusive"));
    }
    let key = json!({ "name": "x", "domain_id": "d", "permission": "root" });
    assert_eq!(places(key), at(&["/permission"], "type"));
}

#[test]
fn an_event_to_send_concerns_one_contact() {
    let event = json!({ "event": "user.created", "email": "ada@example.com", "payload": { "plan": "pro" } });
    assert_eq!(sent::<EventOccurrence>(&event), event);
    let event = json!({ "event": "user.created", "contact_id": "c1" });
    assert_eq!(sent::<EventOccurrence>(&event), event);
    let none = json!({ "event": "user.created" });
    assert_eq!(problems::<EventOccurrence>(&none), at(&[""], "required"));
    let two = json!({ "event": "user.created", "contact_id": "c1", "email": "ada@example.com" });
    assert_eq!(problems::<EventOccurrence>(&two), at(&["/email"], "exclusive"));
    let wrong = json!({ "event": 1, "email": 2, "payload": [] });
    assert_eq!(problems::<EventOccurrence>(&wrong), at(&["/event", "/email", "/payload"], "type"));
}

/// Methods that are called on a type only if it has none of the same name.
trait Absent: Sized {
    fn attach(self, _: Attachment) -> &'static str {
        "absent"
    }

    fn scheduled_at(self, _: &str) -> &'static str {
        "absent"
    }
}

impl Absent for BatchEmail {}

#[test]
fn an_email_of_a_batch_has_neither_attachments_nor_a_schedule() {
    // BATCH-07: a method of the type would return the type, and this wouldn't compile
    let email = || BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x");
    assert_eq!(email().attach(Attachment::from_bytes("a.txt", "abc")), "absent");
    assert_eq!(email().scheduled_at("in 1 min"), "absent");
}
