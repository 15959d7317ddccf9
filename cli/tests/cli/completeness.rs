//! Every operation of the contract has a command, and every command has an example.
//!
//! The examples of commands that read, and the commands below, are executed: the requests that arrive show which operations they use.

use idempost_conformance::contract::Contract;
use idempost_reference_server::Service as Core;
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{CommandLine as _, Idempost, concurrently};

const ID: &str = "78261eea-8f8b-4381-83c6-79fa7120f1cf";

const EVENT_ID: &str = "msg_78261eea8f8b438183c679fa7120f1cf";

/// `operationId`, its command with [`ID`]s, and the command's standard input.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("send_email", "emails send --from hi@acme.test --to ada@example.com --subject Hello --text Hi", ""),
    (
        "send_batch",
        "emails batch -",
        r#"[{"from":"hi@acme.test","to":"ada@example.com","subject":"Hello","text":"Hi"}]"#,
    ),
    ("update_email", "emails update ID --scheduled-at 'in 1 hour'", ""),
    ("share_email", "emails share ID --for 2h", ""),
    ("cancel_email", "emails cancel ID", ""),
    (
        "create_broadcast",
        "broadcasts create --segment-id ID --from hi@acme.test --subject Hello --text Hi",
        "",
    ),
    ("update_broadcast", "broadcasts update ID --subject Hello", ""),
    ("delete_broadcast", "broadcasts delete ID", ""),
    ("send_broadcast", "broadcasts send ID", ""),
    ("cancel_broadcast", "broadcasts cancel ID", ""),
    ("duplicate_broadcast", "broadcasts duplicate ID", ""),
    ("create_domain", "domains create acme.test", ""),
    ("update_domain", "domains update ID --open-tracking", ""),
    ("delete_domain", "domains delete ID", ""),
    ("verify_domain", "domains verify ID", ""),
    ("claim_domain", "domains claim create acme.test", ""),
    ("verify_domain_claim", "domains claim verify ID", ""),
    ("create_template", "templates create --name Welcome --html '<p>Hello</p>'", ""),
    ("update_template", "templates update welcome --subject Hello", ""),
    ("delete_template", "templates delete welcome", ""),
    ("publish_template", "templates publish welcome", ""),
    ("duplicate_template", "templates duplicate welcome", ""),
    ("create_contact", "contacts create ada@example.com", ""),
    ("update_contact", "contacts update ada@example.com --first-name Ada", ""),
    ("delete_contact", "contacts delete ada@example.com", ""),
    ("add_contact_to_segment", "contacts add-to-segment ada@example.com ID", ""),
    ("remove_contact_from_segment", "contacts remove-from-segment ada@example.com ID", ""),
    ("update_contact_topics", "contacts update-topics ada@example.com --opt-in ID", ""),
    ("create_contact_import", "contacts import - --server", "email\nada@example.com\n"),
    ("create_segment", "segments create Readers", ""),
    ("rename_segment", "segments rename ID Readers", ""),
    ("delete_segment", "segments delete ID", ""),
    ("list_audiences", "audiences list", ""),
    ("create_contact_property", "properties create --key city --type string", ""),
    ("update_contact_property", "properties update ID --fallback nowhere", ""),
    ("delete_contact_property", "properties delete ID", ""),
    ("create_topic", "topics create --name News --default-subscription opt_in", ""),
    ("update_topic", "topics update ID --name News", ""),
    ("delete_topic", "topics delete ID", ""),
    ("add_suppression", "suppressions add ada@example.com", ""),
    ("add_suppressions", "suppressions import -", "email\nada@example.com\n"),
    ("remove_suppressions", "suppressions remove ada@example.com bob@example.com", ""),
    ("remove_suppression", "suppressions remove ada@example.com", ""),
    ("create_automation", "automations create --definition -", AUTOMATION),
    ("update_automation", "automations update ID --status enabled", ""),
    ("delete_automation", "automations delete ID", ""),
    ("duplicate_automation", "automations duplicate ID", ""),
    ("stop_automation", "automations stop ID", ""),
    ("create_event", "events create user.created", ""),
    ("update_event", "events update user.created --field plan=string", ""),
    ("delete_event", "events delete user.created", ""),
    ("send_event", "events send user.created --email ada@example.com", ""),
    ("create_inbox", "inboxes create support@acme.test", ""),
    ("update_inbox", "inboxes update ID --name Help", ""),
    ("delete_inbox", "inboxes delete ID", ""),
    ("update_inbox_agent", "inboxes agent ID --clear tone", ""),
    ("get_inbox_agent", "inboxes agent ID", ""),
    ("create_inbox_label", "inboxes create-label ID Urgent", ""),
    ("update_inbox_label", "inboxes update-label ID ID --name Later", ""),
    ("delete_inbox_label", "inboxes delete-label ID ID", ""),
    ("search_inbox_threads", "inboxes search ID invoice", ""),
    ("update_inbox_thread", "inboxes move ID ID archive", ""),
    ("update_inbox_thread", "inboxes read ID ID", ""),
    ("delete_inbox_thread", "inboxes trash ID ID", ""),
    ("add_inbox_thread_labels", "inboxes label ID ID ID", ""),
    ("replace_inbox_thread_labels", "inboxes label ID ID ID --replace", ""),
    ("remove_inbox_thread_label", "inboxes unlabel ID ID ID", ""),
    ("reply_to_inbox_email", "inboxes reply ID ID ID --text x", ""),
    ("forward_inbox_email", "inboxes forward ID ID ID --to a@acme.test", ""),
    ("create_inbox_draft", "inboxes create-draft ID --text x", ""),
    ("update_inbox_draft", "inboxes update-draft ID ID --subject x", ""),
    ("delete_inbox_draft", "inboxes delete-draft ID ID", ""),
    ("send_inbox_draft", "inboxes send-draft ID ID", ""),
    ("create_webhook", "webhooks create --endpoint https://acme.test/hook --event email.sent", ""),
    ("update_webhook", "webhooks update ID --status disabled", ""),
    ("delete_webhook", "webhooks delete ID", ""),
    ("replay_webhook_event", "webhooks replay ID EVENT_ID", ""),
    ("rotate_webhook_signing_secret", "webhooks rotate-secret ID", ""),
    ("create_api_key", "api-keys create --name CI", ""),
    ("revoke_oauth_grant", "auth grants revoke ID", ""),
    ("update_api_key", "api-keys rename ID Build", ""),
    ("delete_api_key", "api-keys delete ID", ""),
];

