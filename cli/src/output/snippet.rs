//! Shows problems in their source line with a caret.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::terminal::{Terminal, escape_line, is_hostile, shorten};
use crate::diagnostics::{Diagnostic, Origin};

/// Maximum length of the underline: an object is underlined only in part.
const MAX_UNDERLINE: usize = 160;
/// For longer lines, the renderer shows only a part.
const MAX_WIDTH: usize = 140;

/// Renders the title and all problems, with their source if they have one. A problem that is the title isn't repeated.
pub(crate) fn render(
    level: Level<'static>,
    title: &str,
    found: &[Diagnostic],
    terminal: &Terminal,
) -> String {
    let mut sources: Vec<Source> = Vec::new();
    let mut lines = Vec::new();
    for found in found {
        let is_title = title.starts_with(&*label(found));
        match found.origin.as_ref().and_then(Source::from_origin) {
            None if title.starts_with(&render_line(found)) => {}
            None => lines.push(render_line(found)),
            Some((source, _)) if is_title && is_named(found, &source) && source.text.is_empty() => {}
            Some((source, span)) => {
                let index = sources.iter().position(|other| other.is_at(&source));
                let index = index.unwrap_or_else(|| {
                    sources.push(source);
                    sources.len() - 1
                });
                sources[index].marks.push((span, if is_title { String::new() } else { label(found) }));
            }
        }
    }
    let group = Group::with_title(level.primary_title(title));
    let group = sources.iter().fold(group, |group, source| group.element(source.snippet()));
    let renderer = if terminal.color_stderr { Renderer::styled() } else { Renderer::plain() };
    let width = if terminal.stderr { terminal.width } else { MAX_WIDTH };
    let mut text = renderer.term_width(width.max(20)).render(&[group]);
    for line in lines {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    text
}

/// The only problem of a report as its headline.
pub(crate) fn headline(found: &Diagnostic) -> String {
    match found.origin {
        None | Some(Origin::Env { .. }) => render_line(found),
        Some(_) => label(found),
    }
}

fn label(found: &Diagnostic) -> String {
    let problem = &found.problem;
    let text = if problem.path.is_empty() {
        shorten(&problem.message).into_owned()
    } else {
        format!("{}: {}", shorten(&problem.path), shorten(&problem.message))
    };
    escape_line(&text).into_owned()
}

/// Renders a problem without source: in the environment, or with a default value.
pub(crate) fn render_line(found: &Diagnostic) -> String {
    let text = match &found.origin {
        Some(Origin::Env { name }) => format!("{name}: {}", label(found)),
        _ => label(found),
    };
    match &found.problem.found {
        Some(what) => format!("{text} (found `{}`)", escape_line(&shorten(what))),
        None => text,
    }
}

/// Whether the message names the flag, so that an empty value is omitted.
fn is_named(found: &Diagnostic, source: &Source) -> bool {
    found.problem.code == "usage" || found.problem.message.contains(&source.name)
}

struct Source {
    name: String,
    text: String,
    first_line: usize,
    marks: Vec<(Range<usize>, String)>,
}

impl Source {
    /// The source of an origin, safe for a terminal, and the position in it.
    fn from_origin(origin: &Origin) -> Option<(Self, Range<usize>)> {
        let (name, text, span): (_, &str, _) = match origin {
            Origin::Env { .. } => return None,
            Origin::Flag { name, n, value, span } => {
                let name = if *n > 1 { format!("{name} ({})", ordinal(*n)) } else { name.clone() };
                (name, value, span.clone().unwrap_or(0..value.len()))
            }
            Origin::File { path, text, span } | Origin::Config { path, text, span } => {
                (path.display().to_string(), text, span.clone())
            }
            Origin::Stdin { text, span } => ("standard input".to_owned(), text, span.clone()),
        };
        let start = text.floor_char_boundary(span.start);
        let first = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &text[start..];
        let line = rest.find('\n').map_or(rest, |newline| rest[..newline].trim_end_matches('\r'));
        let last = start + line.len();
        let end = text.floor_char_boundary(span.end.min(last).min(start + MAX_UNDERLINE)).max(start);
        let (shown, span) = escape_with_span(&text[first..last], start - first..end - first);
        let first_line = text[..first].matches('\n').count() + 1;
        Some((
            Self { name: escape_line(&name).into_owned(), text: shown, first_line, marks: Vec::new() },
            span,
        ))
    }

    /// Whether both are the same line of the same source.
    fn is_at(&self, other: &Self) -> bool {
        (&self.name, self.first_line, &self.text) == (&other.name, other.first_line, &other.text)
    }

    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        let marks = self.marks.iter().map(|(span, label)| {
            let mark = AnnotationKind::Primary.span(span.clone());
            if label.is_empty() { mark } else { mark.label(label.as_str()) }
        });
        // Cuts text far after the last annotation: it isn't shown, but the renderer would process it.
        let last = self.marks.iter().map(|(span, _)| span.end).max().unwrap_or_default();
        let end = self.text.floor_char_boundary((last + 2 * MAX_WIDTH).min(self.text.len()));
        Snippet::source(&self.text[..end])
            .line_start(self.first_line)
            .path(self.name.as_str())
            .annotations(marks)
    }
}

