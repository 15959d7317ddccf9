//! Stores logins and API keys between runs of the program.
//!
//! | file | purpose |
//! |---|---|
//! | `place` | the files of a profile, and the IDs of their folder and machine |
//! | `private_file` | the folder of the files that only their owner can read or replace (`idempost::auth::files`) |
//! | `lock` | mutual exclusion between processes |
//! | `stored` | the stored credential: tokens, or an API key |
//! | `metadata` | its metadata, readable without the keyring |
//! | `file` | its file, plain or encrypted |
//! | `keyring` | the system keyring |
//! | `key` | the key in the keyring that encrypts the file; without one only by explicit choice |
//! | `store` | the file, its lock and its key behind the interface that sessions use |
//! | `helper` | the process that refreshes tokens, so that killing a command doesn't interrupt it |
//! | `failpoint` | points at which tests kill the program |
//!
//! All files of a login, including the lock, are in `credentials/` next to `config.toml`: processes that share the login share its lock, even if
//! their other folders differ.

mod failpoint;
mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
pub(crate) mod helper;
mod key;
mod keyring;
mod lock;
mod metadata;
mod place;
mod private_file;
mod store;
mod stored;

use std::sync::Arc;
use std::time::Duration;

use idempost::auth::StoreError;
use jiff::Timestamp;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

pub(crate) use self::lock::Holder;
pub(crate) use self::metadata::{CredentialKind, CredentialMetadata};
pub(crate) use self::store::{Copied, ProfileStore};
pub(crate) use self::stored::{StoredCredential, StoredKey};

use self::key::KeyEntry;
use self::keyring::SystemKeyring;
use self::place::Place;
use self::store::{Locked, read_file, run_blocking};
use crate::diagnostics::Fail;
use crate::files::if_found;
use crate::output::report;
pub(crate) use crate::settings::StoreKind;
use crate::settings::env::Env;

/// The timeout of a login or logout that waits for a token refresh.
const TIMEOUT: Duration = Duration::from_secs(75);

/// The hint if a login is needed.
pub(crate) const LOGIN: &str = "idempost auth login";

/// A failure of the credential store.
pub(crate) fn store_failure(error: &StoreError) -> Fail {
    let message = report::error_chain(error);
    match error {
        StoreError::Busy { .. } => Fail::unavailable(message).hint("try again"),
        StoreError::Unreadable { .. } => Fail::auth(message).hint(LOGIN),
        _ => Fail::error(message),
    }
}

impl From<StoreError> for Fail {
    fn from(error: StoreError) -> Self {
        store_failure(&error)
    }
}

/// The credentials of one profile. Creating this touches nothing.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    place: Place,
}

/// Metadata of a profile's credential, without secrets.
#[derive(Debug, Clone)]
pub(crate) struct Overview {
    /// The profile; `default` if none is named.
    pub(crate) profile: String,
    /// The store that holds the secrets.
    pub(crate) store: StoreKind,
    /// The file, if that store is a file.
    pub(crate) path: Option<std::path::PathBuf>,
    /// The ID of the login, which stays the same while its tokens are refreshed.
    pub(crate) login: String,
    /// The credential's metadata.
    pub(crate) metadata: CredentialMetadata,
}

/// A profile with its credential's metadata, or the reason that it is unreadable.
pub(crate) type Listed = (String, Result<Overview, StoreError>);

impl Credentials {
    /// The credentials of a profile. Without a folder for them, the error names the invalid variable.
    pub(crate) fn new(env: &Env, profile: Option<&str>) -> Result<Self, StoreError> {
        Place::new(env, profile).map(|place| Self { place })
    }

    /// The profile's name.
    pub(crate) fn profile(&self) -> &str {
        &self.place.profile
    }

    /// Metadata without opening the keyring; `None` if nothing is stored.
    pub(crate) fn overview(&self) -> Result<Option<Overview>, StoreError> {
        let Some(contents) = read_file(&self.place)? else { return Ok(None) };
        let store = contents.store();
        let (login, metadata) = contents.describe();
        let path = (store == StoreKind::File).then(|| self.place.file(place::CRED));
        let profile = self.place.profile.clone();
        Ok(Some(Overview { profile, store, path, login, metadata }))
    }

    /// The current holder of this login's lock.
    pub(crate) fn holder(&self) -> Option<Holder> {
        lock::holder(&self.place)
    }

