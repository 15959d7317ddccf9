//! The paths of a login's files, and the IDs of its folder and machine.

use std::path::PathBuf;

use idempost::auth::StoreError;
use sha2::{Digest as _, Sha256};

use super::private_file;
use crate::output::hex;
use crate::settings::env::Env;
use crate::settings::paths;
use crate::settings::profiles::{self, CREDENTIALS, DEFAULT};

/// A file name length that is safe everywhere, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// The extension of the record's file.
pub(super) const CRED: &str = "cred";
/// Of the lock; never removed.
pub(super) const LOCK: &str = "lock";
/// Of a login that another command finishes.
pub(super) const LOGIN: &str = "login";
/// Of the next record, created before the token exchange, so that a full disk can't lose it.
pub(super) const NEXT: &str = "next";
/// Of a temporary record that may be lost.
pub(super) const TEMPORARY: &str = "mark";

/// The files of one profile's login: all in one folder next to the configuration, so that processes that share the login share its lock.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The folder of all logins.
    pub(super) folder: PathBuf,
    pub(super) profile: String,
    name: String,
    pub(super) network_lock: bool,
}

impl Place {
    /// The location of a profile's login.
    pub(super) fn new(env: &Env, profile: Option<&str>) -> Result<Self, StoreError> {
        let folder = folder(env)?;
        let profile = profile.unwrap_or(DEFAULT).to_owned();
        let name = file_name(&profile)?;
        let network_lock =
            env.get("IDEMPOST_NETWORK_HOME").and_then(crate::settings::env::parse_bool) == Some(true);
        Ok(Self { folder, profile, name, network_lock })
    }

    /// One of the profile's files.
    pub(super) fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{}", self.name, extension))
    }

    /// Creates the folder if needed, and checks that only its owner has access.
    pub(super) fn prepare(&self) -> Result<(), StoreError> {
        private_file::folder(&self.folder)
    }

    /// The ID that distinguishes this folder from others that share its keyring.
    ///
    /// Derived from the real path, so symbolic links refer to the same store, and a copied folder is a different one.
    pub(super) fn store_id(&self) -> String {
        let path = self.folder.canonicalize().unwrap_or_else(|_| self.folder.clone());
        short_hash(&["idempost store", &path.to_string_lossy()])
    }

    /// The profiles with a record or an unfinished login.
    pub(super) fn profiles(env: &Env) -> Result<Vec<String>, StoreError> {
        let folder = folder(env)?;
        profiles::with_files(&folder, &[CRED, LOGIN])
            .map_err(|error| private_file::io_failure("read", &folder, error))
    }
}

fn folder(env: &Env) -> Result<PathBuf, StoreError> {
    let config = paths::config_dir(env).map_err(|error| StoreError::unavailable(error.to_string()))?;
    config
        .map(|config| config.join(CREDENTIALS))
        .ok_or_else(|| StoreError::unavailable("there is no home directory: set HOME or IDEMPOST_CONFIG_DIR"))
}

fn file_name(profile: &str) -> Result<String, StoreError> {
    let name = profiles::file_name(profile);
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(StoreError::unavailable(format!(
            "the profile name is {} for a file name: it has {} bytes",
            if name.is_empty() { "too short" } else { "too long" },
            profile.len()
        )));
    }
    Ok(name)
}

/// An ID of this machine, to detect copied records; `None` if the system has none.
pub(super) fn host_id() -> Option<String> {
    parse_machine_id(&std::fs::read_to_string("/etc/machine-id").ok()?)
}

fn parse_machine_id(machine: &str) -> Option<String> {
    let machine = machine.trim();
    // The raw machine ID must be kept confidential (machine-id(5)).
    (!machine.is_empty()).then(|| short_hash(&["idempost host", machine]))
}

fn short_hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_relative_folder_is_refused_with_the_name_of_its_variable() {
        // E-11
        for (pairs, named) in [
            (&[][..], "HOME"),
            (&[("HOME", "here")][..], "HOME"),
            (&[("IDEMPOST_CONFIG_DIR", "here"), ("HOME", "/home/a")][..], "IDEMPOST_CONFIG_DIR"),
        ] {
            // Without any variable, the system's user database is asked.
            if let Err(error) = Place::new(&Env::from_pairs(pairs), None) {
                assert!(error.to_string().contains(named), "{error}");
            } else {
                assert!(pairs.is_empty());
            }
        }
    }

    #[test]
    fn the_id_of_a_machine_is_a_hash() {
        let machine = "3f8a7c0e5d2b49618f0e1d2c3b4a5968";
        let id = parse_machine_id(machine).unwrap();
        assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert!(!machine.contains(&id), "{id}");
        assert_eq!(parse_machine_id(&format!("{machine}\n")), Some(id.clone()));
        assert_ne!(parse_machine_id("3f8a7c0e5d2b49618f0e1d2c3b4a5969"), Some(id));
        assert_eq!(parse_machine_id(" \n"), None);
        assert_eq!(host_id(), host_id());
    }

    #[test]
    fn a_profile_name_has_1_to_200_bytes() {
        let env = Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", "/home/a")]);
        let of = |profile: &str| Place::new(&env, Some(profile)).map_err(|error| error.to_string());
        assert!(of(&"a".repeat(200)).is_ok());
        for (profile, problem) in [("", "too short"), (&*"a".repeat(201), "too long")] {
            let error = of(profile).unwrap_err();
            assert!(error.contains(problem) && error.contains(&profile.len().to_string()), "{error}");
        }
    }

    #[test]
    fn the_store_id_depends_on_the_real_path() {
        // E-12
        let home = tempfile::tempdir().unwrap();
        let (a, b, link) = (home.path().join("a"), home.path().join("b"), home.path().join("link"));
        let id = |folder: &Path| {
            let place =
                Place::new(&Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", folder.to_str().unwrap())]), None)
                    .unwrap();
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
