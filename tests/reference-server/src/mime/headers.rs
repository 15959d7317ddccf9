//! Bounds the cost of parsing the headers of a message or part.
//!
//! For each continued or encoded parameter (RFC 2231) the parser copies or searches the field's other parameters, and for each encoded
//! word without an end (RFC 2047) it reads the rest of the field. A mail needs few of both.

use memchr::{memchr, memmem};

use crate::mime::NotParsed;

/// The maximum number of bytes of the headers of a message and of its parts, together.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// The maximum number of the marks `*` and `'` in a `Content-Type` or `Content-Disposition` field. A segment of a parameter has two.
const MAX_MARKS: usize = 500;
/// The maximum number of unterminated encoded words in the headers of a message or part.
const MAX_UNTERMINATED: usize = 30;
/// The maximum length of a terminated encoded word, in bytes; RFC 2047 allows 75.
const MAX_ENCODED_WORD: usize = 256;

/// Checks the headers at the start of a message or part. Returns their length.
pub(super) fn check(raw: &[u8]) -> Result<usize, NotParsed> {
    let headers = &raw[..headers_len(raw).min(MAX_BYTES + 1)];
    if headers.len() > MAX_BYTES {
        return Err(NotParsed::HEADERS);
    }
    let words = memmem::find_iter(headers, b"=?").filter(|start| !is_terminated(&headers[start + 2..]));
    if words.take(MAX_UNTERMINATED + 1).count() > MAX_UNTERMINATED {
        return Err(NotParsed::ENCODED_WORDS);
    }
    let (mut in_field, mut is_limited, mut marks) = (false, false, 0);
    for line in headers.split_inclusive(|byte| *byte == b'\n') {
        if !in_field || !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = field_name(line);
            (in_field, is_limited, marks) = (name.is_some(), name.is_some_and(has_parameters), 0);
        }
        if is_limited {
            marks += line.iter().filter(|byte| matches!(byte, b'*' | b'\'')).count();
        }
        if marks > MAX_MARKS {
            return Err(NotParsed::PARAMETERS);
        }
    }
    Ok(headers.len())
}

/// The length of the headers, which end before the first empty line.
fn headers_len(raw: &[u8]) -> usize {
    let mut start = 0;
    while !raw[start..].starts_with(b"\n") && !raw[start..].starts_with(b"\r\n") {
        match memchr(b'\n', &raw[start..]) {
            Some(end) => start += end + 1,
            None => return raw.len(),
        }
    }
    start
}

fn is_terminated(word: &[u8]) -> bool {
    memmem::find(&word[..word.len().min(MAX_ENCODED_WORD)], b"?=").is_some()
}

/// The name of the field that starts on this line. The parser ignores colons and white space before it.
fn field_name(line: &[u8]) -> Option<&[u8]> {
    let start = line.iter().position(|byte| *byte != b':' && !byte.is_ascii_whitespace())?;
    memchr(b':', &line[start..]).map(|length| &line[start..start + length])
}

/// Whether the parser reads parameters of this field. It ignores white space inside the name.
fn has_parameters(name: &[u8]) -> bool {
    let is = |known: &[u8]| {
        let name = name.iter().filter(|byte| !byte.is_ascii_whitespace());
        name.map(u8::to_ascii_lowercase).eq(known.iter().copied())
    };
    is(b"content-type") || is(b"content-disposition")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_time::cpu_time;
    use crate::mime::parse;

    /// A field of about this size.
    fn field(name: &str, start: &str, piece: &dyn Fn(usize) -> String, size: usize) -> String {
        let mut mail = format!("{name}: {start}");
        let mut number = 0;
        while mail.len() < size {
            mail.push_str(&piece(number));
            number += 1;
        }
        mail + "\r\n\r\nx"
    }

    #[test]
    fn parsing_a_header_costs_time_linear_in_its_size() {
        let pieces: [&dyn Fn(usize) -> String; 9] = [
            &|number| format!("a*{number}=b; "),
            &|number| format!("a{number}*=b'c'd; "),
            &|number| format!("a{number}=b;\r\n "),
            &|_| "a'".into(),
            &|_| "=?ab?q?x ".into(),
            &|_| "=?ab?b?".into(),
            &|_| "=?ab?q?x?= ".into(),
            &|_| "(\"<\\".into(),
            &|_| "a,<b>;:".into(),
        ];
        let names =
            ["Content-Type", " content - disposition", "To", "Subject", "References", "Received", "Date"];
        for (name, (index, piece)) in
            names.iter().flat_map(|name| pieces.iter().enumerate().map(move |piece| (name, piece)))
        {
            for start in ["a/b; ", "a/b; x*=a'b'"] {
                let cost = |size| {
                    let mail = field(name, start, piece, size);
                    cpu_time(|| drop(parse(mail.as_bytes())))
                };
                // Noise can hide a linear cost in one attempt; a superlinear cost shows in all.
                let linear = (0..20).any(|_| cost(200_000) <= cost(20_000) * 20);
                assert!(linear, "{name}, {index}");
            }
        }
    }

    #[test]
    fn headers_are_limited_by_bytes_marks_and_unterminated_words() {
        for (mail, reason) in [
            (format!("X: {}\r\n\r\nx", "a".repeat(MAX_BYTES)), NotParsed::HEADERS),
            (format!("Content-Type: text/plain; {}\r\n\r\nx", "a*0=b; ".repeat(501)), NotParsed::PARAMETERS),
            (format!("x\r\n Content-Type :\r\n {}\r\n\r\nx", "'".repeat(501)), NotParsed::PARAMETERS),
            (format!("Subject: {}\r\n\r\nx", "=?utf-8?q?x ".repeat(31)), NotParsed::ENCODED_WORDS),
        ] {
            assert_eq!(parse(mail.as_bytes()).err(), Some(reason), "{}", &mail[..40]);
        }
        let parts = format!("--b\r\nX: {}\r\n\r\nx\r\n", "a".repeat(MAX_BYTES / 5)).repeat(5);
        let parts = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--");
        assert_eq!(parse(parts.as_bytes()).err(), Some(NotParsed::HEADERS));
        for mail in [
            format!("Subject: {}\r\n\r\nx", "=?utf-8?q?x?= ".repeat(10_000)),
            format!("Subject: {}\r\n\r\n{}", "' * ".repeat(10_000), "a*0=b; =?a?q?x ".repeat(10_000)),
            format!("X: {}\r\n\r\nx", "a".repeat(MAX_BYTES - 20)),
        ] {
            assert!(parse(mail.as_bytes()).is_ok(), "{}", &mail[..40]);
        }
    }
}
