//! The text body that is derived from an HTML body.

/// As wide as a mail's lines usually are, in characters.
const WIDTH: usize = 78;
/// How deep a body may nest. The time to lay out nested elements grows with the square
/// of their depth; this many take a tenth of a second.
const DEEPEST: usize = 5_000;

/// The HTML as text: headings, lists and tables laid out, links as footnotes.
pub(crate) fn derive(html: &str) -> String {
    if depth(html) > DEEPEST {
        return without_tags(html);
    }
    html2text::config::plain()
        .allow_width_overflow()
        .string_from_read(html.as_bytes(), WIDTH)
        // The only failure left is one of reading, and there is nothing to read from but memory.
        .unwrap_or_default()
}

/// How deep its elements nest at most, were every open tag closed by the next closing one.
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
    fn very_deep_html_is_stripped_instead_of_laid_out() {
        let deep = format!("{}deep &amp; down{}", "<div class=x>".repeat(100_000), "</p>".repeat(10));
        assert_eq!(derive(&deep), "deep &amp; down");
        let flat = "<p>one</p><br>".repeat(100);
        assert!(derive(&flat).lines().count() >= 100);
    }
}
