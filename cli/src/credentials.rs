//! Where logins and API keys are kept between two runs of the program.
//!
//! | file | idea |
//! |---|---|
//! | `place` | which files, and what binds a record to its place |
//! | `secure` | files that nobody else reads or replaces |
//! | `lock` | one process at a time |
//! | `kept` | what is kept: tokens, or an API key |
//! | `state` | what can be told without the secrets; which store counts |
//! | `keyring` | the store in the operating system's keyring |
//! | `file` | the store in a file, by explicit choice |
//! | `sealed`, `spill` | how a renewed record survives what goes wrong |
//! | `store` | the two stores as the one that the session uses |
//! | `helper` | the process that renews, so that no kill of a command stops it halfway |
//! | `failpoint` | where tests kill the program |
//!
//! All files of a login are in `credentials/` beside `config.toml`, the lock too: whoever shares the login shares its lock, whatever the other
//! folders of two processes are.

mod failpoint;
mod file;
pub(crate) mod helper;
mod kept;
mod keyring;
mod lock;
mod place;
mod sealed;
mod secure;
mod spill;
mod state;
mod store;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use posthaste::auth::StoreError;
use secrecy::SecretString;

pub(crate) use self::kept::{Kept, KeptKey};
pub(crate) use self::lock::Holder;
pub(crate) use self::state::{Facts, KeptKind};
pub(crate) use self::store::{Copied, ProfileStore};

use self::keyring::Ring;
use self::keyring::vault::SystemKeyring;
use self::place::Place;
use self::store::{Locked, elsewhere, recorded};
use crate::diagnostics::Fail;
use crate::output::report;
pub(crate) use crate::settings::StoreKind;
use crate::settings::env::Env;

/// How long a login or a logout waits for a renewal that is under way.
const PATIENCE: Duration = Duration::from_secs(75);

/// What to do when a login is needed.
pub(crate) const LOGIN: &str = "posthaste auth login";

/// A failure of the place where secrets are kept.
pub(crate) fn of_store(error: &StoreError) -> Fail {
    let message = report::chain(error);
    match error {
        StoreError::Busy { .. } => Fail::Unavailable { message, hint: Some("try again".to_owned()) },
        StoreError::Unreadable { .. } => Fail::Auth { message, hint: Some(LOGIN.to_owned()) },
        _ => Fail::Local { message, source: None, hint: None },
    }
}

/// What one profile keeps, and where. Making one touches nothing.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    place: Place,
    /// What the last look at a file found: the store's first read needs no other one.
    looked: Arc<Mutex<Option<Kept>>>,
}

/// What can be told of a profile's login without its secrets.
#[derive(Debug, Clone)]
pub(crate) struct Overview {
    /// The profile; `default` where none is named.
    pub(crate) profile: String,
    /// Where its secrets are.
    pub(crate) store: StoreKind,
    /// The file, if they are in one.
    pub(crate) path: Option<std::path::PathBuf>,
    /// What is kept.
    pub(crate) facts: Facts,
}

/// A profile, and what is kept of it or why that can't be read.
pub(crate) type Listed = (String, Result<Overview, StoreError>);

impl Credentials {
    /// Those of a profile. The error names the variable that is wrong where there is no folder for them.
    pub(crate) fn of(env: &Env, profile: Option<&str>) -> Result<Self, StoreError> {
        Place::of(env, profile).map(|place| Self { place, looked: Arc::default() })
    }

    /// The profile's name.
    pub(crate) fn profile(&self) -> &str {
        self.place.profile()
    }

    /// What is kept, as far as it can be told without the keyring; `None` if nothing is.
    pub(crate) fn overview(&self) -> Result<Option<Overview>, StoreError> {
        let Some((store, state)) = recorded(&self.place)? else { return Ok(None) };
        let (facts, path) = if let (StoreKind::Keyring, Some(state)) = (store, state) {
            (Some(state.facts), None)
        } else {
            let record = file::look(&self.place)?;
            let facts = record.as_ref().map(|record| Facts::of(&record.kept));
            *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = record.map(|record| record.kept);
            (facts, Some(self.place.file(place::Part::Cred)))
        };
        let profile = self.place.profile().to_owned();
        Ok(facts.map(|facts| Overview { profile, store, path, facts }))
    }

    /// Who holds the lock of this login right now.
    pub(crate) fn holder(&self) -> Option<Holder> {
        lock::holder(&self.place)
    }

    /// Tries a store before somebody is sent to a browser: writes, reads and deletes something that means nothing.
    pub(crate) async fn probe(&self, store: StoreKind) -> Result<(), StoreError> {
        let place = self.place.clone();
        elsewhere(move || {
            place.prepare()?;
            match store {
                StoreKind::Keyring => Ring { place: &place, vault: &SystemKeyring::for_a_probe() }.probe(),
                StoreKind::File => {
                    // A name of its own: two logins may try at once.
                    let path = place
                        .file(place::Part::Mark)
                        .with_extension(uuid::Uuid::new_v4().simple().to_string());
                    secure::Coming::reserve(&path, secure::ROOM).map(drop)?;
                    secure::remove(&path)
                }
            }
        })
        .await
    }

    /// The store for a session. A new login goes where `wanted` says, or where the last one was, or to the keyring.
    pub(crate) fn store(&self, wanted: Option<StoreKind>) -> ProfileStore {
        let (place, looked) = (self.place.clone(), Arc::clone(&self.looked));
        ProfileStore { place, wanted, vault: Arc::new(SystemKeyring::new()), looked }
    }

    /// The API key that is kept, if one is.
    pub(crate) async fn api_key(&self) -> Result<Option<KeptKey>, StoreError> {
        let credentials = self.clone();
        elsewhere(move || credentials.api_key_here()).await
    }

    /// The same on this thread, for where a client is made.
    pub(crate) fn api_key_here(&self) -> Result<Option<KeptKey>, StoreError> {
        Ok(match self.store(None).look()? {
            Some(Kept::ApiKey(key)) => Some(key),
            _ => None,
        })
    }

    /// Keeps an API key in place of whatever is kept.
    pub(crate) async fn keep_api_key(
        &self,
        wanted: Option<StoreKind>,
        origin: &str,
        key: SecretString,
    ) -> Result<(), StoreError> {
        let key = KeptKey { origin: origin.to_owned(), key, since: Timestamp::now() };
        let mut locked = Locked(Some(self.store(wanted).turn(PATIENCE).await?));
        locked.with(move |inside| inside.write(Kept::ApiKey(key))).await
    }

    /// Removes whatever is kept; revokes nothing.
    pub(crate) async fn remove(&self) -> Result<(), StoreError> {
        let mut locked = Locked(Some(self.store(None).turn(PATIENCE).await?));
        locked.with(store::Inside::remove).await
    }

    /// Copies what is kept to a profile that has nothing, in the same store. `None` if there is nothing to copy.
    pub(crate) async fn copy_to(&self, other: &Self) -> Result<Option<Copied>, StoreError> {
        self.store(None).copy_to(other.store(None)).await
    }

    /// What is kept of all profiles, by name; the error of one that can't be read stands in its place.
    pub(crate) fn list(env: &Env) -> Result<Vec<Listed>, StoreError> {
        let profiles = Place::profiles(env)?.into_iter();
        let each = profiles.filter_map(|profile| {
            let overview = Self::of(env, Some(&profile)).and_then(|credentials| credentials.overview());
            overview.transpose().map(|overview| (profile, overview))
        });
        Ok(each.collect())
    }
}

#[cfg(test)]
mod tests;
