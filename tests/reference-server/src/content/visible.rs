//! The visible text of an HTML body, line by line, with table cells, prominent text and links. It also derives a text body from HTML: the same text
//! with its layout. Both take time and memory linear in the size of the HTML.

use std::ops::Range;

use crate::content::html::{Event, Tag, walk};
use crate::wire::described;

described! {
    /// A link of an email.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct Link {
        /// The visible text, or the alternative text of its images; the URL itself if the link has no text.
        pub text: String,
        /// The target, an unchanged `http` or `https` URL.
        pub url: String,
    }
}

/// The maximum number of enclosing elements that a closing tag is compared with.
const MAX_ENCLOSING: usize = 64;
/// The maximum number of open elements; inner ones have no effect beyond their tags.
const MAX_OPEN: usize = 1_000;
/// The maximum number of nested lists and of nested quotations that indent a text.
const MAX_INDENTED: usize = 8;
/// The minimum size of prominent text, in CSS pixels. The text of a mail usually has 14 to 16.
const LARGE: f64 = 20.0;

/// The visible text of an HTML body.
#[derive(Debug, Default, PartialEq)]
pub struct Visible {
    /// Cells end with a tab, lines with a line feed, and blocks with an empty line. Other white space is collapsed.
    pub text: String,
    /// The prominent parts of the text, in order: large, bold, spaced or monospaced.
    pub prominent: Vec<Range<usize>>,
    /// Every link with a target, in order, with its text or its images' alternative text.
    pub links: Vec<Link>,
    /// The parts of the text that are links, in order.
    pub linked: Vec<Range<usize>>,
}

/// The separator of two texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    Block,
}

/// An open element.
struct Element {
    name: Vec<u8>,
    gap: Gap,
    prominent: bool,
    /// Whether its content is omitted from a text body.
    hidden: bool,
}

/// A link whose end hasn't been read.
struct OpenLink {
    url: String,
    /// The start of its text.
    start: usize,
    /// The texts of its images.
    images: String,
}

#[derive(Default)]
struct Reader {
    visible: Visible,
    gap: Gap,
    open: Vec<Element>,
    /// The number of open elements that are prominent.
    prominent: usize,
    link: Option<OpenLink>,
    /// The number of open `pre` elements.
    preformatted: usize,
    /// The additional parts of a text body.
    layout: Option<Layout>,
}

/// The state of a text body's layout.
#[derive(Default)]
struct Layout {
    /// Whether it shows the marks of list items and quotations.
    has_marks: bool,
    /// Whether the text ends with the mark of a list item, whose first block is on the same line.
    after_mark: bool,
    /// The number of open elements that are hidden.
    hidden: usize,
    /// The number of open `blockquote` elements.
    quotes: usize,
    /// The last number of each open list; `None` if it has bullets.
    lists: Vec<Option<u32>>,
}

impl Visible {
    /// A text body or subject, without invisible characters and carriage returns.
    pub fn from_text(text: &str) -> Self {
        let text = text.chars().filter(|char| *char != '\r' && !is_invisible(*char)).collect();
        Self { text, ..Self::default() }
    }

    /// Reads an HTML body. Hidden text counts as visible: most of it is the preview that mail clients show in lists.
    pub fn from_html(html: &str) -> Self {
        Self::read(html, Reader::default())
    }

    /// Lays out an HTML body as text, without hidden elements. Links are followed by their URL, list items and quotations get their marks, and images
    /// become their alternative text. Lines aren't wrapped. Without marks, the text is no longer than the HTML.
    pub fn layout(html: &str, has_marks: bool) -> String {
        let layout = Layout { has_marks, ..Layout::default() };
        Self::read(html, Reader { layout: Some(layout), ..Reader::default() }).text
    }

    fn read(html: &str, mut reader: Reader) -> Self {
        walk(html, &mut |event| match event {
            Event::Start(tag) => reader.start(tag),
            Event::End(name) => reader.end_element(name.as_bytes()),
            Event::Text(text) if text.raw.is_none_or(|raw| !matches!(raw, "script" | "style" | "title")) => {
                reader.text(text.decoded);
            }
            _ => {}
        });
        reader.end_link();
        reader.visible
    }
}

/// Soft hyphens and joiners, which pad previews, and hidden separators.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

