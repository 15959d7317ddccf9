//! Properties of the rows of an import.

use csv::{ByteRecord, ReaderBuilder};

use super::columns::{Columns, Field};
use super::row::Row;

/// A row that was read is a valid contact, and a valid update if it has any.
pub(crate) fn contacts(data: &[u8]) {
    let mut rows = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(data);
    let mut record = ByteRecord::new();
    let property = |key: &str, number| Field::Property { key: key.to_owned(), number };
    let fields = [
        Field::Email,
        Field::FirstName,
        Field::Unsubscribed,
        property("city", false),
        property("orders", true),
        Field::LastName,
        Field::Nothing,
    ];
    while rows.read_byte_record(&mut record).is_ok_and(|read| read) {
        let all = fields.iter().cycle().take(record.len()).map(|field| ("column".to_owned(), field.clone()));
        match Row::read(&record, &Columns { all: all.collect(), line: 1 }) {
            Ok(row) => {
                assert!(record.is_empty() || row.contact(&[]).check().is_ok(), "{row:?}");
                assert!(row.patch().is_none_or(|patch| patch.check().is_ok()), "{row:?}");
            }
            Err(wrong) => assert!(!wrong.is_empty() && wrong.len() <= record.len()),
        }
    }
}
