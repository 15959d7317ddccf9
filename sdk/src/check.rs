//! What is wrong with an input: all of it at once, with the place and the rule, before anything is sent.
//!
//! The numbers are those of `SPEC.md`, Limits. The service may move a limit at any time, so a
//! [`Call`](crate::Call) can be told to go out [`unchecked`](crate::Call::unchecked).

pub(crate) mod rules;

use std::{fmt, ops::Deref};

/// The limits of `SPEC.md`, in the units in which it states them.
pub mod limits {
    /// Steps of one automation; at least 1.
    pub const STEPS_PER_AUTOMATION: usize = 150;
    /// Emails in one batch.
    pub const EMAILS_PER_BATCH: usize = 100;
    /// Addresses in `to`. The specification states no limit for `cc` and `bcc`.
    pub const RECIPIENTS_IN_TO: usize = 50;
    /// Bytes of all attachments of one email after Base64. The specification says "40 MB" and is silent on which;
    /// this is the larger reading (40 MiB), so nothing that the service takes is refused here.
    pub const ATTACHMENTS_ENCODED_BYTES: u64 = 40 * 1024 * 1024;
    /// The smaller reading of "40 MB" (40,000,000 bytes): above it an email goes out with a warning.
    pub const ATTACHMENTS_ENCODED_BYTES_ADVISED: u64 = 40_000_000;
    /// Characters of an `Idempotency-Key`; at least 1.
    pub const IDEMPOTENCY_KEY_CHARS: usize = 256;
    /// Seconds for which the service remembers an `Idempotency-Key`: 24 hours.
    pub const IDEMPOTENCY_KEY_SECONDS: u64 = 24 * 60 * 60;
    /// Characters of a tag's name, and of its value.
    pub const TAG_CHARS: usize = 256;
    /// Characters of a template variable's key when sending.
    pub const VARIABLE_KEY_CHARS: usize = 50;
    /// Characters (Unicode scalar values) of a template variable's text when sending.
    pub const VARIABLE_VALUE_CHARS: usize = 2_000;
    /// The largest number that a template variable can hold: 2^53 − 1. The specification states no least one.
    pub const VARIABLE_VALUE_MAX: u64 = (1 << 53) - 1;
    /// The most items on one page of a list; at least 1.
    pub const PAGE_SIZE_MAX: u8 = 100;
    /// Items on a page of a mode A list when no limit is given.
    pub const PAGE_SIZE_DEFAULT: u8 = 20;
    /// Characters of a topic's name.
    pub const TOPIC_NAME_CHARS: usize = 50;
    /// Characters of a topic's description.
    pub const TOPIC_DESCRIPTION_CHARS: usize = 200;
    /// Variables of one template.
    pub const VARIABLES_PER_TEMPLATE: usize = 50;
    /// Keys that a template's variables must not use: both lists of the specification together, as it reserves one
    /// where variables are defined and another where they are given.
    pub const RESERVED_VARIABLE_KEYS: [&str; 7] =
        ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "contact", "this"];
}

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
