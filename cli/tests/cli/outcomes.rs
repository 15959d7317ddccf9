//! Every exit code, with its human-readable message and its JSON.

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
#[cfg(unix)]
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine, Idempost, Ran, SEND, concurrently};
#[cfg(unix)]
use crate::support::{Finish as _, signal, wait_until};

/// The idempotency key is on the command line.
const KEYED: ([&str; 10], &str) = (SEND, "--idempotency-key order-17");

fn failing(action: Action, line: &(impl CommandLine + ?Sized), code: i32) -> Value {
    failing_at(&Service::start(), action, line, code)
}

fn failing_at(service: &Service, action: Action, line: &(impl CommandLine + ?Sized), code: i32) -> Value {
    service.core().faults().add(Rule::new(action).always());
    service.idempost().run(&(line, "--retries 0 --json")).error(code)
}

#[test]
fn success_is_0_also_for_an_empty_list() {
    let service = Service::start();
    let ran = service.idempost().run(&["emails", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "no emails yet\n"));
    service.idempost().run(&KEYED).ok();
}

#[test]
fn an_invalid_command_line_and_missing_settings_are_2() {
    Idempost::new().run(&["emails", "sned"]).fails(2);
    Idempost::new().run(&["emails", "list"]).fails_with(2, &["--base-url"]);
}

#[test]
fn a_rejection_is_3_by_its_error_name_first() {
    for (status, name) in
        [(422, "validation_error"), (409, "invalid_idempotent_request"), (451, "security_error")]
    {
        let error = failing(Action::error(status, name, "the service's words"), &KEYED, 3);
        assert_eq!(
            (&error["kind"], &error["outcome"]),
            (&json!("rejected"), &json!("rejected")),
            "{status} {name}"
        );
        assert_eq!(error["api"]["name"], name);
        assert_eq!(error["api"]["body"]["message"], "the service's words");
        assert_eq!(error["http"]["status"], status);
    }
}

#[test]
fn a_rejected_change_says_that_nothing_was_done() {
    let service = Service::start();
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    let missing = "error: the service returned 404 not_found: Email not found";
    service.idempost().run(&KEYED).ok();
    service.idempost().run(&(KEYED, "--cc bob@example.com")).fails_with(
        3,
        &[
            "with another request body; nothing was done\n",
            "a different request with this idempotency key was accepted",
        ],
    );
    service
        .idempost()
        .run(&["emails", "cancel", id])
        .fails_with(5, &[&format!("{missing}; nothing was done\n")]);
    service.idempost().run(&["emails", "get", id]).fails_with(5, &[&format!("{missing}.\n")]);
    service.core().faults().add_once(Action::TooMany { retry_after: None });
    service.idempost().run(&(KEYED, "--retries 0")).fails_with(6, &["; nothing was done\n"]);
    service.core().faults().add_once(Action::error(503, "service_unavailable", ""));
    let unknown = service.idempost().run(&(KEYED, "--retries 0")).fails(7);
    assert!(!unknown.contains("nothing was done"), "{unknown}");
}

#[test]
fn an_insufficient_credential_is_4() {
    let service = Service::start();
    let base_url = service.base_url();
    let of =
        |key: &str| Idempost::new().env("IDEMPOST_BASE_URL", base_url.as_str()).env("IDEMPOST_API_KEY", key);
    for (idempost, name) in [(of("wrong"), "invalid_api_key"), (of("sb_test_sending"), "restricted_api_key")]
    {
        let error = idempost.run(&["emails", "list", "--json"]).error(4);
        assert_eq!((&error["kind"], &error["api"]["name"]), (&json!("auth"), &json!(name)));
    }
    let before = service.asked();
    let error = Idempost::new()
        .env("IDEMPOST_BASE_URL", base_url.as_str())
        .run(&["emails", "list", "--json"])
        .error(4);
    assert_eq!((&error["outcome"], service.asked()), (&json!("not_sent"), before));
}

