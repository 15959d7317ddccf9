//! Converts a CSV row to a contact.

use csv::ByteRecord;
use idempost::contacts::{ContactPatch, NewContact};
use idempost::types::Scalar;

use super::columns::{Columns, Field};

/// The values of a row. Empty cells leave a field unchanged.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) email: String,
    first_name: Option<String>,
    last_name: Option<String>,
    unsubscribed: Option<bool>,
    properties: Vec<(String, Scalar)>,
}

/// A problem with one cell: the column's number and name, and the rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CellProblem {
    /// From 1; `None` if the problem concerns the whole row.
    pub(super) column: Option<(usize, String)>,
    pub(super) rule: String,
}

impl Row {
    /// Reads a row, or returns all problems with it.
    pub(super) fn read(record: &ByteRecord, columns: &Columns) -> Result<Self, Vec<CellProblem>> {
        let mut wrong = Vec::new();
        if record.len() != columns.all.len() {
            let rule = format!("the row has {} cells; expected {}", record.len(), columns.all.len());
            wrong.push(CellProblem { column: None, rule });
            return Err(wrong);
        }
        let mut row = Self::default();
        for (i, (cell, (name, field))) in record.iter().zip(&columns.all).enumerate() {
            if *field == Field::Nothing {
                continue;
            }
            let problem_of = |rule: String| CellProblem { column: Some((i + 1, name.clone())), rule };
            match std::str::from_utf8(cell) {
                Ok(text) => wrong.extend(row.set(field, text).err().map(problem_of)),
                Err(_) => wrong.push(problem_of("not UTF-8 text".to_owned())),
            }
        }
        if wrong.is_empty() { Ok(row) } else { Err(wrong) }
    }

    fn set(&mut self, field: &Field, text: &str) -> Result<(), String> {
        let value = || (!text.is_empty()).then(|| text.to_owned());
        match field {
            Field::Email => {
                text.trim().clone_into(&mut self.email);
                validate(&NewContact::new(&self.email))
            }
            Field::FirstName => {
                self.first_name = value();
                validate(&NewContact::new("a@b.c").first_name(text))
            }
            Field::LastName => {
                self.last_name = value();
                validate(&NewContact::new("a@b.c").last_name(text))
            }
            Field::Unsubscribed => {
                self.unsubscribed = match text.trim().to_ascii_lowercase().as_str() {
                    "" => None,
                    "true" | "yes" | "1" => Some(true),
                    "false" | "no" | "0" => Some(false),
                    _ => return Err(format!("expected true or false; found {}", quote_cell(text))),
                };
                Ok(())
            }
            Field::Property { .. } if text.is_empty() => Ok(()),
            Field::Property { key, number: true } => {
                let number: serde_json::Number = serde_json::from_str(text.trim()).map_err(|_| {
                    format!("the property `{key}` must be a number; found {}", quote_cell(text))
                })?;
                self.properties.push((key.clone(), number.into()));
                Ok(())
            }
            Field::Property { key, number: false } => {
                let value = Scalar::from(text);
                let validated = validate(&NewContact::new("a@b.c").property(key, value.clone()));
                self.properties.push((key.clone(), value));
                validated
            }
            Field::Nothing => Ok(()),
        }
    }

    /// The contact to create.
    pub(super) fn contact(&self, segments: &[String]) -> NewContact {
        let contact = self.first_name.iter().fold(NewContact::new(&self.email), NewContact::first_name);
        let contact = self.last_name.iter().fold(contact, NewContact::last_name);
        let contact = self.unsubscribed.into_iter().fold(contact, NewContact::unsubscribed);
        let properties = self.properties.iter();
        let contact = properties.fold(contact, |contact, (key, value)| contact.property(key, value.clone()));
        segments.iter().fold(contact, |contact, segment| contact.segment(segment.as_str()))
    }

    /// The same as an update; `None` if only the address is set.
    pub(super) fn patch(&self) -> Option<ContactPatch> {
        let patch = self.first_name.iter().fold(ContactPatch::new(), ContactPatch::first_name);
        let patch = self.last_name.iter().fold(patch, ContactPatch::last_name);
        let patch = self.unsubscribed.into_iter().fold(patch, ContactPatch::unsubscribed);
        let properties = self.properties.iter();
        let patch = properties.fold(patch, |patch, (key, value)| patch.property(key, value.clone()));
        patch.check().is_ok().then_some(patch)
    }
}

fn validate(contact: &NewContact) -> Result<(), String> {
    contact.check().map_err(|problems| match &problems[0].found {
        Some(found) => format!("{}; found \"{found}\"", problems[0].message),
        None => problems[0].message.clone(),
    })
}

fn quote_cell(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    format!("{short:?}{}", if short.len() < text.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn columns(fields: Vec<Field>) -> Columns {
        Columns { all: fields.into_iter().map(|field| ("c".to_owned(), field)).collect(), line: 1 }
    }

    fn property(key: &str, number: bool) -> Field {
        Field::Property { key: key.to_owned(), number }
    }

    #[test]
    fn empty_cells_leave_fields_unchanged() {
        let columns = columns(vec![
            Field::Email,
            Field::FirstName,
            Field::LastName,
            Field::Unsubscribed,
            property("city", false),
            property("orders", true),
            Field::Nothing,
        ]);
        let row = ByteRecord::from(vec![" ada@example.com ", "Ada", "", "Yes", "007", "7.50", "x"]);
        let row = Row::read(&row, &columns).unwrap();
        let expected = json!({
            "email": "ada@example.com", "first_name": "Ada", "unsubscribed": true,
            "properties": {"city": "007", "orders": 7.5}, "segments": [{"id": "s1"}],
        });
        assert_eq!(serde_json::to_value(row.contact(&["s1".to_owned()])).unwrap(), expected);
        let bare =
            Row::read(&ByteRecord::from(vec!["ada@example.com", "", "", "", "", "", ""]), &columns).unwrap();
        assert_eq!(serde_json::to_value(bare.contact(&[])).unwrap(), json!({"email": "ada@example.com"}));
        assert!(bare.patch().is_none() && row.patch().is_some());
    }

    #[test]
    fn every_problem_with_a_row_names_its_column() {
        let columns = columns(vec![
            Field::Email,
            Field::FirstName,
            Field::Unsubscribed,
            property("orders", true),
            property("bad key", false),
        ]);
        let cells: Vec<&[u8]> = vec![b"nobody", b"\xff", b"perhaps", b"many", b"x"];
        let wrong = Row::read(&ByteRecord::from(cells), &columns).unwrap_err();
        let places: Vec<_> =
            wrong.iter().filter_map(|wrong| wrong.column.as_ref().map(|(n, _)| *n)).collect();
        assert_eq!(places, [1, 2, 3, 4, 5]);
        let wrong = Row::read(&ByteRecord::from(vec!["ada@example.com"]), &columns).unwrap_err();
        assert_eq!(wrong[0].rule, "the row has 1 cells; expected 5");
    }
}
