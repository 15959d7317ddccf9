//! `sandbox check`.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, send};
use crate::support::{Idempost, Ran};

const MAIL: &str = "Subject: Hi {{name}}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
    <html lang=en><p style='gap:1px'>See <a href='http://localhost:3000'>\u{1b}[31m the page</a></p></html>";

/// The codes on standard output, and the exit code.
fn codes(ran: &Ran) -> (Vec<&str>, Option<i32>) {
    (ran.stdout.lines().filter_map(|line| line.split('\t').nth(1)).collect(), ran.code)
}

#[test]
fn a_message_file_is_checked_without_a_sandbox_and_the_severity_decides_the_exit_code() {
    let idempost = Idempost::new();
    fs::write(idempost.home().join("mail.eml"), MAIL).unwrap();
    let check = |flags: &[&str]| idempost.run(&("sandbox check mail.eml", flags));
    let all = ["placeholder", "link_private", "text_missing", "feature_unsupported"];
    let sorted = |ran: &Ran| {
        let mut found = codes(ran).0.into_iter().map(str::to_owned).collect::<Vec<_>>();
        found.sort();
        found
    };
    let mut expected = all.map(str::to_owned);
    expected.sort();
    let ran = check(&[]);
    assert_eq!((sorted(&ran), ran.code), (expected.to_vec(), Some(3)), "{ran:?}");
    assert!(ran.stdout.starts_with("error\tplaceholder\t1\tsubject\tA placeholder"), "{ran:?}");
    assert!(ran.stdout.contains("\tlink_private\t1\thtml:1:38\t"), "{ran:?}");
    assert!(ran.stderr.contains("the check found 1 error, 2 warnings, 1 note"), "{ran:?}");
    for (flags, code) in [
        (&["--fail-on", "error", "--ignore", "placeholder"][..], 0),
        (&["--fail-on", "warning", "--ignore", "placeholder"], 3),
        (&["--fail-on", "warning", "--ignore", "placeholder,link_private,text_missing"], 0),
        (&["--fail-on", "note", "--ignore", "placeholder,link_private", "--ignore", "text_missing"], 3),
        (&["--fail-on", "note", "--ignore", "placeholder,link_private,text_missing,css-gap"], 0),
        (&["--fail-on", "never"], 0),
    ] {
        assert_eq!(check(flags).code, Some(code), "{flags:?}");
    }
    let ran = check(&["--columns", "excerpt,feature", "--fail-on", "never"]);
    assert!(ran.stdout.contains("{{name}}\t") && ran.stdout.contains("\tcss-gap"), "{ran:?}");
    let read = idempost.run_with(&["sandbox", "check", "-", "--json"], MAIL);
    let report: Value = serde_json::from_str(&read.stdout).unwrap();
    assert_eq!((&report["object"], &report["findings"][0]["code"]), (&json!("check"), &json!("placeholder")));
    assert_eq!(report["findings"][0]["places"][0]["excerpt"], "{{name}}");
    let error: Value = serde_json::from_str(read.stderr.lines().last().unwrap()).unwrap();
    assert_eq!((&error["error"]["kind"], read.code), (&json!("rejected"), Some(3)));
}

#[test]
fn the_newest_a_sent_or_a_received_mail_of_a_sandbox_is_checked() {
    let sandbox = Sandbox::start(&[]);
    let idempost = sandbox.client();
    idempost.run("sandbox check").fails_with(5, &["no captured email matches"]);
    let wrong = send(&idempost, "ada@acme.com", "Hi [[name]]", &[]);
    send(&idempost, "bob@acme.com", "Hi Bob", &[]);
    let ran = idempost.run(&["sandbox", "check", "--fail-on", "note"]);
    assert_eq!(codes(&ran), (vec![], Some(0)), "{ran:?}");
    assert!(ran.stderr.contains("no findings"), "{ran:?}");
    for which in [&["--to", "ada@acme.com"][..], &["--subject", "[[name]]"], &[wrong.as_str()]] {
        let ran = idempost.run(&("sandbox check", which));
        assert_eq!(codes(&ran), (vec!["placeholder"], Some(3)), "{which:?} {ran:?}");
    }
    fs::write(idempost.home().join("mail.eml"), format!("From: a@acme.com\r\nTo: b@acme.com\r\n{MAIL}"))
        .unwrap();
    let received = idempost.run(&["sandbox", "receive", "mail.eml"]).ok();
    let ran = idempost.run(&["sandbox", "check", received.trim(), "--json", "--jq", ".findings[0].code"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("placeholder\n", Some(3)), "{ran:?}");
    idempost.run(&["sandbox", "check", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"]).fails(5);
}

#[test]
fn links_are_requested_only_with_the_flag_and_at_public_addresses() {
    let sandbox = Sandbox::start(&[]);
    let idempost = sandbox.client();
    let body = format!("See {}/private\n\n\n{}/_/unsubscribe/x", sandbox.base_url, sandbox.base_url);
    idempost.run(&("emails send --from hi@acme.test --to ada@acme.com --subject Hi --text", [body])).ok();
    let ran = idempost.run("sandbox check --fail-on warning --ignore link_private,unsubscribe_missing");
    assert_eq!(codes(&ran), (vec![], Some(0)), "{ran:?}");
    let ran = idempost
        .run("sandbox check --fail-on warning --ignore link_private,unsubscribe_missing --fetch-links");
    assert_eq!(codes(&ran), (vec!["link_not_public"], Some(3)), "{ran:?}");
    assert!(ran.stderr.contains("1 of 2 links checked"), "{ran:?}");
    let ran = idempost.run("sandbox check --json --jq '.links.data[] | [.state, .url] | @tsv' --fetch-links");
    let expected = format!("not_public\t{0}/private\nskipped\t{0}/_/unsubscribe/x\n", sandbox.base_url);
    assert_eq!((ran.stdout.as_str(), ran.code), (expected.as_str(), Some(0)), "{ran:?}");
    let disabled = Sandbox::start(&["--no-fetch"]);
    let idempost = disabled.client();
    send(&idempost, "ada@acme.com", "Hi", &[]);
    let ran = idempost.run(&["sandbox", "check", "--fetch-links"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("--no-fetch"), "{ran:?}");
    let stderr = idempost.run_with(&["sandbox", "check", "-", "--fetch-links"], MAIL).fails(2);
    assert!(stderr.contains("idempost sandbox receive FILE"), "{stderr}");
}

#[test]
fn all_wrong_arguments_are_reported() {
    let ran = Idempost::new()
        .run("sandbox check missing.eml --fail-on fatal --ignore placeholder,image_without_alts,css-gap");
    let stderr = ran.fails(2);
    for part in [
        "the severity must be note, warning, error or never",
        "no finding has this code; did you mean `image_without_alt`?",
        "No such file",
        "3 problems",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}
