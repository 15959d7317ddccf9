//! How commands use stored logins and API keys: for which service and profile, and how a login ends.

use std::io::{BufRead as _, BufReader};

use super::*;
use crate::support::{Finish as _, Limited};

#[test]
fn an_expiring_access_token_is_refreshed_by_the_command_that_needs_it() {
    let service = service();
    let idempost = without_credentials(&service);
    let login = Login::begin(&idempost, &[]);
    // From the program's view, the first one is valid for only a few seconds.
    let person = Person::of("sb_test");
    let back = runtime().block_on(person.allows(login.page.as_str()));
    visit(&back);
    login.end().ok();
    let file = idempost.home().join(".config/idempost/credentials/default.cred");
    assert!(file.exists());
    let kinds = || service.core().token_events().into_iter().map(|event| event.kind).collect::<Vec<_>>();
    idempost.run(&["auth", "token"]).ok();
    assert_eq!(kinds(), [TokenEventKind::Issued], "a fresh one isn't refreshed");
    // The service rejects it from now on: its clock is past the expiry.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&SEND).ok();
    assert_eq!(kinds(), [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
    assert_eq!(idempost.run(&["auth", "status", "--json"]).json()["generation"], 2);
    idempost.run(&SEND).ok();
    assert_eq!(kinds().len(), 2);
}

#[test]
fn a_job_belongs_to_the_login_that_started_it() {
    // F-13
    let service = service();
    let idempost = logged_in(&service, &["--profile", "work", "--scope", "full_access"]);
    std::fs::write(idempost.home().join("people.csv"), "to\nada@example.com\nbob@example.com\n").unwrap();
    let send =
        ["bulk", "send", "people.csv", "--yes", "--from", "hi@acme.test", "--subject", "Hi", "--text", "Hi"];
    service
        .core()
        .faults()
        .add(Rule::new(Action::error(401, "invalid_api_key", "try later")).on_path("/emails/batch").times(2));
    let stopped = idempost.run(&(&send, "--profile work"));
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    let url = service.base_url();
    let other = ["--profile", "home", "--base-url", &url, "--scope", "full_access"];
    Login::begin(&idempost, &other).decided(&Person::of("sb_other"), true).ok();
    let rejected = idempost.run(&["bulk", "resume", "--profile", "home"]);
    assert_eq!(rejected.code, Some(4), "{rejected:?}");
    assert!(rejected.stderr.contains("belongs to profile `work`"), "{rejected:?}");
    assert!(rejected.stderr.contains("this command uses profile `home`"), "{rejected:?}");
    // Neither a token refresh nor another login by the same user changes the account.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&["auth", "status", "--profile", "work"]).ok();
    Login::begin(&idempost, &["--profile", "again", "--base-url", &url, "--scope", "full_access"])
        .decided(&Person::of("sb_test"), true)
        .ok();
    idempost.run(&["bulk", "resume", "--profile", "again"]).ok();
    idempost.run(&["bulk", "reconcile", "--profile", "work"]).ok();
    assert_eq!((service.core().mails("sb_test").len(), service.core().mails("sb_other").len()), (2, 0));
}

#[test]
fn an_access_token_is_refreshed_with_a_narrower_scope() {
    // TOK-36
    let service = service();
    let idempost = without_credentials(&service);
    let scopes = ["--scope", "emails:send", "--scope", "full_access"];
    let login = Login::begin(&idempost, &scopes);
    let back = runtime().block_on(Person::of("sb_test").allows(login.page.as_str()));
    visit(&back);
    login.end().ok();
    idempost.run(&["emails", "list"]).ok();
    let ran = idempost.run(&["auth", "refresh", "--scope", "emails:send", "--json"]).json();
    assert_eq!((&ran["scope"], &ran["generation"]), (&json!("emails:send"), &json!(2)));
    idempost.run(&["emails", "list"]).fails(4);
    idempost.run(&SEND).ok();
    // The next refresh gets the scopes of the login.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&["emails", "list"]).ok();
    idempost.run(&["auth", "refresh"]).fails(2);
}

#[test]
fn an_api_key_is_stored_like_a_login_and_sent_only_to_its_service() {
    let service = service();
    let idempost = without_credentials(&service);
    for wrong in ["", "two words", "sb_a\nsb_b\n"] {
        let stderr = idempost.run_with(&["auth", "login", "--with-token"], wrong).fails(2);
        assert!(!stderr.contains("sb_a"), "{stderr}");
    }
    let ran = idempost.run_with(&["auth", "login", "--with-token"], "sb_test\n");
    assert!(!ran.stdout.contains("sb_test") && !ran.stderr.contains("sb_test"), "{ran:?}");
    assert!(ran.ok().contains("API key of profile `default`"));
    idempost.run(&SEND).ok();
    idempost.run(&["emails", "list"]).ok();
    let status = idempost.run(&["auth", "status", "--json"]).json();
    assert_eq!((&status["kind"], &status["scope"]), (&json!("api_key"), &json!(null)));
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_test\n");

    let asked = service.asked();
    for command in [
        &["emails", "list", "--base-url", "https://other.test"][..],
        &["auth", "status", "--base-url", "https://other.test"],
    ] {
        let ran = idempost.run(command);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(
            ran.stderr.contains("https://other.test") && ran.stderr.contains(&service.base_url()),
            "{ran:?}"
        );
    }
    assert_eq!(service.asked(), asked);
    assert!(idempost.run(&["auth", "logout"]).ok().contains("removed the API key"));
    idempost.run(&["emails", "list"]).fails(4);
}

#[test]
fn a_login_is_sent_only_to_its_own_service() {
    // D-19
    let service = service();
    let other = Service::start();
    let idempost = logged_in(&service, &[]);
    let stderr = idempost.run(&(SEND, &["--base-url", &other.base_url()])).fails(4);
    assert!(stderr.contains("nothing was sent") && stderr.contains("--profile"), "{stderr}");
    assert_eq!(other.asked(), 0);
}

#[test]
fn explicit_credentials_take_precedence_over_the_login() {
    // A-49
    let service = service();
    let idempost = without_credentials(&service).env("IDEMPOST_API_KEY", "sb_test");
    let ran = Login::begin(&idempost, &[]).decided(&Person::of("sb_test"), true);
    assert!(ran.stderr.contains("IDEMPOST_API_KEY is set and takes precedence over this login"), "{ran:?}");
    ran.ok();
    // A send-only login couldn't list.
    idempost.run(&["emails", "list"]).ok();
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_test\n");
    let ran = idempost.run(&["auth", "status"]);
    assert!(
        ran.stderr.contains("IDEMPOST_API_KEY takes precedence over the stored login of profile `default`"),
        "{ran:?}"
    );
    assert!(ran.ok().contains("IDEMPOST_API_KEY"));
}

#[test]
fn a_command_with_a_key_accesses_no_store() {
    let service = service();
    let idempost = service.idempost();
    let credentials = idempost.home().join(".config/idempost/credentials");
    std::fs::create_dir_all(credentials.parent().unwrap()).unwrap();
    // Any access fails.
    std::fs::write(&credentials, "in the way").unwrap();
    idempost.run(&["emails", "list"]).ok();
    idempost.run(&["--version"]).ok();
    let without = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
    without.run(&["--version"]).ok();
    without.run(&["emails", "list"]).fails(4);
    assert!(!without.home().join(".config").exists(), "reading creates nothing");
}

#[test]
fn each_profile_has_its_own_login() {
    let service = service();
    let idempost = Idempost::new().env("IDEMPOST_CREDENTIAL_STORE", "file");
    let base_url = service.base_url();
    for profile in ["work", "home"] {
        let login = Login::begin(&idempost, &["--profile", profile, "--base-url", &base_url]);
        login.decided(&Person::of(&format!("sb_{profile}")), true).ok();
    }
    // The base URL was saved.
    idempost.run(&(SEND, "--profile work")).ok();
    assert_eq!((service.core().mails("sb_work").len(), service.core().mails("sb_home").len()), (1, 0));
    assert!(idempost.run(&SEND).fails(2).contains("base URL"));
    idempost.run(&["auth", "use", "home"]).ok();
    idempost.run(&SEND).ok();
    assert_eq!(service.core().mails("sb_home").len(), 1);
    let listed = idempost.run(&["auth", "list", "--json"]).json();
    let used: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["profile"].clone(), row["used"].clone()))
        .collect();
    assert_eq!(used, [(json!("home"), json!(true)), (json!("work"), json!(false))]);
    assert!(idempost.run(&["auth", "use", "hone"]).fails(5).contains("did you mean `home`?"));

    assert!(idempost.run(&["auth", "logout", "--all"]).fails(2).contains("--yes"));
    let done = idempost.run(&["auth", "logout", "--all", "--yes", "--json"]).json();
    assert_eq!(done["logged_out"].as_array().unwrap().iter().filter(|one| one["revoked"] == true).count(), 2);
    let rows = idempost.run(&["auth", "list", "--json"]).json();
    let rows = rows["data"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["state"] == "logged_out"), "{rows:?}");
}

