//! Domains: DNS records, verification on the clock, and the effects of a verified domain.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, UNKNOWN_ID, email_of, email_with, expect_fields_of};

fn created(sandbox: &Sandbox, body: &Value) -> Value {
    sandbox.post("/domains", body).expect_status(201).json()
}

fn id(domain: &Value) -> &str {
    domain["id"].as_str().unwrap()
}

fn read(sandbox: &Sandbox, domain: &Value) -> Value {
    sandbox.get(format!("/domains/{}", id(domain))).json()
}

fn verify(sandbox: &Sandbox, domain: &Value) {
    let answer = sandbox.act(format!("/domains/{}/verify", id(domain))).expect_status(200);
    assert_eq!(answer.json(), json!({ "object": "domain", "id": id(domain) }));
}

fn change(sandbox: &Sandbox, domain: &Value, body: &Value) -> Answer {
    sandbox.patch(format!("/domains/{}", id(domain)), body)
}

/// The statuses of a domain and of its records, in order.
fn statuses(sandbox: &Sandbox, domain: &Value) -> (String, Vec<String>) {
    let domain = read(sandbox, domain);
    let text = |value: &Value| value["status"].as_str().unwrap().to_owned();
    (text(&domain), domain["records"].as_array().unwrap().iter().map(text).collect())
}

fn all(status: &str, records: usize) -> (String, Vec<String>) {
    (status.to_owned(), vec![status.to_owned(); records])
}

/// Kind, name and type of every record.
fn shape(domain: &Value) -> Vec<(String, String, String)> {
    let text = |record: &Value, field| record[field].as_str().unwrap().to_owned();
    let records = domain["records"].as_array().unwrap().iter();
    records.map(|record| (text(record, "record"), text(record, "name"), text(record, "type"))).collect()
}

fn verified(sandbox: &Sandbox, body: &Value) -> Value {
    let domain = created(sandbox, body);
    verify(sandbox, &domain);
    sandbox.advance(2);
    assert_eq!(read(sandbox, &domain)["status"], "verified");
    domain
}

#[test]
fn a_new_domain_has_defaults_and_the_sending_records() {
    // DOM-01, DOM-02, DOM-08, DOM-10, DOM-13, DOM-14, DOM-15, DOM-16, DOM-17, DOM-18, DOM-19, DOM-21, DOM-23, DOM-29, DOM-30, DOM-32
    // DOM-07
    let sandbox = Sandbox::new();
    let domain = created(&sandbox, &json!({ "name": "Acme.test" }));
    let mut rest = domain.clone();
    let records = rest.as_object_mut().unwrap().remove("records").unwrap();
    let expected = json!({
        "id": id(&domain), "name": "acme.test", "status": "not_started", "created_at": "2026-03-02 12:00:00.000000+00",
        "region": "us-east-1", "capabilities": { "sending": "enabled", "receiving": "disabled" },
        "open_tracking": false, "click_tracking": false, "tracking_subdomain": null,
    });
    assert_eq!(rest, expected);
    let shape = shape(&domain);
    assert_eq!(shape[0], ("SPF".into(), "send.acme.test".into(), "MX".into()));
    assert_eq!(shape[1], ("SPF".into(), "send.acme.test".into(), "TXT".into()));
    assert_eq!(shape.len(), 5);
    for (record, name, kind) in &shape[2..] {
        assert_eq!((record.as_str(), kind.as_str()), ("DKIM", "CNAME"));
        assert!(name.ends_with("._domainkey.acme.test"), "{name}");
    }
    for record in records.as_array().unwrap() {
        expect_fields_of(&json!({ "ttl": "Auto", "status": "not_started" }), record);
        assert_eq!(record.get("priority").is_some_and(Value::is_u64), record["type"] == "MX", "{record}");
        assert!(!record["value"].as_str().unwrap().is_empty());
    }
    let mut named = domain.clone();
    named["object"] = json!("domain");
    assert_eq!(read(&sandbox, &domain), named, "a read returns the same record as the creation");
}

