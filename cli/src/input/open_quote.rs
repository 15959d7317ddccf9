//! A quote in CSV that is never closed: it would make one field of all rows that follow.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

/// The rule that such a row breaks.
pub(crate) const RULE: &str = "a quote in this row is never closed";

/// Returns whether a text ends within quotes.
pub(crate) fn has_open_quote(text: &[u8], delimiter: u8) -> bool {
    let mut parser = ReaderBuilder::new().delimiter(delimiter).build();
    let (mut rest, mut field) = (text, [0; 4096]);
    while !rest.is_empty() {
        let (_, read, _) = parser.read_field(rest, &mut field);
        rest = &rest[read..];
    }
    ends_in_quotes(&mut parser)
}

/// Returns whether the text that a parser has read ends within quotes: anywhere else, a line break would end the row.
pub(crate) fn ends_in_quotes(parser: &mut Reader) -> bool {
    let (result, ..) = parser.read_field(b"x\n", &mut [0; 2]);
    !matches!(result, ReadFieldResult::Field { record_end: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_quote_that_is_never_closed_is_open() {
        for text in
            ["", "a", "a\n", "a\r\n", "a,", "a,b\"", "\"a\"", "\"a\"\"\"\n", "a,\"b\nc\"\r\n", "\"a\" b"]
        {
            assert!(!has_open_quote(text.as_bytes(), b','), "{text:?}");
        }
        for text in ["\"", "a\n\"b", "a,\"b\nc,d\n", "\"a\"\"", "\"a\"\"\n"] {
            assert!(has_open_quote(text.as_bytes(), b','), "{text:?}");
        }
    }
}
