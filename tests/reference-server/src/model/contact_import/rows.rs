//! The rows of a CSV file, read one at a time, and the contacts in them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use csv_core::ReadRecordResult;

use crate::model::contact::Contact;
use crate::model::email::recipients::Mailbox;
use crate::model::value::{PropertyValue, ValueType};
use crate::wire::has_control;

/// The maximum size of a row in bytes, which bounds the time to read one.
const MAX_ROW: usize = 1 << 20;

/// The rows of a file.
pub struct Rows {
    content: Bytes,
    /// The number of bytes that were read.
    position: usize,
    reader: csv_core::Reader,
    cells: Vec<u8>,
    /// The end of each cell.
    ends: Vec<usize>,
    /// The names of the columns.
    pub header: Vec<String>,
}

/// A row has more than 1 MiB.
#[derive(Debug)]
pub struct TooLong;

/// The cells of a row.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
}

impl<'a> Cells<'a> {
    /// A cell; empty if the row has fewer.
    fn get(self, index: usize) -> &'a [u8] {
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..end]
    }
}

impl Rows {
    /// Reads the first row with the column names. The error continues a sentence about the file.
    pub fn open(content: Bytes) -> Result<Self, &'static str> {
        let reader = csv_core::Reader::new();
        let (cells, ends) = (vec![0; 1 << 10], vec![0; 1 << 4]);
        let mut rows = Self { content, position: 0, reader, cells, ends, header: Vec::new() };
        let cells = match rows.next() {
            Ok(Some(cells)) => cells,
            Ok(None) => return Err("is empty; its first row must have the names of the columns"),
            Err(TooLong) => return Err("has a first row of more than 1 MiB"),
        };
        let names = (0..cells.ends.len()).map(|index| str::from_utf8(cells.get(index)));
        let names = names.map(|name| name.map(|name| name.trim().to_owned()));
        rows.header =
            names.collect::<Result<_, _>>().map_err(|_| "must be UTF-8 text; its first row isn't")?;
        Ok(rows)
    }

    /// The next row; `None` after the last one. A row that is too long ends the iteration.
    pub(crate) fn next(&mut self) -> Result<Option<Cells<'_>>, TooLong> {
        let limit = self.content.len().min(self.position + MAX_ROW);
        let (mut filled, mut ended) = (0, 0);
        loop {
            // At the end of the file, an empty input ends the last row.
            let input = &self.content[self.position..limit];
            let (result, read, written, found) =
                self.reader.read_record(input, &mut self.cells[filled..], &mut self.ends[ended..]);
            self.position += read;
            filled += written;
            ended += found;
            match result {
                ReadRecordResult::InputEmpty if limit < self.content.len() => return Err(TooLong),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.cells.resize(2 * self.cells.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => {
                    return Ok(Some(Cells { bytes: &self.cells[..filled], ends: &self.ends[..ended] }));
                }
                ReadRecordResult::End => return Ok(None),
            }
        }
    }

    /// The number of bytes that were read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The indexes of the columns by name; if several have the same name, the first one counts.
    pub fn columns(&self) -> HashMap<&str, usize> {
        self.header.iter().enumerate().rev().map(|(index, name)| (name.as_str(), index)).collect()
    }
}

/// The columns that are imported, by their indexes.
pub struct Columns {
    pub email: usize,
    pub first_name: Option<usize>,
    pub last_name: Option<usize>,
    pub unsubscribed: Option<usize>,
    /// By the keys of the properties.
    pub properties: BTreeMap<String, (usize, ValueType)>,
}

/// The contact in a row. Empty cells are omitted.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub email: String,
    first_name: Option<String>,
    last_name: Option<String>,
    unsubscribed: Option<bool>,
    properties: Vec<(String, PropertyValue)>,
}

