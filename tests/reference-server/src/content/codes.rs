//! One-time codes in an email: what the reader types to sign in, to confirm, or to open a door or a locker.
//!
//! Codes are 4 to 10 digits, or letters and digits, listed without separators and without the sender's prefix (`G-` in `G-123456`), since forms
//! accept them that way. Verification codes, one-time passwords, TANs, recovery codes and PINs are codes, including those for pickups, doors,
//! pairing, support sessions and Wi-Fi vouchers. The passcodes of meetings, the PINs and numbers of gift cards, license keys, booking locators,
//! confirmation numbers of orders, and discount, referral and claim codes are not.
//!
//! A number is a code because of its context. `words` contains the words in many languages; `labels` finds them in one pass, and combines adjacent
//! ones ("zip" and "code"); `numbers` finds candidates, and excludes those whose form shows that they are something else; `layout` finds sentences
//! and the columns of tables. This module scores each number by how clearly the words name it, by its form, and by its prominence.

pub mod labels;
pub mod layout;
pub mod numbers;
pub mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use self::labels::{Kind, Label, Labels};
use self::layout::is_cell_end;
use self::numbers::Number;
use self::words::{COPULAS, PARTICLES};
use crate::content::links::{self, Link};
use crate::content::visible::Visible;
use crate::wire::described;

/// The number of bytes read from the subject and from each body.
const MAX_READ: usize = 1 << 20;
/// The maximum number of codes per email.
const MAX_CODES: usize = 10;
/// The minimum score of a code.
const MIN_SCORE: i32 = 3;
/// The score of a number that is named: "code: 482913".
const NAMED_SCORE: i32 = 4;
/// The score of a number that its sentence calls a code: "The code for your new address in our shop is 482913".
const MENTIONED_SCORE: i32 = 3;
/// The score of a number before the text that calls it a code.
const BELOW_SCORE: i32 = 2;
/// The score of a number with the name of a code somewhere before it.
const ELSEWHERE_SCORE: i32 = 1;
/// The score for prominence.
const PROMINENT_SCORE: i32 = 2;
/// The maximum distance in characters between a number and a label that certainly belong together.
const NEAR_DISTANCE: usize = 28;
/// The maximum distance in characters between a number and a label in the same sentence.
const MAX_DISTANCE: usize = 90;
/// The maximum length in bytes of the text before or after a number alone on its line that may describe it.
const MAX_CONTEXT: usize = 260;

described! {
    /// The one-time codes of an email, the best candidate first, and its links.
    #[derive(Debug, Default, PartialEq)]
    pub struct Extracted {
        pub codes: Vec<String>,
        pub links: Vec<Link>,
    }
}

/// Extracts codes and links, in time and memory linear in the size of the email. It reads the first MiB of the subject and of each body, and returns
/// at most 10 codes and 1,000 links. `text` is the original text body, not one derived from the HTML.
pub fn extract(subject: &str, html: Option<&str>, text: Option<&str>) -> Extracted {
    let subject = beginning(subject);
    let html = html.map(|html| Visible::from_html(beginning(html)));
    let text = text.map(beginning);
    let mut codes = html.as_ref().map(|html| find_codes(subject, html)).unwrap_or_default();
    if codes.is_empty() && (text.is_some() || html.is_none()) {
        codes = self::find_codes(subject, &Visible::from_text(text.unwrap_or_default()));
    }
    Extracted { codes, links: links::find_links(html.as_ref(), text) }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_READ)]
}

fn find_codes(subject: &str, body: &Visible) -> Vec<String> {
    let text = Text::new(subject, body);
    let mut found: HashMap<&str, Found> = HashMap::new();
    let mut others: HashSet<&str> = HashSet::new();
    for (place, number) in text.numbers.iter().enumerate() {
        let Some(code) = &number.code else { continue };
        let score = match text.context(number) {
            Context::Other => {
                others.insert(code);
                continue;
            }
            Context::None => continue,
            Context::Code(context) if number.needs_label && context < NAMED_SCORE => continue,
            Context::Code(context) => {
                context
                    + number.bonus
                    + if text.is_prominent(number.range.start) { PROMINENT_SCORE } else { 0 }
            }
        };
        if score < MIN_SCORE {
            continue;
        }
        let one = found.entry(code).or_insert(Found { score, place });
        // A number that occurs twice, such as in the subject and in the body, is probably a code.
        one.score = one.score.max(score) + i32::from(one.place != place);
    }
    // Drops numbers that are something else where they are named, such as an order number that is repeated without its name.
    let mut found: Vec<_> =
        found.into_iter().filter(|(code, one)| one.score > NAMED_SCORE || !others.contains(code)).collect();
    found.sort_by_key(|(_, one)| (-one.score, one.place));
    found.into_iter().take(MAX_CODES).map(|(code, _)| code.to_owned()).collect()
}

