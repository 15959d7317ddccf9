//! `sandbox inbox delete`, `sandbox inbox mark` and `sandbox serve --keep-for`.

use crate::sandbox::Sandbox;
use crate::support::{Idempost, SEND, shows};

const SUBJECTS: &str = "sandbox inbox list --columns subject";

fn subjects(sandbox: &Sandbox) -> String {
    sandbox.run(SUBJECTS).ok()
}

#[test]
fn mails_are_deleted_by_id_by_filter_and_all_at_once() {
    let sandbox = Sandbox::start("");
    let first = sandbox.send("ada@example.com", "First", "");
    let second = sandbox.send("ada@example.com", "Zweite Größe", "");
    sandbox.send("bob@example.com", "Third", "");
    sandbox.send("bob@example.com", "Fourth", "");

    let command = |arguments: &[&str]| sandbox.run(&("sandbox inbox delete", arguments));
    let shown = command(&[&second, "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["method"], "DELETE");
    assert_eq!(shown["dry_run"]["body"]["ids"][0], second.as_str());
    let shown = command(&["--query", "größe", "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["path"], "/_/messages?query=gr%C3%B6%C3%9Fe");
    assert_eq!(subjects(&sandbox).lines().count(), 4, "a dry run deletes nothing");

    assert_eq!(command(&[&first, "--json"]).json()["deleted"], 1);
    assert_eq!(command(&["--query", "größe", "--json"]).json()["deleted"], 1);
    assert_eq!(subjects(&sandbox), "Fourth\nThird\n");
    let state = sandbox.run(&["emails", "get", &first, "--json"]).json()["last_event"].clone();
    assert!(["sent", "delivered"].contains(&state.as_str().unwrap()), "its email remains: {state}");
    assert_eq!(command(&["--to", "nobody", "--json"]).json()["deleted"], 0);
    assert_eq!(command(&["--all", "--json"]).json()["deleted"], 2);
    assert_eq!(subjects(&sandbox), "");
}

#[test]
fn mails_are_marked_as_read_and_unread() {
    let sandbox = Sandbox::start("");
    let id = sandbox.send("ada@example.com", "One", "");
    sandbox.send("bob@example.com", "Two", "");
    let unread = || {
        let list = sandbox.run(&["sandbox", "inbox", "list", "--json"]).json();
        let unread = |mail: &serde_json::Value| (mail["unread"] == true).then(|| mail["subject"].clone());
        list["data"].as_array().unwrap().iter().filter_map(unread).collect::<Vec<_>>()
    };
    assert_eq!(unread(), ["Two", "One"]);
    let command = |arguments: &[&str]| sandbox.run(&("sandbox inbox mark", arguments));
    command(&[&id]).ok();
    assert_eq!(unread(), ["Two"]);
    assert_eq!(command(&["--all", "--json"]).json()["changed"], 1);
    assert_eq!(command(&["--unread", "--to", "ada", "--json"]).json()["changed"], 1);
    assert_eq!(unread(), ["One"]);
    sandbox.run("sandbox receive --from a@example.com --to b@acme.test --subject In --text x").ok();
    assert_eq!(command(&["--received", "--all", "--json"]).json()["changed"], 1);
    let deleted = sandbox.run(&["sandbox", "inbox", "delete", "--received", "--subject", "in", "--json"]);
    assert_eq!(deleted.json()["deleted"], 1);
}

#[test]
fn a_persistent_sandbox_asks_before_many_mails_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--data", &folder.path().display().to_string()]);
    let id = sandbox.send("ada@example.com", "One", "");
    sandbox.send("ada@example.com", "Two", "");
    let unconfirmed = sandbox.run("sandbox inbox delete --to ada");
    unconfirmed.fails_with(2, &["Delete all matching emails, including on disk?"]);
    sandbox.run(&["sandbox", "inbox", "delete", &id]).ok();
    assert_eq!(subjects(&sandbox), "Two\n");
    sandbox.run(&["sandbox", "inbox", "delete", "--all", "--yes"]).ok();
    assert_eq!(subjects(&sandbox), "");
}

#[test]
fn the_account_that_keep_accounts_deletes_is_named_in_a_warning() {
    let mut sandbox = Sandbox::start(&["--keep-accounts", "1"]);
    let client = |key: &str| sandbox.client().env("IDEMPOST_API_KEY", key);
    client("sb_secret_worker").run(&SEND).ok();
    client("sb_reader").run(&["emails", "list"]).ok();
    // Reading creates no account.
    assert_eq!(client("sb_secret_worker").run(SUBJECTS).ok(), "Hello\n");
    client("sb_other").run(&SEND).ok();
    assert_eq!(client("sb_secret_worker").run(SUBJECTS).ok(), "");
    let stderr = sandbox.stop();
    shows(&stderr, &["warning: ", "account sb_sec… with all its data"]);
    assert!(!stderr.contains("sb_secret"), "{stderr}");
    Idempost::new().run("sandbox serve --keep-accounts 0").fails_with(2, &["--keep-accounts", "at least 1"]);
}

#[test]
fn keep_for_deletes_older_mails_when_the_clock_passes() {
    let sandbox = Sandbox::start(&["--keep-for", "24h"]);
    sandbox.send("ada@example.com", "Old", "");
    sandbox.run(&["sandbox", "clock", "advance", "23h"]).ok();
    sandbox.send("ada@example.com", "New", "");
    assert_eq!(subjects(&sandbox), "New\nOld\n");
    sandbox.run(&["sandbox", "clock", "advance", "1h"]).ok();
    assert_eq!(subjects(&sandbox), "New\n");
    for wrong in ["0s", "soon", "24 parsecs"] {
        let refused = Idempost::new().run(&["sandbox", "serve", "--keep-for", wrong]);
        refused.fails_with(2, &["must be a duration above zero, such as 24h or 7 days"]);
    }
}
