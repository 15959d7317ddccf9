use idempost::{Error, emails::LastEvent};
use idempost_conformance::peer::{Act, Peer};
use serde_json::{Value, json};

use super::{client, send};

fn item() -> Value {
    json!({
        "id": "4ef9a417-02e9-4d39-ad75-9611e0fcc33c", "message_id": "<a@b>", "to": ["ada@example.com"],
        "from": "hi@acme.test", "created_at": "2026-11-22 15:28:00.123456+00", "subject": "Hello", "bcc": null,
        "cc": null, "reply_to": null, "last_event": "delivered", "scheduled_at": null,
    })
}

async fn list(item: &Value) -> Result<idempost::emails::SentEmailSummary, Error> {
    let body = json!({ "object": "list", "data": [item], "has_more": false });
    let peer = Peer::acting([Act::json(200, &body.to_string())]).await;
    let page = client(&peer.base_url()).emails().list().await?;
    Ok(page.data.into_iter().next().unwrap())
}

#[tokio::test]
async fn edge_cases_of_json_never_panic() {
    // B-19
    let deep = |n: usize| format!(r#"{{"id":"1","more":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    for body in [deep(100), deep(1_000_000), r#"{"id":"1","n":1e400}"#.to_owned()] {
        let peer = Peer::acting([Act::json(200, &body)]).await;
        match send(&peer).await {
            Ok(accepted) => assert_eq!(accepted.id.as_str(), "1"),
            Err(error) => assert!(matches!(error, Error::Decode(_)), "{error:?}"),
        }
    }
    for body in [
        "\u{feff}{\"id\":\"1\"}",
        r#"{"id":"1","id":"2"}"#,
        r#"{"id":"\ud800"}"#,
        r#"{"id":9223372036854775808}"#,
    ] {
        let peer = Peer::acting([Act::json(200, body)]).await;
        assert!(matches!(send(&peer).await.unwrap_err(), Error::Decode(_)), "{body}");
    }
}

#[tokio::test]
async fn unknown_fields_and_values_are_preserved() {
    // GEN-32, GEN-33, B-20
    let mut item = item();
    item["brand_new"] = json!({ "a": [1, 2] });
    item["last_event"] = json!("teleported");
    let email = list(&item).await.unwrap();
    assert_eq!(email.last_event.unwrap().as_str(), "teleported");
}

#[tokio::test]
async fn null_and_missing_fields_are_absent() {
    // GEN-26, B-20
    for field in ["bcc", "cc", "reply_to", "scheduled_at"] {
        let mut without = item();
        without.as_object_mut().unwrap().remove(field);
        for item in [item(), without] {
            let email = list(&item).await.unwrap();
            assert_eq!((email.bcc, email.cc, email.reply_to, email.scheduled_at), (None, None, None, None));
        }
    }
}

#[tokio::test]
async fn a_field_of_another_type_is_converted_or_reported_with_its_path() {
    // B-20
    for (field, value) in [("id", json!(7)), ("to", json!("ada@example.com")), ("from", json!([]))] {
        let mut item = item();
        item[field] = value.clone();
        let email = list(&item).await.unwrap();
        assert_eq!(email.malformed_fields().collect::<Vec<_>>(), [(field, &value)]);
    }
    for id in [Value::Null, json!([]), json!({})] {
        let mut item = item();
        item["id"] = id;
        let Error::Decode(unreadable) = list(&item).await.unwrap_err() else { panic!("readable") };
        assert_eq!(unreadable.path, "data[0].id");
    }
}

#[tokio::test]
async fn both_timestamp_formats_denote_the_same_instant() {
    // GEN-22, GEN-24, B-21
    for fraction in ["", ".1", ".123", ".123456", ".123456789"] {
        for text in [format!("2026-11-22 15:28:00{fraction}+00"), format!("2026-11-22T15:28:00{fraction}Z")] {
            let mut item = item();
            item["created_at"] = json!(text);
            let email = list(&item).await.unwrap();
            assert_eq!(email.created_at.as_str(), text);
            assert_eq!(email.created_at.unix_seconds(), Some(1_795_361_280), "{text}");
        }
    }
}

#[tokio::test]
async fn an_invalid_timestamp_is_kept_as_text() {
    // B-21
    for text in ["", "soon", "2026-13-45 99:99:99+00", "10000-01-01 00:00:00+00", "2016-12-31T23:59:60Z"] {
        let mut item = item();
        item["created_at"] = json!(text);
        assert_eq!(list(&item).await.unwrap().created_at.as_str(), text);
    }
}

#[tokio::test]
async fn delivered_and_opened_are_known_events() {
    // SENT-09
    for (text, event) in [("delivered", LastEvent::Delivered), ("opened", LastEvent::Opened)] {
        let mut item = item();
        item["last_event"] = json!(text);
        assert_eq!(list(&item).await.unwrap().last_event, Some(event));
    }
}
