//! The problems of an input, reported together.

use std::cell::RefCell;
use std::fmt::Display;

use crate::wire::ignored::Ignored;
use crate::wire::problem::Problem;

/// Evidence of a reported problem, so that a value can't be missing without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

/// A value that was read, or evidence that its problem was reported.
pub type Checked<T> = Result<T, Reported>;

/// All problems of an input, in the order of their detection: the first in words, the others as a count.
#[derive(Debug)]
pub struct Problems {
    name: &'static str,
    first: String,
    more: usize,
}

impl From<Problems> for Problem {
    fn from(problems: Problems) -> Self {
        let Problems { name, first, more } = problems;
        let message = match more {
            0 => first,
            1 => format!("{first} (And 1 more problem.)"),
            more => format!("{first} (And {more} more problems.)"),
        };
        Self { name, ..Self::validation(message) }
    }
}

/// Collects the problems and the ignored fields of an input while it is read.
#[derive(Debug)]
pub struct Report<'a> {
    problems: RefCell<Option<Problems>>,
    ignored: &'a RefCell<Ignored>,
}

impl<'a> Report<'a> {
    pub fn new(ignored: &'a RefCell<Ignored>) -> Self {
        Self { problems: RefCell::default(), ignored }
    }

    /// Reports a missing required field.
    pub fn missing(&self, field: impl Display) -> Reported {
        self.add("missing_required_field", format_args!("Missing `{field}` field."))
    }

    /// Reports a violated rule; the message is a complete sentence and names the field.
    pub fn wrong(&self, message: impl Display) -> Reported {
        self.add("validation_error", message)
    }

    /// Reports an attachment without content.
    pub fn attachment(&self, message: impl Display) -> Reported {
        self.add("invalid_attachment", message)
    }

    /// Formats only the first problem: a hostile body can have thousands.
    fn add(&self, name: &'static str, message: impl Display) -> Reported {
        match &mut *self.problems.borrow_mut() {
            Some(problems) => problems.more += 1,
            none => *none = Some(Problems { name, first: message.to_string(), more: 0 }),
        }
        Reported(())
    }

    /// Whether some empty values count as absent, and `[]` as an object without fields.
    pub fn accepts_empty(&self) -> bool {
        self.ignored.borrow().accepts_empty
    }

    /// Adds the name of an ignored field.
    pub fn ignore(&self, pointer: &str) {
        self.ignored.borrow_mut().add(pointer);
    }

    /// Returns the input, or all problems.
    pub fn finish<T>(self, input: Checked<T>) -> Result<T, Problems> {
        match (input, self.problems.into_inner()) {
            (_, Some(problems)) => Err(problems),
            (Ok(input), None) => Ok(input),
            // The evidence would have to be from another report.
            (Err(Reported(())), None) => {
                Err(Problems { name: "validation_error", first: "The body is invalid.".to_owned(), more: 0 })
            }
        }
    }
}
