//! Collects findings: one per rule or feature, with the number of positions and the first few of them.

use std::collections::HashMap;

use serde::Serialize;

use super::rules::{Rule, Severity};
use idempost_reference_server::wire::described;

/// The maximum number of positions in a finding.
const MAX_PLACES: usize = 10;
/// The length of an excerpt, in characters.
const MAX_EXCERPT: usize = 120;

described! {
    /// A finding of the check.
    #[derive(Clone, Debug)]
    pub struct Finding {
        /// The stable code of its rule.
        pub code: &'static str,
        /// The severity.
        pub severity: Severity,
        /// The problem, as a sentence.
        pub message: String,
        /// The number of positions.
        pub count: usize,
        /// The first positions.
        pub places: Vec<Place>,
        /// The name of the feature, as in the report's `features`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub feature: Option<&'static str>,
    }

    /// A position of a finding.
    #[derive(Clone, Debug)]
    pub struct Place {
        /// The part of the message.
        pub part: Part,
        /// The line in the HTML or text, from 1.
        pub line: Option<usize>,
        /// The column in characters, from 1.
        pub column: Option<usize>,
        /// The beginning of the source at this position.
        pub excerpt: String,
    }

    /// A part of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Part {
        /// The HTML body.
        Html,
        /// The text body.
        Text,
        /// The subject.
        Subject,
        /// Another header.
        Header,
        /// An attached file.
        Attachment,
    }
}

/// A position, as an offset into a part.
#[derive(Clone)]
pub(super) struct Spot {
    part: Part,
    offset: Option<usize>,
    excerpt: String,
}

impl Spot {
    pub(super) fn new(part: Part, offset: usize, excerpt: &str) -> Self {
        Self { part, offset: Some(offset), excerpt: shorten(excerpt) }
    }

    pub(super) fn in_part(part: Part, excerpt: &str) -> Self {
        Self { part, offset: None, excerpt: shorten(excerpt) }
    }

    /// Returns the same position with another excerpt.
    pub(super) fn with_excerpt(self, excerpt: &str) -> Self {
        Self { excerpt: shorten(excerpt), ..self }
    }
}

/// Returns a text as one line of limited length, with white space collapsed.
pub(super) fn shorten(text: &str) -> String {
    let mut excerpt = String::new();
    let mut length = 0;
    let mut space = false;
    // Limited, so that a long run of white space isn't read to its end each time.
    for char in text.chars().take(4 * MAX_EXCERPT) {
        if char.is_whitespace() {
            space = !excerpt.is_empty();
            continue;
        }
        if length >= MAX_EXCERPT {
            excerpt.push('…');
            break;
        }
        if std::mem::take(&mut space) {
            excerpt.push(' ');
            length += 1;
        }
        excerpt.push(char);
        length += 1;
    }
    excerpt
}

/// The findings so far.
#[derive(Clone, Default)]
pub(super) struct Findings {
    found: Vec<(Finding, Vec<Spot>)>,
    by_rule: HashMap<&'static str, usize>,
}

impl Findings {
    /// Adds a position to a rule's finding.
    pub(super) fn add(&mut self, rule: &Rule, spot: impl FnOnce() -> Spot) {
        let index = self.index(rule);
        let (finding, spots) = &mut self.found[index];
        finding.count += 1;
        if spots.len() < MAX_PLACES {
            spots.push(spot());
        }
    }

    /// Adds a finding about the whole message.
    pub(super) fn add_without_place(&mut self, rule: &Rule) {
        self.add_with_message(rule, rule.sentence.to_owned());
    }

    /// Adds a finding about the whole message, with a custom sentence.
    pub(super) fn add_with_message(&mut self, rule: &Rule, message: String) {
        let index = self.index(rule);
        let (finding, _) = &mut self.found[index];
        finding.count += 1;
        finding.message = message;
    }

    /// Adds a finding about a feature.
    pub(super) fn feature(
        &mut self,
        rule: &Rule,
        name: &'static str,
        message: String,
        count: usize,
        spots: Vec<Spot>,
    ) {
        let finding = Finding { count, message, feature: Some(name), ..new_finding(rule) };
        self.found.push((finding, spots));
    }

    fn index(&mut self, rule: &Rule) -> usize {
        *self.by_rule.entry(rule.code).or_insert_with(|| {
            self.found.push((new_finding(rule), Vec::new()));
            self.found.len() - 1
        })
    }

    /// Sorts the findings by severity, and determines the line numbers of their positions.
    pub(super) fn finish(self, html: &str, text: &str) -> Vec<Finding> {
        let offsets = |part| {
            let spots = self.found.iter().flat_map(|(_, spots)| spots);
            spots.filter(move |spot| spot.part == part).filter_map(|spot| spot.offset).collect::<Vec<_>>()
        };
        let (in_html, in_text) =
            (line_positions(html, offsets(Part::Html)), line_positions(text, offsets(Part::Text)));
        let mut findings: Vec<_> = self
            .found
            .into_iter()
            .map(|(finding, spots)| {
                let places = spots.into_iter().map(|Spot { part, offset, excerpt }| {
                    let lines = if part == Part::Html { &in_html } else { &in_text };
                    let at = offset.and_then(|offset| lines.get(&offset)).copied();
                    Place { part, line: at.map(|at| at.0), column: at.map(|at| at.1), excerpt }
                });
                Finding { places: places.collect(), ..finding }
            })
            .collect();
        // The sort is stable, which preserves the order of rules.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings
    }
}

fn new_finding(rule: &Rule) -> Finding {
    let (code, severity, message) = (rule.code, rule.severity, rule.sentence.to_owned());
    Finding { code, severity, message, count: 0, places: Vec::new(), feature: None }
}

/// Returns the lines and columns of these offsets, in one pass over the text.
fn line_positions(text: &str, mut offsets: Vec<usize>) -> HashMap<usize, (usize, usize)> {
    offsets.sort_unstable();
    offsets.dedup();
    let mut lines = HashMap::new();
    let (mut line, mut column, mut at) = (1, 1, 0);
    for offset in offsets {
        let end = (offset.min(text.len())..=text.len())
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(text.len());
        let between = text.get(at..end).unwrap_or_default();
        if let Some(start) = between.rfind('\n') {
            line += between.bytes().filter(|byte| *byte == b'\n').count();
            column = 1 + between[start + 1..].chars().count();
        } else {
            column += between.chars().count();
        }
        at = end.max(at);
        lines.insert(offset, (line, column));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let found = line_positions("é<b>\n𝄞x\n\ny", vec![2, 0, 10, 12, 99]);
        assert_eq!(found[&0], (1, 1));
        assert_eq!(found[&2], (1, 2));
        assert_eq!(found[&10], (2, 2));
        assert_eq!(found[&12], (3, 1));
        assert_eq!(found[&99], (4, 2));
    }

    #[test]
    fn excerpts_are_one_short_line() {
        assert_eq!(shorten("  <a\n\thref=x>  "), "<a href=x>");
        assert_eq!(shorten(&"é".repeat(500)).chars().count(), MAX_EXCERPT + 1);
        assert_eq!(shorten(&" ".repeat(1 << 20)), "");
    }
}
