//! Release of emails to a real server: `/_/messages/{id}/release`, `/_/received/{id}/release`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use idempost_sandbox::{
    AllowList, Outgoing, ReferenceServer, Relay, RelayError, Service, Settings, persistence,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Sandbox, email, http_client};

type Sent = Arc<Mutex<Vec<Outgoing>>>;

/// A server that accepts mails unless their first recipient is `refused@…`.
fn relay(forwards: bool, allow: &[&str]) -> (Relay, Sent) {
    let sent = Sent::default();
    let seen = Arc::clone(&sent);
    let relay = Relay::new("smtp://mail.acme.test", forwards, AllowList::new(allow).unwrap(), move |mail| {
        let is_refused = mail.recipients()[0].starts_with("refused@");
        seen.lock().unwrap().push(mail);
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let refusal = RelayError { code: Some(550), text: "5.1.1 No such user".to_owned() };
            if is_refused { Err(refusal) } else { Ok("250 2.0.0 OK".to_owned()) }
        }
    });
    (relay, sent)
}

async fn server(allow: &[&str]) -> (ReferenceServer, Sent) {
    let server = idempost_sandbox::start(Settings::default()).await;
    let (relay, sent) = relay(false, allow);
    server.service().set_relay(relay);
    (server, sent)
}

async fn ask(server: &ReferenceServer, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let request =
        http_client().request(method, format!("{}{path}", server.base_url())).bearer_auth("sb_test");
    let request = request.header("content-type", "application/json").body(body.to_string());
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json; charset=utf-8");
    let policy = response.headers().get("cross-origin-resource-policy").is_some();
    assert_eq!(policy, path.starts_with("/_/"), "{path}");
    (response.status().as_u16(), serde_json::from_str(&response.text().await.unwrap()).unwrap())
}

