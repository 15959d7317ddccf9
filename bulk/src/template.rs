//! Templates with placeholders: `{{{NAME}}}` and `{{{NAME|fallback}}}`.

use idempost::problem::Problem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const OPEN: &str = "{{{";
const CLOSE: &str = "}}}";
/// The characters to percent-encode in URLs: all except the unreserved ones (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A compiled template.
///
/// A name consists of ASCII letters, digits and `_`; whitespace inside the braces is ignored. A fallback is part of the template: it is inserted as
/// written; only values are escaped. All other text is literal, including `{{NAME}}` and single braces.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
    /// The length of the text outside placeholders, in bytes.
    text_len: usize,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Variable { name: String, fallback: Option<String> },
}

/// How values are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// `&`, `<`, `>`, `"` and `'` become character references.
    Html,
    /// All characters except letters, digits, `-`, `.`, `_` and `~` are percent-encoded.
    Url,
    /// Values are inserted unchanged.
    Plain,
}

impl Template {
    /// Compiles a template. `path` is the JSON pointer of its field, used in problems.
    ///
    /// # Errors
    /// Every placeholder that is never closed or has an invalid name, with its line and column (in characters, from 1).
    pub(crate) fn compile(path: &str, source: &str) -> Result<Self, Vec<Problem>> {
        let (mut parts, mut problems) = (Vec::new(), Vec::new());
        let mut text = String::new();
        let mut at = 0;
        while let Some(open) = source[at..].find(OPEN).map(|found| at + found) {
            text.push_str(&source[at..open]);
            let inner = open + OPEN.len();
            let close = source[inner..].find(CLOSE).map(|found| inner + found);
            let nested = source[inner..].find(OPEN).map(|found| inner + found);
            let Some(close) = close.filter(|close| nested.is_none_or(|nested| nested > *close)) else {
                let message = "this `{{{` is never closed by `}}}`";
                problems.push(problem(path, source, open, message, &source[open..]));
                at = nested.unwrap_or(source.len());
                continue;
            };
            at = close + CLOSE.len();
            let (name, fallback) = match source[inner..close].split_once('|') {
                Some((name, fallback)) => (name.trim(), Some(fallback.trim().to_owned())),
                None => (source[inner..close].trim(), None),
            };
            if !is_name(name) {
                let message = "a placeholder must be `{{{NAME}}}` or `{{{NAME|fallback}}}`, with a name of A-Z a-z 0-9 _";
                problems.push(problem(path, source, open, message, &source[open..at]));
                continue;
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Variable { name: name.to_owned(), fallback });
        }
        text.push_str(&source[at..]);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let len = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
        let text_len = parts.iter().map(len).sum();
        if problems.is_empty() { Ok(Self { parts, text_len }) } else { Err(problems) }
    }

    /// Returns the variables in the order of their placeholders, and whether each placeholder needs a value because it has no fallback.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable { name, fallback } => Some((name.as_str(), fallback.is_none())),
            Part::Text(_) => None,
        })
    }

    /// Renders the template. A missing or empty value is replaced with the fallback; without a fallback, `missing` is called with the variable's
    /// name.
    pub(crate) fn render<'t, 'v>(
        &'t self,
        escape: Escape,
        value: impl Fn(&str) -> Option<&'v str>,
        mut missing: impl FnMut(&'t str),
    ) -> String {
        // Leaves room for a few values, so that most emails need one allocation.
        let mut out = String::with_capacity(self.text_len + 32 * self.parts.len());
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Variable { name, fallback } => match value(name).filter(|value| !value.is_empty()) {
                    Some(value) => push(&mut out, value, escape),
                    None => match fallback {
                        Some(fallback) => out.push_str(fallback),
                        None => missing(name),
                    },
                },
            }
        }
        out
    }
}

/// Returns whether a text is a valid variable name.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn push(out: &mut String, value: &str, escape: Escape) {
    match escape {
        Escape::Html => push_html(out, value),
        Escape::Url => out.extend(utf8_percent_encode(value, RESERVED)),
        Escape::Plain => out.push_str(value),
    }
}

