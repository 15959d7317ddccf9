//! Sandboxes that other machines can reach, and the variables that point programs to a sandbox.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::Idempost;

#[test]
fn beyond_loopback_the_sandbox_requires_a_password_or_insecure() {
    let idempost = Idempost::new();
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let ran = idempost.run(&["sandbox", "serve", "--port", "0", "--host", host]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains("--host")
                && ran.stderr.contains("--auth")
                && ran.stderr.contains("--insecure"),
            "{ran:?}"
        );
    }
    for password in ["short", "two words here", "ümlaut-password"] {
        let ran = idempost.run(&["sandbox", "serve", "--port", "0", "--auth", password]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--auth") && !ran.stderr.contains(password), "{ran:?}");
    }
    let sandbox = Sandbox::start(&["--host", "0.0.0.0", "--insecure"]);
    assert!(sandbox.base_url.starts_with("http://127.0.0.1:"), "{}", sandbox.base_url);
    sandbox.client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
}

#[test]
fn a_sandbox_with_a_password_accepts_only_keys_that_contain_it() {
    let sandbox = Sandbox::start(&["--auth", "correct-horse"]);
    let export = sandbox.lines.last().unwrap();
    assert!(export.ends_with("IDEMPOST_API_KEY=sb_correct-horse"), "{export}");
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hi --text Hi";
    let refused = sandbox.client().run(&send);
    assert!(refused.code != Some(0) && refused.stderr.contains("invalid"), "{refused:?}");
    let client = || sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse");
    client().run(&send).ok();
    assert!(client().run(&["sandbox", "inbox", "latest"]).ok().contains("Subject:  Hi"));
    let named = || sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse_worker");
    named().run(&["sandbox", "inbox", "list"]).ok();
    let clock = named().run(&["sandbox", "clock", "advance", "1h", "--all-accounts"]);
    assert!(clock.code != Some(0) && clock.stderr.contains("affects all accounts"), "{clock:?}");
    for arguments in [
        &["inbox", "latest"][..],
        &["inbox", "wait", "--timeout", "1s"],
        &["export", "mails"],
        &["reset", "--yes"],
    ] {
        let restricted = sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse_sending");
        let restricted = restricted.run(&("sandbox", arguments));
        assert!(restricted.code != Some(0) && restricted.stdout.is_empty(), "{restricted:?}");
        assert!(restricted.stderr.contains("may only send"), "{restricted:?}");
    }
    let locked_out = sandbox.client().run(&["sandbox", "inbox", "latest"]);
    assert!(locked_out.code != Some(0) && locked_out.stdout.is_empty(), "{locked_out:?}");
    sandbox.client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
}

#[test]
fn env_prints_and_writes_the_variables_and_never_a_live_key() {
    let idempost = Idempost::new()
        .env("IDEMPOST_BASE_URL", "http://127.0.0.1:4999")
        .env("IDEMPOST_API_KEY", "re_live_secret");
    let shown = idempost.run(&["sandbox", "env"]).ok();
    assert_eq!(
        shown.lines().collect::<Vec<_>>(),
        [
            "export IDEMPOST_BASE_URL=http://127.0.0.1:4999",
            "export IDEMPOST_API_KEY=sb_local",
            "export RESEND_BASE_URL=http://127.0.0.1:4999/",
            "export RESEND_API_URL=http://127.0.0.1:4999",
            "export RESEND_API_KEY=sb_local",
        ]
    );
    let json = idempost.run(&["sandbox", "env", "--no-vendor-env", "--smtp-port", "2525", "-o", "json"]).ok();
    let expected = json!({"IDEMPOST_BASE_URL": "http://127.0.0.1:4999", "IDEMPOST_API_KEY": "sb_local",
        "SMTP_HOST": "127.0.0.1", "SMTP_PORT": "2525"});
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
    let powershell = idempost.run(&["sandbox", "env", "--no-vendor-env", "--shell", "powershell"]).ok();
    let expected = ["$env:IDEMPOST_BASE_URL = 'http://127.0.0.1:4999'", "$env:IDEMPOST_API_KEY = 'sb_local'"];
    assert_eq!(powershell.lines().collect::<Vec<_>>(), expected);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".env.local");
    std::fs::write(&file, "NAME=ü\nRESEND_API_KEY=re_live_secret\n").unwrap();
    for _ in 0..2 {
        idempost.run(&["sandbox", "env", "--write", file.to_str().unwrap()]).ok();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("NAME=ü\nRESEND_API_KEY=sb_local\n"), "{written}");
    assert_eq!((written.lines().count(), written.contains("live")), (6, false), "{written}");

    std::fs::write(&file, [0xff]).unwrap();
    let ran = idempost.run(&["sandbox", "env", "--write", file.to_str().unwrap()]);
    assert!(ran.code == Some(1) && ran.stderr.contains(".env.local"), "{ran:?}");
    assert_eq!(std::fs::read(&file).unwrap(), [0xff], "the file is unchanged");
}

