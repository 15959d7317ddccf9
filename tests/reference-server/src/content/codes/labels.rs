//! The words that name a number, composed of the words of `words.txt`.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::words::{self, LINKS};

/// The maximum length in bytes of the unlisted rest of a word whose beginning is listed.
const MAX_ENDING: usize = 24;

/// The meaning of words for nearby numbers. If a word has two readings, the earlier variant applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Certainly a one-time code.
    OneTime,
    /// A code that doesn't number anything, such as a PIN.
    Secret,
    /// A code of any kind.
    Code,
    /// The purpose of a one-time code.
    Purpose,
    /// A purpose that booking codes can share.
    Confirmation,
    /// A code for a confirmation, of an address or of a booking.
    ConfirmationCode,
    /// A password, which is a one-time code only with a purpose.
    Password,
    /// An offer, whose code isn't a one-time code.
    Offer,
    /// A subject of the mail other than a one-time code.
    Topic,
    /// Access to a network, or an offer.
    Voucher,
    /// A network that vouchers are for.
    Network,
    /// A booking, which has its own code.
    Booking,
    /// Something else that has a number.
    Other,
    /// A number of any kind.
    Number,
    /// The reader's action with the following code.
    Enter,
    /// The reader's action with the preceding code.
    Entered,
}

const KINDS: [(Kind, &str); 15] = [
    (Kind::OneTime, "one-time code"),
    (Kind::Secret, "secret"),
    (Kind::Code, "code"),
    (Kind::Purpose, "one-time"),
    (Kind::Confirmation, "confirmation"),
    (Kind::Password, "password"),
    (Kind::Offer, "offer"),
    (Kind::Topic, "topic"),
    (Kind::Voucher, "voucher"),
    (Kind::Network, "network"),
    (Kind::Booking, "booking"),
    (Kind::Other, "other"),
    (Kind::Number, "number"),
    (Kind::Enter, "enter"),
    (Kind::Entered, "entered"),
];

impl Kind {
    pub(super) fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::OneTime | Self::Secret)
    }

    /// The kind of two adjacent words: "login" and "code", "zip" and "code", "order" and "number".
    fn combine(self, next: Self) -> Option<Self> {
        use Kind::{
            Code, Confirmation, ConfirmationCode, Number, Offer, OneTime, Other, Password, Purpose, Secret,
            Voucher,
        };
        Some(match (self, next) {
            (Offer, Code | Secret | Number | Other | Voucher) | (Code | Secret | Voucher, Offer) => Offer,
            (Voucher, Code | Secret | Number) | (Code | Secret, Voucher) => Voucher,
            (Other, Code | Number | Other) | (Code | Number, Other) | (Number, Code) => Other,
            (Purpose, Purpose) => Purpose,
            (Confirmation, Code) | (Code, Confirmation) => ConfirmationCode,
            (code, Number) if code.is_code() => code,
            (Purpose | OneTime, Code | Secret | OneTime)
            | (Code | Secret | OneTime, Purpose | OneTime)
            | (Purpose, Password)
            | (Password, Purpose) => OneTime,
            (Code | Secret, Code | Secret) => self.min(next),
            _ => return None,
        })
    }
}

/// A word or phrase with a meaning for nearby numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// The labels of a mail.
pub(super) struct Labels {
    /// The words that name a number: a code, an offer, or something else.
    pub(super) names: Vec<Label>,
    /// The reader's action with the codes before or after.
    pub(super) verbs: Vec<Label>,
    /// Whether the mail is about a one-time code at all.
    pub(super) is_about_codes: bool,
    /// Whether the mail mentions any kind of code, or the purpose of one.
    pub(super) has_code: bool,
}

struct Pattern {
    kind: Kind,
    /// Whether it may be the end of a longer word.
    is_end: bool,
    /// Whether it may be the beginning of one.
    is_beginning: bool,
}

struct Automaton {
    automaton: AhoCorasick,
    patterns: Vec<Pattern>,
}

static ALL: LazyLock<Automaton> = LazyLock::new(|| {
    let words: Vec<_> = KINDS
        .iter()
        .flat_map(|(kind, section)| words::section(section).map(move |word| (word, *kind)))
        .collect();
    let pattern = |&(word, kind): &(&str, Kind)| Pattern {
        kind,
        is_end: word.starts_with('~'),
        is_beginning: word.ends_with('~'),
    };
    // Fails only with too many or too long patterns.
    #[expect(clippy::expect_used, reason = "the patterns are constant")]
    let automaton = AhoCorasick::new(words.iter().map(|(word, _)| word.trim_matches('~')))
        .expect("the words fit an automaton");
    Automaton { automaton, patterns: words.iter().map(pattern).collect() }
});

