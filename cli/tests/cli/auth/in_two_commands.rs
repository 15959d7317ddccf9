//! Logins without a terminal and a browser: one command prints the page, another one finishes.

use super::*;
use crate::support::mode;

/// Begins a login, and returns its page.
fn begun(idempost: &Idempost, flags: &str) -> String {
    let ran = idempost.run(&("auth login --no-browser", flags)).says(&["auth login --callback-url URL"]);
    ran.ok().trim().to_owned()
}

const FILE: &str = ".config/idempost/credentials/default.login";

fn unfinished(idempost: &Idempost) -> Value {
    serde_json::from_str(&idempost.read(FILE)).unwrap()
}

/// The number of requests for a token, and whether a login is unfinished.
fn state(service: &Service, idempost: &Idempost) -> (usize, bool) {
    (asked_for(service, "/oauth/token"), idempost.home().join(FILE).exists())
}

#[test]
fn a_login_without_a_terminal_is_finished_by_a_second_command() {
    let (service, idempost) = without_login();
    let page = begun(&idempost, "--scope full_access");
    assert_eq!(mode(idempost.home().join(FILE)), 0o600);
    for (wrong, part) in [
        ("http://127.0.0.1/callback?code=x&state=y", "belongs to another login"),
        ("code", "paste the complete URL"),
    ] {
        idempost.run(&["auth", "login", "--callback-url", wrong]).fails_with(2, &[part]);
    }
    let url = allowed(&page);
    let finished = idempost.run_with("auth login --callback-url -", &url);
    finished.ok_with(&["logged in as profile `default`"]);
    idempost.run(&["emails", "list"]).ok();
    // A reused code would revoke the grant.
    let reused = idempost.run(&["auth", "login", "--callback-url", &url]);
    reused.fails_with(4, &["profile `default` has no unfinished login"]);
    // The first request asks whether the client is known.
    assert_eq!(state(&service, &idempost), (2, false));
    idempost.run(&["emails", "list"]).ok();
    // The printed command is quoted for the shell.
    let other = idempost.run(&["--profile", "my work", "auth", "login", "--no-browser"]);
    other.says(&["idempost --profile 'my work' auth login --callback-url URL"]).ok();
}

#[test]
fn a_login_begun_more_than_ten_minutes_ago_is_not_finished() {
    let (service, idempost) = without_login();
    let url = allowed(&begun(&idempost, ""));
    let mut unfinished = unfinished(&idempost);
    let begun_at: jiff::Timestamp = unfinished["begun_at"].as_str().unwrap().parse().unwrap();
    unfinished["begun_at"] = (begun_at - jiff::SignedDuration::from_secs(601)).to_string().into();
    idempost.write(FILE, unfinished.to_string());
    idempost.run(&["auth", "login", "--callback-url", &url]).fails_with(4, &["more than 10 minutes ago"]);
    assert_eq!(state(&service, &idempost), (1, false));
}

#[test]
fn a_login_in_two_commands_belongs_to_its_profile_and_service() {
    let (service, other) = (service(), Service::start());
    let idempost = without_credentials(&service);
    let url = allowed(&begun(&idempost, "--profile work"));
    idempost.run(&["auth", "login", "--callback-url", &url]).fails(4);
    let finish = ["auth", "login", "--callback-url", &url, "--profile", "work"];
    let elsewhere = other.base_url();
    idempost.run(&(&finish, &["--base-url", &elsewhere])).fails_with(2, &[&service.base_url(), &elsewhere]);
    let refused = ["--scope can't be used", "--with-token can't"];
    idempost.run(&(&finish, "--scope x --with-token")).fails_with(2, &refused);
    without_base_url(&idempost, &finish).ok();
    without_base_url(&idempost, &(SEND, "--profile work")).ok();
    assert_eq!((service.mails().len(), other.asked()), (1, 0));
}

#[test]
fn a_logout_ends_a_login_that_is_not_finished() {
    let (service, idempost) = without_login();
    let url = allowed(&begun(&idempost, ""));
    idempost.run(&["auth", "logout"]).ok();
    // Only whether the client is known.
    assert_eq!(state(&service, &idempost), (1, false));
    idempost.run(&["auth", "login", "--callback-url", &url]).fails(4);
    assert_eq!(state(&service, &idempost), (1, false));
}

#[test]
fn a_logout_of_every_profile_ends_the_logins_that_are_not_finished() {
    let (service, idempost) = without_login();
    let pages = ["", "--profile work"].map(|profile| (profile, begun(&idempost, profile)));
    idempost.store_key("other", &service.base_url(), "sb_other\n");
    idempost.run("auth logout --all --yes").ok();
    for (profile, page) in pages {
        let finish = ["auth", "login", "--callback-url", &allowed(&page)];
        idempost.run(&(profile, &finish)).fails_with(4, &["no unfinished login"]);
    }
}

#[test]
fn an_unfinished_login_moves_with_its_profile() {
    let (service, idempost) = without_login();
    for profile in ["work", "home"] {
        idempost.store_key(profile, &service.base_url(), "sb_kept\n");
    }
    let page = begun(&idempost, "--profile work");
    // Begun under a name that another profile gets: finishing it would replace that profile's credential.
    let taken = begun(&idempost, "--profile spare");
    idempost.run("auth rename home spare").ok();
    idempost.run("auth rename work acme").ok();
    let finish = |profile: &str, page: &str| {
        idempost.run(&["auth", "login", "--callback-url", &allowed(page), "--profile", profile])
    };
    finish("work", &page).fails_with(4, &["profile `work` has no unfinished login"]);
    finish("spare", &taken).fails_with(4, &["profile `spare` has no unfinished login"]);
    assert_eq!(idempost.run("--profile spare auth token").ok(), "sb_kept\n");
    finish("acme", &page).ok_with(&["logged in as profile `acme`"]);
}

#[test]
fn a_code_is_not_redeemed_if_the_login_cannot_be_stored() {
    let (service, idempost) = without_login();
    let url = allowed(&begun(&idempost, ""));
    // The keyring is gone by then, as in a session over SSH.
    let mut begun = unfinished(&idempost);
    begun["store"] = "keyring".into();
    idempost.write(FILE, begun.to_string());
    let finished = idempost.run(&["auth", "login", "--callback-url", &url]);
    finished.fails_with(1, &["the login can't be stored: ", "no keyring"]);
    assert_eq!(state(&service, &idempost), (1, true));
}

#[test]
fn no_secret_of_an_unfinished_login_is_printed() {
    let (_service, idempost) = without_login();
    let ran = idempost.run(&["auth", "login", "--no-browser", "--json", "-vvv"]);
    let unfinished = unfinished(&idempost);
    let verifier = unfinished["request"]["verifier"].as_str().unwrap();
    assert!(verifier.len() > 40);
    let url = allowed(ran.hides(&[verifier]).json()["url"].as_str().unwrap());
    let code = code_of(&url);
    for (url, exit) in [(url.replace("state=", "state=x"), 2), (url, 0)] {
        idempost.run(&["auth", "login", "--callback-url", &url, "-vvv"]).exits(exit).hides(&[&code]);
    }
}
