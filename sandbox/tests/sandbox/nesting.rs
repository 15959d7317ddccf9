//! Mails with excessively nested parts or costly headers, on every entry point.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use idempost_sandbox::{Fetched, NotReceived};
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::smtp_receiving::{SmtpServer, auth_plain};
use crate::support::{Answer, KEY, Sandbox, email_with};

/// How a mail's parts are nested.
#[derive(Clone, Copy, Debug)]
enum Nesting {
    /// `message/rfc822` inside `message/rfc822`, repeatedly.
    Message,
    /// `multipart/digest`, whose parts are messages by default.
    Digest,
    /// The messages of [`Nesting::Message`] in a Base64-encoded part.
    Encoded,
}

const NESTINGS: [Nesting; 3] = [Nesting::Message, Nesting::Digest, Nesting::Encoded];
/// Far fewer levels overflow a 2 MiB stack.
const MANY: usize = 25_000;

fn mail(nesting: Nesting, levels: usize) -> Vec<u8> {
    let mut mail = "From: ada@example.com\r\nTo: hi@acme.test\r\nSubject: Deep\r\n".to_owned();
    match nesting {
        Nesting::Message => mail += &messages(levels),
        Nesting::Digest => {
            for level in 0..levels / 2 {
                write!(mail, "Content-Type: multipart/digest; boundary=b{level}\r\n\r\n--b{level}\r\n\r\n")
                    .unwrap();
            }
            mail += "Subject: Innermost\r\n\r\ntext\r\n";
        }
        Nesting::Encoded => {
            let inner = STANDARD.encode(messages(levels - 1));
            write!(
                mail,
                "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n{inner}\r\n"
            )
            .unwrap();
        }
    }
    mail.into_bytes()
}

fn messages(levels: usize) -> String {
    format!("{}Subject: Innermost\r\n\r\ntext\r\n", "Content-Type: message/rfc822\r\n\r\n".repeat(levels))
}

fn attached(nesting: Nesting, levels: usize) -> Value {
    let content = STANDARD.encode(mail(nesting, levels));
    email_with(
        "attachments",
        json!([{"filename": "deep.eml", "content_type": "message/rfc822", "content": content}]),
    )
}

fn received(sandbox: &Sandbox, mail: Vec<u8>) -> Answer {
    sandbox.ask(Method::POST, "/_/received").header("content-type", "message/rfc822").send(mail)
}

const RULE: &str = "has more than 100 levels of parts";

#[test]
fn too_deeply_nested_mail_is_rejected_on_every_entry_point() {
    for nesting in NESTINGS {
        let sandbox = Sandbox::new();
        let answer = received(&sandbox, mail(nesting, MANY));
        answer.rejected(422, "validation_error", RULE);

        let refused = sandbox.service.receive(KEY, &["hi@acme.test"], mail(nesting, MANY));
        assert!(matches!(refused, Err(NotReceived::TooComplex(_))), "{nesting:?}: {refused:?}");

        let answer = sandbox.refused(&attached(nesting, MANY));
        assert!(answer.message().contains("`attachments[0].content`"), "{nesting:?}: {}", answer.message());
        assert!(answer.message().contains(RULE), "{nesting:?}: {}", answer.message());

        let mut request = attached(nesting, MANY);
        request["from"] = "ada@example.com".into();
        sandbox.post("/_/received", &request).expect_status(422);
        assert_eq!(sandbox.get("/emails/receiving").json()["data"], json!([]));
    }
}

