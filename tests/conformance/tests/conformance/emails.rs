use std::{collections::BTreeMap, time::Duration};

use idempost::{Email, emails::LastEvent, transport::install_crypto_provider};
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};

use super::{least, letters, with};

/// Posts a body that has to be rejected with a validation error.
#[track_caller]
fn refused(bench: &Bench, email: &Value, field: &str) {
    let reply = bench.post_wrong("/emails", email);
    let known = ["validation_error", "missing_required_field", "invalid_attachment"].contains(&reply.name());
    assert!(reply.status == 422 && known, "{email}: {} {}", reply.status, reply.json);
    assert!(reply.message().contains(field), "{:?} doesn't name {field}", reply.message());
    assert!(bench.mails().is_empty(), "{email} was sent");
}

#[track_caller]
fn accepted(bench: &Bench, email: &Value) -> String {
    let reply = bench.post("/emails", email);
    assert_eq!(reply.status, 200, "{email}: {}", reply.json);
    reply.json["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_sent_email_becomes_a_captured_mail_and_is_listed() {
    // GEN-01, GEN-13, EMAIL-01, EMAIL-64, SENT-01, SENT-14
    let bench = Bench::start().await;
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    let accepted = bench.client().emails().send(&email).await.unwrap();
    let listed = bench.client().emails().list().await.unwrap();
    assert_eq!(listed.data[0].id, accepted.id);
    assert_eq!(bench.mails()[0].email_id, accepted.id.as_str());
    let requests = bench.requests();
    let request = &requests[0];
    assert_eq!((request.method.as_str(), &*request.path), ("POST", "/emails"));
    assert_eq!(request.headers["content-type"], "application/json");
    assert!(serde_json::from_slice::<Value>(&request.body).unwrap().is_object());
}

#[tokio::test]
async fn wiremock_and_hyper_serve_the_same_responses() {
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    let settings = Settings { seed: Some(0), clock: ClockStart::Frozen(noon), ..Settings::default() };
    let over_wiremock = responses(&Bench::over_wiremock(settings.clone()).await).await;
    let over_hyper = responses(&Bench::with(settings).await).await;
    let statuses: Vec<_> = over_hyper.iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 404, 405, 422, 401]);
    assert_eq!(over_wiremock, over_hyper);
}

/// Statuses, headers and bodies of the same requests over the bench's own transport.
async fn responses(bench: &Bench) -> Vec<(u16, BTreeMap<String, String>, String)> {
    install_crypto_provider();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let (mut responses, mut id) = (Vec::new(), None);
    for (method, path, key, body) in [
        ("POST", "/emails", "sb_test", Some(least())),
        ("POST", "/emails/batch", "sb_test", Some(json!([least(), least()]))),
        ("GET", "/emails?limit=2", "sb_test", None),
        ("GET", "/emails/{id}", "sb_test", None),
        ("GET", "/emails/00000000-0000-4000-8000-000000000000", "sb_test", None),
        ("DELETE", "/emails", "sb_test", None),
        ("POST", "/emails", "sb_test", Some(json!({}))),
        ("GET", "/emails", "sb_test_sending", None),
    ] {
        let url = format!("{}{}", bench.base_url(), path.replace("{id}", id.as_deref().unwrap_or_default()));
        let request = http.request(method.parse().unwrap(), url).bearer_auth(key);
        let is_wrong = method == "DELETE" || body == Some(json!({}));
        let request = if is_wrong { request.header(EXPECT, Expect::Refusal.as_str()) } else { request };
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let response = request.send().await.unwrap();
        let headers = response.headers().iter();
        // Each transport has a clock of its own for the date.
        let headers = headers.filter(|(name, _)| *name != "date");
        // Each has an address of its own.
        let common = |value: &str| value.replace(&bench.base_url(), "http://sandbox");
        let headers = headers.map(|(name, value)| (name.to_string(), common(value.to_str().unwrap())));
        let (status, headers) = (response.status().as_u16(), headers.collect());
        let body = response.text().await.unwrap();
        let json: Value = serde_json::from_str(&body).unwrap();
        id = id.or_else(|| json["id"].as_str().map(str::to_owned));
        responses.push((status, headers, body));
    }
    responses
}

