//! The URLs of a mail: in links, images and text.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::document::{Event, Link};
use super::findings::{Findings, Part, Spot};
use super::targets::{OWN_PATH, Targets, mentions_unsubscribe};
use super::{leftovers, rules, strip_ignoring_case};
use idempost_reference_server::content::html::Tag;

/// Elements that begin a block of text.
const BLOCKS: &str = "p div td th tr table li ul ol h1 h2 h3 h4 h5 h6 hr center section header footer blockquote \
    article dt dd";

/// Checks URLs.
#[derive(Default)]
pub(super) struct Links {
    ids: HashSet<String>,
    /// Links to IDs within the HTML, with their positions.
    anchors: Vec<(String, Spot)>,
    has_base: bool,
    has_unsubscribe: bool,
    /// Whether the walk is inside a link.
    in_link: bool,
    targets: Targets,
}

impl Links {
    pub(super) fn new(targets: Targets) -> Self {
        Self { targets, ..Self::default() }
    }

    /// Returns whether the mail contains an unsubscribe link.
    pub(super) fn has_unsubscribe(&self) -> bool {
        self.has_unsubscribe
    }

    pub(super) fn visit(
        &mut self,
        event: &Event<'_>,
        content_ids: &HashSet<String>,
        findings: &mut Findings,
    ) {
        match event {
            Event::Start(tag) => self.tag(tag, content_ids, findings),
            Event::Link(link) => self.link(link, findings),
            Event::Text(text, _) if !self.in_link => self.targets.text(text.decoded),
            _ => {}
        }
    }

    fn tag(&mut self, tag: &Tag<'_>, content_ids: &HashSet<String>, findings: &mut Findings) {
        self.has_base |= tag.name == "base" && tag.get("href").is_some();
        self.in_link |= tag.name == "a" && tag.get("href").is_some();
        if BLOCKS.split(' ').any(|block| block == tag.name) {
            self.targets.end_block();
        }
        for name in ["id", "name"] {
            self.ids.extend(tag.get(name).map(str::to_owned));
        }
        let image = match tag.name {
            "img" => tag.get("src"),
            "area" => {
                if let Some(href) = tag.get("href") {
                    let label = tag.get("alt").unwrap_or_default();
                    self.url(href, Some(label), Part::Html, tag.offset, tag.source, findings);
                }
                return;
            }
            _ => tag.get("background"),
        };
        let Some(src) = image.map(str::trim) else { return };
        if let Some(id) = strip_ignoring_case(src, "cid:") {
            let id = percent_encoding::percent_decode_str(id).decode_utf8_lossy();
            if !content_ids.contains(&*id) {
                findings.add(&rules::IMAGE_NOT_ATTACHED, || Spot::new(Part::Html, tag.offset, tag.source));
            }
        } else {
            self.url(src, None, Part::Html, tag.offset, tag.source, findings);
        }
    }

    fn link(&mut self, link: &Link, findings: &mut Findings) {
        self.in_link = false;
        let spot = || Spot::new(Part::Html, link.offset, &link.source);
        if link.text.trim().is_empty() && !link.is_labeled {
            findings.add(&rules::LINK_WITHOUT_TEXT, spot);
        }
        let is_unsubscribe = |text: &str| {
            let text = text.to_ascii_lowercase();
            ["unsubscribe", "opt-out", "optout", "opt out"].iter().any(|word| text.contains(word))
        };
        self.has_unsubscribe |= is_unsubscribe(&link.text) || is_unsubscribe(shorten_url(&link.href));
        let says = format!("{} {}", link.text, link.labels);
        let url = self.url(&link.href, Some(&says), Part::Html, link.offset, &link.source, findings);
        if let (Some(url), Some(shown)) = (url, displayed_domain(&link.text))
            && url.host_str().is_some_and(|host| registered_domain(host) != registered_domain(&shown))
        {
            findings.add(&rules::LINK_MISLEADING, || {
                Spot::new(Part::Html, link.offset, &format!("{} → {}", link.text.trim(), link.href))
            });
        }
    }

