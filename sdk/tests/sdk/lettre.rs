//! Messages that were built with lettre.

use idempost::{
    Client, Email,
    lettre::{
        Message,
        address::Envelope,
        message::{
            Attachment, Body, MessageBuilder, MultiPart, SinglePart,
            header::{ContentDisposition, ContentType, HeaderName, HeaderValue},
        },
    },
    problem::Problems,
};
use idempost_reference_server::ReferenceServer;
use serde_json::{Value, json};

fn message() -> MessageBuilder {
    Message::builder()
        .from("\"Acme, Inc.\" <hi@acme.test>".parse().unwrap())
        .to("Ada <ada@example.com>".parse().unwrap())
        .subject("Grüße, heute mit einem Betreff, der länger ist als eine Zeile einer Nachricht sein darf")
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn json_of(message: &Message) -> Value {
    let email = Email::try_from(message).unwrap();
    email.check().unwrap();
    serde_json::to_value(&email).unwrap()
}

fn rejected(message: &Message) -> Vec<String> {
    let problems = Email::try_from(message).err().map(Problems::into_vec).unwrap_or_default();
    problems.into_iter().map(|problem| format!("{} {}", problem.path, problem.message)).collect()
}

#[test]
fn every_part_of_a_message_is_converted() {
    let logo = Attachment::new_inline("logo".to_owned())
        .body(vec![0_u8, 159, 146, 150], ContentType::parse("image/png").unwrap());
    let report = Attachment::new("Bericht März.csv".to_owned())
        .body("äpfel,17\n".to_owned(), ContentType::parse("text/csv; charset=utf-8").unwrap());
    let html = MultiPart::related()
        .singlepart(SinglePart::html("<p>Größe</p>\n<img src='cid:logo'>".to_owned()))
        .singlepart(logo);
    let bodies =
        MultiPart::alternative().singlepart(SinglePart::plain("Größe\nzwei".to_owned())).multipart(html);
    let message = message()
        .to("bob@example.com".parse().unwrap())
        .cc("cy@example.com".parse().unwrap())
        .bcc("Dee <dee@example.com>".parse().unwrap())
        .reply_to("help@acme.test".parse().unwrap())
        .in_reply_to("<m1@acme.test>".to_owned())
        .raw_header(header("X-Order", "17 für Ada"))
        .raw_header(header("message-id", "<order-17@acme.test>"))
        .multipart(MultiPart::mixed().multipart(bodies).singlepart(report))
        .unwrap();
    let expected = json!({
        "from": "\"Acme, Inc.\" <hi@acme.test>",
        "to": ["Ada <ada@example.com>", "bob@example.com"],
        "cc": ["cy@example.com"],
        "bcc": ["dee@example.com"],
        "reply_to": ["help@acme.test"],
        "subject": "Grüße, heute mit einem Betreff, der länger ist als eine Zeile einer Nachricht sein darf",
        "text": "Größe\nzwei",
        "html": "<p>Größe</p>\n<img src='cid:logo'>",
        "headers": {
            "In-Reply-To": "<m1@acme.test>", "X-Order": "17 für Ada", "message-id": "<order-17@acme.test>",
        },
        "attachments": [
            {"content_type": "image/png", "content_id": "logo", "content": "AJ+Slg=="},
            {"filename": "Bericht März.csv", "content_type": "text/csv", "content": "w6RwZmVsLDE3DQo="},
        ],
    });
    assert_eq!(json_of(&message), expected);
}

#[test]
fn a_message_of_one_part_is_its_text_or_html() {
    let text = json_of(&message().body("It works".to_owned()).unwrap());
    assert_eq!((&text["text"], text.get("html")), (&json!("It works"), None));
    let html = json_of(&message().singlepart(SinglePart::html("<p>It works</p>".to_owned())).unwrap());
    // lettre ends a part with a line break.
    assert_eq!((html.get("text"), &html["html"]), (None, &json!("<p>It works</p>\n")));
    let kept = message().keep_bcc().bcc("Dee <dee@example.com>".parse().unwrap());
    assert_eq!(json_of(&kept.body("x".to_owned()).unwrap())["bcc"], json!(["Dee <dee@example.com>"]));
}

#[test]
fn what_an_email_cannot_represent_is_named() {
    let senders = message().from("bob@acme.test".parse().unwrap()).sender("bob@acme.test".parse().unwrap());
    assert_eq!(
        rejected(&senders.body("x".to_owned()).unwrap()),
        ["/from an email must have exactly one sender"]
    );
    let sender = message().sender("bob@acme.test".parse().unwrap()).body("x".to_owned()).unwrap();
    let expected = [
        "/headers/Sender `Sender` must be the same as `From`",
        "/from the envelope's sender must be the same as `From`",
    ];
    assert_eq!(rejected(&sender), expected);
    let envelope =
        Envelope::new(Some("hi@acme.test".parse().unwrap()), vec!["bob@example.com".parse().unwrap()]);
    let partial = message().envelope(envelope.unwrap()).body("x".to_owned()).unwrap();
    assert_eq!(
        rejected(&partial),
        ["/to the envelope must include all addresses in the headers, since the email is sent to them"]
    );
    let signed = MultiPart::signed("application/pgp-signature".to_owned(), "pgp-sha256".to_owned())
        .singlepart(SinglePart::plain("x".to_owned()));
    let signed = message().multipart(signed).unwrap();
    assert_eq!(rejected(&signed), [" a body of type multipart/signed isn't supported"]);
    let invitation = MultiPart::alternative().singlepart(SinglePart::plain("x".to_owned())).singlepart(
        SinglePart::builder().header(ContentType::parse("text/calendar").unwrap()).body("BEGIN".to_owned()),
    );
    assert_eq!(
        rejected(&message().multipart(invitation).unwrap()),
        [" a body of type text/calendar isn't supported"]
    );
    let twice = MultiPart::mixed()
        .singlepart(SinglePart::plain("x".to_owned()))
        .singlepart(SinglePart::plain("y".to_owned()));
    assert_eq!(
        rejected(&message().multipart(twice).unwrap()),
        ["/text an email can have only one body of type text/plain"]
    );
    let latin = SinglePart::builder()
        .header(ContentType::parse("text/plain; charset=iso-8859-1").unwrap())
        .header(ContentDisposition::attachment("a.txt"))
        .body(Body::new(vec![0xe4_u8]));
    let latin = message().multipart(MultiPart::mixed().singlepart(latin)).unwrap();
    assert_eq!(
        rejected(&latin),
        ["/attachments an attachment of type text/plain must be decodable, and text must be UTF-8"]
    );
}

#[tokio::test]
async fn a_converted_message_is_accepted() {
    let server = ReferenceServer::start().await;
    let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
    let message = message().body("It works".to_owned()).unwrap();
    client.emails().send(&Email::try_from(&message).unwrap()).await.unwrap();
    let mails = server.service().mails("sb_test");
    assert_eq!((mails.len(), mails[0].text.as_deref()), (1, Some("It works")));
}
