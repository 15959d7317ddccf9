//! Header fields.
//!
//! A line is folded only before white space of its value, by a CRLF, so that unfolding restores the value exactly (RFC 5322, 2.2.3). Text
//! that can't be folded this way becomes encoded words (RFC 2047) or, in parameters, segments (RFC 2231).

use std::fmt::{self, Write as _};

use email_encoding::headers::rfc2047;
use email_encoding::headers::writer::EmailWriter;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::mime::limits::{has_short_words, is_plain};
use crate::model::email::recipients::Mailbox;

/// The recommended length of a line (RFC 5322, 2.1.1), in bytes; required for lines with encoded words (RFC 2047, 2).
const LINE: usize = 76;

/// Whether even lenient parsers leave a text unchanged: some decode encoded words anywhere, even in quotes, and some collapse white space
/// around a fold.
fn is_literal(text: &str) -> bool {
    !text.contains("=?") && !text.contains("  ")
}

/// The header fields of a message or of a part.
#[derive(Default)]
pub struct Fields(String);

impl Fields {
    /// A literal value, which may itself contain encoded words.
    pub fn literal(&mut self, name: &str, value: &str) {
        self.write_line(name, |line| line.folding().write_str(value));
    }

    /// Free text: literal if possible, else in encoded words.
    pub fn text(&mut self, name: &str, value: &str) {
        if is_plain(value) && is_literal(value) {
            return self.literal(name, value);
        }
        self.write_line(name, |line| rfc2047::encode(value, line));
    }

    /// A custom field: literal if possible, since it may be structured.
    pub fn custom(&mut self, name: &str, value: &str) {
        if is_plain(value) { self.literal(name, value) } else { self.text(name, value) }
    }

    pub fn addresses(&mut self, name: &str, mailboxes: &[Mailbox]) {
        self.write_line(name, |line| {
            for (index, mailbox) in mailboxes.iter().enumerate() {
                if index > 0 {
                    line.write_str(", ")?;
                }
                match &mailbox.name {
                    Some(name) => {
                        write_phrase(line, name)?;
                        line.write_char(' ')?;
                        write_unfolded(line, &format!("<{}>", mailbox.address))?;
                    }
                    None if index > 0 => write_unfolded(line, &mailbox.address)?,
                    None => line.write_str(&mailbox.address)?,
                }
            }
            Ok(())
        });
    }

    /// A value with one parameter.
    pub fn with_parameter(&mut self, name: &str, value: &str, parameter: (&str, &str)) {
        let quoted = quote(parameter.1);
        let fits = parameter.1.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
            && parameter.0.len() + quoted.len() < LINE - 4
            && is_literal(parameter.1);
        self.write_line(name, |line| {
            write!(line, "{value};")?;
            if !fits {
                return write_segments(line, parameter);
            }
            line.write_char(' ')?;
            write_unfolded(line, &format!("{}={quoted}", parameter.0))
        });
    }

    /// Returns all fields, followed by the empty line.
    pub fn finish(mut self) -> String {
        self.0.push_str("\r\n");
        self.0
    }

    /// Returns the fields so far, for a caller that adds more.
    pub fn all_lines(&self) -> &str {
        &self.0
    }

    fn write_line(&mut self, name: &str, write: impl FnOnce(&mut EmailWriter<'_>) -> fmt::Result) {
        self.0.push_str(name);
        self.0.push_str(": ");
        // The first word stays next to the name, since some programs would read an empty value otherwise. Writing to a string can't fail.
        let _ = write(&mut EmailWriter::new(&mut self.0, name.len() + 2, 0, false));
        self.0.push_str("\r\n");
    }
}

/// Writes a space and a token that must not be folded.
fn write_unfolded(line: &mut EmailWriter<'_>, token: &str) -> fmt::Result {
    if line.projected_line_len() + token.len() > LINE {
        line.new_line()?;
    }
    line.write_str(token)
}

/// A display name: words, a quoted string, or encoded words.
fn write_phrase(line: &mut EmailWriter<'_>, name: &str) -> fmt::Result {
    let atoms =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" !#$%&'*+-/=?^_`{|}~".contains(&byte));
    if !name.is_ascii() || !is_literal(name) || !has_short_words(&quote(name)) {
        rfc2047::encode(name, line)
    } else if atoms && is_plain(name) {
        line.folding().write_str(name)
    } else {
        line.folding().write_str(&quote(name))
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A parameter in numbered segments, each on a separate line (RFC 2231, 3 and 4.1).
fn write_segments(line: &mut EmailWriter<'_>, (name, value): (&str, &str)) -> fmt::Result {
    let mut rest = value.chars().peekable();
    for number in 0.. {
        let charset = if number == 0 { "utf-8''" } else { "" };
        let mut segment = format!(" {name}*{number}*={charset}");
        // A character takes at most twelve bytes, and `;` follows the segment.
        while segment.len() + 13 <= LINE
            && let Some(char) = rest.next()
        {
            segment.extend(utf8_percent_encode(char.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC));
        }
        line.new_line()?;
        line.write_str(&segment)?;
        if rest.peek().is_none() {
            break;
        }
        line.write_char(';')?;
    }
    Ok(())
}