impl Reader {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_bytes();
        let style = tag.get("style").unwrap_or_default().to_ascii_lowercase();
        let is_in_list = self.layout.as_ref().is_some_and(|layout| !layout.lists.is_empty());
        let gap = match tag.name {
            "ul" | "ol" if is_in_list => Gap::Line,
            _ => element_gap(name, &style),
        };
        if tag.name == "li" {
            self.end_mark();
        }
        self.separate(gap);
        match tag.name {
            "a" => {
                self.end_link();
                if let Some(url) = tag.get("href") {
                    let start = self.visible.text.len();
                    self.link = Some(OpenLink { url: url.to_owned(), start, images: String::new() });
                }
                return;
            }
            "img" => {
                let text = tag.get("alt").unwrap_or_default();
                if self.layout.is_some() {
                    self.text(text);
                } else if let Some(link) = &mut self.link {
                    link.images.push(' ');
                    link.images.push_str(text);
                }
                return;
            }
            "br" | "hr" | "input" | "wbr" | "meta" | "link" | "base" | "col" => return,
            _ => {}
        }
        if self.open.len() == MAX_OPEN {
            return;
        }
        let prominent = is_prominent(name, &style, tag.get("class"));
        let hidden = tag.name == "template" || style.replace(' ', "").contains("display:none");
        self.prominent += usize::from(prominent);
        self.preformatted += usize::from(tag.name == "pre");
        self.open.push(Element { name: name.to_vec(), gap, prominent, hidden });
        self.write_marker(tag, hidden);
    }

    /// Writes a text body's replacement for a start tag.
    fn write_marker(&mut self, tag: &Tag<'_>, hidden: bool) {
        let Some(layout) = &mut self.layout else { return };
        layout.hidden += usize::from(hidden);
        match tag.name {
            _ if !layout.has_marks => {}
            "blockquote" => layout.quotes += 1,
            "ul" => layout.lists.push(None),
            "ol" => {
                let first: u32 = tag.get("start").and_then(|start| start.parse().ok()).unwrap_or(1);
                layout.lists.push(Some(first.saturating_sub(1)));
            }
            "li" => {
                let depth = layout.lists.len().clamp(1, MAX_INDENTED);
                let mark = match layout.lists.last_mut() {
                    Some(Some(last)) => {
                        *last = last.saturating_add(1);
                        format!("{last}. ")
                    }
                    _ => "* ".to_owned(),
                };
                self.write(&format!("{}{mark}", "  ".repeat(depth - 1)));
                if let Some(layout) = &mut self.layout {
                    layout.after_mark = true;
                }
            }
            _ => {}
        }
    }

    fn end_mark(&mut self) {
        if let Some(layout) = &mut self.layout {
            layout.after_mark = false;
        }
    }

    fn end_element(&mut self, name: &[u8]) {
        self.end_mark();
        if name == b"a" {
            self.end_link();
        }
        let enclosing = self.open.iter().rev().take(MAX_ENCLOSING).position(|element| element.name == name);
        let Some(above) = enclosing else {
            self.separate(element_gap(name, ""));
            return;
        };
        for element in self.open.split_off(self.open.len() - 1 - above) {
            self.separate(element.gap);
            self.prominent -= usize::from(element.prominent);
            self.preformatted -= usize::from(element.name == b"pre");
            let Some(layout) = &mut self.layout else { continue };
            layout.hidden -= usize::from(element.hidden);
            match &*element.name {
                b"blockquote" => layout.quotes = layout.quotes.saturating_sub(1),
                b"ul" | b"ol" => drop(layout.lists.pop()),
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &str) {
        for char in text.chars() {
            match char {
                '\n' if self.preformatted > 0 => {
                    // Two of them make an empty line.
                    self.gap = if self.gap >= Gap::Line { Gap::Block } else { Gap::Line };
                }
                _ if self.layout.is_none() && is_invisible(char) => {}
                ' ' | '\t' if self.layout.is_some() && self.preformatted > 0 => self.push(char),
                _ if char.is_whitespace() => self.separate(Gap::Space),
                _ => self.push(char),
            }
        }
    }

    /// Writes characters unchanged.
    fn write(&mut self, text: &str) {
        text.chars().for_each(|char| self.push(char));
    }

    fn push(&mut self, char: char) {
        if self.layout.as_ref().is_some_and(|layout| layout.hidden > 0) {
            return;
        }
        self.end_mark();
        let text = &mut self.visible.text;
        let gap = std::mem::take(&mut self.gap);
        let is_first = text.is_empty();
        if !is_first {
            text.push_str(match gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Cell => "\t",
                Gap::Line => "\n",
                Gap::Block => "\n\n",
            });
        }
        if let Some(layout) = &self.layout
            && (is_first || gap >= Gap::Line)
        {
            (0..layout.quotes.min(MAX_INDENTED)).for_each(|_| text.push_str("> "));
        }
        let start = text.len();
        text.push(char);
        if self.prominent > 0 {
            match self.visible.prominent.last_mut() {
                Some(last) if last.end == start => last.end = text.len(),
                _ => self.visible.prominent.push(start..text.len()),
            }
        }
    }

    fn separate(&mut self, gap: Gap) {
        if self.layout.as_ref().is_none_or(|layout| !layout.after_mark) {
            self.gap = self.gap.max(gap);
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        if self.layout.is_some() {
            return self.write_url(&link);
        }
        let text = &self.visible.text[link.start..];
        let text = if text.trim().is_empty() { &link.images } else { text };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.visible.linked.push(link.start..self.visible.text.len());
        self.visible.links.push(Link { text, url: link.url });
    }

    /// Writes the URL of a link after its text, unless the text is the URL or the link points within the email.
    fn write_url(&mut self, link: &OpenLink) {
        let url = link.url.trim();
        let is_target =
            |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        let text = self.visible.text.get(link.start..).unwrap_or_default().trim();
        let is_shown = text == url
            || url.strip_prefix("mailto:") == Some(text)
            || url.strip_prefix("tel:") == Some(text);
        if url.is_empty() || is_target("#") || is_target("javascript:") || is_shown {
            return;
        }
        if text.is_empty() {
            self.write(url);
        } else {
            // The white space at the end of the text follows the URL.
            let gap = std::mem::replace(&mut self.gap, Gap::Space);
            self.write(&format!("({url})"));
            self.gap = gap;
        }
    }
}

/// How an element separates its text from others.
fn element_gap(name: &[u8], style: &str) -> Gap {
    let inline = style.contains("inline") || style.contains("float:");
    match name {
        b"td" | b"th" => Gap::Cell,
        b"br" | b"tr" | b"li" | b"dt" | b"dd" => Gap::Line,
        b"div" if inline => Gap::Cell,
        b"p" | b"div" | b"table" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"dl"
        | b"blockquote" | b"section" | b"header" | b"footer" | b"article" | b"main" | b"center" | b"pre"
        | b"hr" | b"form" | b"fieldset" | b"address" | b"body" => Gap::Block,
        _ => Gap::None,
    }
}

fn is_prominent(name: &[u8], style: &str, class: Option<&str>) -> bool {
    let named = class.is_some_and(|class| {
        class.split(|char: char| !char.is_alphanumeric()).any(|word| matches!(word, "code" | "otp" | "pin"))
    });
    let tag = matches!(
        name,
        b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"b"
            | b"strong"
            | b"code"
            | b"kbd"
            | b"samp"
            | b"tt"
            | b"pre"
            | b"big"
    );
    tag || named
        || style.split(';').filter_map(|rule| rule.split_once(':')).any(|(name, value)| {
            let value = value.trim();
            match name.trim() {
                "font-size" => parse_pixels(value).is_some_and(|size| size >= LARGE),
                "letter-spacing" => parse_pixels(value).is_some_and(|space| space >= 1.0),
                "font-weight" => {
                    value.starts_with("bold")
                        || value[..value.len().min(3)].parse().is_ok_and(|weight: u16| weight >= 600)
                }
                "font-family" => {
                    value.contains("mono") || value.contains("courier") || value.contains("consolas")
                }
                _ => false,
            }
        })
}

/// A CSS length in pixels, if it has a number.
fn parse_pixels(value: &str) -> Option<f64> {
    let end = value.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(value.len());
    let number: f64 = value[..end].parse().ok()?;
    Some(match value[end..].trim_start().as_bytes() {
        [b'p', b't', ..] => number * 4.0 / 3.0,
        [b'e', b'm', ..] | [b'r', b'e', b'm', ..] => number * 16.0,
        [b'%', ..] => number * 0.16,
        _ => number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prominent(html: &str) -> Vec<String> {
        let visible = Visible::from_html(html);
        visible.prominent.iter().map(|range| visible.text[range.clone()].to_owned()).collect()
    }

    #[test]
    fn text_is_divided_into_cells_lines_and_blocks() {
        for (html, text) in [
            ("<p>One\n two<br>three</p><p>four", "One two\nthree\n\nfour"),
            ("<table><tr><td>4</td><td> 8 </td></tr><tr><td>1</td></tr></table>", "4\t8\n1"),
            ("<style>p{}</style><title>No</title><script>'<p>'</script>Yes", "Yes"),
            ("<!-- 1 --><!--[if mso]><p>2</p><![endif]-->3 &amp; 4&nbsp;5", "3 & 4 5"),
            ("<pre>a\nb\n\nc</pre>", "a\nb\n\nc"),
            ("a&zwnj;&nbsp;&#8203;b", "a b"),
            ("<div style='display: inline-block'>1</div><div style='float:left'>2</div>", "1\t2"),
            ("", ""),
            ("<", "<"),
        ] {
            assert_eq!(Visible::from_html(html).text, text, "{html}");
        }
    }

    #[test]
    fn large_bold_and_monospaced_text_is_prominent() {
        assert_eq!(prominent("a <b>b c</b> d<h1>e</h1>"), ["b", "c", "e"]);
        assert_eq!(prominent("<p style='Font-Size: 32px'>a</p><p style='font-size:14px'>b"), ["a"]);
        assert_eq!(prominent("<p style='font-size:18pt'>a</p><p style='font-size:1.2em'>b"), ["a"]);
        assert_eq!(
            prominent("<p style='letter-spacing:6px;color:red'>a</p><p class='otp-code'>b"),
            ["a", "b"]
        );
        assert_eq!(prominent("<p style='font-weight:700'>a</p><p style='font-weight:ünormal'>b"), ["a"]);
    }

    #[test]
    fn missing_and_unknown_closing_tags_do_no_harm() {
        let html = format!("{}1{}2</b>3", "<div>".repeat(1_000), "</span></p></table>".repeat(1_000));
        assert_eq!(Visible::from_html(&html).text.split_whitespace().collect::<String>(), "123");
    }
}
