//! Every exit code, with its human-readable message and its JSON.

use http::Method;
use idempost_conformance::peer::{Act, Arrived};
use idempost_reference_server::faults::{Action, Rule};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::service::{ScriptedPeer, Service};
use crate::support::{
    CommandLine, Finish as _, Idempost, Ran, SEND, UNUSED, concurrently, has, shows, signal, wait_until,
};

/// The idempotency key is on the command line.
const KEYED: ([&str; 10], &str) = (SEND, "--idempotency-key order-17");

fn failing(action: Action, line: &(impl CommandLine + ?Sized), code: i32) -> Value {
    failing_at(&Service::start(), action, line, code)
}

fn failing_at(service: &Service, action: Action, line: &(impl CommandLine + ?Sized), code: i32) -> Value {
    service.faults().add(Rule::new(action).always());
    service.run(&(line, "--retries 0 --json")).error(code)
}

#[test]
fn success_is_0_also_for_an_empty_list() {
    let service = Service::start();
    let ran = service.run(&["emails", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "no emails yet\n"));
    service.run(&KEYED).ok();
}

#[test]
fn a_rejected_change_says_that_nothing_was_done() {
    let service = Service::start();
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    let missing = "error: the service returned 404 not_found: Email not found";
    service.run(&KEYED).ok();
    let expected = [
        "with another request body; nothing was done\n",
        "a different request with this idempotency key was accepted",
    ];
    service.run(&(KEYED, "--cc bob@example.com")).fails_with(3, &expected);
    service.run(&["emails", "cancel", id]).fails_with(5, &[&format!("{missing}; nothing was done\n")]);
    service.run(&["emails", "get", id]).fails_with(5, &[&format!("{missing}.\n")]);
    service.faults().add_once(Action::TooMany { retry_after: None });
    service.run(&(KEYED, "--retries 0")).fails_with(6, &["; nothing was done\n"]);
    service.faults().add_once(Action::error(503, "service_unavailable", ""));
    let unknown = service.run(&(KEYED, "--retries 0")).fails(7);
    assert!(!unknown.contains("nothing was done"), "{unknown}");
}

#[test]
fn an_insufficient_credential_is_4() {
    let service = Service::start();
    let error_of = |key: &str| Idempost::at(service.base_url(), key).run("emails list --json").error(4);
    for (key, name) in [("wrong", "invalid_api_key"), ("sb_test_sending", "restricted_api_key")] {
        has(&error_of(key), &json!({"kind": "auth", "api": {"name": name}}));
    }
    let before = service.asked();
    // An empty variable is unset.
    assert_eq!((&error_of("")["outcome"], service.asked()), (&json!("not_sent"), before));
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
        (error(451, "security_error"), 3, "never", ""),
        (error(405, "method_not_allowed"), 4, "act", "--base-url"),
        (error(501, ""), 4, "act", "--base-url"),
        (error(404, "not_found"), 5, "act", ""),
    ] {
        let error = failing(action.clone(), &KEYED, code);
        assert_eq!(error["recovery"], recovery, "{action:?}: {error}");
        if code == 3 {
            has(&error, &json!({"kind": "rejected", "outcome": "rejected"}));
            assert_eq!(error["api"]["body"]["message"], "the service's words", "{action:?}: {error}");
        }
        assert!(error["hint"].as_str().unwrap_or_default().contains(hint), "{action:?}: {error}");
    }
}

#[test]
fn rate_limiting_is_6_and_reports_the_delay() {
    let error = failing(Action::TooMany { retry_after: Some("7".to_owned()) }, &KEYED, 6);
    has(&error, &json!({"kind": "limited", "http": {"retry_after": 7}, "retryable": true}));
}

#[test]
fn an_unreachable_service_is_7() {
    // B-01
    // `.invalid` never resolves (RFC 6761).
    for base_url in ["http://127.0.0.1:9", REMOTE] {
        let error = Idempost::at(base_url, "sb_x").run(&(KEYED, "--retries 0 --json")).error(7);
        has(&error, &json!({"outcome": "not_sent", "retryable": true}));
    }
}

