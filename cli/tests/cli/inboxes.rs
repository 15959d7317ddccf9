//! `inboxes`.

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::has;

const INBOX: &str = "support@acme.test";

fn done(service: &Service, arguments: &[&str]) -> String {
    service.done(&("inboxes", arguments))
}

fn listed(service: &Service, arguments: &[&str]) -> Vec<Value> {
    service.run(&(("inboxes", arguments), "--json")).json()["data"].as_array().unwrap().clone()
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

fn with_inbox() -> Service {
    let service = Service::start();
    done(&service, &["create", INBOX, "--name", "Support", "--from-name", "Acme Support"]);
    service
}

/// Receives an email; returns its thread and its own ID.
fn received(service: &Service, subject: &str) -> (String, String) {
    let mail = format!("From: ada@example.com\r\nSubject: {subject}\r\n\r\nHow?");
    service.core().receive("sb_test", &[INBOX], mail).unwrap();
    let thread = id(&listed(service, &["threads", INBOX])[0]);
    let email = id(&listed(service, &["emails", INBOX, &thread])[0]);
    (thread, email)
}

#[test]
fn an_inbox_is_created_listed_changed_and_deleted() {
    let service = with_inbox();
    let columns = "email_address,name,from_name,unread";
    let expected = "support@acme.test\tSupport\tAcme Support\t0";
    assert_eq!(done(&service, &["list", "--columns", columns]), expected);
    done(&service, &["update", INBOX, "--name", "Help", "--clear", "from-name"]);
    assert_eq!(done(&service, &["ls", "--columns", columns]), "support@acme.test\tHelp\t\t0");
    done(&service, &["agent", INBOX, "--tone", "concise_casual", "--action", "archive"]);
    let agent = done(&service, &["agent", INBOX]);
    assert!(agent.contains("concise_casual") && agent.contains("archive"), "{agent}");
    done(&service, &["delete", INBOX, "--yes"]);
    service.run(&["inboxes", "get", INBOX]).fails(5);
}

#[test]
fn a_thread_is_read_labeled_moved_and_found() {
    let service = with_inbox();
    let (thread, email) = received(&service, "Question");
    assert_eq!(listed(&service, &["threads", INBOX, "--unread"]).len(), 1);
    assert_eq!(done(&service, &["read", INBOX, &thread]), thread);
    assert!(listed(&service, &["threads", INBOX, "--unread"]).is_empty());
    let label = done(&service, &["create-label", INBOX, "Urgent", "--label-color", "#ab12ef"]);
    assert_eq!(done(&service, &["label", INBOX, &thread, &label]), label);
    assert_eq!(done(&service, &["move", INBOX, &thread, "archive"]), thread);
    assert_eq!(listed(&service, &["threads", INBOX, "--label", &label]).len(), 1);
    let found = listed(&service, &["search", INBOX, "how -invoice", "--from", "ada", "--folder", "archive"]);
    assert_eq!(found[0]["matched_email_id"], email);
    assert!(done(&service, &["email", INBOX, &thread, &email]).contains("How?"));
    assert_eq!(done(&service, &["unlabel", INBOX, &thread, &label]), "");
    assert_eq!(done(&service, &["trash", INBOX, &thread]), thread);
    assert_eq!(listed(&service, &["threads", INBOX, "--folder", "trash"]).len(), 1);
}

#[test]
fn a_reply_a_forward_and_a_draft_are_sent() {
    let service = with_inbox();
    let (thread, email) = received(&service, "Question");
    let reply = done(&service, &["reply", INBOX, &thread, &email, "--text", "So.", "--idempotency-key", "k"]);
    let again = done(&service, &["reply", INBOX, &thread, &email, "--text", "So.", "--idempotency-key", "k"]);
    assert_eq!(reply, again);
    done(&service, &["forward", INBOX, &thread, &email, "--to", "boss@acme.test"]);
    let arguments =
        ["create-draft", INBOX, "--text", "Later", "--thread", &thread, "--reply-to-email", &email];
    let draft = done(&service, &arguments);
    assert_eq!(listed(&service, &["drafts", INBOX])[0]["type"], "reply");
    done(&service, &["update-draft", INBOX, &draft, "--subject", "Own subject"]);
    done(&service, &["send-draft", INBOX, &draft]);
    service.run(&["inboxes", "send-draft", INBOX, &draft]).fails(3);
    let subjects: Vec<_> = service.mails().into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["Own subject", "Fwd: Question", "Re: Question"]);
    assert_eq!(listed(&service, &["emails", INBOX, &thread]).len(), 4);
}

