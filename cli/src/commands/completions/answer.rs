//! Completes a command line for a shell: commands, flags, their values, profiles and IDs.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::CompleteEnv;

use super::{VARIABLE, cache};
use crate::commands::{alias, config};
use crate::context;
use crate::settings::env::Env;
use crate::settings::file::ConfigFile;
use crate::settings::{self, Flags, paths, profiles};

/// The request's timeout, and the limit on waiting for it.
const TIMEOUT: (&str, Duration) = ("1s", Duration::from_millis(1_500));

/// Flags whose value is an ID of another noun.
const FLAGS: &[(&str, &str)] = &[
    ("contact-id", "contacts"),
    ("domain-id", "domains"),
    ("segment-id", "segments"),
    ("template", "templates"),
    ("topic-id", "topics"),
];

/// The names of something on this machine.
type Names = fn(&Env) -> Vec<String>;

/// Arguments that are such names.
const LOCAL: &[(&str, &str, &str, Names)] = &[
    ("alias", "delete", "name", alias_names),
    ("auth", "rename", "old", profile_names),
    ("auth", "use", "name", profile_names),
    ("config", "get", "key", setting_names),
    ("config", "set", "key", setting_names),
    ("config", "unset", "key", setting_names),
];

fn alias_names(env: &Env) -> Vec<String> {
    alias::load_all(env).into_iter().map(|(name, _)| name).collect()
}

fn profile_names(env: &Env) -> Vec<String> {
    let path = paths::config_file(env).ok().flatten();
    let file = path.and_then(|path| ConfigFile::read(&path).ok().flatten());
    profiles::names(file.as_ref(), env)
}

fn setting_names(_: &Env) -> Vec<String> {
    config::names().map(str::to_owned).collect()
}

/// Handles an invocation by a shell's completion script. Failures are silent.
pub(crate) fn run(arguments: &[OsString], env: &Env, tree: fn() -> clap::Command) -> bool {
    if env.get(VARIABLE).is_none() {
        return false;
    }
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let current = std::env::current_dir().ok();
    let complete = CompleteEnv::with_factory(|| with_values(tree(), &words, env)).var(VARIABLE);
    // Shells don't show errors of a completer.
    let _ = complete.try_complete(arguments.to_vec(), current.as_deref());
    true
}

/// The command tree, with values from this machine and the service.
fn with_values(root: clap::Command, words: &[String], env: &Env) -> clap::Command {
    let local = |names: Names| {
        let env = env.clone();
        ArgValueCandidates::new(move || {
            let names = names(&env).into_iter().filter(|name| cache::is_plain(name));
            names.map(CompletionCandidate::new).collect()
        })
    };
    let root = root.mut_arg("profile", |arg| arg.add(local(profile_names)));
    let ids = |noun: &str| {
        let (noun, words, env) = (noun.to_owned(), words.to_vec(), env.clone());
        ArgValueCandidates::new(move || ids(&noun, &words, &env))
    };
    let root = root.mut_subcommands(|noun| {
        let name = noun.get_name().to_owned();
        with_ids(noun, &name, &ids)
    });
    let root = LOCAL.iter().fold(root, |root, (noun, verb, argument, names)| {
        root.mut_subcommand(*noun, |noun| {
            noun.mut_subcommand(*verb, |verb| verb.mut_arg(*argument, |arg| arg.add(local(*names))))
        })
    });
    // An alias takes the arguments of its command.
    alias::load_all(env).into_iter().fold(root, |root, (name, line)| {
        let Some((command, _)) =
            alias::target(&line, &root).ok().filter(|_| root.find_subcommand(&name).is_none())
        else {
            return root;
        };
        let command = command.clone().name(name).visible_alias(None).about(format!("Alias of {line}"));
        root.subcommand(command)
    })
}

