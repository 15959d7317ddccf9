//! One-time codes in an email: 4 to 8 digits, or letters and digits, that the reader is meant to enter somewhere.
//!
//! A number is a code because of what is around it. `labels` finds the words that name a code or something else (an order, a price), in one
//! pass; `numbers` finds what could be a code, and excludes what its own form shows to be something else. Here each number gets a score from
//! the label that it belongs to, and from how it is shown.

mod labels;
mod numbers;

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;

use self::labels::{Kind, Label};
use self::numbers::Number;
use crate::content::links::{self, Link};
use crate::content::visible::Visible;

/// The number of bytes of each body that are read.
const MAX_READ: usize = 1 << 20;
/// The maximum number of codes per email.
const MAX_CODES: usize = 10;
/// The minimum score of a code.
const MIN_SCORE: i32 = 3;
/// The maximum distance in bytes between a number and a label that surely belong together.
const NEAR: usize = 28;
/// The maximum distance in bytes between a number and a label in the same sentence.
const FAR: usize = 90;
/// The maximum length in bytes of the text before or after a number on a line of its own that may be about it.
const MAX_CONTEXT: usize = 260;

/// What a test wants to know about an email: its one-time codes, the best candidate first, and its links.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Extracted {
    pub(crate) codes: Vec<String>,
    pub(crate) links: Vec<Link>,
}

/// Extracts codes and links, in time and memory linear in the size of the email. It reads the first MiB of each body, and returns at most
/// 10 codes and 1,000 links. `text` is the text body as given: one derived from the HTML has nothing to add.
pub(crate) fn extract(subject: &str, html: Option<&str>, text: Option<&str>) -> Extracted {
    let html = html.map(|html| Visible::of(beginning(html)));
    let text = text.map(beginning);
    let mut codes = html.as_ref().map(|html| codes(subject, html)).unwrap_or_default();
    if codes.is_empty() && (text.is_some() || html.is_none()) {
        codes = self::codes(
            subject,
            &Visible { text: text.unwrap_or_default().to_owned(), ..Visible::default() },
        );
    }
    Extracted { codes, links: links::links(html.as_ref(), text) }
}

fn beginning(body: &str) -> &str {
    &body[..body.floor_char_boundary(MAX_READ)]
}

/// The codes of a subject and a body.
fn codes(subject: &str, body: &Visible) -> Vec<String> {
    let text = Text::of(subject, body);
    let mut found: HashMap<&str, Found> = HashMap::new();
    for (place, number) in text.numbers.iter().enumerate() {
        let Some(code) = &number.code else { continue };
        let score = text.score(number);
        if score < MIN_SCORE {
            continue;
        }
        let one = found.entry(code).or_insert(Found { score, place });
        // A code that occurs twice, such as in the subject and in the body, is hardly anything else.
        one.score = one.score.max(score) + i32::from(one.place != place);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, one)| (-one.score, one.place));
    found.into_iter().take(MAX_CODES).map(|(code, _)| code.to_owned()).collect()
}

/// A code with its best score and first place.
struct Found {
    score: i32,
    place: usize,
}

/// A subject and a body, with labels and numbers.
struct Text {
    /// In lower case where that has the same length in bytes.
    lower: String,
    labels: Vec<Label>,
    numbers: Vec<Number>,
    /// Per label, the place of the number that follows it directly.
    owners: Vec<Option<usize>>,
    /// The beginnings of the sentences, in order.
    sentences: Vec<usize>,
    prominent: Vec<Range<usize>>,
    /// Whether the email is about a one-time code at all.
    is_about_codes: bool,
    /// How much of it is: words for codes, of which one that leaves no doubt counts twice.
    evidence: usize,
}

impl Text {
    fn of(subject: &str, body: &Visible) -> Self {
        let mut text: String = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str("\n\n");
        let offset = text.len();
        text.push_str(&body.text);
        let prominent = body.prominent.iter().map(|range| range.start + offset..range.end + offset).collect();
        let lower: String = text.chars().map(labels::lower).collect();
        let labels = labels::find(&lower);
        let numbers = numbers::find(&text, &lower);
        let owners = owners(&lower, &labels, &numbers);
        let is_about_codes = labels.iter().any(|label| label.kind == Kind::OneTime);
        let evidence = labels.iter().map(|label| match label.kind {
            Kind::OneTime => 2,
            Kind::Code => 1,
            Kind::Other | Kind::Promotion => 0,
        });
        let evidence = evidence.sum();
        let sentences = sentences(&lower);
        Self { lower, labels, numbers, owners, sentences, prominent, is_about_codes, evidence }
    }

