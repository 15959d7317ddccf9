//! Scripted faults: `/_/faults`.

use http::Method;
use idempost_reference_server::Settings;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use crate::support::{Sandbox, email, expect_fields_of, http_client, wait_until};

fn sends(sandbox: &Sandbox, times: usize) -> Vec<u16> {
    (0..times).map(|_| sandbox.post("/emails", &email()).status.as_u16()).collect()
}

#[test]
fn a_rule_applies_to_its_route_a_limited_number_of_times() {
    let sandbox = Sandbox::new();
    let rule = json!({"method": "POST", "path": "/emails", "action": "answer", "status": 503, "times": 2, "after": 1});
    let added = sandbox.post("/_/faults", &rule).expect_status(201);
    let expected = json!({
        "object": "fault", "id": "1", "method": "POST", "path": "/emails", "action": "answer", "status": 503,
        "name": "application_error", "all_accounts": false, "retry_after": null, "after": 1, "left": 2, "met": 0,
        "client_gets": {
            "summary": "503 application_error", "handled": false, "status": 503, "name": "application_error",
            "end": "complete", "body_bytes": null, "delay_ms": 0,
        },
    });
    assert_eq!(added.json(), expected);
    assert_eq!(sandbox.get("/emails").status, 200, "another method");
    assert_eq!(sends(&sandbox, 2), [200, 503]);
    let one = sandbox.get("/_/faults/1").json();
    assert_eq!((&one["left"], &one["met"], &one["after"]), (&json!(1), &json!(1), &json!(0)));
    assert_eq!(sends(&sandbox, 2), [503, 200]);
    assert_eq!(sandbox.get("/_/faults").json(), json!({"object": "list", "data": [], "has_more": false}));
    assert_eq!(sandbox.get("/_/faults/1").status, 404);
}

#[test]
fn rules_are_removed_one_by_one_or_all() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.post("/_/faults", &json!({"action": "answer", "always": true}));
    }
    let delete = |path: &str| sandbox.delete(path).json();
    assert_eq!(delete("/_/faults/2"), json!({"object": "fault", "id": "2", "deleted": true}));
    assert_eq!(delete("/_/faults/2")["statusCode"], 404);
    assert_eq!(sandbox.ids("/_/faults"), ["1", "3"]);
    assert_eq!(sends(&sandbox, 1), [500]);
    assert_eq!(delete("/_/faults"), json!({"deleted": 2}));
    assert_eq!(sends(&sandbox, 1), [200]);
}

#[test]
fn response_status_headers_and_body_are_scripted() {
    let sandbox = Sandbox::new();
    let met = |rule: Value| {
        sandbox.post("/_/faults", &rule).expect_status(201);
        sandbox.post("/emails", &email())
    };
    let plain = met(json!({"action": "answer"}));
    assert!(plain.header("x-request-id").is_some());
    assert_eq!(
        plain.json(),
        json!({"statusCode": 500, "name": "application_error", "message": "A scripted fault caused this response."})
    );
    let named = met(
        json!({"action": "answer", "status": 429, "name": "daily_quota_exceeded", "message": "no", "retry_after": 7}),
    );
    assert_eq!(named.json(), json!({"statusCode": 429, "name": "daily_quota_exceeded", "message": "no"}));
    assert_eq!(named.headers["retry-after"], "7");
    assert_eq!(met(json!({"action": "answer", "status": 200, "body": "<html>"})).text(), "<html>");
    assert_eq!(met(json!({"action": "answer", "status": 200, "body": [1]})).json(), json!([1]));
    let limited = met(json!({"action": "rate_limit", "retry_after": "soon"}));
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"soon".parse().unwrap()));
    assert!(met(json!({"action": "rate_limit"})).headers.get("retry-after").is_none());
    let refused = met(json!({"action": "answer", "status": 401}));
    assert_eq!(refused.headers["www-authenticate"], "Bearer error=\"invalid_token\"");
    assert!(sandbox.mails().is_empty(), "a scripted response replaces processing");
}

