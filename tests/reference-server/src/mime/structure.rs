//! Counts the parts of a message without building a tree.
//!
//! This follows the walk of `mail_parser` step by step, with its own functions, so that both find the same parts in malformed messages. The
//! differences: it stores nothing, doesn't recurse, and stops at the first limit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mail_parser::decoders::DecodeFnc;
use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType, GetHeader as _, Header, HeaderName, HeaderValue, MessageParser};

use crate::mime::{MAX_LEVELS, MAX_PARTS, MAX_REREAD, NotParsed, headers};

/// The maximum nesting of encoded messages that the parser decodes.
const MAX_ENCODED: usize = 3;
/// The parts of a rendered email around its attachments: `mixed`, `alternative`, `related`, text and HTML.
const BODIES: usize = 5;
/// The nesting depth of those parts.
const BODY_LEVELS: usize = 3;

/// Walks through a complete message.
pub(super) fn check(raw: &[u8]) -> Result<(), NotParsed> {
    let mut walk = Walk::default();
    walk.message(raw, 0, MAX_ENCODED)?;
    walk.check_decoded()
}

/// The counts so far, and the decoded messages that remain to be walked.
#[derive(Default)]
pub(super) struct Walk {
    parts: usize,
    header_bytes: usize,
    reread: usize,
    pending: Vec<Encoded>,
}

/// A decoded message.
struct Encoded {
    raw: Vec<u8>,
    level: usize,
    /// The number of further encodings that are decoded.
    encodings: usize,
}

/// The container of the parser's next part.
struct Level {
    kind: Kind,
    boundary: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Digest,
    Multipart,
    Other,
}

impl Walk {
    /// Starts with the parts around the attachments of an email to be rendered.
    pub(super) fn around_bodies() -> Self {
        Self { parts: BODIES, ..Self::default() }
    }

    /// Counts an attachment, which is rendered as Base64.
    pub(super) fn attachment(&mut self, content_type: &str, bytes: &[u8]) -> Result<(), NotParsed> {
        self.part()?;
        self.headers(format!("Content-Type: {content_type}").as_bytes())?;
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !["message/rfc822", "message/global"].iter().any(|message| essence.eq_ignore_ascii_case(message)) {
            return Ok(());
        }
        self.reread(bytes.len())?;
        self.message(bytes, BODY_LEVELS + 1, MAX_ENCODED - 1)?;
        self.check_decoded()
    }

    fn part(&mut self) -> Result<(), NotParsed> {
        self.parts += 1;
        if self.parts > MAX_PARTS { Err(NotParsed::PARTS) } else { Ok(()) }
    }

    fn headers(&mut self, raw: &[u8]) -> Result<(), NotParsed> {
        self.header_bytes += headers::check(raw)?;
        if self.header_bytes > headers::MAX_BYTES { Err(NotParsed::HEADERS) } else { Ok(()) }
    }

    fn reread(&mut self, bytes: usize) -> Result<(), NotParsed> {
        self.reread = self.reread.saturating_add(bytes);
        if self.reread > MAX_REREAD { Err(NotParsed::REREAD) } else { Ok(()) }
    }

    fn check_decoded(&mut self) -> Result<(), NotParsed> {
        while let Some(next) = self.pending.pop() {
            self.reread(next.raw.len())?;
            self.message(&next.raw, next.level, next.encodings)?;
        }
        Ok(())
    }

    /// Walks through a message. The debug assertions and checked arithmetic of the parser's functions fail for some malformed ones.
    fn message(&mut self, raw: &[u8], base: usize, encodings: usize) -> Result<(), NotParsed> {
        catch_unwind(AssertUnwindSafe(|| self.walk(raw, base, encodings)))
            .unwrap_or(Err(NotParsed::MALFORMED))
    }