#[test]
fn a_wait_ends_with_the_final_state_and_a_timeout_is_8_and_a_bounce_is_3() {
    let service = Service::start();
    let later = "--scheduled-at 'in 1 hour' --wait-timeout 50ms";
    let endings = [
        ("ada@example.com", "", 0, json!("delivered"), "delivered"),
        ("bounced@example.com", "", 3, json!("bounced"), "bounced"),
        ("ada@example.com", later, 8, json!(null), "it is scheduled"),
    ];
    concurrently(endings, |(to, more, code, state, stated)| {
        let mut send = SEND;
        send[5] = to;
        let ran = service.run(&((send, "--wait"), more)).exits(code).says(&[stated]);
        assert_eq!(ran.stdout.lines().count(), 1, "the ID is printed: {ran:?}");
        // An address that bounced is suppressed.
        let other = to.replace("example.com", "x.test");
        send[5] = &other;
        let document = service.run(&((send, "--wait --json"), more)).exits(code).document();
        assert_eq!((&document["last_event"], document["id"].is_string()), (&state, true), "{document}");
    });
    // An interrupted wait still reports the ID.
    let line = (SEND, "--scheduled-at 'in 1 hour' --wait --json");
    let waiting = service.idempost().spawn(&line.words());
    let sent = service.asked();
    wait_until("the wait has begun", || service.asked() > sent + 1);
    signal(&waiting, Signal::INT);
    let error = waiting.finish().error(130);
    let id = service.run("emails list --limit 1 --jq .data[0].id").ok();
    assert_eq!(error["ids"], json!([id.trim()]), "{error}");
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
            has(&error, &json!({"kind": "unknown", "outcome": "unknown"}));
            assert!(error["idempotency_key"].is_string(), "{error}");
            let message = error["message"].as_str().unwrap();
            shows(message, &["isn't the API's response (a proxy, or a wrong base URL?)"]);
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
        has(&error, &json!({"outcome": "accepted", "idempotency_key": "order-17"}));
    }
}

