//! Broadcasts end to end, on the test's clock.

use http::Method;
use idempost_reference_server::CapturedMail;
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::restarts::Restartable;
use crate::support::{Answer, Sandbox, expect_fields_of, merged};

/// A sandbox with one segment.
struct Stage {
    sandbox: Sandbox,
    segment: String,
}

impl Stage {
    fn new() -> Self {
        Self::with_sandbox(Sandbox::new())
    }

    fn with_sandbox(sandbox: Sandbox) -> Self {
        let segment = sandbox.created("/segments", &json!({"name": "Readers"}));
        Self { sandbox, segment }
    }

    /// A strict service, and the path of its verified domain.
    fn strict() -> (Self, String) {
        let settings = idempost_reference_server::Settings { strict_domains: true, ..Default::default() };
        let stage = Self::with_sandbox(Sandbox::with(&settings));
        let domain = stage.sandbox.created("/domains", &json!({"name": "acme.test"}));
        stage.sandbox.act(format!("/domains/{domain}/verify")).expect_status(200);
        stage.sandbox.advance(2);
        (stage, format!("/domains/{domain}"))
    }

    /// Creates a contact in the segment; `fields` are merged into the minimal body.
    fn contact(&self, email: &str, fields: &Value) -> String {
        let id = self.sandbox.created("/contacts", &merged(json!({"email": email}), fields));
        self.sandbox.act(format!("/contacts/{id}/segments/{}", self.segment)).expect_status(200);
        id
    }

    /// A minimal broadcast with some fields replaced; `null` removes one.
    fn broadcast(&self, fields: &Value) -> Value {
        let minimal = json!({
            "segment_id": self.segment, "from": "Acme <news@acme.test>", "subject": "Your week", "text": "Hello",
        });
        merged(minimal, fields)
    }

    fn created(&self, fields: &Value) -> String {
        self.sandbox.created("/broadcasts", &self.broadcast(fields))
    }

    fn refused(&self, fields: &Value) -> Answer {
        let answer = self.sandbox.post("/broadcasts", &self.broadcast(fields)).expect_status(422);
        assert_eq!(self.list().len(), 0, "a rejected broadcast was stored");
        answer
    }

    fn list(&self) -> Vec<Value> {
        self.sandbox.items("/broadcasts")
    }

    fn record(&self, id: &str) -> Value {
        self.sandbox.get(format!("/broadcasts/{id}")).expect_status(200).json()
    }

    fn status(&self, id: &str) -> String {
        self.record(id)["status"].as_str().unwrap().to_owned()
    }

    fn send(&self, id: &str, body: &str) -> Answer {
        self.sandbox.ask(Method::POST, format!("/broadcasts/{id}/send")).send(body.to_owned())
    }

    fn cancel(&self, id: &str) -> Answer {
        self.sandbox.act(format!("/broadcasts/{id}/cancel"))
    }

    fn patch(&self, id: &str, body: &Value) -> Answer {
        self.sandbox.patch(format!("/broadcasts/{id}"), body)
    }

    fn delete(&self, id: &str) -> Answer {
        self.sandbox.delete(format!("/broadcasts/{id}"))
    }

    /// The recipients of the captured mails, sorted.
    fn recipients(&self) -> Vec<String> {
        let mut to: Vec<_> = self.sandbox.mails().iter().flat_map(|mail| mail.to.clone()).collect();
        to.sort();
        to
    }
}

#[track_caller]
fn forbidden(answer: &Answer, words: &str) {
    answer.rejected(403, "validation_error", words);
}

/// The path of a mail's `List-Unsubscribe` link.
fn link(mail: &CapturedMail) -> String {
    let message = MessageParser::default().parse(&mail.mime[..]).unwrap();
    let raw = message.header_raw("List-Unsubscribe").unwrap().replace(char::is_whitespace, "");
    let url = raw.trim_matches(['<', '>']);
    url.strip_prefix("http://sandbox.invalid").unwrap().to_owned()
}

#[test]
fn a_draft_has_every_field_and_sends_nothing() {
    // BCAST-01, BCAST-02, BCAST-05, BCAST-15, BCAST-16, BCAST-28, VER-02, BCAST-04, BCAST-03
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let answer = stage.sandbox.post("/broadcasts", &stage.broadcast(&json!({}))).expect_status(201);
    let id = answer.id();
    assert_eq!(answer.json(), json!({"object": "broadcast", "id": id}));
    let expected = json!({
        "id": id, "name": "Your week", "audience_id": stage.segment, "segment_id": stage.segment, "status": "draft",
        "created_at": "2026-03-02 12:00:00.000000+00", "scheduled_at": null, "sent_at": null, "topic_id": null,
    });
    assert_eq!(stage.list(), std::slice::from_ref(&expected));
    stage.sandbox.advance(86_400);
    assert!(stage.sandbox.mails().is_empty());

    assert_eq!(stage.record(&stage.created(&json!({"subject": ""})))["name"], "Untitled");

    let record = stage.record(&id);
    expect_fields_of(&expected, &record);
    let more = json!({"object": "broadcast", "from": "Acme <news@acme.test>", "subject": "Your week"});
    expect_fields_of(&more, &record);
    let html = stage.created(&json!({"html": "<p>Hello</p>"}));
    assert_eq!(stage.record(&html)["html"], "<p>Hello</p>");
    expect_fields_of(&json!({"text": "Hello", "html": null, "reply_to": null}), &record);
}

