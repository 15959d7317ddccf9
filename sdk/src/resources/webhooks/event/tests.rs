use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event(kind: &str, data: &Value) -> WebhookPayload {
    let raw = json!({ "type": kind, "created_at": "2026-11-21T04:46:00.000Z", "data": data });
    let event = WebhookPayload::from_slice(&serde_json::to_vec(&raw).unwrap()).unwrap();
    assert_eq!((event.kind.as_str(), event.raw()), (kind, &raw));
    assert_eq!(serde_json::to_value(&event).unwrap(), raw, "serialized again, it is complete");
    assert_eq!(event.created_at.as_ref().unwrap().unix_seconds(), Some(1_795_236_360));
    event
}

/// The data of an event, which is of this variant.
macro_rules! data {
    ($variant:ident, $kind:expr, $data:expr) => {
        match event($kind, $data).data {
            EventData::$variant(data) => data,
            other => panic!("{other:?}"),
        }
    };
}

fn email(more: &Value) -> Value {
    let mut data = json!({
        "email_id": "56761188", "created_at": "2026-11-21T04:46:00.000Z", "from": "Acme <hi@acme.test>",
        "to": ["ada@example.com"], "subject": "Hello", "message_id": "<1@acme.test>", "broadcast_id": "b1",
        "template_id": "t1", "tags": { "category": "welcome" }, "headers": [],
    });
    data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    data
}

#[test]
fn every_known_event_type_has_typed_data() {
    let emails = [
        "email.sent",
        "email.scheduled",
        "email.delivered",
        "email.delivery_delayed",
        "email.complained",
        "email.opened",
    ];
    for kind in emails {
        let (EventData::EmailSent(data)
        | EventData::EmailScheduled(data)
        | EventData::EmailDelivered(data)
        | EventData::EmailDeliveryDelayed(data)
        | EventData::EmailComplained(data)
        | EventData::EmailOpened(data)) = event(kind, &email(&json!({}))).data
        else {
            panic!("{kind}");
        };
        assert_eq!((data.email_id.as_str(), data.tags["category"].as_str()), ("56761188", "welcome"));
        assert_eq!(serde_json::to_value(&data).unwrap(), email(&json!({})));
    }
    let contact =
        json!({ "id": "c1", "segment_ids": ["s1"], "email": "ada@example.com", "unsubscribed": false });
    let domain = json!({ "id": "d1", "name": "acme.test", "status": "verified", "region": "us-east-1", "records": [
        { "record": "Receiving MX", "name": "in", "type": "MX", "value": "mx.test", "ttl": "Auto", "priority": 10, "status": "verified" },
    ] });
    let suppression =
        json!({ "id": "s1", "email": "ada@example.com", "origin": "bounce", "source_id": null });
    let topic = json!({ "id": "t1", "name": "News", "description": null, "default_subscription": "opt_in", "deleted": true });
    for (kind, data) in [
        ("contact.created", &contact),
        ("contact.updated", &contact),
        ("contact.deleted", &contact),
        ("domain.created", &domain),
        ("domain.updated", &domain),
        ("domain.deleted", &domain),
        ("suppression.added", &suppression),
        ("suppression.removed", &suppression),
        ("topic.created", &topic),
        ("topic.updated", &topic),
        ("topic.deleted", &topic),
    ] {
        let event = event(kind, data);
        match &event.data {
            EventData::ContactCreated(it) | EventData::ContactUpdated(it) | EventData::ContactDeleted(it) => {
                assert_eq!((it.segment_ids.len(), it.unsubscribed), (1, Some(false)));
            }
            EventData::DomainCreated(it) | EventData::DomainUpdated(it) | EventData::DomainDeleted(it) => {
                assert_eq!(it.records[0].record, crate::domains::RecordPurpose::ReceivingMx);
            }
            EventData::SuppressionAdded(it) | EventData::SuppressionRemoved(it) => {
                assert_eq!(it.origin, Some(SuppressionOrigin::Bounce));
            }
            EventData::TopicCreated(it) | EventData::TopicUpdated(it) | EventData::TopicDeleted(it) => {
                assert_eq!(it.deleted, Some(true));
            }
            other => panic!("{kind}: {other:?}"),
        }
    }
    let topics = json!({ "email": "ada@example.com", "topics": [{ "id": "t1", "subscription": "opt_out" }] });
    let chosen = data!(ContactTopicsUpdated, "contact.topics.updated", &topics);
    assert_eq!(chosen.topics[0].subscription, crate::topics::Subscription::OptOut);
}

