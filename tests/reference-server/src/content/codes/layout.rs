//! The layout of a text: sentences, and the columns of its tables.

use std::collections::HashMap;
use std::ops::Range;

use super::labels::Label;
use super::numbers::Number;

/// Whether a character ends a cell or a line.
pub(super) fn is_cell_end(char: char) -> bool {
    matches!(char, '\n' | '\t')
}

/// Maps the start of each number in a table column to whether the column's header names a code. A header is a row of cells without numbers, followed
/// by rows with as many cells.
pub(super) fn columns(lower: &str, labels: &[Label], numbers: &[Number]) -> HashMap<usize, bool> {
    let mut found = HashMap::new();
    let (mut header, mut start): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    let mut next = 0;
    for line in lower.split('\n') {
        let mut cells = Vec::new();
        for cell in line.split('\t') {
            cells.push(start..start + cell.len());
            start += cell.len() + 1;
        }
        if cells.len() > 1 && !line.contains(char::is_numeric) && header.is_empty() {
            header = cells;
            continue;
        }
        if cells.len() != header.len() {
            header.clear();
            continue;
        }
        for (cell, heading) in cells.iter().zip(&header) {
            while numbers.get(next).is_some_and(|number| number.range.start < cell.start) {
                next += 1;
            }
            let Some(number) = numbers.get(next).filter(|number| number.range.end <= cell.end) else {
                continue;
            };
            let first = labels.partition_point(|label| label.start < heading.start);
            if let Some(label) = labels.get(first).filter(|label| label.end <= heading.end) {
                found.insert(number.range.start, label.kind.is_code());
            }
        }
    }
    found
}

/// The beginnings of the sentences. Every block starts a sentence. An abbreviation ("Dr.") doesn't end one, and neither does a period before a number
/// or a lower-case letter ("No. 5").
pub(super) fn sentences(text: &str) -> Vec<usize> {
    let mut found = vec![0];
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let continues = |next: char| next.is_ascii_digit() || next.is_lowercase();
        let ends = match char {
            '。' | '！' | '？' | '।' => true,
            '\n' => next == Some('\n'),
            '.' | '!' | '?' => {
                next.is_some_and(char::is_whitespace)
                    && !text[at + 1..].trim_start().starts_with(continues)
                    && !is_abbreviation(&text[..at])
            }
            _ => false,
        };
        if ends {
            found.push(at + char.len_utf8());
        }
    }
    found
}

/// Whether a text ends with a short capitalized word: "Dr", "St", "J".
fn is_abbreviation(text: &str) -> bool {
    let letters: Vec<_> = text.chars().rev().take_while(|char| char.is_alphanumeric()).take(4).collect();
    matches!(letters[..], [first] | [_, first] | [_, _, first] if first.is_uppercase())
        && letters[..letters.len() - 1].iter().all(|char| char.is_lowercase())
}