#[test]
fn random_faults_are_reproducible_and_match_their_percentage() {
    let settings = Settings { seed: Some(7), ..Settings::default() };
    let statuses = || {
        let sandbox = Sandbox::with(&settings);
        let added = sandbox.post("/_/faults", &json!({"path": "/emails", "action": "answer", "percent": 30}));
        assert_eq!(added.json()["percent"], 30);
        sends(&sandbox, 1_000)
    };
    let first = statuses();
    assert_eq!(first, statuses());
    let met = first.iter().filter(|status| **status == 500).count();
    assert!((250..350).contains(&met), "{met} of 1000");
    let all = Sandbox::new();
    all.service.faults().add(Rule::new(Action::http_response(500, "")).percent(100));
    assert_eq!(sends(&all, 20), [500; 20]);
}

#[test]
fn an_invalid_rule_is_rejected_with_all_problems() {
    let sandbox = Sandbox::new();
    for (rule, said) in [
        (json!({}), &["Missing `action`"][..]),
        (json!([]), &["must be a JSON object; found an array"]),
        (json!({"action": "explode"}), &["`action` must be one of answer, drop, lose", "found \"explode\""]),
        (json!({"action": 1}), &["`action` must be a string; found 1"]),
        (
            json!({"method": "BREW", "path": "emails", "action": "slow", "times": 0, "percent": 101, "wen": 1}),
            &[
                "`method` must be one of GET, POST, PATCH, DELETE; found \"BREW\"",
                "`path` must be a path of the service",
                "Missing `delay_ms`",
                "`times` must be a whole number from 1 to 1000000; found 0",
                "`percent` must be a whole number from 1 to 100; found 101",
                "Only one of `times`, `percent` and `always`",
                "\"wen\" is not a field here",
            ],
        ),
        (json!({"path": "/_/faults", "action": "drop"}), &["faults don't affect"]),
        (json!({"path": "/emials", "action": "drop"}), &["found \"/emials\""]),
        (
            json!({"method": "DELETE", "path": "/emails", "action": "drop"}),
            &["The service has no route DELETE /emails"],
        ),
        (json!({"action": "drop", "status": 500}), &["`status` can't be used with the action `drop`"]),
        (json!({"action": "answer", "status": 199}), &["`status` must be a whole number from 200 to 599"]),
        (json!({"action": "answer", "status": 600}), &["found 600"]),
        (json!({"action": "answer", "name": "x", "body": {}}), &["Only one of `name` and `body`"]),
        (
            json!({"action": "rate_limit", "retry_after": "a\r\nb"}),
            &["`retry_after` must be seconds or the text of a header"],
        ),
        (json!({"action": "slow", "delay_ms": -1}), &["`delay_ms`", "found -1"]),
        (json!({"action": "slow", "delay_ms": 3_600_001}), &["from 0 to 3600000"]),
        (json!({"action": "drop", "always": 1}), &["`always` must be a boolean"]),
    ] {
        let answer = sandbox.post("/_/faults", &rule);
        assert_eq!(answer.status, 422, "{rule} {}", answer.text());
        assert_eq!(answer.json()["name"], "validation_error");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        for part in said {
            assert!(message.contains(part), "{rule}: {message}");
        }
    }
    for (body, status) in [("", 400), ("{", 400), ("nonsense", 400)] {
        assert_eq!(sandbox.ask(Method::POST, "/_/faults").send(body).status, status);
    }
    assert_eq!(sandbox.service.faults().pending(), 0);
    assert_eq!(sandbox.ask(Method::PUT, "/_/faults").send("{}").status, 405);
    assert_eq!(sandbox.visit("/_/faults").status, 401);
    for id in ["0", "-1", "x", "99999999999999999999999"] {
        assert_eq!(sandbox.get(format!("/_/faults/{id}")).status, 404, "{id}");
    }
}

