//! Logins without a terminal and a browser: one command prints the page, another one finishes.

use super::*;

/// Begins a login, and returns its page.
fn begun(idempost: &Idempost, arguments: &[&str]) -> String {
    let ran = idempost.run(&("auth login --no-browser", arguments));
    assert!(ran.stderr.contains("auth login --callback-url URL"), "{ran:?}");
    ran.ok().trim().to_owned()
}

fn allowed(page: &str) -> String {
    runtime().block_on(Person::of("sb_test").allows(page))
}

fn file(idempost: &Idempost) -> PathBuf {
    idempost.home().join(".config/idempost/credentials/default.login")
}

#[test]
fn a_login_without_a_terminal_is_finished_by_a_second_command() {
    let service = service();
    let idempost = without_credentials(&service);
    let page = begun(&idempost, &["--scope", "full_access"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file(&idempost).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    for (wrong, part) in [
        ("http://127.0.0.1/callback?code=x&state=y", "belongs to another login"),
        ("code", "paste the complete URL"),
    ] {
        idempost.run(&["auth", "login", "--callback-url", wrong]).fails_with(2, &[part]);
    }
    let url = allowed(&page);
    let message = idempost.run_with(&["auth", "login", "--callback-url", "-"], &url).ok();
    assert!(message.contains("logged in as profile `default`"), "{message}");
    idempost.run(&["emails", "list"]).ok();
    // A reused code would revoke the grant.
    let stderr = idempost.run(&["auth", "login", "--callback-url", &url]).fails(4);
    assert!(stderr.contains("profile `default` has no unfinished login"), "{stderr}");
    // The first request asks whether the client is known.
    assert_eq!((asked_for(&service, "/oauth/token"), file(&idempost).exists()), (2, false));
    idempost.run(&["emails", "list"]).ok();
}

#[test]
fn a_login_begun_more_than_ten_minutes_ago_is_not_finished() {
    let service = service();
    let idempost = without_credentials(&service);
    let url = allowed(&begun(&idempost, &[]));
    let text = std::fs::read_to_string(file(&idempost)).unwrap();
    let mut unfinished: Value = serde_json::from_str(text.trim()).unwrap();
    let begun_at: jiff::Timestamp = unfinished["begun_at"].as_str().unwrap().parse().unwrap();
    unfinished["begun_at"] = (begun_at - jiff::SignedDuration::from_secs(601)).to_string().into();
    std::fs::write(file(&idempost), unfinished.to_string()).unwrap();
    idempost.run(&["auth", "login", "--callback-url", &url]).fails_with(4, &["more than 10 minutes ago"]);
    assert_eq!((asked_for(&service, "/oauth/token"), file(&idempost).exists()), (1, false));
}

#[test]
fn a_login_in_two_commands_belongs_to_its_profile_and_service() {
    let (service, other) = (service(), Service::start());
    let idempost = without_credentials(&service);
    let url = allowed(&begun(&idempost, &["--profile", "work"]));
    idempost.run(&["auth", "login", "--callback-url", &url]).fails(4);
    let finish = ["auth", "login", "--callback-url", &url, "--profile", "work"];
    let elsewhere = other.base_url();
    let stderr = idempost.run(&(&finish, &["--base-url", &elsewhere])).fails(2);
    assert!(stderr.contains(&service.base_url()) && stderr.contains(&elsewhere), "{stderr}");
    let stderr = idempost.run(&(&finish, "--scope x --with-token")).fails(2);
    assert!(stderr.contains("--scope can't be used") && stderr.contains("--with-token can't"), "{stderr}");
    let mut command = idempost.command();
    Ran::of(command.args(finish).env_remove("IDEMPOST_BASE_URL").finish()).ok();
    let mut command = idempost.command();
    command.args(SEND).args(["--profile", "work"]).env_remove("IDEMPOST_BASE_URL");
    Ran::of(command.finish()).ok();
    assert_eq!((service.core().mails("sb_test").len(), other.asked()), (1, 0));
}

#[test]
fn a_logout_ends_a_login_that_is_not_finished() {
    let service = service();
    let idempost = without_credentials(&service);
    let url = allowed(&begun(&idempost, &[]));
    idempost.run(&["auth", "logout"]).ok();
    assert!(!file(&idempost).exists());
    idempost.run(&["auth", "login", "--callback-url", &url]).fails(4);
    assert_eq!(asked_for(&service, "/oauth/token"), 1, "only whether the client is known");
}

#[test]
fn no_secret_of_an_unfinished_login_is_printed() {
    let service = service();
    let idempost = without_credentials(&service);
    let ran = idempost.run(&["auth", "login", "--no-browser", "--json", "-vvv"]);
    let text = std::fs::read_to_string(file(&idempost)).unwrap();
    let unfinished: Value = serde_json::from_str(text.trim()).unwrap();
    let verifier = unfinished["request"]["verifier"].as_str().unwrap();
    assert!(!format!("{ran:?}").contains(verifier) && verifier.len() > 40);
    let url = allowed(ran.json()["url"].as_str().unwrap());
    let code =
        Url::parse(&url).unwrap().query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let wrong = url.replace("state=", "state=x");
    let refused = idempost.run(&["auth", "login", "--callback-url", &wrong, "-vvv"]);
    let finished = idempost.run(&["auth", "login", "--callback-url", &url, "-vvv"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!format!("{refused:?}{finished:?}").contains(&code));
}
