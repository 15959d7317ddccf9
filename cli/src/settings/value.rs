//! The values of settings and their sources.

use std::fmt;

use clap::ValueEnum;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// A value with its source.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T: Default> Default for Setting<T> {
    fn default() -> Self {
        Self { value: T::default(), source: Source::BuiltIn }
    }
}

/// The source of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Flag(String),
    /// An environment variable.
    Env(String),
    /// The configuration file, with the line.
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A named file, or standard input.
    Given(String),
    /// The built-in default.
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

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Form {
    /// A table on a terminal, tab-separated values in a pipe.
    #[default]
    Human,
    /// One JSON document.
    Json,
    /// One JSON document per line.
    Ndjson,
    /// Tab-separated values, also on a terminal.
    Tsv,
}

/// How upload progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ProgressStyle {
    /// A bar if standard error is a terminal.
    #[default]
    Auto,
    /// Occasional lines.
    Plain,
    /// Occasional JSON objects.
    Json,
    /// Never.
    None,
}

/// When to use color: the flag `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// If the stream is a terminal with color support and color isn't disabled.
    #[default]
    Auto,
    /// Always, also in a pipe.
    Always,
    /// Never.
    Never,
}

/// The credential store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoreKind {
    /// A file encrypted with a key in the system keyring
    #[default]
    Keyring,
    /// A file readable only by you
    File,
}

impl StoreKind {
    /// The store's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

/// A secret that authenticates requests.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    ApiKey(SecretString),
    /// An OAuth 2.0 access token.
    AccessToken(SecretString),
}
