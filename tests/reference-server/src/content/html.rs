//! Walks through HTML in one pass, without building a tree, in time and memory linear in its size.
//!
//! The tokenizer is `html5gum`. It reports the offset of each token, and tags with many attributes are cheap.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// The maximum number of attributes of a tag; later ones are ignored.
const MAX_ATTRIBUTES: usize = 1_000;
/// Elements whose content isn't HTML.
const RAW: [&str; 9] =
    ["style", "script", "title", "textarea", "iframe", "xmp", "noembed", "noframe", "noscript"];

/// An item of the walk.
pub enum Event<'a> {
    Doctype(usize),
    Comment(usize),
    Start(&'a Tag<'a>),
    /// The name of an element that ends here, in lower case.
    End(&'a str),
    Text(Text<'a>),
}

/// A start tag.
pub struct Tag<'a> {
    /// In lower case.
    pub name: &'a str,
    pub offset: usize,
    pub source: &'a str,
    attributes: &'a [Attribute],
}

/// An attribute of a tag.
pub struct Attribute {
    /// In lower case.
    pub name: String,
    /// Without character references.
    pub value: String,
    /// The range of the value in the source, without quotes.
    pub place: Range<usize>,
}

impl Tag<'_> {
    /// The first attribute with this name, as in browsers.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|attribute| &*attribute.value)
    }

    /// Whether an attribute has this value, ignoring case.
    pub fn has_attribute_value(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    }

    pub fn attributes(&self) -> &[Attribute] {
        self.attributes
    }
}

/// A text without elements in between.
pub struct Text<'a> {
    /// Without character references, except in most raw elements.
    pub decoded: &'a str,
    pub offset: usize,
    pub source: &'a str,
    /// The name of the enclosing element if its content isn't HTML.
    pub raw: Option<&'static str>,
}

/// Calls `on` with everything in the HTML. The tokenizer is large, so its callers share one.
pub fn walk(html: &str, on: &mut dyn FnMut(Event<'_>)) {
    let (mut name, mut start, mut raw) = (String::new(), 0, None);
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut is_full = false;
    let source = |span: Range<usize>| html.get(span).unwrap_or_default();
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, span: Span<usize>| {
        match event {
            CallbackEvent::OpenStartTag { name: tag } => {
                name.clear();
                name.push_str(&from_utf8(tag));
                start = span.start;
                attributes.clear();
                is_full = false;
            }
            CallbackEvent::AttributeName { name } => {
                is_full = attributes.len() == MAX_ATTRIBUTES;
                if !is_full {
                    let name = from_utf8(name).into_owned();
                    attributes.push(Attribute { name, value: String::new(), place: span.end..span.end });
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(attribute) = attributes.last_mut().filter(|_| !is_full) {
                    attribute.value.push_str(&from_utf8(value));
                    attribute.place = span.start..span.end;
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                raw = RAW.into_iter().find(|raw| *raw == name);
                let source = source(start..span.end);
                on(Event::Start(&Tag { name: &name, offset: start, source, attributes: &attributes }));
            }
            CallbackEvent::EndTag { name } => {
                attributes.clear();
                raw = None;
                on(Event::End(&from_utf8(name)));
            }
            CallbackEvent::String { value } => {
                let source = source(span.start..span.end);
                on(Event::Text(Text { decoded: &from_utf8(value), offset: span.start, source, raw }));
            }
            CallbackEvent::Comment { .. } => on(Event::Comment(span.start)),
            CallbackEvent::Doctype { .. } => on(Event::Doctype(span.start)),
            CallbackEvent::Error(_) => {}
        }
        None::<Infallible>
    });
    emitter.naively_switch_states(true);
    // Reading from memory can't fail.
    let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
}

fn from_utf8(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(html: &str) -> String {
        let mut events = Vec::new();
        walk(html, &mut |event| {
            events.push(match event {
                Event::Doctype(at) => format!("{at} doctype, "),
                Event::Comment(at) => format!("{at} comment, "),
                Event::Start(tag) => {
                    let attributes = tag.attributes.iter();
                    let attributes =
                        attributes.map(|one| format!(" {}=[{}]", one.name, &html[one.place.clone()]));
                    format!("{} {}{}, ", tag.offset, tag.name, attributes.collect::<String>())
                }
                Event::End(name) => format!("/{name}, "),
                Event::Text(text) => {
                    assert_eq!(&html[text.offset..text.offset + text.source.len()], text.source);
                    format!("{} {:?}{}, ", text.offset, text.decoded, text.raw.unwrap_or_default())
                }
            });
        });
        events.concat()
    }

    #[test]
    fn tags_are_found_as_a_browser_finds_them() {
        for (html, found) in [
            ("<!doctype html><p>é</p>", "0 doctype, 15 p, 18 \"é\", /p, "),
            ("é<B\nx='>'>&amp;", "0 \"é\", 2 b x=[>], 11 \"&\", "),
            ("<img src='a>b' alt=\"'&amp;'\"/>x", "0 img src=[a>b] alt=['&amp;'], 30 \"x\", "),
            ("<img\tsrc = a/b.png/>", "0 img src=[a/b.png/], "),
            ("<img src=\"a\"alt=b =c =d>", "0 img src=[a] alt=[b] =c=[d], "),
            ("<img/src=a/alt>", "0 img src=[a/alt], "),
            ("<x a=b a=c é=ü d=''>", "0 x a=[b] a=[c] é=[ü] d=[], "),
            ("</p a='<img>'><b>", "/p, 14 b, "),
            ("<!-- <img> --><b><!--><i>", "0 comment, 14 b, 17 comment, 22 i, "),
            (
                "<style a=b>p > b { } </p> </sTYLE ><img>",
                "0 style a=[b], 11 \"p > b { } </p> \"style, /style, 35 img, ",
            ),
            ("<textarea>&lt;<img>", "0 textarea, 10 \"<<img>\"textarea, "),
            ("<style>open", "0 style, 7 \"open\"style, "),
        ] {
            assert_eq!(events(html), found, "{html}");
        }
    }

    #[test]
    fn number_of_attributes_is_bounded() {
        let html: Vec<_> = (0..2_000).map(|number| format!(" a{number}=x{number}")).collect();
        walk(&format!("<p{}><b z=1>", html.concat()), &mut |event| {
            if let Event::Start(tag) = event
                && tag.name == "p"
            {
                assert_eq!(tag.attributes().len(), MAX_ATTRIBUTES);
                assert_eq!((tag.get("a999"), tag.get("a1000")), (Some("x999"), None));
            }
        });
    }
}
