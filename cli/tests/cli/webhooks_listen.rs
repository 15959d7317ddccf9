//! `webhooks listen`: real deliveries over real sockets, and a temporary webhook that is always deleted.

use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use idempost::webhooks::WebhookVerifier;
use idempost_conformance::peer::Act;
use idempost_reference_server::RecordedRequest;
use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::service::{ScriptedPeer, Service};
use crate::support::{
    Finish as _, Idempost, Lines, Running, SEND, TIMEOUT, exit_code, has, lines, mode, request, set_mode,
    shows, signal, taken_port, wait_until,
};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A listener that runs until stopped or dropped.
struct Listener {
    /// Its first line.
    announced: Value,
    child: Running,
    stdout: Option<Lines>,
}

impl Listener {
    fn start(idempost: &Idempost, flags: &[&str]) -> Self {
        let mut child = Running(idempost.spawn(&("webhooks listen --json", flags)));
        let stdout = Some(lines(&mut child.stdout));
        let mut listener = Self { announced: Value::Null, child, stdout };
        listener.announced = listener.next();
        listener
    }

    /// With the secret of these tests.
    fn with_secret(idempost: &Idempost, flags: &[&str]) -> Self {
        idempost.write("secret", SECRET);
        Self::start(idempost, &[&["--secret-file", "secret"], flags].concat())
    }

    fn url(&self) -> &str {
        self.announced["url"].as_str().unwrap()
    }

    /// The next printed line.
    fn next(&mut self) -> Value {
        let line = self.stdout.as_mut().unwrap().next();
        serde_json::from_str(&line.unwrap_or_else(|| panic!("exited: {}", self.stderr()))).unwrap()
    }

    /// Its messages, until it exits.
    fn stderr(&mut self) -> String {
        std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap()
    }

    /// The ID of its webhook.
    fn webhook(&self) -> &str {
        self.announced["webhook_id"].as_str().unwrap()
    }

