//! The system keyring, with a timeout per call: each call has its own thread, since a keyring may prompt the user, or a bus may not respond.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use idempost::auth::StoreError;
use secrecy::zeroize::Zeroizing;

/// The service name of all entries.
const SERVICE: &str = "idempost";
/// The timeout of a call. On macOS, any call may ask for a password, even after an update of this program; without a user session, it fails
/// immediately.
const TIMEOUT: Duration = Duration::from_secs(if cfg!(target_os = "macos") { 60 } else { 5 });
/// The timeout of a call that only tests for a keyring.
const PROBE_TIMEOUT: Duration = if cfg!(target_os = "macos") { TIMEOUT } else { Duration::from_secs(3) };

/// Stores short secrets by name.
pub(super) trait SecretBackend: Send + Sync + std::fmt::Debug {
    /// `None` if there is no such entry.
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, SecretBackendError>;
    /// Creates or replaces an entry.
    fn set(&self, user: &str, secret: &str) -> Result<(), SecretBackendError>;
    /// Removes an entry; succeeds if there is none.
    fn delete(&self, user: &str) -> Result<(), SecretBackendError>;
}

/// Why a keyring call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretBackendError {
    /// The keyring is locked.
    #[error("the keyring is locked; unlock it and run the command again")]
    Locked,
    /// The user declined to unlock it.
    #[error("unlocking the keyring was declined")]
    Dismissed,
    /// It is locked, and this session has no screen for a prompt.
    #[error(
        "the keychain is locked and can't ask for its password in this session; unlock it with `security unlock-keychain`"
    )]
    NoPrompt,
    /// It didn't respond.
    #[error("the keyring didn't respond within {} s; check for a prompt in another window", .0.as_secs())]
    Slow(Duration),
    /// Several entries have the same name.
    #[error("the keyring has {0} entries with the same name; remove all but one")]
    Ambiguous(usize),
    /// The entry belongs to another program, or is damaged.
    #[error("the keyring's entry isn't text; it is unchanged")]
    NotText,
    /// There is no keyring.
    #[error("there is no keyring on this machine ({0})")]
    None(String),
    /// Anything else.
    #[error("the keyring failed: {0}")]
    Failed(String),
}

impl From<SecretBackendError> for StoreError {
    fn from(error: SecretBackendError) -> Self {
        Self::unavailable(error.to_string())
    }
}

/// The keyring of the user's session.
#[derive(Debug, Clone, Copy)]
pub(super) struct SystemKeyring {
    timeout: Duration,
}

impl SystemKeyring {
    /// With the normal timeout.
    pub(super) fn new() -> Self {
        Self { timeout: TIMEOUT }
    }

    /// With the timeout of a probe.
    pub(super) fn for_probe() -> Self {
        Self { timeout: PROBE_TIMEOUT }
    }

    fn call<T: Send + 'static>(
        self,
        user: &str,
        call: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
    ) -> Result<Option<T>, SecretBackendError> {
        let user = user.to_owned();
        call_with_timeout(self.timeout, move || {
            keyring::Entry::new(SERVICE, &user).and_then(|entry| call(&entry))
        })
        .and_then(|result| match result {
            Ok(value) => Ok(Some(value)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(classify(&error)),
        })
    }
}

impl SecretBackend for SystemKeyring {
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, SecretBackendError> {
        self.call(user, |entry| entry.get_password().map(Zeroizing::new))
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), SecretBackendError> {
        let secret = Zeroizing::new(secret.to_owned());
        let set = self.call(user, move |entry| entry.set_password(&secret))?;
        set.ok_or_else(|| SecretBackendError::Failed("couldn't create the entry".to_owned()))
    }

    fn delete(&self, user: &str) -> Result<(), SecretBackendError> {
        self.call(user, keyring::Entry::delete_credential).map(drop)
    }
}

/// Runs a call on its own thread, and abandons the thread on timeout.
fn call_with_timeout<T: Send + 'static>(
    timeout: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SecretBackendError> {
    let (done, result) = channel();
    std::thread::Builder::new()
        .name("keyring".to_owned())
        .spawn(move || done.send(call()))
        .map_err(|error| SecretBackendError::Failed(format!("couldn't start a thread: {error}")))?;
    result.recv_timeout(timeout).map_err(|error| match error {
        RecvTimeoutError::Timeout => SecretBackendError::Slow(timeout),
        RecvTimeoutError::Disconnected => {
            SecretBackendError::Failed("the call ended without a result".to_owned())
        }
    })
}