#[test]
fn control_routes_survive_any_body() {
    let sandbox = Sandbox::new();
    let deep = format!("{{\"action\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let many = format!("{{{}}}", (0..5_000).map(|n| format!("\"f{n}\": {n}")).collect::<Vec<_>>().join(","));
    let large = format!("{{\"action\": \"{}\"}}", "x".repeat(1 << 20));
    let strange = [
        &deep,
        &many,
        &large,
        "{\"action\": \"slow\", \"delay_ms\": 1e400}",
        "{\"action\": \"slow\", \"delay_ms\": 18446744073709551616}",
        "{\"action\": \"truncate\", \"bytes\": 1.5}",
        "{\"action\": \"drop\", \"path\": \"/\u{202e}\\u0000\"}",
        "{\"action\": \"drop\", \"path\": \"\"}",
        "{\"action\": \"drop\", \"path\": \"/_\"}",
        "{\"scale\": 1e308}",
        "{\"scale\": -0.0}",
        "{\"set\": \"9999-12-31T23:59:60Z\"}",
        "{\"advance\": \"9999999999999999999 days\"}",
        "{\"advance\": \"1 day\\u0000\"}",
        "\u{feff}{}",
        "null",
    ];
    for body in strange {
        for path in ["/_/faults", "/_/clock"] {
            let answer = sandbox.ask(Method::POST, path).send(body.to_owned());
            let shown: String = body.chars().take(80).collect();
            assert!(answer.status.is_client_error(), "{path} {shown} {}", answer.status);
            assert!(answer.body.len() < 8_192, "{path} {shown}: {} bytes", answer.body.len());
        }
    }
}

#[test]
fn the_number_of_rules_is_limited() {
    let sandbox = Sandbox::new();
    for _ in 0..1_000 {
        sandbox.service.faults().add_once(Action::DropBefore);
    }
    assert_eq!(sandbox.post("/_/faults", &json!({"action": "drop"})).status, 201, "of the account");
    let answer =
        sandbox.post("/_/faults", &json!({"action": "drop", "all_accounts": true})).expect_status(422);
    assert!(answer.text().contains("At most 1000 rules"), "{}", answer.text());
}

#[test]
fn rules_belong_to_their_account_unless_they_are_for_all() {
    let sandbox = Sandbox::new();
    let add = |key: &str, rule: Value| {
        let added = sandbox.ask(Method::POST, "/_/faults").key(key).json(&rule).expect_status(201);
        added.json()["all_accounts"].clone()
    };
    let status = |key: &str| sandbox.account(key).get("/emails").status.as_u16();
    let listed = |key: &str| sandbox.account(key).ids("/_/faults");
    let delete = |key: &str, path: &str| sandbox.account(key).delete(path);
    assert_eq!(add("sb_a", json!({"action": "answer", "status": 503})), false);
    assert_eq!((status("sb_b"), listed("sb_b")), (200, vec![]));
    assert_eq!(delete("sb_b", "/_/faults/1").status, 404);
    assert_eq!(delete("sb_b", "/_/faults").json(), json!({"deleted": 0}));
    assert_eq!((listed("sb_a"), status("sb_a_sending"), status("sb_a")), (vec!["1".to_owned()], 503, 200));
    assert_eq!(add("sb_a", json!({"action": "answer", "always": true, "all_accounts": true})), true);
    assert_eq!((status("sb_a"), status("sb_b"), listed("sb_b")), (500, 500, vec!["2".to_owned()]));
    assert_eq!(sandbox.ask(Method::GET, "/_/messages").key("sb_b").send("").status, 200, "control routes");
    assert_eq!(delete("sb_b", "/_/faults").json(), json!({"deleted": 0}), "only those that it added");
    assert_eq!(delete("sb_b", "/_/faults?all_accounts=yes").status, 422);
    assert_eq!(delete("sb_b", "/_/faults?all_accounts=true").json(), json!({"deleted": 1}));
    add("sb_a", json!({"action": "answer", "all_accounts": true}));
    assert_eq!(delete("sb_a", "/_/faults").json(), json!({"deleted": 1}));
    // Requests that belong to no account meet rules for all accounts only.
    add("sb_a", json!({"action": "answer", "status": 503}));
    assert_eq!(sandbox.ask(Method::POST, "/oauth/token").no_key().send("").status, 400);
    assert_eq!(add("sb_a", json!({"path": "/oauth/token", "action": "answer", "status": 502})), true);
    assert_eq!(sandbox.ask(Method::POST, "/oauth/token").no_key().send("").status, 502);
    // A reset account has no rules left.
    assert_eq!(listed("sb_a").len(), 1);
    sandbox.ask(Method::POST, "/_/reset").key("sb_a").send("");
    assert_eq!((listed("sb_a").len(), status("sb_a")), (0, 200));
}

