//! `alias`: names for command lines, stored in the configuration file.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::context::Context;
use crate::diagnostics::{Fail, Origin};
use crate::input::flags::Flags;
use crate::output::format_count;
use crate::rows::prelude::*;
use crate::settings::env::Env;
use crate::settings::file::{self, ConfigFile};
use crate::settings::paths;
use crate::settings::store::ConfigStore;

noun!(Aliases, "Define shortcuts for commands", VERBS, DETAIL);

const DETAIL: &str = "An alias is replaced by its command line before the program reads it. It can do what that command line can, and nothing else: no shell runs it, it can't contain another alias, and it never replaces a command of the program.";
const VERBS: &[Verb] = &[
    Verb::custom("set", &Direct(set)),
    Verb::custom("list", &Direct(list)).alias("ls"),
    Verb::custom("delete", &Direct(delete)).alias("rm"),
];

/// Define or replace an alias
///
/// $1 to $9 stand for the arguments after the alias, in order, flags included; $$ is a dollar sign. Arguments without a placeholder are added at
/// the end. Quotes work as in a shell, but no shell runs the command: no variables, pipes or globs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost alias set bounced 'emails list --status bounced'\n  \
    idempost alias set welcome 'emails send --from hi@acme.test --template welcome --to $1'\n  \
    idempost welcome ada@example.com --dry-run")]
struct SetArgs {
    /// Name: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    /// Command line to run, without `idempost`
    #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
    command: String,
}

/// List the aliases
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: name, command\n\n\
    Example:\n  idempost alias list --jq '.data[].name'")]
struct ListArgs {}

/// Delete an alias
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost alias delete bounced")]
struct DeleteArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

const TABLE: Table =
    Table::new(&[Column::new("name", "NAME", Kind::Text), Column::new("command", "COMMAND", Kind::Shrinks)])
        .nothing("no aliases yet");

fn list(ListArgs {}: &ListArgs, context: &Context) -> Result<(), Fail> {
    let row = |(name, command)| json!({ "name": name, "command": command });
    let rows: Vec<Value> = read_all(&context.env)?.into_iter().map(row).collect();
    let columns = TABLE.columns(context)?;
    TABLE.print(&json!({ "object": "list", "data": rows, "has_more": false }), &columns, context)
}

fn delete(DeleteArgs { name }: &DeleteArgs, context: &Context) -> Result<(), Fail> {
    let store = ConfigStore::lock(&context.env)?;
    if store.update(|text| file::with_alias(text, name, None))? {
        context.out.note(&format!("deleted the alias {name} from {}", store.path.display()));
        return Ok(());
    }
    Err(Fail::not_found(format!("there is no alias `{name}`")))
}

fn set(SetArgs { name, command }: &SetArgs, context: &Context) -> Result<(), Fail> {
    let root = &(context.command_tree)();
    let mut flags = Flags::default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.starts_with('-') || name.is_empty() || !name.chars().all(is_word) {
        let rule = "an alias must contain only letters, digits, - and _, and must not start with -";
        flags.reject("charset", rule, "NAME", name);
    } else if root.find_subcommand(name).is_some() {
        flags.reject("exclusive", format!("`{name}` is a built-in command"), "NAME", name);
    }
    if let Err(rule) = target(command, root) {
        let first = command.split_whitespace().next();
        let nested = load_all(&context.env).iter().any(|(alias, _)| first == Some(alias));
        let rule = if nested { "an alias can't contain another alias".to_owned() } else { rule };
        flags.reject("unknown", rule, "COMMAND", command);
    }
    flags.finish()?;
    let store = ConfigStore::lock(&context.env)?;
    store.update(|text| file::with_alias(text, name, Some(command)))?;
    context.out.note(&format!("set the alias {name} in {}", store.path.display()));
    Ok(())
}

