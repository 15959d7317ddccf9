//! `domains`, and scheduled emails.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use idempost_conformance::peer::Act;
use serde_json::{Value, json};

use crate::service::{ScriptedPeer, Service};
use crate::support::{CommandLine, Idempost, concurrently};

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

/// Advances the service's clock after every poll, so that nothing waits in real time.
fn hurry(service: &Service) {
    let core = Arc::downgrade(service.core());
    service.core().on_request(move |request| {
        if let (Some(core), true) = (core.upgrade(), request.method == Method::GET) {
            core.clock().advance(Duration::from_secs(2));
        }
    });
}

fn created(service: &Service, flags: &(impl CommandLine + ?Sized)) -> String {
    service.done(&("domains create", flags))
}

#[test]
fn a_domain_is_registered_and_verified() {
    // DOM-01, DOM-33, DOM-35
    let service = Service::start();
    let ran = service.run("domains create --name acme.test --tracking-subdomain links");
    let id = ran.stdout.trim().to_owned();
    assert_eq!(ran.stdout.lines().count(), 1, "only the ID is printed: {ran:?}");
    assert!(ran.stderr.contains(&format!("idempost domains verify {id} --wait")), "{ran:?}");

    hurry(&service);
    let ran = service.run(&["domains", "verify", &id, "--wait"]);
    assert_eq!(ran.stdout.trim(), id);
    assert!(ran.stderr.contains("verified after"), "{ran:?}");
    let status = service.run(&["domains", "get", &id, "--jq", ".status"]).ok();
    assert_eq!(status, "verified\n");
    let shown = service.run(&["domains", "get", &id]).ok_with(&["name                acme.test", "VALUE"]);
    assert!(!shown.contains("[{"), "the records are a table: {shown}");
    let list = service.run(&["domains", "ls", "--json"]).ok();
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!((&list["data"][0]["id"], list["data"].as_array().unwrap().len()), (&json!(id), 1));
    service.run(&["domains", "delete", &id]).ok();
    service.run(&["domains", "get", &id]).fails(5);
}

#[test]
fn a_failed_verification_is_3_and_a_timeout_is_8() {
    let service = Service::start();
    hurry(&service);
    let verify = |service: &Service, id: &str, flags: &str, code: i32| {
        let ran = service.run(&(format!("domains verify {id} --wait"), flags)).exits(code);
        assert_eq!(ran.stdout.trim(), id, "verification has started: {ran:?}");
        ran
    };
    let id = created(&service, &["--name", "fail.acme.test"]);
    let get = format!("idempost domains get {id}");
    verify(&service, &id, "", 3).says(&["failed; not found: send.fail.acme.test MX", &get]);
    let service = Service::start();
    let id = created(&service, &["--name", "slow.acme.test"]);
    verify(&service, &id, "--wait-timeout 50ms", 8).says(&["it is pending"]);
    service.run(&["domains", "verify", UNKNOWN, "--wait"]).fails(5);
}

#[test]
fn every_flag_sets_its_field() {
    // DOM-22, DOM-24, DOM-25
    let service = Service::start();
    let id = created(
        &service,
        "--name acme.test --region sa-east-1 --custom-return-path bounce --open-tracking \
             --click-tracking=false --tracking-subdomain t --tls enforced --sending enabled --receiving \
             enabled",
    );
    let update = "domains update --open-tracking=false --receiving disabled --clear tracking-subdomain";
    service.done(&(update, &[&id]));
    assert_eq!(
        service.bodies(),
        [
            json!({"name": "acme.test", "region": "sa-east-1", "custom_return_path": "bounce", "open_tracking": true,
                "click_tracking": false, "tracking_subdomain": "t", "tls": "enforced",
                "capabilities": {"sending": "enabled", "receiving": "enabled"}}),
            json!({"open_tracking": false, "tracking_subdomain": null, "capabilities": {"receiving": "disabled"}}),
        ]
    );
    let columns = ["domains", "list", "--columns", "name,region,sending,receiving,open_tracking"];
    let row = service.run(&columns).ok();
    assert_eq!(row, "acme.test\tsa-east-1\tenabled\tdisabled\tfalse\n");
}

#[test]
fn records_are_printed_for_people_pipes_and_name_servers() {
    let service = Service::start();
    let id = created(&service, &["--name", "acme.test", "--receiving", "enabled"]);
    let zone = service.run(&["domains", "records", &id, "--format", "zone"]).ok_with(&[
        "send.acme.test.\tIN\tMX\t10 feedback.us-east-1.mail.example.\n",
        "send.acme.test.\tIN\tTXT\t\"v=spf1 include:spf.us-east-1.mail.example ~all\"\n",
        "\nacme.test.\tIN\tMX\t10 inbound.us-east-1.mail.example.\n",
    ]);
    assert_eq!(zone.lines().count(), 6);
    let piped = service.run(&["domains", "records", &id, "--columns", "type,name"]).ok();
    assert!(piped.starts_with("MX\tsend.acme.test\nTXT\tsend.acme.test\n"), "{piped}");
    let json = service.run(&format!("domains records {id} --json --jq .data[0].priority")).ok();
    assert_eq!(json, "10\n");
    service.run(&["domains", "records", &id, "--format", "bind"]).fails(2);
    // At any terminal width, a truncated value couldn't be copied.
    let narrow = service.idempost().env("IDEMPOST_FORCE_TTY", "40").run(&["domains", "records", &id]).ok();
    assert!(
        narrow.contains("v=spf1 include:spf.us-east-1.mail.example ~all ") && !narrow.contains('…'),
        "{narrow}"
    );
}