#[test]
fn data_of_single_event_types_is_read() {
    let bounce = json!({ "bounce": {
        "message": "gone", "type": "Permanent", "subType": "Suppressed", "diagnosticCode": ["smtp; 550 5.1.1"],
    } });
    let data = data!(EmailBounced, "email.bounced", &email(&bounce));
    let bounced = &data.bounce;
    assert_eq!(
        (bounced.kind.as_deref(), bounced.sub_kind.as_deref()),
        (Some("Permanent"), Some("Suppressed"))
    );
    assert_eq!(serde_json::to_value(&data).unwrap(), email(&bounce));

    let click = json!({ "click": {
        "ipAddress": "192.0.2.1", "link": "https://acme.test/", "timestamp": "2026-11-21T04:46:00.000Z", "userAgent": "x",
    } });
    let data = data!(EmailClicked, "email.clicked", &email(&click));
    assert_eq!(data.click.link.as_deref(), Some("https://acme.test/"));
    assert_eq!(serde_json::to_value(&data).unwrap(), email(&click));

    let failed = json!({ "failed": { "reason": "reached_daily_quota" } });
    let data = data!(EmailFailed, "email.failed", &email(&failed));
    assert_eq!(data.failed.reason.as_deref(), Some("reached_daily_quota"));

    let as_text = json!({ "bounce": { "diagnosticCode": "smtp; 550 5.1.1 user unknown" } });
    let data = data!(EmailBounced, "email.bounced", &email(&as_text));
    assert_eq!(data.bounce.diagnostic_code, ["smtp; 550 5.1.1 user unknown"]);

    let suppressed = json!({ "suppressed": {
        "message": "x", "type": "OnAccountSuppressionList", "reason": "previous_bounce", "diagnosticCode": ["smtp; 550 5.1.1"],
    } });
    let data = data!(EmailSuppressed, "email.suppressed", &email(&suppressed));
    assert_eq!(data.suppressed.kind.as_deref(), Some("OnAccountSuppressionList"));

    let received = json!({
        "email_id": "r1", "created_at": "2026-11-21T04:46:00.000Z", "from": "ada@example.com", "to": ["in@acme.test"],
        "cc": [], "bcc": null, "message_id": "<2@example.com>", "subject": "Re", "received_for": ["in@acme.test"],
        "attachments": [{ "id": "a1", "filename": null, "content_type": "image/png", "content_disposition": null, "content_id": null }],
    });
    let data = data!(EmailReceived, "email.received", &received);
    assert_eq!((data.received_for[0].as_str(), data.attachments[0].id.as_str()), ("in@acme.test", "a1"));
}

#[test]
fn both_known_forms_of_a_field_are_read() {
    for tags in
        [json!({ "a": "1", "b": "2" }), json!([{ "name": "a", "value": "1" }, { "name": "b", "value": 2 }])]
    {
        let data = data!(EmailSent, "email.sent", &email(&json!({ "tags": tags })));
        assert_eq!(
            data.tags.into_iter().collect::<Vec<_>>(),
            [("a", "1"), ("b", "2")].map(|(n, v)| (n.into(), v.into()))
        );
    }
    for headers in [json!({ "X-A": "1" }), json!([{ "name": "X-A", "value": "1" }])] {
        let data = data!(EmailSent, "email.sent", &email(&json!({ "headers": headers })));
        assert_eq!((data.headers[0].name.as_str(), data.headers[0].value.as_str()), ("X-A", "1"));
    }
    let sparse = json!({ "email_id": "e", "to": "ada@example.com", "tags": null, "headers": null, "created_at": null });
    let data = data!(EmailSent, "email.sent", &sparse);
    assert_eq!((data.to, data.tags.len(), data.headers.len()), (vec!["ada@example.com".to_owned()], 0, 0));
}