    /// Stops it; returns its exit code.
    fn stop(&mut self, which: Signal) -> Option<i32> {
        signal(&self.child, which);
        exit_code(&mut self.child)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A validly signed delivery, `age` seconds old.
fn deliver(url: &str, id: &str, age: u64, body: &[u8]) -> (u16, String) {
    request(url, "POST", &signed(id, age, body), body)
}

fn signed(id: &str, age: u64, body: &[u8]) -> String {
    let time = now() - age;
    let signature = WebhookVerifier::new(SECRET).unwrap().sign(id, time, body);
    format!("svix-id: {id}\r\nsvix-timestamp: {time}\r\nsvix-signature: {signature}\r\nx-more: 1\r\n")
}

const EVENT: &[u8] =
    br#"{"type":"email.sent","created_at":"2026-11-21T04:46:00.000Z","data":{"email_id":"e1"}}"#;

#[test]
fn a_signed_delivery_is_shown_and_everything_else_is_rejected() {
    // EVT-11, H-06
    let idempost = Idempost::new();
    let mut listener = Listener::with_secret(&idempost, &["--path", "/hooks"]);
    let url = listener.url().to_owned();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/hooks"), "{url}");

    assert_eq!(deliver(&url, "msg_1", 0, EVENT).0, 204);
    let record = listener.next();
    has(&record, &json!({"id": "msg_1", "type": "email.sent", "status": 204}));
    has(&record, &json!({"verified": true, "payload": {"data": {"email_id": "e1"}}}));
    assert_eq!(deliver(&url, "msg_2", 0, b"\xff no text").0, 204);
    assert_eq!(listener.next()["id"], "msg_2");

    let mut refused = |status: u16, (found, answer): (u16, String), why: &str| {
        let record = listener.next();
        assert_eq!(
            (found, &record["status"], &record["verified"]),
            (status, &json!(status), &json!(false)),
            "{record}"
        );
        assert!(record["error"].as_str().unwrap().contains(why) && answer.contains(why), "{record} {answer}");
    };
    refused(401, request(&url, "POST", "", EVENT), "`svix-id` is missing");
    refused(401, deliver(&url, "msg_1", 302, EVENT), "at most 300 s in the past");
    refused(401, request(&url, "POST", &signed("msg_1", 0, b"{}"), EVENT), "no signature matches");
    let other = url.replace("/hooks", "/other");
    refused(404, deliver(&other, "msg_1", 0, EVENT), "isn't the endpoint for deliveries");
    refused(405, request(&url, "GET", "", b""), "a delivery must be a POST");
    let large = vec![b'x'; 1024 * 1024 + 1];
    refused(413, deliver(&url, "msg_1", 0, &large), "at most 1 MiB");
    assert_eq!(deliver(&url, "msg_3", 0, &large[1..]).0, 204, "1 MiB is allowed");

    let elsewhere = url.replace("http://127.0.0.1:", "127.0.0.2:");
    let refused = TcpStream::connect(elsewhere.trim_end_matches("/hooks"));
    assert!(refused.is_err(), "only one address is bound");
    assert_eq!(listener.stop(Signal::TERM), Some(0));
}

#[test]
fn unselected_event_types_are_accepted_and_not_shown() {
    let idempost = Idempost::new();
    let mut listener = Listener::with_secret(&idempost, &["--events", "email.bounced,email.sent"]);
    let url = listener.url().to_owned();
    assert_eq!(deliver(&url, "msg_1", 0, br#"{"type":"email.opened","data":{}}"#).0, 204);
    assert_eq!(deliver(&url, "msg_2", 0, EVENT).0, 204);
    assert_eq!(listener.next()["id"], "msg_2");
}

#[test]
fn a_filter_applies_to_deliveries_only() {
    let idempost = Idempost::new();
    idempost.write("secret", SECRET);
    let listen = "webhooks listen --secret-file secret --jq .payload.data.email_id";
    let mut child = idempost.spawn(&listen);
    let mut stderr = lines(&mut child.stderr);
    let line = stderr.next().unwrap();
    let url = line.strip_prefix("listening on ").unwrap();
    // An unsigned request is rejected and doesn't reach the filter; a delivery that the filter fails on is skipped.
    assert_eq!(request(&url.replace("/hooks", "/favicon.ico"), "GET", "", b"").0 / 100, 4);
    assert_eq!(deliver(url, "msg_0", 0, br#"{"type":"email.sent","data":"no object"}"#).0, 204);
    assert_eq!(deliver(url, "msg_1", 0, EVENT).0, 204);
    signal(&child, Signal::TERM);
    assert_eq!(child.finish().ok(), "e1\n", "an acknowledged delivery is shown, even on immediate exit");
    shows(&stderr.collect::<String>(), &["the --jq expression failed"]);
}

#[test]
fn an_unsigned_delivery_is_accepted_only_with_the_insecure_flag() {
    // H-06
    let idempost = Idempost::new();
    let mut listener = Listener::start(&idempost, &["--insecure-no-verify"]);
    let url = listener.url().to_owned();
    assert_eq!(request(&url, "POST", "svix-id: msg_1\r\n", EVENT).0, 204);
    let record = listener.next();
    has(&record, &json!({"id": "msg_1", "verified": false}));
}

#[test]
fn a_verified_delivery_is_forwarded_unchanged_and_the_response_is_returned() {
    // H-06
    let application = ScriptedPeer::new([
        Act::answer(201, &[("content-type", "text/x-made")], "made"),
        Act::answer(500, &[], ""),
        Act::answer(302, &[("location", "http://127.0.0.1:9/")], ""),
        Act::AnswerAndClose(b"no HTTP at all\r\n\r\n".to_vec()),
    ]);
    let url = format!("{}/app?x=1", application.base_url());
    // A configured proxy must not be used.
    let idempost = Idempost::new().env("HTTP_PROXY", "http://127.0.0.1:9");
    let mut listener = Listener::with_secret(&idempost, &["--forward-to", &url]);
    let here = listener.url().to_owned();
    let body = b"{\"type\":\"email.sent\", \"data\":{} ,\xc3\xa9\xff}";
    assert_eq!(request(&here, "POST", "", EVENT).0, 401);
    assert_eq!(listener.next()["status"], 401);

    let headers = signed("msg_1", 0, body);
    let (status, answer) = request(&here, "POST", &headers, body);
    assert!(status == 201 && answer.ends_with("made"), "{answer}");
    shows(&answer, &["content-type: text/x-made"]);
    let record = listener.next();
    assert_eq!((&record["status"], record["took_ms"].is_u64()), (&json!(201), true));
    for status in [500, 302, 502] {
        assert_eq!(deliver(&here, "msg_2", 0, EVENT).0, status);
        assert_eq!(listener.next()["status"], status);
    }

    let requests = application.requests();
    assert_eq!(requests.len(), 4, "unverified deliveries aren't forwarded");
    assert_eq!(requests[0].body, &body[..]);
    let head = requests[0].head.to_lowercase();
    assert!(head.starts_with("post /app?x=1 http/1.1\r\n"), "{head}");
    for line in headers.to_lowercase().lines() {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert_eq!(head.matches("host:").count(), 1);

    drop(application);
    let (status, answer) = deliver(&here, "msg_3", 0, EVENT);
    assert!(status == 502 && answer.contains("couldn't reach"), "{answer}");
    let record = listener.next();
    assert_eq!(record["status"], 502);
    shows(record["error"].as_str().unwrap(), &["couldn't reach"]);
}

fn webhooks(idempost: &Idempost) -> Vec<Value> {
    idempost.run(&["webhooks", "list", "--json"]).json()["data"].as_array().unwrap().clone()
}

#[test]
fn at_a_sandbox_it_creates_a_webhook_and_always_deletes_it() {
    let (_service, idempost) = Service::with_program();
    for which in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut listener = Listener::start(&idempost, &["--event", "email.sent"]);
        let made = webhooks(&idempost);
        assert_eq!(made.len(), 1);
        let endpoint = &listener.announced["url"];
        has(&made[0], &json!({"events": ["email.sent"], "endpoint": endpoint}));
        assert_eq!(&listener.announced["endpoint"], endpoint);
        let id = idempost.run(&SEND).ok();
        let record = listener.next();
        has(&record, &json!({"type": "email.sent", "verified": true, "status": 204}));
        assert_eq!(record["payload"]["data"]["email_id"], id.trim());
        assert_eq!(listener.stop(which), Some(0), "{which:?}");
        assert_eq!(webhooks(&idempost), Vec::<Value>::new(), "{which:?}");
    }

    let mut listener = Listener::start(&idempost, &[]);
    assert_eq!(webhooks(&idempost)[0]["events"].as_array().unwrap().len(), 23, "a sandbox sends all types");
    // Standard output is closed.
    drop(listener.stdout.take());
    idempost.run(&["contacts", "create", "ada@example.com"]).ok();
    assert_eq!(exit_code(&mut listener.child), Some(0));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());

    idempost.run("webhooks listen --event email.unheard").fails_with(3, &["`events[0]` must be one of"]);
    let (_taken, port) = taken_port();
    idempost.run(&["webhooks", "listen", "--port", &port]).fails(1);
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());
}

#[test]
fn it_ends_with_its_reader_even_without_another_delivery() {
    let (_service, idempost) = Service::with_program();
    let mut listener = Listener::start(&idempost, &[]);
    drop(listener.stdout.take());
    assert_eq!(exit_code(&mut listener.child), Some(0));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());
}

#[test]
fn a_public_url_is_registered_with_an_unguessable_path() {
    let (_service, idempost) = Service::with_program();
    let mut listener = Listener::start(&idempost, &["--public-url", "https://abc.tunnel.test/in/"]);
    let made = webhooks(&idempost);
    let endpoint = made[0]["endpoint"].as_str().unwrap();
    let secret = endpoint.strip_prefix("https://abc.tunnel.test/in/").unwrap();
    assert_eq!((secret.len(), made[0]["events"].as_array().unwrap().len()), (32, 17));
    assert!(listener.url().ends_with(&format!("/in/{secret}")), "it listens on the same path");
    assert_eq!(listener.stop(Signal::TERM), Some(0));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());
}

#[test]
fn only_a_local_sandbox_needs_no_public_url() {
    let idempost = Idempost::at("https://api.example.com", "re_hidden");
    idempost.run("webhooks listen").hides(&["re_hidden"]).fails_with(2, &["--public-url"]);
}

#[test]
fn a_moved_sandbox_clock_delays_no_delivery() {
    let (service, idempost) = Service::with_program();
    let mut listener = Listener::start(&idempost, &["--event", "contact.created"]);
    service.core().clock().advance(std::time::Duration::from_hours(24));
    idempost.run(&["contacts", "create", "ada@example.com"]).ok();
    let record = listener.next();
    has(&record, &json!({"type": "contact.created", "status": 204}));
}

#[test]
fn a_stalled_reader_does_not_keep_the_webhook_from_being_deleted() {
    let service = Service::start().unjudged();
    let idempost = service.idempost();
    let mut listener = Listener::start(&idempost, &["--event", "contact.created"]);
    let id = listener.webhook().to_owned();
    // Together they exceed a pipe's capacity.
    let large =
        json!({ "type": "contact.created", "data": { "first_name": "x".repeat(60_000) } }).to_string();
    for _ in 0..4 {
        idempost.run_with(&["api", "POST", "/_/events", "--input", "-"], &large).ok();
    }
    let states = || idempost.run(&["webhooks", "events", &id, "--columns", "status"]).ok();
    // The second one waits for the reader.
    wait_until("the first delivery is acknowledged", || states().contains("success"));
    assert_eq!(listener.stop(Signal::INT), Some(0));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());
}

#[test]
fn a_delivery_is_acknowledged_once_its_line_is_written() {
    let idempost = Idempost::new();
    let mut listener = Listener::with_secret(&idempost, &[]);
    // Two lines exceed a pipe's capacity.
    let event =
        json!({ "type": "contact.created", "data": { "first_name": "x".repeat(40_000) } }).to_string();
    assert_eq!(deliver(listener.url(), "msg_1", 0, event.as_bytes()).0, 204);
    let (url, (answer, answered)) = (listener.url().to_owned(), std::sync::mpsc::channel());
    let second = std::thread::spawn(move || answer.send(deliver(&url, "msg_2", 0, event.as_bytes()).0));
    assert!(answered.recv_timeout(Duration::from_millis(500)).is_err(), "its line can't be written yet");
    assert_eq!((&listener.next()["id"], &listener.next()["id"]), (&json!("msg_1"), &json!("msg_2")));
    assert_eq!(answered.recv_timeout(TIMEOUT), Ok(204));
    second.join().unwrap().unwrap();
}

#[test]
fn a_webhook_whose_creation_fails_is_not_left_behind() {
    for action in [Action::DropAfter, Action::Truncate(5)] {
        let (service, idempost) = Service::with_program();
        service.faults().add(Rule::new(action).on_request(http::Method::POST, "/webhooks"));
        idempost.run(&["webhooks", "listen"]).fails_with(7, &["none was left behind"]);
        let requests = service.requests();
        assert!(requests.iter().any(|request| request.method == http::Method::DELETE), "there was one");
        assert_eq!(webhooks(&idempost), Vec::<Value>::new());
    }
}

#[test]
fn a_signal_during_creation_leaves_no_webhook_behind() {
    let (service, idempost) = Service::with_program();
    let held = service.hold("/webhooks");
    let mut child = idempost.spawn(&["webhooks", "listen"]);
    held.wait();
    signal(&child, Signal::INT);
    let mut stderr = lines(&mut child.stderr);
    shows(&stderr.next().unwrap(), &["so that no webhook is left behind"]);
    drop(held);
    assert_eq!(exit_code(&mut child), Some(130));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());

