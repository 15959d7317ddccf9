//! Differences between a plan and an existing job of the same name.

use std::fmt;

/// A job with this name differs from the plan, and the caller has to choose. Nothing was planned or sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// The job's name, or its ID if it has none.
    pub name: String,
    /// The ID of the job's latest part.
    pub job: String,
    /// The rows left to send.
    pub remaining: u64,
    /// The message fields and options that differ.
    pub fields: Vec<String>,
    /// The rows that are already in the job.
    pub known: u64,
    /// The rows that aren't in the job, including `changed`.
    pub new: u64,
    /// The rows that aren't in the job but whose recipients are: corrected rows or further emails.
    pub changed: u64,
    /// The first changed rows: row number and recipient.
    pub first_changed: Vec<(u64, String)>,
    /// The rows of the job that are missing from the input.
    pub missing: u64,
}

impl Differences {
    /// Returns what differs: the rows, fields of the message, options.
    pub fn what(&self) -> String {
        let rows = (self.new + self.missing > 0).then_some("rows");
        rows.into_iter().chain(self.fields.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, job, remaining, known, new, changed, first_changed, missing, .. } = self;
        writeln!(f, "the job `{name}` ({job}) exists and differs in: {}; nothing was sent", self.what())?;
        writeln!(f, "  rows left to send          {remaining}")?;
        writeln!(f, "  rows already in the job    {known}")?;
        writeln!(f, "  new rows                   {new}")?;
        writeln!(f, "  possibly changed           {changed}")?;
        for (row, recipient) in first_changed {
            writeln!(f, "    row {row}: {recipient}")?;
        }
        write!(f, "  rows only in the job       {missing}")
    }
}