#[test]
fn unknown_types_and_shapes_are_kept_as_sent() {
    // EVT-10
    let data = json!({ "thread": { "id": 7 } });
    let other = data!(Other, "mailbox.email.received", &data);
    assert_eq!((other.value, other.problem), (data, None));

    let data = json!({ "email_id": {} });
    let other = data!(Other, "email.sent", &data);
    assert_eq!(other.value, data);
    assert_eq!(other.problem.unwrap(), "field `email_id` has an unexpected type: an object");

    let data = json!({ "email_id": 7, "to": 5, "tags": [], "bounce": "hard", "created_at": 0 });
    let bounced = data!(EmailBounced, "email.bounced", &data);
    assert_eq!(
        (bounced.email_id.as_str(), bounced.to, bounced.bounce.message),
        ("7", vec!["5".to_owned()], None)
    );

    let bare = WebhookPayload::from_slice(br#"{"type":"email.sent"}"#).unwrap();
    assert!(matches!(bare.data, EventData::Other(_)) && bare.created_at.is_none());
}

#[test]
fn a_body_that_is_not_an_event_is_rejected() {
    for (body, what) in [
        (&b""[..], "EOF"),
        (b"\xff", "expected value"),
        (b"[]", "isn't an object"),
        (b"{}", "no `type`"),
        (b"{\"type\":7}", "isn't a string"),
    ] {
        let error = WebhookPayload::from_slice(body).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let deep = "[".repeat(100_000);
    assert!(WebhookPayload::from_slice(deep.as_bytes()).is_err());
}

/// Arbitrary JSON, and JSON similar to events.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let key = prop_oneof![
            ".{0,4}",
            prop::sample::select(vec![
                "email_id", "to", "tags", "bounce", "id", "email", "records", "topics", "name"
            ])
            .prop_map(str::to_owned)
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        // EVT-10
        let _ = WebhookPayload::from_slice(&body);
    }

    #[test]
    fn arbitrary_data_is_never_lost(
        kind in prop_oneof![
            prop::sample::select(vec!["email.sent", "email.bounced", "email.received", "contact.created", "contact.topics.updated",
                "domain.updated", "suppression.added", "topic.deleted", "email.clicked"]).prop_map(str::to_owned),
            ".{0,12}",
        ],
        data in json(),
    ) {
        // EVT-10
        let raw = json!({ "type": kind, "data": data, "new": 1 });
        let event = WebhookPayload::from_value(raw.clone()).unwrap();
        prop_assert_eq!(event.raw(), &raw);
        if let EventData::Other(other) = event.data {
            prop_assert_eq!(other.value, data);
        }
    }
}

#[test]
fn events_of_inboxes_are_typed() {
    let data =
        json!({ "source": "agent", "inbox_id": "i1", "thread_id": "t1", "from": "inbox", "to": "archive" });
    let moved = data!(InboxThreadFolderUpdated, "inbox.thread.folder.updated", &data);
    assert_eq!((moved.from.as_deref(), moved.to.as_deref()), (Some("inbox"), Some("archive")));
    let data = json!({ "thread": { "id": "t1", "subject": "Hi" }, "added": [{ "id": "l1", "name": "Urgent", "color": "#AB12EF" }], "removed": null });
    let labeled = data!(InboxThreadLabelsUpdated, "inbox.thread.labels.updated", &data);
    assert_eq!((&labeled.added[0]["name"], labeled.removed.len()), (&json!("Urgent"), 0));
    assert_eq!(labeled.thread.unwrap()["subject"], "Hi");
    for kind in EventType::KNOWN.iter().filter(|kind| kind.starts_with("inbox.")) {
        let empty = event(kind, &json!({})).data;
        assert!(!matches!(empty, EventData::Other(_)), "{kind}: {empty:?}");
    }
}
