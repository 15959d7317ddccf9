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
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, StoreError>;
    /// Creates or replaces an entry.
    fn set(&self, user: &str, secret: &str) -> Result<(), StoreError>;
    /// Removes an entry; succeeds if there is none.
    fn delete(&self, user: &str) -> Result<(), StoreError>;
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
    ) -> Result<Option<T>, StoreError> {
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
    fn get(&self, user: &str) -> Result<Option<Zeroizing<String>>, StoreError> {
        self.call(user, |entry| entry.get_password().map(Zeroizing::new))
    }

    fn set(&self, user: &str, secret: &str) -> Result<(), StoreError> {
        let secret = Zeroizing::new(secret.to_owned());
        let set = self.call(user, move |entry| entry.set_password(&secret))?;
        set.ok_or_else(|| failed("couldn't create the entry"))
    }

    fn delete(&self, user: &str) -> Result<(), StoreError> {
        self.call(user, keyring::Entry::delete_credential).map(drop)
    }
}

/// Runs a call on its own thread, and abandons the thread on timeout.
fn call_with_timeout<T: Send + 'static>(
    timeout: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let (done, result) = channel();
    std::thread::Builder::new()
        .name("keyring".to_owned())
        .spawn(move || done.send(call()))
        .map_err(|error| failed(&format!("couldn't start a thread: {error}")))?;
    result.recv_timeout(timeout).map_err(|error| match error {
        RecvTimeoutError::Timeout => StoreError::unavailable(format!(
            "the keyring didn't respond within {} s; check for a prompt in another window",
            timeout.as_secs()
        )),
        RecvTimeoutError::Disconnected => failed("the call ended without a result"),
    })
}

fn failed(why: &str) -> StoreError {
    StoreError::unavailable(format!("the keyring failed: {why}"))
}

fn classify(error: &keyring::Error) -> StoreError {
    use keyring::Error;
    let cause = match error {
        Error::NoStorageAccess(cause) | Error::PlatformFailure(cause) => cause.to_string(),
        _ => String::new(),
    };
    let is_one_of = |texts: &[&str]| texts.iter().any(|text| cause.contains(text));
    let none = |why: &str| format!("there is no keyring on this machine ({why})");
    let declined = "unlocking the keyring was declined".to_owned();
    StoreError::unavailable(match error {
        Error::NoStorageAccess(_) if cause.contains("prompt") => declined,
        // A Secret Service without a default collection has nothing to unlock.
        Error::NoStorageAccess(_) if cause.contains("no result") => none("it has no default collection"),
        Error::NoStorageAccess(_) if is_one_of(&NO_STORE) => none(&cause),
        Error::NoStorageAccess(_) => "the keyring is locked; unlock it and run the command again".to_owned(),
        Error::PlatformFailure(_) if is_one_of(&DECLINED) => declined,
        // macOS: errSecInteractionNotAllowed
        Error::PlatformFailure(_) if cause.contains("User interaction is not allowed") => {
            "the keychain is locked and can't ask for its password in this session; unlock it with `security unlock-keychain`".to_owned()
        }
        Error::PlatformFailure(_) if is_one_of(&NO_SERVICE) => none(&cause),
        Error::PlatformFailure(_) => return failed(&cause),
        Error::BadEncoding(_) => "the keyring's entry isn't text; it is unchanged".to_owned(),
        Error::Ambiguous(entries) => {
            format!("the keyring has {} entries with the same name; remove all but one", entries.len())
        }
        // The messages of other errors might contain the secret.
        Error::Invalid(name, why) => return failed(&format!("{name} {why}")),
        _ => return failed("unknown error"),
    })
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
        assert!(hangs.unwrap_err().to_string().contains("didn't respond"));
        let panics = call_with_timeout(Duration::from_mins(1), || {
            // Keeps the panic hook's message out of the test's output.
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(panics.unwrap_err().to_string().contains("ended without a result"));
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
