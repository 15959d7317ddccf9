//! `help`: the help of a command or topic, or the whole command tree as JSON.

use clap::builder::ValueRange;
use serde_json::{Value, json};

use super::alias;
use crate::context::Context;
use crate::diagnostics::{Diagnostic, EXIT_CODES, Fail, Origin};
use crate::input::flags::Required;
use crate::output::color;
use crate::settings::keys::{self, KEYS};

/// A help page that isn't about a command.
struct Topic {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

static TOPICS: &[Topic] = &[
    topic("config", "configuration file and profiles", include_str!("help/config.md")),
    topic("environment", "environment variables", include_str!("help/environment.md")),
    topic("exit-codes", "exit codes and their meaning", include_str!("help/exit-codes.md")),
    topic("formatting", "tables, JSON, --jq and pipes", include_str!("help/formatting.md")),
    topic("input", "sources of values: files, pipes, commands", include_str!("help/input.md")),
    topic("json-schema", "JSON objects defined by this program", include_str!("help/json-schema.md")),
    topic("options", "flags that every command accepts", include_str!("help/options.md")),
    topic("search", "search language of the sandbox's inbox", include_str!("help/search.md")),
];

const fn topic(name: &'static str, about: &'static str, text: &'static str) -> Topic {
    Topic { name, about, text }
}

/// Show help for a command or topic
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Topics: config, environment, exit-codes, formatting, input, json-schema, options, search\n\n\
    Examples:\n  idempost help emails send\n  idempost help exit-codes\n  idempost help --json"
)]
pub(crate) struct Args {
    /// Command, such as `emails send`, or topic
    #[arg(value_name = "COMMAND|TOPIC")]
    of: Vec<String>,
}

/// The part of the command tree that a page needs.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// The nouns, without verbs.
    Overview,
    /// A noun with its verbs, or everything if there is no such noun.
    Noun(&'a str),
    /// Everything.
    Whole,
}

/// Prints the page.
pub(crate) fn run(
    args: &Args,
    tree: impl Fn(Part<'_>) -> clap::Command,
    context: &Context,
) -> Result<(), Fail> {
    if let [name] = args.of.as_slice()
        && let Some(topic) = TOPICS.iter().find(|topic| topic.name == name)
    {
        let text = insert_tables(topic.text, &tree(Part::Overview));
        return context
            .out
            .result(&[text.trim_end().to_owned()], &json!({ "topic": topic.name, "text": text }));
    }
    let root = match args.of.first() {
        Some(noun) => tree(Part::Noun(noun)),
        None if context.out.is_json() => tree(Part::Whole),
        None => tree(Part::Overview),
    };
    let (command, name) = find(&root, &alias::resolve(&args.of, &root, context))?;
    if context.out.is_json() {
        let mut document = describe_command(command, &name);
        if args.of.is_empty() {
            let alias = |(name, command)| json!({ "name": name, "command": command });
            document["aliases"] = alias::load_all(&context.env).into_iter().map(alias).collect();
        }
        return context.out.document(&document);
    }
    let mut command = command.clone().bin_name(name);
    let help = if args.of.is_empty() { command.render_help() } else { command.render_long_help() };
    let styled = context.out.terminal.color_stdout;
    let mut lines = vec![if styled { help.ansi().to_string() } else { help.to_string() }];
    if args.of.is_empty() {
        lines.push(color::paint("Topics (idempost help TOPIC):", color::HEADING, styled));
        lines.extend(TOPICS.iter().map(|topic| format!("  {:<12} {}", topic.name, topic.about)));
        let aliases = alias::load_all(&context.env);
        if !aliases.is_empty() {
            lines.push(color::paint("\nAliases:", color::HEADING, styled));
            lines.extend(aliases.iter().map(|(name, command)| format!("  {name:<12} {command}")));
        }
        lines.push(String::new());
    }
    context.out.bytes(lines.join("\n").as_bytes())
}

/// Returns the command at that path, and its full name: `idempost emails send`.
pub(crate) fn find<'a>(
    root: &'a clap::Command,
    path: &[String],
) -> Result<(&'a clap::Command, String), Fail> {
    let (mut command, mut name) = (root, "idempost".to_owned());
    for part in path {
        let Some(child) = command.find_subcommand(part) else {
            let known = command.get_subcommands().map(clap::Command::get_name);
            let known = known.chain(TOPICS.iter().map(|topic| topic.name).filter(|_| path.len() == 1));
            let hint = keys::suggestion_hint(part, known);
            let rule = format!("unknown command or topic `{part}`");
            let origin = Some(Origin::flag("COMMAND", part));
            let found = Diagnostic { hint, ..Diagnostic::new("unknown", rule.as_str(), origin) };
            return Err(Fail::invalid(rule, vec![found]).hint("idempost help"));
        };
        command = child;
        name = format!("{name} {}", child.get_name());
    }
    Ok((command, name))
}