#[test]
fn the_exit_code_follows_what_has_to_happen_before_a_retry_succeeds() {
    // B-14
    let error = |status, name| Action::error(status, name, "the service's words");
    for (action, code, recovery, hint) in [
        (error(403, "validation_error"), 4, "act", "idempost domains list"),
        (error(403, "invalid_api_key"), 4, "act", "idempost auth login"),
        (error(401, "missing_api_key"), 4, "act", "idempost auth login"),
        (Action::http_response(302, "").header("location", "https://elsewhere.test"), 4, "act", "--base-url"),
        (error(511, ""), 4, "act", "proxy"),
        (error(429, "rate_limit_exceeded"), 6, "wait", ""),
        (error(429, "monthly_quota_exceeded"), 6, "wait", ""),
        (error(409, "resource_locked"), 7, "wait", ""),
        (error(409, "concurrent_idempotent_requests"), 7, "wait", ""),
        (error(503, "service_unavailable"), 7, "wait", ""),
        (error(422, "validation_error"), 3, "never", ""),
        (error(409, "invalid_idempotent_request"), 3, "never", ""),
        (error(405, "method_not_allowed"), 4, "act", "--base-url"),
        (error(501, ""), 4, "act", "--base-url"),
        (error(404, "not_found"), 5, "act", ""),
    ] {
        let error = failing(action.clone(), &KEYED, code);
        assert_eq!(error["recovery"], recovery, "{action:?}: {error}");
        assert!(error["hint"].as_str().unwrap_or_default().contains(hint), "{action:?}: {error}");
    }
}

#[test]
fn rate_limiting_is_6_and_reports_the_delay() {
    let error = failing(Action::TooMany { retry_after: Some("7".to_owned()) }, &KEYED, 6);
    assert_eq!(
        (&error["kind"], &error["http"]["retry_after"], &error["retryable"]),
        (&json!("limited"), &json!(7), &json!(true))
    );
    failing(Action::error(429, "daily_quota_exceeded", "no more today"), &KEYED, 6);
}

#[test]
fn an_unreachable_service_is_7_and_a_failing_one_if_the_key_is_given() {
    // B-01
    let idempost =
        Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9").env("IDEMPOST_API_KEY", "sb_x");
    let error = idempost.run(&(KEYED, "--retries 0 --json")).error(7);
    assert_eq!((&error["outcome"], &error["retryable"]), (&json!("not_sent"), &json!(true)));
    idempost.run(&(KEYED, "--retries 0")).fails_with(7, &["refused"]);
    // The key on the command line makes the same command safe to repeat.
    let error = failing(Action::error(503, "service_unavailable", "later"), &KEYED, 7);
    assert_eq!((&error["outcome"], &error["idempotency_key"]), (&json!("unknown"), &json!("order-17")));
    failing(Action::DropBefore, &["emails", "list"], 7);
}

#[test]
fn a_wait_timeout_is_8_and_a_bounce_is_3() {
    let service = Service::start();
    let ran = service.idempost().run(&(KEYED, "--scheduled-at 'in 1 hour' --wait --wait-timeout 50ms"));
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(8), 1), "the ID is still printed: {ran:?}");
    assert!(ran.stderr.contains("it is scheduled"), "{ran:?}");
    let mut bounced = SEND;
    bounced[5] = "bounced@example.com";
    let ran = service.idempost().run(&(bounced, "--wait"));
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(3), 1), "{ran:?}");
    assert!(ran.stderr.contains("bounced"), "{ran:?}");
}

#[test]
fn a_wait_with_json_prints_one_document_with_the_final_state() {
    let service = Service::start();
    for (to, more, code, state) in [
        ("ada@example.com", "", 0, json!("delivered")),
        ("bounced@example.com", "", 3, json!("bounced")),
        ("ada@example.com", "--scheduled-at 'in 1 hour' --wait-timeout 50ms", 8, json!(null)),
    ] {
        let mut send = SEND;
        send[5] = to;
        let ran = service.idempost().run(&((send, "--wait --json"), more));
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, &document["last_event"]), (Some(code), &state), "{ran:?}");
        assert!(document["id"].is_string(), "{ran:?}");
    }
    // An interrupted wait still reports the ID.
    #[cfg(unix)]
    {
        let line = (SEND, "--scheduled-at 'in 1 hour' --wait --json");
        let waiting = service.idempost().spawn(&line.words());
        let sent = service.asked();
        wait_until("the wait has begun", || service.asked() > sent + 1);
        signal(&waiting, rustix::process::Signal::INT);
        let error = Ran::of(waiting.finish()).error(130);
        let id = service.idempost().run(&["emails", "list", "--limit", "1", "--jq", ".data[0].id"]).ok();
        assert_eq!(error["ids"], json!([id.trim()]), "{error}");
    }
}

