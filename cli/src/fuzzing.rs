//! Properties of the program's parsers, for `tests/fuzz`: each function panics if its input violates one.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::commands;
use crate::diagnostics::{Fail, Problem};
use crate::input::documents::Documents;
use crate::input::json;
use crate::input::json_spans::{self, Target};
use crate::input::source::Source;
use crate::output::fuzzing::check_shown;
use crate::output::terminal::{escape_line, is_hostile, safe_lines};
use crate::settings::file::{ConfigFile, with_setting, without_setting};
use crate::settings::keys::KEYS;

/// The maximum number of compared positions per document.
const MAX_PLACES: usize = 200;

/// The addresses of `suppressions import`.
pub fn addresses(data: &[u8]) {
    commands::suppressions::fuzzing::addresses(data);
}

/// The rows of `contacts import`.
pub fn contacts(data: &[u8]) {
    commands::contacts::import::fuzzing::contacts(data);
}

/// The calls of tools of `mcp`.
#[cfg(feature = "mcp")]
pub fn tools(data: &[u8]) {
    commands::mcp::fuzzing::tools(data, crate::cli::command_tree);
}

/// Stored logins and API keys.
pub fn credentials(data: &[u8]) {
    crate::credentials::fuzzing::records(data);
}

/// `config.toml`: a changed setting is read back, nothing else changes, and secrets in the wrong file aren't shown.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let path = Path::new("config.toml");
    let parsed = ConfigFile::parse(path, text);
    match &parsed {
        Ok(file) => {
            let profiles = file.profiles().into_iter().map(Some).chain([None]);
            for profile in profiles {
                for key in KEYS {
                    let entry = file.get(profile, key.name);
                    assert!(entry.is_none_or(|entry| file.text.get(entry.span.clone()).is_some()
                        && file.line(entry.span.start) >= 1));
                }
            }
            let unknown = file.unknown_settings();
            check_shown(&Fail::from(unknown));
        }
        Err(fail) => {
            let shown = check_shown(fail);
            for secret in secrets(text) {
                let visible = shown.matches(&secret).count();
                assert!(visible == 0 || text.matches(&secret).count() > 1, "{secret:?} is shown: {shown}");
            }
        }
    }
    for (profile, key, value) in [
        (None, "timeout", "3s"),
        (None, "retries", "7"),
        (None, "default_profile", "work"),
        (Some("work"), "base_url", "https://a.test"),
        (Some("a \"b\".c"), "from", "Ada\n<a@b.test>"),
    ] {
        let Ok(changed) = with_setting(text, profile, key, value) else { continue };
        let Ok(before) = &parsed else { continue };
        let after = ConfigFile::parse(path, &changed).unwrap_or_else(|fail| panic!("{changed:?}: {fail:?}"));
        let read = |file: &ConfigFile| {
            if key == "default_profile" { file.default_profile() } else { file.get(profile, key) }
        };
        // A file whose `defaults` or `profiles` isn't a table stays unchanged.
        if let Some(entry) = read(&after) {
            assert!(entry.text == value || changed == text, "{key} is {entry:?} in {changed:?}");
        }
        for other in KEYS.iter().filter(|other| other.name != key) {
            let texts = [before, &after].map(|file| file.get(profile, other.name).map(|entry| entry.text));
            assert_eq!(texts[0], texts[1], "{} was changed in {changed:?}", other.name);
        }
        if let Ok(Some(removed)) = without_setting(&changed, profile, key) {
            let after =
                ConfigFile::parse(path, &removed).unwrap_or_else(|fail| panic!("{removed:?}: {fail:?}"));
            assert!(read(&after).is_none(), "{key} is left in {removed:?}");
        }
    }
}

