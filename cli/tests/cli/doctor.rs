//! `doctor`: its checks and hints.

use idempost_reference_server::faults::{Action, Rule};
use serde_json::Value;

use crate::outcomes::proxy;
use crate::sandbox::Sandbox;
use crate::service::Service;
use crate::support::{Idempost, SEND};

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn without_settings_it_names_what_to_set() {
    let ran = Idempost::new().run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for named in ["idempost config set base_url", "IDEMPOST_API_KEY"] {
        assert!(ran.stdout.contains(named), "{ran:?}");
    }
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
    let sandbox = Sandbox::start(&[]);
    let report = |key: &str| {
        let idempost =
            Idempost::new().env("IDEMPOST_BASE_URL", &sandbox.base_url).env("IDEMPOST_API_KEY", key);
        let ran = idempost.run(&["doctor", "--json"]);
        (ran.code, serde_json::from_str::<Value>(&ran.stdout).unwrap())
    };
    let (code, refused) = report("someone-elses");
    assert_eq!((code, &check(&refused, "service")["state"]), (Some(1), &Value::from("error")), "{refused}");
    let (code, sends) = report("sb_mine_sending");
    assert_eq!(code, Some(0), "{sends}");
    assert!(check(&sends, "service")["message"].as_str().unwrap().contains("may only send"));
}

#[test]
fn an_unreachable_service_is_reported_and_offline_sends_nothing() {
    // Nothing listens on port 9 of this machine.
    let idempost = Idempost::new()
        .env("IDEMPOST_BASE_URL", "http://127.0.0.1:9")
        .env("IDEMPOST_API_KEY", "sb_hidden_key");
    let ran = idempost.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("check the base URL"), "{ran:?}");
    assert!(!(ran.stdout + ran.stderr.as_str()).contains("hidden_key"));
    idempost.run(&["doctor", "--offline"]).ok();
}

#[test]
fn a_proxy_is_named_without_its_password() {
    // B-25
    let idempost = Idempost::new().env("HTTPS_PROXY", "http://me:hunter2@proxy.test:3128");
    let ran = idempost.run(&["doctor", "--offline"]);
    assert!(ran.stdout.contains("HTTPS_PROXY set") && !ran.stdout.contains("hunter2"), "{ran:?}");
}

/// A proxy that connects to a peer whose TLS fails; returns its address and the first request.
fn connecting_proxy() -> (std::net::SocketAddr, std::thread::JoinHandle<String>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
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
    // Nothing listens on the bound port.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let refused = closed.local_addr().unwrap();
    let (denies, _) = proxy("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    let (connects, seen) = connecting_proxy();
    for (address, works) in [(refused, false), (denies, false), (connects, true)] {
        let idempost = Idempost::new()
            .env("IDEMPOST_BASE_URL", "https://api.service.invalid")
            .env("IDEMPOST_SANDBOX_URL", "https://mail.service.invalid")
            .env("IDEMPOST_API_KEY", "re_sentinel")
            .env("NO_PROXY", "mail.service.invalid")
            .env("HTTPS_PROXY", format!("http://me:sentinel@{address}"));
        let ran = idempost.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let proxies: Vec<_> =
            report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "proxy").collect();
        let [service, sandbox] = proxies[..] else { panic!("{report}") };
        let message = service["message"].as_str().unwrap();
        let named = format!("api.service.invalid is reached through http://***@{address} (HTTPS_PROXY)");
        assert!(message.starts_with(&named), "{message}");
        assert_eq!((service["state"] == "ok", message.ends_with("; connected")), (works, works), "{service}");
        assert_eq!(sandbox["message"], "connecting to mail.service.invalid directly");
        assert!(!format!("{ran:?}").contains("sentinel"), "{ran:?}");
    }
    let seen = seen.join().unwrap();
    assert!(seen.contains("CONNECT api.service.invalid:443 ") && !seen.contains("sentinel"), "{seen}");
}

#[cfg(unix)]
#[test]
fn a_file_writable_by_others_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let idempost = Idempost::new().config("[defaults]\nretries = 1\n");
    std::fs::set_permissions(idempost.config_file(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let ran = idempost.run(&["doctor", "--offline"]);
    assert!(ran.stdout.contains("mode 666") && ran.stdout.contains("chmod go-w"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn it_checks_the_stored_credentials_of_the_profile() {
    use std::os::unix::fs::PermissionsExt as _;

    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9");
    idempost.run_with(&["auth", "login", "--with-token", "--store", "file"], "sb_kept\n").ok();
    let report = |idempost: &Idempost| {
        let ran = idempost.run(&["doctor", "--offline", "--json"]);
        assert!(!(ran.stdout.clone() + ran.stderr.as_str()).contains("sb_kept"), "{ran:?}");
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let well = report(&idempost);
    for name in ["credential", "store", "lock"] {
        assert_eq!(check(&well, name)["state"], "ok", "{well}");
    }
    let elsewhere = report(&idempost.env("IDEMPOST_BASE_URL", "http://127.0.0.1:10"));
    assert_eq!(check(&elsewhere, "origin")["state"], "error", "{elsewhere}");

    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9");
    idempost.run_with(&["auth", "login", "--with-token", "--store", "file"], "sb_kept\n").ok();
    let status = idempost.run(&["auth", "status", "--json"]).json();
    let file = std::path::PathBuf::from(status["path"].as_str().unwrap());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = report(&idempost);
    let reported = open["checks"].as_array().unwrap().iter().any(|check| {
        check["state"] == "error" && check["message"].to_string().contains(&*file.to_string_lossy())
    });
    assert!(reported, "{open}");
}

#[test]
fn every_invalid_setting_is_reported_with_its_source() {
    let idempost =
        Idempost::new().env("IDEMPOST_TIMEOUT", "2 parsecs").config("[defaults]\nretries = \"many\"\n");
    let ran = idempost.run(&["doctor", "--offline", "--json", "--color", "pink"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    for (name, place) in [
        ("environment", "IDEMPOST_TIMEOUT: timeout must be"),
        ("config", "config.toml:2: retries must be"),
        ("command line", "--color: color must be"),
    ] {
        let check = check(&report, name);
        assert_eq!(check["state"], "error");
        assert!(check["message"].as_str().unwrap().contains(place), "{check}");
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
            service.core().faults().clear();
            service.core().faults().add(Rule::new(answer.header("date", &date)).always());
            let ran = service.idempost().run(&["doctor", "--json"]);
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            let clock = check(&report, "clock");
            let message = clock["message"].as_str().unwrap();
            assert!(clock["state"] == "warning" && message.contains(side), "{clock}");
            let seconds: i64 = message.split(' ').find_map(|word| word.parse().ok()).unwrap();
            assert!((7_140..=7_260).contains(&seconds), "{message}");
        }
    }
    // Nothing else changes: a send succeeds.
    service.core().faults().clear();
    service.idempost().run(&SEND).ok();
}
