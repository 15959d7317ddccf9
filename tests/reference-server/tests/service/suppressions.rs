//! The suppression list: how it fills itself, and what it keeps from leaving.

use http::Method;
use idempost_reference_server::Posted;
use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, UNKNOWN_ID, email, email_with};

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
    let list = sandbox.get(format!("/suppressions{query}")).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = list["data"].as_array().unwrap().iter();
    items.map(|item| (text(&item["email"]), text(&item["origin"]))).collect()
}

fn entry(address: &str, origin: &str) -> (String, String) {
    (address.to_owned(), origin.to_owned())
}

/// The types of the events of an email, oldest first.
fn events(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let timeline = sandbox.get(format!("/_/messages/{id}/timeline")).json();
    let entries = timeline["events"].as_array().unwrap().iter();
    let events = entries.filter_map(|entry| Some(entry.get("event")?.as_str()?.to_owned()));
    events.collect()
}

/// The events that a webhook for these types receives.
fn delivered(sandbox: &Sandbox) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some(post) = sandbox.service.next_post() {
        events.push(serde_json::from_slice(&post.body).unwrap());
        sandbox.service.finish_post(post, Posted { status: Some(200), response: String::new() });
    }
    events
}

fn webhook(sandbox: &Sandbox, events: &[&str]) {
    let hook = json!({ "endpoint": "http://127.0.0.1:9/hook", "events": events });
    assert_eq!(sandbox.post("/webhooks", &hook).status, 201);
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
    assert_eq!(
        (gone.status.as_u16(), gone.json()),
        (200, json!({ "object": "suppression", "id": id, "deleted": true }))
    );
    for method in [Method::GET, Method::DELETE] {
        for name in [id.as_str(), "ada+news@example.com", UNKNOWN_ID, "nobody"] {
            let answer = sandbox.ask(method.clone(), format!("/suppressions/{name}")).send("");
            assert_eq!((answer.status.as_u16(), answer.name()), (404, "not_found".to_owned()), "{name}");
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
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["data"]);
    let data = body["data"].as_array().unwrap();
    assert_eq!(data.len(), 100);
    for (n, address) in emails.iter().enumerate() {
        let shown = sandbox.get(format!("/suppressions/{address}")).json();
        assert_eq!(data[n], json!({ "object": "suppression", "id": shown["id"] }));
    }
    assert_eq!(data[99]["id"], known.as_str());
    for count in [0, 101] {
        let emails = vec!["ada@example.com"; count];
        for path in ["/suppressions/batch/add", "/suppressions/batch/remove"] {
            sandbox.post(path, &json!({ "emails": emails })).invalid("1 to 100");
        }
    }
    // The same address twice is one entry.
    let twice =
        sandbox.post("/suppressions/batch/add", &json!({ "emails": ["x@y.test", "X@y.test"] })).json();
    assert_eq!(twice["data"][0], twice["data"][1]);
}

#[test]
fn a_batch_removes_by_address_or_by_id_and_skips_unknown_entries() {
    let sandbox = Sandbox::new();
    let ids = ["a@x.test", "b@x.test", "c@x.test", "d@x.test"].map(|address| add(&sandbox, address));
    let remove = |body: &Value| sandbox.post("/suppressions/batch/remove", body);
    let gone = |id: &str| json!({ "object": "suppression", "id": id, "deleted": true });
    let answer = remove(&json!({ "emails": ["B@x.test", "unknown@x.test", "a@x.test", "a@x.test"] }));
    assert_eq!(
        (answer.status.as_u16(), answer.json()),
        (200, json!({ "data": [gone(&ids[1]), gone(&ids[0])] }))
    );
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
    let list = sandbox.get("/suppressions").json();
    assert_eq!((list["data"].as_array().unwrap().len(), &list["has_more"]), (20, &json!(true)));
    assert_eq!(listed(&sandbox, "?origin=bounce"), [entry("bounced@example.com", "bounce")]);
    assert_eq!(listed(&sandbox, "?origin=complaint"), [entry("complained@example.com", "complaint")]);
    assert_eq!(listed(&sandbox, "?origin=manual&limit=100").len(), 25);
    // An entry of another origin is a valid cursor.
    let newest = list["data"][0]["id"].as_str().unwrap();
    assert_eq!(
        listed(&sandbox, &format!("?origin=manual&limit=1&after={newest}")),
        [entry("user24@example.com", "manual")]
    );
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
        assert_eq!((&shown["origin"], &shown["source_id"]), (&json!(origin), &json!(first)));
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
fn only_the_recipients_that_bounced_are_suppressed() {
    let sandbox = Sandbox::new();
    let mut wanted = email();
    wanted["to"] = json!(["ada@example.com", "bounced@example.com"]);
    wanted["bcc"] = json!(["complained+x@example.com"]);
    sandbox.sent(&wanted);
    sandbox.advance(5);
    assert_eq!(
        listed(&sandbox, ""),
        [entry("complained+x@example.com", "complaint"), entry("bounced@example.com", "bounce")]
    );
    // Neither a delay nor the fates by name leave an entry.
    sandbox.sent(&email_with(
        "to",
        json!(["delayed@example.com", "suppressed@example.com", "opened@example.com"]),
    ));
    sandbox.advance(100);
    assert_eq!(listed(&sandbox, "").len(), 2);
}

#[test]
fn a_triggered_permanent_bounce_suppresses_the_to_recipients() {
    let sandbox = Sandbox::new();
    let mut wanted = email();
    wanted["to"] = json!(["Ada <ada@example.com>", "bob@example.com"]);
    wanted["cc"] = json!("carol@example.com");
    let id = sandbox.sent(&wanted);
    sandbox.advance(5);
    let trigger = |detail: Value| {
        let body = json!({ "type": "bounced", "detail": detail });
        assert_eq!(sandbox.post(&format!("/_/messages/{id}/events"), &body).status, 201);
    };
    trigger(json!({ "type": "Transient" }));
    assert_eq!(listed(&sandbox, ""), []);
    trigger(json!({}));
    assert_eq!(
        listed(&sandbox, ""),
        [entry("bob@example.com", "bounce"), entry("ada@example.com", "bounce")]
    );
}

#[test]
fn an_email_goes_to_the_recipients_that_remain() {
    let sandbox = Sandbox::new();
    add(&sandbox, "no@example.com");
    let mut wanted = email();
    wanted["to"] = json!(["Yes <yes@example.com>", "NO@example.com"]);
    wanted["cc"] = json!(["no@example.com"]);
    wanted["bcc"] = json!(["other@example.com", "no@example.com"]);
    let id = sandbox.sent(&wanted);
    sandbox.advance(5);
    let mail = sandbox.mail();
    assert_eq!(
        (mail.to, mail.cc, mail.bcc),
        (vec!["Yes <yes@example.com>".to_owned()], Vec::new(), vec!["other@example.com".to_owned()],)
    );
    let record = sandbox.record(&id);
    assert_eq!((&record["last_event"], &record["to"]), (&json!("delivered"), &wanted["to"]));
    assert_eq!(events(&sandbox, &id), ["accepted", "suppressed", "sent", "delivered"]);
    // Copies alone don't make an email.
    let mut copies = email_with("to", "no@example.com");
    copies["cc"] = json!("yes@example.com");
    let id = sandbox.sent(&copies);
    sandbox.advance(5);
    assert_eq!((sandbox.last_event(&id), sandbox.mails().len()), ("suppressed".to_owned(), 1));
}

#[test]
fn the_list_is_checked_when_an_email_is_sent() {
    let sandbox = Sandbox::new();
    let scheduled = |to: &str| {
        let mut email = email_with("to", to);
        email["scheduled_at"] = json!("2026-03-02T13:00:00Z");
        sandbox.sent(&email)
    };
    let (late, early) = (scheduled("late@example.com"), scheduled("early@example.com"));
    add(&sandbox, "late@example.com");
    add(&sandbox, "early@example.com");
    delete(&sandbox, "early@example.com");
    sandbox.advance(3_700);
    assert_eq!(
        (sandbox.last_event(&late), sandbox.last_event(&early)),
        ("suppressed".into(), "delivered".into())
    );
}

#[test]
fn batches_and_broadcasts_skip_listed_addresses() {
    let sandbox = Sandbox::new();
    add(&sandbox, "no@example.com");
    let batch = json!([email_with("to", "no@example.com"), email()]);
    let sent = sandbox.post("/emails/batch", &batch).json();
    sandbox.advance(5);
    let event = |n: usize| sandbox.last_event(sent["data"][n]["id"].as_str().unwrap());
    assert_eq!((event(0), event(1)), ("suppressed".to_owned(), "delivered".to_owned()));
    let segment = sandbox.post("/segments", &json!({ "name": "All" })).json()["id"].clone();
    for address in ["no@example.com", "yes@example.com"] {
        sandbox.post("/contacts", &json!({ "email": address, "segments": [{ "id": segment }] }));
    }
    let broadcast =
        json!({ "segment_id": segment, "from": "hi@acme.test", "subject": "s", "text": "x", "send": true });
    assert_eq!(sandbox.post("/broadcasts", &broadcast).status, 201);
    sandbox.advance(5);
    let recipients: Vec<_> = sandbox.mails().into_iter().flat_map(|mail| mail.to).collect();
    assert!(recipients.iter().any(|to| to.contains("yes@example.com")), "{recipients:?}");
    assert!(!recipients.iter().any(|to| to.contains("no@example.com")), "{recipients:?}");
}

#[test]
fn webhooks_report_every_change_of_the_list() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["suppression.added", "suppression.removed"]);
    let id = add(&sandbox, "ada@example.com");
    add(&sandbox, "ADA@example.com");
    delete(&sandbox, &id);
    let data = json!({ "id": id, "email": "ada@example.com", "origin": "manual", "source_id": null,
        "created_at": "2026-03-02T12:00:00.000Z" });
    let delivered_events: Vec<_> =
        delivered(&sandbox).iter().map(|event| (event["type"].clone(), event["data"].clone())).collect();
    assert_eq!(
        delivered_events,
        [(json!("suppression.added"), data.clone()), (json!("suppression.removed"), data)]
    );
    let source = sandbox.sent(&email_with("to", "bounced@example.com"));
    sandbox.post("/suppressions/batch/add", &json!({ "emails": ["b@x.test", "c@x.test", "b@x.test"] }));
    sandbox.advance(5);
    sandbox.post("/suppressions/batch/remove", &json!({ "emails": ["c@x.test", "d@x.test"] }));
    let delivered_events: Vec<_> = delivered(&sandbox)
        .iter()
        .map(|event| {
            format!("{} {} {}", event["type"], event["data"]["email"], event["data"]["source_id"])
                .replace('"', "")
        })
        .collect();
    assert_eq!(
        delivered_events,
        [
            "suppression.added b@x.test null".to_owned(),
            "suppression.added c@x.test null".to_owned(),
            format!("suppression.added bounced@example.com {source}"),
            "suppression.removed c@x.test null".to_owned(),
        ]
    );
}

#[test]
fn the_event_of_a_suppressed_email_says_why() {
    let sandbox = Sandbox::new();
    webhook(&sandbox, &["email.suppressed"]);
    sandbox.sent(&email_with("to", json!(["bounced@example.com", "complained@example.com"])));
    sandbox.advance(5);
    add(&sandbox, "manual@example.com");
    for name in ["bounced", "complained", "manual"] {
        sandbox.sent(&email_with("to", format!("{name}@example.com")));
    }
    let why: Vec<_> = delivered(&sandbox).iter().map(|event| event["data"]["suppressed"].clone()).collect();
    assert_eq!(why.len(), 3);
    assert!(why.iter().all(|why| why["type"] == "OnAccountSuppressionList"), "{why:?}");
    assert_eq!((&why[0]["reason"], why[0]["diagnosticCode"].is_array()), (&json!("previous_bounce"), true));
    assert_eq!((&why[1]["reason"], why[1].get("diagnosticCode")), (&json!("previous_complaint"), None));
    assert_eq!((why[2].get("reason"), why[2].get("diagnosticCode")), (None, None));
    let messages: std::collections::BTreeSet<_> =
        why.iter().map(|why| why["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 3);
}
