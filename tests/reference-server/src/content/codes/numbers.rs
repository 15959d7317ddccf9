//! Numbers that could be codes, by their form.

use std::ops::{Range, RangeInclusive};

use super::words::{BEFORE_YEARS, CURRENCIES, MONTHS, UNITS};

/// The length of a code.
const LENGTH: RangeInclusive<usize> = 4..=10;
/// The lengths of numbers that are usually codes.
const USUAL_LENGTHS: RangeInclusive<usize> = 4..=8;
/// The length of the groups of a code without digits.
const LETTERS: RangeInclusive<usize> = 3..=5;

/// A number, or a word of letters and digits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) range: Range<usize>,
    /// Without separators; `None` if its form shows that it isn't a code. It still uses up the label before it.
    pub(super) code: Option<String>,
    /// The score of its form.
    pub(super) bonus: i32,
    /// Whether it needs a label to be a code: years, round numbers, unusual lengths, and everything with letters.
    pub(super) needs_label: bool,
    pub(super) is_year: bool,
}

/// Finds all numbers of at least 4 digits, words of letters and digits, and letter groups that aren't words.
pub(super) fn find(text: &str, lower: &str) -> Vec<Number> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_in_code) {
        let start = at + start;
        let run = Run::read(text, start);
        at = run.end;
        if let Some(number) = parse_number(text, lower, start, &run) {
            numbers.push(number);
        }
    }
    numbers
}

/// Groups of letters and digits with single separators between them, such as `123 456`.
struct Run {
    end: usize,
    groups: Vec<Range<usize>>,
}

impl Run {
    /// Reads a run. A word of letters ends it, unless a hyphen or single characters mark it as part of a code.
    fn read(text: &str, start: usize) -> Self {
        let first = start..word_end(text, start);
        let mut groups = Vec::from([first]);
        loop {
            let end = groups.last().map_or(start, |group| group.end);
            let Some(next) = next_word_start(text, end) else { return Self { end, groups } };
            let word = word_end(text, next);
            let glue = &text[end..next];
            let digits = |range: Range<usize>| text[range].chars().all(|char| to_ascii_digit(char).is_some());
            let last = groups.last().cloned().unwrap_or(start..start);
            let (one, other) = (&text[last.clone()], &text[next..word]);
            let numbers = || digits(next..word) && digits(last.clone());
            // Spaces separate words; hyphens may also separate parts of a code; single characters always belong together.
            let joins = if is_single(one) && is_single(other) {
                true
            } else if is_hyphen(glue) {
                has_digit(one) || has_digit(other) || (is_letters(one) && is_letters(other))
            } else if is_space(glue) {
                numbers()
            } else {
                // Across cells and lines, only single characters or the halves of a code belong together.
                glue == "\t" && one.len() == 3 && other.len() == 3 && numbers()
            };
            if !joins {
                return Self { end, groups };
            }
            groups.push(next..word);
        }
    }
}

/// The start of the next word, if only one separator is between.
fn next_word_start(text: &str, end: usize) -> Option<usize> {
    let rest = &text[end..];
    let mut next = rest.trim_start_matches(['\n', '\t']);
    if next.len() == rest.len() {
        let char = next
            .chars()
            .next()
            .filter(|char| is_space(char.encode_utf8(&mut [0; 4])) || HYPHENS.contains(char))?;
        next = &next[char.len_utf8()..];
    }
    let is_word = next.starts_with(is_in_code);
    (is_word && rest.len() - next.len() <= 4).then(|| text.len() - next.len())
}

const HYPHENS: [char; 5] = ['-', '–', '‑', '‐', '－'];

fn is_hyphen(glue: &str) -> bool {
    glue.starts_with(HYPHENS)
}

fn is_space(glue: &str) -> bool {
    glue.starts_with(|char: char| char.is_whitespace() && !matches!(char, '\n' | '\t'))
}

/// A digit or a capital, as in codes with separated characters.
fn is_single(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|char| char.is_ascii_uppercase() || to_ascii_digit(char).is_some())
        && chars.next().is_none()
}

