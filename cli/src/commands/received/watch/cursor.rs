//! The position of a watch: an atomically replaced file, and a lock file.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::commands::received::file_name::safe;
use crate::context::{self, Context};
use crate::diagnostics::{Fail, Origin};
use crate::files;
use crate::output::hex;
use crate::output::table::text_at;
use crate::settings::env::Env;
use crate::settings::paths;

/// The number of remembered emails, in case the service deletes some.
const RECENT: usize = 100;
/// The maximum delay before a printed line is saved.
const SAVE_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum size of a cursor file.
const MAX_BYTES: u64 = 1 << 20;
const VERSION: u8 = 1;

/// The cursor of one watch, locked while it exists.
#[derive(Debug)]
pub(super) struct Cursor {
    /// `None` for a cursor in memory only.
    file: Option<PathBuf>,
    /// Dropping the open file releases the lock.
    _lock: Option<File>,
    stored: CursorFile,
    /// The current account.
    account: Option<String>,
    /// Whether it holds a position.
    pub(super) is_set: bool,
    unsaved: bool,
    saved: Instant,
}

/// The contents of the file.
#[derive(Debug, Serialize, Deserialize)]
struct CursorFile {
    version: u8,
    /// The base URL of the service.
    service: String,
    /// A hash of the service and the credential that the position was last stored with.
    #[serde(default)]
    account: Option<String>,
    /// The last printed email; `None` if the mailbox was empty, so that everything is new.
    last: Option<Printed>,
    /// IDs of recently printed emails, oldest first.
    recent: VecDeque<String>,
}

/// A printed email.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Printed {
    pub(super) id: String,
    pub(super) created_at: String,
}

impl Cursor {
    /// A cursor that isn't stored.
    pub(super) fn in_memory() -> Self {
        Self::new(None, None, CursorFile::empty(String::new()), None, false)
    }

    /// Opens and locks the cursor in this file, or the one of this profile and service. `anew` discards the stored position.
    pub(super) fn open(
        file: Option<&Path>,
        service: &Url,
        anew: bool,
        context: &Context,
    ) -> Result<Self, Fail> {
        let path = match file {
            Some(file) => file.to_owned(),
            None => default_path(service, context)?,
        };
        let lock =
            files::create_dir(files::folder(&path)).and_then(|()| lock(&path.with_added_extension("lock")));
        let lock = lock.map_err(|error| lock_failure(error, &path))?;
        let stored = if anew { None } else { read(&path)? };
        if let (Some(stored), Some(file)) = (&stored, file)
            && stored.service != service.as_str()
        {
            let rule = format!("this cursor belongs to {}, not to {service}", stored.service);
            return Err(Fail::usage(
                "file",
                rule,
                Some(Origin::flag("--cursor", file.display().to_string())),
            ));
        }
        let set = stored.is_some();
        let stored = stored.unwrap_or_else(|| CursorFile::empty(service.to_string()));
        let account = context::account_key(context.settings()?, &context.env);
        Ok(Self::new(Some(path), Some(lock), stored, account, set))
    }

    fn new(
        file: Option<PathBuf>,
        lock: Option<File>,
        stored: CursorFile,
        account: Option<String>,
        is_set: bool,
    ) -> Self {
        Self { file, _lock: lock, stored, account, is_set, unsaved: false, saved: Instant::now() }
    }

    /// Checks that a position without an email that the service lists isn't another account's. Another credential of the same account lists them.
    pub(super) fn check_account(&self) -> Result<(), Fail> {
        let (Some(path), Some(_)) = (&self.file, &self.stored.account) else { return Ok(()) };
        if self.stored.account == self.account {
            return Ok(());
        }
        let path = path.display();
        let rule = format!(
            "the cursor {path} was stored with another credential, and no listed email shows that the account is the same"
        );
        let hint = "if this is another account, choose another profile, or a file: --cursor FILE; otherwise start over: --from-now or --from-start";
        Err(Fail::usage("account", rule, None).hint(hint))
    }

    /// The last printed email, if any.
    pub(super) fn last(&self) -> Option<&Printed> {
        self.stored.last.as_ref()
    }

    /// Whether this email is among the recently printed ones.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.stored.recent.iter().rev().any(|known| known == id)
    }

    /// Starts after this email, as if it had been printed; with `None`, before all emails.
    pub(super) fn start_after(&mut self, newest: Option<&Value>) {
        self.stored = CursorFile::empty(std::mem::take(&mut self.stored.service));
        self.stored.account.clone_from(&self.account);
        (self.is_set, self.unsaved) = (true, true);
        if let Some(newest) = newest {
            self.advance(newest);
        }
    }

    /// Records that this email has been printed.
    pub(super) fn advance(&mut self, row: &Value) {
        let printed = Printed { id: text_at(row, "/id"), created_at: text_at(row, "/created_at") };
        self.stored.recent.push_back(printed.id.clone());
        if self.stored.recent.len() > RECENT {
            self.stored.recent.pop_front();
        }
        self.stored.last = Some(printed);
        self.stored.account.clone_from(&self.account);
        self.unsaved = true;
    }

    /// Saves the cursor if the last save is long enough ago: a disk can't keep up with a write per line.
    pub(super) fn save_if_due(&mut self) -> Result<(), Fail> {
        if self.saved.elapsed() < SAVE_INTERVAL { Ok(()) } else { self.save() }
    }

    /// Saves the cursor if it has changed.
    pub(super) fn save(&mut self) -> Result<(), Fail> {
        let (Some(path), true) = (&self.file, self.unsaved) else { return Ok(()) };
        let text = serde_json::to_string(&self.stored).map_err(io::Error::from);
        text.and_then(|text| files::write(path, (text + "\n").as_bytes()))
            .map_err(|error| Fail::local(format!("couldn't save the cursor {}", path.display()), error))?;
        (self.unsaved, self.saved) = (false, Instant::now());
        Ok(())
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // A signal ends the watch by dropping it. A failure can't be reported here; some lines will be repeated.
        let _ = self.save();
    }
}