#[test]
fn every_option_adds_its_records() {
    // DOM-06, DOM-17, DOM-19, DOM-23
    let sandbox = Sandbox::new();
    for (name, return_path, receiving, tracking) in [
        ("n0.acme.test", None, false, None),
        ("n1.acme.test", Some("bounce"), false, Some("links")),
        ("n2.acme.test", None, true, None),
        ("n3.acme.test", Some("mail"), true, Some("track")),
    ] {
        let receives = if receiving { "enabled" } else { "disabled" };
        let body = json!({
            "name": name, "capabilities": { "receiving": receives }, "custom_return_path": return_path,
            "tracking_subdomain": tracking,
        });
        let domain = created(&sandbox, &body);
        let mut wanted = vec![("MX", format!("{}.{name}", return_path.unwrap_or("send")))];
        wanted.push(("TXT", wanted[0].1.clone()));
        let shape = shape(&domain);
        wanted.extend(
            shape.iter().filter(|(record, ..)| record == "DKIM").map(|(_, name, _)| ("CNAME", name.clone())),
        );
        assert_eq!(wanted.len(), 5);
        if receiving {
            wanted.push(("MX", name.to_owned()));
        }
        if let Some(label) = tracking {
            wanted.push(("CNAME", format!("{label}.{name}")));
        }
        let found: Vec<_> = shape.iter().map(|(_, name, kind)| (kind.as_str(), name.clone())).collect();
        assert_eq!(found, wanted);
        assert_eq!(shape.iter().any(|(record, ..)| record == "Receiving MX"), receiving);
        assert_eq!(shape.iter().any(|(record, ..)| record == "Tracking"), tracking.is_some());
    }
}

#[test]
fn records_name_the_region_s_hosts_and_a_key_per_domain() {
    // DOM-09
    let sandbox = Sandbox::new();
    let mut selectors = std::collections::HashSet::new();
    for region in ["us-east-1", "eu-west-1", "sa-east-1", "ap-northeast-1"] {
        let body = json!({"name": format!("{region}.test"), "region": region, "tracking_subdomain": "t", "capabilities": {"receiving": "enabled"}});
        let domain = created(&sandbox, &body);
        assert_eq!(domain["region"], region);
        for record in domain["records"].as_array().unwrap() {
            assert!(record["value"].as_str().unwrap().contains(region), "{record}");
            if record["record"] == "DKIM" {
                let name = record["name"].as_str().unwrap();
                assert!(selectors.insert(name.split('.').next().unwrap().to_owned()));
            }
        }
    }
    assert_eq!(selectors.len(), 12);
}

#[test]
fn invalid_fields_are_named() {
    // DOM-20, DOM-22, DOM-26, DOM-31
    let sandbox = Sandbox::new();
    let refused = |body: Value, part: &str| sandbox.post("/domains", &body).invalid(part);
    refused(json!({}), "Missing `name` field.");
    refused(json!({ "name": null }), "Missing `name` field.");
    for (field, value, part) in [
        ("name", json!(5), "`name` must be a string"),
        ("name", json!(""), "`name` must be a domain name"),
        ("name", json!("acme"), "two labels"),
        ("name", json!("https://acme.test"), "without scheme"),
        ("name", json!("bücher.example"), "xn--bcher-kva.example"),
        ("region", json!("mars-1"), "`region` must be one of `us-east-1`"),
        ("region", json!("US-EAST-1"), "`region`"),
        ("custom_return_path", json!("a.b"), "`custom_return_path` must be one label"),
        ("custom_return_path", json!(""), "`custom_return_path`"),
        ("tracking_subdomain", json!("-x"), "`tracking_subdomain` must neither begin nor end"),
        ("tracking_subdomain", json!("send"), "`tracking_subdomain` must differ"),
        ("open_tracking", json!("yes"), "`open_tracking` must be a boolean"),
        ("click_tracking", json!(1), "`click_tracking` must be a boolean"),
        ("tls", json!("maybe"), "`tls` must be one of `opportunistic`, `enforced`"),
        ("capabilities", json!("sending"), "`capabilities` must be an object"),
        ("capabilities", json!({ "sending": "on" }), "`capabilities.sending` must be one of"),
        ("capabilities", json!({ "receiving": true }), "`capabilities.receiving` must be a string"),
        ("capabilities", json!({ "sending": "disabled" }), "at least one"),
        ("capabilities", json!({ "sending": "disabled", "receiving": "disabled" }), "at least one"),
    ] {
        let mut body = json!({ "name": "acme.test" });
        body[field] = value;
        refused(body, part);
    }
    assert_eq!(sandbox.get("/domains").json()["data"], json!([]), "no domain was created");
    let ignored =
        sandbox.post("/domains", &json!({"name": "acme.test", "nam": 1, "capabilities": {"sendin": 1}}));
    assert_eq!(ignored.header("x-sandbox-ignored-fields"), Some("/capabilities/sendin,/nam"));
}