/// The commands of a noun, with completions for their ID arguments. A noun can be below another: `contacts imports`.
fn with_ids(noun: clap::Command, name: &str, ids: &dyn Fn(&str) -> ArgValueCandidates) -> clap::Command {
    let list = noun.find_subcommand("list");
    let is_listed = list.is_some_and(|list| list.get_positionals().next().is_none());
    noun.mut_subcommands(|verb| {
        let mut first = true;
        let verb_name = format!("{name} {}", verb.get_name());
        with_ids(verb, &verb_name, ids).mut_args(|arg| {
            let place = arg.is_positional() && std::mem::take(&mut first);
            let by_id = arg.get_value_names().is_some_and(|names| names[0].contains("ID"));
            let flag = arg.get_long().and_then(|long| FLAGS.iter().find(|(name, _)| *name == long));
            match flag {
                _ if is_listed && place && by_id => arg.add(ids(name)),
                Some((_, noun)) => arg.add(ids(noun)),
                None => arg,
            }
        })
    })
}

/// The IDs of a noun: from the cache of the account, or listed by running this program with the command line's profile and service.
fn ids(noun: &str, words: &[String], env: &Env) -> Vec<CompletionCandidate> {
    let ids = list_ids(noun, words, env).unwrap_or_default().into_iter();
    ids.map(|(id, about)| CompletionCandidate::new(id).help(about.map(Into::into))).collect()
}

fn list_ids(noun: &str, words: &[String], env: &Env) -> Option<Vec<(String, Option<String>)>> {
    let given = [
        ("--profile", Some('p')),
        ("--api-key-file", None),
        ("--base-url", None),
        ("--cacert", None),
        ("--client-cert", None),
        ("--proxy", None),
    ]
    .map(|(flag, short)| {
        let is_stdin = |value: &String| flag == "--api-key-file" && value == "-";
        (flag, value(flag, short, words).filter(|value| !is_stdin(value)))
    });
    // The shell would change these.
    let is_quoted = |value: &String| value.contains(['\'', '"', '\\', '$', '`', '~']);
    if given.iter().filter_map(|(_, value)| value.as_ref()).any(is_quoted) {
        return None;
    }
    let [(_, profile), (_, api_key_file), (_, base_url), ..] = given.clone();
    let flags = Flags {
        profile,
        api_key_file,
        values: base_url.map(|url| ("base_url", url)).into_iter().collect(),
        ..Flags::default()
    };
    let settings = settings::load(&flags, env).ok().filter(|settings| settings.complete_ids.value)?;
    let key = context::account_key(&settings, env)?;
    if let Some(cached) = cache::read(&key, noun, env) {
        return Some(cached);
    }
    let mut child = Command::new(std::env::current_exe().ok()?);
    child.args(noun.split(' '));
    child.args(["list", "--limit", "100", "--json", "--quiet", "--no-input", "--retries", "0"]);
    child.args(given.into_iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value?))));
    child.args(["--timeout", TIMEOUT.0]).env_remove(VARIABLE).env_remove("IDEMPOST_OUTPUT");
    let (send, listed) = std::sync::mpsc::channel();
    // A longer request keeps running: it may be saving refreshed tokens.
    std::thread::spawn(move || send.send(child.stdin(Stdio::null()).stderr(Stdio::null()).output()));
    let output = listed.recv_timeout(TIMEOUT.1).ok()?.ok().filter(|output| output.status.success())?;
    let ids = cache::candidates(&serde_json::from_slice(&output.stdout).ok()?);
    cache::write(&key, noun, &ids, env);
    Some(ids)
}

/// The value of a flag on the command line: `--flag value`, `--flag=value`, `-f value` or `-fvalue`; Bash splits off `=` as a separate word.
fn value(flag: &str, short: Option<char>, words: &[String]) -> Option<String> {
    let mut words = words.iter().map(String::as_str).skip_while(|word| *word != "--").skip(2).peekable();
    let mut found = None;
    while let Some(word) = words.next().filter(|word| *word != "--") {
        let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let attached = match word.strip_prefix(flag) {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('='),
            None => short.and_then(|short| {
                let (switches, rest) = cluster?.split_once(short)?;
                switches.chars().all(|switch| "qvy".contains(switch)).then(|| rest.trim_start_matches('='))
            }),
        };
        let Some(attached) = attached else { continue };
        if attached.is_empty() {
            words.next_if_eq(&"=");
        }
        found = if attached.is_empty() { words.next() } else { Some(attached) };
    }
    found.map(str::to_owned)
}