#[test]
fn a_lost_response_is_9_and_the_printed_key_makes_retrying_safe() {
    // A-19
    let service = Service::start();
    service.core().faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
    let stderr = service.idempost().run(&(SEND, "--retries 0")).fails(9);
    let key = stderr.split("--idempotency-key ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    assert_eq!(service.core().mails("sb_test").len(), 1, "it was accepted");
    service.idempost().run(&(SEND, &["--idempotency-key", key.as_str()])).ok();
    assert_eq!(service.core().mails("sb_test").len(), 1, "and not sent twice");
}

#[test]
fn a_200_that_is_not_the_api_s_is_9_with_an_unknown_outcome() {
    // B-05: a login page of a network, a maintenance page, another service, an empty 204
    let page = "<!DOCTYPE html><html><title>Welcome to the hotel</title></html>";
    for (status, body) in [
        (200, page),
        (204, ""),
        (200, ""),
        (200, "nonsense"),
        (200, "{\"status\":\"ok\"}"),
        (200, "{\"id\":null}"),
        (200, "[]"),
    ] {
        for send in [KEYED.words(), "api POST /emails -f from=a@x.test -f to=b@x.test".words()] {
            let service = Service::start().unjudged();
            let error = failing_at(&service, Action::http_response(status, body), &send, 9);
            assert_eq!((&error["kind"], &error["outcome"]), (&json!("unknown"), &json!("unknown")), "{body}");
            assert!(error["idempotency_key"].is_string(), "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains("isn't the API's response (a proxy, or a wrong base URL?)"),
                "{message}"
            );
        }
    }
}

#[test]
fn a_truncated_response_of_the_api_is_9_with_the_outcome_accepted() {
    // B-05
    let answers = [
        Action::http_response(200, "{\"id\":"),
        Action::http_response(200, "{\"id\":\"e1\"} x"),
        Action::Truncate(3),
    ];
    for action in answers {
        let error = failing(action, &KEYED, 9);
        assert_eq!(
            (&error["outcome"], &error["idempotency_key"]),
            (&json!("accepted"), &json!("order-17")),
            "{error}"
        );
    }
}

#[test]
fn a_page_instead_of_an_error_is_not_a_reason_to_log_in() {
    // B-07
    for (status, code) in [(401, 4), (403, 4), (404, 4), (502, 7)] {
        let page = "<html><head><title>Sign in</title></head></html>";
        let service = Service::start();
        service.core().faults().add(Rule::new(Action::http_response(status, page)).always());
        let stderr = service.idempost().run(&["emails", "list", "--retries", "0"]).fails(code);
        assert!(stderr.contains("instead of the API's response (a proxy, or a wrong base URL?)"), "{stderr}");
        assert!(stderr.contains("check --base-url") && !stderr.contains("log in"), "{stderr}");
    }
}

/// A command in the table below, and the effect of rerunning it.
#[derive(Clone, Copy, PartialEq)]
enum Repeated {
    /// It acts twice: it isn't idempotent, or its key is random.
    ActsTwice,
    /// It acts once: it is idempotent, or its key is on the command line.
    ActsOnce,
    /// A read.
    Reads,
}

#[test]
fn the_exit_code_follows_the_outcome_and_what_a_repetition_does() {
    // A-19, B-14
    use Repeated::{ActsOnce, ActsTwice, Reads};
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hi --text Hello";
    let keyed = format!("{send} --idempotency-key order-17");
    let email = r#"[{"from":"hi@acme.test","to":"ada@example.com","subject":"Hi","text":"Hello"}]"#;
    let api = "api POST /emails -f from=hi@acme.test -f to=a@x.test -f subject=s";
    let keyed_api = format!("{api} -H 'Idempotency-Key: order-19'");
    let commands = [
        (send, ActsTwice),
        (&keyed, ActsOnce),
        ("emails batch -", ActsTwice),
        ("emails batch - --idempotency-key order-18", ActsOnce),
        (api, ActsTwice),
        (&keyed_api, ActsOnce),
        ("api POST /templates -H 'Idempotency-Key: order-20'", ActsTwice),
        ("templates duplicate welcome", ActsTwice),
        ("broadcasts send b1 --yes", ActsTwice),
        ("templates publish welcome", ActsOnce),
        ("contacts update ada@example.com --first-name Ada", ActsOnce),
        ("contacts delete ada@example.com --yes", ActsOnce),
        ("emails list", Reads),
        ("api GET /emails", Reads),
    ];
    // A failure, the outcome of a change, and the codes for each repetition.
    let page = "<html><head><title>504 Gateway Time-out</title></head></html>";
    let failures = [
        (Action::error(503, "service_unavailable", "later"), "unknown", [9, 7, 7]),
        (Action::error(500, "validation_error", "oh"), "unknown", [9, 7, 7]),
        (Action::error(502, "not_found", "oh"), "unknown", [9, 7, 7]),
        (Action::http_response(504, page), "unknown", [9, 7, 7]),
        (Action::DropAfter, "unknown", [9, 7, 7]),
        (Action::DropBefore, "unknown", [9, 7, 7]),
        (Action::http_response(303, ""), "unknown", [9, 9, 4]),
        (Action::http_response(200, page), "unknown", [9, 9, 1]),
        (Action::http_response(501, ""), "rejected", [4, 4, 4]),
        (Action::TooMany { retry_after: None }, "rejected", [6, 6, 6]),
        (Action::error(422, "validation_error", "no"), "rejected", [3, 3, 3]),
        (Action::error(404, "not_found", "no"), "rejected", [5, 5, 5]),
        (Action::error(401, "invalid_api_key", "no"), "rejected", [4, 4, 4]),
    ];
    concurrently(failures, |(action, outcome, [twice, once, read])| {
        let service = Service::start().unjudged();
        service.core().faults().add(Rule::new(action.clone()).always());
        for (command, repeated) in &commands {
            let what = format!("{action:?}: {command}");
            let ran = service.idempost().run_with(&(command, "--retries 0 --json"), email);
            let code = match repeated {
                ActsTwice => twice,
                ActsOnce => once,
                Reads => read,
            };
            assert_eq!(ran.code, Some(code), "{what}: {ran:?}");
            let error = ran.error(code);
            if *repeated != Reads {
                assert_eq!(error["outcome"], outcome, "{what}: {error}");
            }
            if code == 9 {
                let hint = error["hint"].as_str().unwrap();
                let flag = match (error["idempotency_key"].as_str(), command.starts_with("api ")) {
                    (Some(key), true) => format!("`-H 'Idempotency-Key: {key}'`"),
                    (Some(key), _) => format!("`--idempotency-key {key}`"),
                    (None, _) => "check".to_owned(),
                };
                assert!(hint.contains("may have been") && hint.contains(&flag), "{what}: {hint}");
            }
        }
    });
}

#[cfg(unix)]
#[test]
fn a_shell_runs_the_printed_command_and_the_email_is_sent_once() {
    let printed = |ran: &Ran| {
        let command = ran.stderr.split_once("\nnext: ").unwrap().1;
        command.replacen("idempost", env!("CARGO_BIN_EXE_idempost"), 1)
    };
    let service = Service::start();
    let idempost = service.idempost();
    let one = r#"[{"from":"a@b.test","to":"c@d.test","subject":"s","text":"t"}]"#;
    std::fs::write(idempost.home().join("one.json"), one).unwrap();
    let quoted = (&SEND[..8], ["--text", "it's $5\n!"]).words();
    let api = "api POST /emails -f from=a@b.test -f to=c@d.test -f subject=s -f 'text=t u'";
    for command in [quoted, KEYED.words(), "emails batch -- one.json".words(), api.words()] {
        let before = service.core().mails("sb_test").len();
        service.core().faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
        service.core().faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails/batch"));
        let ran = idempost.run(&("--retries 0", command));
        assert!(matches!(ran.code, Some(7 | 9)), "{ran:?}");
        idempost.shell(&printed(&ran)).ok();
        service.core().faults().clear();
        assert_eq!(service.core().mails("sb_test").len(), before + 1, "{ran:?}");
    }
}

#[test]
fn an_unknown_outcome_names_the_command_that_repeats_it_without_secrets() {
    let service = Service::start();
    let idempost = service.idempost();
    std::fs::write(idempost.home().join("key"), "sb_test").unwrap();
    let lost =
        || service.core().faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
    lost();
    let flags = "--retries 0 --json --api-key-file key";
    let error = idempost.run(&(SEND, flags)).error(9);
    let next = &error["next"][0];
    let key = error["idempotency_key"].as_str().unwrap();
    let expected = format!(
        "idempost {} --idempotency-key {key}",
        (&SEND[..9], (["'It works'"], flags)).words().join(" ")
    );
    assert_eq!(next["command"], expected);
    assert!(!error.to_string().contains("sb_test"), "{error}");
    lost();
    let stdin = idempost.run_with(&(&SEND[..8], "--text - --retries 0 --json"), "Hi");
    let when = stdin.error(9)["next"][0]["when"].as_str().unwrap().to_owned();
    assert!(when.contains("the same standard input"), "{when}");
    // If nothing was sent, or a retry isn't safe, there is no such command.
    service.core().faults().add(Rule::new(Action::error(422, "validation_error", "no")).always());
    assert_eq!(idempost.run(&(KEYED, "--json")).error(3)["next"], Value::Null);
    service.core().faults().clear();
    service.core().faults().add(Rule::new(Action::error(500, "internal_server_error", "oh")).always());
    let error = idempost.run(&["templates", "duplicate", "welcome", "--retries", "0", "--json"]).error(9);
    assert_eq!(error["next"], Value::Null);
}

#[test]
fn a_rejection_after_a_lost_response_is_9_because_the_first_attempt_may_have_been_accepted() {
    let service = Service::start();
    service.core().faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
    service.core().faults().add(
        Rule::new(Action::error(403, "invalid_api_key", "revoked"))
            .on_request(Method::POST, "/emails")
            .always(),
    );
    let error = service.idempost().run(&(KEYED, "--json")).error(9);
    assert_eq!((&error["api"]["name"], &error["outcome"]), (&json!("invalid_api_key"), &json!("unknown")));
    assert_eq!(service.core().mails("sb_test").len(), 1);
}

#[test]
fn a_transient_failure_is_retried_with_the_same_key() {
    let service = Service::start();
    service
        .core()
        .faults()
        .add(Rule::new(Action::http_response(503, "busy")).on_request(Method::POST, "/emails"));
    let ran = service.idempost().run(&SEND);
    assert!(ran.stderr.contains("; retrying in "), "{ran:?}");
    ran.ok();
    let keys: Vec<_> =
        service.core().requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_send_reports_that_it_may_have_been_accepted() {
    // F-03
    let service = Service::start();
    service.core().faults().add(Rule::new(Action::Delay(std::time::Duration::from_mins(1))).always());
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let before = service.asked();
        let child = service.idempost().spawn(&KEYED);
        wait_until("the service has the request", || service.asked() > before);
        signal(&child, which);
        let output = child.finish();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains("run the same command with `--idempotency-key order-17`"), "{stderr}");
        assert!(stderr.contains("\nnext: idempost emails send "), "{stderr}");
    }
}