/// A group of a code without digits.
fn is_letters(word: &str) -> bool {
    LETTERS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn word_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let length = rest.find(|char| !is_in_code(char));
    start + length.unwrap_or(rest.len())
}

fn is_in_code(char: char) -> bool {
    char.is_ascii_alphanumeric() || to_ascii_digit(char).is_some()
}

/// The zeros of the decimal digits used in mails: full-width, Arabic, Persian, Devanagari, Bengali, Thai.
const ZEROS: [char; 6] = ['０', '٠', '۰', '०', '০', '๐'];

/// A decimal digit as an ASCII digit.
fn to_ascii_digit(char: char) -> Option<char> {
    if char.is_ascii() {
        return char.is_ascii_digit().then_some(char);
    }
    let value = |zero: &char| u32::from(char).checked_sub(u32::from(*zero)).filter(|value| *value < 10);
    ZEROS.iter().find_map(value).and_then(|value| char::from_digit(value, 10))
}

fn has_digit(text: &str) -> bool {
    text.chars().any(|char| to_ascii_digit(char).is_some())
}

fn parse_number(text: &str, lower: &str, start: usize, run: &Run) -> Option<Number> {
    let mut groups: Vec<&str> = run.groups.iter().map(|group| &text[group.clone()]).collect();
    if !groups.iter().any(|group| has_digit(group)) && !is_code_of_letters(&groups) {
        return None;
    }
    let mut bonus = 0;
    // A prefix that identifies the sender: `G-123456`.
    if let [prefix, code] = groups[..]
        && prefix.len() <= 2
        && prefix.bytes().all(|byte| byte.is_ascii_uppercase())
        && code.chars().count() >= 5
        && code.chars().all(|char| to_ascii_digit(char).is_some())
    {
        groups = vec![code];
        bonus -= 1;
    }
    let code: String = groups
        .iter()
        .flat_map(|group| group.chars())
        .map(|char| to_ascii_digit(char).unwrap_or(char))
        .collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.chars().count()).collect();
    let has_letters = code.bytes().any(|byte| byte.is_ascii_alphabetic());
    let fits = if has_letters {
        bonus += letter_bonus(&code)?;
        // Not "6-digit".
        let is_word = |group: &&str| group.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_long = |length: &usize| *length > *LETTERS.end();
        groups.len() == 1 || code.len() >= 6 && !lengths.iter().any(is_long) && !groups.iter().any(is_word)
    } else {
        if code.len() < *LENGTH.start() {
            return None;
        }
        bonus += match code.len() {
            6 => 1,
            7.. => -1,
            _ => 0,
        };
        lengths.iter().eq(lengths.iter().rev())
    };
    let is_year = !has_letters && lengths == [4] && (code.starts_with("19") || code.starts_with("20"));
    // Counts and amounts are round, codes are not.
    let is_round = code.ends_with("000");
    let is_uniform = lengths.iter().all(|length| *length == lengths[0]);
    let is_usual = USUAL_LENGTHS.contains(&code.len()) && lengths != [7] && is_uniform;
    let is_code = LENGTH.contains(&code.len()) && fits && !is_something_else(text, lower, start..run.end);
    Some(Number {
        range: start..run.end,
        code: is_code.then_some(code),
        bonus,
        needs_label: has_letters || is_year || is_round || !is_usual,
        is_year,
    })
}

/// Whether groups without digits aren't words: `WDJB-MJHT`, `QXKWTR`.
fn is_code_of_letters(groups: &[&str]) -> bool {
    match groups {
        [word] => {
            (5..=*LENGTH.end()).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_uppercase() && !b"AEIOUY".contains(&byte))
        }
        [first, last] => first.len() == last.len() && is_letters(first) && is_letters(last),
        _ => false,
    }
}

/// The score of the form of a code with letters; `None` if it isn't a code.
fn letter_bonus(code: &str) -> Option<i32> {
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let has_lower = code.bytes().any(|byte| byte.is_ascii_lowercase());
    let has_upper = code.bytes().any(|byte| byte.is_ascii_uppercase());
    // The 1940s, and a name with a number, such as `iPhone7`.
    let is_decade = digits == 4 && code.len() == 5 && code.ends_with('s');
    if is_decade || (has_lower && has_upper && digits < 2) {
        return None;
    }
    Some(-i32::from(has_lower) - if is_slogan(code) { 2 } else { 0 })
}

