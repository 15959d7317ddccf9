//! How a plan differs from the job of its name.

use std::fmt;

/// A job of this name differs from the plan, so it needs a choice. Nothing was planned or sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// The name of the job.
    pub name: String,
    /// The ID of its latest part.
    pub job: String,
    /// The rows that are left to send.
    pub remaining: u64,
    /// The fields of the message and the options that differ.
    pub fields: Vec<String>,
    /// The rows that the job has.
    pub known: u64,
    /// The rows that the job doesn't have, with `changed`.
    pub new: u64,
    /// The rows that the job doesn't have, for recipients whom it has: corrected rows or further emails.
    pub changed: u64,
    /// The first of them: the row's number and its recipient.
    pub first_changed: Vec<(u64, String)>,
    /// The rows of the job that the input doesn't have.
    pub missing: u64,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, job, remaining, fields, known, new, changed, first_changed, missing } = self;
        writeln!(f, "the job `{name}` ({job}) has other rows or another message; nothing was sent")?;
        writeln!(f, "  rows left to send          {remaining}")?;
        writeln!(f, "  rows that are in the job   {known}")?;
        writeln!(f, "  new rows                   {new}")?;
        writeln!(f, "  of these changed, perhaps  {changed}")?;
        for (row, recipient) in first_changed {
            writeln!(f, "    row {row}: {recipient}")?;
        }
        write!(f, "  rows only in the job       {missing}")?;
        if !fields.is_empty() {
            write!(f, "\n  also different: {}", fields.join(", "))?;
        }
        Ok(())
    }
}