    fn walk(&mut self, raw: &[u8], base: usize, encodings: usize) -> Result<(), NotParsed> {
        let mut stream = MessageStream::new(raw);
        let mut level = Level { kind: Kind::Message, boundary: None };
        let mut outer: Vec<Level> = Vec::new();
        let parser = MessageParser::new();
        loop {
            self.headers(&raw[stream.offset()..])?;
            let mut headers = Vec::new();
            let complete = stream.parse_headers(&parser, &mut headers);
            if complete || !headers.is_empty() {
                self.part()?;
            }
            if !complete {
                return Ok(());
            }
            let content_type =
                headers.header_value(&HeaderName::ContentType).and_then(HeaderValue::as_content_type);
            let kind = match inner(content_type, level.kind, &mut stream) {
                Inner::Multipart(next) => {
                    stream.skip_crlf();
                    enter_level(&mut outer, &mut level, next, base)?;
                    continue;
                }
                Inner::Undelimited => {
                    self.reread(stream.remaining())?;
                    Kind::Other
                }
                Inner::Leaf(kind) => kind,
            };
            let decode = decoder(&headers);
            if kind == Kind::Message && decode.is_none() {
                if encodings < MAX_ENCODED {
                    // The parser copies the complete decoded buffer for each message in it.
                    self.reread(raw.len())?;
                }
                let next = Level { kind, boundary: level.boundary.take() };
                enter_level(&mut outer, &mut level, next, base)?;
                continue;
            }
            let decode: DecodeFnc<'_> = decode.unwrap_or(MessageStream::mime_part);
            let (end, bytes) = decode(&mut stream, level.boundary.as_deref().unwrap_or_default());
            if end == usize::MAX {
                let (_, delimited) = stream.seek_part_end(level.boundary.as_deref());
                if !delimited {
                    level.boundary = None;
                }
            } else if kind == Kind::Message && encodings > 0 {
                let level = base + outer.len() + 1;
                self.pending.push(Encoded { raw: bytes.into_owned(), level, encodings: encodings - 1 });
            }
            if !leave_levels(&mut outer, &mut level, &mut stream) {
                return Ok(());
            }
        }
    }
}

/// Enters a nested level.
fn enter_level(outer: &mut Vec<Level>, level: &mut Level, next: Level, base: usize) -> Result<(), NotParsed> {
    outer.push(std::mem::replace(level, next));
    if base + outer.len() > MAX_LEVELS { Err(NotParsed::LEVELS) } else { Ok(()) }
}

/// Leaves the levels that end here. Returns whether another part may follow.
fn leave_levels(outer: &mut Vec<Level>, level: &mut Level, stream: &mut MessageStream<'_>) -> bool {
    if level.boundary.is_none() {
        return stream.remaining() > 0;
    }
    loop {
        if level.kind == Kind::Message {
            let Some(message) = outer.pop() else { return false };
            level.kind = message.kind;
        }
        if !stream.is_multipart_end() {
            return true;
        }
        let Some(multipart) = outer.pop() else { return false };
        *level = multipart;
        let Some(boundary) = &level.boundary else { return false };
        if stream.seek_next_part_offset(boundary).is_none() {
            return false;
        }
    }
}

/// The kind of a part, by its headers.
enum Inner {
    /// Its first part follows.
    Multipart(Level),
    /// A `multipart` whose boundary doesn't occur: text.
    Undelimited,
    Leaf(Kind),
}

fn inner(content_type: Option<&ContentType<'_>>, parent: Kind, stream: &mut MessageStream<'_>) -> Inner {
    let Some(content_type) = content_type else {
        return Inner::Leaf(if parent == Kind::Digest { Kind::Message } else { Kind::Other });
    };
    match (content_type.ctype(), content_type.subtype(), content_type.attribute("boundary")) {
        ("multipart", subtype, Some(boundary)) => {
            if !stream.seek_next_part(boundary.as_bytes()) {
                return Inner::Undelimited;
            }
            let kind = if subtype == Some("digest") { Kind::Digest } else { Kind::Multipart };
            Inner::Multipart(Level { kind, boundary: Some(boundary.as_bytes().to_vec()) })
        }
        ("message", Some("rfc822" | "global"), _) => Inner::Leaf(Kind::Message),
        _ => Inner::Leaf(Kind::Other),
    }
}

