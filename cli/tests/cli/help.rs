//! Help, manual and completions, generated from one command tree.

use serde_json::{Value, json};

use crate::completeness::{commands, leaves, name};
use crate::support::{Idempost, Ran, concurrently, has};

#[test]
fn every_topic_prints_and_a_misspelled_one_gets_a_suggestion() {
    let idempost = Idempost::new();
    let topics =
        ["config", "environment", "exit-codes", "formatting", "input", "json-schema", "options", "search"];
    for topic in topics {
        assert!(idempost.run(&["help", topic]).ok().lines().count() > 3, "{topic}");
    }
    idempost.run(&["help", "exit-code"]).fails_with(2, &["did you mean `exit-codes`?"]);
    for noun in ["segments", "contacts", "domains", "webhooks", "auth grants", "logs", "received"] {
        idempost.run(&(noun, "ls -h")).ok();
        let listed = idempost.run(&(noun, "-h")).ok();
        assert_eq!(listed.contains("delete"), listed.contains("rm]"), "{listed}");
    }
    let overview = idempost.run(&["help"]).ok();
    assert!(!topics.is_empty() && topics.iter().all(|topic| overview.contains(topic)), "{overview}");
}

#[test]
fn a_verb_without_its_noun_suggests_commands_after_flags_too() {
    let idempost = Idempost::new();
    for line in ["send", "-q send", "--profile work send --to x"] {
        idempost.run(line).hides(&["segments"]).fails_with(2, &["`emails send` or `bulk send`"]);
    }
    let error = idempost.run(&["--json", "send"]).error(2);
    assert!(error["hint"].as_str().unwrap().starts_with("did you mean `emails send` or"), "{error}");
    idempost.run("segments send").hides(&["emails send"]).fails(2);
    // The word is the start of a noun.
    idempost.run("email send").fails_with(2, &["did you mean `emails` or `inboxes email`?"]);
    idempost.run("inbox list").fails_with(2, &["did you mean `inboxes` or `sandbox inbox`?"]);
}

#[test]
fn a_noun_that_is_also_a_topic_shows_the_topic_and_its_commands_are_reachable() {
    let idempost = Idempost::new();
    idempost.run(&["help", "config"]).ok_with(&["default_profile = \"work\""]);
    idempost.run(&["help", "config", "set"]).ok_with(&["Usage: idempost config set"]);
}

#[test]
fn the_command_tree_is_available_as_json() {
    let tree = Idempost::new().run(&["help", "--json"]).json();
    assert_eq!(tree["command"], "idempost");
    assert_eq!(tree["exit_codes"][9]["name"], "unknown");
    let options = tree["arguments"].as_array().unwrap();
    let base_url = options.iter().find(|option| option["name"] == "--base-url").unwrap();
    has(base_url, &json!({"type": "text", "global": true}));
}

#[test]
fn no_flag_takes_a_credential() {
    // G-09: other users of the machine see command lines, and shells record them.
    let secret = |name: &str| {
        ["api-key", "token", "secret", "password", "credential"].iter().any(|word| name.ends_with(word))
    };
    let mut found = Vec::new();
    for command in commands(&Idempost::new()) {
        for argument in command["arguments"].as_array().unwrap() {
            let flag = argument["name"].as_str().unwrap();
            let Some(value) = argument["value"].as_str().filter(|value| *value != "PATH") else { continue };
            if secret(flag) || secret(&value.to_lowercase()) {
                found.push(format!("{} {flag}", name(&command)));
            }
        }
    }
    // The password of a sandbox, which can also be set in its variable.
    assert_eq!(found, ["sandbox serve --auth"]);
}

#[test]
fn the_help_of_a_list_states_its_default_length() {
    let idempost = Idempost::new();
    let complete = "segments list, segments contacts, webhooks list, audiences list, contacts list, contacts segments, \
                    contacts topics, domains list, api-keys list, broadcasts list, events list, received list, \
                    received attachments, emails attachments, automations runs, auth grants list";
    for list in complete.split(", ") {
        for form in ["-h", "--help"] {
            // Without its line breaks, which depend on the longest flag.
            let help = idempost.run(&(list, form)).ok();
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains("[default: all]") && !help.contains("[default: 20]"), "{list}: {help}");
        }
    }
    for list in ["emails list", "templates list", "webhooks events", "logs list"] {
        idempost.run(&(list, "--help")).hides(&["returns all"]).ok_with(&["[default: 20]"]);
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let idempost = Idempost::new();
    for command in ["", "config", "config set", "sandbox serve", "doctor"] {
        // Global options belong to `help options`.
        let help = idempost.run(&(command, "-h")).hides(&["--api-key-file"]).ok();
        assert!(help.lines().count() <= 41, "{command}\n{help}");
    }
    idempost.run(&["help", "options"]).ok_with(&["--api-key-file <PATH>"]);
}

