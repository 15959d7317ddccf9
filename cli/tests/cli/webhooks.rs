//! `webhooks`: command lines, requests, messages, and where the secret is written.

use serde_json::json;

use crate::service::Service;
use crate::support::wait_until;

const CREATE: &str =
    "webhooks create --endpoint https://acme.test/hooks --event email.sent --event email.bounced";

#[test]
fn a_webhook_is_created_changed_disabled_and_deleted() {
    let service = Service::start();
    let made = service.run(CREATE);
    assert!(made.stderr.contains("idempost webhooks get") && !made.stdout.contains("whsec_"), "{made:?}");
    let id = made.ok();
    let id = id.trim();
    let expected = json!({"endpoint": "https://acme.test/hooks", "events": ["email.sent", "email.bounced"]});
    assert_eq!(service.bodies()[0], expected);
    let shown = service.run(&["webhooks", "get", id, "--json"]).json();
    assert_eq!(
        (&shown["status"], shown["signing_secret"].as_str().unwrap().starts_with("whsec_")),
        (&json!("enabled"), true)
    );
    service.run(&["webhooks", "update", id, "--status", "disabled", "--event", "domain.updated"]).ok();
    assert_eq!(service.run("webhooks list --columns status,events").ok(), "disabled\tdomain.updated\n");
    assert_eq!(service.run(&["webhooks", "delete", id]).ok().trim(), id);
    service.run(&["webhooks", "get", id]).fails(5);
}

#[test]
fn a_secret_is_shown_only_on_request() {
    // G-09
    let (_service, idempost) = Service::with_program();
    let secret = idempost.run(&(CREATE, "--json --jq .signing_secret")).ok();
    assert!(secret.starts_with("whsec_"));
    let ran = idempost.run(&(CREATE, "--secret-file hook.secret"));
    let kept = idempost.read("hook.secret");
    assert!(kept.starts_with("whsec_") && kept != secret);
    assert!(!ran.stderr.contains(kept.trim()) && !ran.ok().contains(kept.trim()));
}

#[test]
fn delivered_events_are_listed_shown_and_redelivered() {
    let service = Service::start();
    // Nothing listens on port 9.
    let create = ["webhooks", "create", "--endpoint", "http://127.0.0.1:9/", "--event", "contact.created"];
    let id = service.run(&create).ok();
    let id = id.trim();
    for address in ["ada@example.com", "bob@example.com"] {
        service.run(&["contacts", "create", address]).ok();
    }
    let listed = service.run(&["webhooks", "events", id, "--json"]).json();
    let newest = &listed["data"][0];
    assert_eq!((listed["data"].as_array().unwrap().len(), &newest["type"]), (2, &json!("contact.created")));
    let event = newest["id"].as_str().unwrap();
    service.run(&["webhooks", "events", id, "--limit", "1"]).says(&[&format!("next: --after {event}")]);
    let older = service.run(&["webhooks", "events", id, "--after", event, "--columns", "type"]).ok();
    assert_eq!(older, "contact.created\n");

    let shown = service.run(&["webhooks", "event", id, event, "--json"]).json();
    assert_eq!(shown["payload"]["data"]["email"], "bob@example.com");
    let attempts = || {
        let columns = ["--columns", "http_status_code"];
        let rows = service.run(&(&["webhooks", "attempts", id, event], &columns)).ok();
        rows.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let until = |count: usize| {
        wait_until(&format!("there are {count} attempts"), || attempts().len() >= count);
        assert_eq!(attempts(), vec!["0"; count], "there was no response");
    };
    until(1);
    assert_eq!(service.run(&["webhooks", "replay", id, event]).ok().trim(), event);
    until(2);
    service.run(&["webhooks", "event", id, "msg_00000000000000000000000000000000"]).fails(5);
}

#[test]
fn a_rotated_secret_is_written_where_requested() {
    let (_service, idempost) = Service::with_program();
    let id = idempost.run(&(CREATE, "--secret-file old")).ok();
    let id = id.trim();
    let ran = idempost.run(&["webhooks", "rotate-secret", id, "--secret-file", "new"]);
    let (old, new) = (idempost.read("old"), idempost.read("new"));
    assert!(new.starts_with("whsec_") && new != old);
    assert!(!ran.stderr.contains(new.trim()) && ran.stdout.trim() == id, "{ran:?}");
    let ran = idempost.run(&["webhooks", "rotate-secret", id, "--secret-file", "new"]);
    ran.fails_with(1, &["couldn't create new", "help: choose a new file"]);
    assert_eq!(
        idempost.run(&format!("webhooks get {id} --jq .signing_secret")).ok(),
        new,
        "no request was sent"
    );
}
