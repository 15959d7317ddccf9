//! Release of emails to a real server: `/_/messages/{id}/release`, `/_/received/{id}/release`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use idempost_sandbox::{AllowList, Outgoing, Relay, RelayError, Settings};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::served::Served;
use crate::support::{Answer, Sandbox, email, email_of, email_with, wait_until};

pub(crate) type Sent = Arc<Mutex<Vec<Outgoing>>>;

/// A server that accepts mails unless their first recipient is `refused@…`, and loses the reply to `lost@…`.
pub(crate) fn relay(forwards: bool, allow: &[&str]) -> (Relay, Sent) {
    let sent = Sent::default();
    let seen = Arc::clone(&sent);
    let relay = Relay::new("smtp://mail.acme.test", forwards, AllowList::new(allow).unwrap(), move |mail| {
        let user = mail.recipients()[0].split('@').next().unwrap().to_owned();
        seen.lock().unwrap().push(mail);
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let error = |code, text: &str| Err(RelayError { code, text: text.to_owned() });
            match user.as_str() {
                "refused" => error(Some(550), "5.1.1 No such user"),
                "lost" => error(None, "incomplete response"),
                _ => Ok("250 2.0.0 OK".to_owned()),
            }
        }
    });
    (relay, sent)
}

async fn server(allow: &[&str]) -> (Served, Sent) {
    let server = Served::start(Settings::default()).await;
    let (relay, sent) = relay(false, allow);
    server.service.set_relay(relay);
    (server, sent)
}

/// Releases an email over HTTP.
async fn release(server: &Served, path: &str, body: &Value) -> Answer {
    let answer = server.over_http(Method::POST, &format!("{path}/release"), body).await;
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert!(answer.header("cross-origin-resource-policy").is_some());
    answer
}