#[test]
fn files_are_attached_to_replies_forwards_and_drafts() {
    let service = with_inbox();
    let (thread, email) = received(&service, "Question");
    let invoice = tempfile::NamedTempFile::with_suffix(".txt").unwrap();
    std::fs::write(invoice.path(), "Total: 7 €").unwrap();
    let attach = format!("{};name=Rechnung März.txt", invoice.path().display());
    let run = |arguments: &[&str]| {
        let ran = service.run_with(&("inboxes", arguments), "a,b\n");
        ran.ok().trim().to_owned()
    };
    run(&["reply", INBOX, &thread, &email, "--text", "So.", "--attach", &attach, "--attach", "-;name=a.csv"]);
    run(&["forward", INBOX, &thread, &email, "--to", "boss@acme.test", "--attach", &attach]);
    let draft =
        run(&["create-draft", INBOX, "--to", "ada@example.com", "--text", "x", "--attach", "-;name=b.csv"]);
    run(&["update-draft", INBOX, &draft, "--attach", &attach]);
    run(&["send-draft", INBOX, &draft]);
    let mails = service.mails();
    let files: Vec<Vec<_>> =
        mails.iter().map(|mail| mail.attachments.iter().map(|one| one.filename.as_str()).collect()).collect();
    let expected = [vec!["Rechnung März.txt"], vec!["Rechnung März.txt"], vec!["Rechnung März.txt", "a.csv"]];
    assert_eq!(files, expected);
    let shown = service
        .run(&["inboxes", "create-draft", INBOX, "--text", "x", "--attach", &attach, "--dry-run"])
        .json();
    let file = &shown["dry_run"]["body"]["attachments"][0];
    has(file, &json!({"filename": "Rechnung März.txt", "content": {"bytes": 12}}));
}

#[test]
fn a_dry_run_shows_the_request() {
    let service = Service::start();
    let shown = service.run(&["inboxes", "reply", INBOX, "t1", "e1", "--text", "x", "--dry-run"]).json();
    let request = &shown["dry_run"];
    assert_eq!(request["body"], json!({ "text": "x" }));
    assert_eq!(request["path"], "/inboxes/support%40acme.test/threads/t1/emails/e1/reply");
    assert!(request["headers"]["idempotency-key"].is_string(), "{shown}");
    let addresses = ["--to", "a@x.test", "b@x.test", "--cc", "c@x.test", "d@x.test", "--dry-run"];
    for command in
        [&["forward", INBOX, "t1", "e1"][..], &["create-draft", INBOX], &["update-draft", INBOX, "d1"]]
    {
        let shown = service.run(&(("inboxes", command), &addresses)).json();
        let body = &shown["dry_run"]["body"];
        has(body, &json!({"to": ["a@x.test", "b@x.test"], "cc": ["c@x.test", "d@x.test"]}));
    }
    assert_eq!(service.asked(), 0);
}

#[test]
fn without_beta_the_error_says_how_to_enable_it() {
    let settings = idempost_reference_server::Settings::default();
    let service = Service::with(settings);
    service.run(&["inboxes", "list"]).fails_with(5, &["is in beta", "--beta"]);
}

#[test]
fn the_command_that_checks_an_unknown_outcome_is_quoted_for_the_shell() {
    let service = Service::start();
    service
        .faults()
        .add(Rule::new(Action::DropAfter).on_request(Method::POST, "/inboxes/{inbox}/labels").always());
    let ran = service.run(&["inboxes", "create-label", "o'hara@acme.test", "Urgent"]);
    ran.fails_with(9, &[r"check: idempost inboxes labels 'o'\''hara@acme.test'"]);
}
