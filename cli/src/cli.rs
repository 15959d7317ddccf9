//! The root of the command tree: the nouns and the global flags.
//!
//! The parser checks only the form. Values are validated later, so that all problems are reported together.

mod examples;

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, ArgMatches, Args as _, FromArgMatches as _};

use self::examples::fold_examples;
use crate::actions::repeat::KeyFlag;
use crate::commands::help::Part;
use crate::commands::{self, alias};
use crate::diagnostics::Fail;
use crate::global::Global;
use crate::input::flags::Required;
use crate::rows::operation::{Direct, ShowAs, own};
use crate::rows::{self, Command, Property, Verb, noun};
use crate::settings::env::Env;

/// The colors of help texts.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// The flags that select an account.
const ACCOUNT: [&str; 4] = ["-p", "--profile", "--base-url", "--api-key-file"];

/// Maximum number of commands suggested for a verb without a noun.
const MAX_SUGGESTED: usize = 5;

/// The command line.
pub(crate) struct Cli {
    pub(crate) global: Global,
    pub(crate) command: Command,
}

/// The command without arguments and nouns.
fn bare_root() -> clap::Command {
    clap::Command::new("idempost")
        .version(env!("CARGO_PKG_VERSION"))
        .styles(STYLES)
        .disable_help_subcommand(true)
        .after_help(
            "Try it without an account: idempost sandbox serve\n\
            More: idempost help COMMAND, idempost help exit-codes, idempost help options",
        )
}

// The nouns, and the commands without one.
noun!(
    Root,
    "Command-line program and local sandbox for the Resend email API (not affiliated with Resend)",
    VERBS
);

/// Works without a service, and never waits.
const DIRECT: &[Property] = &[Property::Local, Property::Direct];
/// Takes an idempotency key as a flag of its own.
const TAKES_KEY: &[Property] = &[Property::TakesKey(KeyFlag::Own)];

const VERBS: &[Verb] = &[
    Verb::noun::<commands::emails::Emails>("emails").is(TAKES_KEY),
    Verb::noun::<commands::bulk::Jobs>("bulk"),
    Verb::noun::<commands::broadcasts::Broadcasts>("broadcasts"),
    Verb::noun::<commands::templates::Templates>("templates"),
    Verb::noun::<commands::domains::Domains>("domains"),
    Verb::noun::<commands::contacts::Contacts>("contacts"),
    Verb::noun::<commands::segments::Segments>("segments"),
    // The former name of segments.
    Verb::noun::<commands::audiences::Audiences>("audiences").hidden(),
    Verb::noun::<commands::topics::Topics>("topics"),
    Verb::noun::<commands::properties::Properties>("properties").alias("contact-properties"),
    Verb::noun::<commands::suppressions::Suppressions>("suppressions"),
    Verb::noun::<commands::automations::Automations>("automations"),
    Verb::noun::<commands::events::Events>("events"),
    Verb::noun::<commands::received::Received>("received").is(TAKES_KEY),
    Verb::noun::<commands::inboxes::Inboxes>("inboxes").is(TAKES_KEY),
    Verb::noun::<commands::webhooks::Webhooks>("webhooks"),
    Verb::noun::<commands::logs::Logs>("logs"),
    Verb::noun::<commands::api_keys::ApiKeys>("api-keys"),
    Verb::new(
        "usage",
        "Show the account's usage and quotas",
        &ShowAs(|client, _| client.usage().get(), commands::usage::format_report),
    )
    .detail("Each address in to, cc and bcc of an email counts. Sending access is sufficient.")
    .examples(&["usage", "usage --jq .emails.daily.used"]),
    Verb::noun::<commands::auth::Auth>("auth"),
    Verb::custom("whoami", &Direct(commands::auth::status::run)).is(&[Property::Local]),
    Verb::custom("api", &own(commands::api::run)).is(&[Property::TakesKey(KeyFlag::Header)]),
    #[cfg(feature = "sandbox")]
    Verb::noun::<commands::sandbox::Sandbox>("sandbox").is(&[Property::NeedsRunningService]),
    Verb::noun::<commands::config::Config>("config").is(DIRECT),
    Verb::noun::<alias::Aliases>("alias").is(DIRECT),
    Verb::custom("doctor", &own(commands::doctor::run)).is(&[Property::ReportsSettings]),
    #[cfg(feature = "mcp")]
    Verb::custom("mcp", &own(commands::mcp::run)).is(&[Property::NeedsRunningService, Property::UntilSignal]),
    Verb::custom("skill", &own(commands::skill::run)).is(&[Property::Local]),
    Verb::custom("completions", &Direct(commands::completions::run)).is(DIRECT),
    Verb::custom("man", &Direct(commands::man::run)).is(DIRECT),
    Verb::custom("help", &Direct(|args, context| commands::help::run(args, part_of_tree, context)))
        .is(DIRECT),
];