const AUTOMATION: &str = r#"{"name":"Welcome","steps":[{"key":"start","type":"trigger","config":{"event_name":"user.created"}}],"connections":[]}"#;

/// Operations without a command, with their reasons. They are available through `idempost api`.
const WITHOUT_COMMAND: &[(&str, &str)] = &[
    ("send_email_by_short_path send_email_by_sending_path", "aliases of POST /emails"),
    ("send_email_by_short_sending_path", "an alias of POST /emails"),
    ("get_attachment", "used by `emails attachments --download` when a URL has expired"),
    ("get_received_attachment", "used by `received attachments --download` when a URL has expired"),
    ("authorize", "requested by a browser; `auth login` builds the URL"),
    ("exchange_token", "part of `auth login` and of every token refresh"),
    ("register_client", "part of `auth login`"),
    ("revoke_token", "part of `auth logout`"),
    ("get_authorization_server", "part of `auth login`"),
    ("get_protected_resource", "for services that verify tokens"),
    ("get_keys", "for services that verify tokens"),
    (
        "create_audience get_audience delete_audience",
        "deprecated: the program only lists audiences; use segments",
    ),
    ("list_audience_contacts create_audience_contact get_audience_contact", "deprecated: use segments"),
    ("update_audience_contact delete_audience_contact", "deprecated: use segments"),
];

/// Commands whose examples aren't run: they don't end, or they affect this machine.
const NOT_RUN: &str = "alias, api, auth login, auth logout, auth refresh, auth rename, auth use, bulk, completions, config, doctor, \
                       emails tail, help, logs tail, man, mcp, received watch, sandbox, webhooks listen";

/// The words of a command; replaces the names of the constants.
fn with_ids(line: &str) -> Vec<String> {
    let ids = |word: String| match word.as_str() {
        "ID" => ID.to_owned(),
        "EVENT_ID" => EVENT_ID.to_owned(),
        _ => word,
    };
    line.words().into_iter().map(ids).collect()
}

