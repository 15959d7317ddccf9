//! Problems of rows.

use std::{borrow::Cow, fmt};

use idempost::problem::Problem;
use serde::{Deserialize, Serialize};

use super::Position;

/// A problem with a row: location, rule and offending value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RowProblem {
    /// The number of the row, from 1.
    pub row: u64,
    /// The line on which the row begins, from 1.
    pub line: u64,
    /// The column's name, or the JSON pointer into the row; `None` for the row as a whole.
    pub column: Option<String>,
    /// The kind of rule, machine-readable: a [`Problem::code`], `ragged` or `json`.
    pub code: Cow<'static, str>,
    /// The rule, human-readable.
    pub message: String,
    /// The offending value, truncated; `None` if it adds nothing to the rule.
    pub found: Option<String>,
}

impl RowProblem {
    /// Adds the location to a problem.
    pub(crate) fn new(position: Position, column: impl Into<String>, problem: Problem) -> Self {
        Self {
            row: position.row,
            line: position.line,
            column: Some(column.into()).filter(|column| !column.is_empty()),
            code: problem.code.into(),
            message: problem.message,
            found: problem.found,
        }
    }

    /// Returns the problem without row and line, as in the `_problem` column of `invalid.csv`.
    pub(crate) fn without_location(&self) -> String {
        let column = self.column.as_ref().map(|column| format!("{column}: ")).unwrap_or_default();
        match &self.found {
            Some(found) => format!("{column}{} (found {found:?})", self.message),
            None => format!("{column}{}", self.message),
        }
    }
}

impl fmt::Display for RowProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} (line {}): {}", self.row, self.line, self.without_location())
    }
}