#[test]
fn a_grant_revoked_elsewhere_ends_the_login() {
    // D-08
    let service = service();
    let idempost = logged_in(&service, &["--scope", "full_access"]);
    let grants = idempost.run(&["auth", "grants", "list", "--json"]).json();
    let id = grants["data"][0]["id"].as_str().unwrap().to_owned();
    let owner = service.idempost();
    assert_eq!(owner.run(&["auth", "grants", "revoke", &id]).ok(), format!("{id}\n"));
    owner.run(&["auth", "grants", "revoke", &id]).fails(5);
    idempost.run("emails list").fails_with(4, &["auth login"]);
    let ran = idempost.run(&["auth", "status"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("has ended"), "{ran:?}");
    // An ended login is reported without another request.
    let asked = service.asked();
    idempost.run(&["emails", "list"]).fails(4);
    assert_eq!(service.asked(), asked);
    Login::begin(&idempost, &[]).decided(&Person::of("sb_test"), true).ok();
    idempost.run(&SEND).ok();
}

#[test]
fn a_login_whose_revocation_failed_stays_ended_until_it_succeeds() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    for _ in 0..2 {
        service
            .core()
            .faults()
            .add(Rule::new(Action::http_response(503, "{}")).on_request(Method::POST, "/oauth/revoke"));
        let stderr = idempost.run(&["auth", "logout", "--quiet"]).fails(7);
        for part in ["access couldn't be revoked", "may stay valid", "auth logout --local"] {
            assert!(stderr.contains(part), "{part}: {stderr}");
        }
    }
    // Nothing uses its tokens anymore.
    let asked = service.asked();
    assert!(idempost.run(&SEND).fails(4).contains("isn't revoked yet"));
    let status = idempost.run(&["auth", "status", "--json"]);
    assert_eq!((status.code, status.stdout.contains(r#""state":"ended""#)), (Some(4), true), "{status:?}");
    assert!(status.stderr.contains("to revoke it: idempost auth logout"), "{status:?}");
    assert_eq!(service.asked(), asked);
    assert!(idempost.run(&["auth", "logout"]).ok().contains("access revoked"));
    assert!(idempost.run(&["auth", "status"]).fails(4).contains("isn't logged in"));
}

#[test]
fn a_new_login_revokes_one_that_could_not_be_revoked() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    let token = idempost.run(&["auth", "token"]).ok();
    let other = Idempost::new()
        .env("IDEMPOST_BASE_URL", service.base_url())
        .env("IDEMPOST_ACCESS_TOKEN", token.trim());
    service
        .core()
        .faults()
        .add(Rule::new(Action::http_response(503, "{}")).on_request(Method::POST, "/oauth/revoke"));
    idempost.run(&["auth", "logout"]).fails(7);
    other.run(&SEND).ok();
    Login::begin(&idempost, &[]).decided(&Person::of("sb_test"), true).ok();
    other.run(&SEND).fails(4);
    idempost.run(&SEND).ok();
}

#[test]
fn a_local_logout_removes_a_login_without_a_request() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    let asked = service.asked();
    let ran = idempost.run(&["auth", "logout", "--local"]).ok();
    assert_eq!(ran, "logged out of profile `default`\n");
    assert_eq!(service.asked(), asked);
    assert!(idempost.run(&["auth", "status"]).fails(4).contains("isn't logged in"));
}

#[test]
fn a_page_instead_of_a_revocation_is_a_failed_logout() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    let page = Rule::new(Action::http_response(200, "<html>Sign in to the Wi-Fi</html>"));
    service.core().faults().add(page.on_request(Method::POST, "/oauth/revoke"));
    idempost.run(&["auth", "logout"]).fails_with(4, &["access couldn't be revoked"]);
    assert!(idempost.run(&["auth", "logout"]).ok().contains("access revoked"));
}