/// The long values of keys that hold secrets, if the text is TOML.
fn secrets(text: &str) -> Vec<String> {
    fn collect(table: &dyn toml_edit::TableLike, found: &mut Vec<String>) {
        for (name, item) in table.iter() {
            if let Some(inner) = item.as_table_like() {
                collect(inner, found);
            }
            let is_secret = ["api_key", "access_token", "refresh_token"].contains(&name);
            found.extend(item.as_str().filter(|value| is_secret && value.len() >= 8).map(str::to_owned));
        }
    }
    let mut found = Vec::new();
    if let Ok(document) = text.parse::<toml_edit::DocumentMut>() {
        collect(document.as_table(), &mut found);
    }
    found
}

/// JSON with positions: the same values as another parser, each at its position; and several documents in one text.
pub fn json(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (ours, theirs) = (json::read(text), serde_json::from_str::<Value>(text));
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(&ours.value, theirs);
            let mut places = Vec::new();
            pointers(theirs, String::new(), &mut places);
            let targets = places
                .iter()
                .flat_map(|place| [(place.as_str(), Target::Value), (place.as_str(), Target::Key)]);
            let spans = json_spans::find(text, targets);
            for (place, span) in places.iter().zip(spans.chunks_exact(2)) {
                let value =
                    text.get(span[0].clone()).unwrap_or_else(|| panic!("{place} has no place in {text:?}"));
                let found = serde_json::from_str::<Value>(value);
                assert_eq!(found.ok().as_ref(), theirs.pointer(place), "{place} of {text:?}");
                assert!(text.get(span[1].clone()).is_some());
            }
            for repeated in &ours.repeated {
                assert!(
                    theirs.pointer(repeated).is_some() || repeated.contains('~'),
                    "{repeated:?} of {text:?}"
                );
            }
        }
        (Err(error), Err(_)) => assert!(text.is_char_boundary(error.at), "{error:?}"),
        _ => panic!("{ours:?} or {theirs:?}?"),
    }
    match Documents::read(Source::Stdin, Arc::from(text)) {
        Ok((documents, found)) => {
            check_shown(&Fail::from(found));
            let count = documents.items.len();
            let problems = (0..count.min(20)).flat_map(|index| {
                ["", "/to", "/a/0"].map(|place| Problem::new(format!("/{index}{place}"), "fuzz", "a rule"))
            });
            let found = documents.locate(problems.collect());
            check_shown(&Fail::from(found));
        }
        Err(found) => {
            assert!(!found.is_empty());
            check_shown(&Fail::from(found));
        }
    }
}

fn pointers(value: &Value, here: String, found: &mut Vec<String>) {
    if found.len() >= MAX_PLACES {
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{here}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                pointers(member, format!("{here}{}", json::escape_pointer(name)), found);
            }
        }
        _ => {}
    }
    found.push(here);
}

/// Untrusted text at the terminal, and untrusted file names.
pub fn shown(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    assert!(!escape_line(&text).chars().any(is_hostile));
    assert!(!safe_lines(&text).chars().any(|char| is_hostile(char) && char != '\n' && char != '\t'));
    check_shown(&Fail::error(text.to_string()).hint(text.to_string()));
    let name = commands::received::file_name::safe(&text);
    assert!((1..=255).contains(&name.len()), "{name:?}");
    assert!(!name.contains(|char: char| is_hostile(char) || "/\\:*?\"<>|".contains(char)), "{name:?}");
    assert!(!name.starts_with(['.', '-', '~', ' ']) && !name.ends_with(['.', ' ']), "{name:?}");
    assert!(!is_device(&name), "{name:?} is a device of Windows");
    assert_eq!(commands::received::file_name::safe(&name), name, "a safe name is changed");
    let second = commands::received::file_name::with_number(&name, 2);
    assert!(second != name && !is_device(&second) && second.len() <= 255, "{second:?}");
}

/// Windows ignores the extension and spaces before it.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_port = numbered.is_some_and(|rest| {
        rest.chars().count() == 1 && rest.chars().all(|char| char.is_ascii_digit() || "¹²³".contains(char))
    });
    is_port || ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str())
}
