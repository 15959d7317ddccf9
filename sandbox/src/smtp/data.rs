//! Parses the content of `DATA`: end detection and dot-stuffing (RFC 5321, 4.1.1.4 and 4.5.2).
//!
//! Only CRLF, dot, CRLF ends a message. If a server also accepted a bare CR or LF there, it would read commands where another server had read text,
//! and deliver a second message that the client never sent (SMTP smuggling).

use bytes::{Buf as _, BytesMut};

/// The position within the end sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// CRLF: the start of a line.
    LineStart,
    Text,
    Cr,
    /// CRLF, dot.
    Dot,
    /// CRLF, dot, CR.
    DotCr,
}

/// Collects the content of one message.
#[derive(Debug)]
pub(super) struct DataReader {
    state: State,
    /// `None` once the content exceeds `limit`; the rest is read and dropped.
    text: Option<Vec<u8>>,
    limit: usize,
}

impl DataReader {
    /// Creates a reader for at most `limit` bytes. The end of the `DATA` command's line counts as a line end, so the first line may be a single dot.
    pub(super) fn new(limit: usize) -> Self {
        Self { state: State::LineStart, text: Some(Vec::new()), limit }
    }

    /// Consumes input up to the end of the message. Returns whether the message has ended.
    pub(super) fn read(&mut self, input: &mut BytesMut) -> bool {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Text {
                // Only a CR can start the sequence.
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

    /// Returns the number of collected bytes.
    pub(super) fn len(&self) -> usize {
        self.text.as_ref().map_or(0, Vec::len)
    }

    /// Drops the content and ignores the rest.
    pub(super) fn discard(&mut self) {
        self.text = None;
    }

    /// Returns the content without dot-stuffing, or `None` if it was too large.
    pub(super) fn into_text(self) -> Option<Vec<u8>> {
        self.text
    }

    /// Processes one byte that doesn't end the message.
    fn step(&mut self, byte: u8) {
        match (self.state, byte) {
            // A dot at the start of a line is removed.
            (State::LineStart, b'.') => return self.state = State::Dot,
            (State::Dot, b'\r') => return self.state = State::DotCr,
            // The message doesn't end here, so the CR is content.
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
