//! The clock of one account, which no other account sees.

use http::Method;
use idempost_reference_server::{OAuthClient, Settings};
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Answer, Sandbox, email, email_of, email_with, expect_fields_of};

const KEYS: [&str; 2] = ["sb_a", "sb_b"];
const SECOND: &str = "Mon, 02 Mar 2026 12:00:01 GMT";

/// Changes the clock of the first account.
fn change(sandbox: &Sandbox, body: &Value) -> Value {
    let answer = post(sandbox, KEYS[0], "/_/clock", body);
    assert_eq!(answer.status, 200, "{body} {}", answer.text());
    answer.json()
}

fn post(sandbox: &Sandbox, key: &str, path: &str, body: &Value) -> Answer {
    sandbox.account(key).post(path, body)
}

fn get(sandbox: &Sandbox, key: &str, path: &str) -> Answer {
    sandbox.account(key).get(path)
}

fn now(sandbox: &Sandbox, key: &str) -> String {
    get(sandbox, key, "/_/clock").json()["now"].as_str().unwrap().to_owned()
}

#[test]
fn a_moved_clock_sends_what_its_account_has_scheduled() {
    let sandbox = Sandbox::new();
    for key in KEYS {
        for (subject, at) in [("later", "2026-03-02T14:00:00Z"), ("sooner", "2026-03-02T13:00:00Z")] {
            let email = email_of(&json!({"subject": subject, "scheduled_at": at}));
            assert_eq!(post(&sandbox, key, "/emails", &email).status, 200);
        }
    }
    let moved = change(&sandbox, &json!({"advance": "1h 30m"}));
    expect_fields_of(&json!({"now": "2026-03-02T13:30:00.000Z", "all_accounts": false}), &moved);
    let mails = |key: &str| {
        let mails = sandbox.service.mails(key).into_iter();
        mails.map(|mail| (mail.subject, mail.captured_at.to_string())).collect::<Vec<_>>()
    };
    let sooner = ("sooner".to_owned(), "2026-03-02T13:00:00Z".to_owned());
    assert_eq!(KEYS.map(mails), [vec![sooner], vec![]]);
    let answers = KEYS.map(|key| get(&sandbox, key, "/emails"));
    let dates = answers.each_ref().map(|answer| answer.header("date").unwrap());
    assert_eq!(dates, ["Mon, 02 Mar 2026 13:30:00 GMT", "Mon, 02 Mar 2026 12:00:00 GMT"]);
    let other = get(&sandbox, KEYS[1], "/_/clock").json();
    expect_fields_of(&json!({"now": "2026-03-02T12:00:00.000Z", "all_accounts": true}), &other);

    sandbox.service.account_clock(KEYS[1]).advance(std::time::Duration::from_hours(2));
    assert_eq!(KEYS.map(|key| mails(key).len()), [1, 2]);
}

#[test]
fn changes_for_all_accounts_change_own_clocks_too() {
    let sandbox = Sandbox::new();
    change(&sandbox, &json!({"advance": "1h"}));
    let all = change(&sandbox, &json!({"advance": "1 day", "all_accounts": true}));
    expect_fields_of(&json!({"now": "2026-03-03T12:00:00.000Z", "all_accounts": true}), &all);
    assert_eq!(KEYS.map(|key| now(&sandbox, key)), ["2026-03-03T13:00:00.000Z", "2026-03-03T12:00:00.000Z"]);
    let shown = get(&sandbox, KEYS[0], "/_/clock?all_accounts=true").json();
    assert_eq!(shown["now"], "2026-03-03T12:00:00.000Z");
    change(&sandbox, &json!({"set": "2026-05-01", "all_accounts": true}));
    assert_eq!(KEYS.map(|key| now(&sandbox, key)), ["2026-05-01T00:00:00.000Z"; 2]);
    get(&sandbox, KEYS[0], "/_/clock?all_accounts=yes").expect_status(422);
}

