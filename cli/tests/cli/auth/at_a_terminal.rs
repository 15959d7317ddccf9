//! A login at a terminal: pasted URLs and prompts.

use std::process::Stdio;

use idempost_drivers::rexpect::process::WaitStatus;
use idempost_drivers::rexpect::session::{PtySession, spawn_command};

use super::*;

/// The program at a terminal, without a browser, and the page that it printed.
struct Session {
    pty: PtySession,
    page: Url,
    idempost: Idempost,
}

impl Session {
    fn begin(service: &Service) -> Self {
        Self::with(service, &[])
    }

    fn with(service: &Service, arguments: &[&str]) -> Self {
        let idempost = without_credentials(service).env("TERM", "xterm");
        let mut command = idempost.command();
        command.args(["auth", "login", "--no-browser"]).args(arguments);
        Self::of(idempost, command)
    }

    /// Starts the same login through a shell, at a terminal with echo, which afterwards prints whether the echo is still on.
    fn by_a_shell(service: &Service) -> Self {
        let idempost = without_credentials(service).env("TERM", "xterm");
        let mut command = idempost.command();
        let program = command.get_program().to_owned();
        command = {
            let mut shell = std::process::Command::new("sh");
            shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell
        };
        let line =
            "stty echo; \"$0\" auth login --no-browser; code=$?; stty -a | grep -o '[ -]echo '; exit $code";
        command.args(["-c", line]).arg(program);
        Self::of(idempost, command)
    }

    fn of(idempost: Idempost, mut command: std::process::Command) -> Self {
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let mut pty = spawn_command(command, Some(60_000)).unwrap();
        let (_, page) = pty.exp_regex(r"http://[^\s]+/oauth/authorize\?[^\s]+").unwrap();
        pty.exp_string("or paste the URL").unwrap();
        pty.exp_string("Enter.").unwrap();
        Self { pty, page: Url::parse(&page).unwrap(), idempost }
    }

    fn parameter(&self, name: &str) -> String {
        self.page.query_pairs().find(|(known, _)| known == name).unwrap().1.into_owned()
    }

    /// The redirect URL after the user allows access.
    fn allowed(&self) -> String {
        runtime().block_on(Person::of("sb_test").allows(self.page.as_str()))
    }

    fn code(&self) -> i32 {
        match self.pty.process().wait().unwrap() {
            WaitStatus::Exited(_, code) => code,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_redirect_url_can_be_pasted() {
    // C-10, C-16
    let service = service();
    let mut session = Session::by_a_shell(&service);
    let back = session.allowed();
    // Nothing received the redirect: the browser is on another machine.
    let (here, state) = (session.parameter("redirect_uri"), session.parameter("state"));
    let code =
        Url::parse(&back).unwrap().query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
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
    let before = session.pty.exp_string("logged in as profile `default`").unwrap();
    assert!(!before.contains(&code), "the code is visible: {before:?}");
    assert_eq!(session.code(), 0);
    session.idempost.run(&SEND).ok();
}

#[test]
fn a_denial_can_be_pasted_and_the_echo_is_restored() {
    let service = service();
    let mut session = Session::by_a_shell(&service);
    let back = runtime().block_on(Person::of("sb_test").denies(session.page.as_str()));
    session.pty.send_line(&back).unwrap();
    session.pty.exp_string("access was denied").unwrap();
    session.pty.exp_string(" echo ").unwrap();
    assert_eq!(session.code(), 4);
}

#[test]
fn a_redirect_is_received_while_waiting_for_a_paste() {
    let service = service();
    let mut session = Session::begin(&service);
    visit(&session.allowed());
    session.pty.exp_string("logged in as profile `default`").unwrap();
    assert_eq!(session.code(), 0);
}

#[test]
fn a_terminal_shows_the_remaining_time() {
    let service = service();
    let mut session = Session::with(&service, &["--login-timeout", "10s"]);
    let left = |session: &mut Session| -> u32 {
        let (_, shown) = session.pty.exp_regex("0:[0-9][0-9] left").unwrap();
        shown[2..4].parse().unwrap()
    };
    let first = left(&mut session);
    assert!(first <= 10, "{first}");
    session.pty.send_line("hello there").unwrap();
    session.pty.exp_string("paste the complete URL").unwrap();
    while left(&mut session) >= first {}
    session.pty.exp_string("timed out after 10 s").unwrap();
    assert_eq!(session.code(), 4);

    let idempost = without_credentials(&service).env("TERM", "xterm");
    let mut command = idempost.command();
    command.args(["auth", "login", "--no-browser", "-q", "--login-timeout", "2s"]);
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut pty = spawn_command(command, Some(60_000)).unwrap();
    let before = pty.exp_string("timed out after 2 s").unwrap();
    assert!(!before.contains(" left"), "{before}");
}

#[test]
fn ctrl_c_ends_the_prompt_at_once() {
    let service = service();
    let mut session = Session::begin(&service);
    session.pty.send_control('c').unwrap();
    assert_eq!(session.code(), 130);
    session.idempost.run(&["auth", "status"]).fails(4);
}

#[test]
fn without_a_port_the_url_is_pasted() {
    // C-08
    let service = service();
    let v4 = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = v4.local_addr().unwrap().port();
    // On a machine without IPv6 there is no second address to bind.
    let _v6 = std::net::TcpListener::bind(("::1", port));
    let port = port.to_string();
    let stderr =
        without_credentials(&service).run(&["auth", "login", "--no-browser", "--port", &port]).fails(1);
    assert!(stderr.contains("no port could be opened") && stderr.contains("--with-token"), "{stderr}");

    let mut session = Session::with(&service, &["--port", &port]);
    assert_eq!(session.parameter("redirect_uri"), "http://127.0.0.1/callback");
    let back = session.allowed();
    session.pty.send_line(&back).unwrap();
    session.pty.exp_string("logged in as profile `default`").unwrap();
    assert_eq!(session.code(), 0);
}

#[test]
fn without_a_keyring_the_file_store_needs_confirmation() {
    // C-15
    let service = service();
    for (answer, code) in [("n", 130), ("y", 0)] {
        let idempost = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url()).env("TERM", "xterm");
        let mut command = idempost.command();
        command.args(["auth", "login", "--no-browser"]);
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let mut pty = spawn_command(command, Some(60_000)).unwrap();
        pty.exp_string("file that only you can read? [y/N] ").unwrap();
        pty.send_line(answer).unwrap();
        if code == 0 {
            let (_, page) = pty.exp_regex(r"http://[^\s]+/oauth/authorize\?[^\s]+").unwrap();
            visit(&runtime().block_on(Person::of("sb_test").allows(&page)));
            pty.exp_string("only you can read").unwrap();
        }
        assert!(matches!(pty.process().wait().unwrap(), WaitStatus::Exited(_, ended) if ended == code));
        assert_eq!(idempost.run(&["auth", "status"]).code, Some(if code == 0 { 0 } else { 4 }));
    }
}