/// Inserts generated tables into a topic's text.
fn insert_tables(text: &str, root: &clap::Command) -> String {
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = width(&mut EXIT_CODES.iter().map(|row| row.name.len()));
    let meanings = width(&mut EXIT_CODES.iter().map(|row| row.meaning.len()));
    let codes = EXIT_CODES.iter().map(|row| {
        let (code, name, meaning, advice) = (row.code, row.name, row.meaning, row.advice);
        format!("  {code:>3}  {name:<names$}  {meaning:<meanings$}  {advice}\n")
    });
    let settings_width = width(&mut KEYS.iter().map(|key| key.name.len()));
    let settings = KEYS.iter().map(|key| {
        let default = key.default.map(|value| format!(" [{value}]")).unwrap_or_default();
        let also = [key.env, key.flag].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let also = if also.is_empty() { also } else { format!("  {:settings_width$}  {also}\n", "") };
        format!("  {:<settings_width$}  {}{default}\n{also}", key.name, key.help)
    });
    let shared = root.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
    let options = shared.map(|arg| {
        let short = arg.get_short().map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
        let value = match value_name(arg) {
            _ if !takes_value(arg) => String::new(),
            name if arg.is_require_equals_set() => format!("[=<{name}>]"),
            name => format!(" <{name}>"),
        };
        let long = arg.get_long().unwrap_or_default();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        format!("  {:<27} {help}\n", format!("{short}--{long}{value}"))
    });
    text.replace("{exit-codes}\n", &codes.collect::<String>())
        .replace("{settings}\n", &settings.collect::<String>())
        .replace("{options}\n", &options.collect::<String>())
}

fn takes_value(arg: &clap::Arg) -> bool {
    arg.get_num_args().is_none_or(|number: ValueRange| number.takes_values())
        && arg.get_action().takes_values()
}

fn value_name(arg: &clap::Arg) -> String {
    arg.get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| "VALUE".to_owned(), ToString::to_string)
}

/// Describes a command and its subcommands as JSON.
fn describe_command(command: &clap::Command, path: &str) -> Value {
    let own = |arg: &&clap::Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let arguments: Vec<Value> = command
        .get_arguments()
        .filter(own)
        .filter(|arg| path == "idempost" || !arg.is_global_set())
        .map(describe_argument)
        .collect();
    let commands: Vec<Value> = command
        .get_subcommands()
        .filter(|child| !child.is_hide_set())
        .map(|child| describe_command(child, &format!("{path} {}", child.get_name())))
        .collect();
    let mut object = json!({
        "command": path,
        "about": command.get_about().map(ToString::to_string),
        "arguments": arguments,
        "commands": commands,
    });
    if path == "idempost" {
        object["version"] = json!(command.get_version());
        object["exit_codes"] = EXIT_CODES
            .iter()
            .map(|row| json!({ "code": row.code, "name": row.name, "meaning": row.meaning, "advice": row.advice }))
            .collect();
        object["settings"] = KEYS
            .iter()
            .map(|key| json!({ "name": key.name, "default": key.default, "env": key.env, "flag": key.flag, "about": key.help }))
            .collect();
        object["topics"] =
            TOPICS.iter().map(|topic| json!({ "name": topic.name, "about": topic.about })).collect();
    }
    object
}

fn describe_argument(arg: &clap::Arg) -> Value {
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    let kind = if !takes_value(arg) {
        "switch"
    } else if choices.is_empty() {
        "text"
    } else {
        "choice"
    };
    let repeats = matches!(arg.get_action(), clap::ArgAction::Append | clap::ArgAction::Count)
        || arg.get_num_args().is_some_and(|number| number.max_values() > 1);
    json!({
        "name": arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}")),
        "short": arg.get_short().map(|short| format!("-{short}")),
        "positional": arg.is_positional(),
        "type": kind,
        "value": takes_value(arg).then(|| value_name(arg)),
        "required": arg.is_required_set() || arg.get::<Required>().is_some(),
        "repeats": repeats,
        "global": arg.is_global_set(),
        "default": arg.get_default_values().first().map(|value| value.to_string_lossy()),
        "choices": choices,
        "about": arg.get_help().map(ToString::to_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_tree;

    /// All commands without subcommands, with their path.
    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
        if command.get_subcommands().next().is_none() {
            found.push((path.to_owned(), command.clone()));
        }
        for child in command.get_subcommands() {
            leaves(child, &format!("{path} {}", child.get_name()), found);
        }
    }

    #[test]
    fn every_command_and_argument_has_help() {
        let mut found = Vec::new();
        leaves(&command_tree(), "idempost", &mut found);
        for (path, command) in found {
            assert!(command.get_about().is_some(), "{path} has no description");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{path} {} has no help", arg.get_id());
            }
        }
    }

    #[test]
    fn every_topic_is_complete_and_fits_a_terminal() {
        let root = command_tree();
        for topic in TOPICS {
            let text = insert_tables(topic.text, &root);
            assert!(
                !text.contains("{exit-codes}") && !text.contains("{settings}") && !text.contains("{options}")
            );
            assert!(!text.lines().any(|line| line.chars().count() > 132), "{}", topic.name);
        }
    }

    #[test]
    fn the_json_tree_has_types_and_exit_codes() {
        let root = describe_command(&command_tree(), "idempost");
        assert_eq!(root["exit_codes"].as_array().unwrap().len(), EXIT_CODES.len());
        let shell = &root["commands"]
            .as_array()
            .unwrap()
            .iter()
            .find(|command| command["command"] == "idempost completions")
            .unwrap()["arguments"][0];
        assert_eq!((shell["type"].as_str(), shell["required"].as_bool()), (Some("choice"), Some(true)));
    }
}
