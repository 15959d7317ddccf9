//! The first pass over the file: reports all problems at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use csv::ByteRecord;
use sha2::{Digest as _, Sha256};

use super::columns::Columns;
use super::file::Csv;
use super::row::{CellProblem, Row};
use crate::diagnostics::{Diagnostic, Diagnostics, Fail, Problem};

/// Maximum number of problems shown; more than that usually have one cause.
const MAX_PROBLEMS: usize = 50;

/// Validates every row and returns their number.
///
/// # Errors
/// All problems, with line and column.
pub(super) fn validate(csv: &Csv, columns: &Columns) -> Result<u64, Fail> {
    let unreadable = |error| csv.unreadable(error);
    let mut reader = csv.rows().map_err(csv::Error::from).map_err(unreadable)?;
    let mut record = ByteRecord::new();
    let (mut rows, mut count, mut found) = (0_u64, 0_usize, Vec::new());
    // Stores only a digest and a line number per address, so that memory stays a small part of the file's size.
    let mut lines: HashMap<[u8; 16], u64> = HashMap::new();
    let mut header = true;
    while reader.read_byte_record(&mut record).map_err(unreadable)? {
        if std::mem::take(&mut header) {
            continue;
        }
        rows += 1;
        let line = record.position().map_or(0, csv::Position::line);
        let problems = match Row::read(&record, columns) {
            Err(problems) => problems,
            Ok(row) => match lines.entry(digest(&row.email)) {
                Entry::Occupied(first) => {
                    let rule = format!("the address {} is already on line {}", row.email, first.get());
                    vec![CellProblem { column: None, rule }]
                }
                Entry::Vacant(place) => {
                    place.insert(line);
                    Vec::new()
                }
            },
        };
        count += problems.len();
        for problem in problems.into_iter().take(MAX_PROBLEMS.saturating_sub(found.len())) {
            let rule = format!("{}:{line}{}: {}", csv.name, place(&problem), problem.rule);
            found.push(Diagnostic { problem: Problem::new("", "row", rule), origin: None, hint: None });
        }
    }
    if count == 0 {
        return Ok(rows);
    }
    let more = count.saturating_sub(found.len());
    let more = if more == 0 { String::new() } else { format!(", the first {} shown", found.len()) };
    let problems = if count == 1 { "problem" } else { "problems" };
    let summary = Some(format!("{count} {problems} in {}{more}; nothing was sent", csv.name));
    Err(Fail::Usage(Diagnostics { summary, found, ..Diagnostics::default() }))
}

fn place(wrong: &CellProblem) -> String {
    match &wrong.column {
        Some((number, name)) => format!(", column {number} ({name})"),
        None => String::new(),
    }
}

/// Addresses that differ only in case belong to the same contact.
fn digest(email: &str) -> [u8; 16] {
    let digest = Sha256::digest(email.to_ascii_lowercase());
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}