/// A code with its best score and first position.
struct Found {
    score: i32,
    place: usize,
}

/// The meaning of a number, from the surrounding words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Context {
    None,
    /// It is a code, with this score.
    Code(i32),
    /// It is something else.
    Other,
}

/// A subject and a body, with labels and numbers.
struct Text {
    /// Lower-cased where that keeps the length in bytes.
    lower: String,
    labels: Labels,
    numbers: Vec<Number>,
    /// Per label, the position of the number directly after it.
    owners: Vec<Option<usize>>,
    /// Per start of a number in a table with a header row, whether the header of its column names a code.
    columns: HashMap<usize, bool>,
    /// The beginnings of the sentences, in order.
    sentences: Vec<usize>,
    prominent: Vec<Range<usize>>,
}

impl Text {
    fn new(subject: &str, body: &Visible) -> Self {
        let subject = Visible::from_text(subject).text;
        let mut text: String = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str("\n\n");
        let offset = text.len();
        text.push_str(&body.text);
        let prominent = body.prominent.iter().map(|range| range.start + offset..range.end + offset).collect();
        let lower: String = text.chars().map(labels::lowercase_char).collect();
        let labels = labels::find(&lower);
        let numbers = numbers::find(&text, &lower);
        let owners = assign_labels(&lower, &labels.names, &numbers);
        let columns = layout::columns(&lower, &labels.names, &numbers);
        let sentences = layout::sentences(&text);
        Self { lower, labels, numbers, owners, columns, sentences, prominent }
    }

    /// The meaning of a number: the best of its column, its sentence, and the surrounding lines.
    fn context(&self, number: &Number) -> Context {
        let (start, end) = (number.range.start, number.range.end);
        if let Some(is_code) = self.columns.get(&start) {
            return if *is_code { Context::Code(NAMED_SCORE) } else { Context::Other };
        }
        let sentence = self.sentence(start, end);
        if self.labels_in(sentence.clone()).any(|(_, label)| label.kind == Kind::Offer) {
            return Context::Other;
        }
        let alone = self.is_alone(number);
        let mut context = self.label_before(number, sentence.start);
        if context == Context::Other {
            // "To use this code for your order" on the line above isn't "Order".
            let is_above = alone && self.has_code_in(sentence.start..start);
            if !is_above {
                return context;
            }
            context = Context::None;
        }
        context = context.max(self.label_after(number, sentence.end));
        if self.labels.has_code && self.is_entered(number) {
            context = context.max(Context::Code(if self.labels.is_about_codes {
                NAMED_SCORE
            } else {
                MENTIONED_SCORE
            }));
        }
        if alone { context.max(self.label_around(number)) } else { context }
    }

    /// The meaning of a number alone on a line or in a cell, from the lines before and after.
    fn label_around(&self, number: &Number) -> Context {
        let (start, end) = (number.range.start, number.range.end);
        let Range { start: from, end: to } = self.surroundings(start, end);
        if self.labels_in(from..to).any(|(_, label)| label.kind == Kind::Offer) {
            return Context::None;
        }
        // Only up to the neighboring numbers, since the text before them is about them.
        let own = |label: &(usize, &Label)| self.is_own(label.0, number);
        let previous = self.labels_in(from..start).filter(own).filter(|(_, label)| label.end <= start);
        let (mut code, mut last) = (None, None);
        for (_, label) in previous {
            code = if label.kind.is_code() { Some(label) } else { code };
            last = Some(label);
        }
        // "Type this number in the app:".
        let asked = self.labels.has_code
            && last.is_none_or(|label| label.kind == Kind::Number)
            && self.asks_for_input(
                last.map_or(from, |label| self.sentence(label.start, label.end).start)..start,
            );
        // "Order:", but not "Enter this code to confirm your order:".
        let is_other = !asked
            && last.filter(|label| !label.kind.is_code()).is_some_and(|label| {
                let sentence = self.sentence(label.start, label.end).start;
                !self.lower[label.end..start].contains(['.', ','])
                    && code.is_none_or(|code| code.start < sentence)
            });
        if is_other {
            return Context::None;
        }
        if code.is_some() {
            return Context::Code(NAMED_SCORE);
        }
        if asked {
            return Context::Code(MENTIONED_SCORE);
        }
        if self.labels_in(end..to).filter(own).any(|(_, label)| label.kind.is_code()) {
            return Context::Code(BELOW_SCORE);
        }
        if self.labels.is_about_codes { Context::Code(ELSEWHERE_SCORE) } else { Context::None }
    }

