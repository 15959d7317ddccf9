//! Drafts: stored, changed, and sent once.

use serde_json::json;

use super::{UNKNOWN_ID, column, events, id_of, kinds, receive_from, subscribe, with_inbox};
use crate::support::expect_fields_of;

#[test]
fn a_draft_is_created_changed_and_deleted() {
    let (sandbox, inbox) = with_inbox();
    subscribe(&sandbox);
    let drafts = format!("{inbox}/drafts");
    let body = json!({ "to": "Ada <ada@example.com>", "subject": "Offer", "html": "<p>Dear  <b>Ada</b></p>", "text": "Dear Ada",
        "attachments": [{ "filename": "a.txt", "content": "YWI=" }] });
    let id = sandbox.created(&drafts, &body);
    let path = format!("{drafts}/{id}");
    let mut shown = sandbox.get(&path).json();
    assert_eq!(shown["attachments"][0]["id"].take().as_str().unwrap().len(), 36);
    let noon = "2026-03-02T12:00:00.000Z";
    let expected = json!({ "object": "inbox_draft", "id": id, "type": "standalone", "to": ["Ada <ada@example.com>"], "cc": [],
        "bcc": [], "subject": "Offer", "snippet": "Dear Ada", "thread_id": null, "reply_to_email_id": null,
        "html": "<p>Dear  <b>Ada</b></p>", "text": "Dear Ada", "email_id": null, "created_at": noon, "updated_at": noon,
        "attachments": [{ "id": null, "filename": "a.txt", "content_type": "text/plain", "size": 2 }] });
    assert_eq!(shown, expected);
    assert_eq!(sandbox.get(&inbox).json()["drafts"], 1);

    sandbox.advance(1);
    let changes = json!({ "html": "<p>Hello <i>you</i></p>", "to": null, "cc": ["c@example.com"], "attachments": null });
    assert_eq!(sandbox.patch(&path, &changes).json(), json!({ "object": "inbox_draft", "id": id }));
    let shown = sandbox.get(&path).json();
    expect_fields_of(&json!({"text": null, "html": "<p>Hello <i>you</i></p>"}), &shown);
    expect_fields_of(&json!({"to": null, "cc": ["c@example.com"], "attachments": []}), &shown);
    expect_fields_of(&json!({"subject": "Offer", "updated_at": "2026-03-02T12:00:01.000Z"}), &shown);
    assert!(shown["snippet"].as_str().unwrap().starts_with("Hello"), "{shown}");
    assert_eq!(sandbox.delete(&path).json(), json!({ "object": "inbox_draft", "id": id, "deleted": true }));
    sandbox.get(&path).rejected(404, "not_found", "Draft not found");
    assert_eq!(sandbox.get(&inbox).json()["drafts"], 0);
    let seen = events(&sandbox);
    assert_eq!(kinds(&seen), ["inbox.draft.created", "inbox.draft.updated", "inbox.draft.deleted"]);
    assert_eq!((&seen[0].1["draft_id"], &seen[0].1["draft"]["subject"]), (&json!(id), &json!("Offer")));
    let mut fields: Vec<_> = seen[0].1["draft"].as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    let all = "attachments bcc cc created_at email_id id object reply_to_email_id subject thread_id to type updated_at";
    assert_eq!(fields.join(" "), all, "without bodies");
    assert_eq!(seen[2].1.get("draft"), None);
}

#[test]
fn a_draft_is_sent_once() {
    let (sandbox, inbox) = with_inbox();
    subscribe(&sandbox);
    let id = sandbox.created(&format!("{inbox}/drafts"), &json!({ "to": ["ada@example.com"], "text": "x" }));
    let path = format!("{inbox}/drafts/{id}");
    let refusal = sandbox.post(&format!("{path}/send"), &json!({ "headers": { "References": "<a@b>" } }));
    refusal.invalid("which the service sets");
    let sent = sandbox.act(format!("{path}/send")).expect_status(200);
    let email = sent.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.mail().subject, "(no subject)");
    for answer in
        [sandbox.post(&format!("{path}/send"), &json!({})), sandbox.patch(&path, &json!({ "text": "y" }))]
    {
        answer.rejected(409, "conflict", &format!("was sent as the email {email}"));
    }
    assert_eq!(sandbox.mails().len(), 1);
    assert_eq!(sandbox.get(&path).json()["email_id"], email);
    assert!(sandbox.items(format!("{inbox}/drafts")).is_empty(), "sent drafts aren't listed");
    assert_eq!(sandbox.get(&inbox).json()["drafts"], 0);
    let threads = sandbox.items(format!("{inbox}/threads?folders=sent"));
    assert_eq!(threads.len(), 1);
    expect_fields_of(&json!({ "read": true, "email_count": 1 }), &threads[0]);
    let seen = events(&sandbox);
    let expected = ["inbox.draft.created", "inbox.thread.created", "inbox.email.sent", "inbox.draft.sent"];
    assert_eq!(kinds(&seen), expected);
    let data = &seen[3].1;
    assert_eq!([&data["email_id"], &data["email"]["id"], &data["draft"]["email_id"]], [&email; 3]);
    assert_eq!((&data["thread_id"], &data["thread"]["folder"]), (&threads[0]["id"], &json!("sent")));
}