#[test]
fn every_operation_has_a_command_or_an_example_that_sends_it() {
    let operations = |service: &Service, from: usize| -> Vec<_> {
        let requests = service.requests();
        let sent = requests[from..].iter();
        sent.filter_map(|request| Contract::get().operation_id(&request.method, &request.path)).collect()
    };
    let sent = concurrently(COMMANDS.chunks(20), |commands| {
        let service = Service::start();
        for (id, line, input) in commands {
            let before = service.asked();
            let ran = service.run_with(&(with_ids(line), "--yes --no-input --retries 0"), input);
            let sent = operations(&service, before);
            assert!(sent.contains(id), "{id}: {line} sends {sent:?}: {}", ran.stderr);
        }
        operations(&service, 0)
    });
    let service = Service::start();
    let idempost = service.idempost().env("IDEMPOST", env!("CARGO_BIN_EXE_idempost"));
    concurrently(leaves(&idempost), |leaf| {
        let name = name(&leaf);
        let is_run = COMMANDS.iter().any(|(_, line, _)| format!("{line} ").starts_with(&format!("{name} ")))
            || NOT_RUN.split(", ").any(|skipped| format!("{name} ").starts_with(&format!("{skipped} ")));
        if !is_run {
            let help = idempost.run(&(name, "-h")).ok();
            let examples = help.split_once("\nExample").unwrap_or_else(|| panic!("{name}: {help}")).1;
            let examples = examples.split_once(":\n").unwrap().1.split("\n\n").next().unwrap();
            let script = format!("idempost() {{ \"$IDEMPOST\" \"$@\" --retries 0; }}\n{examples}");
            let ran = idempost.shell(&script);
            let is_valid = ran.code != Some(2) || ran.stderr.contains("No such file");
            assert!(is_valid, "{script}\n{}", ran.stderr);
        }
    });
    let known = |id: &str| WITHOUT_COMMAND.iter().any(|(known, _)| known.split(' ').any(|known| known == id));
    let sent = [sent.concat(), operations(&service, 0)].concat();
    // Separate tests ensure that the server's routes and the contract's operations match.
    let missing: Vec<_> = Core::routes()
        .filter_map(|(method, path)| Contract::get().operation_id(&method, &path.replace(['{', '}'], "")))
        .filter(|id| !known(id) && !sent.contains(id))
        .collect();
    assert!(
        missing.is_empty(),
        "without a command: {missing:#?}\nAdd an example that sends it, a line to COMMANDS in cli/tests/cli/completeness.rs if the example \
         needs a file or an answer, or the operation with a reason to WITHOUT_COMMAND."
    );
}

#[test]
fn a_dry_run_of_a_change_changes_nothing_and_needs_no_credential() {
    let reads = ["list_audiences", "get_inbox_agent", "search_inbox_threads"];
    let service = Service::start();
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", service.base_url());
    concurrently(COMMANDS.iter().filter(|(id, ..)| !reads.contains(id)), |(id, line, input)| {
        let ran = idempost.run_with(&(with_ids(line), "--dry-run"), input).exits(0);
        let shown: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        assert!(shown["dry_run"]["path"].is_string() || ran.stderr.contains("nothing sent"), "{id}: {ran:?}");
    });
    assert_eq!(service.asked(), 0);
}

#[test]
fn every_command_shows_an_example() {
    let idempost = Idempost::new();
    let commands = leaves(&idempost);
    assert!(commands.len() > 20, "{commands:?}");
    concurrently(commands, |leaf| {
        let name = name(&leaf);
        let help = idempost.run(&(name, "--help")).ok();
        let examples = help.split_once("Example").map_or("", |(_, examples)| examples);
        assert!(
            examples.contains(&format!("idempost {name}")),
            "no example in the help (`after_help`) of {name}"
        );
    });
}

/// All commands with their subcommands, as `help --json` describes them.
pub(crate) fn commands(idempost: &Idempost) -> Vec<Value> {
    fn collect(command: Value, found: &mut Vec<Value>) {
        let below = command["commands"].as_array().unwrap().clone();
        found.push(command);
        for command in below {
            collect(command, found);
        }
    }
    let mut found = Vec::new();
    collect(idempost.run("help --json").json(), &mut found);
    found
}

/// Those without subcommands. Deprecated ones name their replacement and are left out.
pub(crate) fn leaves(idempost: &Idempost) -> Vec<Value> {
    let is_leaf = |command: &Value| {
        let deprecated = command["about"].as_str().is_some_and(|about| about.starts_with("Deprecated"));
        command["commands"] == json!([]) && !deprecated
    };
    commands(idempost).into_iter().filter(is_leaf).collect()
}

/// The name of a command, without that of the program.
pub(crate) fn name(command: &Value) -> &str {
    command["command"].as_str().unwrap().strip_prefix("idempost").unwrap().trim_start()
}
