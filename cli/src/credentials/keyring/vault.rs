//! The operating system's keyring, each call with an end: on a thread of its own, because a keyring may ask its user, or a bus never answer.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use posthaste::auth::StoreError;
use secrecy::zeroize::Zeroizing;

/// The name that all entries share.
const SERVICE: &str = "posthaste";
/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a call may take when somebody only tries whether there is a keyring.
pub(super) const PATIENCE_OF_A_PROBE: Duration = Duration::from_secs(3);

/// A place for a few short secrets by name.
pub(in crate::credentials) trait Vault: Send + Sync + std::fmt::Debug {
    /// `None`: there is no such entry.
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, VaultError>;
    /// Makes or replaces an entry.
    fn set(&self, user: &str, secret: &str) -> Result<(), VaultError>;
    /// Removes an entry; none there is fine.
    fn delete(&self, user: &str) -> Result<(), VaultError>;
}

/// Why a keyring didn't do it.
#[derive(Debug, thiserror::Error)]
pub(in crate::credentials) enum VaultError {
    /// It is there, and closed.
    #[error("the keyring is locked; unlock it and run the command again")]
    Locked,
    /// Its owner was asked, and said no.
    #[error("the keyring asked to be unlocked, and that was declined")]
    Dismissed,
    /// It didn't answer.
    #[error("the keyring gave no answer within {} s; does it ask something in another window?", .0.as_secs())]
    Slow(Duration),
    /// Several entries have the name.
    #[error("the keyring has {0} entries of that name; remove all but one")]
    Ambiguous(usize),
    /// The entry is another program's, or damaged.
    #[error("the keyring's entry is not text; it was left as it is")]
    NotText,
    /// The platform keeps no secret of that length.
    #[error("the keyring takes {0} characters at the most, and the entry is longer")]
    TooLong(u32),
    /// There is no keyring.
    #[error(
        "there is no keyring on this machine ({0}); `--store file` keeps the login in a file of yours instead"
    )]
    None(String),
    /// Anything else.
    #[error("the keyring failed: {0}")]
    Failed(String),
}

impl From<VaultError> for StoreError {
    fn from(error: VaultError) -> Self {
        Self::unavailable(error.to_string())
    }
}

/// The keyring of this user's session.
#[derive(Debug, Clone, Copy)]
pub(in crate::credentials) struct SystemKeyring {
    patience: Duration,
}

impl SystemKeyring {
    /// For use.
    pub(in crate::credentials) fn new() -> Self {
        Self { patience: PATIENCE }
    }

    /// For trying whether there is one.
    pub(in crate::credentials) fn for_a_probe() -> Self {
        Self { patience: PATIENCE_OF_A_PROBE }
    }

    fn ask<T: Send + 'static>(
        self,
        user: &str,
        call: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Result<Option<T>, VaultError> {
        let user = user.to_owned();
        within(self.patience, move || keyring::Entry::new(SERVICE, &user).and_then(|entry| call(&entry)))
            .and_then(|answer| match answer {
                Ok(value) => Ok(Some(value)),
                Err(keyring::Error::NoEntry) => Ok(None),
                Err(error) => Err(judge(&error)),
            })
    }
}

impl Vault for SystemKeyring {
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, VaultError> {
        self.ask(user, |entry| entry.get_password().map(Zeroizing::new))
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), VaultError> {
        let secret = Zeroizing::new(secret.to_owned());
        let set = self.ask(user, move |entry| entry.set_password(&secret))?;
        set.ok_or_else(|| VaultError::Failed("the entry can't be made".to_owned()))
    }

    fn delete(&self, user: &str) -> Result<(), VaultError> {
        self.ask(user, keyring::Entry::delete_credential).map(drop)
    }
}

/// Runs a call on a thread of its own and leaves it there when the time is over.
fn within<T: Send + 'static>(
    patience: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, VaultError> {
    let (done, answer) = channel();
    std::thread::Builder::new()
        .name("keyring".to_owned())
        .spawn(move || done.send(call()))
        .map_err(|error| VaultError::Failed(format!("no thread for it: {error}")))?;
    answer.recv_timeout(patience).map_err(|error| match error {
        RecvTimeoutError::Timeout => VaultError::Slow(patience),
        RecvTimeoutError::Disconnected => VaultError::Failed("the call ended without an answer".to_owned()),
    })
}

fn judge(error: &keyring::Error) -> VaultError {
    use keyring::Error;
    match error {
        Error::NoStorageAccess(cause) if cause.to_string().contains("prompt") => VaultError::Dismissed,
        // A Secret Service without a default collection has nothing to unlock.
        Error::NoStorageAccess(cause) if cause.to_string().contains("no result") => {
            VaultError::None("it has no collection to keep a login in".to_owned())
        }
        Error::NoStorageAccess(_) => VaultError::Locked,
        Error::PlatformFailure(cause) if no_service(&cause.to_string()) => {
            VaultError::None(cause.to_string())
        }
        Error::PlatformFailure(cause) => VaultError::Failed(cause.to_string()),
        Error::BadEncoding(_) => VaultError::NotText,
        Error::TooLong(_, most) => VaultError::TooLong(*most),
        Error::Ambiguous(entries) => VaultError::Ambiguous(entries.len()),
        // Others could hold more than their name says.
        Error::Invalid(name, why) => VaultError::Failed(format!("{name} {why}")),
        _ => VaultError::Failed("for a reason that it doesn't name".to_owned()),
    }
}

/// What D-Bus says where nobody offers secrets.
fn no_service(cause: &str) -> bool {
    [
        "No DBus session",
        "Unable to autolaunch",
        "not provided by any .service",
        "Failed to connect",
        "Using X11",
        "$DISPLAY",
        "No such file",
    ]
    .iter()
    .any(|part| cause.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_that_never_answers_is_left_alone_after_a_while() {
        let hangs = within(Duration::from_millis(20), || std::thread::park_timeout(Duration::from_mins(10)));
        assert!(matches!(hangs, Err(VaultError::Slow(_))));
        let panics = within(Duration::from_secs(5), || {
            // Without the hook's words on the test's output.
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(matches!(panics, Err(VaultError::Failed(_))));
    }

    #[test]
    fn every_failure_of_a_keyring_is_told_by_its_kind_and_never_by_the_secret() {
        let cause = |text: &str| -> Box<dyn std::error::Error + Send + Sync> { text.into() };
        for (error, said) in [
            (keyring::Error::NoStorageAccess(cause("Secret Service: object locked")), "locked"),
            (
                keyring::Error::NoStorageAccess(cause("Secret Service: unlock prompt was dismissed")),
                "declined",
            ),
            (keyring::Error::NoStorageAccess(cause("Secret Service: no result found")), "--store file"),
            (
                keyring::Error::PlatformFailure(cause("No DBus session or Secret Service provider found")),
                "--store file",
            ),
            (keyring::Error::PlatformFailure(cause("DBus error: x")), "failed"),
            (keyring::Error::BadEncoding(b"sentinel\xff".to_vec()), "not text"),
            (keyring::Error::TooLong("password".to_owned(), 2560), "2560"),
            (keyring::Error::Ambiguous(Vec::new()), "entries of that name"),
            (keyring::Error::Invalid("user".to_owned(), "is empty".to_owned()), "user is empty"),
        ] {
            let told = judge(&error).to_string();
            assert!(told.contains(said) && !told.contains("sentinel"), "{told}");
        }
    }
}
