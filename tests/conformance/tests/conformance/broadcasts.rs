//! Broadcasts: from the client to one captured mail per contact.

use std::time::Duration;

use http::Method;
use idempost::{
    Error, Reference, SegmentId,
    broadcasts::{BroadcastPatch, BroadcastStatus, BroadcastSummary, NewBroadcast},
};
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};

/// A bench with a stopped clock and one segment.
struct Stage {
    bench: Bench,
    segment: SegmentId,
}

impl Stage {
    async fn start() -> Self {
        let noon = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings = Settings { seed: Some(0), clock: ClockStart::Frozen(noon), ..Settings::default() };
        let bench = Bench::with(settings).await;
        let segment = made(&bench, "/segments", &json!({"name": "Readers"})).into();
        Self { bench, segment }
    }

    /// Adds a contact to the segment; `fields` override the defaults.
    fn contact(&self, email: &str, mut fields: Value) -> String {
        fields["email"] = json!(email);
        let id = made(&self.bench, "/contacts", &fields);
        let path = format!("/contacts/{id}/segments/{}", self.segment);
        let joined = self.bench.ask(self.bench.request(Method::POST, &path), "");
        assert!(joined.status.is_success(), "{}", joined.message());
        id
    }

    fn contacts(&self, emails: &[&str]) {
        for email in emails {
            self.contact(email, json!({}));
        }
    }

    /// A valid broadcast.
    fn good(&self) -> NewBroadcast {
        NewBroadcast::new(&self.segment, "Acme <news@acme.test>", "Your week").text("Hello")
    }

    async fn created(&self, broadcast: &NewBroadcast) -> idempost::BroadcastId {
        self.bench.client().broadcasts().create(broadcast).await.unwrap().id
    }

    async fn status(&self, id: &idempost::BroadcastId) -> BroadcastStatus {
        self.bench.client().broadcasts().get(id).await.unwrap().status.unwrap()
    }

    /// The minimal body with some fields set; `null` removes one.
    fn least(&self, fields: &Value) -> Value {
        let mut body = json!({
            "segment_id": self.segment, "from": "news@acme.test", "subject": "Your week", "text": "Hello",
        });
        for (name, value) in fields.as_object().unwrap() {
            match value {
                Value::Null => drop(body.as_object_mut().unwrap().remove(name)),
                value => body[name] = value.clone(),
            }
        }
        body
    }

    fn advance(&self, seconds: u64) {
        self.bench.service().clock().advance(Duration::from_secs(seconds));
    }

    /// The recipients of the captured mails, sorted.
    fn reached(&self) -> Vec<String> {
        let mut to: Vec<_> = self.bench.mails().iter().flat_map(|mail| mail.to.clone()).collect();
        to.sort();
        to
    }
}

