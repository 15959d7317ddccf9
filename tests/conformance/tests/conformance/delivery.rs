use std::time::Duration;

use idempost_conformance::bench::Bench;
use mail_parser::{HeaderForm, MessageParser, MimeHeaders as _};
use serde_json::json;

use super::{letters, with};

#[tokio::test]
async fn the_mail_has_the_custom_headers() {
    // EMAIL-22
    let bench = Bench::start().await;
    let email = with(json!({
        "from": "Zoë <zoe@acme.test>", "to": ["Ada <ada@example.com>"], "cc": "c@example.com", "bcc": "b@example.com",
        "reply_to": "help@acme.test", "subject": "Grüße", "headers": { "X-Order": "17", "x-long": letters(2_000) },
    }));
    assert_eq!(bench.post("/emails", &email).status, 200);
    let mails = bench.mails();
    let mail = MessageParser::default().parse(&mails[0].mime[..]).unwrap();
    assert_eq!(mail.subject(), Some("Grüße"));
    let from = mail.from().unwrap().first().unwrap();
    assert_eq!((from.name(), from.address()), (Some("Zoë"), Some("zoe@acme.test")));
    assert_eq!(mail.to().unwrap().first().unwrap().address(), Some("ada@example.com"));
    assert_eq!(mail.cc().unwrap().first().unwrap().address(), Some("c@example.com"));
    assert_eq!(mail.reply_to().unwrap().first().unwrap().address(), Some("help@acme.test"));
    assert_eq!(mail.header("X-Order").unwrap().as_text(), Some("17"));
    let long = mail.header_as("x-long", HeaderForm::Text);
    assert_eq!(long[0].as_text(), Some(&*letters(2_000)));
    assert!(!String::from_utf8_lossy(&mails[0].mime).contains("b@example.com"), "a Bcc recipient is visible");
    assert_eq!(mails[0].bcc, ["b@example.com"]);
}

#[tokio::test]
async fn text_is_derived_from_html_unless_it_is_set_or_disabled() {
    // EMAIL-18, EMAIL-19
    let bench = Bench::start().await;
    for (text, part) in [(json!(null), Some("works")), (json!("Mine"), Some("Mine")), (json!(""), None)] {
        let email = with(json!({ "html": "<p>It <b>works</b></p>", "text": text }));
        assert_eq!(bench.post("/emails", &email).status, 200);
        let mails = bench.mails();
        let mail = MessageParser::default().parse(&mails[0].mime[..]).unwrap();
        assert!(mail.body_html(0).unwrap().contains("<b>works</b>"));
        let plain = mail.parts.iter().find(|part| part.is_content_type("text", "plain"));
        match part {
            Some(expected) => assert!(plain.unwrap().text_contents().unwrap().contains(expected)),
            None => assert!(plain.is_none(), "a text part despite an empty text"),
        }
    }
}

#[tokio::test]
async fn a_scheduled_email_is_sent_at_its_time() {
    // EMAIL-14, EMAIL-15, SENT-10
    for when in ["in 1 min", "2030-01-01T00:01:00Z", "2030-01-01T01:01:00+01:00"] {
        let bench = Bench::start().await;
        let clock = bench.service().clock();
        clock.freeze();
        clock.set("2030-01-01T00:00:00Z".parse().unwrap());
        let reply = bench.post("/emails", &with(json!({ "scheduled_at": when })));
        let record = || bench.get(&format!("/emails/{}", reply.json["id"].as_str().unwrap())).json;
        assert_eq!(record()["last_event"], "scheduled");
        assert_eq!(record()["scheduled_at"], "2030-01-01 00:01:00.000000+00");
        clock.advance(Duration::from_secs(59));
        assert!(bench.mails().is_empty(), "{when}: sent early");
        clock.advance(Duration::from_secs(1));
        assert_eq!(bench.mails().len(), 1, "{when}: not sent");
        assert_eq!(record()["last_event"], "sent");
    }
}

#[tokio::test]
async fn an_invalid_schedule_is_refused() {
    let bench = Bench::start().await;
    for when in ["soonish", "2020-01-01T00:00:00Z", "2030-13-01T00:00:00Z", "yesterday"] {
        let reply = bench.post("/emails", &with(json!({ "scheduled_at": when })));
        assert_eq!((reply.status.as_u16(), reply.name()), (422, "validation_error"), "{when}");
        assert!(reply.message().contains("scheduled_at"));
    }
    assert!(bench.mails().is_empty());
}