#[test]
fn a_name_is_unique_per_tenant() {
    let sandbox = Sandbox::new();
    let domain = created(&sandbox, &json!({ "name": "acme.test" }));
    let again = sandbox.post("/domains", &json!({ "name": "ACME.test", "region": "eu-west-1" }));
    again.rejected(403, "validation_error", "");
    assert!(again.message().contains(id(&domain)), "{}", again.text());
    created(&sandbox, &json!({ "name": "mail.acme.test" }));
    created(&sandbox.account("sb_other"), &json!({ "name": "acme.test" }));
    let gone = sandbox.delete(format!("/domains/{}", id(&domain)));
    assert_eq!(gone.json(), json!({ "object": "domain", "id": id(&domain), "deleted": true }));
    created(&sandbox, &json!({ "name": "acme.test" }));
}

#[test]
fn verification_takes_two_seconds_or_follows_the_domain_name() {
    // DOM-03, DOM-34, DOM-35, DOM-36, GEN-05
    let sandbox = Sandbox::new();
    let [usual, fails, slow] = ["acme.test", "fail.acme.test", "slow.acme.test"]
        .map(|name| created(&sandbox, &json!({ "name": name })));
    for domain in [&usual, &fails, &slow] {
        assert_eq!(statuses(&sandbox, domain), all("not_started", 5));
        verify(&sandbox, domain);
        assert_eq!(statuses(&sandbox, domain), all("pending", 5));
    }
    sandbox.service.clock().advance(std::time::Duration::from_millis(1_999));
    assert_eq!(statuses(&sandbox, &usual), all("pending", 5));
    verify(&sandbox, &usual);
    sandbox.service.clock().advance(std::time::Duration::from_millis(1));
    assert_eq!(statuses(&sandbox, &usual), all("verified", 5), "a second request doesn't postpone it");
    assert_eq!(statuses(&sandbox, &fails), all("failed", 5));
    assert_eq!(statuses(&sandbox, &slow), all("pending", 5));
    sandbox.advance(57);
    assert_eq!(statuses(&sandbox, &slow), all("pending", 5));
    sandbox.advance(1);
    assert_eq!(statuses(&sandbox, &slow), all("verified", 5));
    for domain in [&usual, &fails] {
        verify(&sandbox, domain);
        assert_eq!(statuses(&sandbox, domain), all("pending", 5), "from any status");
    }
}

