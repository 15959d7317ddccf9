//! Help, manual and completions, generated from one command tree.

use serde_json::Value;

use crate::support::{Idempost, concurrently};

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
        let noun: Vec<_> = noun.split(' ').collect();
        idempost.run(&(&noun, "ls -h")).ok();
        let listed = idempost.run(&(&noun, "-h")).ok();
        assert_eq!(listed.contains("delete"), listed.contains("rm]"), "{listed}");
    }
    let overview = idempost.run(&["help"]).ok();
    assert!(!topics.is_empty() && topics.iter().all(|topic| overview.contains(topic)), "{overview}");
}

#[test]
fn a_verb_without_its_noun_suggests_commands_after_flags_too() {
    let idempost = Idempost::new();
    for arguments in [&["send"][..], &["-q", "send"], &["--profile", "work", "send", "--to", "x"]] {
        let error = idempost.run(arguments).fails(2);
        assert!(error.contains("`emails send` or `bulk send`") && !error.contains("segments"), "{error}");
    }
    let error = idempost.run(&["--json", "send"]).error(2);
    assert!(error["hint"].as_str().unwrap().starts_with("did you mean `emails send` or"), "{error}");
    let nested = idempost.run(&["segments", "send"]).fails(2);
    assert!(!nested.contains("emails send"), "{nested}");
}

