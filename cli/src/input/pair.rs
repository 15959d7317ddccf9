//! `name=value` pairs, split at the first `=`.

use std::collections::HashSet;
use std::ops::Range;

/// A pair, with the positions of its halves in the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair<'a> {
    /// The part before the separator.
    pub(crate) name: &'a str,
    /// The part after it.
    pub(crate) value: &'a str,
    /// The bytes of the value.
    pub(crate) value_at: Range<usize>,
}

impl<'a> Pair<'a> {
    /// Splits at the first `separator`; `None` if there is none.
    pub(crate) fn read(text: &'a str, separator: char) -> Option<Self> {
        let (name, value) = text.split_once(separator)?;
        Some(Self { name, value, value_at: text.len() - value.len()..text.len() })
    }

    /// The bytes of the name.
    pub(crate) fn name_range(&self) -> Range<usize> {
        0..self.name.len()
    }
}

/// The names in the values of a repeated flag.
#[derive(Debug, Default)]
pub(crate) struct GivenNames(HashSet<String>);

impl GivenNames {
    /// Adds a name. The case of a header's name, which precedes a colon, doesn't matter.
    ///
    /// # Errors
    /// The message if the name was given before.
    pub(crate) fn add(&mut self, name: &str, separator: char) -> Result<(), String> {
        let key = if separator == ':' { name.to_ascii_lowercase() } else { name.to_owned() };
        if self.0.insert(key) { Ok(()) } else { Err(format!("`{name}` is repeated")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_separator_counts_and_the_value_may_be_empty() {
        let pair = Pair::read("a=b=c", '=').unwrap();
        assert_eq!((pair.name, pair.value, pair.name_range(), pair.value_at), ("a", "b=c", 0..1, 2..5));
        let pair = Pair::read("é=", '=').unwrap();
        assert_eq!((pair.name, pair.value, pair.value_at), ("é", "", 3..3));
        assert_eq!(Pair::read("a", '='), None);
    }
}
