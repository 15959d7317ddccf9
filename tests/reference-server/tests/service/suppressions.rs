//! The suppression list: how it fills itself, and what it keeps from leaving.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, UNKNOWN_ID, email, email_of, email_with, expect_fields_of};

const NOON: &str = "2026-03-02 12:00:00.000000+00";

fn add(sandbox: &Sandbox, address: &str) -> String {
    let answer = sandbox.post("/suppressions", &json!({ "email": address })).expect_status(201);
    assert_eq!(answer.json()["object"], "suppression");
    answer.id()
}

fn delete(sandbox: &Sandbox, name: &str) -> Answer {
    sandbox.delete(format!("/suppressions/{name}"))
}

/// The addresses on the list, newest first, each with its origin.
fn listed(sandbox: &Sandbox, query: &str) -> Vec<(String, String)> {
    let list = sandbox.get(format!("/suppressions{query}"));
    list.column("email").into_iter().zip(list.column("origin")).collect()
}

fn entry(address: &str, origin: &str) -> (String, String) {
    (address.to_owned(), origin.to_owned())
}

/// The types of the events of an email, oldest first.
fn events(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let timeline = sandbox.get(format!("/_/messages/{id}/timeline")).json();
    let entries = timeline["events"].as_array().unwrap().iter();
    entries.filter_map(|entry| Some(entry.get("event")?.as_str()?.to_owned())).collect()
}

#[test]
fn an_address_is_added_shown_and_removed() {
    let sandbox = Sandbox::new();
    let id = add(&sandbox, "Ada+News@example.com");
    let shown = json!({ "object": "suppression", "id": id, "email": "Ada+News@example.com", "origin": "manual",
        "source_id": null, "created_at": NOON });
    for name in [id.as_str(), "ada%2Bnews@example.com", "Ada+News@EXAMPLE.com"] {
        assert_eq!(sandbox.get(format!("/suppressions/{name}")).json(), shown, "{name}");
    }
    let list = sandbox.get("/suppressions").json();
    let mut item = shown.clone();
    item.as_object_mut().unwrap().remove("object");
    assert_eq!(list, json!({ "object": "list", "data": [item], "has_more": false }));
    let gone = delete(&sandbox, "ADA+news@example.com");
    assert_eq!(gone.expect_status(200).json(), json!({ "object": "suppression", "id": id, "deleted": true }));
    for method in [Method::GET, Method::DELETE] {
        for name in [id.as_str(), "ada+news@example.com", UNKNOWN_ID, "nobody"] {
            let answer = sandbox.ask(method.clone(), format!("/suppressions/{name}")).send("");
            answer.rejected(404, "not_found", "");
        }
    }
}

#[test]
fn adding_a_listed_address_keeps_its_entry_and_origin() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("to", "bounced@example.com"));
    sandbox.advance(5);
    let known = sandbox.get("/suppressions/bounced@example.com").json();
    assert_eq!(add(&sandbox, "Bounced@Example.com"), known["id"]);
    assert_eq!(sandbox.get("/suppressions/bounced@example.com").json(), known);
    assert_eq!(listed(&sandbox, ""), [entry("bounced@example.com", "bounce")]);
}

#[test]
fn an_invalid_address_is_rejected() {
    let sandbox = Sandbox::new();
    sandbox.post("/suppressions", &json!({})).invalid("Missing `email`");
    sandbox.post("/suppressions/batch/add", &json!({})).invalid("Missing `emails`");
    for wrong in [json!("nobody"), json!("Ada <ada@example.com>"), json!(1), json!(""), json!("a b@c.test")] {
        sandbox.post("/suppressions", &json!({ "email": wrong })).invalid("`email`");
        let batch = json!({ "emails": ["ada@example.com", wrong] });
        for path in ["/suppressions/batch/add", "/suppressions/batch/remove"] {
            sandbox.post(path, &batch).invalid("`emails[1]`");
        }
    }
    // One invalid address rejects the whole batch.
    assert_eq!(listed(&sandbox, ""), []);
}