#[test]
fn verbose_traces_requests_without_the_key() {
    // G-08
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_API_KEY", "sb_sentinel");
    let sent = idempost.run(&(KEYED, "-v"));
    let url = service.base_url();
    let traced = format!(
        "> POST {url}/emails as profile `default` with the credential of IDEMPOST_API_KEY at {url}\n< 200 OK in "
    );
    assert!(sent.stderr.contains(&traced), "{sent:?}");
    let reads = ["emails list", "emails list --all", "logs list", "api GET /emails --json"];
    for line in reads.map(CommandLine::words).into_iter().chain([KEYED.words()]) {
        let ran = idempost.run(&(line, "-vvv"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!format!("{ran:?}").contains("sentinel"), "{ran:?}");
    }
    let trace = idempost.run(&(KEYED, "-vvv")).stderr;
    assert!(
        trace.contains("> authorization: Bearer [redacted]")
            && trace.contains("\"subject\":\"Hello\"")
            && trace.contains("< x-request-id: "),
        "{trace}"
    );
}

#[test]
fn the_service_s_messages_cannot_control_the_terminal() {
    // G-01, G-02
    let service = Service::start();
    let evil = "\u{1b}]52;c;YQ==\u{7}\u{9b}2J\u{202e}\rbad";
    service.core().faults().add(Rule::new(Action::error(422, "validation_error", evil)).always());
    let idempost = service.idempost().env("IDEMPOST_FORCE_TTY", "80").env("NO_COLOR", "1");
    let stderr = idempost.run(&KEYED).fails_with(3, &["\\u{1b}]52;c;YQ==\\u{7}"]);
    assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    let error = idempost.run(&(KEYED, "--json")).error(3);
    assert_eq!(error["api"]["body"]["message"], evil, "a program gets the message unchanged");
}

#[test]
fn a_proxy_from_the_environment_is_not_used_for_a_loopback_service() {
    // B-25: a proxy would receive the key and the email.
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let proxy = format!("http://{}", trap.local_addr().unwrap());
    let service = Service::start();
    let mut idempost = service.idempost();
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        idempost = idempost.env(name, &proxy);
    }
    idempost.run(&KEYED).ok();
    assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// A proxy that reads the first request of each connection and responds with these bytes; returns its address and what it has read.
pub(crate) fn proxy(
    response: &'static str,
) -> (std::net::SocketAddr, std::sync::Arc<std::sync::Mutex<String>>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let log = std::sync::Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut part = [0; 4096];
            let read = stream.read(&mut part).unwrap_or_default();
            log.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..read]));
            // The client may have disconnected.
            let _ = stream.write_all(response.as_bytes());
        }
    });
    (address, seen)
}