    /// How much speaks for a number being a code.
    fn score(&self, number: &Number) -> i32 {
        let (start, end) = (number.range.start, number.range.end);
        let alone = self.is_alone(number);
        let form = number.bonus + if self.is_prominent(start) { 2 } else { 0 };
        let sentence = self.sentence(start, end);
        if self.labels_in(sentence.clone()).any(|(_, label)| label.kind == Kind::Promotion) {
            return 0;
        }
        let before = self.before(start, sentence.start, number);
        let context = match before {
            // "Order 482913", also if the sentence has other words.
            Some((Kind::Other, gap))
                if is_direct(gap) && !(alone && self.has_code_in(sentence.start..start)) =>
            {
                return 0;
            }
            Some((Kind::Code | Kind::OneTime, gap)) if names(gap) => 3 + i32::from(is_direct(gap)),
            Some((Kind::Code | Kind::OneTime, _)) => 1,
            _ => 0,
        };
        let context = context.max(match self.after(end, sentence.end) {
            Some(gap) if gap <= NEAR + NEAR / 2 => 3,
            Some(_) => 2,
            None => 0,
        });
        let context = if alone { context.max(self.around(number)) } else { context };
        if context == 0 || (number.needs_label && context < 4) || (number.is_word && self.evidence < 2) {
            return 0;
        }
        context + form
    }

    /// What the lines before and after a number on a line or in a cell of its own say about it.
    fn around(&self, number: &Number) -> i32 {
        let (start, end) = (number.range.start, number.range.end);
        let Range { start: from, end: to } = self.near(start, end);
        if self.labels_in(from..to).any(|(_, label)| label.kind == Kind::Promotion) {
            return 0;
        }
        // Only up to the neighboring numbers: what is before an order number is about that.
        let own = |label: &(usize, &Label)| {
            let owner = self.owners[label.0];
            owner.is_none_or(|owner| self.numbers[owner].range == number.range)
        };
        let previous = self.labels_in(from..start).filter(own).filter(|(_, label)| label.end <= start);
        let (mut code, mut last) = (None, None);
        for (_, label) in previous {
            code = if label.kind.is_code() { Some(label) } else { code };
            last = Some(label);
        }
        // "Order:", but not "Enter this code to confirm your order:".
        let is_other = last.filter(|label| label.kind == Kind::Other).is_some_and(|label| {
            let sentence = self.sentence(label.start, label.end).start;
            !self.lower[label.end..start].contains(['.', ','])
                && code.is_none_or(|code| code.start < sentence)
        });
        if is_other {
            return 0;
        }
        if code.is_some() {
            return 4;
        }
        if self.labels_in(end..to).filter(own).any(|(_, label)| label.kind.is_code()) {
            return 2;
        }
        i32::from(self.is_about_codes)
    }

    /// The nearest label before a number in its sentence that doesn't belong to another number, and the text between them.
    fn before(&self, start: usize, sentence: usize, number: &Number) -> Option<(Kind, &str)> {
        let from = sentence.max(self.lower.floor_char_boundary(start.saturating_sub(FAR)));
        let own =
            |place: usize| self.owners[place].is_none_or(|owner| self.numbers[owner].range == number.range);
        let last =
            self.labels_in(from..start).filter(|(place, label)| label.end <= start && own(*place)).last();
        last.map(|(_, label)| (label.kind, &self.lower[label.end..start]))
    }

    /// The distance of the nearest label after a number in its sentence, if it names a code.
    fn after(&self, end: usize, sentence: usize) -> Option<usize> {
        let to = sentence.min(self.lower.ceil_char_boundary((end + FAR).min(self.lower.len())));
        let (place, label) = self.labels_in(end..to).next()?;
        (label.kind.is_code() && self.owners[place].is_none()).then_some(label.start - end)
    }

    fn has_code_in(&self, range: Range<usize>) -> bool {
        self.labels_in(range).any(|(_, label)| label.kind.is_code())
    }

