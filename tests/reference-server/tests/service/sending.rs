//! `POST /emails`: what is taken, and what comes of it.

use mail_parser::MessageParser;
use serde_json::json;

use crate::support::{Sandbox, email};

#[test]
fn an_accepted_email_is_answered_with_its_id_and_leaves_as_a_mail() {
    // EMAIL-01, EMAIL-64, GEN-18
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    let mail = sandbox.mail();
    assert_eq!(mail.email_id, id);
    let parsed = MessageParser::new().parse(&mail.mime[..]).unwrap();
    assert_eq!(parsed.subject(), Some("Hello"));
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), "It works");
}

#[test]
fn a_sent_email_is_listed_and_delivered_a_second_later() {
    // SENT-01, SENT-08
    let sandbox = Sandbox::new();
    let id = sandbox.sent(&email());
    let list = sandbox.get("/emails").json();
    assert_eq!(list["object"], "list");
    assert_eq!(list["has_more"], false);
    assert_eq!(list["data"][0]["id"], json!(id));
    assert_eq!(list["data"][0]["last_event"], "sent");
    sandbox.advance(1);
    assert_eq!(sandbox.last_event(&id), "delivered");
}