impl Cli {
    /// How the command takes an idempotency key; `None` if it doesn't, or if it runs its own sandbox.
    pub(crate) fn key_flag(&self) -> Option<KeyFlag> {
        let mut properties = self.command.properties().filter(|_| !self.global.sandbox);
        properties.find_map(|property| match property {
            Property::TakesKey(flag) => Some(flag),
            _ => None,
        })
    }
}

/// Parses a command line. Builds only the noun that it names, and texts only for help and errors. A tree is leaked: freeing it would take a fifth of
/// the time, and the program exits soon.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    // Help would be rendered twice.
    let asks_help = arguments.iter().any(|argument| argument == "-h" || argument == "--help");
    let matches = if let Some(matches) = (!asks_help).then(|| parse_noun(arguments)).flatten() {
        matches
    } else {
        let mut root = needed_tree(arguments);
        let matches = root.try_get_matches_from_mut(arguments);
        std::mem::forget(root);
        matches.map_err(|error| suggest_nouns(error, arguments))?
    };
    let global = Global::from_arg_matches(&matches)?;
    Ok(Cli { global, command: Command::new(VERBS, matches) })
}

/// Replaces an alias with its command line. A command of the program is never replaced, and the result isn't searched for an alias again. Also
/// returns a note if the alias selects the account.
pub(crate) fn expand_alias(
    arguments: Vec<OsString>,
    env: &Env,
) -> Result<(Vec<OsString>, Option<String>), Fail> {
    // Usually the first argument is a command, and no file is read.
    let is_ours =
        |first: &str| ["-h", "--help"].contains(&first) || VERBS.iter().any(|verb| verb.name == first);
    if arguments.get(1).and_then(|first| first.to_str()).is_none_or(is_ours) {
        return Ok((arguments, None));
    }
    let unknown = first_word(&arguments).filter(|(name, _)| unbuilt_nouns().find_subcommand(name).is_none());
    let Some((name, end)) = unknown else { return Ok((arguments, None)) };
    let alias = alias::read_all(env)?.into_iter().find(|(known, _)| *known == name);
    let Some((_, command)) = alias else { return Ok((arguments, None)) };
    let expanded = alias::expand(&name, &command, &arguments[end..])?;
    let selects = |word: &str| ACCOUNT.iter().any(|flag| word.starts_with(flag));
    let note = command.split_whitespace().any(selects).then(|| format!("{name}: {command}"));
    Ok(([&arguments[..end - 1], &expanded].concat(), note))
}

/// The first word that isn't a global flag or its value, and the index after it.
fn first_word(arguments: &[OsString]) -> Option<(String, usize)> {
    let root = clap::Command::new("idempost").allow_external_subcommands(true);
    let matches = Global::augment_args(root).try_get_matches_from(arguments).ok()?;
    let (name, rest) = matches.subcommand()?;
    let given = rest.get_many::<OsString>("").map_or(0, |given| given.len());
    Some((name.to_owned(), arguments.len() - given))
}

/// All nouns by name, without their verbs and texts.
fn unbuilt_nouns() -> clap::Command {
    rows::augment::<Root>(clap::Command::new("idempost"))
}

/// The first argument that is the name of a noun, although it may be a flag's value.
fn find_noun(arguments: &[OsString]) -> Option<clap::Command> {
    let nouns = unbuilt_nouns();
    let noun = arguments.iter().skip(1).find_map(|argument| nouns.find_subcommand(argument)).cloned();
    std::mem::forget(nouns);
    noun
}

/// Suggests the nouns that begin with this word or have it as a verb, if the command line has no noun before it: `emails send` for `send`.
fn suggest_nouns(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    let tree = command_tree();
    let mut before = arguments.iter().skip(1).take_while(|argument| **argument != *verb);
    if before.any(|argument| tree.find_subcommand(argument).is_some()) {
        return error;
    }
    let nouns = || tree.get_subcommands().filter(|noun| !noun.is_hide_set());
    let longer = nouns().map(clap::Command::get_name).filter(|name| name.starts_with(&verb));
    let having = nouns().filter(|noun| noun.find_subcommand(&verb).is_some());
    let having = having.map(|noun| format!("{} {verb}", noun.get_name()));
    let mut commands: Vec<_> = longer.map(str::to_owned).chain(having).collect();
    commands.reverse();
    // If most nouns have the verb, a suggestion is useless.
    if (1..=MAX_SUGGESTED).contains(&commands.len()) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(commands));
    }
    error
}

