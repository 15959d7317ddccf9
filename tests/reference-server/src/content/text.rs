//! Derives the text body from an HTML body.

/// The usual width of an email's lines, in characters.
const WIDTH: usize = 78;
/// The maximum nesting depth of a body. The rendering time grows with the square of the depth; this depth takes a tenth of a second.
const DEEPEST: usize = 5_000;

/// Renders HTML as text: headings, lists and tables laid out, links as footnotes.
pub fn derive(html: &str) -> String {
    if depth(html) > DEEPEST {
        return without_tags(html);
    }
    html2text::config::plain()
        .allow_width_overflow()
        .string_from_read(html.as_bytes(), WIDTH)
        // Only I/O could fail, and the input is in memory.
        .unwrap_or_default()
}

/// The maximum nesting depth, if every open tag were closed by the next closing one.
fn depth(html: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for pair in html.as_bytes().windows(2).filter(|pair| pair[0] == b'<') {
        open = if pair[1] == b'/' {
            open.saturating_sub(1)
        } else {
            open + usize::from(pair[1].is_ascii_alphabetic())
        };
        deepest = deepest.max(open);
    }
    deepest
}

fn without_tags(html: &str) -> String {
    let pieces = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeply_nested_html_is_stripped_instead_of_laid_out() {
        let deep = format!("{}deep &amp; down{}", "<div class=x>".repeat(100_000), "</p>".repeat(10));
        assert_eq!(derive(&deep), "deep &amp; down");
        let flat = "<p>one</p><br>".repeat(100);
        assert!(derive(&flat).lines().count() >= 100);
    }
}