async fn timeline(server: &ReferenceServer, path: &str) -> Vec<Value> {
    let (_, timeline) = ask(server, Method::GET, &format!("{path}/timeline"), &json!({})).await;
    timeline["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_response_has_the_reply_and_the_timeline_all_attempts() {
    let (server, sent) = server(&["*@acme.test"]).await;
    let (_, email) = ask(&server, Method::POST, "/emails", &email()).await;
    let path = format!("/_/messages/{}", email["id"].as_str().unwrap());
    let release =
        async |to: Value| ask(&server, Method::POST, &format!("{path}/release"), &json!({ "to": to })).await;
    let (status, answer) = release(json!(["QA <qa@ACME.test>", "qa@acme.test"])).await;
    assert_eq!(
        (status, answer),
        (
            200,
            json!({"object": "release", "to": ["qa@acme.test"], "server": "smtp://mail.acme.test", "reply": "250 2.0.0 OK"})
        )
    );
    let (status, answer) = release(json!("refused@acme.test")).await;
    assert_eq!((status, &answer["name"]), (422, &json!("release_rejected")));
    assert_eq!(answer["message"], "smtp://mail.acme.test did not accept the email: 550 5.1.1 No such user");
    let (status, answer) = release(json!(["ada@example.com", "qa@acme.test"])).await;
    assert_eq!(
        answer["message"],
        "The email was not released: \"ada@example.com\" isn't allowed by --smtp-allow."
    );
    assert_eq!(status, 422);
    let events = timeline(&server, &path).await;
    let relayed: Vec<_> = events.iter().filter(|event| event.get("to").is_some()).collect();
    let shown: Vec<_> = relayed.iter().map(|one| json!([one["event"], one["to"], one["reason"]])).collect();
    assert_eq!(
        shown,
        [
            json!(["released", ["qa@acme.test"], "250 2.0.0 OK"]),
            json!(["not_released", ["refused@acme.test"], "550 5.1.1 No such user"]),
            json!(["not_released", ["ada@example.com"], "isn't allowed by --smtp-allow"]),
        ]
    );
    assert_eq!(events[0]["event"], "accepted");
    let sent = sent.lock().unwrap();
    assert_eq!(
        sent.iter().map(|mail| mail.recipients().to_vec()).collect::<Vec<_>>(),
        [["qa@acme.test"], ["refused@acme.test"]]
    );
    assert_eq!(
        (sent[0].sender(), sent[0].message()),
        (Some("hi@acme.test"), &*server.service().mails("sb_test")[0].mime)
    );
}

#[tokio::test]
async fn a_received_mail_is_released_and_an_unsent_one_is_not() {
    let (server, sent) = server(&[]).await;
    let raw = "From: broken\r\nBcc: eve@evil.test\r\nSubject: Hi\r\n\r\nBcc: text\r\n";
    let id = server.service().receive("sb_test", &["support@acme.test"], raw).unwrap();
    let path = format!("/_/received/{id}");
    assert_eq!(
        ask(&server, Method::POST, &format!("{path}/release"), &json!({"to": "qa@acme.test"})).await.0,
        200
    );
    {
        let sent = sent.lock().unwrap();
        assert_eq!(
            (sent[0].recipients(), &sent[0].message()[..]),
            (&["qa@acme.test".to_owned()][..], &b"From: broken\r\nSubject: Hi\r\n\r\nBcc: text\r\n"[..])
        );
    }
    let events = timeline(&server, &path).await;
    assert_eq!((&events[0]["event"], &events[1]["event"]), (&json!("received"), &json!("released")));
    let mut later = email();
    later["scheduled_at"] = "in 2 days".into();
    let (_, later) = ask(&server, Method::POST, "/emails", &later).await;
    let path = format!("/_/messages/{}/release", later["id"].as_str().unwrap());
    let (status, answer) = ask(&server, Method::POST, &path, &json!({"to": "qa@acme.test"})).await;
    assert_eq!((status, sent.lock().unwrap().len()), (404, 1), "{answer}");
}

#[tokio::test]
async fn invalid_recipients_are_named_and_nothing_is_sent() {
    let (server, sent) = server(&[]).await;
    let (_, email) = ask(&server, Method::POST, "/emails", &email()).await;
    let path = format!("/_/messages/{}/release", email["id"].as_str().unwrap());
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
        let (status, answer) = ask(&server, Method::POST, &path, &body).await;
        assert_eq!(status, 422, "{body}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(part), "{body}: {answer}");
    }
    assert!(sent.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_release_whose_client_disconnects_is_recorded() {
    let server = idempost_sandbox::start(Settings::default()).await;
    // The mail server replies once the client has disconnected.
    let (connected, replies) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (seen, reply) = (Arc::clone(&connected), Arc::clone(&replies));
    let allow = AllowList::new(&[] as &[&str]).unwrap();
    server.service().set_relay(Relay::new("smtp://mail.acme.test", false, allow, move |_| {
        seen.add_permits(1);
        let reply = Arc::clone(&reply);
        async move {
            reply.acquire().await.unwrap().forget();
            Ok("250 2.0.0 OK".to_owned())
        }
    }));
    let (_, email) = ask(&server, Method::POST, "/emails", &email()).await;
    let path = format!("/_/messages/{}", email["id"].as_str().unwrap());
    let request = http_client().post(format!("{}{path}/release", server.base_url())).bearer_auth("sb_test");
    let request =
        request.header("content-type", "application/json").body(json!({"to": "qa@acme.test"}).to_string());
    let sending = tokio::spawn(request.send());
    connected.acquire().await.unwrap().forget();
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled(), "the response came before the mail server's");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let is_released = async || timeline(&server, &path).await.iter().any(|one| one["event"] == "released");
    assert!(!is_released().await);
    replies.add_permits(1);
    let waiting = async {
        while !is_released().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap();
}

#[test]
fn forwarded_mails_go_to_admitted_recipients_and_only_if_the_server_forwards() {
    let sandbox = Sandbox::new();
    let mut with_bcc = email();
    with_bcc["bcc"] = json!(["bo@acme.test", "eve@evil.test"]);
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
    let timeline = sandbox.get(format!("/_/messages/{}/timeline", mail.id)).json();
    let events = timeline["events"].as_array().unwrap();
    let of = |name: &str| events.iter().find(|event| event["event"] == name).map(|event| event["to"].clone());
    assert_eq!(of("not_forwarded"), Some(json!(["ada@example.com", "eve@evil.test"])));
    assert_eq!(of("forwarded"), Some(json!(["bo@acme.test"])));
}

#[test]
fn the_timeline_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || persistence::open(folder.path(), Settings::default(), |_| {}).unwrap();
    let ids = {
        let (service, keeper) = open();
        let sandbox = Sandbox::over(Arc::clone(&service));
        sandbox.sent(&email());
        service.set_relay(relay(true, &[]).0);
        let mail = sandbox.mail();
        let outgoing = service.next_forward(&mail).unwrap();
        service.finish_forward(&mail, &outgoing, &Ok("250 OK".to_owned()));
        assert!(keeper.close());
        mail.id
    };
    let (service, keeper): (Arc<Service>, _) = open();
    let sandbox = Sandbox::over(service);
    let timeline = sandbox.get(format!("/_/messages/{ids}/timeline")).json();
    assert!(
        timeline["events"].as_array().unwrap().iter().any(|event| event["event"] == "forwarded"),
        "{timeline}"
    );
    assert!(keeper.close());
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
