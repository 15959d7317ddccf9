//! The first pass over the file: reports all problems together.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use csv::ByteRecord;
use sha2::{Digest as _, Sha256};

use super::columns::Columns;
use super::file::Csv;
use super::row::{CellProblem, Row};
use crate::diagnostics::{Diagnostic, Fail};

/// Maximum number of problems shown; more usually share one cause.
const MAX_PROBLEMS: usize = 50;

/// Validates every row and returns their number.
///
/// Addresses are compared by hashes of eight bytes, so that memory stays a small part of the file's size. The file is read again, for the report,
/// only if a hash repeats or a row is invalid.
///
/// # Errors
/// All problems, with line and column.
pub(super) fn validate(csv: &Csv, columns: &Columns) -> Result<u64, Fail> {
    let (mut hashes, mut is_valid) = (Vec::new(), true);
    for_each_row(csv, columns, |_, row| match row {
        Ok(row) => hashes.push(hash_address(&row.email)),
        Err(_) => is_valid = false,
    })
    .map_err(|error| csv.read_failure(error))?;
    let rows = hashes.len() as u64;
    hashes.sort_unstable();
    let repeated: HashSet<u64> =
        hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    drop(hashes);
    if is_valid && repeated.is_empty() { Ok(rows) } else { report(csv, columns, &repeated, rows) }
}

/// Reads the file again, and reports invalid rows and repeated addresses.
fn report(csv: &Csv, columns: &Columns, repeated: &HashSet<u64>, rows: u64) -> Result<u64, Fail> {
    let (mut count, mut found) = (0_usize, Vec::new());
    let mut lines: HashMap<String, u64> = HashMap::new();
    let read = for_each_row(csv, columns, |line, row| {
        let problems = match row {
            Err(problems) => problems,
            Ok(row) if !repeated.contains(&hash_address(&row.email)) => Vec::new(),
            // Addresses that differ only in case belong to the same contact.
            Ok(row) => match lines.entry(row.email.to_ascii_lowercase()) {
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
            let rule = format!("{}:{line}{}: {}", csv.name, describe_position(&problem), problem.rule);
            found.push(Diagnostic::new("row", rule, None));
        }
    });
    read.map_err(|error| csv.read_failure(error))?;
    if count == 0 {
        return Ok(rows);
    }
    let more = count.saturating_sub(found.len());
    let more = if more == 0 { String::new() } else { format!(", the first {} shown", found.len()) };
    let problems = if count == 1 { "problem" } else { "problems" };
    Err(Fail::invalid(format!("{count} {problems} in {}{more}; nothing was sent", csv.name), found))
}

/// Calls `see` with each row and its line, without the header.
fn for_each_row(
    csv: &Csv,
    columns: &Columns,
    mut see: impl FnMut(u64, Result<Row, Vec<CellProblem>>),
) -> csv::Result<()> {
    let mut rows = csv.rows()?;
    let mut record = ByteRecord::new();
    let mut header = true;
    while rows.read(&mut record)? {
        if !std::mem::take(&mut header) {
            see(record.position().map_or(0, csv::Position::line), Row::read(&record, columns));
        }
    }
    Ok(())
}

fn describe_position(wrong: &CellProblem) -> String {
    match &wrong.column {
        Some((number, name)) => format!(", column {number} ({name})"),
        None => String::new(),
    }
}

/// Different addresses rarely have the same hash; addresses of the same contact always do.
fn hash_address(email: &str) -> u64 {
    let digest = Sha256::digest(email.to_ascii_lowercase());
    digest[..8].iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
