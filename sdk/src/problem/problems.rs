//! Validation problems: where, which rule, what was found.

use std::{fmt, ops::Deref};

/// One thing that is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where: a JSON pointer (RFC 6901) into the body, such as `/to/50` or `/3/tags/0/name`; `""` is the whole.
    pub path: String,
    /// Which kind of rule, for programs: `address`, `base64`, `charset`, `count`, `cycle`, `empty`, `exclusive`, `header`,
    /// `length`, `range`, `reference`, `repeated`, `required`, `reserved`, `size`, `type`, `unknown`, `unsupported` or `url`.
    pub code: &'static str,
    /// The rule, for people: `at most 50 addresses`.
    pub message: String,
    /// What was found instead, shortened; `None` when it says nothing more.
    pub found: Option<String>,
}

impl Problem {
    /// Names a place, the kind of rule, and the rule.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), found: None }
    }

    /// Adds what was found, shortened to 80 characters.
    #[must_use]
    pub fn found(mut self, what: impl fmt::Display) -> Self {
        let text = what.to_string();
        let mut shown: String = text.chars().take(80).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        self.found = Some(shown);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.found {
            Some(found) => write!(f, " (found {found:?})"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with an input, in the order of its fields; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `Ok` when there are none.
    pub fn check(problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }

    /// The problems as a list of one's own.
    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl std::error::Error for Problem {}