#[test]
fn a_proxy_that_fails_leaves_the_email_unsent_and_its_password_unshown() {
    // B-25
    // Nothing listens on the bound port.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let refused = closed.local_addr().unwrap();
    let proxies = [
        "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 307 Moved\r\nlocation: http://evil.test/\r\ncontent-length: 0\r\n\r\n",
        "",
    ]
    .map(proxy);
    let proxies = proxies.into_iter().chain([(refused, std::sync::Arc::default())]);
    // A missing password is a settings error; a denied connection isn't retried.
    for ((address, seen), code) in proxies.zip([2, 4, 4, 4, 7, 7]) {
        let idempost = Idempost::new()
            .env("IDEMPOST_BASE_URL", "https://service.invalid")
            .env("IDEMPOST_API_KEY", "re_sentinel")
            .env("HTTPS_PROXY", format!("http://me:sentinel@{address}"));
        for form in ["--retries 0", "--retries 0 -vvv"] {
            let ran = idempost.run(&(KEYED, form));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
            assert!(!ran.stderr.contains("sentinel"), "{ran:?}");
            let named = ["HTTPS_PROXY".to_owned(), format!("http://***@{address}")];
            assert!(named.iter().all(|part| ran.stderr.contains(part)), "{ran:?}");
        }
        let retries = if code == 7 { "0" } else { "3" };
        let error = idempost.run(&(KEYED, &["--retries", retries, "--json"])).error(code);
        assert_eq!(error["outcome"], "not_sent", "{error}");
        assert_eq!(error["recovery"], if code == 7 { "wait" } else { "act" }, "{error}");
        assert!(!error.to_string().contains("sentinel"), "{error}");
        // The proxy gets the host, and neither the key nor the email.
        let seen = seen.lock().unwrap();
        assert!(address == refused || seen.starts_with("CONNECT service.invalid:443 "), "{seen}");
        assert!(!seen.contains("sentinel") && !seen.contains("ada@example.com"), "{seen}");
        assert_eq!(seen.matches("CONNECT ").count(), if address == refused { 0 } else { 3 }, "{seen}");
        drop(seen);
        let direct = idempost.env("NO_PROXY", "service.invalid:443");
        let ran = direct.run(&(KEYED, "--retries 0"));
        assert!(ran.code == Some(7) && !ran.stderr.contains(&address.to_string()), "{ran:?}");
    }
}