    /// The nearest label before a number in its sentence, unless it belongs to another number.
    fn label_before(&self, number: &Number, sentence: usize) -> Context {
        let start = number.range.start;
        let from = sentence.max(self.lower.floor_char_boundary(start.saturating_sub(3 * MAX_DISTANCE)));
        let mut own: Vec<&Label> = self
            .labels_in(from..start)
            .filter(|(place, label)| label.end <= start && self.is_own(*place, number))
            .map(|(_, label)| label)
            .collect();
        let Some(mut last) = own.pop() else { return Context::None };
        let mut gap = &self.lower[last.end..start];
        if !last.kind.is_code() {
            // "Order 482913", even if the sentence contains other words; "The code for your order: 482913".
            let code = own.iter().rfind(|label| label.kind.is_code()).filter(|code| {
                gap.trim_end().ends_with([':', '：'])
                    && !self.lower[code.end..start].contains(['\n', '\t', ','])
            });
            let Some(code) = code else {
                return if is_direct(gap) { Context::Other } else { Context::None };
            };
            last = code;
            gap = &self.lower[last.end..start];
        }
        if gap.chars().count() > MAX_DISTANCE || (number.is_year && gap.trim().is_empty()) {
            Context::None
        } else if is_name_before(gap) {
            Context::Code(if is_direct(gap) || last.kind == Kind::OneTime {
                NAMED_SCORE
            } else {
                MENTIONED_SCORE
            })
        } else {
            Context::Code(ELSEWHERE_SCORE)
        }
    }

    /// The nearest label after a number in its sentence, as in "482913 is your code".
    fn label_after(&self, number: &Number, sentence: usize) -> Context {
        let end = number.range.end;
        let to = sentence.min(self.lower.ceil_char_boundary((end + 3 * MAX_DISTANCE).min(self.lower.len())));
        let next = self.labels_in(end..to).find(|(_, label)| label.kind != Kind::Number);
        let Some((place, label)) = next.filter(|(_, label)| label.kind.is_code()) else {
            return Context::None;
        };
        let gap = &self.lower[end..label.start];
        let distance = gap.chars().count();
        // Colons and dashes also follow other numbers.
        let is_first = !self.lower[self.sentence(number.range.start, end).start..number.range.start]
            .contains(char::is_alphanumeric);
        if self.owners[place].is_some() || distance > MAX_DISTANCE {
            Context::None
        } else if is_name_label(gap, is_first) && distance <= NEAR_DISTANCE * 2 {
            Context::Code(NAMED_SCORE)
        } else if distance <= NEAR_DISTANCE + NEAR_DISTANCE / 2 && label.kind == Kind::OneTime {
            Context::Code(MENTIONED_SCORE)
        } else {
            Context::Code(BELOW_SCORE)
        }
    }

    /// Whether the reader is asked to enter a number: "Enter 482913 to sign in".
    fn is_entered(&self, number: &Number) -> bool {
        let touches = |gap: &str| {
            gap.len() <= NEAR_DISTANCE
                && !gap.contains(|char: char| char.is_alphanumeric() || is_cell_end(char))
        };
        let (start, end) = (number.range.start, number.range.end);
        let next = self.labels.verbs.partition_point(|verb| verb.start < end);
        let before = self.labels.verbs[..next].last().filter(|verb| verb.kind == Kind::Enter);
        let after = self.labels.verbs.get(next).filter(|verb| verb.kind == Kind::Entered);
        before.and_then(|verb| self.lower.get(verb.end..start)).is_some_and(touches)
            || after.is_some_and(|verb| touches(&self.lower[end..verb.start]))
    }

