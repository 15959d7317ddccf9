//! Custom headers (`docs/specification.md`, POST /emails, `headers`).

use crate::mime::limits::MAX_NAME;
use crate::wire::{Checked, Field, quote};

/// Headers that the service writes itself. A custom one of the same name would make the message ambiguous, so it is ignored, and reported
/// among the ignored fields; the specification doesn't define this.
const RESERVED: [&str; 13] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
    "content-id",
    "return-path",
];

/// Reads an object of headers. `null` counts as absent.
pub fn read(field: &Field<'_>, has_reply_to: bool) -> Checked<Vec<(String, String)>> {
    let headers = field.object(|headers| {
        headers.each(|name, header| {
            if header.is_null() {
                return Ok(None);
            }
            let value = header.text()?;
            if !is_field_name(name) {
                return Err(field.reject(format_args!(
                    "must have header names of at most {MAX_NAME} characters of printable ASCII without `:`; found {}",
                    quote(name)
                )));
            }
            header.as_line()?;
            let own = RESERVED.iter().any(|own| own.eq_ignore_ascii_case(name));
            if own || (has_reply_to && name.eq_ignore_ascii_case("reply-to")) {
                header.ignore();
                return Ok(None);
            }
            Ok(Some((name.to_owned(), value.into_owned())))
        })
    })?;
    Ok(headers.into_iter().flatten().collect())
}

/// RFC 5322, 3.6.8: printable ASCII except colon. (Space isn't printable there.)
fn is_field_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}
