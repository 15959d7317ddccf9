//! The existing profiles: those in the configuration, and those with credentials.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::env::Env;
use super::file::ConfigFile;
use super::paths;
use crate::files::if_found;

/// The active profile if none is named. It always exists.
pub(crate) const DEFAULT: &str = "default";
/// The folder of all credentials, next to `config.toml`.
pub(crate) const CREDENTIALS: &str = "credentials";

/// Their names: first the file's, in order, then the others, sorted.
pub(crate) fn names(file: Option<&ConfigFile>, env: &Env) -> Vec<String> {
    let mut names: Vec<String> = file.iter().flat_map(|file| file.profiles()).map(str::to_owned).collect();
    let folder = paths::config_dir(env).ok().flatten().map(|config| config.join(CREDENTIALS));
    for name in folder.and_then(|folder| with_files(&folder, &["cred"]).ok()).unwrap_or_default() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The profiles that have a file with one of these endings in the credentials folder.
pub(crate) fn with_files(folder: &Path, endings: &[&str]) -> io::Result<Vec<String>> {
    let Some(entries) = if_found(std::fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let mut found: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let (name, ending) = name.rsplit_once('.')?;
            endings.contains(&ending).then(|| profile_name(name))?
        })
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The profile's name encoded for file names. Capitals are escaped: some file systems are case-insensitive.
pub(crate) fn file_name(profile: &str) -> String {
    profile.bytes().fold(String::new(), |mut name, byte| {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => write!(name, "%{other:02x}").unwrap_or_default(),
        }
        name
    })
}

/// Decodes [`file_name`].
fn profile_name(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_profile_has_its_own_file_name(profile in "\\PC{1,15}") {
            let name = file_name(&profile);
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_%".contains(&byte)));
            prop_assert_eq!(profile_name(&name), Some(profile));
        }
    }
}