fn ordinal(n: usize) -> String {
    let suffix = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

/// Escapes the control characters of a line, and moves the span accordingly.
fn escape_with_span(line: &str, span: Range<usize>) -> (String, Range<usize>) {
    let mut text = String::with_capacity(line.len());
    let (mut start, mut end) = (None, None);
    for (at, c) in line.char_indices() {
        if at >= span.start {
            start.get_or_insert(text.len());
        }
        if at >= span.end {
            end.get_or_insert(text.len());
        }
        if c == '\t' {
            text.push(' ');
        } else if is_hostile(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    let start = start.unwrap_or(text.len());
    let end = end.unwrap_or(text.len()).max(start);
    (text, start..end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostics::Problem;
    use crate::diagnostics::line_and_column;
    use crate::settings::{ColorChoice, env::Env};

    fn plain() -> Terminal {
        Terminal::detect(&Env::from_pairs(&[("IDEMPOST_FORCE_TTY", "100")]), ColorChoice::Never)
    }

    fn flag(name: &str, n: usize, value: &str, span: Range<usize>, path: &str, message: &str) -> Diagnostic {
        Diagnostic {
            problem: Problem::new(path, "x", message),
            origin: Some(Origin::Flag { name: name.into(), n, value: value.into(), span: Some(span) }),
            hint: None,
        }
    }

    #[test]
    fn problems_with_several_flags_form_one_report() {
        let found = [
            flag("--to", 2, "bob@@example.com", 4..5, "/to/1", "an address must have exactly one `@`"),
            flag("--tag", 1, "week 47=x", 4..5, "/tags/0/name", "only A-Z a-z 0-9 _ - are allowed"),
        ];
        assert_eq!(
            render(Level::ERROR, "2 problems; nothing was sent", &found, &plain()),
            "error: 2 problems; nothing was sent\n \
             --> --to (2nd):1:5\n  \
               |\n\
             1 | bob@@example.com\n  \
               |     ^ /to/1: an address must have exactly one `@`\n  \
               |\n \
             ::: --tag:1:5\n  \
               |\n\
             1 | week 47=x\n  \
               |     ^ /tags/0/name: only A-Z a-z 0-9 _ - are allowed"
        );
    }

    #[test]
    fn a_position_in_a_file_has_its_line_number() {
        let text: Arc<str> = "{\n  \"from\": \"Acme\",\n  \"x\": 1\n}".into();
        let span = 12..18;
        let origin = Origin::File { path: "mail.json".into(), text, span };
        let found = [Diagnostic {
            problem: Problem::new("/from", "address", "no `@`"),
            origin: Some(origin),
            hint: None,
        }];
        let shown = render(Level::ERROR, "1 problem", &found, &plain());
        assert!(shown.contains("--> mail.json:2:11"), "{shown}");
        assert!(shown.contains("2 |   \"from\": \"Acme\","), "{shown}");
    }

    #[test]
    fn control_characters_in_sources_and_rules_are_escaped() {
        // G-01
        let value = "a\u{1b}[2J\u{9b}\u{202e}b\tc\r";
        let found =
            [flag("--to", 1, value, value.len() - 1..value.len(), "/to", "bad \u{1b}]0;x\u{7}\n\u{9b}")];
        let shown = render(Level::ERROR, "title", &found, &plain());
        assert!(!shown.chars().any(|c| is_hostile(c) && c != '\n'), "{shown:?}");
        assert!(shown.contains("a\\u{1b}[2J"), "{shown}");
    }

    #[test]
    fn empty_values_and_positions_at_the_end_have_a_caret() {
        let found = [
            flag("--jq", 1, ".data[.subject", 14..14, "", "expected closing bracket"),
            flag("--to", 1, "", 0..0, "/to/0", "empty"),
        ];
        let shown = render(Level::ERROR, "not valid", &found, &plain());
        assert!(shown.contains("^ expected closing bracket") && shown.contains("^ /to/0: empty"), "{shown}");
    }

    #[test]
    fn a_problem_without_a_source_is_one_line() {
        let problem = Problem::new("", "setting", "timeout must be above zero").with_value("0");
        let origin = Some(Origin::Env { name: "IDEMPOST_TIMEOUT".into() });
        let found = [Diagnostic { problem, origin, hint: None }];
        let rule = "IDEMPOST_TIMEOUT: timeout must be above zero (found `0`)";
        assert_eq!(
            render(Level::ERROR, "2 problems", &found, &plain()),
            format!("error: 2 problems\n  {rule}")
        );
        assert_eq!(render(Level::ERROR, &headline(&found[0]), &found, &plain()), format!("error: {rule}"));
    }

    #[test]
    fn the_only_problem_is_the_headline_and_its_place_has_a_caret() {
        let found = [flag("KEY", 1, "foo", 0..3, "", "unknown setting `foo`")];
        assert_eq!(
            render(Level::ERROR, &headline(&found[0]), &found, &plain()),
            "error: unknown setting `foo`\n --> KEY:1:1\n  |\n1 | foo\n  | ^^^"
        );
    }

    #[test]
    fn positions_are_counted_in_lines_and_characters() {
        assert_eq!((line_and_column("aé\nböc", 0), line_and_column("aé\nböc", 7)), ((1, 1), (2, 3)));
    }
}