    /// Checks the URLs in the text part. If the HTML contains the same links, they are only requested.
    pub(super) fn text(&mut self, text: &str, is_alone: bool, findings: &mut Findings) {
        self.targets.end_block();
        let mut next = 0;
        for at in memchr::memmem::find_iter(text.as_bytes(), "http") {
            let rest = shorten_url(&text[at..]);
            if at < next || !(rest.starts_with("http://") || rest.starts_with("https://")) {
                continue;
            }
            let ends = |char: char| char.is_whitespace() || "<>\"'()[]{}|".contains(char);
            let url = rest
                .find(ends)
                .map_or(rest, |end| &rest[..end])
                .trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
            next = at + url.len();
            let says = surrounding_lines(text, at, next);
            if is_alone {
                self.url(url, Some(says), Part::Text, at, url, findings);
            } else if let Some(parsed) = Url::parse(url).ok().filter(|_| !leftovers::is_template(url)) {
                self.targets.add(parsed, mentions_unsubscribe(says), || Spot::new(Part::Text, at, url));
            }
        }
        self.has_unsubscribe |= is_alone && text.to_ascii_lowercase().contains("unsubscribe");
    }

    /// Checks the URL of a link with this text, or of an image. Returns it if it is `http:` or `https:`.
    fn url(
        &mut self,
        url: &str,
        says: Option<&str>,
        part: Part,
        offset: usize,
        source: &str,
        findings: &mut Findings,
    ) -> Option<Url> {
        let spot = || Spot::new(part, offset, source);
        let url = url.trim();
        if leftovers::is_template(url) {
            return None;
        }
        let is_link = says.is_some();
        if is_link && (url.is_empty() || url == "#" || strip_ignoring_case(url, "javascript:void").is_some())
        {
            findings.add(&rules::LINK_PLACEHOLDER, spot);
            return None;
        }
        if let Some(id) = url.strip_prefix('#').filter(|_| is_link) {
            // According to the HTML standard, `#top` is the beginning of the document.
            if !id.eq_ignore_ascii_case("top") && self.anchors.len() < 1_000 {
                self.anchors.push((id.to_owned(), spot()));
            }
            return None;
        }
        let Some((scheme, rest)) = split_scheme(url) else {
            if !self.has_base {
                findings.add(&rules::URL_RELATIVE, spot);
            }
            return None;
        };
        match &*scheme {
            "http" | "https" => {
                if let (Some(says), true, Ok(parsed)) = (says, rest.starts_with("//"), Url::parse(url)) {
                    self.targets.add(
                        parsed,
                        mentions_unsubscribe(shorten_url(url)) || mentions_unsubscribe(says),
                        spot,
                    );
                }
                return check_web_url(url, &scheme, rest, findings, spot);
            }
            "javascript" | "vbscript" | "file" | "blob" | "about" => findings.add(&rules::LINK_BLOCKED, spot),
            "data" if is_link => findings.add(&rules::LINK_BLOCKED, spot),
            "mailto" if !is_mailto(rest) => findings.add(&rules::LINK_INVALID, spot),
            // Misspelled: `htpp:`, `htttps:`, `ttps:`.
            other
                if other.len() <= 7
                    && other.len() > 2
                    && other.bytes().all(|byte| b"htps".contains(&byte)) =>
            {
                findings.add(&rules::LINK_INVALID, spot);
            }
            _ => {}
        }
        None
    }

    /// Adds the findings that require the complete HTML. Returns the links to request.
    pub(super) fn finish(self, findings: &mut Findings) -> Targets {
        for (id, spot) in self.anchors {
            let decoded = percent_encoding::percent_decode_str(&id).decode_utf8_lossy();
            if !self.ids.contains(&id) && !self.ids.contains(&*decoded) {
                findings.add(&rules::ANCHOR_BROKEN, || spot);
            }
        }
        self.targets
    }
}

/// Returns the line of a link in a text and the line before it, up to a limit.
fn surrounding_lines(text: &str, start: usize, end: usize) -> &str {
    let near = text.floor_char_boundary(start.saturating_sub(200));
    let line = text[near..start].rmatch_indices('\n').nth(1).map_or(near, |(at, _)| near + at);
    let rest = &text[end..text.floor_char_boundary(end + 100)];
    &text[line..end + rest.find('\n').unwrap_or(rest.len())]
}

