//! `NAME=VALUE` pairs of a repeated flag.

use crate::diagnostics::Origin;

/// A pair, split at the first separator.
#[derive(Debug, Clone)]
pub(crate) struct Pair<'a> {
    flag: &'static str,
    /// The position of the flag's value, from 1.
    n: usize,
    text: &'a str,
    /// The part before the separator.
    pub(crate) name: &'a str,
    /// The part after it.
    pub(crate) value: &'a str,
}

impl<'a> Pair<'a> {
    /// Splits the `n`th value of a flag; `None` if there is no separator, or nothing before it.
    pub(super) fn read(flag: &'static str, n: usize, text: &'a str, separator: char) -> Option<Self> {
        let (name, value) = text.split_once(separator).filter(|(name, _)| !name.is_empty())?;
        Some(Self { flag, n, text, name, value })
    }

    /// The whole pair.
    pub(crate) fn origin(&self) -> Origin {
        Origin::nth_flag(self.flag, self.n, self.text)
    }

    pub(crate) fn name_origin(&self) -> Origin {
        Origin::flag_part(self.flag, self.n, self.text, 0..self.name.len())
    }

    pub(crate) fn value_origin(&self) -> Origin {
        let range = self.text.len() - self.value.len()..self.text.len();
        Origin::flag_part(self.flag, self.n, self.text, range)
    }

    /// Whether another pair sets the same name. The case of a header's name doesn't matter.
    pub(super) fn repeats(&self, name: &str) -> bool {
        let is_header = self.text[self.name.len()..].starts_with(':');
        self.name == name || is_header && self.name.eq_ignore_ascii_case(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Option<(&str, &str, Option<&str>)> {
        let pair = Pair::read("--tag", 1, text, '=')?;
        let Origin::Flag { span: Some(span), .. } = pair.value_origin() else { panic!("{pair:?}") };
        Some((pair.name, pair.value, text.get(span)))
    }

    #[test]
    fn the_first_separator_counts_and_the_value_may_be_empty() {
        assert_eq!(split("a=b=c"), Some(("a", "b=c", Some("b=c"))));
        assert_eq!(split("é="), Some(("é", "", Some(""))));
        assert_eq!(split("a"), None);
        assert_eq!(split("=a"), None);
    }
}
