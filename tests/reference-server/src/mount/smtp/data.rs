//! The text of a mail as `DATA` carries it: where it ends, and its dots (RFC 5321, 4.1.1.4 and 4.5.2).
//!
//! CRLF, dot, CRLF ends a mail, and nothing else does. A server that also takes a bare CR or LF there reads commands where the server before it
//! read text, and delivers a second mail that its client never sent (SMTP smuggling).

use bytes::{Buf as _, BytesMut};

/// How much of the end sequence has just been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// CRLF: a line begins.
    LineStart,
    Text,
    /// CR.
    Cr,
    /// CRLF, dot.
    Dot,
    /// CRLF, dot, CR.
    DotCr,
}

/// Collects the text of one mail.
#[derive(Debug)]
pub(super) struct DataReader {
    state: State,
    /// None once the text has become larger than `limit`; it is then read to its end and dropped.
    text: Option<Vec<u8>>,
    limit: usize,
}

impl DataReader {
    /// A reader for a text of at most `limit` bytes. The line with the command `DATA` counts: a dot alone may be the first line.
    pub(super) fn new(limit: usize) -> Self {
        Self { state: State::LineStart, text: Some(Vec::new()), limit }
    }

    /// Takes bytes from the front of `input`, at most to the end of the mail. Returns whether the mail has ended.
    pub(super) fn read(&mut self, input: &mut BytesMut) -> bool {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Text {
                // Only a CR begins anything.
                let rest = &input[at..];
                let plain = rest.iter().position(|byte| *byte == b'\r').unwrap_or(rest.len());
                self.keep(&rest[..plain]);
                at += plain;
                if at == input.len() {
                    break;
                }
            }
            if self.state == State::DotCr && input[at] == b'\n' {
                input.advance(at + 1);
                return true;
            }
            self.step(input[at]);
            at += 1;
        }
        input.advance(at);
        false
    }

    /// The text without the dots that were put in front of others, or None if it was too large.
    pub(super) fn into_text(self) -> Option<Vec<u8>> {
        self.text
    }

    /// Reads one byte that doesn't end the mail.
    fn step(&mut self, byte: u8) {
        match (self.state, byte) {
            // A dot at the start of a line is none of the text.
            (State::LineStart, b'.') => return self.state = State::Dot,
            (State::Dot, b'\r') => return self.state = State::DotCr,
            // It was no end, so the CR is text.
            (State::DotCr, _) => self.keep(b"\r"),
            _ => {}
        }
        self.keep(&[byte]);
        self.state = match (self.state, byte) {
            (State::Cr, b'\n') => State::LineStart,
            (_, b'\r') => State::Cr,
            _ => State::Text,
        };
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(text) = &mut self.text {
            text.extend_from_slice(bytes);
            if text.len() > self.limit {
                self.text = None;
            }
        }
    }
}