impl CursorFile {
    fn empty(service: String) -> Self {
        Self { version: VERSION, service, account: None, last: None, recent: VecDeque::new() }
    }
}

/// The default file of this profile and service.
fn default_path(service: &Url, context: &Context) -> Result<PathBuf, Fail> {
    let folder = folder(&context.env)?.ok_or_else(|| {
        Fail::error("no home directory to store the cursor in").hint("choose a file: --cursor FILE")
    })?;
    Ok(folder.join(default_name(context.settings()?.profile_name(), service.as_str())))
}

fn folder(env: &Env) -> Result<Option<PathBuf>, Fail> {
    Ok(paths::state_dir(env)?.map(|folder| folder.join("received")))
}

fn default_name(profile: &str, service: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(profile);
    hash.update([0]);
    hash.update(service);
    let hash = hex(&hash.finalize()[..8]);
    format!("{}-{hash}.json", safe(profile))
}

/// Moves the positions of a renamed profile; each file contains its service.
pub(crate) fn rename_profile(old: &str, new: &str, env: &Env) -> Result<(), Fail> {
    let Some(folder) = folder(env)? else { return Ok(()) };
    for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(Some(stored)) = read(&path) else { continue };
        if path == folder.join(default_name(old, &stored.service)) {
            std::fs::rename(&path, folder.join(default_name(new, &stored.service)))
                .map_err(|error| Fail::local(format!("couldn't rename {}", path.display()), error))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<CursorFile>, Fail> {
    let unreadable = |source: io::Error| {
        Fail::local(format!("couldn't read the cursor {}", path.display()), source)
            .hint("start over: idempost received watch --from-now, or --from-start")
    };
    let Some(text) = files::read(path, MAX_BYTES, false).map_err(unreadable)? else { return Ok(None) };
    let stored: CursorFile = serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
    if stored.version != VERSION {
        let error = format!("its version is {}; this program supports version {VERSION}", stored.version);
        return Err(unreadable(io::Error::other(error)));
    }
    Ok(Some(stored))
}

/// Takes the lock. The kernel releases it at every kind of exit; the file stays.
fn lock(path: &Path) -> io::Result<File> {
    let mut file = files::private_options().read(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // On Windows, other processes can't read a locked file.
            let read = file.take(64).read_to_string(&mut holder);
            let holder = holder.trim();
            let known = read.is_ok() && !holder.is_empty();
            let holder = if known { format!("process {holder}") } else { "another process".to_owned() };
            return Err(io::Error::new(io::ErrorKind::WouldBlock, holder));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Only for the message to the next process.
    let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    Ok(file)
}

fn lock_failure(error: io::Error, path: &Path) -> Fail {
    if error.kind() == io::ErrorKind::WouldBlock {
        return Fail::error(format!("another watch is using the cursor {} ({error})", path.display()))
            .hint("choose another cursor file: --cursor FILE");
    }
    Fail::local(format!("couldn't lock the cursor {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cursor(path: &Path) -> Cursor {
        let stored = read(path).unwrap();
        let set = stored.is_some();
        Cursor::new(
            Some(path.to_owned()),
            None,
            stored.unwrap_or_else(|| CursorFile::empty("s".to_owned())),
            None,
            set,
        )
    }

    #[test]
    fn printed_emails_are_remembered_even_if_the_watch_was_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let mut first = cursor(&path);
        assert!(!first.is_set);
        for n in 0..=RECENT {
            first.advance(&json!({"id": format!("id-{n}"), "created_at": "2026-01-01T00:00:00Z"}));
        }
        assert!(!path.exists(), "not saved for every line");
        drop(first);
        let again = cursor(&path);
        assert!(again.is_set && again.last().unwrap().id == format!("id-{RECENT}"));
        assert!(again.contains("id-1") && !again.contains("id-0"));
        #[cfg(unix)]
        assert_eq!(paths::permission_bits(&path), Some(0o600));
        std::fs::write(&path, "{\"version\":").unwrap();
        assert!(matches!(read(&path), Err(Fail::Own { .. })));
        std::fs::write(&path, json!({"version": 2, "service": "s", "last": null, "recent": []}).to_string())
            .unwrap();
        assert!(matches!(read(&path), Err(Fail::Own { .. })));
    }

    #[test]
    fn the_lock_has_one_holder_and_is_released_when_the_holder_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json.lock");
        let held = lock(&path).unwrap();
        let refused = lock(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        let holder = format!("process {}", std::process::id());
        assert_eq!(refused.to_string(), if cfg!(windows) { "another process" } else { &holder });
        drop(held);
        lock(&path).unwrap();
    }
}
