//! The links of an email: first those in the HTML with their visible text, then URLs that occur only as text.

use std::collections::HashSet;

use linkify::{LinkFinder, LinkKind};

pub use crate::content::visible::Link;
use crate::content::visible::Visible;

/// The maximum number of links per email; later ones are omitted.
const MAX_LINKS: usize = 1_000;

/// Returns the links of the HTML in order, then the URLs that only occur as text, in the HTML or in the text body.
pub(super) fn find_links(html: Option<&Visible>, text: Option<&str>) -> Vec<Link> {
    let mut links = Links::default();
    for link in html.map(|html| &*html.links).unwrap_or_default() {
        if let Some(url) = link_target(&link.url) {
            links.add(link.text.clone(), url);
        }
    }
    let mut plain = Vec::new();
    if let Some(html) = html {
        let mut linked = html.linked.iter().peekable();
        for (start, url) in find_urls(&html.text) {
            while linked.next_if(|link| link.end <= start).is_some() {}
            if linked.peek().is_none_or(|link| start < link.start) {
                plain.push(url);
            }
        }
    }
    plain.extend(text.into_iter().flat_map(find_urls).map(|(_, url)| url));
    for url in plain {
        if !links.targets.contains(url) {
            links.add(url.to_owned(), url.to_owned());
        }
    }
    links.list
}

/// Links without duplicates.
#[derive(Default)]
struct Links {
    list: Vec<Link>,
    known: HashSet<Link>,
    targets: HashSet<String>,
}

impl Links {
    fn add(&mut self, text: String, url: String) {
        let link = Link { text, url };
        if self.list.len() < MAX_LINKS && self.known.insert(link.clone()) {
            self.targets.insert(link.url.clone());
            self.list.push(link);
        }
    }
}

/// The target of a link, as a browser reads it: without surrounding white space, tabs and line breaks. `None` if it isn't a web address.
fn link_target(href: &str) -> Option<String> {
    let url: String = href.trim_matches(|char: char| char <= ' ').replace(['\t', '\r', '\n'], "");
    is_web(&url).then_some(url)
}

fn is_web(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        url.len() > scheme.len()
            && url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// The URLs in a text, with their positions.
fn find_urls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let found: Vec<_> = finder.links(text).map(|link| (link.start(), link.as_str())).collect();
    found.into_iter().filter(|(_, url)| is_web(url)).take(MAX_LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(html: &str, text: &str) -> Vec<(String, String)> {
        let found = find_links(Some(&Visible::from_html(html)), Some(text));
        found.into_iter().map(|link| (link.text, link.url)).collect()
    }

    fn pair(text: &str, url: &str) -> (String, String) {
        (text.into(), url.into())
    }

    #[test]
    fn links_have_their_visible_text_and_decoded_target() {
        assert_eq!(
            found(
                "<a href='https://a.example/?x=1&amp;y=2'> Verify <b>your\nemail</b></a><a href=\" http://b.example\n/c \"><img alt='Open &lt;it&gt;' src=x></a>",
                ""
            ),
            [
                pair("Verify your email", "https://a.example/?x=1&y=2"),
                pair("Open <it>", "http://b.example/c")
            ]
        );
        assert_eq!(found("<a href=HTTPS://a.example>", ""), [pair("", "HTTPS://a.example")]);
        assert_eq!(
            found("<a href=https://a.example>One<a href=https://b.example>Two</a>", ""),
            [pair("One", "https://a.example"), pair("Two", "https://b.example")]
        );
    }

    #[test]
    fn only_web_links_are_listed() {
        let html = "<a href='javascript:alert(1)'>a</a><a href='mailto:a@b.example'>b</a><a href='java\nscript:x'>c</a><a href='data:text/html,x'>d</a>\
             <a href='//e.example'>e</a><a href='/f'>f</a><a href='#g'>g</a><a>h</a><a href='https://'>i</a><a href='vbscript:https://j.example'>j</a>";
        assert_eq!(found(html, "javascript:alert(2) ftp://k.example mailto:a@b.example l.example"), []);
    }

    #[test]
    fn duplicates_are_removed_but_not_other_texts_of_a_target() {
        let html = "<a href=https://a.example>One</a> <a href=https://a.example>One</a> <a href=https://a.example>Two</a>";
        assert_eq!(
            found(html, "https://a.example"),
            [pair("One", "https://a.example"), pair("Two", "https://a.example")]
        );
    }

    #[test]
    fn urls_of_the_text_follow_without_the_punctuation_around_them() {
        let text = "Open https://a.example/x. Or (https://b.example/y_(z)), <https://c.example/?q=1&r=2>\nhttps://a.example/x!";
        let expected = ["https://a.example/x", "https://b.example/y_(z)", "https://c.example/?q=1&r=2"];
        assert_eq!(found("", text), expected.map(|url| pair(url, url)));
        let html = "<p>Copy https://d.example/1</p><a href=https://e.example/t>https://e.example/shown</a>";
        assert_eq!(
            found(html, "https://d.example/1"),
            [
                pair("https://e.example/shown", "https://e.example/t"),
                pair("https://d.example/1", "https://d.example/1")
            ]
        );
    }

    #[test]
    fn number_of_links_is_bounded() {
        let html: String = (0..3_000)
            .map(|number| format!("<a href=https://a.example/{number}>x</a>"))
            .collect::<Vec<_>>()
            .concat();
        assert_eq!(found(&html, &html).len(), MAX_LINKS);
    }
}