    /// The labels that start in a range, with their places.
    fn labels_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &Label)> {
        let first = self.labels.partition_point(|label| label.start < range.start);
        self.labels[first..]
            .iter()
            .take_while(move |label| label.start < range.end)
            .enumerate()
            .map(move |(place, label)| (first + place, label))
    }

    /// The sentence around a place, as far as it is near.
    fn sentence(&self, start: usize, end: usize) -> Range<usize> {
        let next = self.sentences.partition_point(|sentence| *sentence <= start);
        let after = self.sentences[next..].iter().find(|sentence| **sentence >= end);
        let near = self.near(start, end);
        near.start.max(self.sentences[next - 1])..near.end.min(after.copied().unwrap_or(usize::MAX))
    }

    /// A place with what is near it.
    fn near(&self, start: usize, end: usize) -> Range<usize> {
        let from = self.lower.floor_char_boundary(start.saturating_sub(MAX_CONTEXT));
        from..self.lower.ceil_char_boundary((end + MAX_CONTEXT).min(self.lower.len()))
    }

    fn is_prominent(&self, at: usize) -> bool {
        let place = self.prominent.partition_point(|range| range.end <= at);
        self.prominent.get(place).is_some_and(|range| range.start <= at)
    }

    /// Whether a number is all of its line or cell, except for punctuation.
    fn is_alone(&self, number: &Number) -> bool {
        let ends = |char: char| matches!(char, '\n' | '\t');
        let decoration = |char: char| !char.is_alphanumeric() && !ends(char);
        let before = self.lower[..number.range.start].trim_end_matches(decoration);
        let after = self.lower[number.range.end..].trim_start_matches(decoration);
        before.chars().next_back().is_none_or(ends) && after.chars().next().is_none_or(ends)
    }
}

/// Whether the text between a label and a number is so short that they belong together.
fn is_direct(gap: &str) -> bool {
    gap.len() <= NEAR && !gap.contains([',', ';'])
}

/// Whether a label names the number after this text, as in "code: 1234" or "code for Acme is 1234", but not "code base has 1234".
fn names(gap: &str) -> bool {
    let gap = gap.trim_end_matches(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '“' | '„' | '«' | '*' | '(' | '[' | '「')
    });
    let Some(word) = gap.split_whitespace().next_back() else { return true };
    word.ends_with([':', '：', '=', '-', '–', '—', '→', '>'])
        || gap.len() <= 8
        || COPULAS.contains(&word)
        || SUFFIX_COPULAS.iter().any(|copula| word.ends_with(copula))
}

/// Words between a name and its number, in languages that need them.
const COPULAS: &[&str] = &[
    "is",
    "are",
    "was",
    "as",
    "with",
    "enter",
    "using",
    "below",
    "est",
    "ist",
    "lautet",
    "es",
    "è",
    "é",
    "to",
    "är",
    "er",
    "on",
    "je",
    "jest",
    "este",
    "είναι",
    "הוא",
    "هو",
    "là",
    "adalah",
    "ialah",
    "है",
];

/// The same for languages without spaces.
const SUFFIX_COPULAS: &[&str] = &["は", "是", "为", "為", "는", "은", "คือ"];

/// Finds the number that each label belongs to: the first one after it, if no other label is between.
fn owners(lower: &str, labels: &[Label], numbers: &[Number]) -> Vec<Option<usize>> {
    let mut owners = vec![None; labels.len()];
    let mut next = 0;
    let mut open: Vec<usize> = Vec::new();
    for (place, number) in numbers.iter().enumerate() {
        while labels.get(next).is_some_and(|label| label.end <= number.range.start) {
            open.push(next);
            next += 1;
        }
        let Some(label) = open.pop() else { continue };
        let between = &lower[labels[label].end.min(number.range.start)..number.range.start];
        let ends_before =
            between.len() <= NEAR && between.contains("\n\n") && !between.trim_end().ends_with([':', '：']);
        if between.len() > NEAR || ends_before {
            // All others are farther away.
            open.clear();
        } else {
            owners[label] = Some(place);
        }
    }
    owners
}

/// The beginnings of the sentences. Blocks are sentences, too; a number continues a sentence ("No. 5").
fn sentences(lower: &str) -> Vec<usize> {
    let mut found = vec![0];
    let mut chars = lower.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match char {
            '。' | '！' | '？' => true,
            '\n' => next == Some('\n'),
            '.' | '!' | '?' => {
                next.is_some_and(char::is_whitespace)
                    && !lower[at + 1..].trim_start().starts_with(|char: char| char.is_ascii_digit())
            }
            _ => false,
        };
        if ends {
            found.push(at + char.len_utf8());
        }
    }
    found
}