#[test]
fn with_a_password_only_rules_for_all_accounts_require_it() {
    let settings = Settings { password: Some("correct-horse".to_owned().into()), ..Settings::default() };
    let sandbox = Sandbox::with(&settings);
    let own = json!({"action": "answer", "status": 503});
    let all = json!({"action": "answer", "status": 503, "all_accounts": true});
    let add =
        |key: &str, rule: &Value| sandbox.ask(Method::POST, "/_/faults").key(key).json(rule).status.as_u16();
    let delete = |key: &str, path: &str| sandbox.ask(Method::DELETE, path).key(key).send("").status.as_u16();
    let (first, other) = ("sb_correct-horse", "sb_correct-horse_worker");
    assert_eq!((add(other, &own), add(other, &all), add(first, &all)), (201, 401, 201));
    assert_eq!((delete(other, "/_/faults/2"), delete(first, "/_/faults/2")), (401, 200));
    assert_eq!((delete(first, "/_/faults/1"), delete(other, "/_/faults/1")), (404, 200));
    assert_eq!(delete(other, "/_/faults?all_accounts=true"), 401);
    let page = "Basic OmNvcnJlY3QtaG9yc2U=";
    let by_page = sandbox.ask(Method::POST, "/_/faults?key=sb_correct-horse_worker").no_key();
    let by_page = by_page.header("authorization", page).json(&own).expect_status(201);
    let listed = sandbox.ask(Method::GET, "/_/faults").key(other).send("").json();
    assert_eq!(listed["data"][0]["id"], by_page.json()["id"], "{listed}");
}

#[tokio::test]
async fn connection_faults_are_scripted_over_http() {
    let server = idempost_sandbox::start(Settings::default()).await;
    let client = http_client();
    let post = |path: &'static str, body: Value| {
        let request = client.post(format!("{}{path}", server.base_url())).bearer_auth(server.api_key());
        request.header("content-type", "application/json").body(body.to_string()).send()
    };
    let mails = || server.service().mails("sb_test").len();
    for (rule, left) in [
        (json!({"path": "/emails", "action": "drop"}), 0),
        (json!({"path": "/emails", "action": "lose"}), 1),
        (json!({"path": "/emails", "action": "truncate", "bytes": 5}), 2),
    ] {
        assert_eq!(post("/_/faults", rule.clone()).await.unwrap().status(), 201);
        let answer = post("/emails", email()).await;
        let lost = match answer {
            Err(_) => true,
            Ok(answer) => answer.bytes().await.is_err(),
        };
        assert!(lost, "{rule}");
        assert_eq!(mails(), left, "{rule}");
    }
    post("/_/faults", json!({"action": "slow", "delay_ms": 120})).await.unwrap();
    let began = std::time::Instant::now();
    assert_eq!(post("/emails", email()).await.unwrap().status(), 200);
    assert!(began.elapsed() >= std::time::Duration::from_millis(120));
}