fn push_html(out: &mut String, value: &str) {
    let mut rest = value;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn problem(path: &str, source: &str, at: usize, message: &str, found: &str) -> Problem {
    let before = &source[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Problem::new(path, "placeholder", format!("line {line}, column {column}: {message}")).with_value(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn render(source: &str, escape: Escape, values: &[(&str, &str)]) -> Result<String, Vec<String>> {
        let template = Template::compile("/html", source).unwrap();
        let mut missing = Vec::new();
        let value = |name: &str| values.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let text = template.render(escape, value, |name| missing.push(name.to_owned()));
        if missing.is_empty() { Ok(text) } else { Err(missing) }
    }

    #[test]
    fn values_are_escaped_by_the_place_and_fallbacks_are_as_written() {
        let source = "<p>{{{ NAME }}} &amp; {{{TITLE | <b>you</b> }}} {{NAME}}{{{EMPTY|}}}</p>";
        let values = [("NAME", "Ærø <\"&'> 🐦")];
        let html = render(source, Escape::Html, &values).unwrap();
        assert_eq!(html, "<p>Ærø &lt;&quot;&amp;&#39;&gt; 🐦 &amp; <b>you</b> {{NAME}}</p>");
        let url =
            render("https://a.test/{{{A}}}?{{{B|x=y}}}", Escape::Url, &[("A", "a/b?c=d&é 1-._~>")]).unwrap();
        assert_eq!(url, "https://a.test/a%2Fb%3Fc%3Dd%26%C3%A9%201-._~%3E?x=y");
        let plain = render(source, Escape::Plain, &values).unwrap();
        assert_eq!(plain, "<p>Ærø <\"&'> 🐦 &amp; <b>you</b> {{NAME}}</p>");
    }

    #[test]
    fn a_missing_or_empty_value_without_a_fallback_is_named() {
        let missing = render("{{{A}}}{{{B}}}{{{C|c}}}{{{A}}}", Escape::Plain, &[("B", "")]).unwrap_err();
        assert_eq!(missing, ["A", "B", "A"]);
    }

    #[test]
    fn every_malformed_placeholder_is_reported_with_line_and_column() {
        let source = "é {{{bad name}}}\n{{{}}} {{{OK}}} {{{\n{{{ALSO_OK}}} {{{|x}}} {{{open";
        let problems = Template::compile("/html", source).unwrap_err();
        let places: Vec<_> = problems.iter().map(|p| p.message.split(':').next().unwrap()).collect();
        let expected = [
            "line 1, column 3",
            "line 2, column 1",
            "line 2, column 17",
            "line 3, column 15",
            "line 3, column 24",
        ];
        assert_eq!(places, expected);
        assert!(problems[2].message.contains("never closed") && problems[4].message.contains("never closed"));
        assert_eq!(
            (problems[0].path.as_str(), problems[0].found.as_deref()),
            ("/html", Some("{{{bad name}}}"))
        );
    }

    #[test]
    fn variables_are_listed_with_whether_they_need_a_value() {
        let template = Template::compile("/html", "{{{A}}}{{{B|b}}}{{{A|a}}}").unwrap();
        assert_eq!(template.variables().collect::<Vec<_>>(), [("A", true), ("B", false), ("A", false)]);
    }

    proptest! {
        #[test]
        fn any_text_compiles_or_is_reported_and_text_without_placeholders_is_unchanged(source in "\\PC*|[{}|A \n]*") {
            match Template::compile("/text", &source) {
                Ok(template) if !source.contains(OPEN) => {
                    prop_assert_eq!(template.render(Escape::Html, |_| None, |_| ()), source);
                }
                Ok(_) => {}
                Err(problems) => prop_assert!(!problems.is_empty() && source.contains(OPEN)),
            }
        }

        #[test]
        fn an_escaped_value_has_no_markup_and_decodes_to_itself(value in "\\PC+") {
            let html = render("{{{V}}}", Escape::Html, &[("V", &value)]).unwrap();
            prop_assert!(!html.contains(['<', '>', '"', '\'']));
            let decoded = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(decoded.replace("&amp;", "&"), value);
        }
    }
}