/// The decoder of a part; `None` if it isn't encoded.
fn decoder<'x>(headers: &[Header<'x>]) -> Option<DecodeFnc<'x>> {
    let encoding = headers.iter().rfind(|header| header.name == HeaderName::ContentTransferEncoding)?;
    let HeaderValue::Text(encoding) = &encoding.value else { return None };
    if encoding.eq_ignore_ascii_case("base64") {
        Some(MessageStream::decode_base64_mime)
    } else if encoding.eq_ignore_ascii_case("quoted-printable") {
        Some(MessageStream::decode_quoted_printable_mime)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use mail_parser::{Message, PartType};
    use proptest::prelude::*;

    use super::*;

    /// The number of parts that the parser finds, and of levels of messages.
    fn parsed(message: &Message<'_>) -> (usize, usize) {
        message.parts.iter().fold((0, 0), |(parts, levels), part| {
            let (more, below) = match &part.body {
                PartType::Message(inner) => parsed(inner),
                _ => (0, 0),
            };
            let level = usize::from(matches!(part.body, PartType::Message(_)));
            (parts + 1 + more, levels.max(level + below))
        })
    }

    /// The number of messages, nested or not.
    fn messages(message: &Message<'_>) -> usize {
        let inner = message.parts.iter().map(|part| match &part.body {
            PartType::Message(inner) => messages(inner),
            _ => 0,
        });
        1 + inner.sum::<usize>()
    }

    fn walked(raw: &[u8]) -> usize {
        let mut walk = Walk::default();
        walk.message(raw, 0, MAX_ENCODED).and_then(|()| walk.check_decoded()).unwrap();
        walk.parts
    }

    /// Lines of messages in any order.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec![
            "",
            "",
            "",
            "text",
            "--a",
            "--a--",
            "--b",
            "--b--",
            "--",
            "Subject: x",
            "Content-Type: message/rfc822",
            "Content-Type: MESSAGE / global",
            "Content-Type: text/html",
            "Content-Type: multipart/mixed; boundary=a",
            "Content-Type: multipart/digest; boundary=b",
            "Content-Type: multipart/x; boundary=\"a\"",
            "Content-Type: multipart/mixed",
            "Content-Type: (c) multipart/digest; boundary=c",
            "Content-Transfer-Encoding: base64",
            "Content-Transfer-Encoding: quoted-printable",
            // `Content-Type: message/rfc822`, twice
            "Q29udGVudC1UeXBlOiBtZXNzYWdlL3JmYzgyMg0KDQpDb250ZW50LVR5cGU6IG1lc3NhZ2UvcmZjODIyDQoNClN1YmplY3Q6IHgNCg0KeA0K",
        ]);
        let end = prop::sample::select(vec!["\r\n", "\r\n", "\n"]);
        prop::collection::vec((line, end), 0..40).prop_map(|lines| {
            lines.into_iter().flat_map(|(line, end)| [line.as_bytes(), end.as_bytes()].concat()).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn walk_counts_the_same_parts_as_the_parser(raw in lines()) {
            let Ok(message) = crate::mime::parse(&raw) else { return Ok(()) };
            let found = message.as_ref().map_or(0, |message| parsed(message).0);
            let messages = message.as_ref().map_or(1, messages);
            let walked = walked(&raw);
            // The parser counts headers at the end of a message as a part only if the message has no other one.
            prop_assert!((found..=found + messages).contains(&walked), "{walked} against {found} in {messages} messages");
        }
    }

    #[test]
    fn an_assertion_of_the_parser_does_not_end_the_walk() {
        let encoded = "Content-Transfer-Encoding: quoted-printable\r\nContent-Type: message/rfc822\r\n\r\n";
        let inner = "Content-Type: multipart/x; boundary=\"a\"\r\n\r\n--a\r\nContent-Transfer-Encoding: quoted-printable\r\n\
            Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n";
        let mail = format!("{encoded}{inner}");
        // A release build doesn't check the arithmetic.
        let expected = if cfg!(debug_assertions) { Err(NotParsed::MALFORMED) } else { Ok(()) };
        assert_eq!(check(mail.as_bytes()), expected);
        let files = [("message/rfc822", mail.as_bytes())];
        let attached = crate::mime::check_attached(files.into_iter());
        assert_eq!(attached, expected.map_err(|reason| (0, reason)));
    }

    #[test]
    fn message_at_the_limits_is_parsed_on_a_small_stack() {
        let deep =
            |levels| format!("{}Subject: x\r\n\r\nx", "Content-Type: message/rfc822\r\n\r\n".repeat(levels));
        let encoded = |inner: &str| {
            let inner: String =
                inner.bytes().flat_map(|byte| format!("={byte:02X}").into_bytes()).map(char::from).collect();
            format!(
                "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{inner}"
            )
        };
        let twice = encoded(&encoded(&deep(MAX_LEVELS - 2)));
        for mail in [deep(MAX_LEVELS), encoded(&deep(MAX_LEVELS - 1)), twice] {
            let run = move || crate::mime::parse(mail.as_bytes()).map(|message| parsed(&message.unwrap()).1);
            // A quarter of a thread's usual stack.
            let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap();
            assert_eq!(thread.join().unwrap(), Ok(MAX_LEVELS));
        }
        assert_eq!(check(deep(MAX_LEVELS + 1).as_bytes()), Err(NotParsed::LEVELS));
    }

    #[test]
    fn parts_and_repeated_reads_are_limited() {
        let many = "--b\r\n\r\n".repeat(MAX_PARTS);
        let many = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{many}");
        assert_eq!(check(many.as_bytes()), Err(NotParsed::PARTS));
        let unclosed = "--b\r\nContent-Type: multipart/mixed; boundary=nowhere\r\n\r\n".repeat(5_000);
        let unclosed = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{unclosed}");
        assert_eq!(check(unclosed.as_bytes()), Err(NotParsed::REREAD));
    }
}