#[tokio::test]
async fn every_field_of_an_email_is_sent() {
    // GEN-02, GEN-16, EMAIL-12, EMAIL-13, EMAIL-16, EMAIL-22
    let bench = Bench::start().await;
    let email = Email::new("Acme <hi@acme.test>", ["ada@example.com", "Grace <grace@example.com>"], "Hello")
        .html("<p>It works</p>")
        .text("It works")
        .cc("cc@example.com")
        .bcc(["b1@example.com", "b2@example.com"])
        .reply_to("help@acme.test")
        .header("X-Order", "17")
        .tag("kind", "receipt")
        .scheduled_at("in 1 min");
    bench.client().emails().send(&email).await.unwrap();
    let sent: Value = serde_json::from_slice(&bench.requests()[0].body).unwrap();
    assert_eq!(
        sent,
        json!({
            "from": "Acme <hi@acme.test>", "to": ["ada@example.com", "Grace <grace@example.com>"],
            "subject": "Hello", "html": "<p>It works</p>", "text": "It works", "cc": ["cc@example.com"],
            "bcc": ["b1@example.com", "b2@example.com"], "reply_to": ["help@acme.test"],
            "headers": { "X-Order": "17" }, "tags": [{ "name": "kind", "value": "receipt" }],
            "scheduled_at": "in 1 min",
        })
    );
}

#[tokio::test]
async fn absent_and_empty_text_differ_on_the_wire() {
    // EMAIL-20, EMAIL-17, A-09
    let bench = Bench::start().await;
    let client = bench.client();
    let html = || Email::new("hi@acme.test", "ada@example.com", "Hello").html("<p>It works</p>");
    client.emails().send(&html()).await.unwrap();
    client.emails().send(&html().text("")).await.unwrap();
    let bodies: Vec<Value> =
        bench.requests().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!((bodies[0].get("text"), &bodies[1]["text"]), (None, &json!("")));
}

#[tokio::test]
async fn required_fields_are_required() {
    // EMAIL-03, EMAIL-06, EMAIL-10, A-02, A-07, A-08
    let bench = Bench::start().await;
    for field in ["from", "to", "subject"] {
        refused(&bench, &with(json!({ field: null })), field);
        let reply = bench.post_wrong("/emails", &with(json!({ field: null })));
        assert_eq!(reply.name(), "missing_required_field");
    }
    refused(&bench, &with(json!({ "text": null })), "html");
    refused(&bench, &with(json!({ "text": "" })), "html");
    accepted(&bench, &with(json!({ "subject": "" })));
    accepted(&bench, &with(json!({ "text": null, "html": "<p>x</p>" })));
}

#[tokio::test]
async fn a_sender_is_an_address_with_or_without_a_display_name() {
    // EMAIL-04, EMAIL-05
    let bench = Bench::start().await;
    for wrong in ["", " ", "<>", "a@", "@b"] {
        refused(&bench, &with(json!({ "from": wrong })), "from");
    }
    // The contract's pattern accepts these; the server's parser doesn't.
    for wrong in ["Name <a@b.test", "Name a@b.test", "a@b.test, c@d.test", "a@b@c.test"] {
        let reply = bench.post("/emails", &with(json!({ "from": wrong })));
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{wrong}");
    }
    for right in ["a@b.test", "Name <a@b.test>", "\"N, x\" <a@b.test>", "N, x <a@b.test>", "Zoë <zoe@b.test>"]
    {
        accepted(&bench, &with(json!({ "from": right })));
    }
    // The client quotes a name, so that a list has the same addresses for both.
    let email = Email::new("Acme, Inc <hi@acme.test>", "Lovelace, Ada <ada@example.com>", "Hi").text("x");
    let id = bench.client().emails().send(&email).await.unwrap().id;
    let record = bench.get(&format!("/emails/{id}")).json;
    assert_eq!(record["from"], "\"Acme, Inc\" <hi@acme.test>");
    assert_eq!(record["to"], json!(["\"Lovelace, Ada\" <ada@example.com>"]));
}

#[tokio::test]
async fn to_has_one_to_fifty_addresses() {
    // EMAIL-07, EMAIL-08, EMAIL-09, LIM-02
    let bench = Bench::start().await;
    let many = |n: usize| with(json!({ "to": vec!["ada@example.com"; n] }));
    refused(&bench, &many(51), "to");
    refused(&bench, &many(0), "to");
    refused(&bench, &with(json!({ "to": "" })), "to");
    refused(&bench, &with(json!({ "to": 7 })), "to");
    refused(&bench, &with(json!({ "to": ["ada@example.com", null] })), "to[1]");
    accepted(&bench, &many(50));
    accepted(&bench, &many(1));
    accepted(&bench, &with(json!({ "to": "ada@example.com" })));
}

