//! Something secret that the service tells once: into a file that only its owner can read, or on standard output where it was asked for.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::diagnostics::Fail;

/// Fields whose values are secret.
const SECRETS: [&str; 8] = [
    "signing_secret",
    "access_token",
    "refresh_token",
    "token",
    "api_key",
    "client_secret",
    "code",
    "download_url",
];

/// Makes the file, so that a secret that comes later has a place: it must not exist, and only its owner can read it.
///
/// Made before the request leaves: a secret that can't be written would be lost.
pub(crate) fn place(path: &str) -> Result<SecretFile<'_>, Fail> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| Fail::local(format!("{path} can't be made"), error))?;
    Ok(SecretFile { path: Path::new(path), file: Some(file) })
}

/// A file that waits for its secret, and goes away if none comes.
#[derive(Debug)]
pub(crate) struct SecretFile<'a> {
    path: &'a Path,
    file: Option<std::fs::File>,
}

impl<'a> SecretFile<'a> {
    /// Where it is.
    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    /// Writes the secret and a line end.
    pub(crate) fn write(mut self, secret: &str) -> Result<(), Fail> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = writeln!(file, "{secret}").and_then(|()| file.sync_all());
        written.map_err(|error| Fail::local(format!("{} can't be written", self.path.display()), error))
    }
}

impl Drop for SecretFile<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // It is empty; that it stays is no harm worth a word.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// Covers the secrets in a document.
pub(crate) fn cover(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                if SECRETS.contains(&name.as_str()) && value.is_string() {
                    *value = "[redacted]".into();
                } else {
                    cover(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cover),
        _ => {}
    }
}

/// Whether a document holds a secret.
pub(crate) fn holds_secret(json: &Value) -> bool {
    match json {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            (SECRETS.contains(&name.as_str()) && value.is_string()) || holds_secret(value)
        }),
        Value::Array(items) => items.iter().any(holds_secret),
        _ => false,
    }
}
