//! Walks through the HTML of a mail, in one pass and without building a tree.
//!
//! The tokenizer is `html5gum`: it reports the offset of each token, and its cost is linear for tags with many attributes too (html5ever's isn't).

use std::collections::BTreeMap;
use std::collections::HashSet;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, Spanned, Token, Tokenizer};

/// The maximum length of a link's text, in bytes.
const MAX_LINK_TEXT: usize = 1_000;

/// What the walk finds.
pub(super) enum Event<'a> {
    Doctype(usize),
    Comment(usize),
    Start(Tag<'a>),
    Text(Text<'a>),
    /// The content of a `style` element, and its offset.
    Style(&'a str, usize),
    /// A link with its text, at its end.
    Link(&'a Link),
}

/// A start tag.
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) offset: usize,
    pub(super) source: &'a str,
    attributes: &'a BTreeMap<HtmlString, Spanned<HtmlString, usize>>,
}

impl Tag<'_> {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name.as_bytes()).and_then(|value| std::str::from_utf8(value).ok())
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    }

    /// The attributes with their values.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let utf8 = |text| std::str::from_utf8(text).ok();
        self.attributes.iter().filter_map(move |(name, value)| Some((utf8(name)?, utf8(value)?)))
    }
}

/// A text, which no element separates.
pub(super) struct Text<'a> {
    pub(super) decoded: &'a str,
    pub(super) offset: usize,
    /// The source, which differs from the text where it has character references.
    pub(super) source: &'a str,
    /// Whether it is in `code`, `pre`, `kbd` or `samp`.
    pub(super) is_code: bool,
}

impl Text<'_> {
    /// The offset of a place in the text, or of the text itself if the source is encoded.
    pub(super) fn offset_of(&self, at: usize) -> usize {
        if self.decoded == self.source { self.offset + at } else { self.offset }
    }
}

/// An `a` element with `href`.
pub(super) struct Link {
    pub(super) href: String,
    pub(super) offset: usize,
    pub(super) source: String,
    /// The beginning of its text.
    pub(super) text: String,
    /// Whether it has a label besides its text: an image, `aria-label` or `title`.
    pub(super) is_labeled: bool,
    /// The beginning of these labels.
    pub(super) labels: String,
}

/// Elements whose content the tokenizer returns as one text.
const RAW: [&str; 9] =
    ["style", "script", "title", "textarea", "iframe", "xmp", "noembed", "noframe", "noscript"];
const CODE: [&str; 4] = ["code", "pre", "kbd", "samp"];

/// Calls `on` with everything in the HTML.
pub(super) fn walk(html: &str, on: &mut impl FnMut(Event<'_>)) {
    let raw: HashSet<&str> = RAW.into();
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut inside: Option<&str> = None;
    let mut code = 0_usize;
    let mut link: Option<Link> = None;
    let source = |start: usize, end: usize| html.get(start..end).unwrap_or_default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        // Reading from memory can't fail.
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let Ok(name) = std::str::from_utf8(&tag.name) else { continue };
                let (offset, source) = (tag.span.start, source(tag.span.start, tag.span.end));
                let tag = Tag { name, offset, source, attributes: &tag.attributes };
                inside = raw.get(name).copied();
                code += usize::from(CODE.contains(&name));
                if name == "a" {
                    finish(&mut link, on);
                    let is_labeled = ["aria-label", "title"].iter().any(|name| is_filled(tag.get(name)));
                    let mut labels = String::new();
                    label(&tag, &mut labels);
                    link = tag.get("href").map(|href| Link {
                        href: href.to_owned(),
                        offset,
                        source: source.chars().take(500).collect(),
                        text: String::new(),
                        is_labeled,
                        labels,
                    });
                } else if let Some(link) = &mut link {
                    // An image without `alt` has a finding of its own.
                    let is_label = name == "img" && tag.get("alt").is_none_or(|alt| !alt.trim().is_empty());
                    link.is_labeled |= is_label || is_filled(tag.get("aria-label")) || name == "svg";
                    label(&tag, &mut link.labels);
                }
                on(Event::Start(tag));
            }
            Token::EndTag(tag) => {
                inside = None;
                let Ok(name) = std::str::from_utf8(&tag.name) else { continue };
                code -= usize::from(code > 0 && CODE.contains(&name));
                if name == "a" {
                    finish(&mut link, on);
                }
            }
            Token::String(text) => {
                let (offset, source) = (text.span.start, source(text.span.start, text.span.end));
                match inside {
                    Some("style") => on(Event::Style(source, offset)),
                    Some(_) => {}
                    None => {
                        let Ok(text) = std::str::from_utf8(&text) else { continue };
                        if let Some(link) = &mut link {
                            extend(&mut link.text, text);
                        }
                        on(Event::Text(Text { decoded: text, offset, source, is_code: code > 0 }));
                    }
                }
            }
            Token::Comment(comment) => on(Event::Comment(comment.span.start)),
            Token::Doctype(doctype) => on(Event::Doctype(doctype.span.start)),
            Token::Error(_) => {}
        }
    }
    finish(&mut link, on);
}

fn finish(link: &mut Option<Link>, on: &mut impl FnMut(Event<'_>)) {
    if let Some(link) = link.take() {
        on(Event::Link(&link));
    }
}

/// Appends the labels of an element.
fn label(tag: &Tag<'_>, labels: &mut String) {
    for label in ["alt", "aria-label", "title"].iter().filter_map(|name| tag.get(name)) {
        extend(labels, label);
        extend(labels, " ");
    }
}

fn extend(beginning: &mut String, text: &str) {
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
                Event::Text(text) => {
                    assert_eq!(&html[text.offset..text.offset + text.source.len()], text.source);
                    format!("{} {:?}{}", text.offset, text.decoded, if text.is_code { " code" } else { "" })
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