#[tokio::test]
async fn cc_bcc_and_reply_to_have_one_or_several_addresses() {
    // EMAIL-12, EMAIL-13, SENT-07
    let bench = Bench::start().await;
    for field in ["cc", "bcc", "reply_to"] {
        for (given, listed) in [
            (json!("b@example.com"), json!(["b@example.com"])),
            (json!(["b@example.com", "c@example.com"]), json!(["b@example.com", "c@example.com"])),
        ] {
            let id = accepted(&bench, &with(json!({ field: given })));
            assert_eq!(bench.get(&format!("/emails/{id}")).json[field], listed, "{field}");
        }
        let id = accepted(&bench, &least());
        assert_eq!(bench.get(&format!("/emails/{id}")).json[field], Value::Null);
        let reply = bench.post_wrong("/emails", &with(json!({ field: "nobody" })));
        assert!(reply.status == 422 && reply.message().contains(field));
    }
}

#[tokio::test]
async fn no_header_field_may_contain_a_line_break() {
    //
    let bench = Bench::start().await;
    let evil = "x\r\nBcc: victim@example.com";
    for (field, email) in [
        ("from", with(json!({ "from": format!("{evil} <a@b.test>") }))),
        ("to", with(json!({ "to": format!("{evil} <a@b.test>") }))),
        ("subject", with(json!({ "subject": evil }))),
        ("headers", with(json!({ "headers": { "X-A": evil } }))),
        ("headers", with(json!({ "headers": { evil: "v" } }))),
        ("filename", with(json!({ "attachments": [{ "content": "YQ==", "filename": evil }] }))),
        ("content_id", with(json!({ "attachments": [{ "content": "YQ==", "content_id": evil }] }))),
        ("content_type", with(json!({ "attachments": [{ "content": "YQ==", "content_type": evil }] }))),
    ] {
        refused(&bench, &email, field);
    }
    let id = accepted(&bench, &with(json!({ "subject": "a\u{85}b\u{2028}c" })));
    assert_eq!(bench.get(&format!("/emails/{id}")).json["subject"], "a\u{85}b\u{2028}c");
}

#[tokio::test]
async fn tags_have_a_restricted_character_set() {
    // EMAIL-38, EMAIL-39, EMAIL-40, LIM-06, A-16
    let bench = Bench::start().await;
    let tag = |name: &str, value: &str| with(json!({ "tags": [{ "name": name, "value": value }] }));
    for wrong in ["a b", "é", ".", "/", "", &letters(257)] {
        refused(&bench, &tag(wrong, "v"), "tags[0].name");
        refused(&bench, &tag("n", wrong), "tags[0].value");
    }
    refused(&bench, &with(json!({ "tags": [{ "name": "n" }] })), "tags[0].value");
    refused(&bench, &with(json!({ "tags": [{ "value": "v" }] })), "tags[0].name");
    refused(&bench, &with(json!({ "tags": [{ "name": "n", "value": 7 }] })), "tags[0].value");
    accepted(&bench, &tag("azAZ09_-", "azAZ09_-"));
    let id = accepted(&bench, &tag(&letters(256), &letters(256)));
    let record = bench.get(&format!("/emails/{id}")).json;
    assert_eq!(record["tags"], json!([{ "name": letters(256), "value": letters(256) }]));
}

#[tokio::test]
async fn a_template_excludes_a_body_and_requires_an_id() {
    // EMAIL-41, EMAIL-47, EMAIL-48, EMAIL-49, ERR-01, A-11
    let bench = Bench::start().await;
    let template = |more: Value| {
        let mut email = json!({ "to": "ada@example.com", "template": { "id": "welcome" } });
        email.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        email
    };
    for field in ["html", "text", "react"] {
        refused(&bench, &template(json!({ field: "x" })), field);
    }
    refused(&bench, &template(json!({ "text": "" })), "text");
    refused(&bench, &template(json!({ "template": {} })), "template.id");
    refused(&bench, &template(json!({ "template": { "id": "" } })), "template.id");
    refused(&bench, &template(json!({ "template": "welcome" })), "template");
}

#[tokio::test]
async fn an_unknown_template_is_refused() {
    let bench = Bench::start().await;
    let reply = bench.post("/emails", &json!({ "to": "ada@example.com", "template": { "id": "nowhere" } }));
    assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"));
    assert!(reply.message().contains("template.id"), "{}", reply.message());
}

