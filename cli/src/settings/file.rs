//! `config.toml`: parsed with the position of every value, and changed without touching comments or order.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{Document, DocumentMut, Item, Table, TableLike, Value};

use super::keys::{self, KEYS};
use super::secrets;
use crate::diagnostics::{Diagnostic, Fail, Origin, line_and_column};
use crate::files;

/// Larger configuration files are rejected as mistakes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The allowed top-level keys.
const TABLES: [&str; 4] = ["default_profile", "defaults", "profiles", "aliases"];

/// The parsed file with positions.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    /// Its whole text.
    pub(crate) text: Arc<str>,
    /// The same with secrets redacted, for messages.
    shown: Arc<str>,
    document: Document<Arc<str>>,
    /// Secrets, and tables of the wrong type.
    pub(super) faults: Vec<Diagnostic>,
}

/// A value in the file and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The value as text, for any TOML type.
    pub(crate) text: String,
    /// Its bytes in the file.
    pub(crate) span: Range<usize>,
}

impl ConfigFile {
    /// Reads the file; `None` if it doesn't exist.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Fail> {
        Self::read_with_faults(path)?.map(Self::without_faults).transpose()
    }

    /// The same, even with [`faults`](Self::faults), which are reported together with those of the settings.
    pub(super) fn read_with_faults(path: &Path) -> Result<Option<Self>, Fail> {
        // It may be a pipe: IDEMPOST_CONFIG_DIR can point to a process substitution.
        let bytes = match files::read(path, MAX_BYTES, true) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                let rule = format!("{} can't be used as the configuration file: {error}", path.display());
                return Err(Fail::usage("file", rule, None));
            }
            Err(error) => {
                let message = format!("couldn't read the configuration file {}", path.display());
                return Err(Fail::local(message, error));
            }
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let rule = format!("{} isn't UTF-8 text (byte {at})", path.display());
            Fail::usage("charset", rule, None)
        })?;
        Self::parse_with_faults(path, &text).map(Some)
    }

    /// Parses the text of a file.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Fail> {
        Self::parse_with_faults(path, text)?.without_faults()
    }

    fn without_faults(self) -> Result<Self, Fail> {
        if self.faults.is_empty() { Ok(self) } else { Err(self.faults.into()) }
    }

    fn parse_with_faults(path: &Path, text: &str) -> Result<Self, Fail> {
        let text: Arc<str> = Arc::from(text.strip_prefix('\u{FEFF}').unwrap_or(text));
        let (secrets, shown) = secrets::mask(&text);
        let origin = |span| Origin::Config { path: path.to_owned(), text: Arc::clone(&shown), span };
        let document = Document::parse(Arc::clone(&text)).map_err(|error| {
            let origin = origin(error.span().unwrap_or_default());
            Fail::usage("syntax", format!("not TOML: {}", error.message().trim()), Some(origin))
        })?;
        let found = secrets.into_iter().map(|key| {
            let rule = format!(
                "`{}` doesn't belong here: this file contains no secrets, so that it can be shared",
                &text[key.clone()]
            );
            let hint = "set IDEMPOST_API_KEY, or store the key in its own file: `--api-key-file PATH`";
            Diagnostic { hint: Some(hint.to_owned()), ..Diagnostic::new("secret", rule, Some(origin(key))) }
        });
        let shapes = wrong_shapes(document.as_table());
        let shapes = shapes.into_iter().map(|(span, rule)| Diagnostic::new("type", rule, Some(origin(span))));
        let faults = found.chain(shapes).collect();
        Ok(Self { path: path.to_owned(), text, shown, document, faults })
    }

    /// The default profile set in the file.
    pub(crate) fn default_profile(&self) -> Option<Entry> {
        entry(self.document.get("default_profile")?)
    }

    /// The names of the profiles, in the order of the file.
    pub(crate) fn profiles(&self) -> Vec<&str> {
        self.table("profiles").map(|table| table.iter().map(|(name, _)| name).collect()).unwrap_or_default()
    }

    /// The aliases and their command lines, in the order of the file.
    pub(crate) fn aliases(&self) -> Vec<(String, String)> {
        let aliases = self.table("aliases").into_iter().flat_map(|table| table.iter());
        aliases.filter_map(|(name, command)| Some((name.to_owned(), command.as_str()?.to_owned()))).collect()
    }

    /// A setting of a profile, or of `[defaults]` if no profile is named.
    pub(crate) fn get(&self, profile: Option<&str>, key: &str) -> Option<Entry> {
        let table = match profile {
            Some(name) => self.table("profiles")?.get(name)?.as_table_like()?,
            None => self.table("defaults")?,
        };
        entry(table.get(key)?)
    }

    /// The origin of a position in this file.
    pub(crate) fn origin(&self, span: Range<usize>) -> Origin {
        Origin::Config { path: self.path.clone(), text: Arc::clone(&self.shown), span }
    }

    /// The line of a position in this file, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        line_and_column(&self.text, at).0
    }

    /// The unknown settings in the file, each with a suggestion.
    pub(crate) fn unknown_settings(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (name, _) in self.document.iter() {
            if !TABLES.contains(&name) {
                let setting = keys::find(name).map(|_| "write settings under [defaults] or [profiles.NAME]");
                let hint = setting.map(str::to_owned).or_else(|| keys::suggestion_hint(name, TABLES));
                found.push(self.unknown_setting(self.document.as_table(), name, hint));
            }
        }
        for (_, table) in self.tables() {
            for (name, _) in table.iter().filter(|(name, _)| keys::find(name).is_none()) {
                found.push(self.unknown_setting(
                    table,
                    name,
                    keys::suggestion_hint(name, KEYS.iter().map(|key| key.name)),
                ));
            }
        }
        found
    }

    fn unknown_setting(&self, table: &dyn TableLike, name: &str, hint: Option<String>) -> Diagnostic {
        let span = table.key(name).and_then(toml_edit::Key::span).unwrap_or_default();
        let rule = format!("unknown setting `{name}`");
        Diagnostic { hint, ..Diagnostic::new("unknown", rule, Some(self.origin(span))) }
    }

    fn table(&self, name: &str) -> Option<&dyn TableLike> {
        self.document.get(name)?.as_table_like()
    }

    /// `[defaults]` and every profile, with the profile's name.
    fn tables(&self) -> Vec<(Option<&str>, &dyn TableLike)> {
        let defaults = self.table("defaults").map(|table| (None, table));
        let profiles = self.table("profiles").into_iter().flat_map(|table| table.iter());
        let profiles = profiles.filter_map(|(name, item)| Some((Some(name), item.as_table_like()?)));
        defaults.into_iter().chain(profiles).collect()
    }
}