#[test]
fn a_partial_domain_verifies_only_the_sending_records() {
    let sandbox = Sandbox::new();
    let body = json!({ "name": "partial.acme.test", "tracking_subdomain": "links", "capabilities": { "receiving": "enabled" } });
    let domain = created(&sandbox, &body);
    verify(&sandbox, &domain);
    sandbox.advance(2);
    let (status, records) = statuses(&sandbox, &domain);
    assert_eq!(status, "partially_verified");
    assert_eq!(records, ["verified", "verified", "verified", "verified", "verified", "pending", "pending"]);
    sandbox.advance(57);
    assert_eq!(statuses(&sandbox, &domain).0, "partially_verified");
    sandbox.advance(1);
    let (status, records) = statuses(&sandbox, &domain);
    assert_eq!(status, "partially_failed");
    assert_eq!(records[5..], ["failed", "failed"]);
    let plain = created(&sandbox, &json!({ "name": "partial.other.test" }));
    verify(&sandbox, &plain);
    sandbox.advance(2);
    assert_eq!(statuses(&sandbox, &plain), all("verified", 5), "no record is missing");
}

#[test]
fn an_update_changes_only_the_given_fields_and_new_records_are_unverified() {
    // DOM-24, DOM-25
    let sandbox = Sandbox::new();
    let domain = verified(&sandbox, &json!({ "name": "acme.test", "open_tracking": true }));
    let body = json!({ "tracking_subdomain": "Links", "capabilities": { "receiving": "enabled" } });
    let answer = change(&sandbox, &domain, &body).expect_status(200);
    assert_eq!(answer.json(), json!({ "object": "domain", "id": id(&domain) }));
    let now = read(&sandbox, &domain);
    assert_eq!(now["tracking_subdomain"], "links");
    assert_eq!(now["capabilities"], json!({ "sending": "enabled", "receiving": "enabled" }));
    expect_fields_of(&json!({ "open_tracking": true, "click_tracking": false }), &now);
    let (status, records) = statuses(&sandbox, &domain);
    assert_eq!(status, "verified");
    assert_eq!(&records[4..], ["verified", "not_started", "not_started"]);
    verify(&sandbox, &domain);
    sandbox.advance(2);
    assert_eq!(statuses(&sandbox, &domain), all("verified", 7));
    change(&sandbox, &domain, &json!({})).expect_status(200);
    let body = json!({ "tracking_subdomain": null, "open_tracking": false });
    change(&sandbox, &domain, &body).expect_status(200);
    expect_fields_of(&body, &read(&sandbox, &domain));
    assert_eq!(statuses(&sandbox, &domain), all("verified", 6));
}

#[test]
fn a_change_during_verification_applies_to_the_next_one() {
    let sandbox = Sandbox::new();
    let domain = created(&sandbox, &json!({ "name": "acme.test" }));
    verify(&sandbox, &domain);
    sandbox.advance(1);
    change(&sandbox, &domain, &json!({ "tracking_subdomain": "links" }));
    assert_eq!(statuses(&sandbox, &domain).1[5], "not_started");
    verify(&sandbox, &domain);
    sandbox.advance(1);
    assert_eq!(statuses(&sandbox, &domain), all("pending", 6), "verification restarted");
    sandbox.advance(1);
    assert_eq!(statuses(&sandbox, &domain), all("verified", 6));
}

#[test]
fn an_invalid_update_changes_nothing() {
    let sandbox = Sandbox::new();
    let domain = created(&sandbox, &json!({ "name": "acme.test", "tracking_subdomain": "links" }));
    let before = read(&sandbox, &domain);
    for (body, part) in [
        (json!({ "capabilities": { "sending": "disabled" } }), "at least one"),
        (json!({ "tracking_subdomain": "send" }), "must differ"),
        (json!({ "tracking_subdomain": "" }), "`tracking_subdomain`"),
        (json!({ "tls": "never" }), "`tls`"),
        (json!({ "open_tracking": "on", "click_tracking": true }), "`open_tracking`"),
        (json!([]), "object"),
    ] {
        change(&sandbox, &domain, &body).invalid(part);
    }
    let body = json!({ "region": "eu-west-1", "name": "x.test", "custom_return_path": "b" });
    let fixed = change(&sandbox, &domain, &body);
    assert_eq!(fixed.header("x-sandbox-ignored-fields"), Some("/region,/name,/custom_return_path"));
    assert_eq!(read(&sandbox, &domain), before);
}