fn made(bench: &Bench, path: &str, body: &Value) -> String {
    let reply = bench.post(path, body);
    assert!(reply.status.is_success(), "{path}: {}", reply.message());
    reply.json["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_broadcast_is_a_draft_until_it_is_sent() {
    // BCAST-01, BCAST-02, BCAST-03, BCAST-04, BCAST-05, BCAST-15, BCAST-16, BCAST-28, VER-02, GEN-03, SCOPE-09
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    let broadcasts = stage.bench.client();
    let broadcasts = broadcasts.broadcasts();
    let created = broadcasts.create(&stage.good().name("Week 9")).with_response().await.unwrap();
    assert_eq!(created.status, 201);
    let id = created.value.id;
    let listed = broadcasts.list().await.unwrap();
    let [item] = &listed.data[..] else { panic!("{listed:?}") };
    assert_eq!((&item.id, item.name.as_deref()), (&id, Some("Week 9")));
    assert_eq!(item.segment_id.as_ref(), Some(&stage.segment));
    #[expect(deprecated, reason = "the two fields must be equal")]
    let former = item.audience_id.as_ref();
    assert_eq!(former, Some(&stage.segment));
    assert_eq!(item.status, Some(BroadcastStatus::Draft));
    assert_eq!(item.created_at.as_str(), "2026-03-02 12:00:00.000000+00");
    assert_eq!((&item.scheduled_at, &item.sent_at), (&None, &None));
    assert!(stage.bench.mails().is_empty());

    broadcasts.send(&id).await.unwrap();
    let sent = broadcasts.wait(&id).await.unwrap();
    assert_eq!(sent.status, Some(BroadcastStatus::Sent));
    assert_eq!(sent.sent_at.unwrap().as_str(), "2026-03-02 12:00:00.000000+00");
    assert_eq!(stage.reached(), ["ada@example.com"]);
}

#[tokio::test]
async fn a_broadcast_created_with_send_reaches_every_contact() {
    // BCAST-17, BCAST-26, GEN-03
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com", "bob@example.com", "eve@example.com"]);
    made(&stage.bench, "/contacts", &json!({"email": "other@example.com"}));
    let id = stage.created(&stage.good().send_now()).await;
    assert_eq!(stage.status(&id).await, BroadcastStatus::Sent);
    assert_eq!(stage.reached(), ["ada@example.com", "bob@example.com", "eve@example.com"]);
    let mails = stage.bench.mails();
    assert_eq!(mails.len(), 3);
    assert!(mails.iter().all(|mail| mail.to.len() == 1 && mail.subject == "Your week"));
}

#[tokio::test]
async fn a_scheduled_broadcast_is_sent_when_it_is_due() {
    // BCAST-18, BCAST-19, BCAST-23
    for when in ["2026-03-02T13:00:00Z", "in 1 hour"] {
        let stage = Stage::start().await;
        stage.contacts(&["ada@example.com"]);
        let client = stage.bench.client();
        let at_once = stage.created(&stage.good().send_at(when)).await;
        let later = stage.created(&stage.good()).await;
        client.broadcasts().send_at(&later, when).await.unwrap();
        for id in [&at_once, &later] {
            let record = client.broadcasts().get(id).await.unwrap();
            assert_eq!(record.status, Some(BroadcastStatus::Scheduled));
            assert_eq!(record.scheduled_at.unwrap().as_str(), "2026-03-02 13:00:00.000000+00");
        }
        stage.advance(3_599);
        assert!(stage.bench.mails().is_empty(), "{when}");
        stage.advance(1);
        assert_eq!(stage.bench.mails().len(), 2, "{when}");
        assert_eq!(stage.status(&at_once).await, BroadcastStatus::Sent);
        assert_eq!(stage.status(&later).await, BroadcastStatus::Sent);
    }
}

#[tokio::test]
async fn a_broadcast_contains_the_contacts_name_and_not_its_own() {
    // BCAST-10, BCAST-13, TPL-16, TPL-17, CONT-03
    let stage = Stage::start().await;
    stage.contact("ada@example.com", json!({"first_name": "Ada"}));
    stage.contacts(&["bob@example.com"]);
    let broadcast = stage
        .good()
        .name("Secret plan")
        .html("<p>{{{contact.first_name|friend}}} {{{EMAIL}}} <a href=\"{{{SERVICE_UNSUBSCRIBE_URL}}}\">-</a></p>")
        .send_now();
    stage.created(&broadcast).await;
    let mails = stage.bench.mails();
    let html =
        |to: &str| mails.iter().find(|mail| mail.to == [to]).unwrap().html.as_deref().unwrap().to_owned();
    assert!(html("ada@example.com").starts_with("<p>Ada ada@example.com "));
    assert!(html("bob@example.com").starts_with("<p>friend bob@example.com "));
    let link = format!("<a href=\"{}/_/unsubscribe/", stage.bench.base_url());
    assert!(html("ada@example.com").contains(&link), "{}", html("ada@example.com"));
    assert_ne!(html("ada@example.com").split("href").nth(1), html("bob@example.com").split("href").nth(1));
    assert!(!mails.iter().any(|mail| String::from_utf8_lossy(&mail.mime).contains("Secret plan")));
}

#[tokio::test]
async fn a_text_is_derived_kept_or_left_out() {
    // BCAST-11
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    let html = || NewBroadcast::new(&stage.segment, "news@acme.test", "s").html("<p>Hi</p>").send_now();
    for (broadcast, text) in
        [(html(), Some("Hi")), (html().text("own"), Some("own")), (html().text(""), None)]
    {
        stage.created(&broadcast).await;
        let mail = stage.bench.mails().remove(0);
        assert_eq!(mail.text.as_deref().map(str::trim), text);
    }
}

#[tokio::test]
async fn reply_to_has_one_or_several_addresses() {
    // BCAST-09
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    for reply_to in [json!("help@acme.test"), json!(["help@acme.test", "Team <team@acme.test>"])] {
        let body = stage.least(&json!({"reply_to": reply_to, "send": true}));
        let id = made(&stage.bench, "/broadcasts", &body);
        let record = stage.bench.client().broadcasts().get(id).await.unwrap();
        let expected = if reply_to.is_string() { json!([reply_to]) } else { reply_to };
        assert_eq!(json!(record.reply_to), expected);
        let mail = stage.bench.mails().remove(0);
        assert!(String::from_utf8_lossy(&mail.mime).contains("Reply-To: help@acme.test"));
    }
}

#[tokio::test]
async fn a_broadcast_skips_contacts_that_opted_out_of_its_topic() {
    // BCAST-14
    let stage = Stage::start().await;
    let topic = json!({"name": "News", "default_subscription": "opt_in"});
    let topic = made(&stage.bench, "/topics", &topic);
    stage.contacts(&["ada@example.com"]);
    let out = json!({"topics": [{"id": topic, "subscription": "opt_out"}]});
    stage.contact("bob@example.com", out);
    stage.contact("eve@example.com", json!({"unsubscribed": true}));
    let id = stage.created(&stage.good().topic_id(topic.as_str()).send_now()).await;
    assert_eq!(stage.reached(), ["ada@example.com"]);
    let record = stage.bench.client().broadcasts().get(&id).await.unwrap();
    assert_eq!(record.topic_id.unwrap().as_str(), topic);
}

#[tokio::test]
async fn a_draft_without_a_body_is_created_and_can_not_be_sent() {
    // BCAST-29
    let stage = Stage::start().await;
    let client = stage.bench.client();
    let bodiless = NewBroadcast::new(stage.segment.as_str(), "news@acme.test", "Hi");
    let id = stage.created(&bodiless).await;
    let error = client.broadcasts().send(&id).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(422), "{error}");
    client.broadcasts().update(&id, &BroadcastPatch::new().text("Hello")).await.unwrap();
    client.broadcasts().send(&id).await.unwrap();
    for text in [Value::Null, json!("")] {
        let sent = stage.least(&json!({ "text": text, "send": true }));
        let reply = stage.bench.post_wrong("/broadcasts", &sent);
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "missing_required_field"));
    }
}

