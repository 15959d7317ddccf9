//! `sandbox inbox delete`, `sandbox inbox mark` and `sandbox serve --keep-for`.

use crate::sandbox::{Sandbox, send};
use crate::support::Idempost;

/// The subjects listed with these arguments.
fn subjects(idempost: &Idempost, filter: &[&str]) -> Vec<String> {
    let arguments = [&["sandbox", "inbox", "list", "--columns", "subject"], filter].concat();
    idempost.run(&arguments).ok().lines().map(str::to_owned).collect()
}

#[test]
fn mails_are_deleted_by_id_by_filter_and_all_at_once() {
    let sandbox = Sandbox::start(&[]);
    let idempost = sandbox.client();
    let first = send(&idempost, "ada@example.com", "First", &[]);
    let second = send(&idempost, "ada@example.com", "Zweite Größe", &[]);
    send(&idempost, "bob@example.com", "Third", &[]);
    send(&idempost, "bob@example.com", "Fourth", &[]);

    let command = |arguments: &[&str]| idempost.run(&("sandbox inbox delete", arguments));
    let shown = command(&[&second, "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["method"], "DELETE");
    assert_eq!(shown["dry_run"]["body"]["ids"][0], second.as_str());
    let shown = command(&["--query", "größe", "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["path"], "/_/messages?query=gr%C3%B6%C3%9Fe");
    assert_eq!(subjects(&idempost, &[]).len(), 4, "a dry run deletes nothing");

    assert_eq!(command(&[&first, "--json"]).json()["deleted"], 1);
    assert_eq!(command(&["--query", "größe", "--json"]).json()["deleted"], 1);
    assert_eq!(subjects(&idempost, &[]), ["Fourth", "Third"]);
    let state = idempost.run(&["emails", "get", &first, "--json"]).json()["last_event"].clone();
    assert!(["sent", "delivered"].contains(&state.as_str().unwrap()), "its email remains: {state}");
    assert_eq!(command(&["--to", "nobody", "--json"]).json()["deleted"], 0);
    assert_eq!(command(&["--all", "--json"]).json()["deleted"], 2);
    assert_eq!(subjects(&idempost, &[]), [""; 0]);
}

#[test]
fn a_deletion_without_a_clear_selection_is_rejected() {
    let sandbox = Sandbox::start(&[]);
    let idempost = sandbox.client();
    let id = send(&idempost, "ada@example.com", "Stays", &[]);
    for (arguments, message) in [
        (&[][..], "an ID, a filter such as --to, or --all"),
        (&["--to", ""], "--to must not be empty"),
        (&["x"], "an ID must be a UUID"),
        (&[&id, "--to", "ada"], "IDs and filters can't be used together"),
        (&["--all", "--to", "ada"], "--all can't be used with IDs or filters"),
    ] {
        for command in ["delete", "mark"] {
            let arguments = [&["sandbox", "inbox", command], arguments].concat();
            let stderr = idempost.run(&arguments).fails(2);
            assert!(stderr.contains(message), "{arguments:?}: {stderr}");
        }
    }
    assert_eq!(subjects(&idempost, &[]), ["Stays"]);
}

#[test]
fn mails_are_marked_as_read_and_unread() {
    let sandbox = Sandbox::start(&[]);
    let idempost = sandbox.client();
    let id = send(&idempost, "ada@example.com", "One", &[]);
    send(&idempost, "bob@example.com", "Two", &[]);
    let unread = || {
        let list = idempost.run(&["sandbox", "inbox", "list", "--json"]).json();
        let unread = |mail: &serde_json::Value| (mail["unread"] == true).then(|| mail["subject"].clone());
        list["data"].as_array().unwrap().iter().filter_map(unread).collect::<Vec<_>>()
    };
    assert_eq!(unread(), ["Two", "One"]);
    let command = |arguments: &[&str]| idempost.run(&("sandbox inbox mark", arguments));
    command(&[&id]).ok();
    assert_eq!(unread(), ["Two"]);
    assert_eq!(command(&["--all", "--json"]).json()["changed"], 1);
    assert_eq!(command(&["--unread", "--to", "ada", "--json"]).json()["changed"], 1);
    assert_eq!(unread(), ["One"]);
    idempost.run("sandbox receive --from a@example.com --to b@acme.test --subject In --text x").ok();
    assert_eq!(command(&["--received", "--all", "--json"]).json()["changed"], 1);
    let deleted = idempost.run(&["sandbox", "inbox", "delete", "--received", "--subject", "in", "--json"]);
    assert_eq!(deleted.json()["deleted"], 1);
}

#[test]
fn a_persistent_sandbox_asks_before_many_mails_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--data", &folder.path().display().to_string()]);
    let idempost = sandbox.client();
    let id = send(&idempost, "ada@example.com", "One", &[]);
    send(&idempost, "ada@example.com", "Two", &[]);
    let stderr = idempost.run(&["sandbox", "inbox", "delete", "--to", "ada"]).fails(2);
    assert!(stderr.contains("Delete all matching emails, including on disk?"), "{stderr}");
    idempost.run(&["sandbox", "inbox", "delete", &id]).ok();
    assert_eq!(subjects(&idempost, &[]), ["Two"]);
    idempost.run(&["sandbox", "inbox", "delete", "--all", "--yes"]).ok();
    assert_eq!(subjects(&idempost, &[]), [""; 0]);
}

#[cfg(unix)]
#[test]
fn the_account_that_keep_accounts_deletes_is_named_in_a_warning() {
    let mut sandbox = Sandbox::start(&["--keep-accounts", "1"]);
    let client = |key: &str| sandbox.client().env("IDEMPOST_API_KEY", key);
    send(&client("sb_secret_worker"), "ada@example.com", "One", &[]);
    client("sb_reader").run(&["emails", "list"]).ok();
    assert_eq!(subjects(&client("sb_secret_worker"), &[]), ["One"], "reading creates no account");
    send(&client("sb_other"), "ada@example.com", "Two", &[]);
    assert_eq!(subjects(&client("sb_secret_worker"), &[]), [""; 0]);
    let stderr = sandbox.stop();
    assert!(stderr.contains("warning: ") && stderr.contains("account sb_sec… with all its data"), "{stderr}");
    assert!(!stderr.contains("sb_secret"), "{stderr}");
    Idempost::new().run("sandbox serve --keep-accounts 0").fails_with(2, &["--keep-accounts", "at least 1"]);
}

#[test]
fn keep_for_deletes_older_mails_when_the_clock_passes() {
    let sandbox = Sandbox::start(&["--keep-for", "24h"]);
    let idempost = sandbox.client();
    send(&idempost, "ada@example.com", "Old", &[]);
    idempost.run(&["sandbox", "clock", "advance", "23h"]).ok();
    send(&idempost, "ada@example.com", "New", &[]);
    assert_eq!(subjects(&idempost, &[]), ["New", "Old"]);
    idempost.run(&["sandbox", "clock", "advance", "1h"]).ok();
    assert_eq!(subjects(&idempost, &[]), ["New"]);
    for wrong in ["0s", "soon", "24 parsecs"] {
        let stderr = Idempost::new().run(&["sandbox", "serve", "--keep-for", wrong]).fails(2);
        assert!(stderr.contains("must be a duration above zero, such as 24h or 7 days"), "{stderr}");
    }
}