#[test]
fn an_unknown_domain_is_not_found_on_every_route() {
    let sandbox = Sandbox::new();
    let mine = created(&sandbox, &json!({ "name": "acme.test" }));
    for (method, after) in
        [(Method::GET, ""), (Method::PATCH, ""), (Method::DELETE, ""), (Method::POST, "/verify")]
    {
        let ask = |id: &str, key: &str| {
            sandbox.ask(method.clone(), format!("/domains/{id}{after}")).key(key).json(&json!({}))
        };
        assert_eq!(ask(UNKNOWN_ID, "sb_test").name(), "not_found");
        assert_eq!(ask(id(&mine), "sb_other").name(), "not_found");
        assert_eq!(ask("acme.test", "sb_test").name(), "invalid_parameter");
    }
    assert_eq!(read(&sandbox, &mine)["status"], "not_started");
}

#[test]
fn a_strict_service_sends_from_verified_domains_only() {
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let send = |from: &str| sandbox.post("/emails", &email_with("from", from)).status.as_u16();
    let domain = created(&sandbox, &json!({ "name": "acme.test" }));
    let refused = sandbox.post("/emails", &email_with("from", "hi@acme.test"));
    refused.rejected(403, "validation_error", "The domain acme.test is not verified");
    assert!(sandbox.mails().is_empty());
    verify(&sandbox, &domain);
    assert_eq!(send("hi@acme.test"), 403, "nor is a domain during its first verification");
    sandbox.advance(2);
    assert_eq!((send("hi@acme.test"), send("Acme <hi@ACME.Test>")), (200, 200));
    assert_eq!(send("hi@mail.acme.test"), 403, "a subdomain is a domain of its own");
    verify(&sandbox, &domain);
    assert_eq!(send("hi@acme.test"), 200, "it stays verified during another verification");
    let receiving = json!({ "capabilities": { "sending": "disabled", "receiving": "enabled" } });
    change(&sandbox, &domain, &receiving);
    let refused = sandbox.post("/emails", &email_with("from", "hi@acme.test"));
    refused.rejected(403, "validation_error", "enable its capability `sending`");
    change(&sandbox, &domain, &json!({ "capabilities": { "sending": "enabled" } }));
    assert_eq!(send("hi@acme.test"), 200);
    sandbox.delete(format!("/domains/{}", id(&domain)));
    assert_eq!(send("hi@acme.test"), 403);

    let fails = created(&sandbox, &json!({ "name": "fail.test.test" }));
    verify(&sandbox, &fails);
    let partial = created(&sandbox, &json!({ "name": "partial.test.test", "tracking_subdomain": "t" }));
    verify(&sandbox, &partial);
    sandbox.advance(60);
    assert_eq!(send("a@fail.test.test"), 403);
    assert_eq!(send("a@partial.test.test"), 200, "a partially verified domain can send");
    let international = created(&sandbox, &json!({ "name": "xn--bcher-kva.example" }));
    verify(&sandbox, &international);
    sandbox.advance(2);
    assert_eq!(send("hi@bücher.example"), 200);
}

#[test]
fn a_strict_service_checks_the_domain_of_a_scheduled_email_again_when_it_is_due() {
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let domain = created(&sandbox, &json!({ "name": "acme.test" }));
    verify(&sandbox, &domain);
    sandbox.advance(2);
    let later = sandbox.sent(&email_with("scheduled_at", "in 1 hour"));
    sandbox.delete(format!("/domains/{}", id(&domain)));
    sandbox.advance(3_600);
    assert_eq!(sandbox.last_event(&later), "failed");
    assert!(sandbox.mails().is_empty());
}

