//! The recipient guard: where it can be set, that nothing widens it, and that every way of sending respects it.

use serde_json::json;

use crate::mcp::Application;
use crate::service::Service;
use crate::support::{CommandLine, Idempost, Ran};

/// All addresses that received an email, oldest first.
fn reached(service: &Service) -> Vec<String> {
    let mails = service.mails();
    mails.iter().rev().flat_map(|mail| mail.recipients().map(str::to_owned).collect::<Vec<_>>()).collect()
}

const MESSAGE: &str = "--from hi@acme.test --subject Hello --text 'It works'";

fn send(idempost: &Idempost, flags: &(impl CommandLine + ?Sized)) -> Ran {
    idempost.run(&(("emails send", MESSAGE), flags))
}

/// Sends to each row of the file of people.
fn bulk(idempost: &Idempost, flags: &(impl CommandLine + ?Sized)) -> Ran {
    idempost.run(&(("bulk send people.csv --yes", MESSAGE), flags))
}

#[test]
fn every_source_of_the_guard_applies_to_every_way_of_sending() {
    // G-13
    let profile = "[profiles.default]\nallow_to = [\"*@acme.test\", \"qa@example.com\"]\n";
    let defaults = "[defaults]\nallow_to = \"*@acme.test,qa@example.com\"\n";
    for source in ["flag", "environment", "profile", "defaults"] {
        let (service, idempost) = Service::with_program();
        let (idempost, flags) = match source {
            "flag" => (idempost, "--allow-to '*@acme.test' --allow-to=qa@example.com"),
            "environment" => (idempost.env("IDEMPOST_ALLOW_TO", "*@acme.test, qa@example.com"), ""),
            "profile" => (idempost.config(profile), ""),
            _ => (idempost.config(defaults), ""),
        };
        let refused = send(&idempost, &(flags, "--to ada@acme.test --to eve@evil.test --bcc=x@evil.test"));
        refused.fails_with(2, &["/to/1", "eve@evil.test", "/bcc/0", "x@evil.test", "*@acme.test"]);
        let batch =
            json!([{"from": "hi@acme.test", "to": "eve@evil.test", "subject": "s", "text": "t"}]).to_string();
        let one = r#"{"from": "hi@acme.test", "to": "ada@acme.test", "cc": "eve@evil.test", "subject": "s", "text": "t"}"#;
        for (command, input) in [
            ("emails batch -", batch.as_str()),
            ("emails send --input - --no-validate", one),
            ("api POST /emails --input -", one),
            ("api POST /emails/sending --input -", one),
            ("api POST /email/ --input - --dry-run", one),
        ] {
            idempost.run_with(&(command, flags), input).exits(2).says(&["eve@evil.test"]);
        }
        idempost.write("people.csv", "to\nada@acme.test\nEve <eve@evil.test>\nqa@example.com\n");
        bulk(&idempost, flags).exits(2).says(&["eve@evil.test", "row 2"]);
        let options = ("--allow=send --confirm=never", flags);
        let mut application = Application::session(&idempost, &options, &json!({}));
        let mut email = json!({"from": "hi@acme.test", "to": ["eve@evil.test"], "subject": "s", "text": "t"});
        assert_eq!(application.call("emails_send", &email)["isError"], true);
        assert_eq!(reached(&service), [""; 0], "{source}");

        email["to"] = json!(["ada@acme.test"]);
        assert_eq!(application.call("emails_send", &email)["isError"], false);
        email["allow_to"] = json!(["*@evil.test"]);
        assert_eq!(application.call("emails_send", &email)["isError"], true, "no tool has such an argument");
        send(&idempost, &(flags, "--to 'QA <qa@example.com>'")).ok();
        bulk(&idempost, &(flags, "--skip-invalid"));
        let allowed = ["ada@acme.test", "qa@example.com", "ada@acme.test", "qa@example.com"];
        assert_eq!(reached(&service), allowed, "{source}");
    }
}

#[test]
fn a_rejected_recipient_is_named_by_its_flag_beside_other_problems() {
    let (service, idempost) = Service::with_program();
    let flags = "--to=ada@@acme.test --cc=ada@acme.test --cc=eve@evil.test --allow-to=*@acme.test";
    let error = send(&idempost, &(flags, "--json")).error(2);
    assert_eq!(error["problems"].as_array().unwrap().len(), 2, "{error}");
    let shown = ["--> --to:1:5", "--cc (2nd)", "eve@evil.test", "*@acme.test"];
    send(&idempost, flags).fails_with(2, &shown);
    assert_eq!(reached(&service), [""; 0]);
}

