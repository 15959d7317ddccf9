//! `POST /emails`: accepted input, and the resulting mail.

use mail_parser::{HeaderForm, Message, MessageParser, MimeHeaders as _};
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_of, email_with};

fn parse(mime: &[u8]) -> Message<'_> {
    MessageParser::new().parse(mime).unwrap()
}

#[test]
fn email_01_an_accepted_email_returns_its_id_and_is_sent() {
    // EMAIL-01, EMAIL-64, GEN-18, SENT-01
    let sandbox = Sandbox::new();
    let body = sandbox.post("/emails", &email()).expect_status(200).json();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    let id = body["id"].as_str().unwrap();
    assert_eq!(uuid::Uuid::try_parse(id).unwrap().to_string(), id);

    let mail = sandbox.mail();
    assert_eq!(mail.email_id, id);
    let parsed = parse(&mail.mime);
    assert_eq!(parsed.subject(), Some("Hello"));
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), "It works");
    assert_eq!(sandbox.get("/emails").json()["data"][0]["id"], id);
}

#[test]
fn the_detail_record_adds_the_body_to_the_list_fields() {
    // SENT-11, GEN-25
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    let record = sandbox.record(&id);
    let expected = json!({
        "object": "email",
        "id": id,
        "message_id": format!("<{id}@acme.test>"),
        "to": ["ada@example.com"],
        "from": "Acme <hi@acme.test>",
        "created_at": "2026-03-02 12:00:00.000000+00",
        "subject": "Hello",
        "bcc": null,
        "cc": null,
        "reply_to": null,
        "last_event": "sent",
        "scheduled_at": null,
        "html": null,
        "text": "It works",
        "tags": [],
        "topic_id": null,
        "attachments": [],
    });
    assert_eq!(record, expected);
}

#[test]
fn the_mail_has_the_record_s_message_id() {
    // SENT-02
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    let mail = sandbox.mail();
    let message_id = sandbox.record(&id)["message_id"].as_str().unwrap().to_owned();
    assert_eq!(format!("<{}>", parse(&mail.mime).message_id().unwrap()), message_id);
}

#[test]
fn an_address_and_an_array_are_both_accepted_and_returned_as_arrays() {
    // EMAIL-04, EMAIL-05, EMAIL-07, EMAIL-08, EMAIL-12, EMAIL-13, SENT-03, SENT-04, SENT-07
    let sandbox = Sandbox::new();
    for from in
        ["hi@acme.test", "Acme <hi@acme.test>", "\"Acme, Inc.\" <hi@acme.test>", "Åsa Ö <hi@acme.test>"]
    {
        let id = sandbox.sent(&email_with("from", from));
        assert_eq!(sandbox.record(&id)["from"], from);
    }
    for field in ["to", "cc", "bcc", "reply_to"] {
        for (given, kept) in [
            (json!("a@example.com"), json!(["a@example.com"])),
            (json!(["a@example.com"]), json!(["a@example.com"])),
            (json!(["A <a@example.com>", "b@example.com"]), json!(["A <a@example.com>", "b@example.com"])),
        ] {
            let id = sandbox.sent(&email_with(field, given));
            assert_eq!(sandbox.record(&id)[field], kept, "{field}");
        }
    }
}

#[test]
fn mail_headers_name_all_recipients_except_bcc() {
    let sandbox = Sandbox::new();
    let email = email_of(&json!({
        "from": "\"Acme, Inc.\" <hi@acme.test>", "to": ["Åsa Öberg <asa@example.com>", "b@example.com"],
        "cc": "c@example.com", "bcc": "secret@example.com", "reply_to": ["r@example.com", "s@example.com"],
    }));
    sandbox.sent(&email);

    let mail = sandbox.mail();
    assert_eq!(mail.bcc, ["secret@example.com"], "the envelope has the recipient");
    assert!(!String::from_utf8_lossy(&mail.mime).contains("secret@"), "the mail does not");
    let parsed = parse(&mail.mime);
    let pairs = |address: Option<&mail_parser::Address<'_>>| -> Vec<(Option<String>, String)> {
        let one =
            |one: &mail_parser::Addr<'_>| (one.name().map(str::to_owned), one.address().unwrap().to_owned());
        address.unwrap().iter().map(one).collect()
    };
    assert_eq!(pairs(parsed.from()), [(Some("Acme, Inc.".into()), "hi@acme.test".into())]);
    assert_eq!(
        pairs(parsed.to()),
        [(Some("Åsa Öberg".into()), "asa@example.com".into()), (None, "b@example.com".into())]
    );
    assert_eq!(pairs(parsed.cc()), [(None, "c@example.com".into())]);
    assert_eq!(pairs(parsed.reply_to()), [(None, "r@example.com".into()), (None, "s@example.com".into())]);
}

