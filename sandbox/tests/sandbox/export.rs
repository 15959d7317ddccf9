//! Exports of captured mails: `/_/export`.

use http::Method;
use idempost_sandbox::Settings;
use mail_parser::mailbox::mbox::MessageIterator;
use serde_json::{Value, json};

use crate::served::Served;
use crate::support::{Sandbox, email_of, email_with};

fn sandbox_with_tricky_mails() -> Sandbox {
    let sandbox = Sandbox::new();
    for (subject, text) in [
        ("first", "From here on\r\n>From there\n>>From all\nfrom below\n\n\nFrom"),
        ("second", "no end of line"),
        ("third", "From nobody@example.com Mon Mar  2 12:00:00 2026\n\nSubject: forged"),
    ] {
        let email = email_of(&json!({"subject": subject, "text": text, "headers": {"X-Kept": "yes"}}));
        sandbox.sent(&email);
    }
    sandbox
}

#[test]
fn an_mbox_round_trips_every_mail_oldest_first() {
    let sandbox = sandbox_with_tricky_mails();
    let answer = sandbox.get("/_/export?format=mbox");
    assert_eq!(answer.headers["content-type"], "application/mbox");
    assert_eq!(answer.headers["content-disposition"], "attachment; filename=\"sandbox.mbox\"");
    let mbox = answer.text();
    assert!(mbox.starts_with("From hi@acme.test Mon Mar  2 12:00:00 2026\n"), "{mbox}");
    assert!(mbox.ends_with("\n\n") && !mbox.contains('\r'));
    assert!(mbox.contains("\n>From here on\n>>From there\n>>>From all\nfrom below\n"), "{mbox}");
    let parts: Vec<_> = MessageIterator::new(mbox.as_bytes()).map(Result::unwrap).collect();
    let mut mails = sandbox.mails();
    mails.reverse();
    assert_eq!(parts.len(), 3);
    for (part, mail) in parts.iter().zip(&mails) {
        assert_eq!(part.from(), "hi@acme.test");
        let whole = String::from_utf8(mail.mime.to_vec()).unwrap().replace("\r\n", "\n");
        let parsed = mail_parser::MessageParser::new().parse(part.contents()).unwrap();
        assert_eq!(parsed.subject(), Some(&*mail.subject));
        // Unquoting by the mboxrd rule restores every byte.
        let unquoted: Vec<_> = mbox
            .split_inclusive('\n')
            .map(|line| match line.strip_prefix('>') {
                Some(rest) if rest.trim_start_matches('>').starts_with("From ") => rest,
                _ => line,
            })
            .collect();
        assert!(unquoted.concat().contains(&whole), "{whole}");
    }
}

#[test]
fn json_matches_the_inbox_records() {
    let sandbox = sandbox_with_tricky_mails();
    let answer = sandbox.get("/_/export?format=json");
    let all: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let subjects: Vec<_> = all.iter().map(|mail| mail["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["first", "second", "third"]);
    for mail in &all {
        assert_eq!(*mail, sandbox.get(format!("/_/messages/{}", mail["id"].as_str().unwrap())).json());
    }
    assert_eq!(Sandbox::new().get("/_/export?format=json").json(), json!([]));
    assert_eq!(Sandbox::new().get("/_/export?format=mbox").text(), "");
}

#[test]
fn list_filters_and_ids_select_mails() {
    let sandbox = sandbox_with_tricky_mails();
    let subjects = |query: &str| {
        let answer = sandbox.get(format!("/_/export?format=json&{query}"));
        let all: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
        all.iter().map(|mail| mail["subject"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let ids: Vec<_> = sandbox.mails().iter().map(|mail| mail.id.clone()).collect();
    assert_eq!(subjects("subject=sec"), ["second"]);
    assert_eq!(subjects("to=nobody"), [""; 0]);
    assert_eq!(subjects(&format!("id={}&id={}", ids[2], ids[0])), ["first", "third"], "in the order given");
    let gone = "00000000-0000-4000-8000-000000000000";
    assert_eq!(subjects(&format!("id={gone}&id={}", ids[1])), ["second"]);
    let other = sandbox.ask(Method::GET, "/_/export?format=json").key("sb_other").send("");
    assert_eq!(other.json(), json!([]), "each key has its own mails");
}

#[test]
fn invalid_exports_are_rejected() {
    let sandbox = Sandbox::new();
    for query in ["", "?format=", "?format=eml", "?format=mbox&id=x", "?format=mbox&query=tag:"] {
        let answer = sandbox.get(format!("/_/export{query}"));
        assert_eq!(answer.status, 422, "{query} {}", answer.text());
    }
    let many = "&id=00000000-0000-4000-8000-000000000000".repeat(1_001);
    assert!(sandbox.get(format!("/_/export?format=mbox{many}")).text().contains("At most 1000"));
    assert_eq!(sandbox.ask(Method::POST, "/_/export?format=mbox").send("").status, 405);
    assert_eq!(sandbox.ask(Method::GET, "/_/export?format=mbox").no_key().send("").status, 401);
}

/// The memory of [`large_export`]: 3/16 of it are for responses in flight.
const MEMORY: usize = 64 << 20;

/// A running sandbox with mails of more than its responses in flight may take.
async fn large_export() -> Served {
    let server = Served::start(Settings { max_memory: MEMORY, ..Settings::default() }).await;
    let file = json!([{"filename": "a.bin", "content": "AAAA".repeat(1 << 20)}]);
    let email = email_with("attachments", file);
    for _ in 0..4 {
        server.sent(&email);
    }
    server
}

const EXPORT: &str = "/_/export?format=mbox";

#[tokio::test]
async fn an_export_of_any_size_is_streamed_completely() {
    let server = large_export().await;
    let body = server.over_http(Method::GET, EXPORT, &Value::Null).await.body;
    assert!(body.len() > MEMORY / 4, "{}", body.len());
    assert_eq!(memchr::memmem::find_iter(&body, "From hi@acme.test ").count(), 4);
    assert!(body.ends_with(b"\n\n"));
    // Without a connection, there is no stream.
    server.get(EXPORT).expect_status(501);
}

#[tokio::test]
async fn an_interrupted_export_does_not_look_complete() {
    let server = large_export().await;
    let mut response = server.request(Method::GET, EXPORT).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.chunk().await.unwrap();
    drop(server);
    let mut error = None;
    while error.is_none() {
        match response.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the export ended as if it were complete"),
            Err(failed) => error = Some(failed),
        }
    }
}
