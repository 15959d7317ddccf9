//! `sandbox check`.

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::support::{Idempost, Ran};

const MAIL: &str = "Subject: Hi {{name}}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
    <html lang=en><p style='gap:1px'>See <a href='http://localhost:3000'>\u{1b}[31m the page</a></p></html>";

/// The codes on standard output, sorted, and the exit code.
fn codes(ran: &Ran) -> (Vec<&str>, Option<i32>) {
    let mut codes: Vec<_> = ran.stdout.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    codes.sort_unstable();
    (codes, ran.code)
}

#[test]
fn a_message_file_is_checked_without_a_sandbox_and_the_severity_decides_the_exit_code() {
    let idempost = Idempost::new();
    idempost.write("mail.eml", MAIL);
    let check = |flags: &str| idempost.run(&("sandbox check mail.eml", flags));
    let ran = check("").says(&["the check found 1 error, 2 warnings, 1 note"]);
    let all = vec!["feature_unsupported", "link_private", "placeholder", "text_missing"];
    assert_eq!(codes(&ran), (all, Some(3)), "{ran:?}");
    assert!(ran.stdout.starts_with("error\tplaceholder\t1\tsubject\tA placeholder"), "{ran:?}");
    ran.prints(&["\tlink_private\t1\thtml:1:38\t"]);
    for (flags, code) in [
        ("--fail-on error --ignore placeholder", 0),
        ("--fail-on warning --ignore placeholder", 3),
        ("--fail-on warning --ignore placeholder,link_private,text_missing", 0),
        ("--fail-on note --ignore placeholder,link_private --ignore text_missing", 3),
        ("--fail-on note --ignore placeholder,link_private,text_missing,css-gap", 0),
        ("--fail-on never", 0),
    ] {
        check(flags).exits(code);
    }
    check("--columns excerpt,feature --fail-on never").prints(&["{{name}}\t", "\tcss-gap"]);
    let read = idempost.run_with("sandbox check - --json", MAIL).exits(3);
    let report = read.document();
    assert_eq!((&report["object"], &report["findings"][0]["code"]), (&json!("check"), &json!("placeholder")));
    assert_eq!(report["findings"][0]["places"][0]["excerpt"], "{{name}}");
    assert_eq!(read.last_error()["kind"], "rejected");
}

#[test]
fn the_newest_a_sent_or_a_received_mail_of_a_sandbox_is_checked() {
    let sandbox = Sandbox::start("");
    let idempost = sandbox.client();
    idempost.run("sandbox check").fails_with(5, &["no captured email matches"]);
    let wrong = sandbox.send("ada@acme.com", "Hi [[name]]", "");
    sandbox.send("bob@acme.com", "Hi Bob", "");
    let ran = idempost.run("sandbox check --fail-on note").says(&["no findings"]);
    assert_eq!(codes(&ran), (vec![], Some(0)), "{ran:?}");
    for which in ["--to ada@acme.com", "--subject [[name]]", &wrong] {
        let ran = idempost.run(&("sandbox check", which));
        assert_eq!(codes(&ran), (vec!["placeholder"], Some(3)), "{which:?} {ran:?}");
    }
    idempost.write("mail.eml", format!("From: a@acme.com\r\nTo: b@acme.com\r\n{MAIL}"));
    let received = idempost.run(&["sandbox", "receive", "mail.eml"]).ok();
    let ran = idempost.run(&["sandbox", "check", received.trim(), "--json", "--jq", ".findings[0].code"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("placeholder\n", Some(3)), "{ran:?}");
    idempost.run(&["sandbox", "check", "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"]).fails(5);
}

#[test]
fn links_are_requested_only_with_the_flag_and_at_public_addresses() {
    let sandbox = Sandbox::start("");
    let body = format!("See {}/private\n\n\n{}/_/unsubscribe/x", sandbox.base_url, sandbox.base_url);
    sandbox.run(&("emails send --from hi@acme.test --to ada@acme.com --subject Hi --text", [body])).ok();
    let check = "sandbox check --fail-on warning --ignore link_private,unsubscribe_missing";
    let ran = sandbox.run(check);
    assert_eq!(codes(&ran), (vec![], Some(0)), "{ran:?}");
    let ran = sandbox.run(&(check, "--fetch-links")).says(&["1 of 2 links checked"]);
    assert_eq!(codes(&ran), (vec!["link_not_public"], Some(3)), "{ran:?}");
    let ran = sandbox.run("sandbox check --json --jq '.links.data[] | [.state, .url] | @tsv' --fetch-links");
    let expected = format!("not_public\t{0}/private\nskipped\t{0}/_/unsubscribe/x\n", sandbox.base_url);
    assert_eq!((ran.stdout.as_str(), ran.code), (expected.as_str(), Some(0)), "{ran:?}");
    let disabled = Sandbox::start("--no-fetch");
    disabled.send("ada@acme.com", "Hi", "");
    let ran = disabled.run("sandbox check --fetch-links").says(&["--no-fetch"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let file = disabled.run_with("sandbox check - --fetch-links", MAIL);
    file.fails_with(2, &["idempost sandbox receive FILE"]);
}