#[test]
fn an_immediate_broadcast_sends_one_mail_per_contact() {
    // BCAST-17, BCAST-26, GEN-03, BCAST-03
    let stage = Stage::new();
    for email in ["ada@example.com", "bob@example.com", "eve@example.com"] {
        stage.contact(email, &json!({}));
    }
    stage.sandbox.created("/contacts", &json!({"email": "other@example.com"}));
    let id = stage.created(&json!({"send": true}));
    let record = stage.record(&id);
    expect_fields_of(&json!({ "status": "sent", "scheduled_at": null }), &record);
    assert_eq!(record["sent_at"], "2026-03-02 12:00:00.000000+00");
    assert_eq!(stage.recipients(), ["ada@example.com", "bob@example.com", "eve@example.com"]);
    let mails = stage.sandbox.mails();
    assert_eq!(mails.len(), 3);
    assert!(mails.iter().all(|mail| mail.to.len() == 1 && mail.cc.is_empty() && mail.bcc.is_empty()));
    let emails = stage.sandbox.get("/emails").json();
    assert_eq!(emails["data"].as_array().unwrap().len(), 3, "they are listed with the sent emails");
    let now = stage.created(&json!({"send": true, "scheduled_at": "now"}));
    expect_fields_of(&json!({ "status": "sent", "scheduled_at": null }), &stage.record(&now));
}

#[test]
fn a_scheduled_broadcast_is_sent_when_due() {
    // BCAST-18, BCAST-19
    for (when, written) in [
        ("2026-03-02T13:00:00Z", "2026-03-02 13:00:00.000000+00"),
        ("in 1 hour", "2026-03-02 13:00:00.000000+00"),
    ] {
        let stage = Stage::new();
        stage.contact("ada@example.com", &json!({}));
        let id = stage.created(&json!({"send": true, "scheduled_at": when}));
        let record = stage.record(&id);
        expect_fields_of(&json!({"status": "scheduled", "scheduled_at": written}), &record);
        stage.sandbox.advance(3_599);
        assert!(stage.sandbox.mails().is_empty(), "{when}");
        stage.sandbox.advance(1);
        assert_eq!(stage.sandbox.mail().captured_at.to_string(), "2026-03-02T13:00:00Z");
        let record = stage.record(&id);
        expect_fields_of(&json!({ "status": "sent", "sent_at": written }), &record);
        stage.sandbox.advance(86_400);
        assert_eq!(stage.sandbox.mails().len(), 1);
    }
}

#[test]
fn segment_membership_is_evaluated_at_send_time() {
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let bob = stage.contact("bob@example.com", &json!({}));
    let eve = stage.contact("eve@example.com", &json!({}));
    stage.created(&json!({"send": true, "scheduled_at": "in 1 hour"}));
    stage.contact("late@example.com", &json!({}));
    stage.sandbox.delete(format!("/contacts/{bob}")).expect_status(200);
    stage.sandbox.patch(format!("/contacts/{eve}"), &json!({"unsubscribed": true})).expect_status(200);
    stage.sandbox.advance(3_600);
    assert_eq!(stage.recipients(), ["ada@example.com", "late@example.com"]);
}

/// Deletes the segment or the topic of a broadcast.
fn delete_audience(stage: &Stage, topic: Option<&String>) {
    let path =
        topic.map_or_else(|| format!("/segments/{}", stage.segment), |topic| format!("/topics/{topic}"));
    stage.sandbox.delete(path).expect_status(200);
}

#[test]
fn a_draft_whose_segment_or_topic_was_deleted_is_not_sent() {
    for field in ["segment_id", "topic_id"] {
        let stage = Stage::new();
        stage.contact("ada@example.com", &json!({}));
        let topic =
            stage.sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
        let id = stage.created(&json!({"topic_id": topic}));
        delete_audience(&stage, (field == "topic_id").then_some(&topic));
        stage
            .sandbox
            .act(format!("/broadcasts/{id}/send"))
            .invalid(&format!("`{field}` must be the id of a"));
        assert_eq!(stage.record(&id)["status"], "draft");
        let other = stage.sandbox.created("/segments", &json!({"name": "Others"}));
        let change = json!({"segment_id": other, "topic_id": null});
        stage.sandbox.patch(format!("/broadcasts/{id}"), &change).expect_status(200);
        stage.sandbox.act(format!("/broadcasts/{id}/send")).expect_status(200);
    }
}

#[test]
fn a_scheduled_broadcast_whose_segment_or_topic_was_deleted_is_a_draft_again_when_it_is_due() {
    for field in ["segment_id", "topic_id"] {
        let stage = Stage::new();
        stage.contact("ada@example.com", &json!({}));
        let topic =
            stage.sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
        let id = stage.created(&json!({"topic_id": topic, "send": true, "scheduled_at": "in 1 hour"}));
        delete_audience(&stage, (field == "topic_id").then_some(&topic));
        assert_eq!(stage.record(&id)["status"], "scheduled");
        stage.sandbox.advance(3_600);
        let record = stage.record(&id);
        assert_eq!(
            [&record["status"], &record["scheduled_at"], &record["sent_at"]],
            [&json!("draft"), &json!(null), &json!(null)],
            "{field}"
        );
    }
}