    // A second signal doesn't wait for a missing response.
    let (service, idempost) = Service::with_program();
    service.faults().add(Rule::new(Action::Stall).on_request(http::Method::POST, "/webhooks"));
    let mut child = idempost.spawn(&["webhooks", "listen"]);
    let is_change = |request: &RecordedRequest| request.method == http::Method::POST;
    wait_until("the webhook is requested", || service.requests().iter().any(is_change));
    signal(&child, Signal::TERM);
    let mut stderr = lines(&mut child.stderr);
    shows(&stderr.next().unwrap(), &["so that no webhook is left behind"]);
    signal(&child, Signal::TERM);
    assert_eq!(exit_code(&mut child), Some(143));
    assert_eq!(webhooks(&idempost), Vec::<Value>::new());
}

#[test]
fn a_webhook_that_cannot_be_deleted_is_reported() {
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_RETRIES", "0");
    let mut listener = Listener::start(&idempost, &[]);
    let id = listener.webhook().to_owned();
    let broken = Action::error(503, "service_unavailable", "busy");
    let rule = Rule::new(broken).on_request(http::Method::DELETE, "/webhooks/{webhook_id}");
    service.faults().add(rule.always());
    assert_eq!(listener.stop(Signal::INT), Some(7));
    shows(&listener.stderr(), &[&format!("idempost webhooks delete {id}")]);

    // Something else deleted it in the meantime, which is fine too.
    service.faults().clear();
    idempost.run(&["webhooks", "delete", &id]).ok();
    let mut listener = Listener::start(&idempost, &[]);
    idempost.run(&["webhooks", "delete", listener.webhook()]).ok();
    assert_eq!(listener.stop(Signal::INT), Some(0));
}

