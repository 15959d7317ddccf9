//! Where a watch stopped: a file, replaced as a whole, and a lock beside it that dies with its holder.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::commands::received::file_name::safe;
use crate::context::Context;
use crate::diagnostics::{Fail, Origin, Problem, Report};
use crate::files;
use crate::output::table::at;
use crate::settings::paths;

/// How many of the emails that were printed last are remembered, for the case that the service forgets some of them.
const RECENT: usize = 100;
/// The longest that a printed line is not in the file, while others follow.
const EVERY: Duration = Duration::from_millis(100);
/// Above this it is no file of ours.
const MOST_BYTES: u64 = 1 << 20;
const VERSION: u8 = 1;

/// The cursor of one watch, which nobody else moves while it lives.
#[derive(Debug)]
pub(super) struct Cursor {
    /// None: it ends with the command.
    file: Option<PathBuf>,
    /// The lock goes with the open file.
    _lock: Option<File>,
    kept: Kept,
    /// Whether it says where to begin.
    set: bool,
    unsaved: bool,
    saved: Instant,
}

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    version: u8,
    /// The address of the service.
    service: String,
    /// The email that was printed last; none: the mailbox was empty, so everything is new.
    last: Option<Printed>,
    /// Ids of the emails that were printed last, the newest at the end.
    recent: VecDeque<String>,
}

/// An email that was printed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Printed {
    pub(super) id: String,
    pub(super) created_at: String,
}

impl Cursor {
    /// One that nobody will find.
    pub(super) fn in_memory() -> Self {
        Self::new(None, None, Kept::nothing(String::new()), false)
    }

    /// The cursor in this file, or of this profile and service, locked. `anew` forgets what it says.
    pub(super) fn open(
        file: Option<&Path>,
        service: &Url,
        anew: bool,
        context: &Context,
    ) -> Result<Self, Fail> {
        let path = match file {
            Some(file) => file.to_owned(),
            None => usual(service, context)?,
        };
        let lock =
            files::create_dir(files::folder(&path)).and_then(|()| lock(&path.with_added_extension("lock")));
        let lock = lock.map_err(|error| of_lock(error, &path))?;
        let kept = if anew { None } else { read(&path)? };
        if let (Some(kept), Some(file)) = (&kept, file)
            && kept.service != service.as_str()
        {
            let rule = format!("this is the cursor of {}, not of {service}", kept.service);
            let value = file.display().to_string();
            let origin = Origin::Flag { name: "--cursor".to_owned(), n: 1, value, span: None };
            return Err(Fail::Usage(Report::one(Problem::new("", "file", rule), Some(origin))));
        }
        let set = kept.is_some();
        let kept = kept.unwrap_or_else(|| Kept::nothing(service.to_string()));
        Ok(Self::new(Some(path), Some(lock), kept, set))
    }

    fn new(file: Option<PathBuf>, lock: Option<File>, kept: Kept, set: bool) -> Self {
        Self { file, _lock: lock, kept, set, unsaved: false, saved: Instant::now() }
    }

    /// Whether it says where to begin.
    pub(super) fn is_set(&self) -> bool {
        self.set
    }

    /// The email that was printed last, if there was one.
    pub(super) fn last(&self) -> Option<&Printed> {
        self.kept.last.as_ref()
    }

    /// Whether this email is among those that were printed last.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.kept.recent.iter().rev().any(|known| known == id)
    }

    /// Begins behind this email, as if it had been printed; without one before all that there are.
    pub(super) fn begin_at(&mut self, newest: Option<&Value>) {
        self.kept = Kept::nothing(std::mem::take(&mut self.kept.service));
        (self.set, self.unsaved) = (true, true);
        if let Some(newest) = newest {
            self.moved_to(newest);
        }
    }

    /// This email has been printed.
    pub(super) fn moved_to(&mut self, row: &Value) {
        let printed = Printed { id: at(row, "/id"), created_at: at(row, "/created_at") };
        self.kept.recent.push_back(printed.id.clone());
        if self.kept.recent.len() > RECENT {
            self.kept.recent.pop_front();
        }
        self.kept.last = Some(printed);
        self.unsaved = true;
    }

    /// Saves it if the last time is a while ago: a disk is too slow to be asked for every line of a long backlog.
    pub(super) fn save_now_and_then(&mut self) -> Result<(), Fail> {
        if self.saved.elapsed() < EVERY { Ok(()) } else { self.save() }
    }

    /// Saves it if it has moved.
    pub(super) fn save(&mut self) -> Result<(), Fail> {
        let (Some(path), true) = (&self.file, self.unsaved) else { return Ok(()) };
        let text = serde_json::to_string(&self.kept).map_err(io::Error::from);
        text.and_then(|text| files::write(path, (text + "\n").as_bytes()))
            .map_err(|error| Fail::local(format!("the cursor {} can't be saved", path.display()), error))?;
        (self.unsaved, self.saved) = (false, Instant::now());
        Ok(())
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // A signal ends the watch by dropping it. Nobody is left to be told that this failed; some lines will come again.
        let _ = self.save();
    }
}

