//! The HTML of a mail for the checks: tags, texts, style sheets, and links with their texts.

use idempost_reference_server::content::html::{self, Tag, Text};

/// The maximum length of a link's text, in bytes.
const MAX_LINK_TEXT: usize = 1_000;

/// An item found by `walk`.
pub(super) enum Event<'a> {
    Doctype(usize),
    Comment(usize),
    Start(&'a Tag<'a>),
    /// A text without elements in between, and whether it is in `code`, `pre`, `kbd` or `samp`.
    Text(Text<'a>, bool),
    /// The content of a `style` element, and its offset.
    Style(&'a str, usize),
    /// A link with its text, reported at its end.
    Link(&'a Link),
}

/// An `a` element with an `href`.
pub(super) struct Link {
    pub(super) href: String,
    pub(super) offset: usize,
    pub(super) source: String,
    /// The beginning of the link's text.
    pub(super) text: String,
    /// Whether it has a label other than text: an image, `aria-label` or `title`.
    pub(super) is_labeled: bool,
    /// The beginning of those labels.
    pub(super) labels: String,
}

const CODE: [&str; 4] = ["code", "pre", "kbd", "samp"];

/// Calls `on` with every item in the HTML.
pub(super) fn walk(html: &str, on: &mut dyn FnMut(Event<'_>)) {
    let mut code = 0_usize;
    let mut link: Option<Link> = None;
    html::walk(html, &mut |event| match event {
        html::Event::Start(tag) => {
            code += usize::from(CODE.contains(&tag.name));
            if tag.name == "a" {
                finish_link(&mut link, on);
                let is_labeled = ["aria-label", "title"].iter().any(|name| is_filled(tag.get(name)));
                let mut labels = String::new();
                append_labels(tag, &mut labels);
                link = tag.get("href").map(|href| Link {
                    href: href.to_owned(),
                    offset: tag.offset,
                    source: tag.source.chars().take(500).collect(),
                    text: String::new(),
                    is_labeled,
                    labels,
                });
            } else if let Some(link) = &mut link {
                // An image without `alt` has its own finding.
                let is_label = tag.name == "img" && tag.get("alt").is_none_or(|alt| !alt.trim().is_empty());
                link.is_labeled |= is_label || is_filled(tag.get("aria-label")) || tag.name == "svg";
                append_labels(tag, &mut link.labels);
            }
            on(Event::Start(tag));
        }
        html::Event::End(name) => {
            code -= usize::from(code > 0 && CODE.contains(&name));
            if name == "a" {
                finish_link(&mut link, on);
            }
        }
        html::Event::Text(text) => match text.raw {
            Some("style") => on(Event::Style(text.source, text.offset)),
            Some(_) => {}
            None => {
                if let Some(link) = &mut link {
                    append_text(&mut link.text, text.decoded);
                }
                on(Event::Text(text, code > 0));
            }
        },
        html::Event::Comment(at) => on(Event::Comment(at)),
        html::Event::Doctype(at) => on(Event::Doctype(at)),
    });
    finish_link(&mut link, on);
}

fn finish_link(link: &mut Option<Link>, on: &mut dyn FnMut(Event<'_>)) {
    if let Some(link) = link.take() {
        on(Event::Link(&link));
    }
}

/// Appends the labels of an element.
fn append_labels(tag: &Tag<'_>, labels: &mut String) {
    for label in ["alt", "aria-label", "title"].iter().filter_map(|name| tag.get(name)) {
        append_text(labels, label);
        append_text(labels, " ");
    }
}

fn append_text(beginning: &mut String, text: &str) {
    let left = MAX_LINK_TEXT.saturating_sub(beginning.len());
    beginning.extend(text.chars().take(left));
}

fn is_filled(value: Option<&str>) -> bool {
    value.is_some_and(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(html: &str) -> Vec<String> {
        let mut events = Vec::new();
        walk(html, &mut |event| {
            events.push(match event {
                Event::Doctype(at) => format!("{at} doctype"),
                Event::Comment(at) => format!("{at} comment"),
                Event::Start(tag) => format!("{} {} {}", tag.offset, tag.name, tag.source),
                Event::Text(text, is_code) => {
                    assert_eq!(&html[text.offset..text.offset + text.source.len()], text.source);
                    format!("{} {:?}{}", text.offset, text.decoded, if is_code { " code" } else { "" })
                }
                Event::Style(css, at) => format!("{at} style {css}"),
                Event::Link(link) => {
                    format!("{} link {} {:?} {}", link.offset, link.href, link.text, link.is_labeled)
                }
            });
        });
        events
    }

    #[test]
    fn events_have_the_offsets_of_the_source() {
        for (html, found) in [
            ("<!doctype html><p>é</p>", &["0 doctype", "15 p <p>", "18 \"é\""][..]),
            ("é<b\nx='>'>&amp;</b>", &["0 \"é\"", "2 b <b\nx='>'>", "11 \"&\""]),
            ("<style>a{b:'</b>'}</style>x", &["0 style <style>", "7 style a{b:'</b>'}", "26 \"x\""]),
            ("<!-- <a href=x> --><script>'<a>'</script>", &["0 comment", "19 script <script>"]),
            (
                "<pre>a</pre></pre><code>b<i>c",
                &[
                    "0 pre <pre>",
                    "5 \"a\" code",
                    "18 code <code>",
                    "24 \"b\" code",
                    "25 i <i>",
                    "28 \"c\" code",
                ],
            ),
            (
                "<a href=x>b<i>c</i></a>",
                &["0 a <a href=x>", "10 \"b\"", "11 i <i>", "14 \"c\"", "0 link x \"bc\" false"],
            ),
            (
                "<a href=x><img alt=y><a href=z title=w>",
                &[
                    "0 a <a href=x>",
                    "10 img <img alt=y>",
                    "0 link x \"\" true",
                    "21 a <a href=z title=w>",
                    "21 link z \"\" true",
                ],
            ),
            ("<style>unclosed", &["0 style <style>", "7 style unclosed"]),
        ] {
            assert_eq!(events(html), found, "{html}");
        }
    }
}