#[test]
fn a_login_keeps_the_base_url_of_the_environment() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    let without = |arguments: &[&str]| {
        let mut command = idempost.command();
        Ran::of(command.args(arguments).env_remove("IDEMPOST_BASE_URL").finish())
    };
    without(&SEND).ok();
    // The base URLs of other profiles are kept.
    let other = super::service();
    idempost.run(&["config", "set", "base_url", "https://others.test"]).ok();
    std::fs::write(idempost.config_file(), "[defaults]\nbase_url = \"https://others.test\"\n").unwrap();
    let mut login = idempost.command();
    login.args(["auth", "login", "--with-token"]).env("IDEMPOST_BASE_URL", other.base_url());
    let mut child = login.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"sb_test\n").unwrap();
    Ran::of(child.finish()).ok();
    without(&SEND).ok();
    assert_eq!(other.core().mails("sb_test").len(), 1);
    let text = std::fs::read_to_string(idempost.config_file()).unwrap();
    assert!(text.contains("[defaults]\nbase_url = \"https://others.test\""), "{text}");
}

#[test]
fn a_limited_or_intercepted_refresh_keeps_the_login() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    service.core().clock().advance(Duration::from_secs(901));
    let limited =
        Action::http_response(429, r#"{"error":"too_many_requests"}"#).header("retry-after", "3600");
    for (action, code) in [(Action::http_response(403, "<html>"), 7), (limited, 6)] {
        service.core().faults().add(Rule::new(action).on_request(Method::POST, "/oauth/token"));
        let message = idempost.run(&SEND).fails(code);
        assert!(!message.contains("auth login"), "{message}");
        assert_eq!(service.core().faults().pending(), 0);
    }
    // The next command respects `Retry-After`.
    let asked = asked_for(&service, "/oauth/token");
    let message = idempost.run(&SEND).fails(6);
    assert!(message.contains("retry after 35") || message.contains("retry after 34"), "{message}");
    assert_eq!(asked_for(&service, "/oauth/token"), asked);
    idempost.run(&["auth", "status"]).ok();
}