#[test]
fn the_help_of_a_command_shows_its_own_flags_and_refers_to_the_global_ones() {
    let idempost = Idempost::new();
    for command in ["emails send", "emails", "config set", "webhooks listen", "doctor"] {
        for flag in ["-h", "--help"] {
            let help = idempost.run(&(command, flag)).hides(&["--base-url", "--jq <"]).ok();
            assert_eq!(help.matches("idempost help options").count(), 1, "{command}\n{help}");
        }
    }
    let overview = idempost.run("").prints(&["Usage: idempost [OPTIONS] <COMMAND>"]);
    assert_eq!((overview.code, overview.stderr.as_str()), (Some(0), ""));
}

#[test]
fn every_example_can_be_pasted_at_80_columns() {
    let idempost = Idempost::new().env("COLUMNS", "80");
    let found = concurrently(commands(&idempost), |command| {
        let page = name(&command);
        let (mut examples, mut wrapped) = (0, Vec::new());
        // The short help of other commands has the same examples.
        for flag in if page == "emails send" { &["-h", "--help"][..] } else { &["--help"] } {
            let help = idempost.run(&(page, flag)).ok();
            // The last part of a page. An example in it is an indented line, with the lines that a backslash continues.
            let start = ["\nExample:\n", "\nExamples:\n"].iter().find_map(|start| help.find(start));
            let lines =
                help[start.unwrap_or(help.len())..].lines().skip(2).take_while(|line| line.starts_with("  "));
            let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
            for example in joined.lines() {
                examples += 1;
                let is_whole = ['\'', '"'].iter().all(|quote| example.matches(*quote).count() % 2 == 0);
                if !is_whole || !example.contains("idempost ") {
                    wrapped.push(format!("{page} {flag}: {example}"));
                }
            }
        }
        (examples, wrapped)
    });
    let (examples, wrapped): (Vec<u32>, Vec<_>) = found.into_iter().unzip();
    let (examples, wrapped) = (examples.iter().sum::<u32>(), wrapped.concat());
    assert!(examples > 300, "{examples}");
    assert!(wrapped.is_empty(), "{wrapped:#?}");
}

#[test]
fn every_flag_reported_as_missing_is_in_the_usage_line() {
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", "http://127.0.0.1:9");
    let seen = concurrently(leaves(&idempost), |leaf| {
        let mut seen = 0;
        let command = name(&leaf);
        let mutates = leaf["arguments"].as_array().unwrap().iter().any(|one| one["name"] == "--dry-run");
        if !mutates && command != "webhooks verify" {
            return seen;
        }
        let flags = if mutates { "-n --json" } else { "--json" };
        let runs = ["", "x", "x x"].map(|ids| idempost.run(&((command, ids), flags)));
        let missing = |ran: &Ran| {
            let error: Value = serde_json::from_str(ran.stderr.lines().last()?).ok()?;
            error["error"]["missing"].as_array().cloned()
        };
        let mut refused = runs.iter().filter(|ran| ran.code == Some(2));
        let Some(error) = refused.find_map(missing) else { return seen };
        let help = idempost.run(&(command, "-h")).ok();
        let usage = help.lines().find(|line| line.starts_with("Usage: ")).unwrap();
        for missing in error {
            let missing = missing.as_str().unwrap();
            let flag = missing.split(" (").next().unwrap();
            if !flag.contains(" or ") && flag != "a field to change" {
                seen += 1;
                assert!(usage.contains(flag), "{command}: {missing} in `{usage}`");
            }
        }
        seen
    });
    assert!(seen.iter().sum::<u32>() >= 15, "{seen:?}");
}

#[test]
fn every_command_has_a_manual_page() {
    let idempost = Idempost::new();
    let page = idempost.run(&["man", "sandbox", "serve"]).ok_with(&[".TH", "EXIT CODES", "127.0.0.1"]);
    // Global options are on the first page.
    assert!(page.contains("idempost\\fR(1)") && !page.contains("profile"), "{page}");
    idempost.run(&["man"]).ok_with(&["Profile from the configuration file", "idempost \\- CLI"]);
    idempost.run(&["man", "nope"]).fails_with(2, &["--> COMMAND:1:1"]);
    idempost.run(&["man", "--install", "pages"]).ok();
    for name in ["idempost.1", "idempost-config-set.1", "idempost-sandbox-inbox-wait.1"] {
        assert!(idempost.home().join("pages").join(name).exists(), "{name}");
    }
}