#[test]
fn fifty_recipients_with_and_without_names_are_folded_correctly() {
    let name = |n| format!("Ünterabteilung für Längeres Nummer {n} <person{n}@example.com>");
    let bare = |n| format!("person{n}@department.example.com");
    for to in [(0..50).map(name).collect::<Vec<_>>(), (0..50).map(bare).collect()] {
        let sandbox = Sandbox::new();
        sandbox.sent(&email_with("to", to.clone()));
        let mail = sandbox.mail();
        assert!(!mail.mime.split(|byte| *byte == b'\n').any(|line| line.len() > 998), "RFC 5322, 2.1.1");
        let parsed = parse(&mail.mime);
        let found = parsed.to().unwrap().iter().map(|one| {
            let address = one.address().unwrap();
            one.name().map_or_else(|| address.to_owned(), |name| format!("{name} <{address}>"))
        });
        assert_eq!(found.collect::<Vec<_>>(), to);
    }
}

#[test]
fn email_17_text_or_html_alone_is_accepted() {
    // EMAIL-17
    let sandbox = Sandbox::new();
    sandbox.sent(&json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "text": "only text"}));
    let mail = sandbox.mail();
    assert_eq!(parse(&mail.mime).html_body_count(), 1, "the parser converts the text to HTML");
    assert!(mail.html.is_none());
    assert!(String::from_utf8_lossy(&mail.mime).contains("Content-Type: text/plain"));
}

#[test]
fn email_18_a_missing_text_is_derived_from_the_html() {
    // EMAIL-18
    let sandbox = Sandbox::new();
    let html = "<h1>Hi Ada</h1><p>Read <a href=\"https://acme.test/x\">this</a> &amp; that.</p>";
    let id = sandbox.sent(&json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "html": html}));
    let mail = sandbox.mail();
    let parsed = parse(&mail.mime);
    let text = parsed.body_text(0).unwrap().into_owned();
    assert!(text.contains("Hi Ada") && text.contains("& that.") && !text.contains("<p>"), "{text}");
    assert!(text.contains("https://acme.test/x"), "links survive: {text}");
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), html);
    assert_eq!(sandbox.record(&id)["text"], *mail.text.as_deref().unwrap());
}

#[test]
fn email_19_an_empty_text_disables_derivation() {
    // EMAIL-19
    let sandbox = Sandbox::new();
    let id = sandbox
        .sent(&json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "html": "<p>x</p>", "text": ""}));
    let mail = sandbox.mail();
    assert!(!String::from_utf8_lossy(&mail.mime).contains("text/plain"));
    assert_eq!(mail.text, None);
    assert_eq!(sandbox.record(&id)["text"], Value::Null);
}

#[test]
fn a_given_text_is_sent_unchanged_with_the_html() {
    let sandbox = Sandbox::new();
    let email = json!({
        "from": "a@b.test", "to": "c@d.test", "subject": "s", "html": "<p>x</p>", "text": "Grüße – 你好\nzweite Zeile"
    });
    sandbox.sent(&email);
    let mail = sandbox.mail();
    let parsed = parse(&mail.mime);
    assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n").trim_end(), "Grüße – 你好\nzweite Zeile");
    assert_eq!(parsed.content_type().unwrap().subtype(), Some("alternative"));
}

#[test]
fn email_22_custom_headers_are_in_the_mail() {
    // EMAIL-22
    let sandbox = Sandbox::new();
    let headers = json!({"X-Entity-Ref-ID": "123", "X-Greeting": "grüß Gott", "List-Unsubscribe": "<https://a.test/u>"});
    sandbox.sent(&email_with("headers", headers));
    let mail = sandbox.mail();
    let parsed = parse(&mail.mime);
    assert_eq!(parsed.header_raw("X-Entity-Ref-ID").unwrap().trim(), "123");
    assert_eq!(parsed.header_as("X-Greeting", HeaderForm::Text)[0].as_text(), Some("grüß Gott"));
    assert_eq!(parsed.header_raw("List-Unsubscribe").unwrap().trim(), "<https://a.test/u>");
}

#[test]
fn reserved_headers_are_ignored_with_a_warning() {
    let sandbox = Sandbox::new();
    let headers = json!({"From": "evil@example.com", "content-type": "text/evil", "X-Fine": "1"});
    let answer = sandbox.post("/emails", &email_with("headers", headers)).expect_status(200);
    assert_eq!(answer.header("x-sandbox-ignored-fields"), Some("/headers/From,/headers/content-type"));
    let mail = sandbox.mail();
    assert!(!String::from_utf8_lossy(&mail.mime).contains("evil"));
    assert_eq!(parse(&mail.mime).header_raw("X-Fine").unwrap().trim(), "1");
}