#[test]
fn a_page_instead_of_an_error_is_not_a_reason_to_log_in() {
    // B-07
    for (status, code) in [(401, 4), (403, 4), (404, 4), (502, 7)] {
        let page = "<html><head><title>Sign in</title></head></html>";
        let service = Service::start();
        service.faults().add(Rule::new(Action::http_response(status, page)).always());
        let ran = service.run(&["emails", "list", "--retries", "0"]);
        let stderr = ran.fails_with(code, &["instead of the API's response (a proxy, or a wrong base URL?)"]);
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
        service.faults().add(Rule::new(action.clone()).always());
        for (command, repeated) in &commands {
            let what = format!("{action:?}: {command}");
            let ran = service.run_with(&(command, "--retries 0 --json"), email);
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

#[test]
fn a_shell_runs_the_printed_command_and_the_email_is_sent_once() {
    // A-19
    let printed = |ran: &Ran| {
        let command = ran.stderr.split_once("\nnext: ").unwrap().1;
        command.replacen("idempost", env!("CARGO_BIN_EXE_idempost"), 1)
    };
    let (service, idempost) = Service::with_program();
    let one = r#"[{"from":"a@b.test","to":"c@d.test","subject":"s","text":"t"}]"#;
    idempost.write("one.json", one);
    let quoted = (&SEND[..8], ["--text", "it's $5\n!"]).words();
    let api = "api POST /emails -f from=a@b.test -f to=c@d.test -f subject=s -f 'text=t u'";
    for command in [quoted, KEYED.words(), "emails batch -- one.json".words(), api.words()] {
        let before = service.mails().len();
        service.faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
        service.faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails/batch"));
        let ran = idempost.run(&("--retries 0", command));
        assert!(matches!(ran.code, Some(7 | 9)), "{ran:?}");
        idempost.shell(&printed(&ran)).ok();
        service.faults().clear();
        assert_eq!(service.mails().len(), before + 1, "{ran:?}");
    }
}

#[test]
fn an_unknown_outcome_names_the_command_that_repeats_it_without_secrets() {
    let (service, idempost) = Service::with_program();
    idempost.write("key", "sb_test");
    let lost = || service.faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
    lost();
    let flags = "--retries 0 --json --api-key-file key";
    let error = idempost.run(&(SEND, flags)).error(9);
    let next = &error["next"][0];
    let key = error["idempotency_key"].as_str().unwrap();
    let words = (&SEND[..9], (["'It works'"], flags)).words().join(" ");
    assert_eq!(next["command"], format!("idempost {words} --idempotency-key {key}"));
    assert!(!error.to_string().contains("sb_test"), "{error}");
    lost();
    let stdin = idempost.run_with(&(&SEND[..8], "--text - --retries 0 --json"), "Hi");
    let when = stdin.error(9)["next"][0]["when"].as_str().unwrap().to_owned();
    assert!(when.contains("the same standard input"), "{when}");
    // If nothing was sent, or a retry isn't safe, there is no such command.
    service.faults().add(Rule::new(Action::error(422, "validation_error", "no")).always());
    assert_eq!(idempost.run(&(KEYED, "--json")).error(3)["next"], Value::Null);
    service.faults().clear();
    service.faults().add(Rule::new(Action::error(500, "internal_server_error", "oh")).always());
    let error = idempost.run(&["templates", "duplicate", "welcome", "--retries", "0", "--json"]).error(9);
    assert_eq!(error["next"], Value::Null);
}

#[test]
fn a_rejection_after_a_lost_response_is_9_because_the_first_attempt_may_have_been_accepted() {
    let service = Service::start();
    service.faults().add(Rule::new(Action::DropAfter).on_request(Method::POST, "/emails"));
    let revoked = Rule::new(Action::error(403, "invalid_api_key", "revoked"));
    service.faults().add(revoked.on_request(Method::POST, "/emails").always());
    let error = service.run(&(KEYED, "--json")).error(9);
    has(&error, &json!({"api": {"name": "invalid_api_key"}, "outcome": "unknown"}));
    assert_eq!(service.mails().len(), 1);
}

#[test]
fn a_lost_rename_is_checked_by_the_new_name() {
    let service = Service::start();
    service.run("contacts create ada@example.com").ok();
    service.run("templates create Welcome --alias welcome --html x").ok();
    for (path, command, check) in [
        (
            "/contacts/{id}",
            "contacts update ada@example.com --email ada@example.org",
            "contacts get ada@example.org",
        ),
        ("/templates/{id}", "templates update welcome --alias hello", "templates get hello"),
    ] {
        service.faults().add(Rule::new(Action::DropAfter).on_request(Method::PATCH, path));
        service.run(command).fails_with(9, &[&format!("check: idempost {check}")]);
        service.run(check).ok();
    }
    service.faults().add(Rule::new(Action::DropAfter).on_request(Method::PATCH, "/contacts/{id}"));
    service
        .faults()
        .add(Rule::new(Action::error(404, "not_found", "no")).on_request(Method::PATCH, "/contacts/{id}"));
    let ran = service.run("contacts update ada@example.org --first-name Ada");
    ran.fails_with(9, &["check: idempost contacts get ada@example.org"]);
}

#[test]
fn a_transient_failure_is_retried_with_the_same_key() {
    let service = Service::start();
    service.faults().add(Rule::new(Action::http_response(503, "busy")).on_request(Method::POST, "/emails"));
    service.run(&SEND).says(&["; retrying in "]).ok();
    let requests = service.requests();
    let [first, second] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(first.headers["idempotency-key"], second.headers["idempotency-key"]);
}

#[test]
fn an_interrupted_send_reports_that_it_may_have_been_accepted() {
    // F-03
    let service = Service::start();
    service.faults().add(Rule::new(Action::Delay(std::time::Duration::from_mins(1))).always());
    for (which, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let before = service.asked();
        let child = service.idempost().spawn(&KEYED);
        wait_until("the service has the request", || service.asked() > before);
        signal(&child, which);
        let repeat = "run the same command with `--idempotency-key order-17`";
        child.finish().exits(code).says(&[repeat, "\nnext: idempost emails send "]);
    }
}

#[test]
fn verbose_traces_requests_without_the_key() {
    // G-08
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_API_KEY", "sb_sentinel");
    let url = service.base_url();
    let identity = format!("as profile `default` with the credential of IDEMPOST_API_KEY at {url}\n");
    idempost.run(&(KEYED, "-v")).says(&[&format!("> POST {url}/emails {identity}< 200 OK in ")]);
    idempost.run("emails list --all -vvv").exits(0).hides(&["sentinel"]);
    let traced = ["> authorization: Bearer [redacted]", "\"subject\":\"Hello\"", "< x-request-id: "];
    idempost.run(&(KEYED, "-vvv")).says(&traced).hides(&["sentinel"]);
}

#[test]
fn a_proxy_from_the_environment_is_not_used_for_a_loopback_service() {
    // B-25: a proxy would receive the key and the email.
    let proxy = ScriptedPeer::new([Act::HangUp]);
    let service = Service::start();
    let mut idempost = service.idempost();
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
        idempost = idempost.env(name, proxy.base_url());
    }
    idempost.run(&KEYED).ok();
    assert_eq!(proxy.connections(), 0);
}

/// The service behind a proxy, if one is used.
const REMOTE: &str = "https://service.invalid";

#[test]
fn a_proxy_that_fails_leaves_the_email_unsent_and_its_password_unshown() {
    // B-25
    // A missing password is a settings error; a denied connection isn't retried.
    for (response, code) in [
        (Some(Act::answer(407, &[("proxy-authenticate", "Basic")], "")), 2),
        (Some(Act::answer(403, &[], "")), 4),
        (Some(Act::answer(502, &[], "")), 4),
        (Some(Act::answer(307, &[("location", "http://evil.test/")], "")), 4),
        (Some(Act::HangUp), 7),
        (None, 7),
    ] {
        let connects = usize::from(response.is_some()) * 3;
        let proxy = ScriptedPeer::new([response.unwrap_or(Act::HangUp)]);
        let address = if connects > 0 { proxy.base_url().replace("http://", "") } else { UNUSED.to_owned() };
        let idempost =
            Idempost::at(REMOTE, "re_sentinel").env("HTTPS_PROXY", format!("http://me:sentinel@{address}"));
        for form in ["--retries 0", "--retries 0 -vvv"] {
            let ran = idempost.run(&(KEYED, form)).hides(&["sentinel"]);
            ran.fails_with(code, &["HTTPS_PROXY", &format!("http://***@{address}")]);
        }
        let retries = if code == 7 { "0" } else { "3" };
        let ran = idempost.run(&(KEYED, &["--retries", retries, "--json"])).hides(&["sentinel"]);
        let recovery = if code == 7 { "wait" } else { "act" };
        has(&ran.error(code), &json!({"outcome": "not_sent", "recovery": recovery}));
        // The proxy gets the host, and neither the key nor the email.
        let requests = proxy.requests();
        assert_eq!(requests.len(), connects);
        for request in requests {
            let seen = format!("{request:?}");
            assert!(request.head.starts_with("CONNECT service.invalid:443 "), "{seen}");
            assert!(!seen.contains("sentinel") && !seen.contains("ada@example.com"), "{seen}");
        }
        let direct = idempost.env("NO_PROXY", "service.invalid:443");
        direct.run(&(KEYED, "--retries 0")).exits(7).hides(&[&address]);
    }
}

#[test]
fn an_unreachable_host_is_named_once() {
    // B-25
    let (denies, closes) = (ScriptedPeer::new([Act::answer(403, &[], "")]), ScriptedPeer::new([Act::HangUp]));
    let (denies, closes) = (&denies.base_url(), &closes.base_url());
    let (unused, none) = (format!("http://{UNUSED}"), String::new());
    for (base_url, proxy, reason) in [
        (&*unused, &none, "couldn't connect: Connection refused"),
        (REMOTE, &none, "couldn't connect: failed to lookup address information"),
        (REMOTE, &unused, "couldn't connect: Connection refused"),
        (REMOTE, closes, "couldn't connect"),
        (REMOTE, denies, "the proxy refused the connection"),
    ] {
        let keyed = Idempost::at(base_url, "re_x").env("IDEMPOST_CREDENTIAL_STORE", "file");
        let keyed = keyed.env("HTTPS_PROXY", proxy);
        let hosts = [base_url, proxy].map(|url| url.split_once("://").map_or("", |(_, host)| host));
        let named_once = |text: &str| {
            let line = text.lines().find(|line| line.contains(hosts[0])).unwrap_or_else(|| panic!("{text}"));
            for host in hosts.into_iter().filter(|host| !host.is_empty()) {
                assert_eq!(line.matches(host).count(), 1, "{line}");
            }
            line.to_owned()
        };
        let line = named_once(&keyed.run(&(KEYED, "--retries 0")).stderr);
        shows(&line, &[&format!(" is unreachable; nothing was done: {reason}")]);
        named_once(&keyed.run("auth login").stderr);
        if !proxy.is_empty() {
            let doctor = keyed.run("doctor");
            let line = named_once(doctor.stdout.lines().find(|line| line.contains(" proxy ")).unwrap());
            shows(&line, &[&format!(", but {reason}")]);
        }
    }
}

#[test]
fn a_proxy_is_set_by_flag_variable_or_profile_except_for_no_proxy() {
    // B-25
    let proxy = ScriptedPeer::new([Act::answer(403, &[], "")]);
    let url = proxy.base_url();
    let address = url.replace("http://", "");
    // The setting replaces the variable, which isn't even checked.
    let remote = || Idempost::at("https://api.service.invalid", "re_x").env("HTTPS_PROXY", "ftp://p");
    let with_password = format!("http://me:sentinel@{address}");
    let config = format!("[defaults]\nproxy = \"{url}\"\n");
    for (idempost, flags, source) in [
        (remote(), &["--proxy", &url][..], "--proxy"),
        (remote().env("IDEMPOST_PROXY", &with_password), &[], "IDEMPOST_PROXY"),
        (remote().config(&config), &[], "config.toml:2"),
    ] {
        let send = ((KEYED, "--retries 0"), flags);
        idempost.run(&send).hides(&["sentinel"]).fails_with(4, &[&address]);
        let doctor = idempost.run(&("doctor --offline", flags)).hides(&["sentinel"]);
        let line = doctor.stdout.lines().find(|line| line.contains(" proxy ")).unwrap();
        shows(line, &["api.service.invalid is reached through http://", &address, source]);
        idempost.run(&("config list --json", flags)).hides(&["sentinel"]);
        let other_port = idempost.env("NO_PROXY", "service.invalid:8443");
        other_port.run(&send).exits(4);
        other_port.env("NO_PROXY", "service.invalid:443").run(&send).fails(7);
    }
    let connects = |request: &Arrived| request.head.starts_with("CONNECT api.service.invalid:443 ");
    assert_eq!(proxy.requests().iter().filter(|request| connects(request)).count(), 6);
    let ran = remote().run(&(KEYED, &["--proxy", &with_password])).hides(&["sentinel"]);
    ran.fails_with(2, &["set IDEMPOST_PROXY"]);
    remote().run(&(KEYED, "--proxy ftp://p")).fails_with(2, &["proxy must be the URL of a proxy"]);
    remote().run(&["config", "set", "proxy", &with_password]).hides(&["sentinel"]).fails(2);
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
    let send = (KEYED, ["--retries", "0", "--proxy", &url]);
    Idempost::at(REMOTE, "re_x").run(&send).fails_with(7, &[&url]);
    assert!(serving.join().unwrap().contains("service.invalid"));
}

#[test]
fn a_malformed_proxy_setting_sends_nothing() {
    // B-25
    let remote = || Idempost::at(REMOTE, "re_x");
    for value in ["ftp://me:sentinel@p", "http://", "://x", " http://127.0.0.1:3128", "socks5://"] {
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            let idempost = remote().env(name, value);
            let error = idempost.run(&(KEYED, "--json")).error(2);
            assert_eq!(error["outcome"], "not_sent", "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("{name} must be the URL of an HTTP proxy")), "{error}");
            shows(message, &[&value.replace("me:sentinel", "***")]);
            idempost.run("doctor").exits(1).prints(&[message]);
        }
    }
    let service = Service::start();
    service.idempost().env("HTTP_PROXY", "http://").env("ALL_PROXY", "ftp://p").run(&KEYED).ok();
}
