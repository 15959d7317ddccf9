//! A login at a terminal: pasted URLs and prompts.

use super::*;
use crate::at_a_terminal::{Session, code, run, start};
use crate::support::{concurrently, taken_port};

/// Begins a login without a browser; returns its page.
fn begin(service: &Service, flags: &(impl CommandLine + ?Sized)) -> (Session, Url) {
    page(run(without_credentials(service), &("auth login --no-browser", flags)))
}

/// Begins the same login through a shell, at a terminal with echo, which afterwards prints whether the echo is still on.
fn by_a_shell(service: &Service) -> (Session, Url) {
    let idempost = without_credentials(service);
    let script =
        "stty echo; \"$0\" auth login --no-browser; code=$?; stty -a | grep -o '[ -]echo '; exit $code";
    let command = idempost.through(script);
    page(start(idempost, command))
}

fn page(mut session: Session) -> (Session, Url) {
    let (_, page) = session.pty.exp_regex(PAGE).unwrap();
    session.pty.exp_string("or paste the URL").unwrap();
    session.pty.exp_string("Enter.").unwrap();
    (session, Url::parse(page.trim()).unwrap())
}

/// The whole URL: a terminal may show it in parts.
const PAGE: &str = r"http://[^\s]+/oauth/authorize\?[^\s]+\s";

/// The login succeeds. Returns what the terminal showed before.
fn succeeds(session: &mut Session) -> String {
    let before = session.pty.exp_string("logged in as profile `default`").unwrap();
    assert_eq!(code(session), 0);
    before
}

#[test]
fn the_redirect_url_can_be_pasted() {
    // C-10, C-16
    let service = service();
    let (mut session, page) = by_a_shell(&service);
    let back = allowed(page.as_str());
    // Nothing received the redirect: the browser is on another machine.
    let (here, state, code) = (query(&page, "redirect_uri"), query(&page, "state"), code_of(&back));
    for (pasted, refusal) in [
        (code.as_str(), "paste the complete URL"),
        ("http://127.0.0.1:1/callback?code=x", "paste the complete URL"),
        ("hello there", "paste the complete URL"),
        (&format!("{here}?code=x"), "belongs to another login"),
        (&format!("{here}?code=x&state={}", "A".repeat(43)), "belongs to another login"),
        (&format!("{here}?code=x&code=y&state={state}"), "repeated"),
        (&"x".repeat(4_090), "paste the complete URL"),
    ] {
        session.pty.send_line(pasted).unwrap();
        session.pty.exp_string(refusal).unwrap();
    }
    session.pty.send_line(&format!("\u{1b}[200~ {back} \u{1b}[201~")).unwrap();
    let before = succeeds(&mut session);
    assert!(!before.contains(&code), "the code is visible: {before:?}");
    session.idempost.run(&SEND).ok();
}

#[test]
fn a_denial_can_be_pasted_and_the_echo_is_restored() {
    let service = service();
    let (mut session, page) = by_a_shell(&service);
    session.pty.send_line(&denied(page.as_str())).unwrap();
    session.pty.exp_string("access was denied").unwrap();
    session.pty.exp_string(" echo ").unwrap();
    assert_eq!(code(&session), 4);
}

#[test]
fn a_redirect_is_received_while_waiting_for_a_paste() {
    let service = service();
    let (mut session, page) = begin(&service, "");
    visit(&allowed(page.as_str()));
    succeeds(&mut session);
}

#[test]
fn a_terminal_shows_the_remaining_time() {
    let service = service();
    let (mut session, _) = begin(&service, "--login-timeout 5m");
    let left = |session: &mut Session| {
        let (_, shown) = session.pty.exp_regex("[0-5]:[0-9][0-9] left").unwrap();
        let (minutes, seconds) = shown.strip_suffix(" left").unwrap().split_once(':').unwrap();
        minutes.parse::<u32>().unwrap() * 60 + seconds.parse::<u32>().unwrap()
    };
    let first = left(&mut session);
    assert!(first <= 300, "{first}");
    session.pty.send_line("hello there").unwrap();
    session.pty.exp_string("paste the complete URL").unwrap();
    while left(&mut session) >= first {}

    concurrently([("", true), (" -q", false)], |(quiet, shown)| {
        let line = format!("auth login --no-browser --login-timeout 2s{quiet}");
        let mut session = run(without_credentials(&service), &line);
        let before = session.pty.exp_string("timed out after 2 s").unwrap();
        assert_eq!(before.contains(" left"), shown, "{before}");
        assert_eq!(code(&session), 4);
    });
}

#[test]
fn ctrl_c_ends_the_prompt_at_once() {
    let service = service();
    let (mut session, _) = begin(&service, "");
    session.pty.send_control('c').unwrap();
    assert_eq!(code(&session), 130);
    session.idempost.run(&["auth", "status"]).fails(4);
}

#[test]
fn without_a_port_the_url_is_pasted() {
    // C-08
    let service = service();
    let (_v4, port) = taken_port();
    // On a machine without IPv6 there is no second address to bind.
    let _v6 = std::net::TcpListener::bind(format!("[::1]:{port}"));
    without_credentials(&service)
        .run(&["auth", "login", "--no-browser", "--port", &port])
        .fails_with(1, &["no port could be opened", "--with-token"]);

    let (mut session, page) = begin(&service, &["--port", &port]);
    assert_eq!(query(&page, "redirect_uri"), "http://127.0.0.1/callback");
    session.pty.send_line(&allowed(page.as_str())).unwrap();
    succeeds(&mut session);
}

#[test]
fn without_a_keyring_the_file_store_needs_confirmation() {
    // C-15
    let service = service();
    for (answer, exit) in [("n", 130), ("y", 0)] {
        let idempost = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
        let mut session = run(idempost, "auth login --no-browser");
        session.pty.exp_string("file that only you can read? [y/N] ").unwrap();
        session.pty.send_line(answer).unwrap();
        if exit == 0 {
            let (_, page) = session.pty.exp_regex(PAGE).unwrap();
            visit(&allowed(page.trim()));
            session.pty.exp_string("only you can read").unwrap();
        }
        assert_eq!(code(&session), exit);
        session.idempost.run("auth status").exits(if exit == 0 { 0 } else { 4 });
    }
}
