//! Examples in help texts, folded at 80 columns, since a wrapped line can't be pasted.

/// The width of the narrowest common terminal, in columns.
const WIDTH: usize = 80;
/// Starts a continued line.
const INDENT: &str = "      ";

/// Folds the examples in a text: at spaces outside quotes, with a backslash.
pub(super) fn fold_examples(text: &str) -> String {
    let mut is_continued = false;
    let lines = text.lines().map(|line| {
        let is_example = line.starts_with("  ") && (line.contains("idempost ") || is_continued);
        is_continued = is_example && line.ends_with('\\');
        if is_example { fold_line(line) } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn fold_line(line: &str) -> String {
    let width = |text: &str| text.chars().count();
    if width(line) <= WIDTH {
        return line.to_owned();
    }
    let indent = line.len() - line.trim_start().len();
    let mut words = split_words(line.trim_start()).into_iter().peekable();
    let mut current = line[..indent].to_owned() + words.next().unwrap_or_default();
    let mut lines = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next_if(|value| is_flag_with_value(word, value)).map(|value| format!(" {value}"));
        let word = word.to_owned() + value.as_deref().unwrap_or_default();
        let end = if words.peek().is_some() { " \\" } else { "" };
        if width(&current) + 1 + width(&word) + end.len() <= WIDTH {
            current.extend([" ", &word]);
        } else {
            lines.push(current + " \\");
            current = format!("{INDENT}{word}");
        }
    }
    lines.push(current);
    lines.join("\n")
}

/// The words of a command line, with their quotes.
fn split_words(line: &str) -> Vec<&str> {
    let (mut words, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => {
                words.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&line[start..]);
    words
}

/// Whether a flag and its value stay on one line.
fn is_flag_with_value(flag: &str, value: &str) -> bool {
    flag.starts_with('-')
        && !value.starts_with(['-', '\\', '|', '<', '>'])
        && flag.len() + value.len() < WIDTH - 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_examples_are_folded_outside_quotes_and_nothing_else_changes() {
        let send = "  idempost emails send --from 'Acme <hi@acme.test>' --to ada@example.com --subject Report \\\n      --wait";
        let short = "Columns: id\n\nExamples:\n  idempost emails list\n\nA long line of prose about idempost that isn't an example, and so stays as it is.";
        let folded = fold_examples(&format!("{short}\n{send}"));
        let expected = "  idempost emails send --from 'Acme <hi@acme.test>' --to ada@example.com \\\n      --subject Report \\\n      --wait";
        assert_eq!(folded, format!("{short}\n{expected}"));
    }
}
