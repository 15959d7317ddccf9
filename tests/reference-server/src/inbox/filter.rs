//! Filters of captured, received and unsent emails.

use url::form_urlencoded;

use crate::model::email::{Email, html_and_text};
use crate::model::mail::{Mail as SentMail, Tag};
use crate::model::received::Received;
use crate::store::mails::StoredMail;
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;

/// The maximum number of words in `query` and of tags: each is searched in every email.
const MAX_TERMS: usize = 32;

/// The searchable parts of an email.
pub(super) trait Mail {
    fn from(&self) -> &str;
    /// All recipients, including bcc.
    fn recipients(&self) -> impl Iterator<Item = &str>;
    fn subject(&self) -> &str;
    fn tags(&self) -> &[Tag];
    fn is_unread(&self) -> bool;
    /// Whether the text contains this word, ignoring case; the word is in lower case.
    fn has_in_text(&self, word: &str) -> bool;
}

impl Mail for SentMail {
    fn from(&self) -> &str {
        self.from()
    }

    fn recipients(&self) -> impl Iterator<Item = &str> {
        self.to().into_iter().chain(self.cc()).chain(self.bcc())
    }

    fn subject(&self) -> &str {
        self.subject()
    }

    fn tags(&self) -> &[Tag] {
        self.tags()
    }

    fn is_unread(&self) -> bool {
        StoredMail::is_unread(self)
    }

    fn has_in_text(&self, word: &str) -> bool {
        self.has_word(word)
    }
}

impl Mail for Email {
    fn from(&self) -> &str {
        &self.from
    }

    fn recipients(&self) -> impl Iterator<Item = &str> {
        let copies = [&self.cc, &self.bcc].into_iter().flatten().flatten();
        self.to.iter().chain(copies).map(String::as_str)
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Only mails can be unread.
    fn is_unread(&self) -> bool {
        false
    }

    fn has_in_text(&self, word: &str) -> bool {
        self.bodies.has_word(word)
    }
}

impl Mail for Received {
    /// Including the display name, which only the header has.
    fn from(&self) -> &str {
        self.headers.get("from").unwrap_or(&self.from)
    }

    fn recipients(&self) -> impl Iterator<Item = &str> {
        let named = self.to.iter().chain(&self.cc).chain(&self.bcc);
        named.chain(&self.recipients).map(String::as_str)
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    fn tags(&self) -> &[Tag] {
        &[]
    }

    fn is_unread(&self) -> bool {
        StoredMail::is_unread(self)
    }

    fn has_in_text(&self, word: &str) -> bool {
        self.text.as_deref().is_some_and(|text| html_and_text::has_word(text, word))
    }
}

/// A filter for emails. All given conditions must match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    to: Option<String>,
    from: Option<String>,
    subject: Option<String>,
    tags: Vec<(String, String)>,
    /// Words that occur anywhere in the email.
    words: Vec<String>,
    unread: Option<bool>,
}

/// The names of all filters.
const NAMES: [&str; 6] = ["to", "from", "subject", "query", "tag", "unread"];

impl Filter {
    /// `to`, `from` and `subject` match a substring, ignoring case; `tag=name=value` matches exactly; each word of `query` must occur in an
    /// address, the subject, the tags or the text.
    pub(super) fn read(query: &str) -> Result<Self, Problem> {
        let mut filter = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let text = value.to_lowercase();
            match &*name {
                "to" => filter.to = Some(text),
                "from" => filter.from = Some(text),
                "subject" => filter.subject = Some(text),
                "query" => filter.words = text.split_whitespace().map(str::to_owned).collect(),
                "tag" => {
                    let (name, value) = value.split_once('=').ok_or_else(|| {
                        Problem::validation(format!("`tag` must be `name=value`; found {}.", quoted(&value)))
                    })?;
                    filter.tags.push((name.to_owned(), value.to_owned()));
                }
                "unread" => {
                    filter.unread = Some(text.parse().map_err(|_| {
                        Problem::validation(format!(
                            "`unread` must be `true` or `false`; found {}.",
                            quoted(&value)
                        ))
                    })?);
                }
                _ => {}
            }
        }
        for (name, what, found) in
            [("query", "words", filter.words.len()), ("tag", "values", filter.tags.len())]
        {
            if found > MAX_TERMS {
                let rule = format!("`{name}` must have at most {MAX_TERMS} {what}; found {found}.");
                return Err(Problem::validation(rule));
            }
        }
        Ok(filter)
    }

    /// Reads the filter of a change, where an ignored parameter or an empty value would change more mails than intended.
    pub(super) fn of_change(query: &str) -> Result<Self, Problem> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !NAMES.contains(&&*name) {
                let names: Vec<_> = NAMES.iter().map(|name| format!("`{name}`")).collect();
                let rule = format!("is not a filter here; these are: {}", names.join(", "));
                return Err(Problem::validation(format!("{} {rule}.", quoted(&name))));
            }
            if value.trim().is_empty() {
                return Err(Problem::validation(format!("`{name}` must not be empty.")));
            }
        }
        Self::read(query)
    }

    /// Whether it matches all emails.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn lets_through(&self, mail: &impl Mail) -> bool {
        let holds = |wanted: &Option<String>, text: &str| {
            wanted.as_ref().is_none_or(|wanted| text.to_lowercase().contains(wanted))
        };
        let tagged = |(name, value): &(String, String)| {
            mail.tags().iter().any(|tag| tag.name == *name && tag.value == *value)
        };
        self.unread.is_none_or(|unread| unread == mail.is_unread())
            && (self.to.is_none() || mail.recipients().any(|one| holds(&self.to, one)))
            && holds(&self.from, mail.from())
            && holds(&self.subject, mail.subject())
            && self.tags.iter().all(tagged)
            && self.words.iter().all(|word| has(mail, word))
    }
}

fn has(mail: &impl Mail, word: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(word);
    holds(mail.subject())
        || holds(mail.from())
        || mail.recipients().any(holds)
        || mail.tags().iter().any(|tag| format!("{}={}", tag.name, tag.value).to_lowercase().contains(word))
        || mail.has_in_text(word)
}

/// The query with `before` in place of `after_id`, its name for clients that request what was captured since.
pub(super) fn renamed(query: &str) -> String {
    let pairs = form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| if name == "after_id" { ("before".into(), value) } else { (name, value) });
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}