fn check_web_url(
    url: &str,
    scheme: &str,
    rest: &str,
    findings: &mut Findings,
    spot: impl Fn() -> Spot,
) -> Option<Url> {
    let Some(parsed) = Url::parse(url).ok().filter(|_| rest.starts_with("//")) else {
        findings.add(&rules::LINK_INVALID, spot);
        return None;
    };
    if parsed.path().starts_with(OWN_PATH) {
        return None;
    }
    let mut is_local = false;
    match parsed.host() {
        Some(Host::Ipv4(ip)) => is_local = is_private(ip),
        Some(Host::Ipv6(ip)) => is_local = is_private_v6(ip),
        Some(Host::Domain(host)) => {
            let host = host.trim_end_matches('.');
            let top = host.rsplit('.').next().unwrap_or_default();
            is_local = !host.contains('.')
                || ["localhost", "local", "internal", "lan", "intranet", "home", "corp"].contains(&top);
            let reserved = ["example.com", "example.net", "example.org"];
            let is_reserved = reserved
                .iter()
                .any(|name| host.strip_suffix(name).is_some_and(|sub| sub.is_empty() || sub.ends_with('.')));
            if is_reserved || ["example", "test", "invalid"].contains(&top) {
                findings.add(&rules::LINK_PLACEHOLDER, &spot);
            }
        }
        None => {}
    }
    if is_local {
        findings.add(&rules::LINK_PRIVATE, &spot);
    } else if scheme == "http" {
        findings.add(&rules::URL_INSECURE, &spot);
    }
    Some(parsed)
}