#[tokio::test]
async fn variables_keep_their_limits() {
    // EMAIL-55, EMAIL-56, EMAIL-57, EMAIL-58, EMAIL-59, EMAIL-60, LIM-07, LIM-08
    let bench = Bench::start().await;
    let with_variable = |key: &str, value: Value| json!({ "to": "ada@example.com", "template": { "id": "none", "variables": { key: value } } });
    let crab = "🦀".repeat(2_000);
    for (key, value) in [
        ("A-B", json!("v")),
        ("é", json!("v")),
        ("", json!("v")),
        ("a b", json!("v")),
        (&letters(51), json!("v")),
        ("FIRST_NAME", json!("v")),
        ("LAST_NAME", json!("v")),
        ("EMAIL", json!("v")),
        ("UNSUBSCRIBE_URL", json!("v")),
        ("SERVICE_UNSUBSCRIBE_URL", json!("v")),
        ("contact", json!("v")),
        ("this", json!("v")),
        ("A", json!(letters(2_001))),
        ("A", json!(9_007_199_254_740_992_u64)),
        ("A", json!(1e300)),
        ("A", json!(true)),
        ("A", json!(null)),
        ("A", json!({})),
        ("A", json!(["x"])),
    ] {
        refused(&bench, &with_variable(key, value), "variables");
    }
    // There is no template to send with yet; valid fields are not reported.
    for (key, value) in [
        ("A", json!("v")),
        ("a_1", json!("")),
        ("first_name", json!("v")),
        (&letters(50), json!(letters(2_000))),
        ("A", json!(crab)),
        ("A", json!(9_007_199_254_740_991_u64)),
        ("A", json!(-9_007_199_254_740_992_i64)),
        ("A", json!(1.5)),
    ] {
        let reply = bench.post("/emails", &with_variable(key, value));
        assert!(!reply.message().contains("variables"), "{key}: {}", reply.message());
    }
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_counted() {
    let bench = Bench::start().await;
    let reply = bench.post_odd(
        "/emails",
        &with(json!({ "replyTo": "x", "tags": [{ "name": "n", "value": "v", "x": 1 }] })),
    );
    let ignored = reply.headers["x-sandbox-ignored-fields"].to_str().unwrap();
    assert!(ignored.contains("replyTo") && ignored.contains("/tags/0/x"), "{ignored}");
}

#[tokio::test]
async fn the_aliases_of_the_send_route_send() {
    // EMAIL-66
    let bench = Bench::start().await;
    for (n, path) in ["/email", "/emails/sending", "/email/sending"].into_iter().enumerate() {
        let reply = bench.post(path, &least());
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(bench.mails().len(), n + 1);
        assert_eq!(bench.mails()[0].email_id, reply.json["id"]);
    }
}

#[tokio::test]
async fn a_listed_email_has_the_fields_that_were_sent_and_null_for_the_rest() {
    // SENT-02, SENT-03, SENT-04, SENT-05, SENT-06, SENT-10, GEN-20, GEN-21, GEN-25
    let bench = Bench::start().await;
    accepted(&bench, &with(json!({ "from": "Acme <hi@acme.test>" })));
    let list = bench.get("/emails").json;
    let email = &list["data"][0];
    assert_eq!((&email["to"], &email["from"]), (&json!(["ada@example.com"]), &json!("Acme <hi@acme.test>")));
    assert_eq!(email["subject"], "Hello");
    for field in ["cc", "bcc", "reply_to", "scheduled_at"] {
        assert_eq!(email.get(field), Some(&Value::Null), "{field}");
    }
    accepted(&bench, &with(json!({ "scheduled_at": "in 30 days" })));
    assert!(bench.get("/emails").json["data"][0]["scheduled_at"].is_string());
}

#[tokio::test]
async fn the_detail_record_has_the_list_item_bodies_and_attachments() {
    // SENT-11, EMAIL-18, EMAIL-19
    let bench = Bench::start().await;
    let html = |text: Value| with(json!({ "html": "<p>It <b>works</b></p>", "text": text }));
    let derived = accepted(&bench, &html(json!(null)));
    let empty = accepted(&bench, &html(json!("")));
    let record = |id: &str| bench.get(&format!("/emails/{id}")).json;
    let (derived, empty) = (record(&derived), record(&empty));
    assert!(derived["text"].as_str().unwrap().contains("works"), "{derived}");
    assert_eq!((&empty["text"], &empty["html"]), (&Value::Null, &json!("<p>It <b>works</b></p>")));
    let item = bench.get("/emails?limit=1").json["data"][0].clone();
    for (field, value) in item.as_object().unwrap() {
        assert_eq!(&empty[field], value, "{field}");
    }
    let typed = bench.client().emails().get(derived["id"].as_str().unwrap()).await.unwrap();
    assert_eq!(typed.html.as_deref(), Some("<p>It <b>works</b></p>"));
    assert_eq!(typed.attachments.map(|files| files.len()), Some(0));
    let file = json!([{ "filename": "notes.txt", "content": "bm90ZXM=" }]);
    let id = accepted(&bench, &with(json!({ "text": "x", "attachments": file })));
    let files = bench.client().emails().get(id.as_str()).await.unwrap().attachments.unwrap();
    assert_eq!((files[0].filename.as_deref(), files[0].size), (Some("notes.txt"), Some(5)));
}

#[tokio::test]
async fn last_event_follows_the_delivery() {
    // SENT-08, SENT-09
    let bench = Bench::start().await;
    bench.service().clock().freeze();
    let email = Email::new("hi@acme.test", "opened@example.com", "Hello").text("x");
    let id = bench.client().emails().send(&email).await.unwrap().id;
    let mut seen = Vec::new();
    for seconds in [0, 1, 1] {
        bench.service().clock().advance(std::time::Duration::from_secs(seconds));
        seen.push(bench.client().emails().get(&id).await.unwrap().last_event.unwrap());
    }
    assert_eq!(seen, [LastEvent::Sent, LastEvent::Delivered, LastEvent::Opened]);
}

#[tokio::test]
async fn ids_and_field_names_of_responses_follow_the_conventions() {
    // GEN-14, GEN-17, GEN-18
    let bench = Bench::start().await;
    let id = accepted(&bench, &least());
    let uuid = regex::Regex::new("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").unwrap();
    assert!(uuid.is_match(&id), "{id}");
    for path in ["/emails".to_owned(), format!("/emails/{id}"), "/logs".to_owned()] {
        let reply = bench.get(&path);
        assert!(reply.headers["content-type"].to_str().unwrap().starts_with("application/json"));
        let keys = keys(&reply.json);
        assert!(!keys.is_empty(), "{path}");
        assert!(!keys.iter().any(|key| key.contains(char::is_uppercase)), "{}", reply.json);
    }
}

fn keys(json: &Value) -> Vec<String> {
    match json {
        Value::Object(object) => {
            object.iter().flat_map(|(key, value)| [vec![key.clone()], keys(value)].concat()).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn teams_see_only_their_own_emails() {
    // SENT-13
    let bench = Bench::start().await;
    accepted(&bench, &least());
    let other = bench.builder().api_key("sb_other").build().unwrap();
    assert!(other.emails().list().await.unwrap().data.is_empty());
}

#[tokio::test]
async fn empty_optional_addresses_count_as_absent() {
    // The specification is silent here; integrations send `"cc": ""` with every email.
    let bench = Bench::start().await;
    for none in [json!(""), json!([])] {
        let email = json!({
            "from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "x",
            "cc": none, "bcc": none, "reply_to": none,
        });
        let sent = bench.post("/emails", &email);
        assert_eq!(sent.status, 200, "{}", sent.message());
        let record = bench.get(&format!("/emails/{}", sent.json["id"].as_str().unwrap())).json;
        for field in ["cc", "bcc", "reply_to"] {
            assert!(record[field].is_null() || record[field] == json!([]), "{field}: {}", record[field]);
        }
        let mut invalid = email.clone();
        invalid["to"] = none;
        assert_eq!(bench.post_wrong("/emails", &invalid).status, 422);
    }
}

#[tokio::test]
async fn a_shared_email_is_read_without_a_key_until_its_link_expires() {
    let bench = Bench::start().await;
    let client = bench.client();
    let email = Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
    let id = client.emails().send(&email).await.unwrap().id;
    let link = client.emails().share(&id).expires_in(Duration::from_mins(90)).await.unwrap();
    assert_eq!(link.id, id);
    let page = client.received().download(&link.url).await.unwrap();
    assert!(String::from_utf8_lossy(&page).contains("<pre>It works</pre>"), "{page:?}");
    bench.service().clock().advance(Duration::from_mins(90));
    assert_eq!(client.received().download(&link.url).await.unwrap_err().status().unwrap(), 403);
    let missing = client.received().share("8b3c4d5e-0000-4000-8000-000000000000").await.unwrap_err();
    assert_eq!(missing.status().unwrap(), 404);
}