/// A character in lower case, if that keeps the length in bytes. `İ` becomes the other Turkish i, which does.
pub(super) fn lowercase_char(char: char) -> char {
    if char == 'İ' {
        return 'ı';
    }
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if one.len_utf8() == char.len_utf8() => one,
        _ => char,
    }
}

/// Finds the labels of a text in lower case, and interprets each in the context of the others.
pub(super) fn find(lower: &str) -> Labels {
    let (verbs, mut names): (Vec<_>, Vec<_>) =
        find_phrases(lower).into_iter().partition(|label| matches!(label.kind, Kind::Enter | Kind::Entered));
    let kinds: HashSet<Kind> = names.iter().map(|label| label.kind).collect();
    let voucher = if kinds.contains(&Kind::Network) { Kind::Secret } else { Kind::Offer };
    let confirmation = if kinds.contains(&Kind::Booking) { Kind::Other } else { Kind::OneTime };
    for label in &mut names {
        label.kind = match label.kind {
            Kind::Voucher => voucher,
            Kind::ConfirmationCode => confirmation,
            kind => kind,
        };
    }
    let has = |kind: Kind| names.iter().any(|label| label.kind == kind);
    let has_code = has(Kind::Purpose) || names.iter().any(|label| label.kind.is_code());
    let (has_topic, has_one_time) = (has(Kind::Topic), has(Kind::OneTime));
    // "Code: BLACK50" where nothing is about one-time codes.
    let has_others = has_topic || (!has_one_time && (has(Kind::Offer) || has(Kind::Booking)));
    names.retain(|label| match label.kind {
        Kind::OneTime | Kind::Offer | Kind::Other | Kind::Number => true,
        Kind::Secret => !has_topic,
        Kind::Code => !has_others,
        _ => false,
    });
    Labels { names, verbs, is_about_codes: has_one_time && !has_topic, has_code }
}

/// Finds all words and phrases, in order. Omits nested labels, and combines adjacent ones: a postal code isn't a code.
fn find_phrases(lower: &str) -> Vec<Label> {
    let mut words: Vec<Label> = ALL
        .automaton
        .find_overlapping_iter(lower)
        .filter_map(|hit| {
            let pattern = &ALL.patterns[hit.pattern().as_usize()];
            let found = &lower[hit.range()];
            let before = lower[..hit.start()].chars().next_back();
            let after = lower[hit.end()..].chars().next();
            let whole = (pattern.is_end || !is_same_word(before, found.chars().next()))
                && (pattern.is_beginning || !is_same_word(found.chars().next_back(), after));
            whole.then_some(Label { start: hit.start(), end: hit.end(), kind: pattern.kind })
        })
        .collect();
    words.sort_by_key(|label| (label.start, std::cmp::Reverse(label.end), label.kind));
    let mut found: Vec<Label> = Vec::with_capacity(words.len());
    for word in words {
        let Some(last) = found.last_mut() else {
            found.push(word);
            continue;
        };
        if word.end <= last.end {
            continue;
        }
        last.end = end_of_word(lower, last.end).min(word.start).max(last.end);
        let between = lower.get(last.end..word.start).filter(|gap| is_link(gap));
        if let Some(kind) = between.and_then(|_| last.kind.combine(word.kind)) {
            *last = Label { start: last.start, end: word.end, kind };
            continue;
        }
        found.push(word);
    }
    if let Some(last) = found.last_mut() {
        last.end = end_of_word(lower, last.end);
    }
    found
}

/// Whether two words with this text in between form one phrase, as in "code de vérification".
fn is_link(gap: &str) -> bool {
    if gap.len() > 16 || gap.contains("\n\n") || gap.contains('\t') {
        return false;
    }
    let gap = gap.trim_matches(|char: char| char.is_whitespace() || char == '-');
    gap.is_empty() || LINKS.contains(gap)
}

/// The end of the word that continues at a position.
fn end_of_word(lower: &str, at: usize) -> usize {
    let last = lower[..at].chars().next_back();
    let mut end = at;
    for char in lower[at..].chars() {
        if !is_same_word(last, Some(char)) || !is_in_word(char) || end - at > MAX_ENDING {
            break;
        }
        end += char.len_utf8();
    }
    end
}

/// Whether two adjacent characters belong to one word.
fn is_same_word(left: Option<char>, right: Option<char>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return false };
    is_in_word(left) && is_in_word(right)
}

/// Whether a character belongs to words with spaces between them.
fn is_in_word(char: char) -> bool {
    let without_spaces = matches!(char, '\u{e00}'..='\u{eff}' | '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    (char.is_alphabetic() && !without_spaces) || char == '_'
}
