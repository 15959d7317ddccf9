//! How commands use stored logins and API keys: for which service and profile, and how a login ends.

use super::*;
use crate::support::finish_with;

#[test]
fn an_expiring_access_token_is_refreshed_by_the_command_that_needs_it() {
    let (service, idempost) = with_login("");
    assert!(idempost.home().join(".config/idempost/credentials/default.cred").exists());
    idempost.run(&["auth", "token"]).ok();
    assert_eq!(token_events(&service), [TokenEventKind::Issued], "a fresh one isn't refreshed");
    // The service rejects it from now on: its clock is past the expiry.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&SEND).ok();
    assert_eq!(token_events(&service), [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
    assert_eq!(idempost.run(&["auth", "status", "--json"]).json()["generation"], 2);
    idempost.run(&SEND).ok();
    assert_eq!(token_events(&service).len(), 2);
}

#[test]
fn a_command_with_its_own_sandbox_does_not_end_stored_logins() {
    let (service, idempost) = with_login("");
    for line in ["--sandbox auth logout", "--sandbox auth logout --all --yes"] {
        idempost.run(line).fails_with(2, &["--sandbox can't be used with this command"]);
    }
    assert_eq!(token_events(&service), [TokenEventKind::Issued]);
    idempost.run(&SEND).ok();
}

#[test]
fn a_job_belongs_to_the_login_that_started_it() {
    // F-13
    let (service, idempost) = with_login("--profile work --scope full_access");
    idempost.write("people.csv", "to\nada@example.com\nbob@example.com\n");
    let send = "bulk send people.csv --yes --from hi@acme.test --subject Hi --text Hi --profile work";
    let refused = Rule::new(Action::error(401, "invalid_api_key", "try later"));
    service.faults().add(refused.on_path("/emails/batch").times(2));
    idempost.run(send).exits(4);
    let of = |profile| format!("--profile {profile} --base-url {} --scope full_access", service.base_url());
    log_in(&idempost, "sb_other", &of("home")).ok();
    let others = ["belongs to profile `work`", "this command uses profile `home`"];
    idempost.run("bulk resume --profile home").exits(4).says(&others);
    // Neither a token refresh nor another login by the same user changes the account.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&["auth", "status", "--profile", "work"]).ok();
    log_in(&idempost, "sb_test", &of("again")).ok();
    idempost.run(&["bulk", "resume", "--profile", "again"]).ok();
    idempost.run(&["bulk", "reconcile", "--profile", "work"]).ok();
    assert_eq!((service.mails().len(), service.core().mails("sb_other").len()), (2, 0));
}

#[test]
fn an_access_token_is_refreshed_with_a_narrower_scope() {
    // TOK-36
    let (service, idempost) = with_login("--scope emails:send --scope full_access");
    idempost.run(&["emails", "list"]).ok();
    let ran = idempost.run(&["auth", "refresh", "--scope", "emails:send", "--json"]).json();
    has(&ran, &json!({"scope": "emails:send", "generation": 2}));
    idempost.run(&["emails", "list"]).fails(4);
    idempost.run(&SEND).ok();
    // The next refresh gets the scopes of the login.
    service.core().clock().advance(Duration::from_secs(901));
    idempost.run(&["emails", "list"]).ok();
    idempost.run(&["auth", "refresh"]).fails(2);
}

#[test]
fn a_refresh_without_the_certificates_of_its_command_sends_nothing() {
    // AUTH-08
    let (service, idempost) = with_login("");
    service.core().clock().advance(Duration::from_secs(901));
    // A pipe can be read only once, and the tokens are refreshed by another process.
    let ca = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
    let send = (SEND, "--cacert /dev/stdin");
    idempost
        .run_with(&send, &ca)
        .fails_with(4, &["`cacert` can't be read again for the token refresh: couldn't read /dev/stdin"]);
    assert_eq!(token_events(&service), [TokenEventKind::Issued]);
}

#[test]
fn an_api_key_is_stored_like_a_login_and_sent_only_to_its_service() {
    let (service, idempost) = without_login();
    for wrong in ["", "two words", "sb_a\nsb_b\n"] {
        idempost.run_with("auth login --with-token", wrong).hides(&["sb_a"]).fails(2);
    }
    let ran = idempost.run_with("auth login --with-token", "sb_test\n");
    ran.hides(&["sb_test"]).ok_with(&["API key of profile `default`"]);
    idempost.run(&SEND).ok();
    idempost.run(&["emails", "list"]).ok();
    let status = idempost.run(&["auth", "status", "--json"]).json();
    has(&status, &json!({"kind": "api_key", "scope": null}));
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_test\n");

    let asked = service.asked();
    for command in ["emails list", "auth status"] {
        let elsewhere = idempost.run(&(command, "--base-url https://other.test"));
        elsewhere.exits(4).says(&["https://other.test", &service.base_url()]);
    }
    assert_eq!(service.asked(), asked);
    idempost.run(&["auth", "logout"]).ok_with(&["removed the API key"]);
    idempost.run(&["emails", "list"]).fails(4);
}

#[test]
fn a_login_is_sent_only_to_its_own_service() {
    // D-19, E-03
    let service = service();
    let other = Service::start();
    let idempost = logged_in(&service, "");
    let elsewhere = idempost.run(&(SEND, &["--base-url", &other.base_url()]));
    elsewhere.fails_with(4, &["nothing was sent", "--profile"]);
    // Another program would send it there.
    idempost.run(&("auth token --base-url", [other.base_url()])).fails_with(4, &["holds credentials for"]);
    assert_eq!(other.asked(), 0);
}

#[test]
fn explicit_credentials_take_precedence_over_the_login() {
    // A-49
    let service = service();
    let idempost = without_credentials(&service).env("IDEMPOST_API_KEY", "sb_test");
    let ran = log_in(&idempost, "sb_test", "");
    ran.says(&["IDEMPOST_API_KEY is set and takes precedence over this login"]).ok();
    // A send-only login couldn't list.
    idempost.run(&["emails", "list"]).ok();
    assert_eq!(idempost.run(&["auth", "token"]).ok(), "sb_test\n");
    let hint = "IDEMPOST_API_KEY takes precedence over the stored login of profile `default`";
    idempost.run("auth status").says(&[hint]).ok_with(&["IDEMPOST_API_KEY"]);
}

#[test]
fn a_command_with_a_key_accesses_no_store() {
    let service = service();
    let idempost = service.idempost();
    std::fs::create_dir_all(idempost.home().join(".config/idempost")).unwrap();
    // Any access fails.
    idempost.write(".config/idempost/credentials", "in the way");
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
        log_in(&idempost, &format!("sb_{profile}"), &["--profile", profile, "--base-url", &base_url]).ok();
    }
    // The base URL was saved.
    idempost.run(&(SEND, "--profile work")).ok();
    assert_eq!((service.core().mails("sb_work").len(), service.core().mails("sb_home").len()), (1, 0));
    idempost.run(&SEND).fails_with(2, &["base URL"]);
    idempost.run(&["auth", "use", "home"]).ok();
    idempost.run(&SEND).ok();
    assert_eq!(service.core().mails("sb_home").len(), 1);
    let listed = idempost.run(&["auth", "list", "--json"]).json();
    has(&listed["data"][0], &json!({"profile": "home", "used": true}));
    has(&listed["data"][1], &json!({"profile": "work", "used": false}));
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
    idempost.run(&["auth", "use", "hone"]).fails_with(5, &["did you mean `home`?"]);

    idempost.run(&["auth", "logout", "--all"]).fails_with(2, &["--yes"]);
    let done = idempost.run(&["auth", "logout", "--all", "--yes", "--json"]).json();
    assert_eq!(done["logged_out"].as_array().unwrap().iter().filter(|one| one["revoked"] == true).count(), 2);
    let rows = idempost.run(&["auth", "list", "--json"]).json();
    let rows = rows["data"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["state"] == "logged_out"), "{rows:?}");
}

