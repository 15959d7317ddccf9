//! Sandboxes that other machines can reach, and the variables that point programs to a sandbox.

use idempost_conformance::peer::Act;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::service::ScriptedPeer;
use crate::support::Idempost;

#[test]
fn beyond_loopback_the_sandbox_requires_a_password_or_insecure() {
    let idempost = Idempost::new();
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let ran = idempost.run(&["sandbox", "serve", "--port", "0", "--host", host]);
        ran.fails_with(2, &["--host", "--auth", "--insecure"]);
    }
    for password in ["short", "two words here", "ümlaut-password"] {
        let ran = idempost.run(&["sandbox", "serve", "--port", "0", "--auth", password]).exits(2);
        ran.says(&["--auth"]).hides(&[password]);
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
    let refused = sandbox.run(send).says(&["invalid"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    let client = || sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse");
    client().run(send).ok();
    client().run(&["sandbox", "inbox", "latest"]).ok_with(&["Subject:  Hi"]);
    let named = || sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse_worker");
    named().run(&["sandbox", "inbox", "list"]).ok();
    let clock = named().run("sandbox clock advance 1h --all-accounts").says(&["affects all accounts"]);
    assert_ne!(clock.code, Some(0), "{clock:?}");
    let restricted = sandbox.client().env("IDEMPOST_API_KEY", "sb_correct-horse_sending");
    for command in ["inbox latest", "inbox wait --timeout 1s", "export mails", "reset --yes"] {
        let refused = restricted.run(&("sandbox", command)).says(&["may only send"]);
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{refused:?}");
    }
    let locked_out = sandbox.run("sandbox inbox latest");
    assert!(locked_out.code != Some(0) && locked_out.stdout.is_empty(), "{locked_out:?}");
    sandbox.client().run(&["sandbox", "wait", "--timeout", "60s"]).ok();
}

#[test]
fn env_prints_and_writes_the_variables_and_never_a_live_key() {
    let idempost = Idempost::at("http://127.0.0.1:4999", "re_live_secret");
    let shown = idempost.run(&["sandbox", "env"]).ok();
    let expected = [
        "export IDEMPOST_BASE_URL=http://127.0.0.1:4999",
        "export IDEMPOST_API_KEY=sb_local",
        "export RESEND_BASE_URL=http://127.0.0.1:4999/",
        "export RESEND_API_URL=http://127.0.0.1:4999",
        "export RESEND_API_KEY=sb_local",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    let variables = idempost.run("sandbox env --no-vendor-env --smtp-port 2525 -o json").json();
    let expected = json!({"IDEMPOST_BASE_URL": "http://127.0.0.1:4999", "IDEMPOST_API_KEY": "sb_local",
        "SMTP_HOST": "127.0.0.1", "SMTP_PORT": "2525"});
    assert_eq!(variables, expected);
    let powershell = idempost.run("sandbox env --no-vendor-env --shell powershell").ok();
    let expected = ["$env:IDEMPOST_BASE_URL = 'http://127.0.0.1:4999'", "$env:IDEMPOST_API_KEY = 'sb_local'"];
    assert_eq!(powershell.lines().collect::<Vec<_>>(), expected);

    let file = idempost.write(".env.local", "NAME=ü\nRESEND_API_KEY=re_live_secret\n");
    for _ in 0..2 {
        idempost.run(&["sandbox", "env", "--write", &file]).ok();
    }
    let written = idempost.read(".env.local");
    assert!(written.starts_with("NAME=ü\nRESEND_API_KEY=sb_local\n"), "{written}");
    assert_eq!((written.lines().count(), written.contains("live")), (6, false), "{written}");

    let stored = Idempost::new();
    for (key, shown) in [("sb_team", "sb_team"), ("re_live_secret", "sb_local")] {
        stored.store_key("default", "http://127.0.0.1:4999", key);
        stored.run("sandbox env").ok_with(&[&format!("IDEMPOST_API_KEY={shown}\n")]);
    }

    std::fs::write(&file, [0xff]).unwrap();
    idempost.run(&["sandbox", "env", "--write", &file]).exits(1).says(&[".env.local"]);
    assert_eq!(std::fs::read(&file).unwrap(), [0xff], "the file is unchanged");
}

#[test]
fn commands_reach_a_named_sandbox_with_its_password_and_never_with_another_credential() {
    let sandbox = Sandbox::start(&["--auth", "correct-horse"]);
    let remote =
        |key| Idempost::at("https://api.example.com", key).env("IDEMPOST_SANDBOX_URL", &sandbox.base_url);
    let with_password = |key| remote(key).env("IDEMPOST_SANDBOX_AUTH", "correct-horse");
    let (live, second) = ("re_live_secret", "sb_correct-horse_second");
    for (key, known) in [(live, "sb_correct-horse"), (second, second)] {
        let client = with_password(key);
        for command in [
            "wait --timeout 60s",
            "receive --from eve@example.com --to hi@acme.test --subject Hi --text x",
            "fail --times 1",
            "clock advance 1h",
            "inbox list",
        ] {
            client.run(&("sandbox", command)).ok();
        }
        client.run("sandbox env").ok_with(&[&format!("RESEND_API_KEY={known}\n")]);
    }
    remote(live).run("sandbox inbox list").fails_with(4, &["help: set IDEMPOST_SANDBOX_AUTH"]);
    let wrong = remote(live).env("IDEMPOST_SANDBOX_URL", "http://me:secret@mail:4010").run("sandbox reset");
    wrong.exits(2).says(&["IDEMPOST_SANDBOX_URL"]).hides(&["secret"]);
    let sandbox_env = ["sandbox", "run", "--", env!("CARGO_BIN_EXE_idempost"), "sandbox", "env"];
    with_password(live).run(&sandbox_env).prints(&["IDEMPOST_API_KEY=sb_local\n"]);
}

#[test]
fn a_named_sandbox_gets_no_live_key_and_no_access_token() {
    let peer = ScriptedPeer::new([Act::answer(401, &[], "")]);
    for (variable, secret) in
        [("IDEMPOST_API_KEY", "re_live_secret"), ("IDEMPOST_ACCESS_TOKEN", "live_secret")]
    {
        for password in ["", "correct-horse"] {
            let client = Idempost::new().env(variable, secret).env("IDEMPOST_SANDBOX_URL", peer.base_url());
            let client = client.env("IDEMPOST_SANDBOX_AUTH", password);
            assert_ne!(client.run("sandbox inbox list --retries 0").code, Some(0));
        }
    }
    let requests = peer.requests();
    assert_eq!(requests.len(), 4);
    for request in requests {
        let head = request.head;
        assert!(head.contains("Bearer sb_") && !head.contains("live_secret"), "{head}");
    }
}
