//! The mapping of the file's columns to contact fields.

use std::collections::HashMap;

use super::file::Csv;
use crate::diagnostics::{Diagnostic, Fail};
use crate::input::flags::Flags;

/// Maximum number of columns listed in a message.
const MAX_NAMES: usize = 20;

/// The contact field that a column sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Email,
    FirstName,
    LastName,
    Unsubscribed,
    Property {
        key: String,
        number: bool,
    },
    /// The column is skipped.
    Nothing,
}

/// The columns in order, with their names in the file.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) all: Vec<(String, Field)>,
    /// The line of the header row.
    pub(super) line: u64,
}

impl Columns {
    /// Reads the header row and the `--map` flags.
    pub(super) fn read(csv: &Csv, map: &[String], flags: &mut Flags) -> Option<Self> {
        let Csv { name, .. } = csv;
        let header = match csv.header() {
            Ok(Some(header)) => header,
            Ok(None) => {
                add_problem(flags, "empty", format!("{name} is empty; its first row must name the columns"));
                return None;
            }
            Err(error) => {
                add_problem(flags, "file", format!("couldn't read {name}: {error}"));
                return None;
            }
        };
        let line = header.position().map_or(1, csv::Position::line);
        let mut names = Vec::new();
        for (i, cell) in header.iter().enumerate() {
            if let Ok(text) = std::str::from_utf8(cell) {
                names.push(text.trim().to_owned());
            } else {
                add_problem(flags, "charset", format!("{name}:{line}, column {}: not UTF-8 text", i + 1));
                return None;
            }
        }
        let mapped = read_map(map, &names, flags);
        let found = list_names(&names);
        let mut all: Vec<(String, Field)> = Vec::new();
        for (i, column) in names.into_iter().enumerate() {
            let target = mapped.get(&column).map_or(column.as_str(), String::as_str);
            let at = format!("{name}:{line}, column {}", i + 1);
            let field = match target {
                "" if mapped.contains_key(&column) => Field::Nothing,
                "" => {
                    add_problem(flags, "empty", format!("{at}: this column has no name"));
                    Field::Nothing
                }
                "email" => Field::Email,
                "first_name" => Field::FirstName,
                "last_name" => Field::LastName,
                "unsubscribed" => Field::Unsubscribed,
                key => Field::Property { key: key.to_owned(), number: false },
            };
            let same = |known: &Field| *known != Field::Nothing && *known == field;
            if all.iter().any(|(_, known)| same(known)) {
                let rule = format!("{at}: another column is already mapped to `{target}`");
                add_problem(flags, "exclusive", rule);
            }
            all.push((column, field));
        }
        if !all.iter().any(|(_, field)| *field == Field::Email) {
            let is_split = !all.iter().any(|(name, _)| name.contains([',', ';', '\t', '|']));
            let split = if is_split { "" } else { "; to split the rows at another character: --delimiter" };
            add_problem(
                flags,
                "required",
                format!(
                    "{name}:{line}: the column `email` is missing; the columns are: {found}; to map another column to it: --map COLUMN=email{split}"
                ),
            );
        }
        Some(Self { all, line })
    }

    /// Checks the property columns against the service's properties.
    pub(super) fn check_properties(&mut self, csv: &Csv, known: &HashMap<String, bool>) -> Result<(), Fail> {
        let mut found = Vec::new();
        for (i, (_, field)) in self.all.iter_mut().enumerate() {
            let Field::Property { key, number } = field else { continue };
            if let Some(holds_numbers) = known.get(key) {
                *number = *holds_numbers;
            } else {
                let rule = format!(
                    "{}:{}, column {}: `{key}` is neither a contact field nor an existing property",
                    csv.name,
                    self.line,
                    i + 1
                );
                found.push(Diagnostic::new("unknown", rule, None));
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        let help = "skip a column with --map COLUMN=, or create the property: idempost properties create";
        Err(Fail::from(found).hint(help))
    }

    /// Whether any column is a property.
    pub(super) fn has_properties(&self) -> bool {
        self.all.iter().any(|(_, field)| matches!(field, Field::Property { .. }))
    }
}

/// The fields that the `--map` flags assign to columns.
fn read_map(map: &[String], names: &[String], flags: &mut Flags) -> HashMap<String, String> {
    let mut mapped = HashMap::new();
    for (i, text) in map.iter().enumerate() {
        // A field's name contains no `=`; a column's may.
        let Some((column, field)) = text.rsplit_once('=') else {
            let rule = "--map must be COLUMN=FIELD, where FIELD is a contact field or property";
            flags.reject_nth("type", rule, "--map", i + 1, text);
            continue;
        };
        let column = column.trim();
        if !names.iter().any(|name| name == column) {
            let rule = format!("there is no column `{column}`; the columns are: {}", list_names(names));
            flags.reject_nth("unknown", rule, "--map", i + 1, text);
        } else if mapped.insert(column.to_owned(), field.trim().to_owned()).is_some() {
            flags.reject_nth("exclusive", "this column is mapped twice", "--map", i + 1, text);
        }
    }
    mapped
}

/// Lists the columns for a message; the first row of another kind of file may have thousands.
fn list_names(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_NAMES)].join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

fn add_problem(flags: &mut Flags, code: &'static str, rule: String) {
    flags.push(Diagnostic::new(code, rule, None));
}