#[test]
fn a_grant_revoked_elsewhere_ends_the_login() {
    // D-08
    let (service, idempost) = with_login("--scope full_access");
    let grants = idempost.run(&["auth", "grants", "list", "--json"]).json();
    let id = grants["data"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(service.run(&["auth", "grants", "revoke", &id]).ok(), format!("{id}\n"));
    service.run(&["auth", "grants", "revoke", &id]).fails(5);
    idempost.run("emails list").fails_with(4, &["auth login"]);
    idempost.run(&["auth", "status"]).exits(4).says(&["has ended"]);
    // An ended login is reported without another request.
    let asked = service.asked();
    idempost.run(&["emails", "list"]).fails(4);
    assert_eq!(service.asked(), asked);
    log_in(&idempost, "sb_test", "").ok();
    idempost.run(&SEND).ok();
}

/// The next revocation fails.
fn cannot_revoke(service: &Service) {
    let unavailable = Action::http_response(503, "{}");
    service.faults().add(Rule::new(unavailable).on_request(Method::POST, "/oauth/revoke"));
}

#[test]
fn a_login_whose_revocation_failed_stays_ended_until_it_succeeds() {
    let (service, idempost) = with_login("");
    for _ in 0..2 {
        cannot_revoke(&service);
        let stays = ["access couldn't be revoked", "may stay valid", "auth logout --local"];
        idempost.run("auth logout --quiet").fails_with(7, &stays);
    }
    // Nothing uses its tokens anymore.
    let asked = service.asked();
    idempost.run(&SEND).fails_with(4, &["isn't revoked yet"]);
    let status = idempost.run("auth status --json").exits(4);
    status.prints(&[r#""state":"ended""#]).says(&["to revoke it: idempost auth logout"]);
    assert_eq!(service.asked(), asked);
    idempost.run(&["auth", "logout"]).ok_with(&["access revoked"]);
    idempost.run(&["auth", "status"]).fails_with(4, &["isn't logged in"]);
}

#[test]
fn a_new_login_revokes_one_that_could_not_be_revoked() {
    let (service, idempost) = with_login("");
    let token = idempost.run(&["auth", "token"]).ok();
    let other = without_credentials(&service).env("IDEMPOST_ACCESS_TOKEN", token.trim());
    cannot_revoke(&service);
    idempost.run(&["auth", "logout"]).fails(7);
    other.run(&SEND).ok();
    log_in(&idempost, "sb_test", "").ok();
    other.run(&SEND).fails(4);
    idempost.run(&SEND).ok();
}

#[test]
fn a_local_logout_removes_a_login_without_a_request() {
    let (service, idempost) = with_login("");
    let asked = service.asked();
    assert_eq!(idempost.run("auth logout --local").ok(), "logged out of profile `default`\n");
    assert_eq!(service.asked(), asked);
    idempost.run(&["auth", "status"]).fails_with(4, &["isn't logged in"]);
}

#[test]
fn a_login_keeps_the_base_url_of_the_environment() {
    let (_service, idempost) = with_login("");
    without_base_url(&idempost, &SEND).ok();
    // The base URLs of other profiles are kept.
    let other = super::service();
    idempost.run(&["config", "set", "base_url", "https://others.test"]).ok();
    let idempost = idempost.config("[defaults]\nbase_url = \"https://others.test\"\n");
    let log_in = |idempost: &Idempost| {
        let mut login = idempost.command();
        login.args(["auth", "login", "--with-token"]).env("IDEMPOST_BASE_URL", other.base_url());
        finish_with(&mut login, "sb_test\n").ok();
        without_base_url(idempost, &SEND).ok();
    };
    log_in(&idempost);
    assert_eq!(other.mails().len(), 1);
    let text = idempost.read(".config/idempost/config.toml");
    assert!(text.contains("[defaults]\nbase_url = \"https://others.test\""), "{text}");
    // A base URL of the profile `default` takes precedence over that of `[defaults]`.
    log_in(&idempost.config("[profiles.default]\nbase_url = \"https://others.test\"\n"));
}

#[test]
fn a_signal_during_a_refresh_reports_that_the_service_did_nothing() {
    let (service, idempost) = with_login("");
    service.core().clock().advance(Duration::from_secs(901));
    let slow = Rule::new(Action::Delay(Duration::from_secs(10))).on_request(Method::POST, "/oauth/token");
    service.faults().add(slow);
    let before = asked_for(&service, "/oauth/token");
    let child = idempost.spawn(&SEND);
    wait_until("the refresh token is sent", || asked_for(&service, "/oauth/token") > before);
    signal(&child, Signal::TERM);
    child.finish().exits(143).says(&["did nothing"]).hides(&["next:"]);
}

#[test]
fn a_refresh_with_more_scopes_logs_in_again_and_keeps_the_old_login() {
    let (_service, idempost) = with_login("");
    idempost.run(&["emails", "list"]).fails(4);
    let refresh = ["auth", "refresh", "--scope", "full_access", "--no-browser"];
    let page = idempost.run(&refresh).ok();
    assert_eq!(query(&Url::parse(page.trim()).unwrap(), "scope"), "emails:send full_access");
    // Denied, and not yet allowed: the earlier login is in use.
    idempost.run(&["auth", "login", "--callback-url", &denied(page.trim())]).fails(4);
    idempost.run(&SEND).ok();
    let page = idempost.run(&refresh).ok();
    idempost.run(&["auth", "login", "--callback-url", &allowed(page.trim())]).ok();
    idempost.run(&["emails", "list"]).ok();
}

#[test]
fn a_request_timeout_does_not_interrupt_a_token_refresh() {
    // TOK-28
    let (service, idempost) = with_login("");
    // The service rejects the access token from now on, and takes longer to refresh it than the request's timeout.
    service.core().clock().advance(Duration::from_secs(901));
    let slow = Rule::new(Action::Delay(Duration::from_secs(2))).on_request(Method::POST, "/oauth/token");
    service.faults().add(slow);
    assert_ne!(idempost.run(&(SEND, "--timeout 500ms")).code, Some(0));
    idempost.run(&SEND).ok();
    assert_eq!(token_events(&service), [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
}

#[test]
fn a_watch_outlives_its_access_tokens_and_ends_with_its_login() {
    let (service, idempost) = with_login("--scope full_access");
    let arrive = |subject: &str| {
        let mail =
            format!("From: ada@example.com\r\nTo: in@acme.test\r\nSubject: {subject}\r\n\r\nHello\r\n");
        service.core().receive("sb_test", &["in@acme.test"], mail).unwrap();
    };
    let mut child = idempost.spawn("received watch --from-start --interval 20ms --columns subject");
    let mut lines = lines(&mut child.stdout);
    for subject in ["one", "two", "three"] {
        arrive(subject);
        assert_eq!(lines.next().unwrap(), subject);
        // Its access token is rejected from now on.
        service.core().clock().advance(Duration::from_secs(901));
    }
    arrive("four");
    assert_eq!(lines.next().unwrap(), "four");
    let renewed = token_events(&service).into_iter();
    assert!(renewed.filter(|event| matches!(event, TokenEventKind::Rotated { .. })).count() >= 3);
    // The refresh token has expired too, so no refresh is possible.
    service.core().clock().advance(Duration::from_hours(24 * 400));
    child.finish().exits(4);
}

#[test]
fn a_refresh_whose_response_is_lost_can_be_simulated_and_sends_nothing() {
    let (service, idempost) = with_login("");
    assert_eq!(service.run(&["sandbox", "fail", "--rotate-then-lose"]).ok(), "1\n");
    idempost.run(&SEND).ok();
    service.run("sandbox fail --list").ok_with(&["/oauth/token"]);
    service.core().clock().advance(Duration::from_secs(901));
    // Long enough for the refresh to be sent, and shorter than the wait for its response.
    idempost.run(&(SEND, "--timeout 10s")).exits(7);
    assert_eq!(service.run(&["sandbox", "fail", "--list"]).ok(), "", "the rule was applied");
    // The service has replaced the token, and the new one is lost; the old one wasn't sent again.
    assert_eq!(token_events(&service), [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
    assert_eq!(service.mails().len(), 1);
}

#[test]
fn a_logout_of_all_profiles_reports_the_cause_of_each_failure() {
    let (_service, idempost) = without_login();
    for profile in ["work", "home", "away"] {
        idempost.run_with(&["auth", "login", "--with-token", "--profile", profile], "sb_test\n").ok();
    }
    let credentials = idempost.home().join(".config/idempost/credentials");
    for profile in ["work", "home"] {
        let lock = credentials.join(format!("{profile}.lock"));
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
    }
    idempost.run(&["auth", "logout", "--all", "--yes"]).exits(1).prints(&["profile `away`"]).says(&[
        "2 profiles couldn't",
        "\n  work: ",
        "work.lock",
        "\n  home: ",
        "home.lock",
    ]);
}