#[test]
fn contacts_opted_out_of_the_topic_are_skipped() {
    // BCAST-14
    let stage = Stage::new();
    let topic = |default: &str| {
        stage.sandbox.created("/topics", &json!({"name": "News", "default_subscription": default}))
    };
    let (by_default, on_demand) = (topic("opt_in"), topic("opt_out"));
    let wants =
        |topic: &str, subscription: &str| json!({"topics": [{"id": topic, "subscription": subscription}]});
    stage.contact("silent@example.com", &json!({}));
    stage.contact("out@example.com", &wants(&by_default, "opt_out"));
    stage.contact("in@example.com", &wants(&on_demand, "opt_in"));
    stage.contact("gone@example.com", &json!({"unsubscribed": true}));

    let id = stage.created(&json!({"send": true, "topic_id": by_default}));
    assert_eq!(stage.record(&id)["topic_id"], json!(by_default));
    assert_eq!(stage.recipients(), ["in@example.com", "silent@example.com"]);
    stage.created(&json!({"send": true, "topic_id": on_demand}));
    assert_eq!(stage.recipients(), ["in@example.com", "in@example.com", "silent@example.com"]);
}

#[test]
fn placeholders_are_rendered_per_contact() {
    // BCAST-10, TPL-16, TPL-17, CONT-03
    let stage = Stage::new();
    let property = json!({"key": "plan", "type": "string", "fallback_value": "free"});
    stage.sandbox.created("/contact-properties", &property);
    stage.sandbox.created("/contact-properties", &json!({"key": "city", "type": "string"}));
    let properties = json!({"city": "London", "plan": "gold"});
    let ada = json!({"first_name": "Ada", "last_name": "Lovelace", "properties": properties});
    stage.contact("ada@example.com", &ada);
    stage.contact("bob@example.com", &json!({}));
    stage.created(&json!({
        "send": true,
        "subject": "Hello {{{FIRST_NAME}}}{{{LAST_NAME}}}, {{{contact.first_name|you}}}",
        "html": "<p>{{{contact.city|your town}}}: {{{contact.city}}}, {{{contact.plan}}}, {{{contact.plan|none}}}, \
            {{{EMAIL}}}, {{{OTHER}}}</p>",
        "text": null,
    }));
    let mails = stage.sandbox.mails();
    let of = |to: &str| mails.iter().find(|mail| mail.to == [to]).unwrap();
    let (ada, bob) = (of("ada@example.com"), of("bob@example.com"));
    assert_eq!(ada.subject, "Hello AdaLovelace, Ada");
    assert_eq!(bob.subject, "Hello , you");
    assert_eq!(ada.html.as_deref(), Some("<p>London: London, gold, gold, ada@example.com, {{{OTHER}}}</p>"));
    assert_eq!(bob.html.as_deref(), Some("<p>your town: , free, none, bob@example.com, {{{OTHER}}}</p>"));
    let text = bob.text.as_deref().unwrap();
    assert!(text.contains("your town: , free, none, bob@example.com"), "it is of the rendered HTML: {text}");
}

#[test]
fn the_text_body_is_given_derived_or_omitted() {
    // BCAST-11
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let html = "<p>Hello you</p>";
    for (text, expected, shown) in [
        (json!("own"), Some("own"), json!("own")),
        (Value::Null, Some("Hello you"), Value::Null),
        (json!(""), None, json!("")),
    ] {
        let id = stage.created(&json!({"html": html, "text": text, "send": true}));
        assert_eq!(stage.record(&id)["text"], shown);
        let mail = stage.sandbox.mails().remove(0);
        assert_eq!(mail.text.as_deref().map(str::trim), expected);
        assert_eq!(mail.html.as_deref(), Some(html));
    }
}

#[test]
fn the_name_is_internal_and_the_preview_text_is_hidden_in_the_html() {
    // BCAST-13, BCAST-09
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({"first_name": "Ada"}));
    for reply_to in [json!("help@acme.test"), json!(["help@acme.test"])] {
        stage.created(&json!({
            "send": true, "name": "Secret plan 47", "reply_to": reply_to, "text": null,
            "preview_text": "For {{{FIRST_NAME}}} & co", "html": "<html><body class=x><p>Hi</p></body></html>",
        }));
        let mail = stage.sandbox.mails().remove(0);
        let source = String::from_utf8_lossy(&mail.mime).into_owned();
        assert!(!source.contains("Secret plan"), "{source}");
        assert!(source.contains("Reply-To: help@acme.test"), "{source}");
        let html = mail.html.as_deref().unwrap();
        assert!(html.starts_with("<html><body class=x><div style=\"display:none;"), "{html}");
        assert!(html.contains(">For Ada &amp; co</div><p>Hi</p>"), "{html}");
        assert_eq!(mail.text.as_deref().map(str::trim), Some("Hi"));
    }
}

#[test]
fn simulated_outcomes_apply_to_broadcast_recipients() {
    let stage = Stage::new();
    stage.contact("bounced@example.com", &json!({}));
    stage.contact("failed@example.com", &json!({}));
    stage.created(&json!({"send": true}));
    stage.sandbox.advance(1);
    assert_eq!(stage.recipients(), ["bounced@example.com"]);
    let mut events = stage.sandbox.column("/emails", "last_event");
    events.sort_unstable();
    assert_eq!(events, ["bounced", "failed"]);
}

