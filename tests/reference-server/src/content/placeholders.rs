//! Placeholders in bodies and subjects: `{{{KEY}}}` and `{{{contact.property|fallback}}}` (`docs/specification.md`, Template).
//!
//! Three braces insert a value without escaping. The specification doesn't define malformed placeholders: braces around an invalid name, or
//! unclosed braces, stay unchanged.

use std::borrow::Cow;

const OPEN: &str = "{{{";
const CLOSE: &str = "}}}";

/// A placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placeholder<'a> {
    /// ASCII letters, digits, underscores and dots: `NAME`, `contact.first_name`.
    pub name: &'a str,
    /// The text after a `|`, without surrounding white space.
    pub fallback: Option<&'a str>,
}

impl<'a> Placeholder<'a> {
    fn read(inner: &'a str) -> Option<Self> {
        let (name, fallback) = match inner.split_once('|') {
            Some((name, fallback)) => (name, Some(fallback.trim())),
            None => (inner, None),
        };
        let name = name.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        (!name.is_empty() && name.bytes().all(fits)).then_some(Self { name, fallback })
    }
}

/// Lists the placeholders of a text, in order.
pub fn find_placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    Pieces { rest: text }.filter_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Placeholder(placeholder, _) => Some(placeholder),
    })
}

/// Replaces the placeholders of a text with values; those without a value stay unchanged. `None` if the result exceeds `max` bytes: a short
/// text can repeat a long value.
pub fn fill_within<'v>(
    text: &str,
    most: usize,
    mut value: impl FnMut(Placeholder<'_>) -> Option<Cow<'v, str>>,
) -> Option<String> {
    let mut filled = String::with_capacity(text.len().min(most));
    for piece in (Pieces { rest: text }) {
        let part = match piece {
            Piece::Text(text) => Cow::Borrowed(text),
            Piece::Placeholder(placeholder, written) => value(placeholder).unwrap_or(Cow::Borrowed(written)),
        };
        if part.len() > most - filled.len() {
            return None;
        }
        filled.push_str(&part);
    }
    Some(filled)
}

/// Predicts the size of a filled text without creating it.
pub struct Outline<'a> {
    /// The bytes between the placeholders.
    literal: usize,
    /// The placeholders, each with its length in the source text.
    placeholders: Vec<(Placeholder<'a>, usize)>,
}

impl<'a> Outline<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut outline = Self { literal: 0, placeholders: Vec::new() };
        for piece in (Pieces { rest: text }) {
            match piece {
                Piece::Text(text) => outline.literal += text.len(),
                Piece::Placeholder(placeholder, written) => {
                    outline.placeholders.push((placeholder, written.len()));
                }
            }
        }
        outline
    }

    /// The size of the result of [`fill_within`] with these values, in bytes.
    pub fn filled_size<'v>(&self, value: impl Fn(Placeholder<'_>) -> Option<Cow<'v, str>>) -> usize {
        let parts = self.placeholders.iter();
        let values =
            parts.map(|(placeholder, written)| value(*placeholder).map_or(*written, |value| value.len()));
        values.fold(self.literal, usize::saturating_add)
    }
}

/// A filled text as a header line. A line break in a value would start another header, so control characters become spaces. The
/// specification doesn't define this.
pub fn to_header_line(filled: &str) -> String {
    filled.replace(char::is_control, " ")
}

enum Piece<'a> {
    Text(&'a str),
    /// A placeholder, and its source text.
    Placeholder(Placeholder<'a>, &'a str),
}

struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(first) = self.rest[from..].find(OPEN).map(|at| from + at) {
            let Some(close) = self.rest[first..].find(CLOSE).map(|at| first + at) else { break };
            // The last opening braces count: `{{{{NAME}}}` is a brace and a placeholder.
            let open = self.rest[first..close].rfind(OPEN).map_or(first, |at| first + at);
            let Some(placeholder) = Placeholder::read(&self.rest[open + OPEN.len()..close]) else {
                from = close;
                continue;
            };
            if open > 0 {
                let (text, rest) = self.rest.split_at(open);
                self.rest = rest;
                return Some(Piece::Text(text));
            }
            let (written, rest) = self.rest.split_at(close + CLOSE.len());
            self.rest = rest;
            return Some(Piece::Placeholder(placeholder, written));
        }
        Some(Piece::Text(std::mem::take(&mut self.rest)))
    }
}