/// Returns the command that a command line names and the words that name it, or the rule that the line violates.
pub(crate) fn target<'a>(
    line: &str,
    root: &'a clap::Command,
) -> Result<(&'a clap::Command, Vec<String>), String> {
    let words = shlex::split(line).ok_or("a quote isn't closed")?;
    let (mut command, mut path) = (root, Vec::new());
    for word in words {
        if !command.has_subcommands() || word.starts_with(['-', '$']) {
            break;
        }
        let unknown = || format!("{} has no command `{word}`", command.get_name());
        command = command.find_subcommand(&word).ok_or_else(unknown)?;
        path.push(word);
    }
    if path.is_empty() {
        return Err("an alias must start with a command, such as `emails list`".to_owned());
    }
    Ok((command, path))
}

/// All aliases and their command lines, in the order of the file.
pub(crate) fn read_all(env: &Env) -> Result<Vec<(String, String)>, Fail> {
    let file = paths::config_file(env)?.map(|path| ConfigFile::read(&path)).transpose()?.flatten();
    Ok(file.map(|file| file.aliases()).unwrap_or_default())
}

/// The same; empty if the file can't be read.
pub(crate) fn load_all(env: &Env) -> Vec<(String, String)> {
    read_all(env).unwrap_or_default()
}

/// The command of the program behind an alias, with a note; any other path unchanged.
pub(crate) fn resolve(path: &[String], root: &clap::Command, context: &Context) -> Vec<String> {
    let unknown = path.first().filter(|name| root.find_subcommand(name).is_none());
    let Some((name, command)) =
        unknown.and_then(|name| load_all(&context.env).into_iter().find(|(known, _)| known == name))
    else {
        return path.to_vec();
    };
    context.out.note(&format!("`{name}` is an alias of `{command}`"));
    let target = target(&command, root).map(|(_, target)| target).unwrap_or_default();
    [target, path[1..].to_vec()].concat()
}

/// The command line that an alias with these arguments stands for.
pub(crate) fn expand(name: &str, command: &str, given: &[OsString]) -> Result<Vec<OsString>, Fail> {
    let mut placed = 0;
    let mut expand = |word: &String| {
        let (mut expanded, mut chars) = (OsString::new(), word.chars().peekable());
        while let Some(c) = chars.next() {
            let next = chars.next_if(|next| c == '$' && matches!(next, '$' | '1'..='9'));
            match next.and_then(|next| next.to_digit(10)) {
                Some(n) => {
                    placed = placed.max(n as usize);
                    given.get(n as usize - 1).into_iter().for_each(|argument| expanded.push(argument));
                }
                None => expanded.push(c.encode_utf8(&mut [0; 4])),
            }
        }
        expanded
    };
    let words = shlex::split(command).ok_or_else(|| {
        let rule = format!("the alias `{name}`: a quote isn't closed");
        Fail::usage("quote", rule, Some(Origin::flag(name, command)))
    })?;
    let mut words: Vec<_> = words.iter().map(&mut expand).collect();
    let Some(rest) = given.get(placed..) else {
        let least = format_count(placed, "argument");
        let rule = format!("the alias `{name}` takes at least {least}, found {}: {command}", given.len());
        return Err(Fail::usage("count", rule, Some(Origin::flag(name, command))));
    };
    words.extend_from_slice(rest);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_text(command: &str, given: &[&str]) -> Result<Vec<String>, Fail> {
        let given: Vec<OsString> = given.iter().map(Into::into).collect();
        Ok(expand("x", command, &given)?.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn arguments_fill_placeholders_or_follow_and_are_never_split() {
        let send = "emails send --to $1 --subject \"Hi $2, it's \"'$$5' --header a=$1";
        assert_eq!(
            expand_text(send, &["a@x.test; rm -rf /", "$1 \"Ada", "--text", "$2"]).unwrap(),
            [
                "emails",
                "send",
                "--to",
                "a@x.test; rm -rf /",
                "--subject",
                "Hi $1 \"Ada, it's $5",
                "--header",
                "a=a@x.test; rm -rf /",
                "--text",
                "$2"
            ]
        );
        assert_eq!(expand_text("emails list", &["-v"]).unwrap(), ["emails", "list", "-v"]);
        assert_eq!(expand_text("api GET '/$HOME/$0/$'", &[]).unwrap(), ["api", "GET", "/$HOME/$0/$"]);
        assert!(expand_text("emails get $2", &["a"]).is_err());
    }
}
