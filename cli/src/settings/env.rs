//! The environment variables; empty ones count as unset.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A snapshot of the environment variables, so that tests can supply their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env(BTreeMap<OsString, OsString>);

impl Env {
    /// The environment of this process.
    pub(crate) fn process() -> Self {
        Self::from_variables(std::env::vars_os(), cfg!(windows))
    }

    /// Windows ignores the case of names: its variable is called `Path`.
    fn from_variables(variables: impl Iterator<Item = (OsString, OsString)>, ignore_case: bool) -> Self {
        let key = |name: OsString| if ignore_case { name.to_ascii_uppercase() } else { name };
        Self(variables.map(|(name, value)| (key(name), value)).collect())
    }

    /// An environment of exactly these variables.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The variable's text; `None` if it is unset, empty or not Unicode.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).and_then(OsStr::to_str)
    }

    /// The variable's text with replacement characters for what isn't Unicode, so that it is rejected instead of ignored; `None` if it is unset or
    /// empty.
    pub(crate) fn lossy(&self, name: &str) -> Option<String> {
        self.raw(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// The variable as a path; `None` if it is unset or empty.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.raw(name).map(PathBuf::from)
    }

    /// The variable, Unicode or not; `None` if it is unset or empty.
    pub(crate) fn raw(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}

/// Parses a boolean: `1 true yes on` and their opposites, ignoring case.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_unset() {
        //
        let env = Env::from_pairs(&[("A", ""), ("B", "x")]);
        assert_eq!((env.get("A"), env.get("B"), env.get("C")), (None, Some("x"), None));
    }

    #[test]
    fn the_case_of_names_counts_unless_the_system_ignores_it() {
        let path = |ignore_case| {
            let variables = [(OsString::from("Path"), OsString::from("a"))].into_iter();
            Env::from_variables(variables, ignore_case).get("PATH").map(str::to_owned)
        };
        assert_eq!((path(true).as_deref(), path(false)), (Some("a"), None));
    }

    #[test]
    fn a_switch_is_one_of_eight_words() {
        assert_eq!(
            [parse_bool("Yes"), parse_bool("1"), parse_bool("OFF"), parse_bool("no")],
            [Some(true), Some(true), Some(false), Some(false)]
        );
        assert_eq!([parse_bool("2"), parse_bool("maybe"), parse_bool("")], [None; 3]);
    }
}