#[test]
fn a_signal_during_a_refresh_reports_that_the_service_did_nothing() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    service.core().clock().advance(Duration::from_secs(901));
    let slow = Rule::new(Action::Delay(Duration::from_secs(10))).on_request(Method::POST, "/oauth/token");
    service.core().faults().add(slow);
    let before = asked_for(&service, "/oauth/token");
    let child = idempost.spawn(&SEND);
    wait_until("the refresh token is sent", || asked_for(&service, "/oauth/token") > before);
    signal(&child, Signal::TERM);
    let ran = Ran::of(child.finish());
    assert_eq!(ran.code, Some(143), "{ran:?}");
    assert!(ran.stderr.contains("did nothing") && !ran.stderr.contains("next:"), "{ran:?}");
}

#[test]
fn a_refresh_with_more_scopes_logs_in_again_and_keeps_the_old_login() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    idempost.run(&["emails", "list"]).fails(4);
    let refresh = ["auth", "refresh", "--scope", "full_access", "--no-browser"];
    let page = idempost.run(&refresh).ok();
    let scope = Url::parse(page.trim()).unwrap();
    let scope = scope.query_pairs().find(|(name, _)| name == "scope").unwrap().1.into_owned();
    assert_eq!(scope, "emails:send full_access");
    // Denied, and not yet allowed: the earlier login is in use.
    let denied = runtime().block_on(Person::of("sb_test").denies(page.trim()));
    idempost.run(&["auth", "login", "--callback-url", &denied]).fails(4);
    idempost.run(&SEND).ok();
    let page = idempost.run(&refresh).ok();
    let allowed = runtime().block_on(Person::of("sb_test").allows(page.trim()));
    idempost.run(&["auth", "login", "--callback-url", &allowed]).ok();
    idempost.run(&["emails", "list"]).ok();
}