impl Columns {
    /// Reads a row; `None` if a cell is invalid.
    pub fn read(&self, cells: Cells<'_>) -> Option<Row> {
        let cell = |index: usize| str::from_utf8(cells.get(index)).ok();
        // The outer option is `None` if the cell is invalid, the inner one if it is empty.
        let optional = |index: Option<usize>| match index {
            Some(index) => cell(index).map(|text| Some(text).filter(|text| !text.is_empty())),
            None => Some(None),
        };
        let line = |index| optional(index).filter(|text| !text.is_some_and(has_control));
        let email = cell(self.email)?.trim();
        let mailbox = Mailbox::parse(email).ok()?;
        if mailbox.name.is_some() || mailbox.address != email {
            return None;
        }
        let unsubscribed = match optional(self.unsubscribed)? {
            None => None,
            Some(text) => match text.trim().to_ascii_lowercase().as_str() {
                "" => None,
                "true" | "yes" | "1" => Some(true),
                "false" | "no" | "0" => Some(false),
                _ => return None,
            },
        };
        let mut properties = Vec::new();
        for (key, (index, kind)) in &self.properties {
            if let Some(text) = optional(Some(*index))? {
                properties.push((key.clone(), kind.parse(text)?));
            }
        }
        Some(Row {
            email: mailbox.address,
            first_name: line(self.first_name)?.map(str::to_owned),
            last_name: line(self.last_name)?.map(str::to_owned),
            unsubscribed,
            properties,
        })
    }
}

impl Row {
    /// Sets the values of the row.
    pub fn apply(self, contact: &mut Contact) {
        contact.first_name = self.first_name.or(contact.first_name.take());
        contact.last_name = self.last_name.or(contact.last_name.take());
        contact.unsubscribed = self.unsubscribed.unwrap_or(contact.unsubscribed);
        contact.properties.extend(self.properties);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emails(text: impl Into<Bytes>) -> Vec<Option<String>> {
        let mut rows = Rows::open(text.into()).unwrap();
        let known = rows.columns();
        let columns = Columns {
            email: known["email"],
            first_name: None,
            last_name: None,
            unsubscribed: known.get("unsubscribed").copied(),
            properties: BTreeMap::new(),
        };
        let mut found = Vec::new();
        while let Some(cells) = rows.next().unwrap() {
            found.push(columns.read(cells).map(|row| row.email));
        }
        found
    }

    #[test]
    fn rows_of_any_shape_are_read_and_invalid_ones_have_no_contact() {
        let text = "\u{feff}email,unsubscribed\r\n a@x.test ,YES\r\n\r\n\"b@x.test\",\nc@x.test\nnobody,1\nd@x.test,maybe\n";
        let text = format!("{text}Ada <e@x.test>,\n\"f\n@x.test\",\nmüller@bücher.test,0,more\n");
        let found: Vec<_> = emails(text).into_iter().map(Option::unwrap_or_default).collect();
        assert_eq!(found, ["a@x.test", "b@x.test", "c@x.test", "", "", "", "", "müller@bücher.test"]);
        let latin1 = [b"email\n".as_slice(), b"a@x.test\n", b"m\xfcller@x.test\n"].concat();
        assert_eq!(emails(latin1), [Some("a@x.test".to_owned()), None]);
    }

    #[test]
    fn a_row_is_bounded_and_a_file_is_not() {
        let fine = format!("email,note\n{}", format!("a@x.test,{}\n", "x".repeat(1_000_000)).repeat(5));
        assert_eq!(emails(fine).len(), 5);
        let mut rows = Rows::open(format!("email\n\"{}", "x".repeat(2 * MAX_ROW)).into()).unwrap();
        assert!(rows.next().is_err());
        for (text, reason) in [("", "is empty"), ("\n\n", "is empty")] {
            assert!(Rows::open(text.into()).is_err_and(|found| found.starts_with(reason)));
        }
        assert!(Rows::open(vec![b'x'; 2 * MAX_ROW].into()).is_err());
    }
}