/// Tables of the wrong type and aliases that aren't text, each with the violated rule. Their contents would be ignored, even the guard's settings.
fn wrong_shapes(document: &Table) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut check = |item: &Item, fits: bool, rule: String| {
        if !fits {
            found.push((item.span().unwrap_or_default(), rule));
        }
    };
    for name in &TABLES[1..] {
        let Some(item) = document.get(name) else { continue };
        check(item, item.is_table_like(), format!("`{name}` must be a table"));
        for (key, entry) in item.as_table_like().into_iter().flat_map(|table| table.iter()) {
            match *name {
                "profiles" => check(
                    entry,
                    entry.is_table_like(),
                    format!("the profile `{key}` must be a table, `[profiles.{key}]`"),
                ),
                "aliases" => check(entry, entry.is_str(), format!("the alias `{key}` must be a string")),
                _ => {}
            }
        }
    }
    found
}

/// The text of the file with one setting changed; preserves comments and order.
pub(crate) fn with_setting(
    text: &str,
    profile: Option<&str>,
    key: &str,
    value: &str,
) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let value = match keys::find(key).map(|key| key.kind) {
        Some(keys::Kind::Count(most)) => {
            keys::parse_count(value, most).map_or_else(|_| value.into(), |n| Value::from(i64::from(n)))
        }
        Some(keys::Kind::Switch) => super::env::parse_bool(value).map_or_else(|| value.into(), Value::from),
        _ => Value::from(value),
    };
    if key == "default_profile" {
        replace_value(document.as_table_mut(), key, value);
        return Ok(document.to_string());
    }
    let table = match profile {
        None => child(document.as_table_mut(), "defaults", false),
        Some(name) => {
            child(document.as_table_mut(), "profiles", true).and_then(|profiles| child(profiles, name, false))
        }
    };
    if let Some(table) = table {
        replace_value(table, key, value);
    }
    Ok(document.to_string())
}

