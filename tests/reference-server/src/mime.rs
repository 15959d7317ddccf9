//! Reading mail: the only door to the MIME parser.
//!
//! The parser builds a tree of messages that is copied and dropped recursively, and it reads and copies some bytes once for each part. So no mail
//! reaches it before [`structure`] has walked through its parts without building anything, within the limits below. They are those of Dovecot's
//! parser, whose depth is Postfix' `mime_nesting_limit` as well.

pub(crate) mod limits;
mod structure;

use std::panic::catch_unwind;

use mail_parser::{Message, MessageParser};

/// The most levels of parts: a message, or a `multipart` that has parts, inside another.
pub(crate) const MAX_LEVELS: usize = 100;
/// The most parts of a mail.
pub(crate) const MAX_PARTS: usize = 10_000;
/// How many bytes may be read or copied more than once: behind each part whose boundary is missing, and in each message inside an encoded one.
const MAX_REREAD: usize = 128 << 20;

/// Why a mail is not parsed, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotParsed(&'static str);

impl NotParsed {
    const LEVELS: Self = Self("has more than 100 levels of parts");
    const PARTS: Self = Self("has more than 10000 parts");
    const REREAD: Self = Self(
        "has parts without end, or encoded ones inside others, that would take more than 128 MiB to read",
    );

    const BOUNDARIES: Self = Self("has parts whose boundaries contradict each other");

    pub(crate) fn text(self) -> &'static str {
        self.0
    }

    /// What stands in the place of such a mail's parts.
    pub(crate) fn not_shown(self) -> String {
        format!("This mail {self} and is not shown.")
    }
}

/// Parses a mail. None if it has no headers at all.
///
/// # Errors
/// If it is over a limit, and has not been parsed then; or if the parser gave up, which its debug assertions do where the boundaries of parts
/// contradict each other.
pub(crate) fn parse(raw: &[u8]) -> Result<Option<Message<'_>>, NotParsed> {
    structure::check(raw)?;
    catch_unwind(|| MessageParser::new().parse(raw)).map_err(|_| NotParsed::BOUNDARIES)
}

/// Parses the headers of a mail and nothing below them, which takes no limit.
pub(crate) fn headers(raw: &[u8]) -> Option<Message<'_>> {
    MessageParser::new().parse_headers(raw)
}

/// Whether a mail with these files attached, each with its media type, could be parsed; if not, which file is too much.
pub(crate) fn check_attached<'a>(
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), (usize, NotParsed)> {
    let mut walk = structure::Walk::below_bodies();
    for (index, (content_type, bytes)) in files.enumerate() {
        walk.attachment(content_type, bytes).map_err(|reason| (index, reason))?;
    }
    Ok(())
}