#[test]
fn a_request_timeout_does_not_interrupt_a_token_refresh() {
    // TOK-28
    let service = service();
    let idempost = logged_in(&service, &[]);
    // The service rejects the access token from now on, and takes longer to refresh it than the request's timeout.
    service.core().clock().advance(Duration::from_secs(901));
    let slow = Rule::new(Action::Delay(Duration::from_secs(2))).on_request(Method::POST, "/oauth/token");
    service.core().faults().add(slow);
    let mut call = SEND.to_vec();
    call.extend(["--timeout", "500ms"]);
    assert_ne!(idempost.run(&call).code, Some(0));
    idempost.run(&SEND).ok();
    let kinds: Vec<_> = service.core().token_events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
}

#[test]
fn a_watch_outlives_its_access_tokens_and_ends_with_its_login() {
    let service = service();
    let idempost = logged_in(&service, &["--scope", "full_access"]);
    let arrive = |subject: &str| {
        let mail =
            format!("From: ada@example.com\r\nTo: in@acme.test\r\nSubject: {subject}\r\n\r\nHello\r\n");
        service.core().receive("sb_test", &["in@acme.test"], mail).unwrap();
    };
    let watch = ["received", "watch", "--from-start", "--interval", "20ms", "--columns", "subject"];
    let mut child = idempost.spawn(&watch);
    let mut lines = BufReader::new(Limited(child.stdout.take().unwrap())).lines();
    for subject in ["one", "two", "three"] {
        arrive(subject);
        assert_eq!(lines.next().unwrap().unwrap(), subject);
        // Its access token is rejected from now on.
        service.core().clock().advance(Duration::from_secs(901));
    }
    arrive("four");
    assert_eq!(lines.next().unwrap().unwrap(), "four");
    let renewed = service.core().token_events().into_iter();
    assert!(renewed.filter(|event| matches!(event.kind, TokenEventKind::Rotated { .. })).count() >= 3);
    // The refresh token has expired too, so no refresh is possible.
    service.core().clock().advance(Duration::from_hours(24 * 400));
    let ended = Ran::of(child.finish());
    assert_eq!(ended.code, Some(4), "{ended:?}");
}

#[test]
fn a_refresh_whose_response_is_lost_can_be_simulated_and_sends_nothing() {
    let service = service();
    let idempost = logged_in(&service, &[]);
    let key = service.idempost();
    assert_eq!(key.run(&["sandbox", "fail", "--rotate-then-lose"]).ok(), "1\n");
    idempost.run(&SEND).ok();
    assert!(key.run("sandbox fail --list").ok().contains("/oauth/token"), "a fresh token isn't refreshed");
    service.core().clock().advance(Duration::from_secs(901));
    // Long enough for the refresh to be sent, and shorter than the wait for its response.
    let ran = idempost.run(&(SEND, "--timeout 10s"));
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert_eq!(key.run(&["sandbox", "fail", "--list"]).ok(), "", "the rule was applied");
    // The service has replaced the token, and the new one is lost; the old one wasn't sent again.
    let kinds: Vec<_> = service.core().token_events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
    assert_eq!(service.core().mails("sb_test").len(), 1);
}

#[cfg(unix)]
#[test]
fn a_logout_of_all_profiles_reports_the_cause_of_each_failure() {
    let service = service();
    let idempost = without_credentials(&service);
    for profile in ["work", "home", "away"] {
        idempost.run_with(&["auth", "login", "--with-token", "--profile", profile], "sb_test\n").ok();
    }
    let credentials = idempost.home().join(".config/idempost/credentials");
    for profile in ["work", "home"] {
        let lock = credentials.join(format!("{profile}.lock"));
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
    }
    let ran = idempost.run(&["auth", "logout", "--all", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("profile `away`"), "{ran:?}");
    for cause in ["2 profiles couldn't", "\n  work: ", "work.lock", "\n  home: ", "home.lock"] {
        assert!(ran.stderr.contains(cause), "{cause}: {ran:?}");
    }
}