#[test]
fn enforced_tls_prevents_the_plain_text_fallback() {
    // DOM-26, DOM-27, DOM-28
    let sandbox = Sandbox::new();
    created(&sandbox, &json!({ "name": "open.test" }));
    created(&sandbox, &json!({ "name": "closed.test", "tls": "enforced" }));
    let send = |from: &str, to: Value| {
        let email = email_of(&json!({"from": from, "to": to}));
        let id = sandbox.sent(&email);
        sandbox.advance(5);
        sandbox.last_event(&id)
    };
    assert_eq!(send("a@open.test", json!("no-tls@e.test")), "delivered");
    assert_eq!(sandbox.mail().to, ["no-tls@e.test"]);
    assert_eq!(send("a@closed.test", json!("no-tls@e.test")), "failed");
    assert_eq!(sandbox.mails().len(), 1, "no mail was captured");
    assert_eq!(send("a@closed.test", json!(["no-tls@e.test", "ada@e.test"])), "delivered");
    assert_eq!(sandbox.mails()[0].to, ["ada@e.test"], "delivered to the recipient with TLS only");
}

#[test]
fn only_a_verified_tracking_subdomain_tracks() {
    // DOM-04, DOM-05
    let sandbox = Sandbox::new();
    let html = r#"<body><p><a href="https://a.test/">a</a></p></body>"#;
    let send = || {
        let email = email_of(&json!({"html": html, "from": "hi@acme.test"}));
        let id = sandbox.sent(&email);
        let mail = sandbox.mails().remove(0);
        assert_eq!(mail.email_id, id);
        assert_eq!(sandbox.record(&id)["html"], html, "the record is as sent");
        let mime = String::from_utf8_lossy(&mail.mime).replace("=\r\n", "").replace("=3D", "=");
        let html = mail.html.as_deref().unwrap().to_owned();
        let link = html.contains(r#"href="https://links.acme.test/click/"#);
        let picture = html.contains(r#"<img src="https://links.acme.test/open/"#);
        assert_eq!(mime.contains("/click/"), link, "{mime}");
        assert_eq!(mime.contains("/open/"), picture, "{mime}");
        (picture, link)
    };
    let domain =
        verified(&sandbox, &json!({ "name": "acme.test", "open_tracking": true, "click_tracking": true }));
    assert_eq!(send(), (false, false), "no subdomain is set");
    change(&sandbox, &domain, &json!({ "tracking_subdomain": "links" }));
    assert_eq!(send(), (false, false), "the domain isn't verified");
    verify(&sandbox, &domain);
    sandbox.advance(2);
    assert_eq!(send(), (true, true));
    change(&sandbox, &domain, &json!({ "open_tracking": false }));
    assert_eq!(send(), (false, true));
    change(&sandbox, &domain, &json!({ "open_tracking": true, "click_tracking": false }));
    assert_eq!(send(), (true, false));
    let now = read(&sandbox, &domain);
    expect_fields_of(&json!({ "open_tracking": true, "click_tracking": false }), &now);
}

#[test]
fn deleting_a_domain_cancels_its_verification() {
    let sandbox = Sandbox::new();
    let domain = created(&sandbox, &json!({ "name": "acme.test" }));
    verify(&sandbox, &domain);
    sandbox.delete(format!("/domains/{}", id(&domain)));
    let next = created(&sandbox, &json!({ "name": "acme.test" }));
    sandbox.advance(2);
    assert_eq!(statuses(&sandbox, &next), all("not_started", 5));
}

#[test]
fn a_list_item_has_a_tracking_subdomain_and_no_records() {
    let sandbox = Sandbox::new();
    created(&sandbox, &json!({ "name": "acme.test" }));
    created(&sandbox, &json!({ "name": "other.test", "tracking_subdomain": "links" }));
    let items = sandbox.items("/domains");
    assert_eq!(items.len(), 2);
    for (item, (name, label)) in items.iter().zip([("other.test", Some("links")), ("acme.test", None)]) {
        expect_fields_of(&json!({ "name": name, "tracking_subdomain": label }), item);
        assert_eq!(item.get("records"), None);
        expect_fields_of(item, &read(&sandbox, item));
    }
}
