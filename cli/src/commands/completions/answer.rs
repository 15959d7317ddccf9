//! Completes a command line for a shell: commands, flags, their values, profiles and IDs.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::CompleteEnv;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::VARIABLE;
use crate::files;
use crate::settings::env::Env;
use crate::settings::file::ConfigFile;
use crate::settings::{paths, profiles};

/// How long IDs are cached.
const CACHED: Duration = Duration::from_mins(1);
/// The request's timeout, and the limit on waiting for it.
const TIMEOUT: (&str, Duration) = ("1s", Duration::from_millis(1_500));
/// Maximum size of the cache file in bytes.
const MAX_CACHE: u64 = 1024 * 1024;

/// Nouns whose commands take an ID first, with the field that describes it.
const NOUNS: &[(&str, &str)] = &[
    ("api-keys", "name"),
    ("automations", "name"),
    ("broadcasts", "name"),
    ("contacts", "email"),
    ("contacts imports", "status"),
    ("domains", "name"),
    ("emails", "subject"),
    ("events", "name"),
    ("logs", "endpoint"),
    ("properties", "key"),
    ("received", "subject"),
    ("segments", "name"),
    ("suppressions", "email"),
    ("templates", "name"),
    ("topics", "name"),
    ("webhooks", "endpoint"),
];

/// Flags whose value is an ID of another noun.
const FLAGS: &[(&str, &str)] = &[
    ("contact-id", "contacts"),
    ("domain-id", "domains"),
    ("segment-id", "segments"),
    ("template", "templates"),
    ("topic-id", "topics"),
];

/// Handles the invocation if a shell made it. Failures are silent.
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

/// The command tree with the values that depend on this machine and the service.
fn with_values(root: clap::Command, words: &[String], env: &Env) -> clap::Command {
    let profiles = {
        let env = env.clone();
        ArgValueCandidates::new(move || {
            let path = paths::config_file(&env).ok().flatten();
            let file = path.and_then(|path| ConfigFile::read(&path).ok().flatten());
            profiles::existing(file.as_ref(), &env).into_iter().map(CompletionCandidate::new).collect()
        })
    };
    let root = root.mut_arg("profile", |arg| arg.add(profiles));
    let ids = |noun: &'static str| {
        let (words, env) = (words.to_vec(), env.clone());
        ArgValueCandidates::new(move || ids(noun, &words, &env))
    };
    root.mut_subcommands(|noun| {
        let name = noun.get_name().to_owned();
        with_ids(noun, &name, &ids)
    })
}

/// The commands of a noun, with the IDs that their arguments name. A noun can be below another: `contacts imports`.
fn with_ids(
    noun: clap::Command,
    name: &str,
    ids: &dyn Fn(&'static str) -> ArgValueCandidates,
) -> clap::Command {
    let listed = NOUNS.iter().find(|(known, _)| *known == name);
    noun.mut_subcommands(|verb| {
        let mut first = true;
        let name = format!("{name} {}", verb.get_name());
        with_ids(verb, &name, ids).mut_args(|arg| {
            let place = arg.is_positional() && std::mem::take(&mut first);
            let by_id = arg.get_value_names().is_some_and(|names| names[0].contains("ID"));
            let flag = arg.get_long().and_then(|long| FLAGS.iter().find(|(name, _)| *name == long));
            match (listed, flag) {
                (Some((noun, _)), _) if place && by_id => arg.add(ids(noun)),
                (_, Some((_, noun))) => arg.add(ids(noun)),
                _ => arg,
            }
        })
    })
}

/// The IDs of a noun: from the cache, or listed by running this program with the command line's profile and service.
fn ids(noun: &str, words: &[String], env: &Env) -> Vec<CompletionCandidate> {
    let shown = NOUNS.iter().find(|(name, _)| *name == noun).map_or("name", |(_, shown)| *shown);
    let candidates = |list: &Value| {
        let items = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let candidate = |item: &Value| {
            let about =
                item[shown].as_str().map(|about| crate::output::terminal::safe(about).into_owned().into());
            Some(CompletionCandidate::new(item["id"].as_str()?).help(about))
        };
        items.iter().filter_map(candidate).collect()
    };
    listed(noun, words, env).as_ref().map(candidates).unwrap_or_default()
}

fn listed(noun: &str, words: &[String], env: &Env) -> Option<Value> {
    let flags: Vec<_> = ["--profile", "-p", "--base-url", "--cacert", "--proxy", "--api-key-file"]
        .into_iter()
        .filter_map(|flag| {
            let at = words.iter().position(|word| word == flag)?;
            Some([flag, words.get(at + 1)?.as_str()]).filter(|[_, value]| *value != "-")
        })
        .flatten()
        .collect();
    let mut key = Sha256::new();
    for variable in ["PROFILE", "BASE_URL", "API_KEY", "ACCESS_TOKEN", "API_KEY_FILE"] {
        key.update(env.get(&format!("IDEMPOST_{variable}")).unwrap_or_default());
        key.update([0]);
    }
    key.update(flags.join("\0"));
    let key = key.finalize().iter().take(16).fold(0_u128, |key, byte| key << 8 | u128::from(*byte));
    let path = paths::state_dir(env)
        .ok()
        .flatten()?
        .join("completions")
        .join(format!("{}-{key:032x}.json", noun.replace(' ', "-")));
    if let Some(cached) = cached(&path) {
        return Some(cached);
    }
    let mut child = Command::new(std::env::current_exe().ok()?);
    child.args(noun.split(' '));
    child.args(["list", "--limit", "100", "--json", "--quiet", "--no-input", "--retries", "0"]);
    child.args(["--timeout", TIMEOUT.0]).args(flags).env_remove(VARIABLE).env_remove("IDEMPOST_OUTPUT");
    let (send, listed) = std::sync::mpsc::channel();
    // A request that takes longer is left running: it may be saving the tokens of a refreshed login.
    std::thread::spawn(move || send.send(child.stdin(Stdio::null()).stderr(Stdio::null()).output()));
    let output = listed.recv_timeout(TIMEOUT.1).ok()?.ok().filter(|output| output.status.success())?;
    // Without a cache, the next completion sends the request again.
    let _ = files::write(&path, &output.stdout);
    serde_json::from_slice(&output.stdout).ok()
}

fn cached(path: &Path) -> Option<Value> {
    let age = SystemTime::now().duration_since(path.metadata().ok()?.modified().ok()?).ok()?;
    serde_json::from_slice(&files::read(path, MAX_CACHE, false).ok()??).ok().filter(|_| age < CACHED)
}
