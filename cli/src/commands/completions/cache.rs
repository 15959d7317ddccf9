//! Caches offered IDs for a minute: a private file per account and noun with IDs and labels only.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::files;
use crate::output::terminal::escape_line;
use crate::settings::env::Env;
use crate::settings::paths;

/// How long IDs are cached.
const LIFETIME: Duration = Duration::from_mins(1);
/// The fields that describe an item; the first that it has counts.
const LABELS: [&str; 6] = ["name", "email", "subject", "key", "endpoint", "status"];
/// Maximum size of a file in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// In the runtime folder if possible: it is in memory, and ends with the session.
fn folder(env: &Env) -> Option<PathBuf> {
    let runtime = env.path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute() && path.is_dir());
    let base = runtime.map(|path| path.join("idempost")).or_else(|| paths::state_dir(env).ok().flatten())?;
    Some(base.join("completions"))
}

/// The cached IDs of a noun.
pub(super) fn read(key: &str, noun: &str, env: &Env) -> Option<Vec<(String, Option<String>)>> {
    let path = file(key, noun, env)?;
    if !is_fresh(&path) {
        return None;
    }
    serde_json::from_slice(&files::read(&path, MAX_BYTES as u64, false).ok()??).ok()
}

/// Caches IDs, and removes expired ones. Without a cache, the next completion sends another request.
pub(super) fn write(key: &str, noun: &str, ids: &[(String, Option<String>)], env: &Env) {
    for entry in folder(env).and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten()
    {
        if !is_fresh(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let text = serde_json::to_vec(ids).unwrap_or_default();
    if let Some(path) = file(key, noun, env).filter(|_| text.len() <= MAX_BYTES) {
        let _ = files::write(&path, &text);
    }
}

/// Removes the cached IDs of all accounts.
pub(crate) fn clear(env: &Env) {
    if let Some(folder) = folder(env) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

fn file(key: &str, noun: &str, env: &Env) -> Option<PathBuf> {
    Some(folder(env)?.join(format!("{}-{key}.json", noun.replace(' ', "-"))))
}

fn is_fresh(path: &Path) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age < LIFETIME)
}

/// The IDs of a list with their labels. Omits IDs that a shell would interpret or that would disturb the terminal.
pub(super) fn candidates(list: &Value) -> Vec<(String, Option<String>)> {
    let items = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let candidate = |item: &Value| {
        let id = item["id"].as_str().filter(|id| is_plain(id))?;
        let label = LABELS.iter().find_map(|field| item[*field].as_str());
        Some((id.to_owned(), label.map(|text| escape_line(text).into_owned())))
    };
    items.iter().filter_map(candidate).collect()
}

/// Whether a shell inserts a text as one word, unchanged.
pub(super) fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@+:/".contains(&byte))
}