#[test]
fn one_account_can_stop_its_clock_and_run_it_faster() {
    let sandbox = Sandbox::new();
    change(&sandbox, &json!({"run": true, "all_accounts": true}));
    let stopped = change(&sandbox, &json!({"freeze": true, "set": "2030-01-01"}));
    expect_fields_of(&json!({ "frozen": true, "scale": 1.0 }), &stopped);
    let other = get(&sandbox, KEYS[1], "/_/clock").json();
    assert_eq!(other["frozen"], false);
    assert!(other["now"].as_str().unwrap().starts_with("2026-03-02T12:0"), "{other}");
    let email = email_with("scheduled_at", "2030-01-01T00:00:30Z");
    assert_eq!(post(&sandbox, KEYS[0], "/emails", &email).status, 200);
    sandbox.service.run_due();
    assert_eq!(now(&sandbox, KEYS[0]), "2030-01-01T00:00:00.000Z");
    assert!(sandbox.service.mails(KEYS[0]).is_empty());
    let fast = change(&sandbox, &json!({"scale": 100_000, "run": true}));
    assert_eq!(fast["scale"], 100_000.0);
    let begun = std::time::Instant::now();
    while sandbox.service.mails(KEYS[0]).is_empty() {
        assert!(begun.elapsed().as_secs() < 60, "the email is due after a third of a millisecond");
        std::thread::yield_now();
    }
    assert_eq!(get(&sandbox, KEYS[1], "/_/clock").json()["scale"], 1.0);
}

#[test]
fn the_rate_limit_has_windows_by_account() {
    let sandbox = Sandbox::with(&Settings { rate_limit: Some(1), ..Settings::default() });
    let statuses = || KEYS.map(|key| get(&sandbox, key, "/emails").status.as_u16());
    assert_eq!((statuses(), statuses()), ([200, 200], [429, 429]));
    change(&sandbox, &json!({"advance": "1s"}));
    let answer = get(&sandbox, KEYS[0], "/emails");
    assert_eq!((answer.status.as_u16(), answer.header("date")), (200, Some(SECOND)));
    assert_eq!(statuses(), [429, 429]);
}

#[test]
fn tokens_expire_by_the_clock_of_their_account() {
    let clients = vec![OAuthClient::new("app", "app", "http://127.0.0.1/callback")];
    let sandbox = Sandbox::with(&Settings { oauth_clients: clients, ..Settings::default() });
    let grants = KEYS.map(|key| sandbox.service.grant("app", key, "full_access"));
    let statuses =
        || grants.each_ref().map(|grant| get(&sandbox, &grant.access_token, "/emails").status.as_u16());
    assert_eq!(statuses(), [200, 200]);
    change(&sandbox, &json!({"advance": "899s"}));
    assert_eq!(statuses(), [200, 200]);
    change(&sandbox, &json!({"advance": "1s"}));
    assert_eq!(statuses(), [401, 200]);
    let refresh = |token: &str| {
        let ask = sandbox.ask(Method::POST, "/oauth/token").no_key();
        ask.header("content-type", "application/x-www-form-urlencoded")
            .send(format!("grant_type=refresh_token&client_id=app&refresh_token={token}"))
    };
    let refreshed = refresh(&grants[0].refresh_token).expect_status(200);
    let token = refreshed.json()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(get(&sandbox, &token, "/emails").status, 200, "it is valid from the account's time on");
    change(&sandbox, &json!({"advance": "3 months"}));
    let tokens =
        [refreshed.json()["refresh_token"].as_str().unwrap().to_owned(), grants[1].refresh_token.clone()];
    assert_eq!(tokens.map(|token| refresh(&token).status.as_u16()), [400, 200]);
}

#[test]
fn idempotency_keys_expire_by_the_clock_of_their_account() {
    let sandbox = Sandbox::new();
    let send = |key: &str| {
        let ask = sandbox.ask(Method::POST, "/emails").key(key);
        ask.header("idempotency-key", "once").json(&email()).id()
    };
    let first = KEYS.map(send);
    change(&sandbox, &json!({"advance": "1 day"}));
    let second = KEYS.map(send);
    assert!(first[0] != second[0] && first[1] == second[1], "{first:?} {second:?}");
}

