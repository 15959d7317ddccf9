//! Validation problems: location, rule and offending value.

use std::{
    collections::HashSet,
    fmt::{self, Write},
    ops::Deref,
};

use super::limits;

/// The number of characters of an offending value that a problem quotes.
const MAX_VALUE_CHARS: usize = 80;

/// A validation problem in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// A JSON pointer (RFC 6901) into the body, such as `/to/50` or `/3/tags/0/name`; `""` is the whole body.
    pub path: String,
    /// The kind of rule as a machine-readable code: `address`, `base64`, `charset`, `count`, `cycle`, `empty`, `exclusive`, `file_type`, `header`,
    /// `length`, `range`, `recipient`, `reference`, `repeated`, `required`, `reserved`, `size`, `type`, `unknown`, `unsupported` or `url`.
    pub code: &'static str,
    /// The rule as human-readable text, such as `` `to` must have at most 50 addresses ``.
    pub message: String,
    /// The offending value, truncated; `None` if it adds nothing to the rule.
    pub found: Option<String>,
}

impl Problem {
    /// Creates a problem from its location, the kind of rule, and the rule.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), found: None }
    }

    /// Adds the offending value, truncated to 80 characters. Formatting stops there, so a large value costs no more than a small one.
    #[must_use]
    pub fn with_value(mut self, what: impl fmt::Display) -> Self {
        let mut shown = Shortened { text: String::new(), left: MAX_VALUE_CHARS };
        if write!(shown, "{what}").is_err() {
            shown.text.push('…');
        }
        self.found = Some(shown.text);
        self
    }
}

/// A writer that fails after a number of characters.
struct Shortened {
    text: String,
    left: usize,
}

impl Write for Shortened {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
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

/// The problems of an input in field order; never empty.
///
/// It dereferences to the first 1,000 problems; [`omitted`](Self::omitted) counts the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    omitted: usize,
}

impl Problems {
    /// Returns `Ok` if there are no problems; otherwise keeps at most 1,000 of them.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn check(problems: impl IntoIterator<Item = Problem>) -> Result<(), Self> {
        let mut collected = Self::none();
        problems.into_iter().for_each(|problem| collected.push(|| problem));
        collected.finish()
    }

    /// Returns the listed problems as a vector, without the omitted ones.
    pub fn into_vec(self) -> Vec<Problem> {
        self.list
    }

    /// Returns the number of problems beyond the listed ones.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Merges the problems in `shape` (wrong types and unknown fields, found while reading an input) with those in `rules`, leaving out problems that
    /// merely follow from `shape`.
    ///
    /// A problem at or below a location in `shape` follows from it, and so does a missing body if `html`, `text` or `template` is unreadable. If
    /// `shape` omits problems, any rule problem may follow from an omitted one, so `rules` is ignored.
    ///
    /// # Errors
    /// There is at least one problem.
    pub fn merge(shape: Result<(), Self>, rules: Result<(), Self>) -> Result<(), Self> {
        let (mut merged, rules) = match (shape, rules) {
            (Err(shape), Err(rules)) if shape.omitted == 0 => (shape, rules),
            (Err(shape), _) => return Err(shape),
            (Ok(()), rules) => return rules,
        };
        let places: HashSet<String> = merged.iter().map(|problem| problem.path.clone()).collect();
        let independent = rules.list.into_iter().filter(|problem| !is_consequence(problem, &places));
        independent.for_each(|problem| merged.push(|| problem));
        merged.omitted += rules.omitted;
        Err(merged)
    }

    pub(super) fn none() -> Self {
        Self { list: Vec::new(), omitted: 0 }
    }

    pub(super) fn push(&mut self, problem: impl FnOnce() -> Problem) {
        if self.list.len() < limits::PROBLEMS_LISTED {
            self.list.push(problem());
        } else {
            self.omitted += 1;
        }
    }

    pub(super) fn finish(self) -> Result<(), Self> {
        if self.list.is_empty() { Ok(()) } else { Err(self) }
    }

    /// Prepends problems.
    pub(crate) fn prepend(self, first: Vec<Problem>) -> Self {
        let mut all = Self { list: first, omitted: self.omitted };
        self.list.into_iter().for_each(|problem| all.push(|| problem));
        all
    }
}

fn is_consequence(problem: &Problem, places: &HashSet<String>) -> bool {
    let whole = problem.path.as_str();
    let mut around = std::iter::successors(Some(whole), |path| path.rfind('/').map(|end| &path[..end]));
    let unreadable = |field: &str| places.contains(&format!("{whole}/{field}"));
    around.any(|path| places.contains(path))
        || problem.code == "required" && ["html", "text", "template"].into_iter().any(unreadable)
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self { list: vec![problem], omitted: 0 }
    }
}

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "; … and {} more", Thousands(omitted)),
        }
    }
}

/// A number formatted with a comma as thousands separator.
struct Thousands(usize);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small @ 0..1_000 => write!(f, "{small}"),
            large => write!(f, "{},{:03}", Self(large / 1_000), large % 1_000),
        }
    }
}

impl std::error::Error for Problems {}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(i: usize) -> Problem {
        Problem::new(format!("/{i}"), "type", "rule")
    }

    #[test]
    fn a_thousand_problems_are_listed_and_the_others_are_counted() {
        let problems = Problems::check((0..1_000).map(problem)).unwrap_err();
        assert_eq!((problems.len(), problems.omitted()), (1_000, 0));
        let problems = Problems::check((0..1_235_567).map(problem)).unwrap_err();
        assert_eq!((problems.len(), problems.omitted()), (1_000, 1_234_567));
        assert!(problems.to_string().ends_with("/999: rule; … and 1,234,567 more"));
        assert!(Problems::check([]).is_ok());
    }

    #[test]
    fn a_found_value_is_formatted_only_as_far_as_it_is_shown() {
        struct Endless;
        impl fmt::Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("é")?;
                }
            }
        }
        assert_eq!(problem(0).with_value(Endless).found.unwrap(), format!("{}…", "é".repeat(80)));
        assert_eq!(problem(0).with_value("x".repeat(80)).found.unwrap(), "x".repeat(80));
    }

    #[test]
    fn a_rule_that_only_repeats_the_shape_is_left_out() {
        let problems = |paths: &[(&str, &'static str)]| {
            Problems::check(paths.iter().map(|(path, code)| Problem::new(*path, code, "rule"))).unwrap_err()
        };
        let left = |shape: &[(&str, &'static str)], rules: &[(&str, &'static str)]| -> Vec<String> {
            let merged = Problems::merge(Err(problems(shape)), Err(problems(rules))).unwrap_err();
            merged.into_vec().into_iter().skip(shape.len()).map(|problem| problem.path).collect()
        };
        let rules = [("/from", "required"), ("/to/0", "address"), ("", "required")];
        assert_eq!(left(&[("/from", "type")], &rules), ["/to/0", ""]);
        assert_eq!(left(&[("/html", "type")], &rules), ["/from", "/to/0"]);
        assert_eq!(left(&[("/subjct", "unknown")], &rules), ["/from", "/to/0", ""]);
        assert!(left(&[("", "type")], &rules).is_empty(), "a string has no fields");
        let rules = [("/tags/1/name", "empty"), ("/tags/10/name", "charset"), ("/tags/2/name", "charset")];
        assert_eq!(left(&[("/tags/1", "type")], &rules), ["/tags/10/name", "/tags/2/name"]);
        let rules = [("/3/from", "required"), ("/30/from", "required"), ("/3", "required")];
        assert_eq!(left(&[("/3/text", "type")], &rules), ["/3/from", "/30/from"]);
    }
}
