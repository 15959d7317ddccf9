//! Claims of domains that another tenant has verified.

use http::Method;
use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, KEY, Sandbox, email_with, expect_fields_of};

/// The key of the tenant that has the domains.
const OWNER: &str = "sb_owner";
const WEEK: u64 = 7 * 24 * 3_600;

fn post(sandbox: &Sandbox, key: &str, path: &str, body: &Value) -> Answer {
    sandbox.account(key).post(path, body)
}

/// Registers and verifies a domain of the owner.
fn owned(sandbox: &Sandbox, name: &str) -> Value {
    let domain = post(sandbox, OWNER, "/domains", &json!({ "name": name })).expect_status(201).json();
    let path = format!("/domains/{}/verify", domain["id"].as_str().unwrap());
    assert_eq!(post(sandbox, OWNER, &path, &json!({})).status, 200);
    sandbox.advance(60);
    domain
}

fn claim_as(sandbox: &Sandbox, key: &str, body: &Value) -> (u16, Value) {
    let answer = post(sandbox, key, "/domains/claim", body);
    (answer.status.as_u16(), answer.json())
}

/// Claims a domain that the owner has verified under names with any outcome.
fn claimed(sandbox: &Sandbox, name: &str) -> Value {
    let (status, claim) = claim_as(sandbox, KEY, &json!({ "name": name }));
    assert_eq!(status, 201, "{claim}");
    claim
}

fn path(claim: &Value) -> String {
    format!("/domains/{}", claim["domain_id"].as_str().unwrap())
}

fn verify(sandbox: &Sandbox, claim: &Value) -> Answer {
    post(sandbox, KEY, &format!("{}/claim/verify", path(claim)), &json!({}))
}

fn read(sandbox: &Sandbox, claim: &Value) -> Value {
    sandbox.get(format!("{}/claim", path(claim))).expect_status(200).json()
}

fn status(sandbox: &Sandbox, claim: &Value) -> String {
    read(sandbox, claim)["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_completed_claim_moves_the_domain_which_needs_another_verification() {
    // DOM-38
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let before = owned(&sandbox, "acme.test");
    let refused = sandbox.post("/domains", &json!({"name": "ACME.test"}));
    refused.rejected(403, "validation_error", "POST /domains/claim");

    let claim = claimed(&sandbox, "Acme.test");
    let expected = json!({
        "object": "domain_claim", "id": claim["id"], "name": "acme.test", "status": "pending", "domain_id": claim["domain_id"],
        "region": "us-east-1",
        "record": {"type": "TXT", "name": "acme.test", "value": claim["record"]["value"], "ttl": "Auto"},
        "blocked_reason": null, "failure_reason": null,
        "created_at": "2026-03-02 12:01:00.000000+00", "expires_at": "2026-03-09 12:01:00.000000+00",
    });
    assert_eq!(claim, expected);
    let value = claim["record"]["value"].as_str().unwrap();
    let (prefix, proof) = value.split_once('=').unwrap();
    assert_eq!((prefix, proof.len()), ("idempost-domain-verification", 32), "{value}");
    assert_eq!(read(&sandbox, &claim), claim);
    assert_eq!(verify(&sandbox, &claim).expect_status(200).json(), claim);
    sandbox.advance(1);
    assert_eq!(status(&sandbox, &claim), "pending");
    sandbox.advance(1);
    assert_eq!(status(&sandbox, &claim), "verified");
    sandbox.act(format!("{}/verify", path(&claim))).invalid("claim");
    sandbox.advance(2);
    assert_eq!(status(&sandbox, &claim), "completed");

    let gone = sandbox.account(OWNER).get(format!("/domains/{}", before["id"].as_str().unwrap()));
    assert_eq!(gone.status, 404, "the other account has lost it");
    let domain = sandbox.get(path(&claim)).json();
    assert_eq!(domain["status"], "not_started");
    let keys = |domain: &Value| -> Vec<_> {
        let records = domain["records"].as_array().unwrap().iter();
        records.filter(|record| record["record"] == "DKIM").map(|record| record["value"].clone()).collect()
    };
    assert!(keys(&domain).len() == 3 && keys(&domain).iter().all(|key| !keys(&before).contains(key)));
    let send = || sandbox.post("/emails", &email_with("from", "hi@acme.test")).status.as_u16();
    assert_eq!(send(), 403);
    sandbox.act(format!("{}/verify", path(&claim))).expect_status(200);
    sandbox.advance(2);
    assert_eq!(send(), 200);
    assert_eq!(verify(&sandbox, &claim).json()["status"], "completed", "repeating it is harmless");
}

#[test]
fn in_a_strict_sandbox_the_first_account_that_verifies_a_domain_owns_it() {
    let sandbox = Sandbox::with(&Settings { strict_domains: true, ..Settings::default() });
    let second = sandbox.created("/domains", &json!({"name": "acme.test"}));
    let verify_second = || sandbox.act(format!("/domains/{second}/verify")).expect_status(200);
    let first = owned(&sandbox, "acme.test");
    verify_second();
    sandbox.advance(2);
    assert_eq!(sandbox.get(format!("/domains/{second}")).json()["status"], "failed");
    let refused = sandbox.post("/emails", &email_with("from", "hi@acme.test"));
    refused.rejected(403, "validation_error", "not verified");
    sandbox.account(OWNER).delete(format!("/domains/{}", first["id"].as_str().unwrap())).expect_status(200);
    verify_second();
    sandbox.advance(2);
    assert_eq!(sandbox.get(format!("/domains/{second}")).json()["status"], "verified");
}

#[test]
fn names_choose_the_outcome_and_a_blocked_claim_can_be_tried_again() {
    let sandbox = Sandbox::new();
    let has_other_value = json!("The TXT record of fail.acme.test has another value.");
    for (name, seconds, outcome, blocked, failed) in [
        ("fail.acme.test", 2, "failed", Value::Null, has_other_value),
        ("blocked.acme.test", 2, "blocked", json!("recent_owner_activity"), Value::Null),
        ("slow.acme.test", 60, "verified", Value::Null, Value::Null),
    ] {
        owned(&sandbox, name);
        let claim = claimed(&sandbox, name);
        verify(&sandbox, &claim);
        sandbox.advance(seconds - 1);
        assert_eq!(status(&sandbox, &claim), "pending", "{name}");
        // It joins the running check.
        verify(&sandbox, &claim);
        sandbox.advance(1);
        let claim = read(&sandbox, &claim);
        let reasons = json!({ "status": outcome, "blocked_reason": blocked, "failure_reason": failed });
        expect_fields_of(&reasons, &claim);
        if outcome == "blocked" {
            assert_eq!(verify(&sandbox, &claim).json()["status"], "pending");
            sandbox.advance(2);
            assert_eq!(status(&sandbox, &claim), "blocked");
        }
    }
}

#[test]
fn a_pending_claim_is_repeated_or_replaced_by_one_with_other_settings() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    let again = claim_as(&sandbox, KEY, &json!({"name": "acme.test"}));
    assert_eq!(again, (200, claim.clone()), "the same claim is pending");
    let (created, other) = claim_as(&sandbox, KEY, &json!({"name": "acme.test", "region": "eu-west-1"}));
    assert_eq!((created, &other["region"]), (201, &json!("eu-west-1")));
    assert_eq!(other["domain_id"], claim["domain_id"], "one placeholder");
    assert_ne!(other["record"]["value"], claim["record"]["value"]);
    assert_eq!(sandbox.get(path(&claim)).json()["region"], "eu-west-1");
    assert_eq!(read(&sandbox, &claim)["id"], other["id"], "the latest claim is shown");
    let taken = sandbox.post("/domains", &json!({"name": "acme.test"}));
    assert_eq!(taken.status, 403, "the placeholder is a domain of this account");
}

