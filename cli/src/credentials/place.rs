//! Where the files of a login are, and the names that bind a record to its place.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use posthaste::auth::StoreError;
use sha2::{Digest as _, Sha256};

use super::secure;
use crate::settings::env::Env;
use crate::settings::paths;
use crate::settings::profiles::{self, CREDENTIALS, DEFAULT};

/// No longer name of a file is safe everywhere.
const MOST_BYTES_OF_A_NAME: usize = 200;

/// The files of one profile's login: all in one folder beside the configuration, so that whoever shares the login shares its lock.
#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: PathBuf,
    profile: String,
    name: String,
    spills: Vec<PathBuf>,
    pub(super) network_lock: bool,
}

/// One of a profile's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The record, where it is kept in a file.
    Cred,
    /// The lock; never removed.
    Lock,
    /// The record that comes next: made before the exchange, so that a full disk can't lose it.
    Next,
    /// A record or state on its way, whose loss would cost nothing.
    Mark,
    /// What can be told of a login without its secrets.
    State,
    /// The access token, sealed, where the keyring's entry would be too long.
    Token,
}

impl Part {
    fn ending(self) -> &'static str {
        match self {
            Self::Cred => "cred",
            Self::Lock => "lock",
            Self::Mark => "mark",
            Self::Next => "next",
            Self::State => "state",
            Self::Token => "token",
        }
    }
}

impl Place {
    /// The place of a profile's login.
    pub(super) fn of(env: &Env, profile: Option<&str>) -> Result<Self, StoreError> {
        let folder = folder(env)?;
        let profile = profile.unwrap_or(DEFAULT).to_owned();
        let name = file_name(&profile)?;
        let state = env.path("XDG_STATE_HOME").or_else(|| Some(env.path("HOME")?.join(".local/state")));
        let spills = [state.map(|base| base.join("posthaste")), env.path("XDG_RUNTIME_DIR")];
        let spills = spills.into_iter().flatten().filter(|path| path.is_absolute()).collect();
        let network_lock =
            env.get("POSTHASTE_NETWORK_HOME").and_then(crate::settings::env::switch) == Some(true);
        Ok(Self { folder, profile, name, spills, network_lock })
    }

    /// The profile's name.
    pub(super) fn profile(&self) -> &str {
        &self.profile
    }

    /// The folder of all logins.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of the profile's files.
    pub(super) fn file(&self, part: Part) -> PathBuf {
        self.folder.join(format!("{}.{}", self.name, part.ending()))
    }

    /// Makes the folder if there is none, and checks that it is its owner's alone.
    pub(super) fn prepare(&self) -> Result<(), StoreError> {
        secure::folder(&self.folder)
    }

    /// Where a record goes that can't be saved where it belongs, in this order.
    pub(super) fn spills(&self) -> Vec<PathBuf> {
        let name = format!("{}-{}.spill", self.store_id(), self.name);
        self.spills.iter().map(|folder| folder.join(&name)).collect()
    }

    /// What tells this folder from every other one that shares a keyring with it.
    ///
    /// It is made of the folder's real path: two names of one folder are one store, and a copied folder is another one.
    pub(super) fn store_id(&self) -> String {
        let path = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        short_hash(&["posthaste store", &path.to_string_lossy()])
    }

    /// The profiles that have one of these files.
    pub(super) fn profiles(env: &Env) -> Result<Vec<String>, StoreError> {
        let folder = folder(env)?;
        profiles::with_credentials(&folder).map_err(|error| secure::failed("read", &folder, error))
    }
}

fn folder(env: &Env) -> Result<PathBuf, StoreError> {
    let config = paths::config_dir(env).map_err(|error| StoreError::unavailable(error.to_string()))?;
    config.map(|config| config.join(CREDENTIALS)).ok_or_else(|| {
        StoreError::unavailable("there is no home folder: set HOME, or name a folder by POSTHASTE_CONFIG_DIR")
    })
}

fn file_name(profile: &str) -> Result<String, StoreError> {
    let name = profiles::file_name(profile);
    if name.is_empty() || name.len() > MOST_BYTES_OF_A_NAME {
        return Err(StoreError::unavailable(format!(
            "the name of the profile is {} for a file: it has {} bytes",
            if name.is_empty() { "too short" } else { "too long" },
            profile.len()
        )));
    }
    Ok(name)
}

/// This machine, as far as a copied record has to know it; none where the system names no machine.
pub(super) fn host_id() -> Option<String> {
    let machine = std::fs::read_to_string("/etc/machine-id").ok()?;
    let machine = machine.trim();
    // The machine's own id is to be kept to itself (machine-id(5)).
    (!machine.is_empty()).then(|| short_hash(&["posthaste host", machine]))
}

fn short_hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()[..8])
}

/// Bytes as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_absolute_is_refused_by_the_name_of_its_variable() {
        for (pairs, named) in [
            (&[][..], "HOME"),
            (&[("HOME", "here")][..], "HOME"),
            (&[("POSTHASTE_CONFIG_DIR", "here"), ("HOME", "/home/a")][..], "POSTHASTE_CONFIG_DIR"),
        ] {
            // Without any variable the system's own idea of a home is asked.
            if let Err(error) = Place::of(&Env::of(pairs), None) {
                assert!(error.to_string().contains(named), "{error}");
            } else {
                assert!(pairs.is_empty());
            }
        }
    }

    #[test]
    fn two_folders_are_two_stores_and_two_names_of_one_are_one() {
        let home = tempfile::tempdir().unwrap();
        let (a, b, link) = (home.path().join("a"), home.path().join("b"), home.path().join("link"));
        let id = |folder: &Path| {
            let place =
                Place::of(&Env::of(&[("POSTHASTE_CONFIG_DIR", folder.to_str().unwrap())]), None).unwrap();
            place.prepare().unwrap();
            place.store_id()
        };
        assert_ne!(id(&a), id(&b));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&a, &link).unwrap();
            assert_eq!(id(&a), id(&link));
        }
    }
}