/// The text of the file without one setting; `None` if it wasn't set.
pub(crate) fn without_setting(
    text: &str,
    profile: Option<&str>,
    key: &str,
) -> Result<Option<String>, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let table: Option<&mut dyn TableLike> = match profile {
        _ if key == "default_profile" => Some(document.as_table_mut()),
        None => document.get_mut("defaults").and_then(Item::as_table_like_mut),
        Some(name) => document
            .get_mut("profiles")
            .and_then(|profiles| profiles.get_mut(name))
            .and_then(Item::as_table_like_mut),
    };
    let removed = table.is_some_and(|table| table.remove(key).is_some());
    Ok(removed.then(|| document.to_string()))
}

/// The text of the file with an alias, or without it; `None` if it wasn't there.
pub(crate) fn with_alias(
    text: &str,
    name: &str,
    command: Option<&str>,
) -> Result<Option<String>, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let Some(aliases) = child(document.as_table_mut(), "aliases", false) else { return Ok(None) };
    match command {
        Some(command) => replace_value(aliases, name, command.into()),
        None if aliases.remove(name).is_none() => return Ok(None),
        None => {}
    }
    Ok(Some(document.to_string()))
}

/// The text of the file with a profile renamed, at the same position.
pub(crate) fn rename_profile(text: &str, old: &str, new: &str) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    if let Some(profiles) = document.get_mut("profiles").and_then(Item::as_table_like_mut) {
        let names: Vec<String> = profiles.iter().map(|(name, _)| name.to_owned()).collect();
        for name in names {
            // Reinserts all entries, since a table can't rename a key.
            let decor = profiles.key(&name).map(|key| (key.leaf_decor().clone(), key.dotted_decor().clone()));
            let Some(item) = profiles.remove(&name) else { continue };
            let name = if name == old { new } else { &name };
            profiles.insert(name, item);
            if let (Some(mut key), Some((leaf, dotted))) = (profiles.key_mut(name), decor) {
                (*key.leaf_decor_mut(), *key.dotted_decor_mut()) = (leaf, dotted);
            }
        }
    }
    Ok(document.to_string())
}

fn child<'a>(table: &'a mut dyn TableLike, name: &str, implicit: bool) -> Option<&'a mut dyn TableLike> {
    let fresh = || {
        let mut fresh = Table::new();
        fresh.set_implicit(implicit);
        Item::Table(fresh)
    };
    table.entry(name).or_insert_with(fresh).as_table_like_mut()
}

/// Replaces a value and keeps the comment after it.
fn replace_value(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(key, Item::Value(value));
        }
    }
}