#[test]
fn a_batch_adds_up_to_a_hundred_addresses_in_order() {
    let sandbox = Sandbox::new();
    let known = add(&sandbox, "known@example.com");
    let mut emails: Vec<_> = (0..99).map(|n| format!("user{n}@example.com")).collect();
    emails.push("KNOWN@example.com".to_owned());
    let body =
        sandbox.post("/suppressions/batch/add", &json!({ "emails": emails })).expect_status(201).json();
    let shown = |address: &String| sandbox.get(format!("/suppressions/{address}")).id();
    let ids: Vec<_> = emails.iter().map(shown).collect();
    assert_eq!(ids[99], known);
    let items: Vec<_> = ids.iter().map(|id| json!({ "object": "suppression", "id": id })).collect();
    assert_eq!(body, json!({ "data": items }));
    for count in [0, 101] {
        let emails = vec!["ada@example.com"; count];
        for path in ["/suppressions/batch/add", "/suppressions/batch/remove"] {
            sandbox.post(path, &json!({ "emails": emails })).invalid("1 to 100");
        }
    }
    // The same address twice is one entry.
    let twice = json!({ "emails": ["x@y.test", "X@y.test"] });
    let twice = sandbox.post("/suppressions/batch/add", &twice).ids();
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn a_batch_removes_by_address_or_by_id_and_skips_unknown_entries() {
    let sandbox = Sandbox::new();
    let ids = ["a@x.test", "b@x.test", "c@x.test", "d@x.test"].map(|address| add(&sandbox, address));
    let remove = |body: &Value| sandbox.post("/suppressions/batch/remove", body);
    let gone = |id: &str| json!({ "object": "suppression", "id": id, "deleted": true });
    let answer = remove(&json!({ "emails": ["B@x.test", "unknown@x.test", "a@x.test", "a@x.test"] }));
    assert_eq!(answer.expect_status(200).json(), json!({ "data": [gone(&ids[1]), gone(&ids[0])] }));
    let answer = remove(&json!({ "ids": [UNKNOWN_ID, ids[3]] }));
    assert_eq!(answer.json(), json!({ "data": [gone(&ids[3])] }));
    assert_eq!(listed(&sandbox, ""), [entry("c@x.test", "manual")]);
    remove(&json!({})).invalid("`emails` or `ids`");
    remove(&json!({ "ids": [ids[2]], "emails": ["c@x.test"] })).invalid("both");
    remove(&json!({ "ids": ["c@x.test"] })).invalid("UUID");
}

#[test]
fn the_list_is_paged_and_filtered_by_origin() {
    let sandbox = Sandbox::new();
    for n in 0..25 {
        add(&sandbox, &format!("user{n}@example.com"));
    }
    sandbox.sent(&email_with("to", json!(["bounced@example.com", "complained@example.com"])));
    sandbox.advance(5);
    let list = sandbox.get("/suppressions");
    assert_eq!(list.ids().len(), 20);
    assert_eq!(list.json()["has_more"], true);
    assert_eq!(listed(&sandbox, "?origin=bounce"), [entry("bounced@example.com", "bounce")]);
    assert_eq!(listed(&sandbox, "?origin=complaint"), [entry("complained@example.com", "complaint")]);
    assert_eq!(listed(&sandbox, "?origin=manual&limit=100").len(), 25);
    // An entry of another origin is a valid cursor.
    let after_newest = format!("?origin=manual&limit=1&after={}", list.ids()[0]);
    assert_eq!(listed(&sandbox, &after_newest), [entry("user24@example.com", "manual")]);
    sandbox.get("/suppressions?origin=bounced").invalid("`origin`");
    sandbox.get(format!("/suppressions?after={UNKNOWN_ID}")).invalid("after");
}

#[test]
fn bounces_and_complaints_suppress_later_emails() {
    let sandbox = Sandbox::new();
    for (to, event, origin) in
        [("bounced@example.com", "bounced", "bounce"), ("complained@example.com", "complained", "complaint")]
    {
        let first = sandbox.sent(&email_with("to", to));
        sandbox.advance(5);
        assert_eq!(sandbox.last_event(&first), event);
        let shown = sandbox.get(format!("/suppressions/{to}")).json();
        expect_fields_of(&json!({ "origin": origin, "source_id": first }), &shown);
        let before = sandbox.mails().len();
        let second = sandbox.sent(&email_with("to", format!("Somebody <{}>", to.to_uppercase())));
        sandbox.advance(5);
        assert_eq!(sandbox.last_event(&second), "suppressed");
        assert_eq!(sandbox.mails().len(), before);
        // Without the entry it is sent again, and the next bounce restores the entry.
        assert_eq!(delete(&sandbox, to).status, 200);
        let third = sandbox.sent(&email_with("to", to));
        sandbox.advance(5);
        assert_eq!(sandbox.last_event(&third), event);
        assert_eq!(sandbox.get(format!("/suppressions/{to}")).json()["source_id"], third.as_str());
    }
}

#[test]
fn an_address_is_the_same_whether_its_domain_is_written_in_letters_or_in_ascii() {
    let sandbox = Sandbox::new();
    sandbox.created("/suppressions", &json!({ "email": "jörg@bücher.example" }));
    for to in ["JÖRG@xn--bcher-kva.example", "Jörg <jörg@BÜCHER.example>"] {
        let sent = sandbox.sent(&email_with("to", to));
        assert_eq!(sandbox.last_event(&sent), "suppressed", "{to}");
    }
    let contact = |email: &str| sandbox.created("/contacts", &json!({ "email": email }));
    assert_eq!(contact("ada@bücher.example"), contact("ada@XN--BCHER-KVA.example"));
    assert_ne!(contact("ada@bücher.example"), contact("ada@bucher.example"));
}

#[test]
fn only_the_recipients_that_bounced_are_suppressed() {
    let sandbox = Sandbox::new();
    let to = ["ada@example.com", "bounced@example.com"];
    sandbox.sent(&email_of(&json!({ "to": to, "bcc": ["complained+x@example.com"] })));
    sandbox.advance(5);
    assert_eq!(
        listed(&sandbox, ""),
        [entry("complained+x@example.com", "complaint"), entry("bounced@example.com", "bounce")]
    );
    // Neither a delay nor the fates by name leave an entry.
    let named = json!(["delayed@example.com", "suppressed@example.com", "opened@example.com"]);
    sandbox.sent(&email_with("to", named));
    sandbox.advance(100);
    assert_eq!(listed(&sandbox, "").len(), 2);
}

#[test]
fn an_address_that_the_email_was_not_sent_to_is_not_suppressed() {
    let sandbox = Sandbox::new();
    let topic = sandbox.created("/topics", &json!({ "name": "News", "default_subscription": "opt_in" }));
    let opted_out = json!([{ "id": topic, "subscription": "opt_out" }]);
    sandbox.created("/contacts", &json!({ "email": "bounced+out@example.com", "topics": opted_out }));
    let to = ["bounced+out@example.com", "bounced+in@example.com"];
    sandbox.sent(&email_of(&json!({ "to": to, "topic_id": topic })));
    sandbox.advance(5);
    let id = sandbox.sent(&email_of(&json!({ "to": [to[0], "ada@example.com"], "topic_id": topic })));
    sandbox.trigger(&id, "complained", &json!({}));
    let expected = [entry("ada@example.com", "complaint"), entry("bounced+in@example.com", "bounce")];
    assert_eq!(listed(&sandbox, ""), expected);
}

#[test]
fn a_triggered_permanent_bounce_suppresses_the_to_recipients() {
    let sandbox = Sandbox::new();
    let to = ["Ada <ada@example.com>", "bob@example.com"];
    let id = sandbox.sent(&email_of(&json!({ "to": to, "cc": "carol@example.com" })));
    sandbox.advance(5);
    sandbox.trigger(&id, "bounced", &json!({ "type": "Transient" }));
    assert_eq!(listed(&sandbox, ""), []);
    sandbox.trigger(&id, "bounced", &json!({}));
    let expected = [entry("bob@example.com", "bounce"), entry("ada@example.com", "bounce")];
    assert_eq!(listed(&sandbox, ""), expected);
}

#[test]
fn an_email_goes_to_the_recipients_that_remain() {
    let sandbox = Sandbox::new();
    add(&sandbox, "no@example.com");
    let wanted = email_of(&json!({
        "to": ["Yes <yes@example.com>", "NO@example.com"], "cc": ["no@example.com"],
        "bcc": ["other@example.com", "no@example.com"],
    }));
    let id = sandbox.sent(&wanted);
    sandbox.advance(5);
    let mail = sandbox.mail();
    assert_eq!(mail.to, ["Yes <yes@example.com>"]);
    assert_eq!(mail.cc, [""; 0]);
    assert_eq!(mail.bcc, ["other@example.com"]);
    expect_fields_of(&json!({ "last_event": "delivered", "to": wanted["to"] }), &sandbox.record(&id));
    assert_eq!(events(&sandbox, &id), ["accepted", "suppressed", "sent", "delivered"]);
    // Copies alone don't make an email.
    let copies = email_of(&json!({"to": "no@example.com", "cc": "yes@example.com"}));
    let id = sandbox.sent(&copies);
    sandbox.advance(5);
    assert_eq!(sandbox.last_event(&id), "suppressed");
    assert_eq!(sandbox.mails().len(), 1);
}

#[test]
fn the_list_is_checked_when_an_email_is_sent() {
    let sandbox = Sandbox::new();
    let scheduled = |to: &str| {
        let email = email_of(&json!({"to": to, "scheduled_at": "2026-03-02T13:00:00Z"}));
        sandbox.sent(&email)
    };
    let (late, early) = (scheduled("late@example.com"), scheduled("early@example.com"));
    add(&sandbox, "late@example.com");
    add(&sandbox, "early@example.com");
    delete(&sandbox, "early@example.com");
    sandbox.advance(3_700);
    assert_eq!([late, early].map(|id| sandbox.last_event(&id)), ["suppressed", "delivered"]);
}

#[test]
fn batches_and_broadcasts_skip_listed_addresses() {
    let sandbox = Sandbox::new();
    add(&sandbox, "no@example.com");
    let batch = json!([email_with("to", "no@example.com"), email()]);
    let sent = sandbox.post("/emails/batch", &batch).ids();
    sandbox.advance(5);
    let events: Vec<_> = sent.iter().map(|id| sandbox.last_event(id)).collect();
    assert_eq!(events, ["suppressed", "delivered"]);
    sandbox.broadcast("All", &["no@example.com", "yes@example.com"]);
    let recipients: Vec<_> = sandbox.mails().into_iter().flat_map(|mail| mail.to).collect();
    assert!(recipients.iter().any(|to| to.contains("yes@example.com")), "{recipients:?}");
    assert!(!recipients.iter().any(|to| to.contains("no@example.com")), "{recipients:?}");
}

#[test]
fn webhooks_report_every_change_of_the_list() {
    let sandbox = Sandbox::new();
    sandbox.subscribe(&["suppression.added", "suppression.removed"]);
    let id = add(&sandbox, "ada@example.com");
    add(&sandbox, "ADA@example.com");
    delete(&sandbox, &id);
    let data = json!({ "id": id, "email": "ada@example.com", "origin": "manual", "source_id": null,
        "created_at": "2026-03-02T12:00:00.000Z" });
    let delivered = sandbox.delivered();
    assert_eq!(delivered.len(), 2);
    for (event, kind) in delivered.iter().zip(["suppression.added", "suppression.removed"]) {
        expect_fields_of(&json!({ "type": kind, "data": data }), event);
    }
    let source = sandbox.sent(&email_with("to", "bounced@example.com"));
    sandbox.post("/suppressions/batch/add", &json!({ "emails": ["b@x.test", "c@x.test", "b@x.test"] }));
    sandbox.advance(5);
    sandbox.post("/suppressions/batch/remove", &json!({ "emails": ["c@x.test", "d@x.test"] }));
    let summary = |event: Value| {
        let data = &event["data"];
        format!("{} {} {}", event["type"], data["email"], data["source_id"]).replace('"', "")
    };
    let expected = [
        "suppression.added b@x.test null",
        "suppression.added c@x.test null",
        &format!("suppression.added bounced@example.com {source}"),
        "suppression.removed c@x.test null",
    ];
    assert_eq!(sandbox.delivered().into_iter().map(summary).collect::<Vec<_>>(), expected);
}

#[test]
fn the_event_of_a_suppressed_email_says_why() {
    let sandbox = Sandbox::new();
    sandbox.subscribe(&["email.suppressed"]);
    sandbox.sent(&email_with("to", json!(["bounced@example.com", "complained@example.com"])));
    sandbox.advance(5);
    add(&sandbox, "manual@example.com");
    for name in ["bounced", "complained", "manual"] {
        sandbox.sent(&email_with("to", format!("{name}@example.com")));
    }
    let why: Vec<_> = sandbox.delivered().iter().map(|event| event["data"]["suppressed"].clone()).collect();
    assert_eq!(why.len(), 3);
    assert!(why.iter().all(|why| why["type"] == "OnAccountSuppressionList"), "{why:?}");
    assert_eq!((&why[0]["reason"], why[0]["diagnosticCode"].is_array()), (&json!("previous_bounce"), true));
    assert_eq!((&why[1]["reason"], why[1].get("diagnosticCode")), (&json!("previous_complaint"), None));
    assert_eq!((why[2].get("reason"), why[2].get("diagnosticCode")), (None, None));
    let messages: std::collections::BTreeSet<_> =
        why.iter().map(|why| why["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 3);
}
