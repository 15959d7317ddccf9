//! The terms of a search, and the values of operators.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, civil};
use uuid::Uuid;

use super::phrase::Phrase;
use idempost_reference_server::model::email::Event;
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::words::words;

/// A condition, possibly negated.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) negated: bool,
    pub(super) condition: Condition,
}

#[derive(Debug)]
pub(super) enum Condition {
    /// Contained in an address, the subject, a tag or the text.
    Anywhere(Phrase),
    In(Field, Phrase),
    /// With this complete tag name and, if given, value; case is ignored.
    Tag(String, Option<String>),
    HasAttachment,
    HasTag,
    Unread,
    /// Earlier than this time.
    Before(Timestamp),
    /// At this time or later.
    After(Timestamp),
    /// Larger than this many bytes.
    Larger(u64),
    Smaller(u64),
    /// Has had this event.
    Event(Event),
    /// With this ID, either in the inbox or in the API.
    Id(Uuid),
}

/// A part of an email to search for a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inbox) enum Field {
    From,
    /// All recipients, including Cc and Bcc.
    To,
    Cc,
    Bcc,
    ReplyTo,
    /// The sender, all recipients and the addresses for replies.
    Addressed,
    Subject,
    MessageId,
    /// The names of attachments.
    FileName,
    Text,
}

words! {
    /// An operator: the name before a colon.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Operator {
        From = "from",
        To = "to",
        Cc = "cc",
        Bcc = "bcc",
        ReplyTo = "reply-to",
        Addressed = "addressed",
        Subject = "subject",
        FileName = "filename",
        MessageId = "message-id",
        Id = "id",
        Tag = "tag",
        Has = "has",
        Is = "is",
        Event = "event",
        Before = "before",
        After = "after",
        Larger = "larger",
        Smaller = "smaller",
    }
}

impl Operator {
    /// Returns the operator with this name, ignoring case.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, operator)| *operator)
    }

    /// Returns the term with this value. The error completes a sentence about the operator.
    pub(super) fn term(self, negated: bool, value: &str, now: Timestamp) -> Result<Term, String> {
        let is_read = matches!(self, Self::Is) && value.eq_ignore_ascii_case("read");
        Ok(Term { negated: negated != is_read, condition: self.condition(value, now)? })
    }

    fn condition(self, value: &str, now: Timestamp) -> Result<Condition, String> {
        let found = |rule: &str| format!("must be {rule}; found {}.", quote(value));
        let phrase = |field| {
            let phrase = Phrase::new(value).ok_or_else(|| found("a word or a phrase"))?;
            Ok(Condition::In(field, phrase))
        };
        let time = || {
            parse_time(value, now).ok_or_else(|| {
                found(
                    "a day such as `2026-03-02`, a time such as `2026-03-02T12:00:00Z`, both in UTC unless the time has a zone, or how \
                     long ago, such as `2h` or `\"3 days\"`",
                )
            })
        };
        let size =
            || parse_size::parse_size(value).map_err(|_| found("a size such as `4096`, `10kB` or `1MiB`"));
        match self {
            Self::From => phrase(Field::From),
            Self::To => phrase(Field::To),
            Self::Cc => phrase(Field::Cc),
            Self::Bcc => phrase(Field::Bcc),
            Self::ReplyTo => phrase(Field::ReplyTo),
            Self::Addressed => phrase(Field::Addressed),
            Self::Subject => phrase(Field::Subject),
            Self::FileName => phrase(Field::FileName),
            Self::MessageId => phrase(Field::MessageId),
            Self::Id => {
                let id = Uuid::try_parse(value).map_err(|_| found("the complete ID of an email"))?;
                Ok(Condition::Id(id))
            }
            Self::Tag => {
                let (name, content) = match value.split_once('=') {
                    Some((name, content)) => (name, Some(content.to_owned())),
                    None => (value, None),
                };
                if name.is_empty() {
                    return Err(found("`name` or `name=value`"));
                }
                Ok(Condition::Tag(name.to_owned(), content))
            }
            Self::Has
                if ["attachment", "attachments"].iter().any(|word| value.eq_ignore_ascii_case(word)) =>
            {
                Ok(Condition::HasAttachment)
            }
            Self::Has => Err(found("`attachment`")),
            // `Self::term` negates `read`.
            Self::Is if ["read", "unread"].iter().any(|word| value.eq_ignore_ascii_case(word)) => {
                Ok(Condition::Unread)
            }
            Self::Is if value.eq_ignore_ascii_case("tagged") => Ok(Condition::HasTag),
            Self::Is => Err(found("`read`, `unread` or `tagged`")),
            Self::Event => {
                let known = Event::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
                let event = known.map(|(_, event)| *event).ok_or_else(|| {
                    let words: Vec<_> = Event::WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
                    found(&format!("one of {}", words.join(", ")))
                })?;
                Ok(Condition::Event(event))
            }
            Self::Before => time().map(Condition::Before),
            Self::After => time().map(Condition::After),
            Self::Larger => size().map(Condition::Larger),
            Self::Smaller => size().map(Condition::Smaller),
        }
    }
}

/// Parses a time or day (UTC if without a zone), or a duration before `now`.
fn parse_time(text: &str, now: Timestamp) -> Option<Timestamp> {
    let day = || text.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let ago = || {
        let is_words = text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_digit());
        let span = text.parse::<Span>().ok().filter(|span| is_words && span.is_positive())?;
        now.to_zoned(TimeZone::UTC).checked_sub(span).ok().map(|at| at.timestamp())
    };
    text.parse().ok().or_else(day).or_else(ago)
}
