//! The text body that is derived from an HTML body.

/// As wide as a mail's lines usually are, in characters.
const WIDTH: usize = 78;

/// The HTML as text: headings, lists and tables laid out, links as footnotes.
pub(crate) fn derive(html: &str) -> String {
    html2text::config::plain()
        .allow_width_overflow()
        .string_from_read(html.as_bytes(), WIDTH)
        // The only failure left is one of reading, and there is nothing to read from but memory.
        .unwrap_or_default()
}
