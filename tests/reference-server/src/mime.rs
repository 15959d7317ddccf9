//! Bounded MIME parsing: the only entry to the parser.
//!
//! The parser builds a tree of messages that is copied and dropped recursively, and it reads and copies some bytes once per part. So every message
//! first passes [`structure`], which walks through its parts without building a tree, within the limits below. They match Dovecot's parser, whose
//! depth limit equals Postfix's `mime_nesting_limit`.

mod headers;
pub mod limits;
pub mod structure;

use std::borrow::Cow;
use std::panic::catch_unwind;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, Message, MessageParser, MessagePart};

/// The maximum nesting depth of parts: messages, and `multipart` parts with content.
pub const MAX_LEVELS: usize = 100;
/// The maximum number of parts of a message.
pub const MAX_PARTS: usize = 10_000;
/// The maximum number of bytes that are read or copied repeatedly: after each part whose boundary is missing, and in each message inside
/// an encoded one.
const MAX_REREAD: usize = 128 << 20;

/// The reason why a message isn't parsed, as the predicate of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotParsed(&'static str);

impl NotParsed {
    const LEVELS: Self = Self("has more than 100 levels of parts");
    const PARTS: Self = Self("has more than 10000 parts");
    const REREAD: Self =
        Self("has unterminated or nested encoded parts that would need more than 128 MiB to parse");
    const HEADERS: Self = Self("has more than 4 MiB of headers");
    const PARAMETERS: Self = Self("has a header with more than 500 continued or encoded parameters");
    const ENCODED_WORDS: Self = Self("has more than 30 unterminated encoded words in a header");
    const MALFORMED: Self = Self("has malformed parts");

    pub fn text(self) -> &'static str {
        self.0
    }

    /// The text shown in place of such a message's parts.
    pub fn placeholder_text(self) -> String {
        format!("This email {self} and is not shown.")
    }
}

/// Parses a message. Returns `None` if it has no headers at all. Multi-byte character sets are decoded if the parser's feature `full_encoding` is
/// enabled, as in the sandbox.
///
/// # Errors
/// Fails if the message exceeds a limit, in which case it isn't parsed; or if the parser panics, as a debug build does for some
/// malformed parts.
pub fn parse(raw: &[u8]) -> Result<Option<Message<'_>>, NotParsed> {
    structure::check(raw)?;
    catch_unwind(|| MessageParser::new().parse(raw)).map_err(|_| NotParsed::MALFORMED)
}

/// Parses only the headers of a message. Returns `None` if it has none.
///
/// # Errors
/// Fails if they exceed a limit.
pub fn read_headers(raw: &[u8]) -> Result<Option<Message<'_>>, NotParsed> {
    headers::check(raw)?;
    Ok(MessageParser::new().parse_headers(raw))
}

/// The headers of a message that was accepted. `None` if it has none, or if they exceed a limit.
pub fn headers(raw: &[u8]) -> Option<Message<'_>> {
    read_headers(raw).ok().flatten()
}

/// The headers of a message, unfolded (RFC 5322, 2.2.3). The parser's own list omits those that aren't UTF-8.
pub fn unfolded_headers<'a>(message: &'a Message<'_>) -> impl Iterator<Item = (&'a str, String)> {
    message.headers().iter().map(|header| {
        let value = message.raw_message.get(header.offset_start as usize..header.offset_end as usize);
        let value = String::from_utf8_lossy(value.unwrap_or_default());
        let lines: Vec<_> = value.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        (header.name.as_str(), lines.join(" "))
    })
}

/// The bytes of a part without its transfer encoding. The parser converts text to UTF-8; these are the original bytes. `None` if they can't be
/// decoded.
pub fn decode_part<'a>(part: &MessagePart<'_>, message: &'a Message<'_>) -> Option<Cow<'a, [u8]>> {
    let packed = message.raw_message.get(part.offset_body as usize..part.offset_end as usize)?;
    match part.encoding {
        Encoding::None => Some(packed.into()),
        Encoding::Base64 => base64_decode(packed).map(Cow::Owned),
        Encoding::QuotedPrintable => quoted_printable_decode(packed).map(Cow::Owned),
    }
}

/// Checks whether a message with these attachments and media types can be parsed; if not, returns the index of the file that exceeds a
/// limit.
pub fn check_attached<'a>(
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), (usize, NotParsed)> {
    let mut walk = structure::Walk::around_bodies();
    for (index, (content_type, bytes)) in files.enumerate() {
        walk.attachment(content_type, bytes).map_err(|reason| (index, reason))?;
    }
    Ok(())
}