    /// Tests a store before the browser opens: creates and removes a dummy file, and a dummy entry of the keyring.
    pub(crate) async fn probe(&self, store: StoreKind) -> Result<(), StoreError> {
        let place = self.place.clone();
        run_blocking(move || {
            place.prepare()?;
            if store == StoreKind::Keyring {
                KeyEntry { place: &place, backend: &SystemKeyring::for_probe() }.probe()?;
            }
            // A unique name: two logins may probe at the same time.
            let path = place.file(place::TEMPORARY).with_extension(uuid::Uuid::new_v4().simple().to_string());
            private_file::StagedFile::reserve(&path, private_file::RESERVED_BYTES)?;
            private_file::remove(&path)
        })
        .await
    }

    /// The store for a session. A new login is written to `wanted`, else to the store of the last login, else to the keyring.
    pub(crate) fn store(&self, wanted: Option<StoreKind>) -> ProfileStore {
        ProfileStore { place: self.place.clone(), wanted, backend: Arc::new(SystemKeyring::new()) }
    }

    /// The stored API key, if any.
    pub(crate) async fn api_key(&self) -> Result<Option<StoredKey>, StoreError> {
        let credentials = self.clone();
        run_blocking(move || credentials.api_key_blocking()).await
    }

    /// The blocking variant, for the construction of a client.
    pub(crate) fn api_key_blocking(&self) -> Result<Option<StoredKey>, StoreError> {
        Ok(match self.store(None).peek()? {
            Some(StoredCredential::ApiKey(key)) => Some(key),
            _ => None,
        })
    }

    /// Stores an API key in place of any other credential.
    pub(crate) async fn store_api_key(
        &self,
        wanted: Option<StoreKind>,
        origin: &str,
        key: SecretString,
    ) -> Result<(), StoreError> {
        let key = StoredKey { origin: origin.to_owned(), key, since: Timestamp::now() };
        let mut locked = Locked(Some(self.store(wanted).lock_profile(TIMEOUT).await?));
        locked.run_blocking(move |locked_profile| locked_profile.write(StoredCredential::ApiKey(key))).await
    }

    /// Stores an unfinished login, replacing an earlier one.
    pub(crate) async fn store_unfinished(&self, bytes: Vec<u8>) -> Result<(), StoreError> {
        let place = self.place.clone();
        run_blocking(move || {
            place.prepare()?;
            let path = place.file(place::LOGIN);
            let temporary = path.with_extension(uuid::Uuid::new_v4().simple().to_string());
            private_file::replace(&path, &temporary, &bytes, private_file::RESERVED_BYTES)
        })
        .await
    }

    /// The unfinished login of an earlier command.
    pub(crate) fn load_unfinished_login(&self) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        private_file::check_folder(&self.place.folder)?;
        private_file::read(&self.place.file(place::LOGIN))
    }

    /// Removes the unfinished login; `false` if there is none, or another process was faster.
    pub(crate) fn take_unfinished(&self) -> Result<bool, StoreError> {
        let path = self.place.file(place::LOGIN);
        let removed = if_found(std::fs::remove_file(&path));
        let removed = removed.map_err(|error| private_file::io_failure("remove", &path, error))?;
        Ok(removed.is_some())
    }

    /// Moves the unfinished login to another profile, in place of any that was begun under its name.
    pub(crate) fn move_unfinished(&self, other: &Self) -> Result<(), StoreError> {
        let [from, to] = [self, other].map(|credentials| credentials.place.file(place::LOGIN));
        let moved = if_found(std::fs::rename(&from, to));
        match moved.map_err(|error| private_file::io_failure("rename", &from, error))? {
            Some(()) => Ok(()),
            None => other.take_unfinished().map(drop),
        }
    }

    /// Removes the stored credential; revokes nothing.
    pub(crate) async fn remove(&self) -> Result<(), StoreError> {
        let mut locked = Locked(Some(self.store(None).lock_profile(TIMEOUT).await?));
        locked.run_blocking(store::LockedProfile::remove).await
    }

    /// Copies the credential to a profile without one, in the same store. `None` if there is nothing to copy.
    pub(crate) async fn copy_to(&self, other: &Self) -> Result<Option<Copied>, StoreError> {
        self.store(None).copy_to(other.store(None)).await
    }

    /// The profiles with a credential or an unfinished login, by name.
    pub(crate) fn profiles(env: &Env) -> Result<Vec<String>, StoreError> {
        Place::profiles(env)
    }

    /// The credentials of all profiles, by name; each as metadata or error.
    pub(crate) fn list(env: &Env) -> Result<Vec<Listed>, StoreError> {
        let profiles = Self::profiles(env)?.into_iter();
        let each = profiles.filter_map(|profile| {
            let overview = Self::new(env, Some(&profile)).and_then(|credentials| credentials.overview());
            overview.transpose().map(|overview| (profile, overview))
        });
        Ok(each.collect())
    }
}

#[cfg(test)]
mod tests;
