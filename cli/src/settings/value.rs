//! The values of settings, each with where it came from.

use std::fmt;

use clap::ValueEnum;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::diagnostics::Origin;

/// A value with its source.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Who said so.
    pub(crate) source: Source,
}

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        Self { value: T::default(), source: Source::BuiltIn }
    }
}

/// Who said what a setting is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A flag of the command line.
    Flag(String),
    /// An environment variable.
    Env(String),
    /// A place in the configuration file: its path and line.
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A file that was named, or standard input.
    Given(String),
    /// The program itself.
    BuiltIn,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Env(name) | Self::Given(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Form {
    /// A table on a terminal, tabs in a pipe.
    #[default]
    Human,
    /// One document.
    Json,
    /// One line an item.
    Ndjson,
    /// Tabs, also on a terminal.
    Tsv,
}

/// How the progress of an upload is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ProgressStyle {
    /// A bar where standard error is a terminal.
    #[default]
    Auto,
    /// A line now and then.
    Plain,
    /// A JSON object now and then.
    Json,
    /// Not at all.
    None,
}

/// When output is coloured: the flag `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// Where the stream is a terminal that knows colours and nobody said no.
    #[default]
    Auto,
    /// Also in a pipe.
    Always,
    /// Nowhere.
    Never,
}

/// Where secrets are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    /// In the operating system's keyring
    #[default]
    Keyring,
    /// In a file that only you can read
    File,
}

impl StoreKind {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

/// A secret that proves who is asking.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    /// A key of the service.
    ApiKey(SecretString),
    /// A token of OAuth 2.0.
    AccessToken(SecretString),
}

pub(super) fn flag_origin(name: &str, value: &str) -> Origin {
    Origin::Flag { name: name.to_owned(), n: 1, value: value.to_owned(), span: None }
}

pub(super) fn env_origin(name: &str) -> Origin {
    Origin::Env { name: name.to_owned() }
}