#[test]
fn the_secret_of_the_temporary_webhook_is_shown_and_written_on_request() {
    let (_service, idempost) = Service::with_program();
    let mut listener =
        Listener::start(&idempost, &["--events", "all", "--print-secret", "--write-secret", "s"]);
    let secret = idempost.run(&format!("webhooks get {} --jq .signing_secret", listener.webhook())).ok();
    assert_eq!(listener.announced["signing_secret"], secret.trim());
    let file = idempost.home().join("s");
    assert_eq!((idempost.read("s"), mode(&file)), (secret, 0o600));
    assert_eq!(listener.stop(Signal::INT), Some(0));
    let mut listener = Listener::start(&idempost, &[]);
    assert_eq!(listener.announced.get("signing_secret"), None);
    assert_eq!(listener.stop(Signal::INT), Some(0));
    // A filter applies to deliveries only, so the secret is printed on standard error.
    let mut listener = Running(idempost.spawn("webhooks listen --print-secret --json --jq .payload"));
    let printed: Value = serde_json::from_str(&lines(&mut listener.stderr).next().unwrap()).unwrap();
    let listed = idempost.run("webhooks list --json --jq .data[0].id").ok();
    let secret = idempost.run(&["webhooks", "get", listed.trim(), "--jq", ".signing_secret"]).ok();
    assert_eq!(printed["signing_secret"], secret.trim());
    drop(listener);
    idempost.run(&["webhooks", "listen", "--secret-file", "s", "--print-secret"]).fails(2);
    set_mode(&file, 0o644);
    idempost.run(&["webhooks", "listen", "--write-secret", "s"]).fails_with(2, &["chmod 600"]);
}

