//! The text of HTML for searches: one pass without layout that copies runs of text, many times faster than deriving the text body.

use mail_parser::decoders::html::add_html_token;
use memchr::{memchr_iter, memchr2, memchr3, memmem};

/// Elements whose content isn't text.
const HIDDEN: [&str; 4] = ["head", "style", "script", "template"];
/// The maximum length of a character reference in bytes; the longest name has 33.
const MAX_REFERENCE: usize = 40;

/// The beginning of the text of HTML, at most `max` bytes: without tags, comments and hidden elements, and with character references decoded. White
/// space separates the same words as in the source; `br` and the end of a paragraph become line breaks.
pub fn to_text(html: &str, max: usize) -> String {
    let mut text = String::with_capacity(html.len().min(max));
    let mut rest = html;
    // HTML with more tags than fit in a text of this size is read only in part.
    for _ in 0..max.saturating_mul(2) {
        let left = &rest[..rest.floor_char_boundary(max - text.len())];
        let Some(at) = memchr3(b'<', b'&', b'\n', left.as_bytes()) else {
            text.push_str(left);
            break;
        };
        text.push_str(&rest[..at]);
        rest = match rest.as_bytes()[at] {
            b'<' => read_tag(&rest[at..], &mut text),
            b'&' => read_reference(&rest[at..], &mut text),
            _ => {
                // Also skips the indentation of the next line.
                end_line(&mut text);
                rest[at..].trim_ascii_start()
            }
        };
        if text.len() >= max {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(max));
    text
}

fn end_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Reads a tag or a comment; returns the rest. Only the start of a tag is examined, so it ends at the first `>`, even in quotes.
fn read_tag<'a>(html: &'a str, text: &mut String) -> &'a str {
    let inside = &html[1..];
    if inside.starts_with("!--") {
        // `<!-->` is also a comment.
        return memmem::find(inside.as_bytes(), b"-->").map_or("", |end| &inside[end + 3..]);
    }
    if !inside.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '!' | '?')) {
        text.push('<');
        return inside;
    }
    let Some(end) = memchr2(b'<', b'>', inside.as_bytes()) else { return "" };
    let (tag, rest) = inside.split_at(end);
    let Some(rest) = rest.strip_prefix('>') else { return rest };
    let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
    let length = tag.bytes().position(|byte| byte.is_ascii_whitespace() || byte == b'/');
    let name = &tag[..length.unwrap_or(tag.len())];
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    if is(&"br") || closes && is(&"p") {
        end_line(text);
    } else if !closes && let Some(name) = HIDDEN.into_iter().find(is) {
        return skip_hidden(rest, name);
    }
    rest
}

/// Skips the content of an element; returns its end tag and the rest. The end tag of `head` is optional.
fn skip_hidden<'a>(html: &'a str, name: &str) -> &'a str {
    let bytes = html.as_bytes();
    let starts = |at: usize, with: &str| {
        bytes.get(at..at + with.len()).is_some_and(|found| found.eq_ignore_ascii_case(with.as_bytes()))
    };
    let ends = |at: &usize| {
        bytes.get(at + 1) == Some(&b'/') && starts(at + 2, name) || name == "head" && starts(at + 1, "body")
    };
    memchr_iter(b'<', bytes).find(ends).map_or("", |at| &html[at..])
}

/// Reads a character reference, or a text that begins like one; returns the rest.
pub fn read_reference<'a>(html: &'a str, text: &mut String) -> &'a str {
    let bytes = &html.as_bytes()[..html.len().min(MAX_REFERENCE)];
    let end = bytes.iter().skip(1).position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'#');
    if let Some(end) = end.map(|end| end + 1).filter(|end| bytes[*end] == b';') {
        add_html_token(text, &bytes[..=end], false);
        return &html[end + 1..];
    }
    text.push('&');
    &html[1..]
}

#[cfg(test)]
mod tests {
    use mail_parser::decoders::html::html_to_text;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[test]
    fn tags_comments_and_hidden_elements_are_no_text() {
        for (html, found) in [
            ("a b  c", "a b  c"),
            ("<p>One</p>\n\n   <p>Two <b>t</b>hree</p>", "One\nTwo three\n"),
            ("<b>Ada</b> Lovelace is<br>here", "Ada Lovelace is\nhere"),
            ("R&amp;D&nbsp;&#65;&#x42;&bogus; &amp &; & x", "R&D\u{a0}AB&bogus; &amp &; & x"),
            ("1 < 2 <3 <é", "1 < 2 <3 <é"),
            ("a<!-- <p> > -- -->b<!-->c<!--->d<!-- x", "abcd"),
            ("<style type='text/css'>p>a{}</style >x<SCRIPT>'<p>'</Script>y<template/>z</template>", "xy"),
            ("<head><style></style><title>t</title></head>x<head><meta charset=utf-8><body>y", "xy"),
            ("x<header>y</header><p-x></p-x>z", "xyz"),
            ("x<b", "x"),
            ("x<style>y", "x"),
        ] {
            assert_eq!(to_text(html, 1_000), found, "{html}");
        }
    }

    #[test]
    fn cost_is_bounded_by_the_size_of_the_text() {
        let html = format!("{}end", "<b>".repeat(5_000));
        assert_eq!((to_text(&html, 10_000).as_str(), to_text(&html, 1_000).as_str()), ("end", ""));
        assert_eq!(to_text(&"é".repeat(1_000), 99).len(), 98);
    }

    fn html() -> impl Strategy<Value = String> {
        let pieces = [
            "x",
            "word",
            "é",
            "日",
            " ",
            "\n  ",
            "\t",
            ">",
            ";",
            "&",
            "#65",
            "amp",
            "&amp;",
            "&lt;",
            "&nbsp;",
            "&#65;",
            "&#x1F600;",
            "&#xD800;",
            "&bogus;",
            "<b>",
            "</b>",
            "<b",
            "<p>",
            "</p>",
            "<br>",
            "<BR/>",
            "</",
            "<td class=\"x y\">",
            "<!doctype html>",
            "<!-- c -->",
            "<!-- <b> > - -->",
            "<style>p > a{x:'&'}</style>",
            "<Script>if (a <b && c> d)</sCRIPT>",
            "<head><title>t</title></head>",
            "<template>x<b></template>",
        ];
        prop::collection::vec(select(pieces.to_vec()), 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn text_is_that_of_the_mail_parser_but_for_white_space(html in html()) {
            let without = |text: &str| text.replace(char::is_whitespace, "");
            prop_assert_eq!(without(&to_text(&html, usize::MAX)), without(&html_to_text(&html)), "{}", html);
        }

        #[test]
        fn limited_text_is_the_beginning_of_the_text(html in html(), max in 64_usize..80) {
            let (all, found) = (to_text(&html, 10_000), to_text(&html, max));
            prop_assert!(all.starts_with(&found) && found.len() <= max, "{}", html);
            prop_assert!(found.len() + 4 > max || found == all, "{}", html);
        }
    }
}
