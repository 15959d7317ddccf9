//! The remote images of an email's HTML: finds them, and embeds loaded ones.
//!
//! Supported are `src` and `srcset` of `img`, `source` and `input`, `poster`, `background`, and `url(…)` in style attributes and style elements. Not
//! supported are URLs relative to a `base` element, images in VML and SVG, `image-set` with strings, and CSS that escapes its URLs: these images stay
//! blocked. `@import` and `@font-face` rules don't refer to images.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::check::strip_ignoring_case;
use idempost_reference_server::content::html::{Event, walk};
use idempost_reference_server::content::plain::read_reference;
use idempost_reference_server::state::images::LoadedImages;

/// The maximum length of a URL, in bytes.
const MAX_URL: usize = 8 << 10;
/// The maximum total size of embedded images, in bytes; further ones are omitted. All images of one email fit once.
const MAX_EMBEDDED: usize = 32 << 20;

/// Returns the first `max` distinct remote images in document order, and the total number.
pub(in crate::inbox) fn list(html: &str, max: usize) -> (Vec<Url>, usize) {
    let mut known = HashSet::new();
    let mut urls = Vec::new();
    find_references(html, |_, url| {
        if !known.contains(url.as_str()) {
            known.insert(url.as_str().to_owned());
            if urls.len() < max {
                urls.push(url);
            }
        }
    });
    (urls, known.len())
}

/// Replaces the URLs of loaded images with `data:` URIs.
pub(in crate::inbox) fn embed<'a>(html: &'a str, loaded: &LoadedImages) -> Cow<'a, str> {
    let mut page = String::new();
    let (mut end, mut left) = (0, MAX_EMBEDDED);
    find_references(html, |range, url| {
        let Some(Ok(image)) = loaded.get(&url) else { return };
        let size = "data:;base64,".len() + image.kind.len() + image.bytes.len().div_ceil(3) * 4;
        let Some(rest) = left.checked_sub(size) else { return };
        left = rest;
        page.push_str(&html[end..range.start]);
        page.push_str("data:");
        page.push_str(image.kind);
        page.push_str(";base64,");
        STANDARD.encode_string(&image.bytes, &mut page);
        end = range.end;
    });
    if end == 0 {
        return Cow::Borrowed(html);
    }
    page.push_str(&html[end..]);
    Cow::Owned(page)
}

/// Calls `found` with every reference to a remote image: its range in the source, and its URL.
fn find_references(html: &str, mut found: impl FnMut(Range<usize>, Url)) {
    let mut found = |range: Range<usize>| {
        if let Some(url) = remote_url(&html[range.clone()]) {
            found(range, url);
        }
    };
    walk(html, &mut |event| match event {
        Event::Start(tag) => {
            for attribute in tag.attributes() {
                let value = attribute.place.clone();
                match (tag.name, &*attribute.name) {
                    (_, "style") => find_css_urls(html, value, &mut found),
                    (_, "background") | ("video", "poster") | ("img" | "input", "src") => found(value),
                    ("img" | "source", "srcset") => find_candidates(html, value, &mut found),
                    _ => {}
                }
            }
        }
        Event::Text(text) if text.raw == Some("style") => {
            find_css_urls(html, text.offset..text.offset + text.source.len(), &mut found);
        }
        _ => {}
    });
}

/// Finds the URLs in a `srcset`.
fn find_candidates(html: &str, value: Range<usize>, found: &mut impl FnMut(Range<usize>)) {
    let mut at = value.start;
    loop {
        let rest = &html[at..value.end];
        at += rest.len()
            - rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == ',').len();
        let rest = &html[at..value.end];
        if rest.is_empty() {
            return;
        }
        let length = rest.find(|char: char| char.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = rest[..length].trim_end_matches(',');
        found(at..at + url.len());
        // The descriptor ends at the next comma, unless the URL ended with one.
        let descriptor =
            if url.len() == length { rest[length..].find(',').unwrap_or(rest.len() - length) } else { 0 };
        at += length + descriptor;
    }
}