#[test]
fn missing_and_invalid_fields_are_named() {
    // BCAST-06, BCAST-07, BCAST-08, BCAST-20
    let stage = Stage::new();
    for field in ["segment_id", "from", "subject", "text"] {
        stage.refused(&json!({ field: null, "send": true })).rejected(422, "missing_required_field", field);
    }
    for (fields, words) in [
        (json!({"segment_id": "nobody"}), "`segment_id` must be the id of a segment"),
        (json!({"segment_id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}), "there is no segment"),
        (json!({"audience_id": stage.segment}), "`audience_id` is the former name"),
        (json!({"from": "nobody"}), "`from` is neither"),
        (json!({"subject": "a\nb"}), "`subject` must not contain control characters"),
        (json!({"reply_to": ["a@x.test", "b"]}), "`reply_to[1]`"),
        (json!({"preview_text": "a\nb"}), "`preview_text` must not contain control characters"),
        (json!({"topic_id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}), "there is no topic"),
        (json!({"send": "yes"}), "`send` must be a boolean; found a string"),
        (json!({"scheduled_at": "in 1 hour"}), "`scheduled_at` needs `send`"),
        (json!({"scheduled_at": "in 1 hour", "send": false}), "`scheduled_at` needs `send`"),
        (json!({"scheduled_at": "whenever", "send": true}), "`scheduled_at` must be an ISO 8601"),
        (json!({"scheduled_at": "2026-03-02T11:00:00Z", "send": true}), "must not be in the past"),
        (json!({"scheduled_at": "2026-05-02T11:00:00Z", "send": true}), "must be at most 30 days ahead"),
        (json!({"react": {}}), "`react` exists only in client libraries"),
    ] {
        stage.refused(&fields).invalid(words);
    }
    let answer = stage.sandbox.post("/broadcasts", &stage.broadcast(&json!({"segmentId": 1})));
    assert_eq!(answer.header("x-sandbox-ignored-fields"), Some("/segmentId"));
}

#[test]
fn audience_id_is_an_alias_for_segment_id() {
    // VER-03
    let stage = Stage::new();
    let id = stage.created(&json!({"segment_id": null, "audience_id": stage.segment}));
    assert_eq!(stage.record(&id)["segment_id"], json!(stage.segment));
}

#[test]
fn a_draft_is_sent_once_immediately_or_scheduled() {
    // BCAST-22, BCAST-23, BCAST-27
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    for body in ["", "{}", r#"{"scheduled_at": null}"#] {
        let id = stage.created(&json!({}));
        let answer = stage.send(&id, body);
        assert_eq!(answer.expect_status(200).json(), json!({"id": id}), "{body}");
        assert_eq!(stage.status(&id), "sent");
        forbidden(&stage.send(&id, body), "Only a draft can be sent; this one is sent.");
    }
    assert_eq!(stage.sandbox.mails().len(), 3);

    let id = stage.created(&json!({}));
    assert_eq!(stage.send(&id, r#"{"scheduled_at": "in 1 hour"}"#).status, 200);
    assert_eq!(stage.status(&id), "scheduled");
    forbidden(&stage.send(&id, ""), "this one is scheduled");
    let wrong = stage.created(&json!({}));
    for (body, status) in
        [(r#"{"scheduled_at": "whenever"}"#, 422), (r#"{"scheduled_at": 5}"#, 422), ("[]", 422), ("{", 400)]
    {
        assert_eq!(stage.send(&wrong, body).status, status, "{body}");
        assert_eq!(stage.status(&wrong), "draft", "{body}");
    }
    stage.sandbox.advance(3_600);
    assert_eq!(stage.status(&id), "sent");
    assert_eq!(stage.sandbox.mails().len(), 4);
}

#[test]
fn a_sent_broadcast_is_immutable() {
    let stage = Stage::new();
    let id = stage.created(&json!({"send": true}));
    forbidden(&stage.patch(&id, &json!({"subject": "New"})), "this one is sent");
    forbidden(&stage.delete(&id), "this one is sent");
    forbidden(&stage.cancel(&id), "this one is sent");
    forbidden(&stage.cancel(&stage.created(&json!({}))), "this one is draft");
    assert_eq!(stage.record(&id)["subject"], "Your week");
}

#[test]
fn a_canceled_broadcast_becomes_a_draft_again() {
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let id = stage.created(&json!({"send": true, "scheduled_at": "in 1 hour"}));
    assert_eq!(stage.cancel(&id).json(), json!({"object": "broadcast", "id": id}));
    let record = stage.record(&id);
    expect_fields_of(&json!({ "status": "draft", "scheduled_at": null }), &record);
    stage.sandbox.advance(1_800);
    assert_eq!(stage.send(&id, r#"{"scheduled_at": "in 1 hour"}"#).status, 200);
    stage.sandbox.advance(1_800);
    assert!(stage.sandbox.mails().is_empty(), "the first schedule no longer applies");
    stage.sandbox.advance(1_800);
    assert_eq!(stage.sandbox.mails().len(), 1);
}

#[test]
fn a_deleted_scheduled_broadcast_sends_nothing() {
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let id = stage.created(&json!({"send": true, "scheduled_at": "in 1 hour"}));
    assert_eq!(stage.delete(&id).json(), json!({"object": "broadcast", "id": id, "deleted": true}));
    stage.sandbox.advance(3_600);
    assert!(stage.sandbox.mails().is_empty());
    stage.sandbox.get(format!("/broadcasts/{id}")).rejected(404, "not_found", "Broadcast not found.");
    assert_eq!(stage.delete(&stage.created(&json!({}))).status, 200);
}

#[test]
fn an_update_to_a_scheduled_broadcast_is_sent() {
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let id = stage.created(&json!({
        "send": true, "scheduled_at": "in 1 hour", "html": "<p>x</p>", "preview_text": "p", "reply_to": "a@x.test",
    }));
    let changes = json!({
        "subject": "New", "html": null, "preview_text": null, "reply_to": null, "name": "Week", "from": "Acme, Inc <b@acme.test>",
    });
    assert_eq!(stage.patch(&id, &changes).json(), json!({"object": "broadcast", "id": id}));
    let record = stage.record(&id);
    assert_eq!(record["status"], "scheduled");
    expect_fields_of(&changes, &record);
    for (patch, words) in [
        (json!({"text": null}), "Missing `html` or `text` field"),
        (json!({"from": null}), "`from` can't be taken away"),
        (json!({"segment_id": "x"}), "there is no segment"),
        (json!({"subject": 5}), "`subject` must be a string"),
    ] {
        stage.patch(&id, &patch).invalid(words);
    }
    stage.sandbox.advance(3_600);
    assert_eq!(stage.sandbox.mail().subject, "New");
}

#[test]
fn a_duplicate_is_a_draft_with_a_new_name() {
    let stage = Stage::new();
    let id = stage.created(&json!({"send": true, "name": "n".repeat(70), "preview_text": "p"}));
    let duplicate = |id: &str| {
        let copy = stage.sandbox.act(format!("/broadcasts/{id}/duplicate")).expect_status(200);
        stage.record(&copy.id())
    };
    let copy = duplicate(&id);
    assert_ne!(copy["id"], json!(id));
    let expected = json!({"status": "draft", "sent_at": null, "name": "n".repeat(70), "preview_text": "p"});
    expect_fields_of(&expected, &copy);
    assert_eq!(duplicate(&stage.created(&json!({"name": "Week"})))["name"], "Week (copy)");
}

#[test]
fn a_large_broadcast_is_sent_in_batches_and_can_be_canceled() {
    let stage = Stage::new();
    for n in 0..1_001 {
        stage.contact(&format!("u{n}@example.com"), &json!({}));
    }
    let first = stage.created(&json!({"send": true}));
    let record = stage.record(&first);
    expect_fields_of(&json!({ "status": "queued", "sent_at": null }), &record);
    assert_eq!(stage.sandbox.mails().len(), 1_000);
    forbidden(&stage.send(&first, ""), "this one is queued");
    forbidden(&stage.patch(&first, &json!({"subject": "New"})), "this one is queued");
    forbidden(&stage.delete(&first), "this one is queued");
    let second = stage.created(&json!({"send": true}));
    assert_eq!(stage.cancel(&second).status, 200);
    assert_eq!(stage.status(&second), "canceled");
    forbidden(&stage.cancel(&second), "this one is canceled");
    stage.sandbox.advance(1);
    assert_eq!((stage.status(&first), stage.status(&second)), ("sent".into(), "canceled".into()));
    assert_eq!(stage.sandbox.mails().len(), 2_001);
}

#[test]
fn deleting_its_topic_cancels_a_broadcast_that_is_being_sent_and_deleting_its_segment_does_not() {
    let stage = Stage::new();
    for n in 0..1_001 {
        stage.contact(&format!("u{n}@example.com"), &json!({}));
    }
    let topic = stage.sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
    let of_topic = stage.created(&json!({"send": true, "topic_id": topic}));
    let of_segment = stage.created(&json!({"send": true}));
    stage.sandbox.delete(format!("/topics/{topic}")).expect_status(200);
    stage.sandbox.delete(format!("/segments/{}", stage.segment)).expect_status(200);
    stage.sandbox.advance(1);
    expect_fields_of(&json!({"status": "canceled", "sent_at": null}), &stage.record(&of_topic));
    assert_eq!(stage.status(&of_segment), "sent");
    assert_eq!(stage.sandbox.mails().len(), 1_000 + 1_001);
}

#[test]
fn deleting_a_required_domain_cancels_a_broadcast_that_is_being_sent() {
    let (stage, domain) = Stage::strict();
    for n in 0..1_001 {
        stage.contact(&format!("u{n}@example.com"), &json!({}));
    }
    let id = stage.created(&json!({"send": true}));
    stage.sandbox.delete(domain).expect_status(200);
    stage.sandbox.advance(1);
    expect_fields_of(&json!({"status": "canceled", "sent_at": null}), &stage.record(&id));
    assert_eq!(stage.sandbox.mails().len(), 1_000);
}

#[test]
fn broadcasts_that_were_canceled_and_domains_that_were_deleted_leave_no_jobs_on_a_stopped_clock() {
    let stage = Stage::new();
    for n in 0..1_001 {
        stage.contact(&format!("u{n}@example.com"), &json!({"unsubscribed": true}));
    }
    let later = stage.created(&json!({}));
    for n in 0..50 {
        assert_eq!(stage.send(&later, r#"{"scheduled_at": "in 29 days"}"#).status, 200);
        assert_eq!(stage.cancel(&later).status, 200);
        let now = stage.created(&json!({"send": true}));
        assert_eq!(stage.status(&now), "queued");
        assert_eq!(stage.cancel(&now).status, 200);
        let domain = stage.sandbox.created("/domains", &json!({"name": format!("{n}.test")}));
        stage.sandbox.act(format!("/domains/{domain}/verify")).expect_status(200);
        stage.sandbox.delete(format!("/domains/{domain}")).expect_status(200);
    }
    let mut jobs = 0;
    stage.sandbox.service.state().scheduler.changes(|_, job| jobs += usize::from(job.is_some()));
    assert!(jobs < 10, "{jobs}");
}

#[test]
fn a_sending_only_key_can_only_send_drafts() {
    // BCAST-24, SCOPE-05, SCOPE-08
    let stage = Stage::new();
    let id = stage.created(&json!({}));
    let ask = |method: Method, path: &str| stage.sandbox.ask(method, path).key("sb_test_sending");
    let answer = ask(Method::POST, "/broadcasts").json(&stage.broadcast(&json!({"send": true})));
    answer.rejected(401, "restricted_api_key", "");
    assert_eq!(ask(Method::POST, &format!("/broadcasts/{id}/send")).send("").status, 200);
    assert_eq!(stage.status(&id), "sent");
}

#[test]
fn a_draft_needs_no_body_until_it_is_sent() {
    // BCAST-29
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    for text in [Value::Null, json!("")] {
        stage.refused(&json!({ "text": text, "send": true })).invalid("Missing");
    }
    for text in [Value::Null, json!("")] {
        let id = stage.created(&json!({ "text": text }));
        for body in [json!({}), json!({"scheduled_at": "in 1 hour"})] {
            let answer = stage.sandbox.post(&format!("/broadcasts/{id}/send"), &body);
            answer.rejected(422, "missing_required_field", "`html` or `text`");
        }
        assert_eq!(stage.record(&id)["status"], "draft");
        stage.sandbox.act(format!("/broadcasts/{id}/duplicate")).expect_status(200);
        assert_eq!(stage.patch(&id, &json!({"html": "<p>x</p>"})).status, 200);
        stage.sandbox.post(&format!("/broadcasts/{id}/send"), &json!({})).expect_status(200);
    }
    assert_eq!(stage.sandbox.mails().len(), 2);
    let id = stage.created(&json!({}));
    assert_eq!(stage.patch(&id, &json!({"text": null})).status, 200, "a draft may lose its body");
}

#[test]
fn a_strict_service_requires_a_verified_sender() {
    let settings = idempost_reference_server::Settings { strict_domains: true, ..Default::default() };
    let stage = Stage::with_sandbox(Sandbox::with(&settings));
    let answer = stage.sandbox.post("/broadcasts", &stage.broadcast(&json!({})));
    forbidden(&answer, "acme.test is not verified");
}

#[test]
fn a_scheduled_broadcast_whose_domain_was_deleted_is_a_draft_again_when_it_is_due() {
    let (stage, domain) = Stage::strict();
    stage.contact("ada@example.com", &json!({}));
    let id = stage.created(&json!({"send": true, "scheduled_at": "in 1 hour"}));
    stage.sandbox.delete(domain).expect_status(200);
    stage.sandbox.advance(3_600);
    assert_eq!(stage.status(&id), "draft");
    assert!(stage.sandbox.items("/emails").is_empty());
}

#[test]
fn the_unsubscribe_link_asks_for_confirmation_and_unsubscribes() {
    // TPL-18
    let stage = Stage::new();
    let contact = stage.contact("ada&b@example.com", &json!({}));
    stage.created(&json!({"send": true, "html": "<a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">Leave</a>"}));
    let mail = stage.sandbox.mail();
    let path = link(&mail);
    assert_eq!(mail.html.as_deref(), Some(&*format!("<a href=\"http://sandbox.invalid{path}\">Leave</a>")));
    assert!(!String::from_utf8_lossy(&mail.mime).contains("sb_test"), "the mail must not contain the key");
    let message = MessageParser::default().parse(&mail.mime[..]).unwrap();
    assert_eq!(message.header_raw("List-Unsubscribe-Post").unwrap().trim(), "List-Unsubscribe=One-Click");

    let ask = |method| stage.sandbox.ask(method, path.as_str()).no_key();
    let unsubscribed =
        || stage.sandbox.get(format!("/contacts/{contact}")).json()["unsubscribed"].as_bool().unwrap();
    let page = ask(Method::GET).send("").expect_status(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"), "{policy}");
    let text = page.text();
    assert!(text.contains("<form method=post>") && !text.contains("<script"), "{text}");
    assert!(!unsubscribed(), "a GET changes nothing");

    for _ in 0..2 {
        let done = ask(Method::POST).send("List-Unsubscribe=One-Click").expect_status(200);
        assert!(done.text().contains("<h1>Unsubscribed</h1>"), "{}", done.text());
        assert!(unsubscribed());
    }
    stage.created(&json!({"send": true}));
    assert_eq!(stage.sandbox.mails().len(), 1, "the next broadcast skips the contact");
    assert_eq!(ask(Method::PUT).send("").status, 405);
}

#[test]
fn the_public_service_s_name_of_the_unsubscribe_link_is_filled_in_too() {
    let stage = Stage::new();
    stage.contact("ada@example.com", &json!({}));
    let html = "<p><a href=\"{{{RESEND_UNSUBSCRIBE_URL}}}\">a</a> <a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">b</a></p>";
    stage.created(&json!({"send": true, "html": html, "text": null}));
    let mail = stage.sandbox.mail();
    let link = format!("http://sandbox.invalid{}", link(&mail));
    let expected = format!("<p><a href=\"{link}\">a</a> <a href=\"{link}\">b</a></p>");
    assert_eq!(mail.html.as_deref(), Some(&*expected));
    assert_eq!(mail.text.as_deref().unwrap().matches(&link).count(), 2);

    // In the template of an email, too.
    let template = json!({"name": "T", "from": "hi@acme.test", "subject": "s", "html": "<p>{{{RESEND_UNSUBSCRIBE_URL}}}</p>"});
    let template = stage.sandbox.published(&template);
    stage.sandbox.sent(&json!({"to": "ada@example.com", "template": {"id": template}}));
    let html = stage.sandbox.mails()[0].html.as_deref().unwrap().to_owned();
    assert!(html.starts_with("<p>http://sandbox.invalid/_/unsubscribe/"), "{html}");
}

#[test]
fn the_unsubscribe_link_of_a_topic_broadcast_affects_only_the_topic() {
    let stage = Stage::new();
    let topic =
        stage.sandbox.created("/topics", &json!({"name": "News <b>", "default_subscription": "opt_in"}));
    let contact = stage.contact("ada@example.com", &json!({}));
    stage.created(&json!({"send": true, "topic_id": topic}));
    let path = link(&stage.sandbox.mail());
    let page = stage.sandbox.visit(&path);
    assert!(page.text().contains("News &lt;b&gt;"), "{}", page.text());
    assert_eq!(stage.sandbox.ask(Method::POST, path.as_str()).no_key().send("").status, 200);
    let record = stage.sandbox.get(format!("/contacts/{contact}")).json();
    assert_eq!(record["unsubscribed"], false);
    let topics = stage.sandbox.get(format!("/contacts/{contact}/topics")).json();
    assert_eq!(topics["data"][0]["subscription"], "opt_out");
    stage.created(&json!({"send": true, "topic_id": topic}));
    assert_eq!(stage.sandbox.mails().len(), 1);
    stage.created(&json!({"send": true}));
    assert_eq!(stage.sandbox.mails().len(), 2, "other broadcasts are still delivered");
}

#[test]
fn the_unsubscribe_link_of_a_deleted_topic_changes_no_contact() {
    let stage = Stage::new();
    let topic = stage.sandbox.created("/topics", &json!({"name": "News", "default_subscription": "opt_in"}));
    stage.contact("ada@example.com", &json!({}));
    stage.created(&json!({"send": true, "topic_id": topic}));
    let path = link(&stage.sandbox.mail());
    stage.sandbox.delete(format!("/topics/{topic}")).expect_status(200);
    let events = json!({"endpoint": "https://hooks.example.com/", "events": ["contact.topics.updated"]});
    let webhook = stage.sandbox.created("/webhooks", &events);
    assert_eq!(stage.sandbox.ask(Method::POST, path.as_str()).no_key().send("").status, 200);
    assert!(stage.sandbox.items(format!("/webhooks/{webhook}/events")).is_empty());
}

#[test]
fn the_unsubscribe_link_of_a_deleted_contact_unsubscribes_its_address() {
    let stage = Stage::new();
    let contact = stage.contact("ada@example.com", &json!({}));
    stage.created(&json!({"send": true}));
    let path = link(&stage.sandbox.mail());
    stage.sandbox.delete(format!("/contacts/{contact}")).expect_status(200);
    // The address was imported again, for example.
    stage.contact("ada@example.com", &json!({}));
    let page = stage.sandbox.visit(&path).expect_status(200);
    assert!(page.text().contains("<b>ada@example.com</b>"), "{}", page.text());
    let one_click =
        || stage.sandbox.ask(Method::POST, path.as_str()).no_key().send("List-Unsubscribe=One-Click");
    one_click().expect_status(200);
    stage.created(&json!({"send": true}));
    assert_eq!(stage.sandbox.mails().len(), 1, "the next broadcast skips the address");
    stage.sandbox.delete("/contacts/ada@example.com").expect_status(200);
    one_click().expect_status(200);
    assert_eq!(stage.sandbox.get("/contacts/ada@example.com").json()["unsubscribed"], true);
}

#[test]
fn a_tampered_unsubscribe_link_is_rejected() {
    let stage = Stage::new();
    let contact = stage.contact("ada@example.com", &json!({}));
    stage.created(&json!({"send": true}));
    let path = link(&stage.sandbox.mail());
    let word = path.rsplit_once('/').unwrap().1;
    let changed = (0..word.len()).map(|at| {
        let mut changed = word.to_owned();
        changed.replace_range(at..=at, if &word[at..=at] == "A" { "B" } else { "A" });
        changed
    });
    let malformed = [&word[..word.len() - 4], "x", "%2e%2e", &"A".repeat(107)].map(str::to_owned);
    for wrong in changed.chain(malformed) {
        for method in [Method::GET, Method::POST] {
            let answer = stage.sandbox.ask(method, format!("/_/unsubscribe/{wrong}")).no_key().send("");
            assert_eq!(answer.status, 403, "{wrong}");
        }
    }
    let foreign = Stage::new().sandbox.ask(Method::POST, path.as_str()).no_key().send("");
    assert_eq!(foreign.status, 403, "another service's link");
    assert_eq!(stage.sandbox.get(format!("/contacts/{contact}")).json()["unsubscribed"], false);

    stage.sandbox.act("/_/reset");
    assert_eq!(stage.sandbox.visit(&path).status, 403);
}

/// A newsletter of about `bytes` bytes of HTML.
fn newsletter(bytes: usize) -> String {
    let row = "<tr><td style=\"padding:4px\"><a href=\"https://acme.test/a\">Read more</a></td>\
               <td><p>A paragraph of some words that is laid out over several lines of text.</p></td></tr>";
    format!("<html><body><table>{}</table></body></html>", row.repeat(bytes / row.len()))
}

#[test]
fn broadcast_text_is_derived_lazily() {
    let stage = Stage::with_sandbox(Sandbox::unread());
    for i in 0..200 {
        stage.contact(&format!("c{i}@example.com"), &json!({"first_name": format!("Name{i}")}));
    }
    let html = format!("<p>Hello {{{{{{FIRST_NAME}}}}}}</p>{}", newsletter(55_000));
    let id = stage.created(&json!({"text": null, "html": html}));
    let sending = cpu_time(|| {
        assert_eq!(stage.send(&id, "").status, 200);
        assert_eq!(stage.status(&id), "sent");
    });

    let mails = stage.sandbox.mails();
    let reading = cpu_time(|| {
        for (i, mail) in mails.iter().take(10).enumerate() {
            let text = mail.text.as_deref().unwrap();
            assert!(text.starts_with(&format!("Hello Name{}\n", 199 - i)), "{}", &text[..40]);
        }
    });
    assert!(
        sending < reading,
        "sending 200 mails took {sending:?}, deriving the text of 10 took {reading:?}"
    );
}

#[test]
fn the_given_text_of_a_broadcast_s_email_survives_a_restart() {
    let mut sandbox = Restartable::new();
    let segment = sandbox.created("/segments", &json!({"name": "Readers"}));
    sandbox.created("/contacts", &json!({"email": "ada@example.com", "segments": [{"id": segment}]}));
    sandbox.created(
        "/broadcasts",
        &json!({
            "segment_id": segment, "from": "news@acme.test", "subject": "x", "html": "<p>HTML</p>", "text": "To {{{EMAIL}}}",
            "send": true,
        }),
    );
    sandbox.restart();
    let email = sandbox.record(&sandbox.ids("/emails")[0]);
    expect_fields_of(&json!({"html": "<p>HTML</p>", "text": "To ada@example.com"}), &email);
}

#[test]
fn every_derivation_path_yields_the_same_text() {
    // Covers wrapped lines, markup in a value, a word longer than a line, the preview, and the link.
    let long = "x".repeat(200);
    let body = "Hello {{{FIRST_NAME|friend}}}, this line is long enough to be broken somewhere near its end, not before.";
    let html = format!(
        "<body><h1>{body}</h1><p>{body} <a href=\"{{{{{{SERVICE_UNSUBSCRIBE_URL}}}}}}\">leave</a></p></body>"
    );
    let only_link = "<p>News.</p><p><a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">leave</a></p>";
    for (html, preview) in
        [(html.as_str(), None), (html.as_str(), Some("Hi {{{FIRST_NAME}}}")), (only_link, Some("Hi"))]
    {
        let stage = Stage::new();
        for name in ["Ada", "<b>Ada</b> & Co", long.as_str(), ""] {
            let address = format!("c{}@example.com", name.len());
            stage.contact(&address, &json!({"first_name": name}));
        }
        let id = stage.created(&json!({"text": null, "html": html, "preview_text": preview}));
        stage.send(&id, "");
        let mails = stage.sandbox.mails();
        assert_eq!(mails.len(), 4);
        for mail in &mails {
            let link = format!("http://sandbox.invalid{}", link(mail));
            // The text derived for a plain send of the rendered HTML, with a short word in place of the link and without the preview.
            let html = mail.html.as_deref().unwrap();
            let shown = match html.find("<div style=\"display:none") {
                Some(at) => {
                    format!("{}{}", &html[..at], &html[at + html[at..].find("</div>").unwrap() + 6..])
                }
                None => html.to_owned(),
            };
            let plain = Sandbox::new();
            plain.sent(&json!({
                "from": "hi@acme.test", "to": "ada@example.com", "subject": "s",
                "html": shown.replace(&link, "\u{e000}link\u{e000}"),
            }));
            let expected = plain.mail().text.as_deref().unwrap().replace("\u{e000}link\u{e000}", &link);
            assert_eq!(mail.text.as_deref().unwrap(), expected);
            let parsed = MessageParser::default().parse(&mail.mime[..]).unwrap();
            assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n"), expected);
        }
    }
}