#[test]
fn the_webhook_of_a_killed_listener_is_deleted_by_the_next_one() {
    let (_service, idempost) = Service::with_program();
    let endpoints = || webhooks(&idempost).iter().map(|hook| hook["endpoint"].clone()).collect::<Vec<_>>();
    idempost.run("webhooks create https://app.test/hooks --event email.sent --secret-file mine").ok();
    let mut killed = Listener::start(&idempost, &[]);
    assert_eq!(endpoints().len(), 2);
    killed.stop(Signal::KILL);
    // Another account isn't affected.
    let mut other = idempost.command();
    let mut other = other.env("IDEMPOST_API_KEY", "sb_other").args(["webhooks", "listen"]).spawn().unwrap();
    lines(&mut other.stdout).next().unwrap();
    signal(&other, Signal::INT);
    assert_eq!(exit_code(&mut other), Some(0));
    assert_eq!(endpoints().len(), 2);
    // The webhook of a running listener isn't deleted either.
    let (mut first, mut second) = (Listener::start(&idempost, &[]), Listener::start(&idempost, &[]));
    let (now, dead) = (endpoints(), &killed.announced["endpoint"]);
    assert!(now.len() == 3 && !now.contains(dead), "{now:?}");
    assert_eq!((first.stop(Signal::INT), second.stop(Signal::INT)), (Some(0), Some(0)));
    assert_eq!(endpoints(), ["https://app.test/hooks"]);
    let left = std::fs::read_dir(idempost.home().join(".local/state/idempost/listeners")).unwrap().count();
    assert_eq!(left, 0);
}
