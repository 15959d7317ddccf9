//! The recipient guard: where it can be set, that nothing widens it, and that every way of sending respects it.

use std::path::Path;

use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::json;

use crate::mcp::Application;
use crate::support::{Idempost, Ran};

/// A service, and the program with a key for it.
async fn stage() -> (ReferenceServer, Idempost) {
    let server = idempost_sandbox::start(Settings::default()).await;
    let idempost =
        Idempost::new().env("IDEMPOST_BASE_URL", server.base_url()).env("IDEMPOST_API_KEY", server.api_key());
    (server, idempost)
}

/// All addresses that received an email, oldest first.
fn reached(server: &ReferenceServer) -> Vec<String> {
    let mails = server.service().mails("sb_test");
    mails.iter().rev().flat_map(|mail| mail.recipients().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Gives the program a guard.
type SetGuard = fn(Idempost) -> Idempost;

const EMAIL: [&str; 8] =
    ["emails", "send", "--from", "hi@acme.test", "--subject", "Hello", "--text", "It works"];

fn send(idempost: &Idempost, more: &[&str]) -> Ran {
    idempost.run(&(EMAIL, more))
}

/// Writes an input with these recipients.
fn rows(folder: &Path, recipients: &[&str]) -> String {
    let file = folder.join("people.csv");
    std::fs::write(&file, format!("to\n{}\n", recipients.join("\n"))).unwrap();
    file.to_str().unwrap().to_owned()
}

fn bulk(idempost: &Idempost, file: &str, more: &[&str]) -> Ran {
    let message =
        ["bulk", "send", file, "--from", "hi@acme.test", "--subject", "Hello", "--text", "It works", "--yes"];
    idempost.run(&(&message, more))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_source_of_the_guard_applies_to_every_way_of_sending() {
    // G-13
    let guards: [(&str, SetGuard, &[&str]); 4] = [
        ("flag", |idempost| idempost, &["--allow-to", "*@acme.test", "--allow-to=qa@example.com"]),
        ("environment", |idempost| idempost.env("IDEMPOST_ALLOW_TO", "*@acme.test, qa@example.com"), &[]),
        (
            "profile",
            |idempost| {
                idempost.config("[profiles.default]\nallow_to = [\"*@acme.test\", \"qa@example.com\"]\n")
            },
            &[],
        ),
        (
            "defaults",
            |idempost| idempost.config("[defaults]\nallow_to = \"*@acme.test,qa@example.com\"\n"),
            &[],
        ),
    ];
    for (name, set, flags) in guards {
        let (server, idempost) = stage().await;
        let idempost = set(idempost);
        let run = |arguments: &[&str]| idempost.run(&(arguments, flags));
        let error =
            run(&[&EMAIL[..], &["--to", "ada@acme.test", "--to", "eve@evil.test", "--bcc=x@evil.test"]]
                .concat())
            .fails(2);
        for shown in ["/to/1", "eve@evil.test", "/bcc/0", "x@evil.test", "*@acme.test"] {
            assert!(error.contains(shown), "{name}: {shown}\n{error}");
        }
        let batch =
            json!([{"from": "hi@acme.test", "to": "eve@evil.test", "subject": "s", "text": "t"}]).to_string();
        let one = r#"{"from": "hi@acme.test", "to": "ada@acme.test", "cc": "eve@evil.test", "subject": "s", "text": "t"}"#;
        for (arguments, input) in [
            (&["emails", "batch", "-"][..], batch.as_str()),
            (&["emails", "send", "--input", "-", "--no-validate"], one),
            (&["api", "POST", "/emails", "--input", "-"], one),
            (&["api", "POST", "/emails/sending", "--input", "-"], one),
            (&["api", "POST", "/email/", "--input", "-", "--dry-run"], one),
        ] {
            let ran = idempost.run_with(&(arguments, flags), input);
            assert_eq!(ran.code, Some(2), "{name} {arguments:?}: {ran:?}");
            assert!(ran.stderr.contains("eve@evil.test"), "{name} {arguments:?}: {ran:?}");
        }
        let file = rows(idempost.home(), &["ada@acme.test", "Eve <eve@evil.test>", "qa@example.com"]);
        let refused = bulk(&idempost, &file, flags);
        assert_eq!(refused.code, Some(2), "{name}: {refused:?}");
        assert!(
            refused.stderr.contains("eve@evil.test") && refused.stderr.contains("row 2"),
            "{name}: {refused:?}"
        );
        let mut application = Application::session(
            &idempost,
            &[&["--allow=send", "--confirm=never"], flags].concat(),
            &json!({}),
        );
        let mut email = json!({"from": "hi@acme.test", "to": ["eve@evil.test"], "subject": "s", "text": "t"});
        assert_eq!(application.call("emails_send", &email)["isError"], true);
        assert_eq!(reached(&server), Vec::<String>::new(), "{name}");

        email["to"] = json!(["ada@acme.test"]);
        assert_eq!(application.call("emails_send", &email)["isError"], false);
        email["allow_to"] = json!(["*@evil.test"]);
        assert_eq!(application.call("emails_send", &email)["isError"], true, "no tool has such an argument");
        application.finish();
        run(&[&EMAIL[..], &["--to", "QA <qa@example.com>"]].concat()).ok();
        bulk(&idempost, &file, &[flags, &["--skip-invalid"]].concat());
        assert_eq!(
            reached(&server),
            ["ada@acme.test", "qa@example.com", "ada@acme.test", "qa@example.com"],
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_recipient_is_named_by_its_flag_beside_other_problems() {
    let (server, idempost) = stage().await;
    let flags = ["--to=ada@@acme.test", "--cc=ada@acme.test", "--cc=eve@evil.test", "--allow-to=*@acme.test"];
    let error = send(&idempost, &[&flags[..], &["--json"]].concat()).error(2);
    let problems = error["problems"].as_array().unwrap();
    let named: Vec<_> = problems.iter().map(|problem| (&problem["path"], &problem["source"])).collect();
    assert_eq!(named.len(), 2, "{error}");
    let shown = send(&idempost, &flags).fails_with(2, &["--> --to:1:5", "--cc (2nd)"]);
    assert!(shown.contains("eve@evil.test") && shown.contains("*@acme.test"), "{shown}");
    assert_eq!(reached(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_source_of_the_guard_is_listed() {
    let (_server, idempost) = stage().await;
    let idempost = idempost
        .config("[defaults]\nallow_to = \"*@acme.test\"\n[profiles.default]\nallow_to = [\"ada@acme.test\", \"bob@acme.test\"]\n")
        .env("IDEMPOST_ALLOW_TO", "ada@acme.test");
    let flag = ["--allow-to", "ada@acme.test"];
    let listed = idempost.run(&("config list --json", &flag)).json();
    let settings = listed["settings"].as_array().unwrap().iter().filter(|row| row["name"] == "allow_to");
    let sources: Vec<_> = settings.map(|row| row["source"].as_str().unwrap()).collect();
    let [by_flag, by_variable, profile, defaults] = sources[..] else { panic!("{listed}") };
    assert_eq!((by_flag, by_variable), ("--allow-to", "IDEMPOST_ALLOW_TO"));
    assert!(profile.ends_with("config.toml:4") && defaults.ends_with("config.toml:2"), "{sources:?}");
    let values = idempost.run(&["config", "get", "allow_to"]).ok();
    assert_eq!(values, "ada@acme.test\nada@acme.test,bob@acme.test\n*@acme.test\n");
    assert!(idempost.run(&["config", "list"]).ok().contains("redirect_to\t\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_flag_widens_a_guard_of_the_file_or_the_environment() {
    // G-13
    let (server, idempost) = stage().await;
    let idempost = idempost
        .config("[defaults]\nallow_to = \"*@acme.test\"\n[profiles.other]\nallow_to = \"*@evil.test\"\n")
        .env("IDEMPOST_ALLOW_TO", "ada@acme.test,bob@acme.test,eve@evil.test");
    for (to, flags) in [
        ("eve@evil.test", &["--allow-to", "*@evil.test"][..]),
        ("eve@evil.test", &["--profile", "other", "--allow-to", "*@evil.test"]),
        ("dan@acme.test", &["--allow-to", "*@acme.test"]),
        ("bob@acme.test", &["--allow-to", "ada@acme.test"]),
        ("ada@acme.test", &["--redirect-to", "eve@evil.test"]),
    ] {
        send(&idempost, &[&["--to", to], flags].concat()).fails(2);
    }
    assert_eq!(reached(&server), Vec::<String>::new());
    send(&idempost, &["--to", "ada@acme.test", "--allow-to", "ada@acme.test"]).ok();
    send(&idempost, &["--to", "x@example.com", "--redirect-to", "bob@acme.test"]).ok();
    assert_eq!(reached(&server), ["ada@acme.test", "bob@acme.test"]);
    let idempost = idempost.env("IDEMPOST_REDIRECT_TO", "ada@acme.test");
    let error = send(&idempost, &["--to", "bob@acme.test", "--redirect-to", "bob@acme.test"]).fails(2);
    assert!(error.contains("redirect_to must be an address that the guard already redirects to"), "{error}");
    for address in ["qa", "*@acme.test"] {
        let error = send(&idempost, &["--to", "bob@acme.test", "--redirect-to", address]).fails(2);
        assert!(error.contains("redirect_to must be an address such as qa@example.com; nothing"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelled_guard_is_an_error_and_not_a_warning() {
    let (server, idempost) = stage().await;
    for text in [
        "[defaults]\nallow-to = \"*@acme.test\"\n",
        "allow_to = \"*@acme.test\"\n",
        "[defaults]\nRedirectTo = \"a@acme.test\"\n",
    ] {
        let idempost = Idempost::new()
            .env("IDEMPOST_BASE_URL", server.base_url())
            .env("IDEMPOST_API_KEY", "sb_test")
            .config(text);
        send(&idempost, &["--to", "eve@evil.test"]).fails_with(2, &["unknown setting"]);
    }
    for pattern in ["acme.test", "", "*@acme.test,", "@acme.test"] {
        send(&idempost, &["--to", "ada@acme.test", &format!("--allow-to={pattern}")]).fails(2);
    }
    assert_eq!(reached(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirected_job_stays_redirected_without_the_flag() {
    // G-13
    let (server, idempost) = stage().await;
    let file = rows(idempost.home(), &["ada@example.com", "bob@example.com"]);
    let plan =
        "bulk plan --from hi@acme.test --subject Hello --text 'It works' --redirect-to qa@acme.test --json";
    let planned = idempost.run(&(&plan, &[&file])).json();
    let id =
        planned["id"].as_str().or_else(|| planned["job"].as_str()).unwrap_or_else(|| panic!("{planned}"));
    idempost.run(&["bulk", "resume", id, "--yes"]).ok();
    assert_eq!(reached(&server), ["qa@acme.test", "qa@acme.test"]);
    let mails = server.service().mails("sb_test");
    assert!(mails.iter().any(|mail| mail.subject == "[bob@example.com] Hello"));
    // A job that was planned without a guard respects the guard of the command that runs it.
    let open = bulk(&idempost, &file, &["--allow-to", "*@acme.test", "--skip-invalid"]);
    assert!(!open.stderr.contains("panicked"), "{open:?}");
    assert_eq!(reached(&server).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn captured_mail_is_released_to_allowed_recipients_only() {
    // G-13
    let (server, idempost) = stage().await;
    send(&idempost, &["--to", "ada@acme.test"]).ok();
    let id = server.service().mails("sb_test")[0].id.clone();
    let error = idempost
        .run(&["sandbox", "inbox", "release", &id, "--to", "eve@evil.test", "--allow-to", "*@acme.test"])
        .fails(2);
    assert!(error.contains("eve@evil.test") && error.contains("recipient guard"), "{error}");
    // The other commands of a sandbox send nothing.
    idempost.run(&["sandbox", "inbox", "list", "--allow-to", "*@acme.test"]).ok();
    idempost.run(&["sandbox", "clock", "advance", "1h", "--allow-to", "*@acme.test"]);
}
