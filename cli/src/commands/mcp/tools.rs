//! The tools, generated from the command tree.

use clap::ArgAction;
use serde_json::{Map, Value, json};

use super::Access;
use crate::input::flags::{Local, Required};

/// The groups of commands that are tools.
const GROUPS: [&str; 19] = [
    "api-keys",
    "automations",
    "broadcasts",
    "contacts",
    "doctor",
    "domains",
    "emails",
    "events",
    "inboxes",
    "logs",
    "properties",
    "received",
    "segments",
    "suppressions",
    "templates",
    "topics",
    "usage",
    "webhooks",
    "sandbox inbox",
];

/// Commands that aren't tools: they don't end, return a secret, or send mail without a dry run.
const EXCLUDED_COMMANDS: [&str; 9] = [
    "api-keys create",
    "emails tail",
    "logs tail",
    "received watch",
    "sandbox inbox release",
    "webhooks create",
    "webhooks listen",
    "webhooks rotate-secret",
    "webhooks verify",
];

/// The commands that send to recipients.
const SENDING: [&str; 8] = [
    "broadcasts send",
    "emails send",
    "emails share",
    "events send",
    "inboxes forward",
    "inboxes reply",
    "inboxes send-draft",
    "received",
];

/// Value names of arguments that name local files or run commands; arguments of rows are marked with [`Local`]. A tool's values can't
/// ([`crate::literal`]), so they are omitted.
const LOCAL: [&str; 5] = ["COMMAND", "DEST", "DIR", "FILE", "PATH"];

/// A command as a tool.
#[derive(Debug)]
pub(super) struct Tool {
    /// The command without the program's name, such as `emails send`.
    pub(super) command: String,
    pub(super) access: Access,
    pub(super) description: String,
    pub(super) parameters: Vec<Parameter>,
}

/// A tool's parameter, from an argument of its command.
#[derive(Debug)]
pub(super) struct Parameter {
    /// The flag's long name with `_` for `-`, or the positional argument's ID.
    pub(super) name: String,
    /// `None` for a positional argument.
    pub(super) flag: Option<String>,
    pub(super) kind: Kind,
    pub(super) repeats: bool,
    required: bool,
    about: String,
}

/// The type of a parameter.
#[derive(Debug)]
pub(super) enum Kind {
    Switch,
    /// A flag whose value is optional.
    SwitchOrText,
    Boolean,
    Integer,
    Text,
    Choice(Vec<String>),
    /// A JSON array or object.
    Json,
    /// Pairs of a name and a value.
    Pairs {
        separator: &'static str,
        json: bool,
    },
}

impl Kind {
    /// The type of an argument that takes a value, by the name of the value.
    fn from_value_name(name: &str, choices: Vec<String>) -> Self {
        match name {
            "BOOL" => Self::Boolean,
            "N" => Self::Integer,
            "JSON" => Self::Json,
            "NAME: VALUE" => Self::Pairs { separator: ": ", json: false },
            name if name.contains('=') => Self::Pairs { separator: "=", json: name.ends_with("=JSON") },
            _ if choices.is_empty() => Self::Text,
            _ => Self::Choice(choices),
        }
    }
}

/// All tools with at most this access.
pub(super) fn list_tools(tree: &clap::Command, allowed: Access) -> Vec<Tool> {
    let mut tools = Vec::new();
    collect_tools(tree, "", &mut tools);
    tools.retain(|tool| tool.access <= allowed);
    tools
}

fn collect_tools(command: &clap::Command, path: &str, tools: &mut Vec<Tool>) {
    for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
        let path = if path.is_empty() {
            child.get_name().to_owned()
        } else {
            format!("{path} {}", child.get_name())
        };
        if child.has_subcommands() {
            collect_tools(child, &path, tools);
        } else if is_in(&path, &GROUPS) && !is_in(&path, &EXCLUDED_COMMANDS) {
            tools.extend(tool(child, path));
        }
    }
}

/// Whether a command or its group is in the list.
fn is_in(path: &str, list: &[&str]) -> bool {
    list.iter().any(|one| path == *one || path.strip_prefix(one).is_some_and(|rest| rest.starts_with(' ')))
}

/// The tool of a command; `None` if it requires a local file.
fn tool(command: &clap::Command, path: String) -> Option<Tool> {
    let mut parameters = Vec::new();
    // Hidden arguments are aliases of visible ones.
    let arguments = command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    for arg in arguments.filter(|arg| !is_help(arg)) {
        match parameter(arg) {
            Some(parameter) => parameters.push(parameter),
            None if arg.is_required_set() => return None,
            None => {}
        }
    }
    let changes = parameters.iter().any(|parameter| parameter.name == "dry_run");
    let access = match (changes, is_in(&path, &SENDING)) {
        (false, _) => Access::Read,
        (true, true) => Access::Send,
        (true, false) => Access::Manage,
    };
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    let description = describe(&text(command.get_about()), &text(command.get_long_about()));
    Some(Tool { command: path, access, description, parameters })
}

