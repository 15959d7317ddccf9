//! Numbers that could be codes, by their form.

use std::ops::Range;

/// The length of a code.
const LENGTH: std::ops::RangeInclusive<usize> = 4..=8;

/// A number, or a word of letters and digits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) range: Range<usize>,
    /// Without separators; `None` if its form shows that it isn't a code. It then still takes the label before it.
    pub(super) code: Option<String>,
    /// What its form says for or against it.
    pub(super) bonus: i32,
    /// Whether only a label directly before it makes it a code: years, and words with a digit.
    pub(super) needs_label: bool,
    /// Whether it has letters.
    pub(super) is_word: bool,
}

/// Finds all numbers of at least 4 digits, and all words of letters and digits.
pub(super) fn find(text: &str, lower: &str) -> Vec<Number> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|char: char| char.is_ascii_alphanumeric() || is_wide_digit(char))
    {
        let start = at + start;
        let run = Run::at(text, start);
        at = run.end;
        if let Some(number) = number(text, lower, start, &run) {
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
    /// Reads a run: words of letters alone end it, and belong to it only if they are all of it.
    fn at(text: &str, start: usize) -> Self {
        let first = start..word_end(text, start);
        let mut groups = Vec::from([first]);
        loop {
            let end = groups.last().map_or(start, |group| group.end);
            let Some(next) = separator(text, end) else { return Self { end, groups } };
            let word = word_end(text, next);
            let glue = &text[end..next];
            let digits = |range: Range<usize>| text[range].chars().all(|char| digit(char).is_some());
            let last = groups.last().cloned().unwrap_or(start..start);
            // Spaces separate words, hyphens also parts of codes.
            let joins = if matches!(glue, "-" | "–" | "‑" | "‐") {
                has_digit(&text[next..word]) || has_digit(&text[last.clone()])
            } else if glue == " " || glue == "\u{a0}" || glue == "\u{202f}" {
                digits(next..word) && digits(last.clone())
            } else {
                // Cells and lines only separate single digits, or halves of a code.
                let alike =
                    word - next == last.len() && (word - next == 1 || (word - next == 3 && glue == "\t"));
                alike && digits(next..word) && digits(last.clone())
            };
            if !joins {
                return Self { end, groups };
            }
            groups.push(next..word);
        }
    }
}

/// The start of the next word, if only one separator is between.
fn separator(text: &str, end: usize) -> Option<usize> {
    let rest = &text[end..];
    let mut next = rest.trim_start_matches(['\n', '\t']);
    if next.len() == rest.len() {
        let char = next
            .chars()
            .next()
            .filter(|char| matches!(char, ' ' | '\u{a0}' | '\u{202f}' | '-' | '–' | '‑' | '‐'))?;
        next = &next[char.len_utf8()..];
    }
    let is_word = next.starts_with(|char: char| char.is_ascii_alphanumeric() || is_wide_digit(char));
    (is_word && rest.len() - next.len() <= 4).then(|| text.len() - next.len())
}

fn word_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let length = rest.find(|char: char| !char.is_ascii_alphanumeric() && !is_wide_digit(char));
    start + length.unwrap_or(rest.len())
}

fn is_wide_digit(char: char) -> bool {
    matches!(char, '０'..='９' | '٠'..='٩' | '۰'..='۹')
}

/// The value of an ASCII, full-width or Arabic digit, as a character.
fn digit(char: char) -> Option<char> {
    let zero = match char {
        '0'..='9' => return Some(char),
        '０'..='９' => '０',
        '٠'..='٩' => '٠',
        '۰'..='۹' => '۰',
        _ => return None,
    };
    char::from_digit(u32::from(char) - u32::from(zero), 10)
}

fn has_digit(text: &str) -> bool {
    text.chars().any(|char| digit(char).is_some())
}