/// The feature that the program was built without, and that would make this word known after a command, such as `bulk send`.
pub(crate) fn missing_feature(command: &str, unknown: &str) -> Option<&'static str> {
    let is_of_queue = |flag: &str| flag == "--priority" || flag.starts_with("--queue");
    let (feature, is_built) = match (command, unknown) {
        ("", "mcp") => ("mcp", cfg!(feature = "mcp")),
        ("", "sandbox") | (_, "--sandbox") => ("sandbox", cfg!(feature = "sandbox")),
        ("bulk", "worker") => ("nats", cfg!(feature = "nats")),
        (verb, flag) if verb.starts_with("bulk ") && is_of_queue(flag) => ("nats", cfg!(feature = "nats")),
        _ => return None,
    };
    (!is_built).then_some(feature)
}

/// Whether the command never changes anything at the service. Most others have `--dry-run`.
pub(crate) fn is_read_only(arguments: &[OsString]) -> bool {
    let tree = needed_tree(arguments);
    let mut command = &tree;
    let mut path = Vec::new();
    for argument in arguments.iter().skip(1) {
        if let Some(child) = command.find_subcommand(argument) {
            command = child;
            path.push(child.get_name());
        }
    }
    match path[..] {
        [] | ["api", ..] => false,
        ["bulk", verb] if ["send", "resume", "retry", "worker", "doctor"].contains(&verb) => false,
        _ => command.get_arguments().all(|arg| arg.get_id() != "dry_run"),
    }
}

/// Parses with only the first noun built, and without texts. The whole tree accepts every such line too: if the noun is really a flag's value, the rest
/// is rejected.
fn parse_noun(arguments: &[OsString]) -> Option<ArgMatches> {
    let noun = find_noun(arguments)?;
    let root = clap::Command::new("idempost").disable_help_subcommand(true).subcommand_required(true);
    let mut root = Global::augment_args(root).subcommand(noun);
    let matches = root.try_get_matches_from_mut(arguments).ok();
    std::mem::forget(root);
    matches
}

/// The whole tree. Each command lists its own flags; its help refers to a page for the global ones.
pub(crate) fn command_tree() -> clap::Command {
    finish_tree(rows::augment::<Root>(Global::augment_args(bare_root())))
}

/// The part of the tree for a help page.
pub(crate) fn part_of_tree(part: Part<'_>) -> clap::Command {
    match part {
        Part::Overview => overview(),
        Part::Noun(noun) => tree_of(noun).unwrap_or_else(command_tree),
        Part::Whole => command_tree(),
    }
}

/// The part of the tree that a command line needs.
fn needed_tree(arguments: &[OsString]) -> clap::Command {
    // Without a noun, the first word can only be an error, or an alias, which was replaced before.
    if find_noun(arguments).is_none() {
        return overview();
    }
    // An error in the global flags hides the first word.
    first_word(arguments).map_or_else(command_tree, |(noun, _)| tree_of(&noun).unwrap_or_else(overview))
}

/// The tree with only this noun, which takes a fraction of the time.
fn tree_of(noun: &str) -> Option<clap::Command> {
    let noun = unbuilt_nouns().find_subcommand(noun)?.clone();
    Some(finish_tree(Global::augment_args(bare_root()).subcommand(noun)))
}

/// The tree without verbs, for command lines without a noun.
fn overview() -> clap::Command {
    let mut order = 0..;
    let root = rows::augment::<Root>(Global::augment_args(bare_root())).mut_subcommands(|mut noun| {
        // Builds the noun, but not its verbs.
        noun.render_usage();
        let aliases: Vec<_> = noun.get_visible_aliases().map(str::to_owned).collect();
        clap::Command::new(noun.get_name().to_owned())
            .about(noun.get_about().cloned().unwrap_or_default())
            .visible_aliases(aliases)
            .hide(noun.is_hide_set())
            .display_order(order.next().unwrap_or_default())
    });
    // Global flags would be copied to each noun.
    finish_tree(root.mut_args(|arg| arg.global(false)))
}

/// Builds a tree.
fn finish_tree(root: clap::Command) -> clap::Command {
    let mut root = root.mut_args(|arg| arg.hide_short_help(true).hide_long_help(true));
    root.build();
    // Leaves out `help`, since the overview must fit a screen.
    for flag in ["help", "version"] {
        root = root.mut_arg(flag, |arg| arg.hide_short_help(true));
    }
    root.mut_subcommands(|noun| refer_to_help(noun, "idempost"))
}

fn refer_to_help(command: clap::Command, parent: &str) -> clap::Command {
    let path = format!("{parent} {}", command.get_name());
    let command = command.mut_subcommands(|child| refer_to_help(child, &path));
    let end = |text: Option<&StyledStr>| {
        let text = text.map(|text| fold_examples(&text.ansi().to_string()) + "\n\n").unwrap_or_default();
        StyledStr::from(text + "Global options: idempost help options")
    };
    let long = command.get_after_long_help().map(|text| end(Some(text)));
    let short = end(command.get_after_help());
    let command = long.into_iter().fold(command.after_help(short), clap::Command::after_long_help);
    required_usage(&command, &path).into_iter().fold(command, clap::Command::override_usage)
}