/// Finds the URLs in `url(…)`.
fn find_css_urls(html: &str, css: Range<usize>, found: &mut impl FnMut(Range<usize>)) {
    /// In a style attribute, quotes may be written as character references.
    const QUOTES: [&str; 8] = ["\"", "'", "&quot;", "&#34;", "&#x22;", "&apos;", "&#39;", "&#x27;"];
    let mut at = css.start;
    let starts = |at: usize, with: &str| {
        html[..css.end].get(at..).is_some_and(|rest| strip_ignoring_case(rest, with).is_some())
    };
    let after =
        |at: usize, end: &str| html[at..css.end].find(end).map_or(css.end, |found| at + found + end.len());
    while let Some(next) = html[at..css.end].find(['u', 'U', '@', '/']) {
        at += next;
        if starts(at, "/*") {
            at = after(at + 2, "*/");
        } else if starts(at, "@import") {
            at = after(at, ";");
        } else if starts(at, "@font-face") {
            at = after(at, "}");
        } else if starts(at, "url(") {
            at += "url(".len();
            let rest = &html[at..css.end];
            at += rest.len() - rest.trim_ascii_start().len();
            let rest = &html[at..css.end];
            let quote = QUOTES.iter().find(|quote| starts(at, quote)).copied().unwrap_or_default();
            let end = if quote.is_empty() {
                rest.find(|char: char| char.is_ascii_whitespace() || char == ')')
            } else {
                rest[quote.len()..].find(quote).map(|end| quote.len() + end)
            };
            let end = at + end.unwrap_or(rest.len());
            found(at + quote.len()..end);
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Returns the URL in an attribute's source, if it is remote. A URL without a scheme uses HTTPS.
fn remote_url(source: &str) -> Option<Url> {
    let source = source.trim_ascii();
    let starts = |with: &str| strip_ignoring_case(source, with).is_some();
    if source.len() > MAX_URL || !["http:", "https:", "//"].into_iter().any(starts) {
        return None;
    }
    let text = decode_references(source);
    let text = if text.starts_with("//") { format!("https:{text}") } else { text };
    let mut url = Url::parse(&text).ok()?;
    url.set_fragment(None);
    Some(url)
}

/// Replaces the character references in a part of an attribute's value.
fn decode_references(value: &str) -> String {
    let (mut text, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = read_reference(&rest[at..], &mut text);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use jiff::Timestamp;

    use super::*;
    use crate::cpu_time::cpu_time;
    use idempost_reference_server::state::images::Image;

    fn urls(html: &str) -> Vec<String> {
        list(html, 100).0.into_iter().map(String::from).collect()
    }

    #[test]
    fn images_are_found_wherever_mails_have_them() {
        for (html, found) in [
            ("<img src=https://a.example/x.png>", &["https://a.example/x.png"][..]),
            ("<IMG ALT='>' SRC=' HTTP://A.example/x?a=1&amp;b=2#c '>", &["http://a.example/x?a=1&b=2"]),
            ("<img src='//a.example/x'><img src=//a.example/x>", &["https://a.example/x"]),
            (
                "<img srcset='https://a.example/1, https://a.example/2 2x,https://a.example/3,4 3x'>",
                &["https://a.example/1", "https://a.example/2", "https://a.example/3,4"],
            ),
            (
                "<picture><source srcset=\"https://a.example/dark 600w\"><img></picture>",
                &["https://a.example/dark"],
            ),
            (
                "<table background=https://a.example/t><td background='https://a.example/d'>",
                &["https://a.example/t", "https://a.example/d"],
            ),
            (
                "<p style=\"background:#fff url('https://a.example/1') , URL( https://a.example/2 )\">",
                &["https://a.example/1", "https://a.example/2"],
            ),
            (
                "<p style=\"background:url(&quot;https://a.example/1?a&amp;b&quot;);color:red\">",
                &["https://a.example/1?a&b"],
            ),
            ("<p style='background:url(&#39;https://a.example/1&#39;)'>", &["https://a.example/1"]),
            (
                "<style>b{background:url(https://a.example/1)}@media print{i{content:url(\"https://a.example/2\")}}</style>",
                &["https://a.example/1", "https://a.example/2"],
            ),
            (
                "<video poster=https://a.example/p src=https://a.example/v></video><input type=image src=https://a.example/i>",
                &["https://a.example/p", "https://a.example/i"],
            ),
        ] {
            assert_eq!(urls(html), found, "{html}");
        }
    }

    #[test]
    fn what_is_no_remote_image_is_not_found() {
        for html in [
            "src=https://a.example/x <p>url(https://a.example/x)</p>",
            "<!-- <img src=https://a.example/x> --><script>'<img src=https://a.example/x>'</script><textarea><img src=https://a.example/x></textarea>",
            "<img src=cid:logo><img src=data:image/png;base64,AA><img src=/x.png><img src=x><img src=file:///etc/passwd><img src=ftp://a.example/x>",
            "<iframe src=https://a.example/x></iframe><script src=https://a.example/x></script><audio src=https://a.example/x></audio><a href=https://a.example/x>",
            "<style>@import url(https://a.example/x); @font-face{src:url(https://a.example/y)} /* url(https://a.example/z) */</style>",
            "<style>@import url(https://a.example/x)</style><p style='/* url(https://a.example/x)'>",
            "<img src='https://'><img src='https://[x]/'><img src=http://a.example:99999/>",
            "<v:fill src=https://a.example/x><object data=https://a.example/x>",
        ] {
            assert_eq!(urls(html), Vec::<String>::new(), "{html}");
        }
        assert_eq!(
            urls(&format!("<img src=https://a.example/{}>", "x".repeat(MAX_URL))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn loaded_images_replace_their_urls_and_nothing_else() {
        let image = Image { kind: "image/png", bytes: Bytes::from_static(b"abc") };
        let all = vec![
            ("https://a.example/x?1&2".to_owned(), Ok(image)),
            ("https://a.example/bad".to_owned(), Err("no".to_owned())),
        ];
        let loaded = LoadedImages::new(Timestamp::UNIX_EPOCH, all);
        for (html, shown) in [
            ("<img src=https://a.example/x?1&2>é", "<img src=data:image/png;base64,YWJj>é"),
            ("<img src='https://a.example/x?1&amp;2#f'>", "<img src='data:image/png;base64,YWJj'>"),
            (
                "<img src=https://a.example/bad><img src=https://b.example/x>",
                "<img src=https://a.example/bad><img src=https://b.example/x>",
            ),
            (
                "<img srcset='https://a.example/x?1&2 1x, https://a.example/bad 2x'>",
                "<img srcset='data:image/png;base64,YWJj 1x, https://a.example/bad 2x'>",
            ),
            (
                "<p style=\"background:url(&quot;https://a.example/x?1&2&quot;)\">",
                "<p style=\"background:url(&quot;data:image/png;base64,YWJj&quot;)\">",
            ),
            ("https://a.example/x?1&2", "https://a.example/x?1&2"),
        ] {
            assert_eq!(embed(html, &loaded), shown, "{html}");
        }
    }

    #[test]
    fn an_image_that_is_repeated_stays_within_the_limit() {
        let image = Image { kind: "image/png", bytes: Bytes::from(vec![0; 4 << 20]) };
        let loaded =
            LoadedImages::new(Timestamp::UNIX_EPOCH, vec![("https://a.example/".to_owned(), Ok(image))]);
        let html = "<img src=https://a.example/>".repeat(10_000);
        assert!(embed(&html, &loaded).len() < MAX_EMBEDDED + html.len());
    }

    #[test]
    fn all_images_are_counted_and_the_first_ones_listed() {
        let html: String = (0..5_000)
            .map(|n| format!("<img src=https://a.example/{}>", n % 3_000))
            .collect::<Vec<_>>()
            .concat();
        let (urls, total) = list(&html, 100);
        assert_eq!((urls.len(), total), (100, 3_000));
    }

    #[test]
    fn cost_is_linear_in_the_size_of_the_html() {
        let cost = |html: &str| cpu_time(|| list(html, 100));
        let pieces = "<|<!--|<!-- --|<img |<img src='|<style>|<style></|<style>url(|<p style='url(\"'>|\
            <p style='@import'>|<style>/*</style>|<img srcset='https://a.example/ ,'>|<img srcset=', ,|\
            <img src=&amp;&amp;>|<img src=//a.example/x>|</p |<style>@font-face|<p a=b |<title></titl";
        for piece in pieces.split('|') {
            let (small, large) = (piece.repeat(5_000), piece.repeat(20_000));
            let linear =
                (0..20).any(|_| cost(&large) <= cost(&small) * 7 + std::time::Duration::from_micros(50));
            assert!(linear, "{piece:?}");
        }
    }

    #[test]
    fn character_references_are_decoded() {
        for (value, text) in [
            ("a?b=1&amp;c=2&copy=3", "a?b=1&c=2&copy=3"),
            ("&#38;&#x26;&quot;&apos;&lt;&gt;", "&&\"'<>"),
            ("&&amp&;&#xd800;&#99999999;&#;", "&&amp&;\u{fffd}\u{fffd}&#;"),
            ("é&amp;é", "é&é"),
            ("", ""),
        ] {
            assert_eq!(decode_references(value), text, "{value}");
        }
    }
}