fn timeline(sandbox: &Sandbox, path: &str) -> Vec<Value> {
    let timeline = sandbox.get(format!("{path}/timeline")).json();
    timeline["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_response_has_the_reply_and_the_timeline_all_attempts() {
    let (server, sent) = server(&["*@acme.test"]).await;
    let path = format!("/_/messages/{}", server.sent(&email()));
    let release_to = async |to: Value| release(&server, &path, &json!({ "to": to })).await;
    let answer = release_to(json!(["QA <qa@ACME.test>", "qa@acme.test"])).await.expect_status(200);
    assert_eq!(
        answer.json(),
        json!({"object": "release", "to": ["qa@acme.test"], "server": "smtp://mail.acme.test", "reply": "250 2.0.0 OK"})
    );
    let answer = release_to(json!("refused@acme.test")).await;
    let refusal = "smtp://mail.acme.test did not accept the email: 550 5.1.1 No such user";
    answer.rejected(422, "release_rejected", refusal);
    let answer = release_to(json!("lost@acme.test")).await;
    let unconfirmed = "smtp://mail.acme.test did not confirm the email: incomplete response";
    answer.rejected(422, "release_rejected", unconfirmed);
    let answer = release_to(json!(["ada@example.com", "qa@acme.test"])).await;
    answer.invalid("The email was not released: \"ada@example.com\" isn't allowed by --smtp-allow.");
    let events = timeline(&server, &path);
    let relayed: Vec<_> = events.iter().filter(|event| event.get("to").is_some()).collect();
    let shown: Vec<_> = relayed.iter().map(|one| json!([one["event"], one["to"], one["reason"]])).collect();
    assert_eq!(
        shown,
        [
            json!(["released", ["qa@acme.test"], "250 2.0.0 OK"]),
            json!(["not_released", ["refused@acme.test"], "550 5.1.1 No such user"]),
            json!(["not_released", ["lost@acme.test"], "incomplete response"]),
            json!(["not_released", ["ada@example.com"], "isn't allowed by --smtp-allow"]),
        ]
    );
    assert_eq!(events[0]["event"], "accepted");
    let sent = sent.lock().unwrap();
    assert_eq!(
        sent.iter().map(|mail| mail.recipients().to_vec()).collect::<Vec<_>>(),
        [["qa@acme.test"], ["refused@acme.test"], ["lost@acme.test"]]
    );
    assert_eq!((sent[0].sender(), sent[0].message()), (Some("hi@acme.test"), &*server.mail().mime));
}

#[tokio::test]
async fn a_received_mail_is_released_and_an_unsent_one_is_not() {
    let (server, sent) = server(&[]).await;
    let raw = "From: broken\r\nBcc: eve@evil.test\r\nSubject: Hi\r\n\r\nBcc: text\r\n";
    let id = server.service.receive("sb_test", &["support@acme.test"], raw).unwrap();
    let path = format!("/_/received/{id}");
    let to_qa = json!({"to": "qa@acme.test"});
    release(&server, &path, &to_qa).await.expect_status(200);
    {
        let sent = sent.lock().unwrap();
        assert_eq!(
            (sent[0].recipients(), &sent[0].message()[..]),
            (&["qa@acme.test".to_owned()][..], &b"From: broken\r\nSubject: Hi\r\n\r\nBcc: text\r\n"[..])
        );
    }
    let events = timeline(&server, &path);
    assert_eq!((&events[0]["event"], &events[1]["event"]), (&json!("received"), &json!("released")));
    let later = server.sent(&email_with("scheduled_at", "in 2 days"));
    release(&server, &format!("/_/messages/{later}"), &to_qa).await.expect_status(404);
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_recipients_are_named_and_nothing_is_sent() {
    let (server, sent) = server(&[]).await;
    let path = format!("/_/messages/{}", server.sent(&email()));
    for (body, part) in [
        (json!({}), "Missing `to` field."),
        (json!({"to": []}), "`to` must name at least one address; found none."),
        (json!({"to": vec!["a@b.test"; 51]}), "`to` must name at most 50 addresses; found 51."),
        (json!({"to": ["a@b.test", 7]}), "`to[1]` must be a string; found 7."),
        (json!({"to": "a@b.test, c@d.test"}), "`to` is neither `email` nor `Name <email>`"),
        (json!({"to": "a@b.test\r\nRCPT TO:<c@d.test>"}), "`to` contains control characters"),
        (json!({"to": "a@[127.0.0.1]"}), "has no valid domain name"),
        (json!({"to": "\"a b\"@c.test"}), "has a local part that needs quotes"),
        (json!({"to": "a@b.test", "cc": "c@d.test"}), "\"cc\" is not a field here"),
    ] {
        release(&server, &path, &body).await.rejected(422, "validation_error", part);
    }
    assert!(sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_release_whose_client_disconnects_is_recorded() {
    let server = Served::start(Settings::default()).await;
    // The mail server replies once the client has disconnected.
    let (connected, replies) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (seen, reply) = (Arc::clone(&connected), Arc::clone(&replies));
    let allow = AllowList::new(&[] as &[&str]).unwrap();
    server.service.set_relay(Relay::new("smtp://mail.acme.test", false, allow, move |_| {
        seen.add_permits(1);
        let reply = Arc::clone(&reply);
        async move {
            reply.acquire().await.unwrap().forget();
            Ok("250 2.0.0 OK".to_owned())
        }
    }));
    let path = format!("/_/messages/{}", server.sent(&email()));
    let request = server.request(Method::POST, &format!("{path}/release"));
    let request = request.header("content-type", "application/json");
    let sending = tokio::spawn(request.body(json!({"to": "qa@acme.test"}).to_string()).send());
    connected.acquire().await.unwrap().forget();
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled(), "the response came before the mail server's");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let is_released = || timeline(&server, &path).iter().any(|one| one["event"] == "released");
    assert!(!is_released());
    replies.add_permits(1);
    wait_until("the release is recorded", is_released).await;
}

#[test]
fn forwarded_mails_go_to_admitted_recipients_and_only_if_the_server_forwards() {
    let sandbox = Sandbox::new();
    let with_bcc = email_of(&json!({"bcc": ["bo@acme.test", "eve@evil.test"]}));
    sandbox.sent(&with_bcc);
    let mail = sandbox.mail();
    assert!(sandbox.service.next_forward(&mail).is_none(), "no server");
    sandbox.service.set_relay(relay(false, &[]).0);
    assert!(sandbox.service.next_forward(&mail).is_none(), "for releases only");

    let sandbox = Sandbox::new();
    sandbox.sent(&with_bcc);
    let mail = sandbox.mail();
    sandbox.service.set_relay(relay(true, &["*@acme.test"]).0);
    let outgoing = sandbox.service.next_forward(&mail).unwrap();
    assert_eq!(outgoing.recipients(), ["bo@acme.test"]);
    assert_eq!(outgoing.message(), &*mail.mime);
    sandbox.service.finish_forward(&mail, &outgoing, &Ok("250 OK".to_owned()));
    let events = timeline(&sandbox, &format!("/_/messages/{}", mail.id));
    let of = |name: &str| events.iter().find(|event| event["event"] == name).map(|event| event["to"].clone());
    assert_eq!(of("not_forwarded"), Some(json!(["ada@example.com", "eve@evil.test"])));
    assert_eq!(of("forwarded"), Some(json!(["bo@acme.test"])));
}

#[test]
fn without_the_mount_a_release_sends_nothing() {
    let sandbox = Sandbox::new();
    let (relay, sent) = relay(false, &[]);
    let id = sandbox.sent(&email());
    let path = format!("/_/messages/{id}/release");
    assert_eq!(sandbox.post(&path, &json!({"to": "qa@acme.test"})).status, 422, "no server");
    sandbox.service.set_relay(relay);
    assert_eq!(sandbox.post(&path, &json!({"to": "qa@acme.test"})).status, 500);
    assert!(sent.lock().unwrap().is_empty());
}
