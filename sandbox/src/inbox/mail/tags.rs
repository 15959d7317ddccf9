//! The start tags of HTML, found in one pass and in the way of a browser: those in comments, scripts and other raw text are none.
//!
//! A range of an attribute's value is that of its source, so that a caller can replace it. Nothing relies on this for safety: the document
//! is [sanitized](super::sanitized) afterwards, whatever was found here.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

/// Elements whose content isn't HTML.
const RAW: [&str; 8] = ["style", "script", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];

/// A start tag.
pub(super) struct Tag<'a> {
    /// As written.
    pub(super) name: &'a str,
    pub(super) attributes: Vec<Attribute<'a>>,
    /// The range of its content, if that isn't HTML.
    pub(super) raw: Option<Range<usize>>,
}

pub(super) struct Attribute<'a> {
    /// As written.
    pub(super) name: &'a str,
    /// The range of its value without quotes.
    pub(super) value: Range<usize>,
}

impl Tag<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The first attribute with this name, as browsers use it.
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute<'_>> {
        self.attributes.iter().find(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }
}

/// The start tags of a document, in time linear in its size.
pub(super) struct Tags<'a> {
    html: &'a str,
    at: usize,
}

impl<'a> Tags<'a> {
    pub(super) fn of(html: &'a str) -> Self {
        Self { html, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.html[self.at..]
    }

    /// Skips characters; returns the range that was skipped.
    fn skip(&mut self, matches: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        self.at += self.rest().find(|char| !matches(char)).unwrap_or(self.rest().len());
        start..self.at
    }

    /// Reads the attributes and the end of a tag.
    fn attributes(&mut self) -> Vec<Attribute<'a>> {
        let mut attributes = Vec::new();
        loop {
            self.skip(|char| char.is_ascii_whitespace() || char == '/');
            if self.rest().is_empty() {
                return attributes;
            }
            if self.rest().starts_with('>') {
                self.at += 1;
                return attributes;
            }
            let start = self.at;
            // A name can begin with an equals sign.
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            self.skip(|char| !char.is_ascii_whitespace() && !matches!(char, '/' | '>' | '='));
            let name = &self.html[start..self.at];
            self.skip(|char| char.is_ascii_whitespace());
            let mut value = self.at..self.at;
            if self.rest().starts_with('=') {
                self.at += 1;
                self.skip(|char| char.is_ascii_whitespace());
                value = match self.rest().chars().next() {
                    Some(quote @ ('"' | '\'')) => {
                        self.at += 1;
                        let value = self.skip(|char| char != quote);
                        self.at = (self.at + 1).min(self.html.len());
                        value
                    }
                    _ => self.skip(|char| !char.is_ascii_whitespace() && char != '>'),
                };
            }
            attributes.push(Attribute { name, value });
        }
    }

    /// Skips a comment, which starts here.
    fn skip_comment(&mut self) {
        // The dashes of the start can be those of the end.
        self.at += 2;
        while let Some(dashes) = memmem::find(self.rest().as_bytes(), b"--") {
            self.at += dashes + 1;
            if self.rest().starts_with("->") || self.rest().starts_with("-!>") {
                return;
            }
        }
        self.at = self.html.len();
    }

    /// Skips content that isn't HTML, up to the element's end tag.
    fn skip_raw(&mut self, name: &str) -> Range<usize> {
        let start = self.at;
        while let Some(end) = memmem::find(self.rest().as_bytes(), b"</") {
            self.at += end;
            let found = self.html.get(self.at + 2..self.at + 2 + name.len());
            if found.is_some_and(|found| found.eq_ignore_ascii_case(name)) {
                return start..self.at;
            }
            self.at += 2;
        }
        self.at = self.html.len();
        start..self.at
    }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            self.at += self.rest().find('<')?;
            if self.rest().starts_with("<!--") {
                self.skip_comment();
                continue;
            }
            self.at += 1;
            let is_end = self.rest().starts_with('/');
            let starts_name = |text: &str| text.starts_with(|char: char| char.is_ascii_alphabetic());
            if !starts_name(&self.rest()[usize::from(is_end)..]) {
                continue;
            }
            let name =
                self.skip(|char| !char.is_ascii_whitespace() && char != '>' && (is_end || char != '/'));
            let name = &self.html[name];
            let attributes = self.attributes();
            if is_end {
                continue;
            }
            if name.eq_ignore_ascii_case("plaintext") {
                self.at = self.html.len();
            }
            let is_raw = RAW.iter().any(|raw| name.eq_ignore_ascii_case(raw));
            return Some(Tag { name, attributes, raw: is_raw.then(|| self.skip_raw(name)) });
        }
    }
}