#[test]
fn unknown_fields_are_ignored_with_a_warning() {
    let sandbox = Sandbox::new();
    let mut email = email();
    email["replyTo"] = "x@example.com".into();
    email["tags"] = json!([{"name": "a", "value": "b", "colour": "red"}]);
    email["o,dd/näme"] = 1.into();
    let answer = sandbox.post("/emails", &email).expect_status(200);
    assert_eq!(answer.header("x-sandbox-ignored-fields"), Some("/tags/0/colour,/replyTo,/o%2Cdd~1n%C3%A4me"));
    assert_eq!(
        sandbox.post("/emails", &email_with("cc", Value::Null)).header("x-sandbox-ignored-fields"),
        None
    );
}

#[test]
fn null_and_empty_lists_are_treated_as_absent() {
    let sandbox = Sandbox::new();
    let mut email = email();
    let fields = "cc bcc reply_to html headers tags attachments scheduled_at topic_id template react";
    for field in fields.split(' ') {
        email[field] = Value::Null;
    }
    sandbox.sent(&email);
    // Integrations send empty lists of other recipients with every email.
    for none in [json!(""), json!([])] {
        for field in ["cc", "bcc", "reply_to"] {
            email[field] = none.clone();
        }
        let record = sandbox.record(&sandbox.sent(&email));
        for field in ["cc", "bcc", "reply_to"] {
            assert_eq!(record[field], Value::Null, "{field}: {none}");
        }
    }
}

#[test]
fn a_subject_in_any_script_round_trips() {
    for subject in ["", "Grüße", "日本語の件名".repeat(20).as_str(), "a\u{85}b\u{2028}c", "=?utf-8?Q?x?="]
    {
        let sandbox = Sandbox::new();
        let id = sandbox.sent(&email_with("subject", subject));
        assert_eq!(sandbox.record(&id)["subject"], subject);
        let mail = sandbox.mail();
        assert_eq!(parse(&mail.mime).header("From").map(|_| ()), Some(()), "{subject:?} broke the mail");
        assert_eq!(mail.mime.split(|byte| *byte == b'\n').filter(|l| l.starts_with(b"Subject:")).count(), 1);
    }
}

#[test]
fn tags_are_stored_with_the_record_and_the_mail() {
    let sandbox = Sandbox::new();
    let tags = json!([{"name": "category", "value": "confirm_email"}, {"name": "A-1", "value": "b_2"}]);
    let id = sandbox.sent(&email_with("tags", tags.clone()));
    assert_eq!(sandbox.record(&id)["tags"], tags);
    assert_eq!(sandbox.mail().tags[1].value, "b_2");
}

#[test]
fn email_66_the_three_other_routes_send_too() {
    // EMAIL-66
    for path in ["/email", "/emails/sending", "/email/sending", "/emails/"] {
        let sandbox = Sandbox::new();
        let answer = sandbox.post(path, &email());
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(sandbox.mail().email_id, answer.json()["id"]);
    }
}

#[test]
fn deeply_nested_and_malformed_html_is_accepted() {
    let sandbox = Sandbox::new();
    for html in [
        "<div>".repeat(20_000),
        "<table><tr><td>".repeat(300),
        "<ul><li>".repeat(2_000),
        "<<<&&&\0</p>".into(),
    ] {
        sandbox.sent(&json!({"from": "a@b.test", "to": "c@d.test", "subject": "s", "html": html}));
    }
    assert_eq!(sandbox.mails().len(), 4);
}

#[test]
fn an_email_has_at_most_75_tags() {
    let tags = |count: usize| -> Value {
        (0..count).map(|n| json!({"name": format!("n{n}"), "value": "v"})).collect()
    };
    let sandbox = Sandbox::new();
    sandbox.sent(&email_with("tags", tags(75)));
    sandbox.refused(&email_with("tags", tags(76))).invalid("`tags` must have at most 75 tags; found 76");
    let answer = sandbox.post("/emails/batch", &json!([email_with("tags", tags(76))]));
    assert!(answer.message().contains("`[0].tags` must have at most 75 tags"), "{}", answer.message());
}

#[test]
fn a_list_item_names_the_topic_of_its_email() {
    let sandbox = Sandbox::new();
    let topic = sandbox.post("/topics", &json!({"name": "News", "default_subscription": "opt_in"})).json();
    sandbox.sent(&email());
    sandbox.sent(&email_with("topic_id", topic["id"].clone()));
    let items = sandbox.get("/emails").json();
    assert_eq!(items["data"][0]["topic_id"], topic["id"]);
    assert!(items["data"][1].get("topic_id").is_none(), "the specification's item has none");
}
