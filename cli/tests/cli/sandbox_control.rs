//! `sandbox fail`, `clock`, `export` and `trigger`.

use std::fs;
use std::path::PathBuf;

use idempost_conformance::peer::Act;
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::service::ScriptedPeer;
use crate::support::{Idempost, SEND, has, mode};

#[test]
fn the_next_requests_fail_as_requested_and_later_ones_succeed() {
    let sandbox = Sandbox::start("");
    let added = sandbox.run(&["sandbox", "fail", "POST /emails", "--status", "503", "--times", "2"]);
    let expected = ("1\n", "the next 2 of POST /emails: 503 application_error\n");
    assert_eq!((&*added.stdout, &*added.stderr), expected);
    let listed = sandbox.run(&["sandbox", "fail", "--list"]).ok();
    assert_eq!(listed, "1\tPOST\t/emails\tanswer\t503\tthe next 2\t0\t503 application_error\n");
    sandbox.run(&(SEND, "--retries 0")).fails(9);
    assert!(sandbox.run(&SEND).ok().len() > 30, "the second failure is retried");
    assert_eq!(sandbox.run(&["sandbox", "fail", "--list"]).ok(), "");
    assert_eq!(sandbox.run(&["emails", "list", "--json"]).json()["data"].as_array().unwrap().len(), 1);
    sandbox.run("sandbox fail 'POST /emials'").fails_with(3, &["must be a path of the service"]);
}

#[test]
fn a_send_with_a_lost_or_truncated_response_is_delivered_once() {
    let sandbox = Sandbox::start("");
    for (flags, sent) in [("--lose", 1), ("--truncate 10", 2), ("--drop", 3), ("--slow 50ms", 4)] {
        sandbox.run(&("sandbox fail 'POST /emails'", flags)).ok();
        sandbox.run(&SEND).ok();
        let mails = sandbox.run(&["sandbox", "inbox", "list", "--json"]).json();
        assert_eq!(mails["data"].as_array().unwrap().len(), sent, "{flags:?}");
        assert_eq!(sandbox.run(&["sandbox", "fail", "--list"]).ok(), "", "{flags:?} was applied");
    }
    sandbox.run(&["sandbox", "fail", "GET", "/emails/{id}", "--stall", "--always"]).ok();
    let id = "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794";
    let given_up = sandbox.run(&["emails", "get", id, "--timeout", "300ms", "--retries", "0"]);
    given_up.fails(7);
}

#[test]
fn rules_apply_to_the_account_that_adds_them_or_to_all() {
    let sandbox = Sandbox::start("");
    let client = |key: &str| sandbox.client().env("IDEMPOST_API_KEY", key);
    let fail = |flags| client("sb_a").run(&("sandbox fail 'GET /emails' --status 422 --always", flags));
    let list = |key: &str| client(key).run("emails list");
    fail("").ok();
    list("sb_a").fails(3);
    list("sb_b").ok();
    let added = fail("--all-accounts");
    assert_eq!(added.stderr, "all of GET /emails, of all accounts: 422 validation_error\n");
    list("sb_b").fails(3);
    let clear = |flags| client("sb_b").run(&("sandbox fail --clear", flags));
    assert_eq!(clear("").stderr, "the account's rules removed\n");
    list("sb_b").fails(3);
    clear("--all-accounts").ok();
    list("sb_b").ok();
    list("sb_a").ok();
}

#[test]
fn stages_of_smtp_fail_in_the_same_words() {
    let sandbox = Sandbox::start(&["--smtp-port", "0"]);
    let idempost = sandbox.client();
    let added = idempost.run(&["sandbox", "fail", "SMTP RCPT", "--code", "451", "--percent", "30"]);
    let shown = "30% of SMTP RCPT: 451 4.7.1 Greylisted, try again later\n";
    assert_eq!((&*added.stdout, &*added.stderr), ("1\n", shown));
    let added = idempost.run("sandbox fail smtp end-of-data --slow 50ms --times 2 --after 1");
    let shown = "the next 2 of SMTP END-OF-DATA, after 1 that succeed: the service's own reply, 50 ms late\n";
    assert_eq!(added.stderr, shown);
    let listed = idempost.run(&["sandbox", "fail", "--list"]).ok();
    let expected = "1\tSMTP\tRCPT\tanswer\t451\t30%\t0\t451 4.7.1 Greylisted, try again later\n\
                    2\tSMTP\tEND-OF-DATA\tslow\t\tthe next 2\t0\tthe service's own reply, 50 ms late\n";
    assert_eq!(listed, expected);
    let ran = idempost.run(&["sandbox", "fail", "SMTP DATA", "--truncate", "3"]);
    ran.fails_with(3, &["`action` must be one of answer, drop, lose, stall, slow"]);
}