#[test]
fn every_source_of_the_guard_is_listed() {
    let (_service, idempost) = Service::with_program();
    let idempost = idempost
        .config("[defaults]\nallow_to = \"*@acme.test\"\n[profiles.default]\nallow_to = [\"ada@acme.test\", \"bob@acme.test\"]\n")
        .env("IDEMPOST_ALLOW_TO", "ada@acme.test");
    let listed = idempost.run("config list --json --allow-to ada@acme.test").json();
    let settings = listed["settings"].as_array().unwrap().iter().filter(|row| row["name"] == "allow_to");
    let sources: Vec<_> = settings.map(|row| row["source"].as_str().unwrap()).collect();
    let [by_flag, by_variable, profile, defaults] = sources[..] else { panic!("{listed}") };
    assert_eq!((by_flag, by_variable), ("--allow-to", "IDEMPOST_ALLOW_TO"));
    assert!(profile.ends_with("config.toml:4") && defaults.ends_with("config.toml:2"), "{sources:?}");
    let values = idempost.run(&["config", "get", "allow_to"]).ok();
    assert_eq!(values, "ada@acme.test\nada@acme.test,bob@acme.test\n*@acme.test\n");
    idempost.run(&["config", "list"]).ok_with(&["redirect_to\t\n"]);
}

#[test]
fn no_flag_widens_a_guard_of_the_file_or_the_environment() {
    // G-13
    let (service, idempost) = Service::with_program();
    let idempost = idempost
        .config("[defaults]\nallow_to = \"*@acme.test\"\n[profiles.other]\nallow_to = \"*@evil.test\"\n")
        .env("IDEMPOST_ALLOW_TO", "ada@acme.test,bob@acme.test,eve@evil.test");
    for (to, flags) in [
        ("eve@evil.test", "--allow-to '*@evil.test'"),
        ("eve@evil.test", "--profile other --allow-to '*@evil.test'"),
        ("dan@acme.test", "--allow-to '*@acme.test'"),
        ("bob@acme.test", "--allow-to ada@acme.test"),
        ("ada@acme.test", "--redirect-to eve@evil.test"),
    ] {
        send(&idempost, &(["--to", to], flags)).fails(2);
    }
    assert_eq!(reached(&service), [""; 0]);
    send(&idempost, "--to ada@acme.test --allow-to ada@acme.test").ok();
    send(&idempost, "--to x@example.com --redirect-to bob@acme.test").ok();
    assert_eq!(reached(&service), ["ada@acme.test", "bob@acme.test"]);
    let idempost = idempost.env("IDEMPOST_REDIRECT_TO", "ada@acme.test");
    for (address, rule) in [
        ("bob@acme.test", "redirect_to must be an address that the guard already redirects to"),
        ("qa", "redirect_to must be an address such as qa@example.com; nothing"),
        ("*@acme.test", "redirect_to must be an address such as qa@example.com; nothing"),
    ] {
        send(&idempost, &("--to bob@acme.test --redirect-to", [address])).fails_with(2, &[rule]);
    }
}

#[test]
fn a_misspelled_guard_is_an_error_and_not_a_warning() {
    let service = Service::start();
    for text in [
        "[defaults]\nallow-to = \"*@acme.test\"\n",
        "allow_to = \"*@acme.test\"\n",
        "[defaults]\nRedirectTo = \"a@acme.test\"\n",
    ] {
        let idempost = service.idempost().config(text);
        send(&idempost, "--to eve@evil.test").fails_with(2, &["unknown setting"]);
    }
    for pattern in ["acme.test", "", "*@acme.test,", "@acme.test"] {
        send(&service.idempost(), &["--to", "ada@acme.test", &format!("--allow-to={pattern}")]).fails(2);
    }
    assert_eq!(reached(&service), [""; 0]);
}

#[test]
fn a_redirected_job_stays_redirected_without_the_flag() {
    // G-13
    let (service, idempost) = Service::with_program();
    idempost.write("people.csv", "to\nada@example.com\nbob@example.com\n");
    let planned = idempost.run(&("bulk plan people.csv --redirect-to qa@acme.test --json", MESSAGE)).json();
    idempost.run(&["bulk", "resume", planned["job"].as_str().unwrap(), "--yes"]).ok();
    assert_eq!(reached(&service), ["qa@acme.test", "qa@acme.test"]);
    let mails = service.mails();
    assert!(mails.iter().any(|mail| mail.subject == "[bob@example.com] Hello"));
    // Its rows would count as sent without reaching their recipients.
    let planned = idempost.run(&("bulk plan people.csv --job open --json", MESSAGE)).json();
    let resumed =
        ["bulk", "resume", planned["job"].as_str().unwrap(), "--yes", "--redirect-to", "qa@acme.test"];
    idempost.run(&resumed).fails_with(1, &["planned without the redirection to qa@acme.test"]);
    // A job that was planned without a guard respects the guard of the command that runs it.
    let open = bulk(&idempost, "--allow-to '*@acme.test' --skip-invalid");
    assert!(!open.stderr.contains("panicked"), "{open:?}");
    assert_eq!(reached(&service).len(), 2);
}

#[test]
fn captured_mail_is_released_to_allowed_recipients_only() {
    // G-13
    let (service, idempost) = Service::with_program();
    send(&idempost, "--to ada@acme.test").ok();
    let release = ["sandbox", "inbox", "release", &service.mails()[0].id, "--to", "eve@evil.test"];
    let refused = idempost.run(&(release, "--allow-to '*@acme.test'"));
    refused.fails_with(2, &["eve@evil.test", "recipient guard"]);
    // The other commands of a sandbox send nothing.
    idempost.run(&["sandbox", "inbox", "list", "--allow-to", "*@acme.test"]).ok();
    idempost.run(&["sandbox", "clock", "advance", "1h", "--allow-to", "*@acme.test"]);
}
