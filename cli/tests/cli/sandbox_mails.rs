//! `sandbox inbox delete`, `sandbox inbox mark` and `sandbox serve --keep-for`.

use crate::sandbox::{Sandbox, send};
use crate::support::Posthaste;

/// The subjects that a list has with these arguments.
fn subjects(posthaste: &Posthaste, filter: &[&str]) -> Vec<String> {
    let arguments = [&["sandbox", "inbox", "list", "--columns", "subject"], filter].concat();
    posthaste.run(&arguments).ok().lines().map(str::to_owned).collect()
}

#[test]
fn mails_are_deleted_by_id_by_filter_and_all_at_once() {
    let sandbox = Sandbox::start(&[]);
    let posthaste = sandbox.client();
    let first = send(&posthaste, "ada@example.com", "First", &[]);
    let second = send(&posthaste, "ada@example.com", "Zweite Größe", &[]);
    send(&posthaste, "bob@example.com", "Third", &[]);
    send(&posthaste, "bob@example.com", "Fourth", &[]);

    let command = |arguments: &[&str]| posthaste.run(&[&["sandbox", "inbox", "delete"], arguments].concat());
    let shown = command(&[&second, "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["method"], "DELETE");
    assert_eq!(shown["dry_run"]["body"]["ids"][0], second.as_str());
    let shown = command(&["--query", "größe", "--dry-run"]).json();
    assert_eq!(shown["dry_run"]["path"], "/_/messages?query=gr%C3%B6%C3%9Fe");
    assert_eq!(subjects(&posthaste, &[]).len(), 4, "a dry run deletes nothing");

    assert_eq!(command(&[&first, "--json"]).json()["deleted"], 1);
    assert_eq!(command(&["--query", "größe", "--json"]).json()["deleted"], 1);
    assert_eq!(subjects(&posthaste, &[]), ["Fourth", "Third"]);
    let state = posthaste.run(&["emails", "get", &first, "--json"]).json()["last_event"].clone();
    assert!(["sent", "delivered"].contains(&state.as_str().unwrap()), "its email remains: {state}");
    assert_eq!(command(&["--to", "nobody", "--json"]).json()["deleted"], 0);
    assert_eq!(command(&["--all", "--json"]).json()["deleted"], 2);
    assert_eq!(subjects(&posthaste, &[]), [""; 0]);
}

#[test]
fn a_deletion_without_a_clear_selection_is_rejected() {
    let sandbox = Sandbox::start(&[]);
    let posthaste = sandbox.client();
    let id = send(&posthaste, "ada@example.com", "Stays", &[]);
    for (arguments, message) in [
        (&[][..], "an ID, a filter such as --to, or --all"),
        (&["--to", ""], "--to must not be empty"),
        (&["x"], "an ID must be a UUID"),
        (&[&id, "--to", "ada"], "IDs and filters can't be used together"),
        (&["--all", "--to", "ada"], "--all can't be used with IDs or filters"),
    ] {
        for command in ["delete", "mark"] {
            let arguments = [&["sandbox", "inbox", command], arguments].concat();
            let stderr = posthaste.run(&arguments).fails(2);
            assert!(stderr.contains(message), "{arguments:?}: {stderr}");
        }
    }
    assert_eq!(subjects(&posthaste, &[]), ["Stays"]);
}

#[test]
fn mails_are_marked_as_read_and_unread() {
    let sandbox = Sandbox::start(&[]);
    let posthaste = sandbox.client();
    let id = send(&posthaste, "ada@example.com", "One", &[]);
    send(&posthaste, "bob@example.com", "Two", &[]);
    let unread = || {
        let list = posthaste.run(&["sandbox", "inbox", "list", "--json"]).json();
        let unread = |mail: &serde_json::Value| (mail["unread"] == true).then(|| mail["subject"].clone());
        list["data"].as_array().unwrap().iter().filter_map(unread).collect::<Vec<_>>()
    };
    assert_eq!(unread(), ["Two", "One"]);
    let command = |arguments: &[&str]| posthaste.run(&[&["sandbox", "inbox", "mark"], arguments].concat());
    command(&[&id]).ok();
    assert_eq!(unread(), ["Two"]);
    assert_eq!(command(&["--all", "--json"]).json()["changed"], 1);
    assert_eq!(command(&["--unread", "--to", "ada", "--json"]).json()["changed"], 1);
    assert_eq!(unread(), ["One"]);
    posthaste
        .run(&[
            "sandbox",
            "receive",
            "--from",
            "a@example.com",
            "--to",
            "b@acme.test",
            "--subject",
            "In",
            "--text",
            "x",
        ])
        .ok();
    assert_eq!(command(&["--received", "--all", "--json"]).json()["changed"], 1);
    let deleted = posthaste.run(&["sandbox", "inbox", "delete", "--received", "--subject", "in", "--json"]);
    assert_eq!(deleted.json()["deleted"], 1);
}

#[test]
fn a_persistent_sandbox_asks_before_many_mails_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--data", &folder.path().display().to_string()]);
    let posthaste = sandbox.client();
    let id = send(&posthaste, "ada@example.com", "One", &[]);
    send(&posthaste, "ada@example.com", "Two", &[]);
    let stderr = posthaste.run(&["sandbox", "inbox", "delete", "--to", "ada"]).fails(2);
    assert!(stderr.contains("Delete all matching mails, including on disk?"), "{stderr}");
    posthaste.run(&["sandbox", "inbox", "delete", &id]).ok();
    assert_eq!(subjects(&posthaste, &[]), ["Two"]);
    posthaste.run(&["sandbox", "inbox", "delete", "--all", "--yes"]).ok();
    assert_eq!(subjects(&posthaste, &[]), [""; 0]);
}

#[test]
fn keep_for_deletes_older_mails_when_the_clock_passes() {
    let sandbox = Sandbox::start(&["--keep-for", "24h"]);
    let posthaste = sandbox.client();
    send(&posthaste, "ada@example.com", "Old", &[]);
    posthaste.run(&["sandbox", "clock", "advance", "23h"]).ok();
    send(&posthaste, "ada@example.com", "New", &[]);
    assert_eq!(subjects(&posthaste, &[]), ["New", "Old"]);
    posthaste.run(&["sandbox", "clock", "advance", "1h"]).ok();
    assert_eq!(subjects(&posthaste, &[]), ["New"]);
    for wrong in ["0s", "soon", "24 parsecs"] {
        let stderr = Posthaste::new().run(&["sandbox", "serve", "--keep-for", wrong]).fails(2);
        assert!(stderr.contains("must be a duration above zero, such as 24h or 7 days"), "{stderr}");
    }
}