fn number(text: &str, lower: &str, start: usize, run: &Run) -> Option<Number> {
    let mut groups = &run.groups[..];
    // Only numbers are of interest.
    if !has_digit(&text[start..run.end]) {
        return None;
    }
    let length = |group: &Range<usize>| text[group.clone()].chars().count();
    let digits_only = |group: &Range<usize>| text[group.clone()].chars().all(|char| digit(char).is_some());
    let mut bonus = 0;
    // A prefix that shows who sent it: `G-123456`.
    if let [first, second] = groups
        && length(first) <= 2
        && text[first.clone()].bytes().all(|byte| byte.is_ascii_uppercase())
        && digits_only(second)
        && length(second) >= 5
    {
        groups = std::slice::from_ref(second);
        bonus -= 1;
    }
    let code: String = groups
        .iter()
        .flat_map(|group| text[group.clone()].chars())
        .map(|char| digit(char).unwrap_or(char))
        .collect();
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits == code.len();
    if is_number && code.len() < *LENGTH.start() {
        return None;
    }
    let uniform = groups.iter().all(|group| length(group) == length(&groups[0])) && length(&groups[0]) != 7;
    let fits = LENGTH.contains(&code.len()) && uniform && (groups.len() == 1 || is_number || code.len() >= 6);
    let needs_label;
    if is_number {
        bonus += match code.len() {
            6 => 1,
            7 | 8 => -1,
            _ => 0,
        };
        let year = groups.len() == 1 && code.len() == 4 && (code.starts_with("19") || code.starts_with("20"));
        needs_label = year;
    } else {
        let upper = !code.bytes().any(|byte| byte.is_ascii_lowercase());
        bonus -= i32::from(!upper);
        needs_label = true;
        // The 1940s.
        if digits == 4 && code.len() == 5 && code.ends_with('s') {
            return None;
        }
        if is_slogan(&code) {
            bonus -= 2;
        }
        if !upper && code.bytes().any(|byte| byte.is_ascii_uppercase()) && digits < 2 {
            return None;
        }
    }
    let is_code = fits && !is_something_else(text, lower, start..run.end);
    Some(Number {
        range: start..run.end,
        code: is_code.then_some(code),
        bonus,
        needs_label,
        is_word: !is_number,
    })
}

/// Whether it is a word with a number after it, like most discount codes: `SPRING25`.
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
    let dates = || BEFORE_YEARS.contains(&word) || MONTHS.iter().any(|month| word.starts_with(month));
    if CURRENCIES.contains(&word) || (is_short && dates()) {
        return true;
    }
    let following = lower[range.end..].trim_start_matches([' ', '\u{a0}', '\t']);
    if following.starts_with(['€', '$', '£', '¥', '₽', '₹', '%', '円', '元', '年', '원', '号']) {
        return true;
    }
    let unit = &following[..following.find(|char: char| !char.is_alphabetic()).unwrap_or(following.len())];
    UNITS.contains(&unit) || CURRENCIES.contains(&unit)
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

const CURRENCIES: &[&str] = &[
    "usd", "eur", "gbp", "chf", "jpy", "cny", "rmb", "inr", "rub", "pln", "sek", "nok", "dkk", "czk", "huf",
    "try", "brl", "cad", "aud", "krw", "kr", "zł",
];

/// Words before years.
const BEFORE_YEARS: &[&str] = &[
    "in", "of", "since", "until", "im", "seit", "bis", "en", "depuis", "desde", "dal", "class", "year",
    "sinds", "sedan",
];

/// The beginnings of the names of months, in the languages with Latin letters and in Russian.
const MONTHS: &[&str] = &[
    "jan", "ene", "gen", "feb", "fév", "mar", "mär", "maa", "apr", "avr", "abr", "may", "mai", "mag", "maj",
    "jun", "juin", "giu", "jul", "juil", "lug", "aug", "aoû", "ago", "sep", "oct", "okt", "ott", "out",
    "nov", "dec", "dez", "déc", "dic", "янв", "фев", "мар", "апр", "ма", "июн", "июл", "авг", "сен", "окт",
    "ноя", "дек",
];

const UNITS: &[&str] = &[
    "minutes",
    "minute",
    "min",
    "mins",
    "hours",
    "hour",
    "hrs",
    "seconds",
    "seconde",
    "secondes",
    "sec",
    "days",
    "day",
    "users",
    "people",
    "points",
    "items",
    "km",
    "kg",
    "mb",
    "gb",
    "kb",
    "px",
    "mph",
    "kwh",
    "am",
    "pm",
    "minuten",
    "stunden",
    "tage",
    "heures",
    "jours",
    "minutos",
    "horas",
    "minuti",
    "ore",
    "minuter",
    "minutter",
    "минут",
    "часов",
    "followers",
    "views",
    "members",
    "miles",
];