#[test]
fn an_error_in_a_flag_before_the_command_is_that_of_the_flag() {
    let idempost = Idempost::new();
    for (flags, expected) in [
        (&["--profile", "a", "--profile", "b"][..], "`--profile <NAME>` can't be used multiple times"),
        (&["--json", "--json"], "`--json[=<FIELDS>]` can't be used multiple times"),
    ] {
        let error = idempost.run(&[flags, &["emails", "list"]].concat());
        let stderr = &error.stderr;
        assert!(error.code == Some(2) && stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_noun_that_is_also_a_topic_shows_the_topic_and_its_commands_are_reachable() {
    let idempost = Idempost::new();
    assert!(idempost.run(&["help", "config"]).ok().contains("default_profile = \"work\""));
    assert!(idempost.run(&["help", "config", "set"]).ok().contains("Usage: idempost config set"));
}

#[test]
fn the_command_tree_is_available_as_json() {
    let tree = Idempost::new().run(&["help", "--json"]).json();
    assert_eq!(tree["command"], "idempost");
    assert_eq!(tree["exit_codes"][9]["name"], "unknown");
    let options = tree["arguments"].as_array().unwrap();
    let base_url = options.iter().find(|option| option["name"] == "--base-url").unwrap();
    assert_eq!((&base_url["type"], &base_url["global"]), (&"text".into(), &true.into()));
}

#[test]
fn no_flag_takes_a_credential() {
    // G-09: other users of the machine see command lines, and shells record them.
    fn collect(command: &Value, found: &mut Vec<String>) {
        let secret = |name: &str| {
            ["api-key", "token", "secret", "password", "credential"].iter().any(|word| name.ends_with(word))
        };
        for argument in command["arguments"].as_array().unwrap() {
            let name = argument["name"].as_str().unwrap();
            let Some(value) = argument["value"].as_str().filter(|value| *value != "PATH") else { continue };
            if secret(name) || secret(&value.to_lowercase()) {
                found.push(format!("{} {name}", command["command"].as_str().unwrap()));
            }
        }
        command["commands"].as_array().unwrap().iter().for_each(|command| collect(command, found));
    }
    let mut found = Vec::new();
    collect(&Idempost::new().run(&["help", "--json"]).json(), &mut found);
    // The password of a sandbox, which can also be set in its variable.
    assert_eq!(found, ["idempost sandbox serve --auth"]);
}

#[test]
fn the_help_of_a_list_states_its_default_length() {
    let idempost = Idempost::new();
    let all = "[default: all]";
    for list in [
        &["segments", "list"][..],
        &["segments", "contacts"],
        &["webhooks", "list"],
        &["audiences", "list"],
        &["contacts", "list"],
        &["contacts", "segments"],
        &["contacts", "topics"],
        &["domains", "list"],
        &["api-keys", "list"],
        &["broadcasts", "list"],
        &["events", "list"],
        &["received", "list"],
        &["received", "attachments"],
        &["emails", "attachments"],
        &["automations", "runs"],
        &["auth", "grants", "list"],
    ] {
        for form in ["-h", "--help"] {
            // Without its line breaks, which depend on the longest flag.
            let help = idempost.run(&(list, &[form])).ok();
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(all) && !help.contains("[default: 20]"), "{list:?}: {help}");
        }
    }
    for list in [&["emails", "list"][..], &["templates", "list"], &["webhooks", "events"], &["logs", "list"]]
    {
        let help = idempost.run(&(list, "--help")).ok();
        assert!(help.contains("[default: 20]") && !help.contains("returns all"), "{list:?}: {help}");
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let idempost = Idempost::new();
    for command in [&[][..], &["config"], &["config", "set"], &["sandbox", "serve"], &["doctor"]] {
        let help = idempost.run(&(command, "-h")).ok();
        assert!(help.lines().count() <= 41, "{command:?}\n{help}");
        assert!(!help.contains("--api-key-file"), "global options belong to `help options`\n{help}");
    }
    assert!(idempost.run(&["help", "options"]).ok().contains("--api-key-file <PATH>"));
}

#[test]
fn the_help_of_a_command_shows_its_own_flags_and_refers_to_the_global_ones() {
    let idempost = Idempost::new();
    for command in
        [&["emails", "send"][..], &["emails"], &["config", "set"], &["webhooks", "listen"], &["doctor"]]
    {
        for flag in ["-h", "--help"] {
            let help = idempost.run(&(command, &[flag])).ok();
            assert!(!help.contains("--base-url") && !help.contains("--jq <"), "{command:?}\n{help}");
            assert_eq!(help.matches("idempost help options").count(), 1, "{command:?}\n{help}");
        }
    }
    let overview = idempost.run("");
    assert!(overview.stdout.contains("Usage: idempost [OPTIONS] <COMMAND>"), "{overview:?}");
    assert_eq!((overview.code, overview.stderr.as_str()), (Some(0), ""));
}

#[test]
fn every_example_can_be_pasted_at_80_columns() {
    fn paths(command: &Value, found: &mut Vec<String>) {
        found.push(command["command"].as_str().unwrap().to_owned());
        command["commands"].as_array().unwrap().iter().for_each(|command| paths(command, found));
    }
    let idempost = Idempost::new().env("COLUMNS", "80");
    let mut pages = Vec::new();
    paths(&idempost.run(&["help", "--json"]).json(), &mut pages);
    let found = concurrently(pages, |page| {
        let (mut examples, mut wrapped) = (0, Vec::new());
        // The short help of other commands has the same examples.
        for flag in if page == "idempost emails send" { &["-h", "--help"][..] } else { &["--help"] } {
            let path: Vec<_> = page.split(' ').skip(1).chain([*flag]).collect();
            let help = idempost.run(&path).ok();
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
    let mut commands = Vec::new();
    let tree = idempost.run(&["help", "--json"]).json();
    crate::completeness::leaves(&tree, &mut commands);
    let seen = concurrently(commands, |leaf| {
        let mut seen = 0;
        let command = leaf["command"].as_str().unwrap();
        let path: Vec<_> = command.split(' ').skip(1).collect();
        let mutates = leaf["arguments"].as_array().unwrap().iter().any(|one| one["name"] == "--dry-run");
        if !mutates && path != ["webhooks", "verify"] {
            return seen;
        }
        let dry_run: &[&str] = if mutates { &["-n"] } else { &[] };
        let error = (0..3)
            .map(|ids| idempost.run(&[&path[..], &["x"][..].repeat(ids), dry_run, &["--json"]].concat()))
            .filter(|ran| ran.code == Some(2))
            .find_map(|ran| {
                let error: serde_json::Value = serde_json::from_str(ran.stderr.lines().last()?).ok()?;
                error["error"]["missing"].as_array().cloned()
            });
        let Some(error) = error else { return seen };
        let help = idempost.run(&(&path, "-h")).ok();
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
    let page = idempost.run(&["man", "sandbox", "serve"]).ok();
    assert!(page.contains(".TH") && page.contains("EXIT CODES") && page.contains("127.0.0.1"));
    assert!(
        page.contains("idempost\\fR(1)") && !page.contains("profile"),
        "global options are on the first page: {page}"
    );
    let first = idempost.run(&["man"]).ok();
    assert!(
        first.contains("Profile from the configuration file") && first.contains("idempost \\- CLI"),
        "{first}"
    );
    assert!(idempost.run(&["man", "nope"]).fails(2).contains("--> COMMAND:1:1"));
    idempost.run(&["man", "--install", "pages"]).ok();
    for name in ["idempost.1", "idempost-config-set.1", "idempost-sandbox-inbox-wait.1"] {
        assert!(idempost.home().join("pages").join(name).exists(), "{name}");
    }
}

#[test]
fn a_value_that_must_follow_an_equals_sign_is_suggested() {
    let idempost = Idempost::new();
    for (arguments, meant) in [
        (&["emails", "list", "--json", "id,to"][..], "--json=id,to"),
        (&["contacts", "update", "ada@example.com", "--unsubscribed", "false"], "--unsubscribed=false"),
    ] {
        let ran = idempost.run(arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(&format!("did you mean `{meant}`?")), "{ran:?}");
    }
}
