//! Changes to `config.toml`: one writer at a time, each based on the previous result.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::env::Env;
use super::file::{self, ConfigFile};
use super::paths;
use crate::diagnostics::Fail;
use crate::files;

/// The timeout for another writer, which takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// The configuration file, locked against other writers until this is dropped.
///
/// Readers need no lock: the file is replaced atomically.
#[derive(Debug)]
pub(crate) struct ConfigStore {
    pub(crate) path: PathBuf,
    // The kernel releases the lock at every kind of exit. The file stays.
    _lock: File,
}

impl ConfigStore {
    /// Takes the lock.
    pub(crate) fn lock(env: &Env) -> Result<Self, Fail> {
        let path = path(env)?;
        let name = path.with_file_name("config.lock");
        let failed = |error| Fail::local(format!("couldn't change {}", path.display()), error);
        if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            // A pipe or device can be read, but not changed.
            return Err(failed(std::io::Error::other("not a regular file")));
        }
        files::create_dir(files::folder(&path)).map_err(failed)?;
        let lock = files::private_options().create(true).truncate(false).open(name).map_err(failed)?;
        let until = Instant::now() + TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path, _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(Fail::unavailable(format!("another process is changing {}", path.display()))
                        .hint("try again"));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// The current file.
    pub(crate) fn read(&self) -> Result<Option<ConfigFile>, Fail> {
        ConfigFile::read(&self.path)
    }

    /// Replaces the file.
    pub(crate) fn write(&self, text: &str) -> Result<(), Fail> {
        let failed = |error| Fail::local(format!("couldn't write {}", self.path.display()), error);
        files::write(&self.path, text.as_bytes()).map_err(failed)
    }

    /// Replaces the file with the result of `change`; `None` changes nothing.
    pub(crate) fn update(
        &self,
        change: impl FnOnce(&str) -> Result<Option<String>, toml_edit::TomlError>,
    ) -> Result<bool, Fail> {
        let file = self.read()?;
        let changed = change(file.as_ref().map(|file| &*file.text).unwrap_or_default())
            .map_err(|error| Fail::local("couldn't change the configuration file", error))?;
        changed.map_or(Ok(false), |text| self.write(&text).map(|()| true))
    }

    /// Writes settings of a profile, or of `[defaults]` if no profile is named.
    pub(crate) fn set(&self, profile: Option<&str>, values: &[(&str, &str)]) -> Result<(), Fail> {
        self.update(|text| {
            let set =
                |text: String, (key, value): &(&str, &str)| file::with_setting(&text, profile, key, value);
            values.iter().try_fold(text.to_owned(), set).map(Some)
        })?;
        Ok(())
    }
}

/// The configuration file's path; fails if there is none.
pub(crate) fn path(env: &Env) -> Result<PathBuf, Fail> {
    paths::config_file(env)?.ok_or_else(|| {
        Fail::error("no home directory to store the configuration in").hint("set IDEMPOST_CONFIG_DIR")
    })
}
