//! The preview of an email in a list: its first words, and its one-time code.

use serde::ser::SerializeMap;

use crate::content::codes::extract;
use crate::content::visible::Visible;
use crate::wire::described;
use crate::wire::view::View;

/// The number of bytes read from the subject and from each body, since a list contains many emails.
const MAX_READ: usize = 16 << 10;
/// The maximum length of the first words, in characters.
const MAX_LENGTH: usize = 160;

described! {
    /// The first words and the code of an email.
    #[derive(Debug, Default, PartialEq, Eq)]
    pub struct Preview {
        /// On one line; empty if the email has no text.
        pub preview: String,
        /// The likeliest one-time code.
        pub code: Option<String>,
    }
}

impl View for Preview {
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("preview", &self.preview)?;
        map.serialize_entry("code", &self.code)
    }
}

impl Preview {
    /// Reads the first 16 KiB of the subject and of each body. `text` is the given text body; without one, the words are from the HTML.
    pub fn new(subject: &str, html: Option<&str>, text: Option<&str>) -> Self {
        let (html, text) = (html.map(beginning), text.map(beginning));
        let code = extract(beginning(subject), html, text).codes.into_iter().next();
        let words = match (text.filter(|text| !text.trim().is_empty()), html) {
            (Some(text), _) => Visible::from_text(text),
            (None, Some(html)) => Visible::from_html(html),
            (None, None) => Visible::default(),
        };
        Self { preview: one_line(&words.text, MAX_LENGTH, "…"), code }
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_READ)]
}

/// The first characters of a text, with its white space collapsed, and with this ending if it is longer.
pub fn one_line(text: &str, max: usize, ending: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(max) {
            line.truncate(end);
            line.push_str(ending);
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_the_first_words_in_one_line_and_the_code() {
        let text = Preview::new("Sign in", None, Some("Hello\r\n\r\n  Ada,\tyour code is 482913.\n"));
        assert_eq!(text.preview, "Hello Ada, your code is 482913.");
        assert_eq!(text.code.as_deref(), Some("482913"));
        let html =
            Preview::new("", Some("<style>p{}</style><p>One</p><p>Two <b>three</b>&zwnj;</p>"), Some(" \n"));
        assert_eq!(html, Preview { preview: "One Two three".into(), code: None });
        assert_eq!(Preview::new("x", None, None), Preview::default());
    }

    #[test]
    fn a_preview_is_bounded_and_ends_between_characters() {
        let long = Preview::new("", None, Some(&"é".repeat(1 << 20)));
        assert_eq!(long.preview.chars().count(), MAX_LENGTH + 1);
        assert!(long.preview.ends_with("é…"), "{}", long.preview);
        let html = format!("<p>{}</p>", "é ".repeat(MAX_READ));
        assert_eq!(Preview::new("", Some(&html), None).preview.chars().count(), MAX_LENGTH + 1);
    }
}