#[test]
fn rules_are_removed() {
    let sandbox = Sandbox::start("");
    let add = |flags| sandbox.run(&("sandbox fail", flags)).ok();
    assert_eq!(add("--rotate-then-lose"), "1\n");
    assert_eq!(add("--rate-limit --retry-after 7 --percent 30"), "2\n");
    assert_eq!(add("/emails --always --after 3"), "3\n");
    let list = sandbox.run(&["sandbox", "fail", "--list", "--json"]).json();
    let [first, second, third] = list["data"].as_array().unwrap().as_slice() else { panic!("{list}") };
    has(first, &json!({"path": "/oauth/token", "action": "lose"}));
    has(second, &json!({"retry_after": "7", "percent": 30}));
    has(third, &json!({"after": 3, "always": true, "status": 500}));
    sandbox.run(&["sandbox", "fail", "--clear=2"]).ok();
    assert_eq!(sandbox.run(&["sandbox", "fail", "--list"]).ok().lines().count(), 2);
    sandbox.run(&["sandbox", "fail", "--clear=2"]).fails_with(5, &["used up"]);
    sandbox.run(&["sandbox", "fail", "--clear"]).ok();
    assert_eq!(sandbox.run(&["sandbox", "fail", "--list"]).ok(), "");
}

#[test]
fn the_clock_is_shown_stopped_moved_and_sped_up() {
    let sandbox = Sandbox::start("");
    let clock = |arguments: &[&str]| sandbox.run(&("sandbox clock", arguments));
    let shown = clock(&[]);
    assert_eq!(shown.stderr, "running\n");
    assert!(shown.stdout.starts_with("20") && shown.stdout.ends_with("Z\n"), "{shown:?}");
    assert_eq!(clock(&["freeze"]).stderr, "stopped\n");
    assert_eq!(clock(&["set", "2040-01-01T12:00:00Z"]).stdout, "2040-01-01T12:00:00.000Z\n");
    assert_eq!(clock(&["advance", "1h", "30m"]).stdout, "2040-01-01T13:30:00.000Z\n");
    assert_eq!(clock(&["advance", "2 days"]).stdout, "2040-01-03T13:30:00.000Z\n");
    let fast = clock(&["scale", "60", "--json"]).json();
    has(&fast, &json!({"scale": 60.0, "frozen": true, "now": "2040-01-03T13:30:00.000Z"}));
    let running = clock(&["run"]).stderr;
    assert!(running.starts_with("running, 60 times as fast, ") && running.ends_with(" ahead\n"), "{running}");
    assert_eq!(clock(&["set", "now"]).stderr, "running, 60 times as fast\n");
    clock(&["advance", "soon"]).fails_with(3, &["must be a duration"]);
    clock(&["scale", "-1"]).fails_with(2, &["0.001"]);
    clock(&["scale", "nan"]).fails_with(2, &["0.001"]);
    clock(&["advance"]).fails(2);
}

#[test]
fn a_clock_belongs_to_its_account_unless_all_are_named() {
    let sandbox = Sandbox::start("");
    let clock = |key: &str, arguments: &[&str]| {
        sandbox.client().env("IDEMPOST_API_KEY", key).run(&("sandbox clock", arguments)).ok()
    };
    let (of_a, of_all) = ("2040-01-01T13:30:00.000Z\n", "2041-01-01T12:00:00.000Z\n");
    clock("sb_a", &["freeze"]);
    assert_eq!(clock("sb_a", &["set", "2040-01-01T13:30:00Z"]), of_a);
    assert!(clock("sb_b", &[]).as_str() < of_a);
    clock("sb_b", &["freeze", "--all-accounts"]);
    assert_eq!(clock("sb_b", &["set", "2041-01-01T12:00:00Z", "--all-accounts"]), of_all);
    assert_eq!([clock("sb_a", &[]), clock("sb_c", &[]), clock("sb_c", &["--all-accounts"])], [of_all; 3]);
}

fn exported(idempost: &Idempost, target: &str) -> Vec<PathBuf> {
    let printed = idempost.run(&["sandbox", "export", target]).ok();
    printed.lines().map(|line| idempost.home().join(line)).collect()
}

#[test]
fn emails_are_exported_one_by_one_under_safe_names_and_only_once() {
    let sandbox = Sandbox::start("");
    let idempost = sandbox.client();
    for subject in ["../../etc/passwd", "Ünïcode \u{202e}gpj.exe", "CON", "x"] {
        sandbox.send("ada@example.com", subject, "");
    }
    let files = exported(&idempost, "out/mails");
    assert_eq!(files.len(), 4);
    assert_eq!(["out", "out/mails"].map(|folder| mode(idempost.home().join(folder))), [0o700; 2]);
    for (file, subject) in files.iter().zip(["../../etc/passwd", "Ünïcode \u{202e}gpj.exe", "CON", "x"]) {
        assert_eq!(file.parent().unwrap(), idempost.home().join("out/mails"));
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(file.extension().unwrap() == "eml" && !name.contains(['/', '\u{202e}']), "{name}");
        let mail = fs::read(file).unwrap();
        assert_eq!(MessageParser::new().parse(&mail).unwrap().subject(), Some(subject));
    }
    fs::write(&files[3], "my own notes").unwrap();
    idempost.run(&["sandbox", "export", "out/mails"]).says(&["4 mails, 1 of them new"]);
    assert_eq!(fs::read_to_string(&files[3]).unwrap(), "my own notes");
    assert_eq!(idempost.home().join("out/mails").read_dir().unwrap().count(), 5);
}

