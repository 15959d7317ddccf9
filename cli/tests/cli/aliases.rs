//! Aliases: names for command lines.

use serde_json::json;

use crate::service::Service;
use crate::support::{Idempost, SEND, has};

const SEND_ALIAS: &str = "emails send --from 'Acme <hi@acme.test>' --to $1 --subject \"Hi $2\" --text x -n";

#[test]
fn an_alias_is_set_listed_replaced_and_deleted() {
    let idempost = Idempost::new().config("# ours\n[defaults] # all\nretries = 5\n");
    idempost.run(&["alias", "set", "bounced", "emails list"]).ok();
    idempost.run(&["alias", "set", "bounced", "emails list --status bounced"]).ok();
    idempost.run(&["alias", "set", "hi", SEND_ALIAS]).ok();
    let text = idempost.read(".config/idempost/config.toml");
    assert!(text.starts_with("# ours\n[defaults] # all\nretries = 5\n\n[aliases]\nbounced = "), "{text}");
    let expected = json!([
        { "name": "bounced", "command": "emails list --status bounced" },
        { "name": "hi", "command": SEND_ALIAS },
    ]);
    let listed = idempost.run(&["alias", "list", "--json"]).json();
    has(&listed, &json!({"object": "list", "data": expected, "has_more": false}));
    assert_eq!(idempost.run(&["help", "--json"]).json()["aliases"], expected);
    idempost.run(&["alias", "delete", "bounced"]).ok();
    assert_eq!(idempost.run(&["alias", "list", "--columns", "name"]).ok(), "hi\n");
    idempost.run(&["alias", "delete", "bounced"]).fails(5);
    idempost.run(&["bounced"]).fails_with(2, &["unknown command `bounced`"]);
}

#[test]
fn aliases_that_cannot_be_read_are_an_error_and_not_absent() {
    let idempost = Idempost::new().config("[aliases]\nship = 'emails list'\n]");
    for line in ["alias list", "ship", "--quiet ship"] {
        idempost.run(line).fails_with(2, &["config.toml:3:", "not TOML"]);
    }
    idempost.run("--quiet config path").ok();
}

#[test]
fn arguments_fill_an_alias_or_follow_it() {
    let idempost = Idempost::new();
    idempost.run(&["alias", "set", "hi", SEND_ALIAS]).ok();
    let ran = idempost.run(&["--quiet", "hi", "ada@example.com", "Ada; $1", "--cc", "bob@example.com"]);
    let body = ran.json()["dry_run"]["body"].clone();
    has(&body, &json!({"to": ["ada@example.com"], "subject": "Hi Ada; $1", "cc": ["bob@example.com"]}));
    idempost.run("hi ada@example.com").fails_with(2, &["the alias `hi` takes at least 2 arguments, found 1"]);
    let error = idempost.run(&["hi", "--json"]).error(2);
    assert_eq!(error["problems"][0]["code"], "count");
}

#[test]
fn an_alias_neither_replaces_a_command_nor_uses_an_alias_or_a_shell() {
    let idempost = Idempost::new();
    for (name, command) in [
        ("emails", "config path"),
        ("contact-properties", "config path"),
        ("help", "config path"),
        ("a b", "config path"),
        ("-a", "config path"),
        ("x", ""),
        ("x", "emails list --to 'ada"),
        ("x", "$1 list"),
        ("x", "other"),
        ("x", "emails lsit"),
        ("x", "!echo"),
        ("x", "alias"),
    ] {
        let ran = idempost.run(&["alias", "set", "--", name, command]);
        let expected = if command == "alias" { Some(0) } else { Some(2) };
        assert_eq!(ran.code, expected, "{name} {command}: {ran:?}");
    }
    // A file written by hand.
    let idempost = idempost.config(
        "[aliases]\nconfig = \"man\"\ncontact-properties = \"config path\"\none = \"config path\"\ntwo = \"one\"\n",
    );
    let path = idempost.config_file().to_str().unwrap().to_owned() + "\n";
    assert_eq!(idempost.run(&["config", "path"]).ok(), path);
    assert_eq!(idempost.run(&["--quiet", "one"]).ok(), path);
    assert_ne!(idempost.run(&["contact-properties"]).stdout, path);
    idempost.run(&["two"]).fails_with(2, &["unknown command"]);
    let idempost = idempost.config("[aliases]\nfour = \"topics create 'News\"\n");
    idempost.run(&["four"]).fails_with(2, &["the alias `four`: a quote isn't closed"]);
    idempost
        .config("[aliases]\nthree = 3\n")
        .run(&["emails", "list"])
        .fails_with(2, &["the alias `three` must be a string"]);
}

#[test]
fn an_alias_can_not_widen_the_recipient_guard() {
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST_ALLOW_TO", "*@acme.test");
    idempost.run(&["alias", "set", "mail", "emails send --allow-to *@example.com"]).ok();
    idempost.run(&("mail", &SEND[2..])).fails_with(2, &["ada@example.com"]);
    assert_eq!(service.asked(), 0);
}

#[test]
fn an_alias_that_selects_the_account_is_shown() {
    let idempost = Idempost::new().config("[profiles.live]\nbase_url = \"https://live.test\"\n");
    idempost.run(&["alias", "set", "live", "emails list -plive --limit 0"]).ok();
    idempost.run(&["alias", "set", "short", "emails list --limit 0"]).ok();
    let stderr = idempost.run(&["live"]).fails(2);
    assert!(stderr.starts_with("live: emails list -plive --limit 0\n"), "{stderr}");
    assert!(!idempost.run(&["live", "--quiet"]).stderr.contains("live:"));
    assert!(!idempost.run(&["short"]).stderr.contains("short:"));
}

#[test]
fn help_and_manual_show_the_command_of_an_alias() {
    let idempost = Idempost::new();
    idempost.run(&["alias", "set", "bounced", "emails list --status bounced"]).ok();
    for page in ["help bounced", "man bounced"] {
        let ran = idempost.run(page).says(&["`bounced` is an alias of `emails list --status bounced`"]);
        ran.ok_with(&["emails list"]);
    }
    idempost.run(&["help"]).ok_with(&["Aliases:\n  bounced      emails list --status bounced\n"]);
    idempost.run(&["bounced", "--help"]).ok_with(&["Usage: idempost emails list"]);
}
