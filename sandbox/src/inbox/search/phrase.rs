//! Words and phrases, and matching them against texts.

use memchr::memmem::Finder;

/// A word, or several separated by any white space. Case is ignored.
#[derive(Debug)]
pub(super) struct Phrase {
    first: String,
    others: Vec<String>,
}

impl Phrase {
    /// Creates a phrase; `None` if the text contains no word.
    pub(super) fn new(text: &str) -> Option<Self> {
        let mut folded = String::new();
        append_folded(text, &mut folded);
        let mut words = folded.split_whitespace().map(str::to_owned);
        Some(Self { first: words.next()?, others: words.collect() })
    }

    pub(super) fn needle(&self) -> Needle<'_> {
        Needle { first: Finder::new(&self.first), others: &self.others }
    }
}

/// A phrase prepared for searching many texts.
pub(super) struct Needle<'a> {
    first: Finder<'a>,
    others: &'a [String],
}

impl Needle<'_> {
    /// Returns whether a folded text contains the phrase, even as parts of words.
    pub(super) fn is_in(&self, mut text: &str) -> bool {
        while let Some(at) = self.first.find(text.as_bytes()) {
            let (word, rest) = split_word(&text[at..]);
            // Others follow the end of a word: `"00 EUR"` is in `1000 EUR`.
            let ends = || word.as_bytes().ends_with(self.first.needle());
            if self.others.is_empty() || ends() && self.matches_rest(rest) {
                return true;
            }
            text = rest;
        }
        false
    }

    fn matches_rest(&self, mut rest: &str) -> bool {
        self.others.iter().all(|word| {
            let next = rest.trim_start();
            let after = next.strip_prefix(word.as_str()).filter(|_| next.len() < rest.len());
            rest = after.unwrap_or_default();
            after.is_some()
        })
    }
}

/// Splits a text at its first white space.
fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// Appends a text in lower case, for any script. The two lower-case sigmas, whose use depends on the position in a word, are unified.
pub(super) fn append_folded(text: &str, folded: &mut String) {
    let mut rest = text;
    loop {
        let ascii = ascii_length(rest.as_bytes());
        let start = folded.len();
        folded.push_str(&rest[..ascii]);
        folded[start..].make_ascii_lowercase();
        rest = &rest[ascii..];
        let mut chars = rest.chars();
        let Some(char) = chars.next() else { return };
        folded.extend(char.to_lowercase().map(|lower| if lower == 'ς' { 'σ' } else { lower }));
        rest = chars.as_str();
    }
}

/// Returns the number of leading ASCII bytes.
fn ascii_length(bytes: &[u8]) -> usize {
    let chunks = bytes.chunks_exact(32).take_while(|chunk| chunk.is_ascii()).count() * 32;
    let rest = bytes[chunks..].iter().take_while(|byte| byte.is_ascii()).count();
    chunks + rest
}
