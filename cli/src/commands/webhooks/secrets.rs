//! Reads signing secrets from files; never shows them.

use std::time::Duration;

use idempost::webhooks::WebhookVerifier;

use crate::input::flags::Flags;
use crate::input::source::{Source, StdinReaders};
use crate::settings::keys;

/// A secret has about 40 characters; a larger file isn't one.
const SECRET_LIMIT: u64 = 64 * 1024;

/// A verifier that accepts any of the secrets in these files: during a rotation there are two.
pub(super) fn read(paths: &[String], stdin: &mut StdinReaders, flags: &mut Flags) -> Option<WebhookVerifier> {
    let mut verifier: Option<WebhookVerifier> = None;
    for (i, path) in paths.iter().enumerate() {
        let Some(source) = flags.take(stdin.claim("--secret-file", path)) else { continue };
        let added = text(&source).and_then(|secret| {
            let secret = secret.trim_start_matches('\u{feff}').trim();
            let added = match verifier.clone() {
                Some(verifier) => verifier.add_secret(secret),
                None => WebhookVerifier::new(secret),
            };
            added.map_err(|error| format!("{source}: {error}"))
        });
        match added {
            Ok(added) => verifier = Some(added),
            Err(rule) => flags.reject_nth("secret", rule, "--secret-file", i + 1, path),
        }
    }
    verifier
}

fn text(source: &Source) -> Result<String, String> {
    let bytes = source.bytes(SECRET_LIMIT).map_err(|why| format!("couldn't read {source}: {why}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{source} contains no signing secret: it isn't text"))
}

/// Parses `--tolerance`: a duration, or `any`.
pub(super) fn parse_tolerance(text: Option<&str>, flags: &mut Flags) -> Option<Duration> {
    let text = text?;
    if text == "any" {
        return Some(Duration::MAX);
    }
    let reject = |rule| flags.reject("range", format!("a tolerance {rule}, or `any`"), "--tolerance", text);
    keys::parse_duration(text).map_err(reject).ok()
}