#[test]
fn an_unreachable_host_is_named_once() {
    // B-25
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (denies, _) = proxy("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let (closes, _) = proxy("");
    let (denies, closes) = (denies.to_string(), closes.to_string());
    let remote = "https://service.invalid";
    for (base_url, proxy, reason) in [
        (&*format!("http://{refused}"), None, "couldn't connect: Connection refused"),
        (remote, None, "couldn't connect: failed to lookup address information"),
        (remote, Some(&refused), "couldn't connect: Connection refused"),
        (remote, Some(&closes), "couldn't connect"),
        (remote, Some(&denies), "the proxy refused the connection"),
    ] {
        let mut idempost =
            Idempost::new().env("IDEMPOST_BASE_URL", base_url).env("IDEMPOST_CREDENTIAL_STORE", "file");
        if let Some(proxy) = proxy {
            idempost = idempost.env("HTTPS_PROXY", format!("http://{proxy}"));
        }
        let host = base_url.split_once("://").unwrap().1;
        let named_once = |text: &str| {
            let line = text.lines().find(|line| line.contains(host)).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(line.matches(host).count(), 1, "{line}");
            assert!(proxy.is_none_or(|proxy| line.matches(proxy.as_str()).count() == 1), "{line}");
            line.to_owned()
        };
        let keyed = idempost.env("IDEMPOST_API_KEY", "re_x");
        let sent = keyed.run(&(KEYED, "--retries 0"));
        let line = named_once(&sent.stderr);
        assert!(line.contains(&format!(" is unreachable; nothing was done: {reason}")), "{line}");
        named_once(&keyed.run(&["auth", "login"]).stderr);
        if proxy.is_some() {
            let doctor = keyed.run(&["doctor"]);
            let line = named_once(doctor.stdout.lines().find(|line| line.contains(" proxy ")).unwrap());
            assert!(line.contains(&format!(", but {reason}")), "{line}");
        }
    }
}

#[test]
fn a_proxy_is_set_by_flag_variable_or_profile_except_for_no_proxy() {
    // B-25
    let (address, seen) = proxy("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let url = format!("http://{address}");
    let remote = || {
        let base = Idempost::new().env("IDEMPOST_BASE_URL", "https://api.service.invalid");
        // The setting replaces the variable, which isn't even checked.
        base.env("IDEMPOST_API_KEY", "re_x").env("HTTPS_PROXY", "ftp://p")
    };
    let with_password = format!("http://me:sentinel@{address}");
    let config = format!("[defaults]\nproxy = \"{url}\"\n");
    for (idempost, flags, source) in [
        (remote(), &["--proxy", &url][..], "--proxy"),
        (remote().env("IDEMPOST_PROXY", &with_password), &[], "IDEMPOST_PROXY"),
        (remote().config(&config), &[], "config.toml:2"),
    ] {
        let ran = idempost.run(&((KEYED, "--retries 0"), flags));
        assert!(ran.code == Some(4) && ran.stderr.contains(&address.to_string()), "{ran:?}");
        let doctor = idempost.run(&("doctor --offline", flags));
        let line = doctor.stdout.lines().find(|line| line.contains(" proxy ")).unwrap();
        assert!(line.contains("api.service.invalid is reached through http://"), "{line}");
        assert!(line.contains(&address.to_string()) && line.contains(source), "{line}");
        let list = idempost.run(&("config list --json", flags));
        assert!(!format!("{ran:?}{doctor:?}{list:?}").contains("sentinel"));
        let other_port = idempost.env("NO_PROXY", "service.invalid:8443");
        let ran = other_port.run(&((KEYED, "--retries 0"), flags));
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let direct = other_port.env("NO_PROXY", "service.invalid:443");
        direct.run(&((KEYED, "--retries 0"), flags)).fails(7);
    }
    assert_eq!(seen.lock().unwrap().matches("CONNECT api.service.invalid:443 ").count(), 6);
    let stderr = remote().run(&(KEYED, &["--proxy", &with_password])).fails(2);
    assert!(stderr.contains("set IDEMPOST_PROXY") && !stderr.contains("sentinel"), "{stderr}");
    let stderr = remote().run(&(KEYED, "--proxy ftp://p")).fails(2);
    assert!(stderr.contains("proxy must be the URL of a proxy"), "{stderr}");
    let stderr = remote().run(&["config", "set", "proxy", &with_password]).fails(2);
    assert!(!stderr.contains("sentinel"), "{stderr}");
}

#[test]
fn a_socks_proxy_gets_the_address_of_the_service() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("socks5h://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut part = [0; 256];
        assert!(stream.read(&mut part).unwrap() >= 3);
        stream.write_all(&[5, 0]).unwrap();
        let read = stream.read(&mut part).unwrap();
        // RFC 1928: the rules don't allow the connection.
        stream.write_all(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        String::from_utf8_lossy(&part[..read]).into_owned()
    });
    let idempost =
        Idempost::new().env("IDEMPOST_BASE_URL", "https://service.invalid").env("IDEMPOST_API_KEY", "re_x");
    idempost.run(&(KEYED, &["--retries", "0", "--proxy", &url])).fails_with(7, &[&url]);
    assert!(serving.join().unwrap().contains("service.invalid"));
}

#[test]
fn a_malformed_proxy_setting_sends_nothing() {
    // B-25
    let remote = || {
        Idempost::new().env("IDEMPOST_BASE_URL", "https://service.invalid").env("IDEMPOST_API_KEY", "re_x")
    };
    for value in ["ftp://me:sentinel@p", "http://", "://x", " http://127.0.0.1:3128", "socks5://"] {
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            let idempost = remote().env(name, value);
            let error = idempost.run(&(KEYED, "--json")).error(2);
            assert_eq!(error["outcome"], "not_sent", "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("{name} must be the URL of an HTTP proxy")), "{error}");
            assert!(message.contains(&value.replace("me:sentinel", "***")), "{error}");
            let checked = idempost.run(&["doctor"]);
            assert!(checked.code != Some(0) && checked.stdout.contains(message), "{checked:?}");
        }
    }
    // Neither a setting for other URLs nor an exception matters.
    for (name, value) in [("HTTP_PROXY", "ftp://p"), ("HTTPS_PROXY", ""), ("NO_PROXY", "service.invalid")] {
        let idempost = remote().env("ALL_PROXY", if name == "NO_PROXY" { "ftp://p" } else { "" });
        idempost.env(name, value).run(&(KEYED, "--retries 0")).fails(7);
    }
    let service = Service::start();
    service.idempost().env("HTTP_PROXY", "http://").env("ALL_PROXY", "ftp://p").run(&KEYED).ok();
}

#[test]
fn an_unresolvable_host_is_7_and_nothing_was_sent() {
    // B-01: `.invalid` never resolves (RFC 6761).
    let idempost = Idempost::new()
        .env("IDEMPOST_BASE_URL", "https://service.invalid")
        .env("IDEMPOST_API_KEY", "re_x")
        .env("IDEMPOST_RETRIES", "0");
    let error = idempost.run(&(KEYED, "--json")).error(7);
    assert_eq!((&error["outcome"], &error["retryable"]), (&json!("not_sent"), &json!(true)));
}