impl Kept {
    fn nothing(service: String) -> Self {
        Self { version: VERSION, service, last: None, recent: VecDeque::new() }
    }
}

/// One file for each profile and service.
fn usual(service: &Url, context: &Context) -> Result<PathBuf, Fail> {
    let folder = paths::state_dir(&context.env)?.ok_or_else(|| Fail::Local {
        message: "there is no home folder to keep the cursor in".to_owned(),
        source: None,
        hint: Some("name a file: --cursor FILE".to_owned()),
    })?;
    let profile = context.settings()?.profile.as_ref().map_or("default", |profile| profile.value.as_str());
    let mut hash = Sha256::new();
    hash.update(profile);
    hash.update([0]);
    hash.update(service.as_str());
    let hash = hash.finalize().iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    Ok(folder.join("received").join(format!("{}-{hash}.json", safe(profile))))
}

fn read(path: &Path) -> Result<Option<Kept>, Fail> {
    let unreadable = |source: io::Error| Fail::Local {
        message: format!("the cursor {} can't be read", path.display()),
        source: Some(Box::new(source)),
        hint: Some("begin anew: posthaste received watch --from-now, or --from-start".to_owned()),
    };
    let Some(text) = files::read(path, MOST_BYTES, false).map_err(unreadable)? else { return Ok(None) };
    let kept: Kept = serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
    if kept.version != VERSION {
        let error = format!("it has version {}, and this program knows version {VERSION}", kept.version);
        return Err(unreadable(io::Error::other(error)));
    }
    Ok(Some(kept))
}

/// Takes the lock. The kernel keeps it with the open file and drops it when the process ends, however it ends; the file stays.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.take(64).read_to_string(&mut holder);
            return Err(io::Error::new(io::ErrorKind::WouldBlock, format!("process {}", holder.trim())));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // Only for the message of whoever comes second.
    let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    Ok(file)
}

fn of_lock(error: io::Error, path: &Path) -> Fail {
    if error.kind() == io::ErrorKind::WouldBlock {
        return Fail::Local {
            message: format!("another watch moves the cursor {} ({error})", path.display()),
            source: None,
            hint: Some("give this one a cursor of its own: --cursor FILE".to_owned()),
        };
    }
    Fail::local(format!("the cursor {} can't be locked", path.display()), error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cursor(path: &Path) -> Cursor {
        let kept = read(path).unwrap();
        let set = kept.is_some();
        Cursor::new(Some(path.to_owned()), None, kept.unwrap_or_else(|| Kept::nothing("s".to_owned())), set)
    }

    #[test]
    fn what_was_printed_is_known_again_also_when_the_watch_was_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        let mut first = cursor(&path);
        assert!(!first.is_set());
        for n in 0..=RECENT {
            first.moved_to(&json!({"id": format!("id-{n}"), "created_at": "2026-01-01T00:00:00Z"}));
        }
        assert!(!path.exists(), "a disk is not asked for every line");
        drop(first);
        let again = cursor(&path);
        assert!(again.is_set() && again.last().unwrap().id == format!("id-{RECENT}"));
        assert!(again.knows("id-1") && !again.knows("id-0"));
        #[cfg(unix)]
        assert_eq!(paths::mode(&path), Some(0o600));
        std::fs::write(&path, "{\"version\":").unwrap();
        assert!(matches!(read(&path), Err(Fail::Local { .. })));
        std::fs::write(&path, json!({"version": 2, "service": "s", "last": null, "recent": []}).to_string())
            .unwrap();
        assert!(matches!(read(&path), Err(Fail::Local { .. })));
    }

    #[test]
    fn a_lock_has_one_holder_and_is_free_when_the_holder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json.lock");
        let held = lock(&path).unwrap();
        let refused = lock(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
        drop(held);
        lock(&path).unwrap();
    }
}