#[test]
fn a_draft_of_a_reply_shows_in_its_thread_and_is_sent_to_the_sender() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "Question", "How?");
    let thread = sandbox.items(format!("{inbox}/threads")).remove(0);
    let emails = format!("{inbox}/threads/{}/emails", id_of(&thread));
    let email = column(&sandbox, &emails, "id").remove(0);
    let body = json!({ "html": "<p>So.</p>", "thread_id": thread["id"], "reply_to_email_id": email });
    let id = sandbox.created(&format!("{inbox}/drafts"), &body);
    let path = format!("{inbox}/drafts/{id}");
    assert_eq!(sandbox.items(format!("{inbox}/drafts"))[0]["type"], "reply");
    let has_draft = || sandbox.items(format!("{inbox}/threads"))[0]["has_draft"].clone();
    assert_eq!(has_draft(), true);
    sandbox.patch(&path, &json!({ "thread_id": null, "reply_to_email_id": null }));
    assert_eq!(has_draft(), false);
    sandbox.patch(&path, &json!({ "thread_id": thread["id"], "reply_to_email_id": email }));
    assert_eq!(has_draft(), true);
    assert_eq!(sandbox.post(&format!("{path}/send"), &json!({ "headers": { "X-A": "b" } })).status, 200);
    let mail = sandbox.mail();
    assert_eq!(mail.to, ["ada@example.com"]);
    assert_eq!(mail.subject, "Re: Question");
    assert_eq!(has_draft(), false);
    assert_eq!(sandbox.items(emails).len(), 2);
}

#[test]
fn invalid_drafts_are_refused_with_the_field_and_the_rule() {
    let (sandbox, inbox) = with_inbox();
    let drafts = format!("{inbox}/drafts");
    let other = sandbox.created("/inboxes", &json!({ "email_address": "sales@acme.test" }));
    receive_from(&sandbox, "ada@example.com", "Question", "How?");
    let thread = sandbox.items(format!("{inbox}/threads")).remove(0)["id"].clone();
    let many: Vec<_> = (0..51).map(|n| format!("a{n}@example.com")).collect();
    for (body, part) in [
        (json!({}), "The body must have at least one of `to`, `cc`"),
        (json!({ "to": [] }), "A draft must have content"),
        (json!({ "subject": "x".repeat(2_001) }), "`subject` must have 0 to 2000 characters; found 2001"),
        (json!({ "text": "x", "thread_id": thread }), "must be given together"),
        (
            json!({ "text": "x", "thread_id": UNKNOWN_ID, "reply_to_email_id": UNKNOWN_ID }),
            "there is no thread",
        ),
        (json!({ "text": "x", "thread_id": thread, "reply_to_email_id": UNKNOWN_ID }), "there is no email"),
        (json!({ "cc": many }), "found 51"),
    ] {
        sandbox.post(&drafts, &body).invalid(part);
    }
    let id = sandbox.created(&drafts, &json!({ "text": "x", "subject": "x".repeat(2_000) }));
    let send = |path: String| sandbox.post(&format!("{path}/send"), &json!({}));
    send(format!("{drafts}/{id}")).invalid("needs an address in `to`");
    let bare = sandbox.created(&drafts, &json!({ "to": "a@b.test", "subject": "" }));
    send(format!("{drafts}/{bare}")).invalid("needs `html` or `text`");
    send(format!("/inboxes/{other}/drafts/{id}")).rejected(404, "not_found", "Draft not found");
    sandbox.patch(format!("{drafts}/{id}"), &json!({})).invalid("at least one of");
    let keyed = || {
        sandbox.ask(http::Method::POST, &drafts).header("idempotency-key", "k").json(&json!({ "text": "y" }))
    };
    assert_eq!(keyed().json(), keyed().json(), "a repeated creation with its key");
    assert_eq!(sandbox.items(drafts).len(), 3);
}

#[test]
fn concurrent_updates_of_a_draft_keep_each_others_fields() {
    let (sandbox, inbox) = with_inbox();
    let id = sandbox.created(&format!("{inbox}/drafts"), &json!({ "text": "x" }));
    let path = format!("{inbox}/drafts/{id}");
    std::thread::scope(|scope| {
        for (field, other) in [("subject", "text"), ("text", "subject")] {
            let (sandbox, path) = (&sandbox, &path);
            scope.spawn(move || {
                for step in 0..1_000 {
                    let value = format!("{field} {step}");
                    assert_eq!(sandbox.patch(path, &json!({ (field): value })).status, 200);
                    assert_eq!(sandbox.get(path).json()[field], value.as_str(), "not reset by `{other}`");
                }
            });
        }
    });
}