#[test]
fn commands_reach_a_named_sandbox_with_its_password_and_never_with_another_credential() {
    let sandbox = Sandbox::start(&["--auth", "correct-horse"]);
    let remote = || {
        Idempost::new()
            .env("IDEMPOST_BASE_URL", "https://api.example.com")
            .env("IDEMPOST_SANDBOX_URL", &sandbox.base_url)
    };
    let with_password = || remote().env("IDEMPOST_SANDBOX_AUTH", "correct-horse");
    let mail = ["--from", "eve@example.com", "--to", "hi@acme.test", "--subject", "Hi", "--text", "x"];
    for (key, account) in [("re_live_secret", "first"), ("sb_correct-horse_second", "second")] {
        let client = || with_password().env("IDEMPOST_API_KEY", key);
        client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
        client().run(&("sandbox receive", &mail)).ok();
        client().run(&["sandbox", "fail", "--times", "1"]).ok();
        client().run(&["sandbox", "clock", "advance", "1h"]).ok();
        client().run(&["sandbox", "inbox", "list"]).ok();
        let variables = client().run(&["sandbox", "env"]).ok();
        let known = if account == "first" { "sb_correct-horse" } else { key };
        assert!(variables.contains(&format!("RESEND_API_KEY={known}\n")), "{variables}");
    }
    let locked_out = remote().env("IDEMPOST_API_KEY", "re_live_secret").run(&["sandbox", "inbox", "list"]);
    assert!(locked_out.code == Some(4) && locked_out.stdout.is_empty(), "{locked_out:?}");
    assert!(locked_out.stderr.contains("help: set IDEMPOST_SANDBOX_AUTH"), "{locked_out:?}");
    let wrong = remote().env("IDEMPOST_SANDBOX_URL", "http://me:secret@mail:4010").run(&["sandbox", "reset"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("IDEMPOST_SANDBOX_URL"), "{wrong:?}");
    assert!(!wrong.stderr.contains("secret"), "{wrong:?}");
    let run =
        with_password().run(&["sandbox", "run", "--", env!("CARGO_BIN_EXE_idempost"), "sandbox", "env"]);
    assert!(run.stdout.contains("IDEMPOST_API_KEY=sb_local\n"), "{run:?}");
}

#[test]
fn a_named_sandbox_gets_no_live_key_and_no_access_token() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = std::thread::spawn(move || {
        let mut heads = Vec::new();
        for stream in listener.incoming().take(4) {
            let mut stream = stream.unwrap();
            let mut head = String::new();
            let mut lines = BufReader::new(&stream);
            while lines.read_line(&mut head).unwrap() > 2 {}
            heads.push(head);
            let answer = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
        }
        heads
    });
    for (variable, secret) in
        [("IDEMPOST_API_KEY", "re_live_secret"), ("IDEMPOST_ACCESS_TOKEN", "live_secret")]
    {
        for password in ["", "correct-horse"] {
            let client = Idempost::new()
                .env(variable, secret)
                .env("IDEMPOST_SANDBOX_URL", &url)
                .env("IDEMPOST_SANDBOX_AUTH", password);
            assert_ne!(client.run(&["sandbox", "inbox", "list", "--retries", "0"]).code, Some(0));
        }
    }
    for head in heads.join().unwrap() {
        assert!(head.contains("Bearer sb_") && !head.contains("live_secret"), "{head}");
    }
}