fn is_help(arg: &clap::Arg) -> bool {
    matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

/// The parameter of an argument; `None` if it names local files or runs commands.
fn parameter(arg: &clap::Arg) -> Option<Parameter> {
    let values = arg.get_value_names().unwrap_or_default();
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let is_local = arg.get::<Local>().is_some() || values.iter().any(|value| LOCAL.contains(&value.as_str()));
    if is_local {
        return None;
    }
    let number = arg.get_num_args();
    let choices: Vec<_> = arg.get_possible_values();
    let choices =
        choices.iter().filter(|choice| !choice.is_hide_set()).map(|choice| choice.get_name().to_owned());
    let has_optional_value = number.is_some_and(|number| number.min_values() == 0) && !arg.is_positional();
    let repeats = takes_value
        && (matches!(arg.get_action(), ArgAction::Append)
            || number.is_some_and(|number| number.max_values() > 1));
    let kind = if takes_value {
        match Kind::from_value_name(values.first().map_or("", |value| value.as_str()), choices.collect()) {
            Kind::Text | Kind::Choice(_) if has_optional_value => Kind::SwitchOrText,
            Kind::Pairs { .. } if !repeats => Kind::Text,
            kind => kind,
        }
    } else {
        Kind::Switch
    };
    let name = arg.get_long().unwrap_or(arg.get_id().as_str());
    let default = arg.get_default_values().first().filter(|_| takes_value);
    let default = default.map(|value| format!(" [default: {}]", value.to_string_lossy())).unwrap_or_default();
    Some(Parameter {
        name: name.replace('-', "_"),
        flag: arg.get_long().map(|long| format!("--{long}")),
        kind,
        repeats,
        required: arg.is_required_set() || arg.get::<Required>().is_some(),
        about: format!(
            "{}{default}",
            tool_help(&arg.get_help().map(ToString::to_string).unwrap_or_default())
        ),
    })
}

impl Tool {
    /// The tool's name, such as `emails_send`.
    pub(super) fn name(&self) -> String {
        self.command.replace([' ', '-'], "_")
    }

    /// Whether results contain untrusted text, such as received emails, subjects or contact names.
    pub(super) fn returns_content(&self) -> bool {
        let own = ["doctor", "usage"].contains(&self.group());
        !own && self.access == Access::Read || ["inboxes", "received"].contains(&self.group())
    }

    /// The group: the first word of the command.
    pub(super) fn group(&self) -> &str {
        self.command.split(' ').next().unwrap_or_default()
    }

    /// The JSON schema of its parameters.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let properties: Map<_, _> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required: Vec<_> = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required)
            .map(|parameter| parameter.name.as_str())
            .collect();
        let mut schema = Map::from_iter([
            ("type".to_owned(), "object".into()),
            ("properties".to_owned(), properties.into()),
        ]);
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        schema
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let one = match &self.kind {
            Kind::Switch | Kind::SwitchOrText | Kind::Boolean => json!({"type": "boolean"}),
            Kind::Integer => json!({"type": "integer"}),
            Kind::Text => json!({"type": "string"}),
            Kind::Choice(choices) => json!({"type": "string", "enum": choices}),
            Kind::Json => json!({"type": ["array", "object"]}),
            Kind::Pairs { .. } => json!({"type": "object"}),
        };
        let mut schema = match self.kind {
            Kind::Pairs { .. } => one,
            _ if self.repeats => json!({"type": "array", "items": one}),
            _ => one,
        };
        schema["description"] = self.about.as_str().into();
        schema
    }
}

/// A command's description without the parts about the command line: invocation and output.
fn describe(about: &str, long: &str) -> String {
    let about = [", and print its ID", " and print its ID", " and print it", "--"]
        .iter()
        .fold(about.to_owned(), |about, part| about.replace(part, ""));
    let paragraphs = long.split("\n\n").skip(1).map(|paragraph| {
        let sentences = paragraph.split_inclusive(". ").filter(|sentence| !is_about_the_terminal(sentence));
        sentences.collect::<String>().trim_end().to_owned()
    });
    let paragraphs = paragraphs.filter(|paragraph| !paragraph.is_empty());
    std::iter::once(about).chain(paragraphs).collect::<Vec<_>>().join("\n")
}

/// An argument's help without the parts about the command line.
fn tool_help(text: &str) -> String {
    if text.starts_with("Validate everything and show the request") {
        return "Show the request without sending it".to_owned();
    }
    let parts = text.split("; ").filter(|part| {
        !is_about_the_terminal(part) && !part.contains("repeat") && !part.starts_with("several values")
    });
    let kept = parts.collect::<Vec<_>>().join("; ").replace(", separated by commas", "");
    if kept.is_empty() { text.split("; ").next().unwrap_or_default().replace("--", "") } else { kept }
}

fn is_about_the_terminal(text: &str) -> bool {
    let words = [
        "--",
        "-o ",
        "Prints ",
        "exits with",
        "terminal",
        "table",
        "standard input",
        "flag",
        " file",
        "=curl",
    ];
    words.iter().any(|word| text.contains(word))
}
