//! Problems with the input: each with its location, collected before anything is sent.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use idempost::problem::Problem;

/// A problem and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The field and the rule.
    pub(crate) problem: Problem,
    /// The origin of the value.
    pub(crate) origin: Option<Origin>,
    /// A suggested value.
    pub(crate) hint: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(code: &'static str, rule: impl Into<String>, origin: Option<Origin>) -> Self {
        Self { origin, ..Problem::new("", code, rule).into() }
    }

    /// A use of the program that needs a feature which it was built without.
    pub(crate) fn missing_feature(subject: &str, feature: &str) -> Self {
        let rule = format!("{subject} needs the feature `{feature}`, which this program was built without");
        let hint = format!("the packages include it; `cargo install` needs `--features {feature}`");
        Self { hint: Some(hint), ..Self::new("feature", rule, None) }
    }
}

impl From<Problem> for Diagnostic {
    fn from(problem: Problem) -> Self {
        Self { problem, origin: None, hint: None }
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// On the command line.
    Flag {
        /// The flag with its dashes, or the name of a positional argument.
        name: String,
        /// The occurrence of a repeated flag, from 1.
        n: usize,
        /// Its whole value.
        value: String,
        /// The relevant bytes of the value; all of them if unknown.
        span: Option<Range<usize>>,
    },
    /// In a file named on the command line.
    File {
        /// The file.
        path: PathBuf,
        /// Its whole text.
        text: Arc<str>,
        /// The relevant bytes.
        span: Range<usize>,
    },
    /// On standard input.
    Stdin {
        /// The whole text.
        text: Arc<str>,
        /// The relevant bytes.
        span: Range<usize>,
    },
    /// In an environment variable. The value isn't stored, since it may be secret.
    Env {
        /// The variable.
        name: String,
    },
    /// In the configuration file.
    Config {
        /// The file.
        path: PathBuf,
        /// Its whole text, with secrets redacted.
        text: Arc<str>,
        /// The relevant bytes.
        span: Range<usize>,
    },
}

impl Origin {
    /// The only value of a flag or argument.
    pub(crate) fn flag(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::nth_flag(name, 1, value)
    }

    /// The `n`th value of a flag or argument, from 1.
    pub(crate) fn nth_flag(name: impl Into<String>, n: usize, value: impl Into<String>) -> Self {
        Self::Flag { name: name.into(), n, value: value.into(), span: None }
    }

    /// Like [`nth_flag`](Self::nth_flag), with the relevant bytes of the value.
    pub(crate) fn flag_part(name: &str, n: usize, value: &str, span: Range<usize>) -> Self {
        Self::Flag { name: name.to_owned(), n, value: value.to_owned(), span: Some(span) }
    }

    /// An environment variable.
    pub(crate) fn env(name: impl Into<String>) -> Self {
        Self::Env { name: name.into() }
    }
}

/// A required field that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The JSON pointer of the field; empty if there isn't a single one.
    pub(crate) path: String,
    /// The missing flag, or a description.
    pub(crate) what: String,
}

impl Missing {
    /// A required field at this pointer.
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }
}

impl From<&str> for Missing {
    fn from(what: &str) -> Self {
        Self::new("", what)
    }
}

/// All problems of one command; nothing was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diagnostics {
    /// The headline [default: the only problem, or the number of problems].
    pub(crate) summary: Option<String>,
    /// The problems, in the order of the fields.
    pub(crate) found: Vec<Diagnostic>,
    /// The number of further problems.
    pub(crate) omitted: usize,
    /// Missing input: `--from (or \`from\` in the profile)`.
    pub(crate) missing: Vec<Missing>,
    /// A suggested command.
    pub(crate) help: Option<String>,
}

impl Diagnostics {
    /// One problem with its location.
    pub(crate) fn from_problem(problem: Problem, origin: Option<Origin>) -> Self {
        vec![Diagnostic { origin, ..problem.into() }].into()
    }

    /// The library's validation errors, without locations.
    pub(crate) fn from_problems(problems: &idempost::problem::Problems) -> Self {
        let found = problems.iter().cloned().map(Diagnostic::from).collect();
        Self { found, omitted: problems.omitted(), ..Self::default() }
    }

    /// Whether there are no problems.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.missing.is_empty()
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self { found, ..Self::default() }
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(found: Box<Diagnostic>) -> Self {
        vec![*found].into()
    }
}

/// Line and column, from 1, in characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
