//! What is wrong with what was typed: every problem with its place, gathered before anything is sent.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use posthaste::Problem;

/// A problem and the place it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The field and the rule.
    pub(crate) problem: Problem,
    /// Where the value was written.
    pub(crate) origin: Option<Origin>,
    /// What to write instead.
    pub(crate) hint: Option<String>,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// On the command line.
    Flag {
        /// The flag with its dashes, or the name of a positional argument.
        name: String,
        /// Which of them, from 1, when the flag is repeated.
        n: usize,
        /// Its whole value.
        value: String,
        /// The bytes of the value concerned; all of them if unknown.
        span: Option<Range<usize>>,
    },
    /// In a file that the command line named.
    File {
        /// The file.
        path: PathBuf,
        /// Its whole text.
        text: Arc<str>,
        /// The bytes concerned.
        span: Range<usize>,
    },
    /// On standard input.
    Stdin {
        /// The whole text.
        text: Arc<str>,
        /// The bytes concerned.
        span: Range<usize>,
    },
    /// In an environment variable. Its value may be secret and is not kept.
    Env {
        /// The variable.
        name: String,
    },
    /// In the configuration file.
    Config {
        /// The file.
        path: PathBuf,
        /// Its whole text, with secrets covered.
        text: Arc<str>,
        /// The bytes concerned.
        span: Range<usize>,
    },
}

/// Something that is needed and was not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The JSON pointer of its field; empty where no single field is meant.
    pub(crate) path: String,
    /// What to give: a flag, or words.
    pub(crate) what: String,
}

impl Missing {
    /// What is needed for a field.
    pub(crate) fn at(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }
}

impl From<&str> for Missing {
    fn from(what: &str) -> Self {
        Self::at("", what)
    }
}

/// All that is wrong with one command; nothing was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The sentence at the top; by default how many problems there are.
    pub(crate) summary: Option<String>,
    /// The problems, in the order of the fields.
    pub(crate) found: Vec<Found>,
    /// Problems beyond those.
    pub(crate) omitted: usize,
    /// What is needed and was not given: `--from (or \`from\` in the profile)`.
    pub(crate) missing: Vec<Missing>,
    /// What to type next.
    pub(crate) help: Option<String>,
}

impl Report {
    /// One problem with its place.
    pub(crate) fn one(problem: Problem, origin: Option<Origin>) -> Self {
        Self { found: vec![Found { problem, origin, hint: None }], ..Self::default() }
    }

    /// What the library found wrong, without places.
    pub(crate) fn of(problems: &posthaste::Problems) -> Self {
        let found = problems.iter().cloned().map(|problem| Found { problem, origin: None, hint: None });
        Self { found: found.collect(), omitted: problems.omitted(), ..Self::default() }
    }

    /// Whether nothing is wrong.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.missing.is_empty()
    }
}

/// Line and column, from 1, in characters.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