#[tokio::test]
async fn a_stalled_request_gets_no_response_until_shutdown() {
    let server = idempost_sandbox::start(Settings::default()).await;
    server.service().faults().add(Rule::new(Action::Stall).always());
    let client = http_client();
    let ask = || client.get(format!("{}/emails", server.base_url())).bearer_auth(server.api_key());
    let abandoned = tokio::spawn(ask().send());
    wait_until("the request arrives", || server.service().faults().list()[0].met == 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    assert!(!abandoned.is_finished());
    abandoned.abort();
    let waiting = tokio::spawn(ask().send());
    wait_until("the request arrives", || server.service().faults().list()[0].met == 2).await;
    assert!(!waiting.is_finished());
    let stopped = std::time::Instant::now();
    drop(server);
    waiting.await.unwrap().unwrap_err();
    assert!(stopped.elapsed() < std::time::Duration::from_secs(30), "a stall blocks no other request");
}

#[test]
fn each_fault_describes_what_the_client_gets() {
    let sandbox = Sandbox::new();
    let gets = |rule: Value| {
        let added = sandbox.post("/_/faults", &rule).expect_status(201);
        let added = added.json();
        let listed = sandbox.get(format!("/_/faults/{}", added["id"].as_str().unwrap())).json();
        assert_eq!(added["client_gets"], listed["client_gets"]);
        added["client_gets"].clone()
    };
    let own = "the service's own response";
    for (rule, summary, different) in [
        (
            json!({"action": "answer"}),
            "500 application_error",
            json!({"status": 500, "name": "application_error"}),
        ),
        (
            json!({"action": "answer", "status": 429, "name": "daily_quota_exceeded", "retry_after": 7}),
            "429 daily_quota_exceeded, retry-after: 7",
            json!({"status": 429, "name": "daily_quota_exceeded"}),
        ),
        (json!({"action": "answer", "status": 502, "body": "<html>"}), "502", json!({"status": 502})),
        (
            json!({"action": "rate_limit", "retry_after": "soon"}),
            "429 rate_limit_exceeded, retry-after: soon",
            json!({"status": 429, "name": "rate_limit_exceeded"}),
        ),
        (
            json!({"action": "drop"}),
            "no response: connection closed, request not handled",
            json!({"end": "closed"}),
        ),
        (
            json!({"action": "lose"}),
            "no response: request handled, then connection closed",
            json!({"handled": true, "end": "closed"}),
        ),
        (
            json!({"action": "stall"}),
            "no response: connection left open, request not handled",
            json!({"end": "never"}),
        ),
        (
            json!({"action": "truncate", "bytes": 20}),
            &format!("{own}, cut off after 20 bytes of the body"),
            json!({"handled": true, "end": "cut", "body_bytes": 20}),
        ),
        (
            json!({"action": "slow", "delay_ms": 1500}),
            &format!("{own}, 1500 ms late"),
            json!({"handled": true, "delay_ms": 1500}),
        ),
    ] {
        let mut expected = json!({"summary": summary, "handled": false, "status": null, "name": null, "end": "complete",
            "body_bytes": null, "delay_ms": 0});
        for (field, value) in different.as_object().unwrap() {
            expected[field] = value.clone();
        }
        assert_eq!(gets(rule), expected);
    }
}

#[test]
fn the_described_status_and_name_match_the_response() {
    let sandbox = Sandbox::new();
    for rule in [
        json!({"action": "answer", "status": 503}),
        json!({"action": "answer", "status": 200, "body": {"name": "own"}}),
        json!({"action": "rate_limit"}),
    ] {
        let stated = sandbox.post("/_/faults", &rule).json()["client_gets"].clone();
        let met = sandbox.post("/emails", &email());
        expect_fields_of(&json!({"status": met.status.as_u16(), "name": met.name()}), &stated);
    }
}