#[test]
fn a_claim_expires_after_seven_days_and_can_be_made_again() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    sandbox.advance(WEEK - 1);
    assert_eq!(status(&sandbox, &claim), "pending");
    sandbox.advance(1);
    assert_eq!(status(&sandbox, &claim), "expired");
    verify(&sandbox, &claim).invalid("The claim is expired");
    let next = claimed(&sandbox, "acme.test");
    assert_eq!(next["domain_id"], claim["domain_id"]);
    verify(&sandbox, &next);
    sandbox.advance(4);
    assert_eq!(status(&sandbox, &next), "completed");
    sandbox.advance(WEEK);
    assert_eq!(status(&sandbox, &next), "completed");
}

#[test]
fn a_newer_claim_by_another_account_supersedes_a_pending_one() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    verify(&sandbox, &claim);
    let (created, other) = claim_as(&sandbox, "sb_third", &json!({"name": "acme.test"}));
    assert_eq!(created, 201, "{other}");
    sandbox.advance(10);
    assert_eq!(status(&sandbox, &claim), "superseded", "its check has no effect any more");
    assert_eq!(verify(&sandbox, &claim).status, 422);
    assert_eq!(status(&sandbox.account("sb_third"), &other), "pending");
    assert_eq!(sandbox.get(format!("{}/claim", path(&other))).status, 404, "claims are private");
}

#[test]
fn a_domain_is_transferred_to_one_account_even_if_the_clock_of_another_is_behind() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    verify(&sandbox, &claim);
    sandbox.advance(2);
    assert_eq!(status(&sandbox, &claim), "verified");

    let third = sandbox.account("sb_third");
    let (_, other) = claim_as(&sandbox, "sb_third", &json!({"name": "acme.test"}));
    third.act(format!("{}/claim/verify", path(&other))).expect_status(200);
    third.post("/_/clock", &json!({"advance": "4s"})).expect_status(200);
    assert_eq!(status(&third, &other), "completed");
    sandbox.advance(10);
    assert_eq!(status(&sandbox, &claim), "superseded");
}