fn classify(error: &keyring::Error) -> SecretBackendError {
    use keyring::Error;
    let cause = match error {
        Error::NoStorageAccess(cause) | Error::PlatformFailure(cause) => cause.to_string(),
        _ => String::new(),
    };
    let is_one_of = |texts: &[&str]| texts.iter().any(|text| cause.contains(text));
    match error {
        Error::NoStorageAccess(_) if cause.contains("prompt") => SecretBackendError::Dismissed,
        // A Secret Service without a default collection has nothing to unlock.
        Error::NoStorageAccess(_) if cause.contains("no result") => {
            SecretBackendError::None("it has no default collection".to_owned())
        }
        Error::NoStorageAccess(_) if is_one_of(&NO_STORE) => SecretBackendError::None(cause),
        Error::NoStorageAccess(_) => SecretBackendError::Locked,
        Error::PlatformFailure(_) if is_one_of(&DECLINED) => SecretBackendError::Dismissed,
        // macOS: errSecInteractionNotAllowed
        Error::PlatformFailure(_) if cause.contains("User interaction is not allowed") => {
            SecretBackendError::NoPrompt
        }
        Error::PlatformFailure(_) if is_one_of(&NO_SERVICE) => SecretBackendError::None(cause),
        Error::PlatformFailure(_) => SecretBackendError::Failed(cause),
        Error::BadEncoding(_) => SecretBackendError::NotText,
        Error::Ambiguous(entries) => SecretBackendError::Ambiguous(entries.len()),
        // The messages of other errors might contain the secret.
        Error::Invalid(name, why) => SecretBackendError::Failed(format!("{name} {why}")),
        _ => SecretBackendError::Failed("unknown error".to_owned()),
    }
}

/// The error texts of macOS if the user declines to enter a password, or enters a wrong one: errSecUserCanceled, errSecAuthFailed.
const DECLINED: [&str; 2] =
    ["User canceled the operation", "user name or passphrase you entered is not correct"];
/// The error texts if there is no store for this session. Windows: a network logon, such as one with an SSH key, has no credentials. macOS: there is
/// no default keychain.
const NO_STORE: [&str; 3] =
    ["NO_SUCH_LOGON_SESSION", "keychain could not be found", "No keychain is available"];
/// The error texts of D-Bus if there is no Secret Service.
const NO_SERVICE: [&str; 7] = [
    "No DBus session",
    "Unable to autolaunch",
    "not provided by any .service",
    "Failed to connect",
    "Using X11",
    "$DISPLAY",
    "No such file",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_that_never_responds_times_out() {
        // E-10
        let hangs = call_with_timeout(Duration::from_millis(20), || {
            std::thread::park_timeout(Duration::from_mins(10));
        });
        assert!(matches!(hangs, Err(SecretBackendError::Slow(_))));
        let panics = call_with_timeout(Duration::from_mins(1), || {
            // Keeps the panic hook's message out of the test's output.
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(matches!(panics, Err(SecretBackendError::Failed(_))));
    }

    #[test]
    fn errors_name_the_kind_of_failure_and_never_the_secret() {
        // E-10
        let cause = |text: &str| -> Box<dyn std::error::Error + Send + Sync> { text.into() };
        for (error, expected) in [
            (keyring::Error::NoStorageAccess(cause("Secret Service: object locked")), "keyring is locked"),
            (
                keyring::Error::NoStorageAccess(cause("Secret Service: unlock prompt was dismissed")),
                "declined",
            ),
            (keyring::Error::NoStorageAccess(cause("Secret Service: no result found")), "no keyring"),
            (
                keyring::Error::PlatformFailure(cause("No DBus session or Secret Service provider found")),
                "no keyring",
            ),
            (keyring::Error::PlatformFailure(cause("DBus error: x")), "the keyring failed: DBus error: x"),
            (
                keyring::Error::NoStorageAccess(cause("Windows ERROR_NO_SUCH_LOGON_SESSION")),
                "there is no keyring",
            ),
            (
                keyring::Error::NoStorageAccess(cause("The specified keychain could not be found.")),
                "there is no keyring",
            ),
            (keyring::Error::PlatformFailure(cause("User canceled the operation.")), "declined"),
            (
                keyring::Error::PlatformFailure(cause("User interaction is not allowed.")),
                "security unlock-keychain",
            ),
            (keyring::Error::BadEncoding(b"sentinel\xff".to_vec()), "isn't text"),
            (keyring::Error::Ambiguous(Vec::new()), "entries with the same name"),
            (keyring::Error::Invalid("user".to_owned(), "is empty".to_owned()), "user is empty"),
        ] {
            let message = classify(&error).to_string();
            assert!(message.contains(expected) && !message.contains("sentinel"), "{message}");
        }
    }
}