    /// Whether the reader is asked to enter something.
    fn asks_for_input(&self, range: Range<usize>) -> bool {
        let first = self.labels.verbs.partition_point(|verb| verb.start < range.start);
        self.labels.verbs.get(first).is_some_and(|verb| verb.start < range.end)
    }

    /// Whether a label doesn't belong to another number.
    fn is_own(&self, place: usize, number: &Number) -> bool {
        self.owners[place].is_none_or(|owner| self.numbers[owner].range == number.range)
    }

    fn has_code_in(&self, range: Range<usize>) -> bool {
        self.labels_in(range).any(|(_, label)| label.kind.is_code())
    }

    /// The labels that start in a range, with their positions.
    fn labels_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &Label)> {
        let first = self.labels.names.partition_point(|label| label.start < range.start);
        self.labels.names[first..]
            .iter()
            .take_while(move |label| label.start < range.end)
            .enumerate()
            .map(move |(place, label)| (first + place, label))
    }

    /// The sentence around a position, up to a limit.
    fn sentence(&self, start: usize, end: usize) -> Range<usize> {
        let next = self.sentences.partition_point(|sentence| *sentence <= start);
        let after = self.sentences[next..].iter().find(|sentence| **sentence >= end);
        let near = self.surroundings(start, end);
        near.start.max(self.sentences[next - 1])..near.end.min(after.copied().unwrap_or(usize::MAX))
    }

    /// A position with its surroundings.
    fn surroundings(&self, start: usize, end: usize) -> Range<usize> {
        let from = self.lower.floor_char_boundary(start.saturating_sub(MAX_CONTEXT));
        from..self.lower.ceil_char_boundary((end + MAX_CONTEXT).min(self.lower.len()))
    }

    fn is_prominent(&self, at: usize) -> bool {
        let place = self.prominent.partition_point(|range| range.end <= at);
        self.prominent.get(place).is_some_and(|range| range.start <= at)
    }

    /// Whether a number is alone on its line or in its cell, except for punctuation.
    fn is_alone(&self, number: &Number) -> bool {
        let decoration = |char: char| !char.is_alphanumeric() && !is_cell_end(char);
        let before = self.lower[..number.range.start].trim_end_matches(decoration);
        let after = self.lower[number.range.end..].trim_start_matches(decoration);
        before.chars().next_back().is_none_or(is_cell_end) && after.chars().next().is_none_or(is_cell_end)
    }
}

/// Whether the text between a label and a number is short enough that they belong together.
fn is_direct(gap: &str) -> bool {
    gap.chars().count() <= NEAR_DISTANCE && !gap.contains([',', ';'])
}

/// Whether a label names the number after this text, as in "code: 1234" or "code for Acme is 1234", but not "code base has 1234".
fn is_name_before(gap: &str) -> bool {
    let gap = gap.trim_end_matches(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '“' | '„' | '«' | '*' | '(' | '[' | '「' | '【' | '\'')
    });
    let Some(word) = gap.split_whitespace().next_back() else { return true };
    word.ends_with([':', '：', '=', '-', '–', '—', '→', '>', '⇒', '|', '·'])
        || gap.chars().count() <= 8
        || COPULAS.contains(word)
        || PARTICLES.iter().any(|particle| word.ends_with(particle))
}

/// Whether a label names the number before this text, as in "1234 is your code" or "1234 — code for Acme".
fn is_name_label(gap: &str, is_first: bool) -> bool {
    let gap = gap.trim_start_matches(|char: char| {
        char.is_whitespace() || matches!(char, '"' | '”' | '“' | '»' | '*' | ')' | ']' | '」' | '】' | '\'')
    });
    let Some(word) = gap.split_whitespace().next() else { return true };
    is_first && word.starts_with(['-', '–', '—', '←', '=', ':', '：'])
        || COPULAS.contains(word)
        || PARTICLES.iter().any(|particle| word.starts_with(particle))
}

/// Finds the number of each label: the first one after it, if no other label is between.
fn assign_labels(lower: &str, labels: &[Label], numbers: &[Number]) -> Vec<Option<usize>> {
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
        let ends_before = between.len() <= NEAR_DISTANCE
            && between.contains("\n\n")
            && !between.trim_end().ends_with([':', '：']);
        if between.len() > NEAR_DISTANCE || ends_before {
            // All others are farther away.
            open.clear();
        } else {
            owners[label] = Some(place);
        }
    }
    owners
}
