//! Secrets that the service returns only once: written to a private file, or to standard output on request.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::diagnostics::Fail;
use crate::literal::permit_local;

/// JSON fields with secret values.
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

/// Creates a private file for a secret; the file must not exist.
///
/// Created before the request is sent: otherwise an unwritable file would lose the secret.
pub(crate) fn place(path: &str) -> Result<SecretFile<'_>, Fail> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = permit_local().and_then(|()| options.open(path));
    let file = file.map_err(|error| Fail::local(format!("couldn't create {path}"), error))?;
    Ok(SecretFile { path: Path::new(path), file: Some(file) })
}

/// A file created for a secret; removed if none is written.
#[derive(Debug)]
pub(crate) struct SecretFile<'a> {
    path: &'a Path,
    file: Option<std::fs::File>,
}

impl<'a> SecretFile<'a> {
    /// The file's path.
    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    /// Writes the secret and a line ending.
    pub(crate) fn write(mut self, secret: &str) -> Result<(), Fail> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = writeln!(file, "{secret}").and_then(|()| file.sync_all());
        written.map_err(|error| Fail::local(format!("couldn't write {}", self.path.display()), error))
    }
}

impl Drop for SecretFile<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // The file is empty; if it stays, it does no harm.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// A secret's start and end, enough to recognize it among others; only a short start of one that is short itself.
pub(crate) fn masked(secret: &str) -> String {
    let shown = |range| secret.get(range).unwrap_or_default();
    if secret.len() < 24 {
        return format!("{}…", shown(0..3.min(secret.len() / 2)));
    }
    format!("{}…{}", shown(0..6), shown(secret.len() - 4..secret.len()))
}

/// Redacts the secrets in a document.
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

/// Whether a document contains a secret.
pub(crate) fn holds_secret(json: &Value) -> bool {
    match json {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            (SECRETS.contains(&name.as_str()) && value.is_string()) || holds_secret(value)
        }),
        Value::Array(items) => items.iter().any(holds_secret),
        _ => false,
    }
}