/// The maximum size of a filled subject or body, in bytes. The specification doesn't define it; it equals the limit of attachments.
pub const MAX_TEXT_BYTES: usize = 40 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill<'v>(text: &str, value: impl FnMut(Placeholder<'_>) -> Option<Cow<'v, str>>) -> String {
        fill_within(text, usize::MAX, value).unwrap()
    }

    fn filled(text: &str) -> String {
        fill(text, |placeholder| match (placeholder.name, placeholder.fallback) {
            ("NAME", _) => Some("Ada".into()),
            ("BRACES", _) => Some("{{{NAME}}}".into()),
            ("contact.city", fallback) => Some(fallback.unwrap_or_default().to_owned().into()),
            _ => None,
        })
    }

    #[test]
    fn placeholders_are_replaced_and_fallbacks_are_passed_on() {
        assert_eq!(filled("Hello {{{NAME}}}, {{{ NAME }}}!"), "Hello Ada, Ada!");
        assert_eq!(filled("from {{{contact.city|your town}}}"), "from your town");
        assert_eq!(filled("from {{{contact.city}}}."), "from .");
        assert_eq!(filled("{{{contact.city|a|b}}}"), "a|b");
    }

    #[test]
    fn malformed_placeholders_stay_unchanged() {
        // TPL-15
        for text in [
            "",
            "{",
            "{{{",
            "}}}",
            "{{{}}}",
            "{{{ }}}",
            "{{{NAME",
            "{{NAME}}",
            "{{{NA ME}}}",
            "{{{NA-ME}}}",
            "{{{é}}}",
            "{{{OTHER}}}",
            "a { b } c",
            "{{{|x}}}",
        ] {
            assert_eq!(filled(text), text);
        }
        assert_eq!(filled("{{{{NAME}}}}"), "{Ada}");
        assert_eq!(filled("{{{x y}}} {{{NAME}}} {{{"), "{{{x y}}} Ada {{{");
        assert_eq!(filled("{{{x {{{NAME}}} y}}}"), "{{{x Ada y}}}");
    }

    #[test]
    fn placeholders_in_values_are_not_expanded() {
        assert_eq!(filled("{{{BRACES}}}"), "{{{NAME}}}");
    }

    #[test]
    fn parsing_is_linear_for_hostile_text() {
        // Each brace might open a placeholder, but none does: the search for the end must not be repeated.
        for text in [
            "{".repeat(300_000),
            "{".repeat(300_000) + " }}}",
            "{{{ }}}".repeat(50_000),
            "{{{ x".repeat(50_000) + "}}}",
        ] {
            assert_eq!(filled(&text), text);
        }
    }
    #[test]
    fn filling_stops_at_the_size_limit() {
        let value = |_: Placeholder<'_>| Some("v".repeat(1_000).into());
        let text = "{{{A}}}".repeat(100);
        assert_eq!(fill_within(&text, 100_000, value).map(|filled| filled.len()), Some(100_000));
        assert_eq!(fill_within(&text, 99_999, value), None);
        assert_eq!(fill_within("four", 3, value), None);
        assert_eq!(fill_within("", 0, value).as_deref(), Some(""));
    }

    /// Texts built from placeholder syntax, covering nearly every malformed variant.
    fn hostile() -> impl Strategy<Value = String> {
        let token = prop::sample::select(vec![
            "{",
            "{{",
            "{{{",
            "{{{{",
            "}",
            "}}",
            "}}}",
            "}}}}",
            "NAME",
            "contact.city",
            "|",
            " ",
            "\n",
            ".",
            "é",
            "𝄞",
            "-",
            "x_1",
        ]);
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn text_without_values_stays_unchanged(text in hostile()) {
            prop_assert_eq!(fill(&text, |_| None), text);
        }

        #[test]
        fn listed_placeholders_are_exactly_the_filled_ones(text in hostile()) {
            let mut filled = Vec::new();
            let shorter = fill(&text, |placeholder| {
                filled.push((placeholder.name.to_owned(), placeholder.fallback.map(str::to_owned)));
                Some("".into())
            });
            let found: Vec<_> = find_placeholders(&text)
                .map(|found| (found.name.to_owned(), found.fallback.map(str::to_owned)))
                .collect();
            prop_assert!(shorter.len() + 7 * found.len() <= text.len());
            for (name, _) in &found {
                prop_assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)));
            }
            prop_assert_eq!(filled, found);
        }

        #[test]
        fn outline_predicts_the_size_of_the_filled_text(text in hostile(), value in prop::option::of("[{}a|é]{0,9}")) {
            let of = |one: Placeholder<'_>| value.clone().filter(|_| one.name != "NAME").map(Cow::Owned);
            prop_assert_eq!(Outline::new(&text).filled_size(of), fill(&text, of).len());
        }

        #[test]
        fn placeholders_between_arbitrary_text_are_replaced(
            pieces in prop::collection::vec(("[^{}]{0,8}", "[A-Za-z0-9_]{1,8}", prop::option::of("[^{}|]{0,8}")), 0..8),
            value in "[{}a|\n]{0,12}",
        ) {
            let (mut text, mut expected) = (String::new(), String::new());
            for (before, name, fallback) in &pieces {
                let fallback = fallback.as_ref().map(|fallback| format!("|{fallback}")).unwrap_or_default();
                text += &[before.as_str(), OPEN, name, &fallback, CLOSE].concat();
                expected += &[before.as_str(), &value].concat();
            }
            prop_assert_eq!(find_placeholders(&text).count(), pieces.len());
            prop_assert_eq!(fill(&text, |_| Some(value.as_str().into())), expected);
        }
    }
}
