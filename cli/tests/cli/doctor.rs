//! `doctor`: its checks and hints.

use idempost_conformance::peer::Act;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::service::{ScriptedPeer, Service};
use crate::support::{Idempost, SEND, UNUSED, set_mode, shows};

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn with_its_own_sandbox_every_check_passes() {
    // B-28
    let report = Idempost::new().run(&["--sandbox", "doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    assert!(!checks.is_empty() && checks.iter().all(|check| check["state"] == "ok"), "{report}");
    assert_eq!(check(&report, "clock")["state"], "ok");
}

#[test]
fn it_distinguishes_a_rejected_key_from_a_sending_key() {
    let sandbox = Sandbox::start("");
    let report = |key: &str, code: i32| {
        Idempost::at(&sandbox.base_url, key).run("doctor --json").exits(code).document()
    };
    assert_eq!(check(&report("someone-elses", 1), "service")["state"], "error");
    let sends = report("sb_mine_sending", 0);
    shows(check(&sends, "service")["message"].as_str().unwrap(), &["may only send"]);
}

#[test]
fn an_unreachable_service_is_reported_and_offline_sends_nothing() {
    let idempost = Idempost::at(format!("http://{UNUSED}"), "sb_hidden_key");
    idempost.run("doctor").exits(1).prints(&["check the base URL"]).hides(&["hidden_key"]);
    idempost.run("doctor --offline").ok();
}

#[test]
fn suggested_commands_select_the_account_of_the_check() {
    let idempost = Idempost::new().config("[profiles.work]\nbase_url = \"http://localhost\"\n");
    let command = "idempost --profile work auth login";
    idempost.run("--profile work doctor --offline").exits(1).prints(&[command]);
    let report = idempost.run("--profile work doctor --offline --json").exits(1).document();
    shows(check(&report, "credential")["hint"].as_str().unwrap(), &[command]);
}

#[test]
fn unknown_settings_are_reported_once() {
    let idempost = Idempost::new().config("[defaults]\ntimeoutt = \"5s\"\n");
    let ran = idempost.run("doctor --offline").exits(1);
    let ran = ran.prints(&["config.toml:2: unknown setting `timeoutt`", "did you mean `timeout`?"]);
    assert!(!ran.stderr.contains("timeoutt"), "{ran:?}");
}

#[test]
fn a_proxy_is_named_without_its_password() {
    // B-25
    let idempost = Idempost::new().env("HTTPS_PROXY", "http://me:hunter2@proxy.test:3128");
    idempost.run("doctor --offline").prints(&["HTTPS_PROXY set"]).hides(&["hunter2"]);
}

/// A proxy that connects to a peer whose TLS fails; returns its address and the first request.
fn connecting_proxy() -> (String, std::thread::JoinHandle<String>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut part = [0; 4096];
        let read = stream.read(&mut part).unwrap();
        let request = String::from_utf8_lossy(&part[..read]).into_owned();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        assert!(stream.read(&mut part).unwrap() > 0);
        // The alert `handshake_failure`.
        stream.write_all(&[0x15, 3, 3, 0, 2, 2, 40]).unwrap();
        request
    });
    (address, serving)
}

#[test]
fn the_proxy_of_each_address_is_named_and_tried() {
    // B-25
    let denies = ScriptedPeer::new([Act::answer(403, &[], "")]);
    let denies_at = denies.base_url().replace("http://", "");
    let (connects, seen) = connecting_proxy();
    for (address, works) in [(UNUSED, false), (&denies_at, false), (&connects, true)] {
        let idempost = Idempost::at("https://api.service.invalid", "re_sentinel")
            .env("IDEMPOST_SANDBOX_URL", "https://mail.service.invalid")
            .env("NO_PROXY", "mail.service.invalid")
            .env("HTTPS_PROXY", format!("http://me:sentinel@{address}"));
        let report = idempost.run("doctor --json").hides(&["sentinel"]).document();
        let proxies: Vec<_> =
            report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "proxy").collect();
        let [service, sandbox] = proxies[..] else { panic!("{report}") };
        let message = service["message"].as_str().unwrap();
        let named = format!("api.service.invalid is reached through http://***@{address} (HTTPS_PROXY)");
        assert!(message.starts_with(&named), "{message}");
        assert_eq!((service["state"] == "ok", message.ends_with("; connected")), (works, works), "{service}");
        assert_eq!(sandbox["message"], "connecting to mail.service.invalid directly");
    }
    let seen = seen.join().unwrap();
    assert!(seen.contains("CONNECT api.service.invalid:443 ") && !seen.contains("sentinel"), "{seen}");
}

#[test]
fn a_file_writable_by_others_is_a_warning() {
    let idempost = Idempost::new().config("[defaults]\nretries = 1\n");
    set_mode(idempost.config_file(), 0o666);
    idempost.run(&["doctor", "--offline"]).prints(&["mode 666", "chmod go-w"]);
}

#[test]
fn it_checks_the_stored_credentials_of_the_profile() {
    let stored = || {
        let idempost = Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9");
        idempost.run_with("auth login --with-token --store file", "sb_kept\n").ok();
        idempost
    };
    let report = |idempost: &Idempost| idempost.run("doctor --offline --json").hides(&["sb_kept"]).document();
    let idempost = stored();
    let well = report(&idempost);
    for name in ["credential", "store", "lock"] {
        assert_eq!(check(&well, name)["state"], "ok", "{well}");
    }
    let elsewhere = report(&idempost.env("IDEMPOST_BASE_URL", "http://127.0.0.1:10"));
    assert_eq!(check(&elsewhere, "origin")["state"], "error", "{elsewhere}");

    let idempost = stored();
    let status = idempost.run("auth status --json").json();
    let file = status["path"].as_str().unwrap();
    set_mode(file, 0o644);
    let open = report(&idempost);
    let reports = |check: &Value| check["state"] == "error" && check["message"].to_string().contains(file);
    assert!(open["checks"].as_array().unwrap().iter().any(reports), "{open}");
}

#[test]
fn every_invalid_setting_is_reported_with_its_source() {
    let idempost =
        Idempost::new().env("IDEMPOST_TIMEOUT", "2 parsecs").config("[defaults]\nretries = \"many\"\n");
    let report = idempost.run("doctor --offline --json --color pink").exits(1).document();
    for (name, place) in [
        ("environment", "IDEMPOST_TIMEOUT: timeout must be"),
        ("config", "config.toml:2: retries must be"),
        ("command line", "--color: color must be"),
    ] {
        let check = check(&report, name);
        assert_eq!(check["state"], "error");
        shows(check["message"].as_str().unwrap(), &[place]);
    }
}

#[test]
fn a_clock_that_differs_from_the_service_s_is_a_warning() {
    // B-28
    let service = Service::start();
    for (hours, side) in [(-2, "ahead of"), (2, "behind")] {
        let date = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(hours);
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let list = r#"{"object":"list","data":[],"has_more":false}"#;
        for answer in [Action::http_response(200, list), Action::error(403, "restricted_api_key", "no")] {
            service.faults().clear();
            service.faults().add(Rule::new(answer.header("date", &date)).always());
            let report = service.run("doctor --json").document();
            let clock = check(&report, "clock");
            let message = clock["message"].as_str().unwrap();
            assert!(clock["state"] == "warning" && message.contains(side), "{clock}");
            let seconds: i64 = message.split(' ').find_map(|word| word.parse().ok()).unwrap();
            assert!((7_140..=7_260).contains(&seconds), "{message}");
        }
    }
    // Nothing else changes: a send succeeds.
    service.faults().clear();
    service.run(&SEND).ok();
}