fn entry(item: &Item) -> Option<Entry> {
    let value = item.as_value()?;
    let text = match value {
        Value::String(text) => text.value().clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_str) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
        }
        other => other.clone().decorated("", "").to_string(),
    };
    Some(Entry { text, span: value.span().unwrap_or_default() })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const FILE: &str = "# mine\ndefault_profile = \"work\"\n\n[defaults]\noutput = \"human\" # for eyes\nretries = 5\n\n\
                        [profiles.work]\nbase_url = \"https://api.example.com\"\n\n[profiles.local]\nbase_url = \"http://127.0.0.1:4010\"\n";

    fn parse(text: &str) -> Result<ConfigFile, Fail> {
        ConfigFile::parse(Path::new("config.toml"), text)
    }

    pub(in crate::settings) fn problems(fail: Fail) -> Vec<Diagnostic> {
        match fail {
            Fail::Usage(report) => report.found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_has_its_line() {
        let file = parse(FILE).unwrap();
        let entry = file.get(None, "retries").unwrap();
        assert_eq!((entry.text.as_str(), file.line(entry.span.start)), ("5", 6));
        assert_eq!(file.get(Some("local"), "base_url").unwrap().text, "http://127.0.0.1:4010");
        assert_eq!(file.get(Some("nobody"), "base_url"), None);
        assert_eq!(file.profiles(), ["work", "local"]);
        assert_eq!(file.default_profile().unwrap().text, "work");
    }

    #[test]
    fn setting_a_value_preserves_comments_and_order() {
        let changed = with_setting(FILE, None, "output", "json").unwrap();
        assert_eq!(changed, FILE.replace("\"human\"", "\"json\""));
        let changed = with_setting(FILE, Some("work"), "from", "Acme <hi@acme.test>").unwrap();
        assert!(changed.contains("base_url = \"https://api.example.com\"\nfrom = \"Acme <hi@acme.test>\"\n"));
        assert_eq!(with_setting("", Some("a"), "retries", "2").unwrap(), "[profiles.a]\nretries = 2\n");
        assert_eq!(with_setting("", None, "no_input", "yes").unwrap(), "[defaults]\nno_input = true\n");
    }

    #[test]
    fn unsetting_reports_whether_the_value_was_set() {
        assert_eq!(
            without_setting(FILE, None, "retries").unwrap().unwrap(),
            FILE.replace("retries = 5\n", "")
        );
        assert_eq!(without_setting(FILE, None, "from").unwrap(), None);
        assert!(
            !without_setting(FILE, None, "default_profile").unwrap().unwrap().contains("default_profile")
        );
    }

    #[test]
    fn a_renamed_profile_keeps_its_place_and_its_comments() {
        let changed = rename_profile(FILE, "work", "job").unwrap();
        assert_eq!(changed, FILE.replace("[profiles.work]", "[profiles.job]"));
        let inline = "profiles = { work = { retries = 1 }, b = { retries = 2 } } # two\n";
        assert_eq!(rename_profile(inline, "work", "a").unwrap(), inline.replace("work", "a"));
        let dotted = "# one\nprofiles.work.retries = 1\nprofiles.b.retries = 2\n";
        assert_eq!(rename_profile(dotted, "work", "a").unwrap(), dotted.replace("work", "a"));
    }

    #[test]
    fn an_unknown_key_is_reported_with_a_suggestion() {
        let file = parse("[defaults]\noutptu = \"json\"\n[profiles.x]\nzebra = 1\n").unwrap();
        let unknown = file.unknown_settings();
        assert_eq!(unknown.len(), 2);
        assert_eq!(unknown[0].hint.as_deref(), Some("did you mean `output`?"));
        assert_eq!(unknown[0].origin, Some(file.origin(11..17)));
        assert_eq!(unknown[1].hint, None);
    }

    #[test]
    fn a_setting_outside_a_table_has_a_hint_where_it_belongs() {
        let hint = parse("base_url = \"x\"").unwrap().unknown_settings()[0].hint.clone().unwrap();
        assert!(hint.contains("[defaults]"), "{hint}");
    }

    #[test]
    fn a_syntax_error_has_its_position() {
        let found = problems(parse("[defaults]\noutput = \n").unwrap_err());
        assert!(
            matches!(&found[0].origin, Some(Origin::Config { span, .. }) if span.start >= 18),
            "{found:?}"
        );
    }

    #[test]
    fn a_table_or_an_alias_of_another_type_is_an_error() {
        for (text, rule, at) in [
            ("[[defaults]]\noutput = \"json\"\n", "`defaults` must be a table", 0),
            ("[profiles]\nwork = 1\n", "the profile `work` must be a table, `[profiles.work]`", 18),
            ("[aliases]\nship = 4\n", "the alias `ship` must be a string", 17),
        ] {
            let found = problems(parse(text).unwrap_err());
            assert_eq!(found[0].problem.message, rule);
            assert!(
                matches!(&found[0].origin, Some(Origin::Config { span, .. }) if span.start == at),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_secret_in_the_file_is_refused_and_not_repeated() {
        let found = problems(parse("[profiles.x]\napi_key = \"sb_very_secret\"\n").unwrap_err());
        assert_eq!(found[0].problem.code, "secret");
        assert!(!format!("{found:?}").contains("very_secret"));
        let broken = problems(parse("api_key = \"sb_very_secret\"\n]").unwrap_err());
        assert!(!format!("{broken:?}").contains("very_secret"));
        assert!(found[0].hint.as_ref().unwrap().contains("IDEMPOST_API_KEY"));
    }
}