#[test]
fn a_zone_file_has_full_names_if_the_service_s_are_relative() {
    for (domain, name, full) in [
        ("acme.test", "send", "send.acme.test."),
        ("acme.test", "links.acme.test", "links.acme.test."),
        ("mail.acme.test", "k._domainkey.mail", "k._domainkey.mail.acme.test."),
        ("mail.acme.test", "mail", "mail.acme.test."),
        ("mail.acme.test", "send.email", "send.email.mail.acme.test."),
        ("acme.test", "@", "acme.test."),
    ] {
        let record = json!({"record": "SPF", "name": name, "type": "MX", "value": "mx.test.", "priority": 10, "ttl": "Auto", "status": "pending"});
        let body = json!({"object": "domain", "id": "d91cd9bd-1176-453e-8fc1-35364d380206", "name": domain, "status": "pending",
            "created_at": "2026-11-22 10:00:00.000000+00", "region": "us-east-1", "records": [record]});
        let peer = ScriptedPeer::new([Act::json(200, &body.to_string())]);
        let zone = Idempost::at(peer.base_url(), "sb_x").run("domains records d91cd9bd --format zone").ok();
        assert_eq!(zone, format!("{full}\tIN\tMX\t10 mx.test.\n"));
    }
}

#[test]
fn a_scheduled_email_is_rescheduled_or_canceled() {
    let service = Service::start();
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hi --text x";
    let scheduled = || service.done(&(send, "--scheduled-at 'in 1 hour'"));
    let (late, never) = (scheduled(), scheduled());
    let ran = service.run(&["emails", "update", &late, "--scheduled-at", "in 2 hours"]).ok();
    assert_eq!(ran.trim(), late);
    let ran = service.run(&["emails", "cancel", &never, "--json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&ran).unwrap(), json!({ "object": "email", "id": never }));
    service.run(&["emails", "cancel", &never]).ok();
    service.core().clock().advance(Duration::from_mins(90));
    assert!(service.mails().is_empty());
    service.core().clock().advance(Duration::from_hours(1));
    assert_eq!(service.mails()[0].email_id, late);
    service.run(&["emails", "cancel", &late]).fails_with(3, &["Only a scheduled email can be canceled"]);
    let stderr = service.run(&["emails", "get", &never, "--jq", ".last_event"]).ok();
    assert_eq!(stderr, "canceled\n");
    service.run(&["emails", "cancel", UNKNOWN]).fails(5);
}

/// Registers and verifies a domain of another account.
fn owned(service: &Service, name: &str) {
    let owner = || service.idempost().env("IDEMPOST_API_KEY", "sb_owner");
    let id = owner().run(&["domains", "create", name]).ok();
    owner().run(&["domains", "verify", id.trim(), "--wait"]);
}

#[test]
fn a_domain_of_another_account_is_claimed() {
    let service = Service::start();
    hurry(&service);
    owned(&service, "acme.test");
    let ran = service.run(&["domains", "claim", "create", "acme.test", "--tracking-subdomain", "links"]);
    let id = ran.stdout.trim().to_owned();
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 1), "{ran:?}");
    assert!(ran.stderr.contains("acme.test  TXT  idempost-domain-verification="), "{ran:?}");
    assert!(ran.stderr.contains(&format!("idempost domains claim verify {id} --wait")), "{ran:?}");
    assert_eq!(service.run(&["domains", "claim", "get", &id, "--jq", ".status"]).ok(), "pending\n");
    let ran = service.run(&["domains", "claim", "verify", &id, "--wait"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), id.as_str()), "{ran:?}");
    assert!(ran.stderr.contains("completed after"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("idempost domains verify {id} --wait")), "{ran:?}");
    service.run(&["domains", "claim", "get", &id, "--wait"]).prints(&["completed"]);
    service.run(&["domains", "verify", &id, "--wait"]).ok();
}

#[test]
fn a_blocked_or_failed_claim_is_3_with_the_reason_and_a_timeout_is_8() {
    let service = Service::start();
    hurry(&service);
    let claim = |name: &str, flags: &str| {
        owned(&service, name);
        service.run(&(["domains", "claim", "create", name], flags))
    };
    let endings = [("blocked.acme.test", "blocked: recent_owner_activity"), ("fail.acme.test", "TXT record")];
    concurrently(endings, |(name, reason)| {
        let id = claim(name, "").stdout.trim().to_owned();
        let ran = service.run(&["domains", "claim", "verify", &id, "--wait"]).exits(3);
        assert_eq!(ran.stdout.trim(), id, "the check has started: {ran:?}");
        ran.says(&[reason, &format!("idempost domains claim get {id}")]);
    });
    claim("acme.test", "--wait --wait-timeout 50ms").exits(8).says(&["it is pending"]);
    service.run(&["domains", "claim", "create", "free.test"]).fails(3);
    let before = service.asked();
    let dry = "domains claim create acme.test --click-tracking --dry-run --jq .dry_run.body";
    assert_eq!(service.run(dry).ok(), "{\"name\":\"acme.test\",\"click_tracking\":true}\n");
    assert_eq!(service.asked(), before);
}
