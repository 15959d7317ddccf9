//! The problems of an input, reported together.

use std::cell::RefCell;
use std::fmt::Display;

use crate::wire::declared::Input;
use crate::wire::ignored::Ignored;
use crate::wire::location::Location;
use crate::wire::paging::quote;
use crate::wire::problem::Problem;

/// Evidence of a reported problem, so that a value can't be missing without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported(());

/// A value that was read, or evidence that its problem was reported.
pub type Checked<T> = Result<T, Reported>;

/// The maximum number of problems that the sandbox's own routes report in words.
const MAX_SENTENCES: usize = 20;

/// All problems of an input, in the order of their detection: the first ones in words, the rest as a count.
#[derive(Debug)]
pub struct Problems {
    name: &'static str,
    sentences: Vec<String>,
    more: usize,
}

impl From<Problems> for Problem {
    fn from(problems: Problems) -> Self {
        let Problems { name, mut sentences, more } = problems;
        if more > 0 {
            sentences.push(format!("(And {more} more problem{}.)", if more == 1 { "" } else { "s" }));
        }
        let message = sentences.join(" ");
        Self { name, ..Self::validation(message) }
    }
}

/// Collects the problems and the ignored fields of an input while it is read.
#[derive(Debug)]
pub struct Report<'a> {
    problems: RefCell<Option<Problems>>,
    ignored: &'a RefCell<Ignored>,
    /// The known fields of a body of the sandbox's own routes.
    known: Option<&'a [Input]>,
}

impl<'a> Report<'a> {
    pub fn new(ignored: &'a RefCell<Ignored>) -> Self {
        Self { problems: RefCell::default(), ignored, known: None }
    }

    /// For a body of the sandbox's own routes: no client is newer than this sandbox, so unknown fields are problems. Messages
    /// contain all problems and the invalid values.
    pub fn strict(ignored: &'a RefCell<Ignored>, known: &'a [Input]) -> Self {
        Self { known: Some(known), ..Self::new(ignored) }
    }

    pub fn is_strict(&self) -> bool {
        self.known.is_some()
    }

    /// Reports a missing required field.
    pub fn report_missing(&self, field: impl Display) -> Reported {
        self.add("missing_required_field", format_args!("Missing `{field}` field."))
    }

    /// Reports a violated rule; the message is a complete sentence and names the field.
    pub fn report(&self, message: impl Display) -> Reported {
        self.add("validation_error", message)
    }

    /// Reports an attachment without content.
    pub fn attachment(&self, message: impl Display) -> Reported {
        self.add("invalid_attachment", message)
    }

    /// Formats only the first problems: a hostile body can have thousands.
    fn add(&self, name: &'static str, message: impl Display) -> Reported {
        let (name, max) = if self.is_strict() { ("validation_error", MAX_SENTENCES) } else { (name, 1) };
        let mut problems = self.problems.borrow_mut();
        let problems = problems.get_or_insert(Problems { name, sentences: Vec::new(), more: 0 });
        if problems.sentences.len() < max {
            problems.sentences.push(message.to_string());
        } else {
            problems.more += 1;
        }
        Reported(())
    }

    /// Reports or ignores a field that wasn't read.
    pub fn report_unread(&self, location: &Location<'_>, name: &str) {
        match self.known {
            Some(known) if known.iter().any(|field| field.name == name) => {}
            Some(known) => {
                let known: Vec<_> = known.iter().map(|field| format!("`{}`", field.name)).collect();
                let (name, known) = (quote(name), known.join(", "));
                self.report(format_args!("{name} is not a field here; these are: {known}."));
            }
            None => self.ignore(&Location::Field(location, name).pointer()),
        }
    }

    /// Panics in debug builds if a reader asks for a field that a body of the sandbox's own routes can't have.
    pub fn check_declared(&self, name: &str) {
        let is_known = |known: &[Input]| known.iter().any(|field| field.name == name);
        debug_assert!(self.known.is_none_or(is_known), "the route doesn't list its field {name}");
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
                let sentences = vec!["The body is invalid.".to_owned()];
                Err(Problems { name: "validation_error", sentences, more: 0 })
            }
        }
    }
}
