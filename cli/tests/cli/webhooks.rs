//! `webhooks`: what is typed, what leaves, what is said, and where the secret goes.

use serde_json::json;

use crate::service::Service;
use crate::support::Posthaste;

const CREATE: [&str; 8] = [
    "webhooks",
    "create",
    "--endpoint",
    "https://acme.test/hooks",
    "--event",
    "email.sent",
    "--event",
    "email.bounced",
];

#[test]
fn a_webhook_is_made_changed_switched_off_and_deleted() {
    let service = Service::start();
    let posthaste = service.posthaste();
    let made = posthaste.run(&CREATE);
    assert!(made.stderr.contains("posthaste webhooks get") && !made.stdout.contains("whsec_"), "{made:?}");
    let id = made.ok();
    let id = id.trim();
    assert_eq!(
        service.bodies()[0],
        json!({"endpoint": "https://acme.test/hooks", "events": ["email.sent", "email.bounced"]})
    );
    let shown = posthaste.run(&["webhooks", "get", id, "--json"]).json();
    assert_eq!(
        (&shown["status"], shown["signing_secret"].as_str().unwrap().starts_with("whsec_")),
        (&json!("enabled"), true)
    );
    posthaste.run(&["webhooks", "update", id, "--status", "disabled", "--event", "domain.updated"]).ok();
    assert_eq!(
        posthaste.run(&["webhooks", "list", "--columns", "status,events"]).ok(),
        "disabled\tdomain.updated\n"
    );
    assert_eq!(posthaste.run(&["webhooks", "delete", id]).ok().trim(), id);
    posthaste.run(&["webhooks", "get", id]).fails(5);
}

#[test]
fn a_secret_is_shown_where_it_was_asked_for() {
    let service = Service::start();
    let posthaste = service.posthaste();
    let secret = posthaste.run(&[&CREATE[..], &["--json", "--jq", ".signing_secret"]].concat()).ok();
    assert!(secret.starts_with("whsec_"));
    let ran = posthaste.run(&[&CREATE[..], &["--secret-file", "hook.secret"]].concat());
    let kept = std::fs::read_to_string(posthaste.home().join("hook.secret")).unwrap();
    assert!(kept.starts_with("whsec_") && kept != secret);
    assert!(!ran.stderr.contains(kept.trim()) && !ran.ok().contains(kept.trim()));
}

#[test]
fn everything_wrong_is_said_at_once() {
    let said = Posthaste::new().run(&["webhooks", "create", "--endpoint", "acme.test"]).fails(2);
    assert!(said.contains("/endpoint") && said.contains("missing: --event"), "{said}");
    let said = Posthaste::new().run(&["webhooks", "update", "x", "--status", "off"]).fails(2);
    assert!(said.contains("enabled or disabled"), "{said}");
    let said = Posthaste::new().run(&["webhooks", "update", "x"]).fails(2);
    assert!(said.contains("what to change"), "{said}");
}
