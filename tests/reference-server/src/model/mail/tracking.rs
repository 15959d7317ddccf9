//! Open and click tracking: an image at the end of the HTML, and links through the domain's tracking host.
//!
//! Only a domain with a verified tracking subdomain has such a host (`docs/specification.md`, Domain). The specification doesn't define tracked emails;
//! here a link to `https://a.test/` becomes `https://<label>.<domain>/click/<email id>?to=https%3A%2F%2Fa.test%2F`.

use std::ops::Range;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::domain::Domain;

/// The tracking of an email's opens and clicks.
#[derive(Debug, Deserialize, Serialize)]
pub struct Tracking {
    host: String,
    opens: bool,
    clicks: bool,
    /// Links with this prefix are the service's own and stay unchanged, so that unsubscribing isn't tracked.
    own: String,
}

impl Tracking {
    /// `None` if the domain tracks nothing.
    pub fn of(domain: &Domain, own: String) -> Option<Self> {
        let (opens, clicks) = (domain.setup.open_tracking, domain.setup.click_tracking);
        let host = domain.tracking_host().filter(|_| opens || clicks)?.clone();
        Some(Self { host, opens, clicks, own })
    }

    /// Adds tracking to the HTML.
    pub fn apply(&self, html: &str, email: Uuid) -> String {
        let Self { host, own, .. } = self;
        let mut tracked = if self.clicks {
            with_links(html, &format!("https://{host}/click/{email}?to="), own)
        } else {
            html.to_owned()
        };
        if self.opens {
            let picture = format!(
                r#"<img src="https://{host}/open/{email}" width="1" height="1" alt="" style="display:none">"#
            );
            let end = tracked.to_ascii_lowercase().rfind("</body").unwrap_or(tracked.len());
            tracked.insert_str(end, &picture);
        }
        tracked
    }
}

/// The first web address of an `a` element, except those that start with `own`.
pub fn first_link(html: &str, own: &str) -> Option<String> {
    places(html).map(|place| address(&html[place])).find(|address| !address.starts_with(own))
}

/// Adds the prefix to the web address of every `a` element, except those that start with `own`.
fn with_links(html: &str, prefix: &str, own: &str) -> String {
    let mut tracked = String::with_capacity(html.len() * 2);
    let mut done = 0;
    for place in places(html) {
        let address = address(&html[place.clone()]);
        if !address.starts_with(own) {
            tracked.push_str(&html[done..place.start]);
            tracked.push_str(prefix);
            tracked.extend(utf8_percent_encode(&address, NON_ALPHANUMERIC));
            done = place.end;
        }
    }
    tracked.push_str(&html[done..]);
    tracked
}

/// Decodes an address from HTML, where its ampersands may be escaped.
fn address(written: &str) -> String {
    written.replace("&amp;", "&")
}

/// The ranges of the quoted web addresses of `a` elements.
fn places(html: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + html[at..].find('<')?;
            let tag = &html[start..];
            let length = if let Some(comment) = tag.strip_prefix("<!--") {
                comment.find("-->").map_or(tag.len(), |end| end + "<!---->".len())
            } else {
                end_of_tag(tag)
            };
            at = start + length;
            if let Some((from, to)) = target(&tag[..length]) {
                return Some(start + from..start + to);
            }
        }
    })
}

/// The end of a tag, behind its closing `>`; a `>` inside quotes doesn't close it.
fn end_of_tag(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}

/// The range of the quoted web address in the `href` of an `a` tag.
fn target(tag: &str) -> Option<(usize, usize)> {
    let lower = tag.to_ascii_lowercase();
    let mut at = lower
        .strip_prefix("<a")
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_whitespace()))
        .map(|_| 2)?;
    loop {
        at += lower[at..].find(|c: char| !c.is_ascii_whitespace())?;
        let name_end = at + lower[at..].find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>'))?;
        let name = &lower[at..name_end];
        let value = lower[name_end..].trim_start();
        let Some(value) = value.strip_prefix('=').map(str::trim_start) else {
            at = name_end.max(at + 1);
            continue;
        };
        let start = lower.len() - value.len();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (start, end) = match quote {
            Some(quote) => (start + 1, start + 1 + lower[start + 1..].find(quote)?),
            None => (
                start,
                start + value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len()),
            ),
        };
        if name == "href" {
            let web = lower[start..end].starts_with("https://") || lower[start..end].starts_with("http://");
            return (quote.is_some() && web).then_some((start, end));
        }
        at = end + usize::from(quote.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_of_links_are_tracked() {
        let cases = [
            (
                r#"<a href="https://a.test/?x=1&amp;y=2">a</a>"#,
                r#"<a href="P:https%3A%2F%2Fa%2Etest%2F%3Fx%3D1%26y%3D2">a</a>"#,
            ),
            (
                "<A class=x\n HREF = 'http://b.test'>b</A>",
                "<A class=x\n HREF = 'P:http%3A%2F%2Fb%2Etest'>b</A>",
            ),
            (
                r#"<a title="a > b" href="https://c.test">"#,
                r#"<a title="a > b" href="P:https%3A%2F%2Fc%2Etest">"#,
            ),
        ];
        for (html, tracked) in cases {
            assert_eq!(with_links(html, "P:", "http://own.test/_/"), tracked);
        }
        for same in [
            "",
            "a < b",
            "<a",
            "<a ",
            "<a href",
            "<a href=",
            "<a href=\"https://open",
            "<a href=https://bare.test>x</a>",
            r#"<a href="mailto:a@b.test">m</a>"#,
            r#"<a href="http://own.test/_/unsubscribe/x">u</a>"#,
            r##"<a href="#top">t</a>"##,
            r#"<abbr href="https://a.test">"#,
            r#"<img src="https://a.test/x.png">"#,
            r#"<!-- <a href="https://a.test"> -->"#,
            r#"<a data-href="https://a.test" disabled>x</a>"#,
            "<a ===>x</a>",
        ] {
            assert_eq!(with_links(same, "P:", "http://own.test/_/"), same);
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_html_does_not_panic(html in "[<>a= \"'/hrefé!-]{0,40}") {
            with_links(&html, "P:", "http://own.test/_/");
        }
    }
}
