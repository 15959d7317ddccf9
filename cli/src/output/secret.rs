//! Secrets: one-time secrets are written to a private file, or to standard output on request; all other output is redacted.

use std::borrow::Cow;
use std::io::{ErrorKind, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::diagnostics::Fail;
use crate::files::private_options;
use crate::literal::check_local;

/// JSON fields with credentials.
const CREDENTIALS: [&str; 10] = [
    "access_token",
    "api_key",
    "client_secret",
    "code_verifier",
    "device_code",
    "id_token",
    "refresh_token",
    "registration_access_token",
    "signing_secret",
    "token",
];
/// JSON fields with other secrets, which may be a command's result.
const OTHERS: [&str; 2] = ["code", "download_url"];
/// The replacement for a secret.
pub(crate) const REDACTED: &str = "[redacted]";
/// The minimum length of a redacted secret: a shorter one could be part of a word.
const MIN_KNOWN: usize = 8;

/// The secrets that this process has used or received.
static KNOWN: Mutex<Vec<SecretString>> = Mutex::new(Vec::new());

/// Redacts a secret in all further messages.
pub(crate) fn register(secret: &str) {
    if secret.len() >= MIN_KNOWN {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).push(secret.into());
    }
}

/// Redacts known secrets, and the values of JSON fields with credentials, even in malformed, truncated or nested JSON.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for secret in KNOWN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if text.contains(secret.expose_secret()) {
            text = text.replace(secret.expose_secret(), REDACTED).into();
        }
    }
    for name in CREDENTIALS {
        let mut from = 0;
        while let Some(at) = text[from..].find(name).map(|at| from + at) {
            from = at + name.len();
            if let Some(value) = find_string(&text, at, from) {
                from = value.start + REDACTED.len();
                text.to_mut().replace_range(value, REDACTED);
            }
        }
    }
    text
}

/// The range of the string that follows a name: `"name": "…"`, each quote after as many backslashes as the first.
fn find_string(text: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let before = text[..start].strip_suffix('"')?;
    let quote = format!("{}\"", "\\".repeat(before.len() - before.trim_end_matches('\\').len()));
    let rest = text[end..]
        .strip_prefix(&quote)?
        .trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix(&quote)?;
    let start = text.len() - rest.len();
    let closes = |(at, _): &(usize, &str)| !rest[..*at].ends_with('\\');
    // A string that was cut off ends with the text.
    let len = rest.match_indices(&quote).find(closes).map_or(rest.len(), |(at, _)| at);
    Some(start..start + len)
}

/// Creates a private file for a secret; the file must not exist.
///
/// Created before the request is sent: otherwise an unwritable file would lose the secret.
pub(crate) fn create_file(path: &str) -> Result<SecretFile<'_>, Fail> {
    let file = check_local().and_then(|()| private_options().create_new(true).open(path));
    let file = file.map_err(|error| {
        let hint = "choose a new file; an existing one is never replaced";
        let hint = (error.kind() == ErrorKind::AlreadyExists).then_some(hint);
        Fail::local(format!("couldn't create {path}"), error).hint_if(hint)
    })?;
    Ok(SecretFile { path: Path::new(path), file: Some(file) })
}

/// A file created for a secret; removed if none is written.
#[derive(Debug)]
pub(crate) struct SecretFile<'a> {
    pub(crate) path: &'a Path,
    file: Option<std::fs::File>,
}

impl SecretFile<'_> {
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
            // An empty file that remains does no harm.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

/// A secret's start and end, enough to recognize it; for a short secret, only a short start.
pub(crate) fn mask(secret: &str) -> String {
    let shown = |range| secret.get(range).unwrap_or_default();
    if secret.len() < 24 {
        return format!("{}…", shown(0..3.min(secret.len() / 2)));
    }
    format!("{}…{}", shown(0..6), shown(secret.len() - 4..secret.len()))
}

/// Redacts the secrets in a document.
pub(crate) fn redact_secrets(json: &mut Value) {
    redact_fields(json, &|name| is_secret(name));
}

/// Redacts the credentials in a result.
#[cfg(any(feature = "mcp", test))]
pub(crate) fn redact_credentials(json: &mut Value) {
    redact_fields(json, &|name| CREDENTIALS.contains(&name));
}

/// Whether a field contains a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    CREDENTIALS.contains(&name) || OTHERS.contains(&name)
}

fn redact_fields(json: &mut Value, is_secret: &impl Fn(&str) -> bool) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                if is_secret(name) && value.is_string() {
                    *value = REDACTED.into();
                } else {
                    redact_fields(value, is_secret);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_fields(item, is_secret)),
        Value::String(text) => {
            if let Cow::Owned(redacted) = redact(text) {
                *text = redacted;
            }
        }
        _ => {}
    }
}

/// Whether a document contains a secret.
pub(crate) fn holds_secret(json: &Value) -> bool {
    match json {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| (is_secret(name) && value.is_string()) || holds_secret(value))
        }
        Value::Array(items) => items.iter().any(holds_secret),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_credential_is_redacted_in_nested_and_truncated_json() {
        let token = "re_sentinel_token";
        let body = json!({"token": token, "name": "CI"}).to_string();
        let nested = json!({"message": body, "signing_secret": token}).to_string();
        let twice = json!({"hint": nested}).to_string();
        for text in [
            body.clone(),
            nested,
            twice,
            format!("the response started with: {{\"token\" : \"{token}"),
            format!("{{\"token\":\"with \\\" a quote {token}\"}}"),
        ] {
            let redacted = redact(&text);
            assert!(!redacted.contains("sentinel") && redacted.contains(REDACTED), "{text}\n{redacted}");
        }
        assert_eq!(
            redact("the token \"x\" and {\"tokens\": \"2\"}"),
            "the token \"x\" and {\"tokens\": \"2\"}"
        );
        assert!(redact(&body).contains("CI"));
    }

    #[test]
    fn a_known_secret_is_redacted_wherever_it_occurs() {
        register("sb_known_sentinel");
        register("short");
        assert_eq!(redact("Invalid key sb_known_sentinel: short"), "Invalid key [redacted]: short");
        let mut json = json!({"message": "sb_known_sentinel", "code": "c"});
        redact_credentials(&mut json);
        assert_eq!(json, json!({"message": "[redacted]", "code": "c"}));
    }

    proptest! {
        #[test]
        fn any_text_can_be_redacted(parts in prop::collection::vec(prop_oneof![Just("\"token\":\"".to_owned()), Just("\\\"".to_owned()), any::<String>()], 0..20)) {
            let once = redact(&parts.concat()).into_owned();
            prop_assert_eq!(redact(&once), once.as_str());
        }
    }
}