#[test]
fn emails_are_exported_as_one_file_oldest_first() {
    let sandbox = Sandbox::start("");
    let idempost = sandbox.client();
    let email = |n| json!({"from": "hi@acme.test", "to": format!("n{n}@example.com"), "subject": format!("no {n}"), "text": "From me"});
    let batch: Vec<_> = (0..250).map(email).collect();
    for chunk in batch.chunks(100) {
        let input = serde_json::to_string(chunk).unwrap();
        idempost.run_with(&["api", "POST", "/emails/batch", "--input", "-"], &input).ok();
    }
    exported(&idempost, "all.json");
    let all: Vec<Value> = serde_json::from_str(&idempost.read("all.json")).unwrap();
    let subjects: Vec<_> = all.iter().map(|mail| mail["subject"].as_str().unwrap().to_owned()).collect();
    assert_eq!(subjects, (0..250).map(|n| format!("no {n}")).collect::<Vec<_>>());
    exported(&idempost, "all.mbox");
    let mbox = idempost.read("all.mbox");
    assert_eq!(mbox.lines().filter(|line| line.starts_with("From ")).count(), 250);
    assert_eq!(mbox.lines().filter(|line| line.starts_with(">From ")).count(), 250);
    assert_eq!(idempost.run(&["sandbox", "export", "-", "--format", "mbox"]).ok(), mbox);
    let some = idempost.run(&["sandbox", "export", "-", "--format", "json", "--to", "n7@"]).json();
    assert_eq!(some.as_array().unwrap().len(), 1);
    let none = idempost.run(&["sandbox", "export", "-", "--format", "json", "--to", "unsubscribed"]).json();
    assert_eq!(none, json!([]));
    idempost.run(&["sandbox", "export", "all.mbox"]).fails_with(2, &["won't be overwritten"]);
}

#[test]
fn a_mail_deleted_during_an_export_hides_no_other_mail() {
    let page = |ids: &[&str], has_more| {
        let mails: Vec<_> = ids.iter().map(|id| json!({"id": id, "size": 1})).collect();
        Act::json(200, &json!({"object": "list", "data": mails, "has_more": has_more}).to_string())
    };
    let gone = Act::refused(422, "validation_error");
    let mbox = Act::answer(200, &[], "From a@b.test Mon Mar  2 12:00:00 2026\nSubject: one\n\n>From me\n\n");
    // The third mail is deleted while the next page is requested, and the first one before it is fetched.
    let peer = ScriptedPeer::new([page(&["4", "3"], true), gone, page(&["4", "2", "1"], false), mbox]);
    let idempost = Idempost::new().env("IDEMPOST_SANDBOX_URL", peer.base_url());
    idempost.run("sandbox export all.mbox").says(&["1 mail, "]);
    let requests: Vec<_> = peer.requests().iter().map(|request| request.target().to_owned()).collect();
    assert_eq!(requests[3], "/_/export?format=mbox&id=1&id=2&id=4");
}

#[test]
fn an_impossible_export_is_reported() {
    let idempost = Idempost::new();
    idempost.write("file", "");
    idempost.run(&["sandbox", "export", "file"]).fails_with(2, &["this is a file"]);
    let sandbox = Sandbox::start("");
    sandbox.client().run("sandbox export no/such/folder/all.mbox").fails_with(1, &["couldn't write"]);
}

#[test]
fn a_simulated_event_is_sent_to_subscribed_webhooks() {
    let sandbox = Sandbox::start("");
    let types = sandbox.run(&["sandbox", "trigger", "--list"]).ok();
    assert!(types.lines().any(|kind| kind == "email.bounced"), "{types}");
    let unsubscribed = sandbox.run(&["sandbox", "trigger", "email.bounced"]);
    let unsubscribed = unsubscribed.says(&["no webhook is subscribed to email.bounced"]);
    assert_eq!(unsubscribed.stdout, "");
    sandbox.run("webhooks create --endpoint https://hooks.example.com/in --event email.bounced").ok();
    let overrides = r#"--override bounce.type=Transient --override 'to:=["bob@example.com"]'"#;
    let ran = sandbox.run(&("sandbox trigger email.bounced", overrides)).says(&["sent to 1 webhook"]);
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    let other = sandbox.run(&["sandbox", "trigger", "email.opened", "--json"]).json();
    assert_eq!(other["deliveries"], json!([]));
    sandbox.run(&["sandbox", "trigger", "email.lost"]).fails_with(3, &["email.bounced"]);
    sandbox.run(&["sandbox", "trigger"]).fails(2);
}