#[tokio::test]
async fn missing_and_invalid_fields_are_refused_by_name() {
    // BCAST-06, BCAST-07, BCAST-08, BCAST-12, BCAST-20
    let stage = Stage::start().await;
    for field in ["segment_id", "from", "subject", "text"] {
        let reply =
            stage.bench.post_wrong("/broadcasts", &stage.least(&json!({ field: null, "send": true })));
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "missing_required_field"), "{field}");
        assert!(reply.message().contains(field), "{}", reply.message());
    }
    for (fields, word) in [
        (json!({"from": "nobody"}), "from"),
        (json!({"subject": "a\nb"}), "subject"),
        (json!({"reply_to": "nobody"}), "reply_to"),
        (json!({"send": "yes"}), "send"),
        (json!({"scheduled_at": "in 1 hour"}), "scheduled_at"),
        (json!({"scheduled_at": "in 1 hour", "send": false}), "scheduled_at"),
        (json!({"scheduled_at": "", "send": true}), "scheduled_at"),
        (json!({"react": {"type": "p"}}), "react"),
        (json!({"audience_id": stage.segment}), "audience_id"),
    ] {
        let reply = stage.bench.post_wrong("/broadcasts", &stage.least(&fields));
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{fields}");
        assert!(reply.message().contains(&format!("`{word}`")), "{}", reply.message());
    }
    // Rules that the contract can't express.
    for (fields, word) in [
        (json!({"segment_id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}), "segment_id"),
        (json!({"topic_id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}), "topic_id"),
        (json!({"scheduled_at": "whenever", "send": true}), "scheduled_at"),
        (json!({"scheduled_at": "2026-03-02T11:59:59Z", "send": true}), "scheduled_at"),
    ] {
        let reply = stage.bench.post("/broadcasts", &stage.least(&fields));
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{fields}");
        assert!(reply.message().contains(&format!("`{word}`")), "{}", reply.message());
    }
    assert!(stage.bench.client().broadcasts().list().await.unwrap().data.is_empty());
}

#[tokio::test]
async fn the_client_sends_segment_id() {
    // VER-03, BCAST-12: the service still knows the former one
    let stage = Stage::start().await;
    stage.created(&stage.good()).await;
    let sent: Value = serde_json::from_slice(&stage.bench.requests().last().unwrap().body).unwrap();
    assert_eq!(sent["segment_id"], json!(stage.segment));
    assert!(sent.get("audience_id").is_none() && sent.get("react").is_none(), "{sent}");
    let former = stage.least(&json!({"segment_id": null, "audience_id": stage.segment}));
    let id = made(&stage.bench, "/broadcasts", &former);
    let record = stage.bench.client().broadcasts().get(id).await.unwrap();
    assert_eq!(record.segment_id, Some(stage.segment.clone()));
}

#[tokio::test]
async fn problems_are_reported_before_anything_is_sent() {
    // BCAST-06, BCAST-07, BCAST-21
    let stage = Stage::start().await;
    let before = stage.bench.requests().len();
    let client = stage.bench.client();
    let wrong = NewBroadcast::new("", "nobody", "a\nb").send_at("");
    let Err(Error::Invalid(problems)) = client.broadcasts().create(&wrong).await else { panic!() };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/segment_id", "/from", "/subject", "", "/scheduled_at"]);
    let nothing = client.broadcasts().update("b1", &BroadcastPatch::new()).await;
    assert!(matches!(nothing, Err(Error::Invalid(_))));
    assert!(matches!(client.broadcasts().send_at("b1", " ").await, Err(Error::Invalid(_))));
    for id in ["", ".", ".."] {
        assert!(matches!(client.broadcasts().send(id).await, Err(Error::Invalid(_))), "{id:?}");
    }
    assert_eq!(stage.bench.requests().len(), before);
    assert_eq!(client.broadcasts().get("a/b?c#d%2e").await.unwrap_err().status().unwrap(), 422);
    assert!(stage.bench.requests().last().unwrap().path.ends_with("/broadcasts/a%2Fb%3Fc%23d%252e"));
}

#[tokio::test]
async fn only_a_draft_is_sent_and_only_once() {
    // BCAST-22, BCAST-27
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    let client = stage.bench.client();
    let id = stage.created(&stage.good()).await;
    let sent: Reference<_> = client.broadcasts().send(&id).await.unwrap();
    assert_eq!(sent.id, id);
    assert_eq!(stage.status(&id).await, BroadcastStatus::Sent);
    let Err(Error::Api(error)) = client.broadcasts().send(&id).await else { panic!() };
    assert_eq!((error.status.as_u16(), error.name.as_str()), (403, "validation_error"));
    assert_eq!(stage.bench.mails().len(), 1);
    let empty = stage.created(&stage.good()).await;
    let reply = stage.bench.post(&format!("/broadcasts/{empty}/send"), &json!({}));
    assert_eq!((reply.status.as_u16(), reply.json), (200, json!({"id": empty})));
}

#[tokio::test]
async fn sending_a_broadcast_is_never_retried() {
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    let id = stage.created(&stage.good()).await;
    let action = idempost_reference_server::faults::Action::DropAfter;
    stage.bench.service().faults().next(action);
    let before = stage.bench.requests().len();
    let error = stage.bench.client().broadcasts().send(&id).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown(_)) && !error.is_retryable(), "{error:?}");
    assert_eq!(stage.bench.requests().len(), before + 1);
    assert_eq!(stage.bench.mails().len(), 1, "it was sent once");
}

#[tokio::test]
async fn every_invalid_status_transition_is_refused() {
    let stage = Stage::start().await;
    let client = stage.bench.client();
    let broadcasts = client.broadcasts();
    let refused = |result: idempost::Result<()>, what: &str| match result {
        Err(Error::Api(error)) => {
            assert_eq!((error.status.as_u16(), error.name.as_str()), (403, "validation_error"), "{what}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let patch = BroadcastPatch::new().subject("New").clear_preview_text().clear_reply_to().clear_name();
    let draft = stage.created(&stage.good()).await;
    refused(broadcasts.cancel(&draft).await.map(drop), "a draft is canceled");
    broadcasts.update(&draft, &patch).await.unwrap();
    assert_eq!(broadcasts.get(&draft).await.unwrap().subject.as_deref(), Some("New"));

    let scheduled = stage.created(&stage.good().send_at("in 1 hour")).await;
    refused(broadcasts.send(&scheduled).await.map(drop), "a scheduled one is sent");
    broadcasts.update(&scheduled, &patch).await.unwrap();
    assert_eq!(stage.status(&scheduled).await, BroadcastStatus::Scheduled);
    broadcasts.cancel(&scheduled).await.unwrap();
    assert_eq!(stage.status(&scheduled).await, BroadcastStatus::Draft);

    let deleted = stage.created(&stage.good().send_at("in 1 hour")).await;
    assert!(broadcasts.delete(&deleted).await.unwrap().deleted);
    assert_eq!(broadcasts.get(&deleted).await.unwrap_err().status().unwrap(), 404);

    let sent = stage.created(&stage.good().send_now()).await;
    refused(broadcasts.update(&sent, &patch).await.map(drop), "a sent one is changed");
    refused(broadcasts.delete(&sent).await.map(drop), "a sent one is deleted");
    refused(broadcasts.cancel(&sent).await.map(drop), "a sent one is canceled");
    let copy = broadcasts.duplicate(&sent).await.unwrap().id;
    assert_eq!(stage.status(&copy).await, BroadcastStatus::Draft);
    stage.advance(7_200);
    assert_eq!(stage.status(&copy).await, BroadcastStatus::Draft);
}

#[tokio::test]
async fn a_sending_key_can_send_a_draft_and_nothing_else() {
    // BCAST-24, SCOPE-05, SCOPE-08
    let stage = Stage::start().await;
    let id = stage.created(&stage.good()).await;
    let sender = stage.bench.builder().api_key("sb_test_sending").build().unwrap();
    let Err(Error::Api(error)) = sender.broadcasts().create(&stage.good().send_now()).await else { panic!() };
    assert_eq!((error.status.as_u16(), error.name.as_str()), (401, "restricted_api_key"));
    assert!(sender.broadcasts().list().await.is_err());
    assert!(sender.broadcasts().cancel(&id).await.is_err());
    sender.broadcasts().send(&id).await.unwrap();
    assert_eq!(stage.status(&id).await, BroadcastStatus::Sent);
}

#[tokio::test]
async fn the_list_is_one_page_without_a_limit_and_pages_with_one() {
    // BCAST-25
    let stage = Stage::start().await;
    let mut ids = Vec::new();
    for _ in 0..23 {
        ids.push(stage.created(&stage.good()).await);
    }
    ids.reverse();
    let client = stage.bench.client();
    let all = client.broadcasts().list().await.unwrap();
    let found: Vec<_> = all.data.into_iter().map(|item: BroadcastSummary| item.id).collect();
    assert_eq!((found, all.has_more), (ids.clone(), false));
    let page = client.broadcasts().list().page_size(5).after(&ids[4]).await.unwrap();
    let found: Vec<_> = page.data.into_iter().map(|item| item.id).collect();
    assert_eq!((found.as_slice(), page.has_more), (&ids[5..10], true));
    for query in ["limit=0", "limit=101", "limit=x"] {
        assert_eq!(
            stage.bench.get_wrong(&format!("/broadcasts?{query}")).name(),
            "validation_error",
            "{query}"
        );
    }
    let unknown = stage.bench.get("/broadcasts?after=49a3999c-0ce1-4ea6-ab68-afcd6dc2e794");
    assert_eq!((unknown.status.as_u16(), unknown.name()), (422, "validation_error"));
}

#[tokio::test]
async fn the_unsubscribe_link_works_over_http() {
    let stage = Stage::start().await;
    stage.contacts(&["ada@example.com"]);
    stage.created(&stage.good().text("{{{SERVICE_UNSUBSCRIBE_URL}}}").send_now()).await;
    let link = stage.bench.mails()[0].text.as_deref().unwrap().to_owned();
    let path = link.strip_prefix(&stage.bench.base_url()).unwrap();
    let click = http::Request::post(path).body("List-Unsubscribe=One-Click".into()).unwrap();
    assert_eq!(stage.bench.service().handle(click).status(), 200);
    stage.created(&stage.good().send_now()).await;
    assert_eq!(stage.bench.mails().len(), 1, "no further mail is sent");
}

#[tokio::test]
async fn a_misspelled_field_is_reported_and_has_no_effect() {
    let stage = Stage::start().await;
    let body = stage.least(&json!({"scheduledAt": "in 1 hour"}));
    let request = stage.bench.request(Method::POST, "/broadcasts").header(EXPECT, Expect::Tolerance.as_str());
    let reply = stage.bench.ask(request.header("content-type", "application/json"), body.to_string());
    assert_eq!(reply.status, 201);
    assert_eq!(reply.headers["x-sandbox-ignored-fields"], "/scheduledAt");
}

#[tokio::test]
async fn the_name_of_a_broadcast_defaults_to_its_subject() {
    let stage = Stage::start().await;
    for (fields, shown) in [
        (json!({}), "Your week"),
        (json!({ "name": "Weekly" }), "Weekly"),
        (json!({ "subject": "" }), "Untitled"),
    ] {
        let id = made(&stage.bench, "/broadcasts", &stage.least(&fields));
        assert_eq!(stage.bench.get(&format!("/broadcasts/{id}")).json["name"], shown);
        assert_eq!(stage.bench.get("/broadcasts").json["data"][0]["name"], shown);
    }
}