/// Whether it is a word followed by a number, like most discount codes: `SPRING25`.
fn is_slogan(code: &str) -> bool {
    let word = code.trim_end_matches(|char: char| char.is_ascii_digit());
    word.len() >= 3
        && word.bytes().all(|byte| byte.is_ascii_alphabetic())
        && word.bytes().any(|byte| b"aeiouyAEIOUY".contains(&byte))
}

/// Whether the characters around a number show that it is something else: a price, date, time, phone number, part of an address or a URL.
fn is_something_else(text: &str, lower: &str, range: Range<usize>) -> bool {
    let before = &text[..range.start];
    let after = &text[range.end..];
    let previous = before.chars().next_back();
    let next = after.chars().next();
    let touches = |char: Option<char>, other: Option<char>| match char {
        Some(
            '+' | '#' | '/' | '\\' | '@' | '$' | '€' | '£' | '¥' | '₹' | '₽' | '₩' | '%' | '=' | '&' | '_'
            | '°' | '№' | '©' | '•' | '×' | '±' | '~' | '^',
        ) => true,
        // Decimals, times, and versions; otherwise the end of a sentence, or a label.
        Some('.' | ',' | ':' | '\'' | '’' | '-' | '–') => other.is_some_and(char::is_alphanumeric),
        _ => false,
    };
    let second_before = before.chars().rev().nth(1);
    let second_after = after.chars().nth(1);
    let colon_label = previous == Some(':') && second_before.is_some_and(|char| !char.is_ascii_digit());
    if (touches(previous, second_before) && !colon_label) || touches(next, second_after) {
        return true;
    }
    // The word between white space: URLs and addresses. Only its nearest characters are read.
    let start = before.char_indices().rev().take(80).take_while(|(_, char)| char.is_ascii_graphic()).last();
    let word = &text[start.map_or(range.start, |(at, _)| at)..range.start];
    if word.contains("://")
        || word.contains('@')
        || word.starts_with("www.")
        || word.contains(['=', '?', '/'])
    {
        return true;
    }
    if after.chars().take(80).take_while(char::is_ascii_graphic).any(|char| matches!(char, '@' | '=' | '/')) {
        return true;
    }
    let trimmed = before.trim_end_matches([' ', '\u{a0}']);
    if trimmed.ends_with(['$', '€', '£', '¥', '₹', '₽', '₩', '#', '№', '©', '°']) || is_masked(before, after)
    {
        return true;
    }
    let word = last_word(lower[..trimmed.len()].trim_end_matches(['.', ',']));
    let is_short = text[range.clone()].len() == 4;
    let dates = || BEFORE_YEARS.contains(word) || MONTHS.iter().any(|month| word.starts_with(month));
    if CURRENCIES.contains(word) || (is_short && dates()) {
        return true;
    }
    let following = lower[range.end..].trim_start_matches([' ', '\u{a0}', '\t']);
    if following.starts_with(['€', '$', '£', '¥', '₽', '₹', '%', '円', '元', '年', '원', '号']) {
        return true;
    }
    let unit = &following[..following.find(|char: char| !char.is_alphabetic()).unwrap_or(following.len())];
    UNITS.contains(unit) || CURRENCIES.contains(unit)
}

/// Whether a number is the visible end of a card or account number, like `•••• 4821`. (`**4821**` is emphasis.)
fn is_masked(before: &str, after: &str) -> bool {
    ['*', '•', '·', 'x', 'X', '…'].iter().any(|mask| {
        let hidden = before.trim_end_matches([' ', '\u{a0}']);
        let masks = hidden.chars().rev().take(4).take_while(|char| char == mask).count();
        masks >= 2 && !after.starts_with(*mask) || masks == 1 && *mask == '…'
    })
}

/// The last word of a text, if it is short.
fn last_word(text: &str) -> &str {
    let start = text.char_indices().rev().take(16).take_while(|(_, char)| char.is_alphabetic()).last();
    &text[start.map_or(text.len(), |(at, _)| at)..]
}
