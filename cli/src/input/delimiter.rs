//! The character between the columns of a CSV file.

use csv::ReaderBuilder;
use idempost_bulk::detect_delimiter;

use crate::input::flags::Flags;

/// Whether rows can have this character between columns.
fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii() && !b"\"\r\n\0".contains(&byte)
}

/// Parses `--delimiter`.
pub(crate) fn parse_delimiter(given: Option<&str>, flags: &mut Flags) -> Option<u8> {
    let text = given?;
    let delimiter = match (text, text.as_bytes()) {
        ("comma", _) => Some(b','),
        ("semicolon", _) => Some(b';'),
        ("tab", _) => Some(b'\t'),
        (_, &[byte]) => Some(byte).filter(|byte| is_delimiter(*byte)),
        _ => None,
    };
    let rule = "--delimiter must be comma, semicolon, tab, or an ASCII character other than a quote";
    flags.accept(delimiter, "delimiter", rule, "--delimiter", text)
}

/// Returns the delimiter of a file that begins with these bytes: the detected one, or another allowed one if only it makes the header name the column.
pub(crate) fn find_delimiter(start: &[u8], column: &str, allowed: impl Fn(u8) -> bool) -> u8 {
    let detected = detect_delimiter(start);
    let names_column = |delimiter: &u8| {
        let mut reader = ReaderBuilder::new().delimiter(*delimiter).from_reader(start);
        let is_column = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(column.as_bytes());
        reader.byte_headers().is_ok_and(|header| header.iter().any(is_column))
    };
    let others = (0..=127).filter(|byte| is_delimiter(*byte) && allowed(*byte));
    std::iter::once(detected).chain(others).find(names_column).unwrap_or(detected)
}