#[test]
fn runs_of_automations_wait_by_the_clock_of_their_account() {
    let sandbox = Sandbox::new();
    let automations = KEYS.map(|key| {
        let body = json!({
            "name": "Welcome", "status": "enabled",
            "steps": [
                {"key": "start", "type": "trigger", "config": {"event_name": "user.created"}},
                {"key": "pause", "type": "delay", "config": {"duration": "1 day"}},
            ],
            "connections": [{"from": "start", "to": "pause"}],
        });
        let created = post(&sandbox, key, "/automations", &body).expect_status(201);
        let event = json!({"event": "user.created", "email": "ada@example.com"});
        assert_eq!(post(&sandbox, key, "/events/send", &event).status, 202);
        format!("/automations/{}/runs", created.json()["id"].as_str().unwrap())
    });
    let statuses = || {
        let all = KEYS.iter().zip(&automations);
        all.map(|(key, runs)| get(&sandbox, key, runs).json()["data"][0]["status"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(statuses(), ["running", "running"]);
    change(&sandbox, &json!({"advance": "1 day"}));
    assert_eq!(statuses(), ["completed", "running"]);
}

#[test]
fn mails_reach_the_maximum_age_by_the_clock_of_their_account() {
    let day = std::time::Duration::from_hours(24);
    let sandbox = Sandbox::with(&Settings { keep_for: Some(day), ..Settings::default() });
    for key in KEYS {
        assert_eq!(post(&sandbox, key, "/emails", &email()).status, 200);
    }
    change(&sandbox, &json!({"advance": "1 day"}));
    assert_eq!(KEYS.map(|key| sandbox.service.mails(key).len()), [0, 1]);
}

#[test]
fn a_clock_set_back_lets_neither_its_account_nor_others_run_early() {
    let sandbox = Sandbox::new();
    for key in KEYS {
        let email = email_with("scheduled_at", "2026-03-02T13:00:00Z");
        assert_eq!(post(&sandbox, key, "/emails", &email).status, 200);
    }
    change(&sandbox, &json!({"set": "2026-03-01"}));
    let mails = || KEYS.map(|key| sandbox.service.mails(key).len());
    assert_eq!(mails(), [0, 0]);
    sandbox.advance(3_600);
    assert_eq!((mails(), now(&sandbox, KEYS[0])), ([0, 1], "2026-03-01T01:00:00.000Z".to_owned()));
    change(&sandbox, &json!({"advance": "36 hours"}));
    assert_eq!(mails(), [1, 1]);
}

#[test]
fn a_reset_account_follows_the_service_again() {
    let sandbox = Sandbox::new();
    change(&sandbox, &json!({"advance": "1h"}));
    assert_eq!(post(&sandbox, KEYS[0], "/_/reset", &json!({})).status, 200);
    assert_eq!(now(&sandbox, KEYS[0]), "2026-03-02T12:00:00.000Z");
    sandbox.advance(60);
    assert_eq!(now(&sandbox, KEYS[0]), "2026-03-02T12:01:00.000Z");
}

#[test]
fn an_account_with_a_moved_clock_is_no_empty_one() {
    let sandbox = Sandbox::with(&Settings { keep_tenants: 2, ..Settings::default() });
    change(&sandbox, &json!({"advance": "1h"}));
    for key in ["sb_c", "sb_d", "sb_e"] {
        assert_eq!(post(&sandbox, key, "/emails", &json!({})).status, 422);
    }
    assert_eq!(now(&sandbox, KEYS[0]), "2026-03-02T13:00:00.000Z");
    for key in ["sb_c", "sb_d"] {
        assert_eq!(post(&sandbox, key, "/emails", &email()).status, 200);
    }
    assert_eq!(now(&sandbox, KEYS[0]), "2026-03-02T12:00:00.000Z", "it was evicted");
}

#[test]
fn with_a_password_only_the_clocks_of_all_accounts_require_it() {
    let settings = Settings { password: Some("correct-horse".to_owned().into()), ..Settings::default() };
    let sandbox = Sandbox::with(&settings);
    let (first, other) = ("sb_correct-horse", "sb_correct-horse_worker");
    let advance = |key: &str, all_accounts: bool| {
        let body = json!({"advance": "1h", "all_accounts": all_accounts});
        post(&sandbox, key, "/_/clock", &body).status.as_u16()
    };
    let times = || [other, first].map(|key| now(&sandbox, key));
    assert_eq!((advance(other, false), advance(other, true)), (200, 401));
    assert_eq!(times(), ["2026-03-02T13:00:00.000Z", "2026-03-02T12:00:00.000Z"]);
    assert_eq!(advance(first, true), 200);
    assert_eq!(times(), ["2026-03-02T14:00:00.000Z", "2026-03-02T13:00:00.000Z"]);
}

#[test]
fn clocks_of_accounts_and_what_is_due_by_them_survive_a_restart() {
    let mut sandbox = Restartable::new();
    for key in KEYS {
        let email = email_with("scheduled_at", "2026-03-02T14:00:00Z");
        assert_eq!(post(&sandbox, key, "/emails", &email).status, 200);
    }
    change(&sandbox, &json!({"advance": "1h"}));
    sandbox.restart();
    assert_eq!(KEYS.map(|key| now(&sandbox, key)), ["2026-03-02T13:00:00.000Z", "2026-03-02T12:00:00.000Z"]);
    change(&sandbox, &json!({"advance": "1h"}));
    assert_eq!(KEYS.map(|key| sandbox.service.mails(key).len()), [1, 0]);
}
