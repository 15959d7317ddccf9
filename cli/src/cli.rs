//! The command line's root: the nouns and the flags that hold for all of them.
//!
//! Parsing reads shapes only. Whether a value makes sense is decided afterwards, so that everything wrong is said at once.

use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};

use crate::commands;
use crate::global::Global;
use crate::input::flags::Required;

/// The colours of help texts.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Send email from the command line, and look at what was sent.
#[derive(Debug, Parser)]
#[command(
    name = "posthaste",
    version,
    styles = STYLES,
    disable_help_subcommand = true,
    subcommand_required = true,
    after_help = "Try it without an account:\n  \
        posthaste --sandbox emails send --from hi@acme.test --to ada@example.com \\\n      \
        --subject Hello --text 'It works'\n\n\
        More: posthaste help COMMAND, posthaste help exit-codes, posthaste help options"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One noun a variant.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Emails(commands::emails::Command),
    #[command(subcommand)]
    Broadcasts(commands::broadcasts::Command),
    #[command(subcommand)]
    Templates(commands::templates::Command),
    #[command(subcommand)]
    Domains(commands::domains::Command),
    #[command(subcommand)]
    Contacts(commands::contacts::Command),
    #[command(subcommand)]
    Segments(commands::segments::Command),
    #[command(subcommand)]
    Audiences(commands::audiences::Command),
    #[command(subcommand)]
    Topics(commands::topics::Command),
    #[command(subcommand, visible_alias = "contact-properties")]
    Properties(commands::properties::Command),
    #[command(subcommand)]
    Automations(commands::automations::Command),
    #[command(subcommand)]
    Events(commands::events::Command),
    #[command(subcommand)]
    Received(commands::received::Command),
    #[command(subcommand)]
    Webhooks(commands::webhooks::Command),
    #[command(subcommand)]
    Logs(commands::logs::Command),
    #[command(subcommand)]
    ApiKeys(commands::api_keys::Command),
    #[command(subcommand)]
    Auth(commands::auth::Command),
    Api(commands::api::Args),
    #[cfg(feature = "sandbox")]
    #[command(subcommand)]
    Sandbox(commands::sandbox::Command),
    #[command(subcommand)]
    Config(commands::config::Command),
    Doctor(commands::doctor::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    Help(commands::help::Args),
}

impl Command {
    /// Whether it decides itself what a signal means.
    pub(crate) fn handles_signals(&self) -> bool {
        match self {
            Self::Webhooks(command) => command.handles_signals(),
            #[cfg(feature = "sandbox")]
            Self::Sandbox(command) => command.handles_signals(),
            _ => false,
        }
    }

    /// Whether it goes on until a signal comes, which is then how it ends and no failure.
    pub(crate) fn ends_by_signal(&self) -> bool {
        match self {
            Self::Received(command) | Self::Emails(commands::emails::Command::Receiving(command)) => {
                command.ends_by_signal()
            }
            Self::Logs(command) => command.ends_by_signal(),
            _ => false,
        }
    }
}

/// The whole tree. The help of a command shows its own flags and names the page that has the global ones.
pub(crate) fn command() -> clap::Command {
    let root = Cli::command().mut_args(|arg| arg.hide_short_help(true).hide_long_help(true));
    root.mut_subcommands(|noun| refer(noun, "posthaste"))
}

/// The same with every command finished: its own flags and the shared ones.
pub(crate) fn tree() -> clap::Command {
    let mut root = command();
    root.build();
    root
}

fn refer(command: clap::Command, parent: &str) -> clap::Command {
    let path = format!("{parent} {}", command.get_name());
    let command = command.mut_subcommands(|child| refer(child, &path));
    let end = |text: Option<&StyledStr>| {
        let text = text.map(|text| format!("{}\n\n", text.ansi())).unwrap_or_default();
        StyledStr::from(text + "Global options: posthaste help options")
    };
    let long = command.get_after_long_help().map(|text| end(Some(text)));
    let short = end(command.get_after_help());
    let command = match long {
        Some(long) => command.after_help(short).after_long_help(long),
        None => command.after_help(short),
    };
    match required_usage(&command, &path) {
        Some(usage) => command.override_usage(usage),
        None => command,
    }
}

/// The usage line of a command whose [`Required`] flags the parser takes for optional.
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
        command().debug_assert();
    }

    #[test]
    fn a_projection_is_one_flag_with_commas() {
        let cli = Cli::try_parse_from(["posthaste", "doctor", "--json=id,to"]).unwrap();
        assert_eq!(cli.global.wishes(Form::Json).fields, ["id", "to"]);
        assert_eq!(cli.global.flags().values, [("output", "json".to_owned())]);
        let cli = Cli::try_parse_from(["posthaste", "--json", "doctor"]).unwrap();
        assert!(cli.global.json.is_some() && cli.global.wishes(Form::Json).fields.is_empty());
    }

    #[test]
    fn the_short_help_counts_what_it_leaves_out() {
        let root = Cli::command();
        let send = root.find_subcommand("emails").unwrap().find_subcommand("send").unwrap();
        let hidden = send.get_arguments().filter(|arg| arg.is_hide_short_help_set()).count();
        let said = send.get_after_help().unwrap().to_string();
        assert!(said.starts_with(&format!("{hidden} more options")), "{hidden}: {said}");
    }

    #[test]
    fn the_short_help_fits_a_screen() {
        let mut root = command().term_width(100);
        root.build();
        let send = root.find_subcommand_mut("emails").unwrap().find_subcommand_mut("send").unwrap();
        let lines = send.render_help().to_string().lines().count();
        assert!(lines <= 40, "{lines} lines");
    }
}