#[test]
fn a_domain_can_be_claimed_again_after_a_completed_claim() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    verify(&sandbox, &claim);
    sandbox.advance(4);
    assert_eq!(status(&sandbox, &claim), "completed");
    assert_eq!(sandbox.delete(path(&claim)).status, 200);
    owned(&sandbox, "acme.test");
    let next = claimed(&sandbox, "acme.test");
    assert_ne!((&next["id"], &next["domain_id"]), (&claim["id"], &claim["domain_id"]));
    verify(&sandbox, &next);
    sandbox.advance(4);
    assert_eq!(status(&sandbox, &next), "completed");
}

#[test]
fn a_rejected_claim_leaves_those_of_other_accounts_pending() {
    let sandbox = Sandbox::with(&Settings { keep_records: 1, ..Settings::default() });
    owned(&sandbox, "acme.test");
    let claim = claimed(&sandbox, "acme.test");
    assert_eq!(post(&sandbox, "sb_third", "/domains", &json!({"name": "other.test"})).status, 201);
    let (refused, problem) = claim_as(&sandbox, "sb_third", &json!({"name": "acme.test"}));
    assert_eq!(refused, 403, "{problem}");
    assert_eq!(status(&sandbox, &claim), "pending");
}

#[test]
fn deleting_the_placeholder_cancels_the_claim_even_during_the_transfer() {
    let sandbox = Sandbox::new();
    let before = owned(&sandbox, "acme.test");
    for seconds in [0, 2] {
        let claim = claimed(&sandbox, "acme.test");
        verify(&sandbox, &claim);
        sandbox.advance(seconds);
        assert_eq!(sandbox.delete(path(&claim)).status, 200);
        sandbox.advance(10);
        assert_eq!(status(&sandbox, &claim), "canceled");
    }
    let kept = sandbox.account(OWNER).get(format!("/domains/{}", before["id"].as_str().unwrap()));
    assert_eq!(kept.json()["status"], "verified");
}

#[test]
fn only_a_domain_that_another_account_has_verified_can_be_claimed() {
    let sandbox = Sandbox::new();
    sandbox.post("/domains/claim", &json!({"name": "free.test"})).invalid("");
    post(&sandbox, OWNER, "/domains", &json!({"name": "new.test"}));
    assert_eq!(claim_as(&sandbox, KEY, &json!({"name": "new.test"})).0, 422, "it isn't verified");
    owned(&sandbox, "acme.test");
    assert_eq!(sandbox.post("/domains", &json!({"name": "acme.test"})).status, 201, "tenants are isolated");
    assert_eq!(claim_as(&sandbox, KEY, &json!({"name": "acme.test"})).0, 403, "it is registered already");
    let own = claim_as(&sandbox, OWNER, &json!({"name": "acme.test"}));
    assert_eq!(own.0, 403, "{}", own.1);
    for (body, message) in [
        (json!({}), "Missing `name` field"),
        (json!({"name": "acme"}), "`name` must have at least two labels"),
        (json!({"name": "acme.test", "region": "mars"}), "`region` must be one of"),
        (json!({"name": "acme.test", "tracking_subdomain": "send"}), "`tracking_subdomain` must differ"),
    ] {
        sandbox.post("/domains/claim", &body).invalid(message);
    }
    let domain = &sandbox.ids("/domains")[0];
    for (method, path) in [(Method::GET, "claim"), (Method::POST, "claim/verify")] {
        assert_eq!(sandbox.ask(method, format!("/domains/{domain}/{path}")).send("").status, 404);
    }
    assert_eq!(sandbox.ask(Method::GET, "/domains/claim").send("").status, 405);
    assert_eq!(sandbox.get("/domains/x/claim").status, 422);
}

#[test]
fn claims_and_their_pending_steps_survive_a_restart() {
    let mut sandbox = Restartable::new();
    owned(&sandbox, "acme.test");
    owned(&sandbox, "other.test");
    let (moving, waiting) = (claimed(&sandbox, "acme.test"), claimed(&sandbox, "other.test"));
    verify(&sandbox, &moving);
    let before = read(&sandbox, &waiting);
    sandbox.restart();
    assert_eq!(read(&sandbox, &waiting), before);
    sandbox.advance(4);
    assert_eq!(status(&sandbox, &moving), "completed");
    sandbox.advance(WEEK);
    assert_eq!(status(&sandbox, &waiting), "expired");
}

#[test]
fn the_accounts_webhooks_see_the_placeholder_and_the_loss() {
    let sandbox = Sandbox::new();
    owned(&sandbox, "acme.test");
    let webhook =
        json!({"endpoint": "https://hooks.acme.test/", "events": ["domain.created", "domain.deleted"]});
    let events = |key: &str| {
        let account = sandbox.account(key);
        account.column(format!("/webhooks/{}/events", account.ids("/webhooks")[0]), "type")
    };
    for key in [KEY, OWNER] {
        assert_eq!(post(&sandbox, key, "/webhooks", &webhook).status, 201);
    }
    let claim = claimed(&sandbox, "acme.test");
    verify(&sandbox, &claim);
    sandbox.advance(10);
    assert_eq!(events(KEY), ["domain.created"]);
    assert_eq!(events(OWNER), ["domain.deleted"]);
}
