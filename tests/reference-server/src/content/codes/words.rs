//! The words that identify codes, in many languages: the data of `words.txt`.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A section of the file: its name, and its words with their wildcards.
type Section = (&'static str, Vec<&'static str>);

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let mut sections: Vec<Section> = Vec::new();
    for line in include_str!("words.txt").lines() {
        if let Some((name, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            sections.push((name, Vec::new()));
        } else if let Some((_, words)) = sections.last_mut() {
            // A line of words starts with its languages; an indented line continues it.
            let list =
                if line.starts_with(' ') { line } else { line.split_once(": ").map_or("", |(_, list)| list) };
            words.extend(list.split(',').map(str::trim).filter(|word| !word.is_empty()));
        }
    }
    sections
});

/// The words of a section, unchanged.
pub(super) fn section(name: &str) -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().filter(move |(section, _)| *section == name).flat_map(|(_, words)| words.iter().copied())
}

macro_rules! sets {
    ($($name:ident: $section:literal)*) => {$(
        pub(super) static $name: LazyLock<HashSet<&str>> = LazyLock::new(|| section($section).collect());
    )*};
}

sets! {
    COPULAS: "is"
    PARTICLES: "particle"
    LINKS: "of"
    CURRENCIES: "currency"
    UNITS: "unit"
    BEFORE_YEARS: "year"
    MONTHS: "month"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_in_lower_case_and_every_section_has_some() {
        for (name, words) in &*SECTIONS {
            assert!(!words.is_empty(), "{name}");
            for word in words {
                assert_eq!(*word, word.to_lowercase(), "{name}");
                assert!(!word.trim_matches('~').contains('~'), "{name}: {word}");
            }
        }
    }
}