/// The usage line of a command whose [`Required`] flags are optional for the parser.
fn required_usage(command: &clap::Command, path: &str) -> Option<String> {
    let required = |arg: &&clap::Arg| arg.is_required_set() || arg.get::<Required>().is_some();
    command.get_arguments().find(|arg| arg.get::<Required>().is_some())?;
    let (places, flags): (Vec<_>, Vec<_>) = command.get_arguments().partition(|arg| arg.is_positional());
    let flags = flags.into_iter().filter(|arg| required(arg) && !arg.is_hide_set());
    let shown = flags.chain(places).map(|arg| {
        let name =
            arg.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
        match arg.get_long() {
            Some(long) if matches!(arg.get_action(), ArgAction::Append) => format!(" --{long} <{name}>..."),
            Some(long) => format!(" --{long} <{name}>"),
            None if required(&arg) => format!(" <{name}>"),
            None => format!(" [{name}]"),
        }
    });
    Some(format!("{path} [OPTIONS]{}", shown.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Form;

    #[test]
    fn the_command_tree_is_consistent() {
        command_tree().debug_assert();
    }

    #[test]
    fn a_part_of_the_tree_has_the_help_of_the_whole() {
        fn helps(command: &mut clap::Command, found: &mut Vec<String>) {
            found.extend([command.render_help().to_string(), command.render_long_help().to_string()]);
            command.get_subcommands_mut().for_each(|child| helps(child, found));
        }
        let mut whole = command_tree();
        assert_eq!(overview().render_help().to_string(), whole.render_help().to_string());
        assert_eq!(overview().render_long_help().to_string(), whole.render_long_help().to_string());
        let nouns: Vec<_> = whole.get_subcommands().map(|noun| noun.get_name().to_owned()).collect();
        assert!(nouns.len() > 20);
        for name in nouns {
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            helps(whole.find_subcommand_mut(&name).unwrap(), &mut expected);
            helps(tree_of(&name).unwrap().find_subcommand_mut(&name).unwrap(), &mut found);
            assert_eq!(found, expected, "{name}");
        }
    }

    /// Rows that differ from the SDK's declaration, each with its reason.
    const DIFFERENCES: &[(&str, &str, &str)] = &[
        ("create", "no field is token_file", "where `api-keys create` writes the key"),
        ("reply", "no flag sets headers", "`--input` does"),
        ("forward", "no flag sets headers", "`--input` does"),
        ("update-draft", "no flag sets thread_id", "`--input` does"),
        ("update-draft", "no flag sets reply_to_email_id", "`--input` does"),
        ("create", "no field is publish", "`templates create` sends a second request"),
        ("create", "no field is secret_file", "where `webhooks create` writes the secret"),
        ("read", "no flag sets folder", "`inboxes move` does"),
        ("move", "no flag sets read", "`inboxes read` does"),
    ];

    #[test]
    fn every_field_of_a_request_has_a_flag_and_every_flag_a_field() {
        let verbs = VERBS.iter().flat_map(Verb::all);
        let mut faults: Vec<_> = verbs.flat_map(Verb::faults).collect();
        for (verb, fault, _) in DIFFERENCES {
            let at = faults.iter().position(|(known, found)| known == verb && found == fault);
            faults.remove(at.unwrap_or_else(|| panic!("{verb}: {fault} no longer applies")));
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn json_fields_are_one_flag_with_commas() {
        let cli = parse(&["idempost", "doctor", "--json=id,to"].map(Into::into)).unwrap();
        assert_eq!(cli.global.options(Form::Json).fields, ["id", "to"]);
        assert_eq!(cli.global.flags().values, [("output", "json".to_owned())]);
        let cli = parse(&["idempost", "--json", "doctor"].map(Into::into)).unwrap();
        assert!(cli.global.json.is_some() && cli.global.options(Form::Json).fields.is_empty());
    }

    #[test]
    fn the_short_help_counts_the_hidden_options() {
        let root = command_tree();
        let send = root.find_subcommand("emails").unwrap().find_subcommand("send").unwrap();
        let hidden =
            send.get_arguments().filter(|arg| arg.is_hide_short_help_set() && !arg.is_global_set()).count();
        let help = send.get_after_help().unwrap().to_string();
        assert!(help.starts_with(&format!("{hidden} more options")), "{hidden}: {help}");
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let mut root = command_tree().term_width(100);
        root.build();
        let send = root.find_subcommand_mut("emails").unwrap().find_subcommand_mut("send").unwrap();
        let lines = send.render_help().to_string().lines().count();
        assert!(lines <= 40, "{lines} lines");
    }
}
