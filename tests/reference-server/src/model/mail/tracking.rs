//! Open and click tracking: an image at the end of the HTML, and links through the domain's tracking host.
//!
//! Only a domain with a verified tracking subdomain has such a host (`docs/specification.md`, Domain). The specification doesn't define tracked emails;
//! here a link to `https://a.test/` becomes `https://<label>.<domain>/click/<email id>?to=https%3A%2F%2Fa.test%2F`.

use std::ops::Range;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::content::html::{Event, walk};
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
    pub fn for_domain(domain: &Domain, own: String) -> Option<Self> {
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
    addresses(html, own).into_iter().next().map(|(_, address)| address)
}

/// Adds the prefix to the web address of every `a` element, except those that start with `own`.
fn with_links(html: &str, prefix: &str, own: &str) -> String {
    let mut tracked = String::with_capacity(html.len() * 2);
    let mut done = 0;
    for (place, address) in addresses(html, own) {
        tracked.push_str(&html[done..place.start]);
        tracked.push_str(prefix);
        tracked.extend(utf8_percent_encode(&address, NON_ALPHANUMERIC));
        done = place.end;
    }
    tracked.push_str(&html[done..]);
    tracked
}

/// The quoted web addresses of `a` elements, except those that start with `own`, with their ranges in the source.
fn addresses(html: &str, own: &str) -> Vec<(Range<usize>, String)> {
    let mut addresses = Vec::new();
    walk(html, &mut |event| {
        if let Event::Start(tag) = event
            && tag.name == "a"
            && let Some(href) = tag.attribute("href")
        {
            let is_quoted = html[..href.place.start].ends_with(['"', '\'']);
            let starts = |with: &&str| {
                href.value.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
            };
            if is_quoted && ["http://", "https://"].iter().any(starts) && !href.value.starts_with(own) {
                addresses.push((href.place.clone(), href.value.clone()));
            }
        }
    });
    addresses
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
