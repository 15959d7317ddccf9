//! Thread search: words and quoted phrases; a leading `-` excludes them.

use jiff::Timestamp;

use crate::model::inboxes::email::InboxEmail;

/// The maximum length of a query, in characters.
pub const MAX_QUERY: usize = 256;
/// The maximum number of words and phrases.
pub const MAX_WORDS: usize = 32;
/// The number of bytes of a text that are searched.
const MAX_SEARCHED: usize = 64 << 10;

/// A parsed query. Words match anywhere in the text, ignoring case and differences in white space.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Query {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Query {
    /// Parses a query. An unclosed quote extends to the end.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (is_wanted, word) = match rest.strip_prefix('-') {
                Some(word) if word.starts_with(|char: char| !char.is_whitespace()) => (false, word),
                _ => (true, rest),
            };
            let (word, after) = match word.strip_prefix('"') {
                Some(phrase) => phrase.split_once('"').unwrap_or((phrase, "")),
                None => word.split_at(word.find(char::is_whitespace).unwrap_or(word.len())),
            };
            let word = fold(word);
            if !word.is_empty() {
                if is_wanted { &mut query.wanted } else { &mut query.unwanted }.push(word);
            }
            rest = after.trim_start();
        }
        query
    }

    pub fn word_count(&self) -> usize {
        self.wanted.len() + self.unwanted.len()
    }
}

/// A search in the emails of a thread; all conditions must apply to one email.
#[derive(Debug, Default)]
pub struct Search {
    pub query: Query,
    pub from: Vec<String>,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub has_attachment: Option<bool>,
    pub start: Option<Timestamp>,
    /// Exclusive.
    pub end: Option<Timestamp>,
}

impl Search {
    /// Whether any email matches.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.from, &self.to, &self.cc, &self.bcc];
        self.query.word_count() == 0
            && lists.into_iter().all(Vec::is_empty)
            && self.has_attachment.is_none()
            && self.start.is_none()
            && self.end.is_none()
    }

    pub fn matches(&self, email: &InboxEmail) -> bool {
        let any = |wanted: &[String], found: &[String]| {
            let found = || found.iter().map(|one| one.to_lowercase());
            wanted.is_empty() || wanted.iter().any(|wanted| found().any(|found| found.contains(wanted)))
        };
        self.start.is_none_or(|start| start <= email.received_at)
            && self.end.is_none_or(|end| email.received_at < end)
            && self.has_attachment.is_none_or(|has| has != email.attachments.is_empty())
            && any(&self.from, std::slice::from_ref(&email.from))
            && any(&self.to, &email.to)
            && any(&self.cc, &email.cc)
            && any(&self.bcc, &email.bcc)
            && self.has_words(email)
    }

    fn has_words(&self, email: &InboxEmail) -> bool {
        if self.query.word_count() == 0 {
            return true;
        }
        let body = email.searched_text();
        let mut text = fold(&body[..body.floor_char_boundary(MAX_SEARCHED)]);
        let names = email.attachments.iter().filter_map(|file| file.filename.as_ref());
        let parts = [&email.from].into_iter().chain(&email.subject);
        for part in parts.chain(&email.to).chain(&email.cc).chain(&email.bcc).chain(names) {
            // A phrase can't span two parts.
            text.push('\n');
            text.push_str(&fold(part));
        }
        let Query { wanted, unwanted } = &self.query;
        wanted.iter().all(|word| text.contains(word)) && !unwanted.iter().any(|word| text.contains(word))
    }
}

/// In lower case, with single spaces.
pub fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_words_phrases_and_exclusions() {
        let query = |wanted: &[&str], unwanted: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            Query { wanted: owned(wanted), unwanted: owned(unwanted) }
        };
        for (text, expected) in [
            ("", query(&[], &[])),
            ("Invoice  PAID", query(&["invoice", "paid"], &[])),
            ("\"unpaid  invoice\" -draft", query(&["unpaid invoice"], &["draft"])),
            ("-\"on hold\" - x", query(&["-", "x"], &["on hold"])),
            ("\"open end", query(&["open end"], &[])),
            ("a\"b \"\" c-d", query(&["a\"b", "c-d"], &[])),
        ] {
            assert_eq!(Query::parse(text), expected, "{text}");
        }
    }
}