#[tokio::test]
async fn smtp_rejects_too_deeply_nested_mail_and_accepts_the_next() {
    let server = SmtpServer::open(&idempost_sandbox::Settings::default()).await;
    for nesting in NESTINGS {
        let replies = server.deliver(&mail(nesting, MANY)).await;
        assert!(replies.starts_with("554 5.6.0 ") && replies.contains(RULE), "{nesting:?}: {replies}");
        let login = auth_plain("resend", "sb_sender");
        let replies = server.deliver_after(&["HELO me", &login], &mail(nesting, MANY)).await;
        assert!(replies.starts_with("554 5.6.0 ") && replies.contains(RULE), "{nesting:?}: {replies}");
        let replies = server.deliver(&mail(nesting, 40)).await;
        assert!(replies.starts_with("250 2.0.0 "), "{nesting:?}: {replies}");
    }
    assert_eq!(server.received("sb_local").len(), NESTINGS.len());
}

#[test]
fn an_email_with_a_too_deeply_nested_fetched_file_fails() {
    for nesting in NESTINGS {
        let sandbox = Sandbox::new();
        let file = json!([{"path": "https://files.acme.test/deep.eml", "content_type": "message/rfc822"}]);
        let id = sandbox.sent(&email_with("attachments", file));
        let job = sandbox.service.next_fetch().unwrap();
        let content = Bytes::from(mail(nesting, MANY));
        sandbox.service.finish_fetch(job, Ok(vec![Fetched { index: 0, content }]));
        assert_eq!(sandbox.last_event(&id), "failed", "{nesting:?}");
        assert!(sandbox.mails().is_empty());
    }
}

#[test]
fn moderately_nested_mail_is_accepted_displayed_and_stored() {
    for nesting in NESTINGS {
        let mut sandbox = Restartable::new();
        assert_eq!(received(&sandbox, mail(nesting, 90)).status, 201, "{nesting:?}");
        sandbox.sent(&attached(nesting, 90));
        let paths = views(&sandbox);
        sandbox.restart();
        assert_eq!(views(&sandbox), paths, "{nesting:?}");
    }
}

/// The responses of all views of the newest sent and received mail.
fn views(sandbox: &Sandbox) -> Vec<(String, Value)> {
    let newest = |list: &str| sandbox.get(list).json()["data"][0]["id"].as_str().unwrap().to_owned();
    let (sent, received) = (newest("/_/messages"), newest("/_/received"));
    let paths = [
        format!("/_/messages/{sent}"),
        format!("/_/messages/{sent}/about"),
        format!("/_/received/{received}"),
        format!("/emails/receiving/{received}/attachments"),
    ];
    paths
        .into_iter()
        .map(|path| {
            let answer = sandbox.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            (path, answer.json())
        })
        .collect()
}

#[tokio::test]
async fn costly_headers_are_rejected_on_every_entry_point() {
    let server = SmtpServer::open(&idempost_sandbox::Settings::default()).await;
    let segments: Vec<_> = (0..20_000).map(|number| format!(" a*{number}=b;\r\n")).collect();
    let segments = segments.concat();
    let words = "=?utf-8?q?x\r\n ".repeat(20_000);
    for (field, rule) in [
        (format!("Content-Type: text/plain;\r\n{segments}"), "more than 500 continued"),
        (format!("Subject: {words}"), "unterminated encoded words"),
        (format!("X-Long: {}", "x\r\n ".repeat(1_100_000)), "more than 4 MiB of headers"),
    ] {
        let mail = format!("From: ada@example.com\r\nTo: hi@acme.test\r\n{}\r\n\r\nx\r\n", field.trim_end())
            .into_bytes();
        let replies = server.deliver(&mail).await;
        assert!(replies.starts_with("554 5.6.0 ") && replies.contains(rule), "{replies}");
        let sandbox = Sandbox::new();
        let answer = received(&sandbox, mail.clone());
        assert!(answer.status == 422 && answer.message().contains(rule), "{}", answer.message());
        let attached = json!([{"filename": "a.eml", "content_type": "message/rfc822", "content": STANDARD.encode(&mail)}]);
        let answer = sandbox.refused(&email_with("attachments", attached));
        assert!(
            answer.message().contains("`attachments[0].content`") && answer.message().contains(rule),
            "{}",
            answer.message()
        );
    }
    assert!(server.received("sb_local").is_empty());
}