/// An attribute's value without its character references. Names other than those of markup are left: a URL has none.
pub(super) fn decoded(value: &str) -> Cow<'_, str> {
    let Some(first) = value.find('&') else { return Cow::Borrowed(value) };
    let (before, mut rest) = value.split_at(first);
    let mut text = before.to_owned();
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest reference is `&#x10ffff;`.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        if let Some((char, end)) = end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            text.push(char);
            rest = &rest[end + 1..];
        } else {
            text.push('&');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    Cow::Owned(text)
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "lt" => '<',
        "gt" => '>',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(html: &str) -> String {
        let shown = Tags::of(html).map(|tag| {
            let attributes =
                tag.attributes.iter().map(|one| format!(" {}=[{}]", one.name, &html[one.value.clone()]));
            let raw = tag.raw.map(|raw| format!(" {{{}}}", &html[raw])).unwrap_or_default();
            format!("<{}{}{raw}>", tag.name, attributes.collect::<String>())
        });
        shown.collect()
    }

    #[test]
    fn tags_are_found_as_a_browser_finds_them() {
        for (html, found) in [
            ("<p>a<IMG src=x>", "<p><IMG src=[x]>"),
            ("<img src='a>b' alt=\"'\"/>x", "<img src=[a>b] alt=[']>"),
            ("<img\tsrc = a/b.png/>", "<img src=[a/b.png/]>"),
            ("<img src=\"a\"alt=b =c =d>", "<img src=[a] alt=[b] =c=[d]>"),
            ("<img/src=a/alt>", "<img src=[a/alt]>"),
            ("a < b <3 <!x <img> </p a='<img>'><b>", "<img><b>"),
            ("<!-- <img> --><b><!--><i><!---><u><!-- x --!><s><!-- <img>", "<b><i><u><s>"),
            ("<!--[if mso]><v:fill src=x /><![endif]--><!--[if !mso]><!--><img><!--<![endif]-->", "<img>"),
            ("<style a=b>p > b { } </p> </sTYLE ><img>", "<style a=[b] {p > b { } </p> }><img>"),
            (
                "<script>'<img>'</script><title><img></title><textarea><img>",
                "<script {'<img>'}><title {<img>}><textarea {<img>}>",
            ),
            ("<plaintext><img>", "<plaintext>"),
            ("<img src='never closed <b>", "<img src=[never closed <b>]>"),
            ("<img src=", "<img src=[]>"),
            ("<é><ü <x é=ü>", "<x é=[ü]>"),
            ("<img", "<img>"),
            ("<", ""),
            ("<!--", ""),
        ] {
            assert_eq!(tags(html), found, "{html}");
        }
    }

    #[test]
    fn character_references_of_markup_are_decoded() {
        for (value, text) in [
            ("a?b=1&amp;c=2&copy=3", "a?b=1&c=2&copy=3"),
            ("&#38;&#x26;&quot;&apos;&lt;&gt;", "&&\"'<>"),
            ("&&amp&;&#xd800;&#99999999;&#;", "&&amp&;&#xd800;&#99999999;&#;"),
            ("é&amp;é", "é&é"),
            ("", ""),
        ] {
            assert_eq!(decoded(value), text, "{value}");
        }
    }
}