/// Returns the scheme in lower case, and the text after its colon. `example.com:80` and `localhost:80` have no scheme.
fn split_scheme(url: &str) -> Option<(String, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
    let fits = scheme.starts_with(|char: char| char.is_ascii_alphabetic()) && scheme.bytes().all(fits);
    (fits && !scheme.eq_ignore_ascii_case("localhost")).then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Returns whether each recipient in a `mailto:` URL has an address. Recipients are optional (RFC 6068).
fn is_mailto(rest: &str) -> bool {
    let to = rest.split('?').next().unwrap_or_default();
    let to = percent_encoding::percent_decode_str(to).decode_utf8_lossy();
    let is_address = |one: &str| {
        one.trim().rsplit_once('@').is_some_and(|(local, host)| !local.is_empty() && !host.is_empty())
    };
    if to.is_empty() { rest.starts_with('?') } else { to.split(',').all(is_address) }
}

fn is_private(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    ip.is_private() || ip.is_loopback() || ip.is_link_local() || first == 0 || is_shared
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    let mapped = ip.to_ipv4_mapped().is_some_and(is_private);
    ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local() || mapped
}

/// Top-level domains that mark a word as a domain name even without `www.`; others are also file extensions.
const TOP_LEVEL: [&str; 16] =
    ["com", "org", "net", "io", "dev", "app", "co", "de", "uk", "fr", "eu", "ai", "us", "info", "shop", "ch"];

/// Returns the domain shown in a link's text, if the text is a URL or a domain name.
fn displayed_domain(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > 500 || text.contains(char::is_whitespace) || text.contains('@') {
        return None;
    }
    let after = strip_ignoring_case(text, "https://").or_else(|| strip_ignoring_case(text, "http://"));
    let host = after.unwrap_or(text).split(['/', '?', '#', ':']).next().unwrap_or_default().to_lowercase();
    let top = host.rsplit('.').next().unwrap_or_default();
    let is_url = after.is_some() || host.starts_with("www.") || TOP_LEVEL.contains(&top);
    let fits = |char: char| char.is_alphanumeric() || matches!(char, '-' | '.');
    let is_host = host.contains('.') && !host.starts_with('.') && host.chars().all(fits);
    // Parsed as a URL's host, to handle internationalized names.
    (is_url && is_host)
        .then(|| Url::parse(&format!("https://{host}/")).ok()?.host_str().map(str::to_owned))
        .flatten()
}

/// Returns the registered part of a host name, estimated without the public suffix list.
fn registered_domain(host: &str) -> String {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if host.parse::<Ipv4Addr>().is_ok() {
        return host;
    }
    let labels: Vec<_> = host.rsplit('.').take(3).collect();
    let second = labels.get(1).copied().unwrap_or_default();
    let is_suffix = labels[0].len() == 2 && ["co", "com", "org", "net", "gov", "ac", "edu"].contains(&second);
    let count = if is_suffix { 3 } else { 2 };
    labels.into_iter().take(count).collect::<Vec<_>>().join(".")
}

/// Returns the beginning of a URL; a `data:` URL can be very long.
fn shorten_url(url: &str) -> &str {
    url.char_indices().nth(2_000).map_or(url, |(end, _)| &url[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::document;

    fn found(html: &str) -> Vec<String> {
        let (mut links, mut findings) = (Links::default(), Findings::default());
        document::walk(html, &mut |event| {
            links.visit(&event, &HashSet::from(["logo".to_owned()]), &mut findings);
        });
        links.finish(&mut findings);
        let mut codes: Vec<_> =
            findings.finish(html, "").into_iter().map(|one| one.code.to_owned()).collect();
        codes.sort();
        codes
    }

    #[test]
    fn each_kind_of_wrong_link_has_its_code() {
        for (href, codes) in [
            ("https://acme.com/x?y=1&amp;z", &[][..]),
            ("HTTPS://ACME.COM", &[]),
            (" https://acme.com ", &[]),
            ("mailto:ada@acme.com?subject=x", &[]),
            ("mailto:?subject=x", &[]),
            ("tel:+123", &[]),
            ("myapp://open", &[]),
            ("#top", &[]),
            ("#here", &[]),
            ("http://127.0.0.1:4010/_/unsubscribe/abc", &[]),
            ("http://acme.com", &["url_insecure"]),
            ("#", &["link_placeholder"]),
            ("", &["link_placeholder"]),
            ("javascript:void(0)", &["link_placeholder"]),
            ("https://example.com/x", &["link_placeholder"]),
            ("https://www.example.org", &["link_placeholder"]),
            ("https://shop.test", &["link_placeholder"]),
            ("https://myexample.com", &[]),
            ("https://localhost:3000/x", &["link_private"]),
            ("http://app.localhost", &["link_private"]),
            ("http://192.168.0.1", &["link_private"]),
            ("http://2130706433/", &["link_private"]),
            ("https://[::1]/", &["link_private"]),
            ("https://[::ffff:10.0.0.1]/", &["link_private"]),
            ("https://intranet/", &["link_private"]),
            ("https://printer.local/", &["link_private"]),
            ("https://172.32.0.1/", &[]),
            ("/account", &["url_relative"]),
            ("//acme.com/x", &["url_relative"]),
            ("www.acme.com", &["url_relative"]),
            ("localhost:3000", &["url_relative"]),
            ("acme.com:8080", &["url_relative"]),
            ("https://", &["link_invalid"]),
            ("https:acme.com", &["link_invalid"]),
            ("http://link with spaces", &["link_invalid"]),
            ("htps://acme.com", &["link_invalid"]),
            ("mailto:ada", &["link_invalid"]),
            ("mailto:", &["link_invalid"]),
            ("javascript:alert(1)", &["link_blocked"]),
            ("file:///etc/passwd", &["link_blocked"]),
            ("data:text/html,x", &["link_blocked"]),
            ("#nowhere", &["anchor_broken"]),
            ("https://acme.com/{{id}}", &[]),
        ] {
            assert_eq!(found(&format!("<p id=here><a href=\"{href}\">x</a>")), codes, "{href}");
        }
    }

    #[test]
    fn images_need_reachable_urls_or_attached_parts() {
        for (src, codes) in [
            ("https://acme.com/x.png", &[][..]),
            ("cid:logo", &[]),
            ("CID:l%6Fgo", &[]),
            ("data:image/png;base64,x", &[]),
            ("cid:other", &["image_not_attached"]),
            ("logo.png", &["url_relative"]),
            ("", &["url_relative"]),
            ("file:///logo.png", &["link_blocked"]),
            ("http://localhost/logo.png", &["link_private"]),
        ] {
            assert_eq!(found(&format!("<img alt='' src='{src}'>")), codes, "{src}");
        }
        assert_eq!(found("<base href=https://acme.com><img src=logo.png>"), [""; 0]);
    }

    #[test]
    fn text_that_shows_another_domain_is_misleading() {
        for (text, href, codes) in [
            ("acme.com", "https://acme.com/x", &[][..]),
            ("https://acme.com", "https://click.acme.com/x", &[]),
            ("www.acme.co.uk", "https://news.acme.co.uk", &[]),
            ("Node.js", "https://nodejs.org", &[]),
            ("report.pdf", "https://acme.com/report.pdf", &[]),
            ("ada@acme.com", "https://other.com", &[]),
            ("read acme.com", "https://other.com", &[]),
            ("acme.com", "mailto:ada@other.com", &[]),
            ("bücher.de", "https://xn--bcher-kva.de", &[]),
            ("acme.com", "https://evil.com/acme.com", &["link_misleading"]),
            (" https://acme.com/login ", "https://acme.com.evil.io", &["link_misleading"]),
            ("one.co.uk", "https://two.co.uk", &["link_misleading"]),
            ("<b>acme</b>.com", "https://evil.com", &["link_misleading"]),
            ("", "https://acme.com", &["link_without_text"]),
            ("<img src=cid:logo alt='Acme'>", "https://acme.com", &[]),
        ] {
            assert_eq!(found(&format!("<a href=\"{href}\">{text}</a>")), codes, "{text} {href}");
        }
    }
}
