//! Checks a mail for problems that recipients would see, and reports them as findings with stable codes.
//!
//! The check is a function of the message, with linear cost and without network, clock or account. The results of requested links are passed in.
//!
//! | file | contents |
//! |---|---|
//! | `rules` | the table of codes, with severities and sentences |
//! | `findings` | findings and their positions |
//! | `message` | the parts; headers, sizes and character sets |
//! | `document`, `css` | walks through the HTML and its styles |
//! | `support` | HTML and CSS that mail clients don't support |
//! | `links`, `leftovers` | URLs; placeholders, missing values and dummy text |
//! | `targets` | the links that may be requested, and the findings about requested ones |

mod css;
mod document;
mod findings;
mod leftovers;
mod links;
mod message;
mod rules;
mod support;
mod targets;

use std::collections::{HashMap, HashSet};

use encoding_rs::Encoding;
use url::Url;

use self::document::Event;
use self::findings::{Findings, Spot};
use self::links::Links;
use self::message::Parts;
use self::support::Support;
use self::targets::Targets;
use idempost_reference_server::content::html::Tag;
use idempost_reference_server::mime;
use idempost_reference_server::wire::described;

pub use self::findings::{Finding, Part, Place};
pub use self::rules::{RULES, Rule, Severity};
pub use self::support::{Family, FeatureSupport};
pub use self::targets::{LinkReport, LinkState, RequestedLink};

described! {
    /// The result of checking one mail.
    #[derive(Debug)]
    pub struct Report {
        /// Always `check`.
        pub object: &'static str,
        /// The mail's subject.
        pub subject: String,
        /// The sizes, in bytes.
        pub sizes: Sizes,
        /// The findings, errors first.
        pub findings: Vec<Finding>,
        /// All HTML and CSS features of the mail, least supported first.
        pub features: Vec<FeatureSupport>,
        /// The links, if they were requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub links: Option<LinkReport>,
    }

    /// The sizes of a mail, in bytes.
    #[derive(Clone, Debug, Default)]
    pub struct Sizes {
        /// The complete message. `None` for a mail that wasn't sent.
        pub message: Option<usize>,
        /// The HTML, decoded.
        pub html: Option<usize>,
        /// The text part, decoded.
        pub text: Option<usize>,
        /// The attached images, decoded.
        pub images: usize,
    }
}

/// Returns the names of all HTML and CSS features in [`Report::features`].
pub fn features() -> impl Iterator<Item = &'static str> + Clone {
    support::names()
}

/// Checks a message (RFC 5322).
pub fn message(raw: &[u8]) -> Report {
    check_message(raw).finish()
}

/// Checks a message, and collects the links to request.
pub(crate) fn check_message(raw: &[u8]) -> Examined {
    let mut findings = Findings::default();
    let parts = match mime::parse(raw) {
        Ok(Some(message)) if message.headers().iter().any(|header| is_known(header.name())) => {
            Parts::from_message(raw, &message, &mut findings)
        }
        unreadable => {
            let reason = unreadable.err().map_or("has no headers", mime::NotParsed::text);
            findings.add_with_message(
                &rules::MESSAGE_UNREADABLE,
                format!("The message can't be parsed: it {reason}."),
            );
            return Examined {
                parts: Parts::from_unparsable(raw),
                findings,
                features: Vec::new(),
                targets: Targets::default(),
            };
        }
    };
    check_parts(parts, findings)
}

/// Returns whether this header shows that the text is a message: the parser accepts any text.
fn is_known(header: &str) -> bool {
    let known = ["from", "to", "subject", "date", "message-id", "mime-version", "content-type"];
    known.iter().any(|known| header.eq_ignore_ascii_case(known))
}

/// Checks a mail that isn't a message yet. `unsubscribe` is its `List-Unsubscribe` value, whose links aren't requested.
pub(crate) fn check_bodies(
    subject: &str,
    html: Option<&str>,
    text: Option<&str>,
    unsubscribe: Option<&str>,
) -> Examined {
    check_parts(Parts::from_bodies(subject, html, text, unsubscribe), Findings::default())
}

/// A checked mail, whose links can still be requested.
#[derive(Clone)]
pub(crate) struct Examined {
    parts: Parts,
    findings: Findings,
    features: Vec<FeatureSupport>,
    targets: Targets,
}

impl Examined {
    /// Returns the links to request: distinct, limited in number, and without links that may unsubscribe the recipient.
    pub(crate) fn links(&self) -> Vec<Url> {
        self.targets.urls()
    }

    /// Returns the result without link requests.
    pub(crate) fn finish(self) -> Report {
        self.report(None)
    }

    /// Returns the result, including the results of the link requests.
    pub(crate) fn finish_with(mut self, links: HashMap<Url, RequestedLink>) -> Report {
        let links = std::mem::take(&mut self.targets).finish(links, &mut self.findings);
        self.report(Some(links))
    }

    fn report(self, links: Option<LinkReport>) -> Report {
        let Self { parts, findings, features, targets: _ } = self;
        let (html, text) =
            (parts.html.as_deref().unwrap_or_default(), parts.text.as_deref().unwrap_or_default());
        let findings = findings.finish(html, text);
        Report { object: "check", subject: parts.subject, sizes: parts.sizes, findings, features, links }
    }
}

fn check_parts(parts: Parts, mut findings: Findings) -> Examined {
    parts.check(&mut findings);
    leftovers::find_in_text(&parts.subject, &mut |rule, range| {
        findings.add(rule, || Spot::in_part(Part::Subject, &parts.subject[range]));
    });
    let mut links = Links::new(Targets::new(parts.unsubscribe_urls()));
    let mut support = Support::default();
    let (html, text) = (parts.html.as_deref().unwrap_or_default(), parts.text.as_deref().unwrap_or_default());
    if !html.trim().is_empty() {
        let mut page = Page::default();
        document::walk(html, &mut |event| {
            support.visit(&event);
            links.visit(&event, &parts.content_ids, &mut findings);
            page.visit(&event, parts.charset, &mut findings);
        });
        page.finish(&parts, &mut findings);
    }
    check_text(text, &mut findings);
    links.text(text, html.trim().is_empty(), &mut findings);
    parts.check_unsubscribe(links.has_unsubscribe(), &mut findings);
    let targets = links.finish(&mut findings);
    let features = support.finish(&mut findings);
    Examined { parts, findings, features, targets }
}

/// Applies the rules about the text part alone.
fn check_text(text: &str, findings: &mut Findings) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        leftovers::find_in_text(line, &mut |rule, range| {
            findings.add(rule, || Spot::new(Part::Text, at + range.start, &line[range]));
        });
        at += line.len();
    }
    if let Some(at) = message::find_mojibake(text) {
        findings.add(&rules::GARBLED, || Spot::new(Part::Text, at, &text[at..]));
    }
}

/// The rules about the HTML other than links and client support.
#[derive(Default)]
struct Page {
    /// The distinct words in its text, in lower case.
    words: HashSet<String>,
    /// The number of letters and digits in its text.
    letters: usize,
    images: usize,
    has_language: bool,
}

impl Page {
    fn visit(&mut self, event: &Event<'_>, charset: Option<&'static Encoding>, findings: &mut Findings) {
        match event {
            Event::Start(tag) => self.tag(tag, charset, findings),
            Event::Text(text, is_code) => {
                self.letters += text.decoded.chars().filter(|char| char.is_alphanumeric()).count();
                self.words.extend(words(text.decoded));
                // Character references make the positions in a text differ from those in its source.
                let is_exact = text.decoded == text.source;
                let place = |at, excerpt: &str| {
                    let offset = if is_exact { text.offset + at } else { text.offset };
                    Spot::new(Part::Html, offset, excerpt)
                };
                if !is_code {
                    leftovers::find_in_text(text.decoded, &mut |rule, range| {
                        findings.add(rule, || place(range.start, &text.decoded[range]));
                    });
                }
                if let Some(at) = message::find_mojibake(text.decoded) {
                    findings.add(&rules::GARBLED, || place(at, &text.decoded[at..]));
                }
            }
            _ => {}
        }
    }

    fn tag(&mut self, tag: &Tag<'_>, charset: Option<&'static Encoding>, findings: &mut Findings) {
        let spot = || Spot::new(Part::Html, tag.offset, tag.source);
        for (name, value) in tag.attributes().iter().map(|one| (&*one.name, &*one.value)) {
            let mut left = |rule: &'static Rule, _| findings.add(rule, spot);
            match name {
                "alt" | "title" | "aria-label" | "placeholder" => leftovers::find_in_text(value, &mut left),
                "href" | "src" | "background" | "action" if strip_ignoring_case(value, "data:").is_none() => {
                    leftovers::find_in_url(value, &mut left);
                }
                _ => {}
            }
        }
        match tag.name {
            "html" => self.has_language |= tag.get("lang").is_some_and(|lang| !lang.trim().is_empty()),
            "img" => {
                let is_pixel = |name| tag.get(name).is_some_and(|size| matches!(size.trim(), "0" | "1"));
                let is_pixel = is_pixel("width") && is_pixel("height");
                self.images += usize::from(!is_pixel);
                if tag.get("alt").is_none() && !is_pixel && !tag.has_attribute_value("role", "presentation") {
                    findings.add(&rules::IMAGE_WITHOUT_ALT, spot);
                }
            }
            "script"
                if !tag.has_attribute_value("type", "application/ld+json")
                    && !tag.has_attribute_value("type", "application/json") =>
            {
                findings.add(&rules::SCRIPT, spot);
            }
            "meta" => {
                let content = || {
                    tag.get("content")?
                        .to_ascii_lowercase()
                        .split_once("charset=")
                        .map(|(_, name)| name.to_owned())
                };
                let declared = tag.get("charset").map(str::to_owned);
                let declared = declared.or_else(|| {
                    tag.has_attribute_value("http-equiv", "content-type").then(content).flatten()
                });
                let declared = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
                if declared.is_some_and(|declared| charset.is_some_and(|charset| charset != declared)) {
                    findings.add(&rules::CHARSET_CONFLICT, spot);
                }
            }
            _ => {}
        }
    }

    fn finish(self, parts: &Parts, findings: &mut Findings) {
        if !self.has_language {
            findings.add_without_place(&rules::LANGUAGE_MISSING);
        }
        if self.images > 0 && self.letters < 20 {
            findings.add_without_place(&rules::IMAGES_ONLY);
        }
        let Some(text) = &parts.text else {
            findings.add_without_place(&rules::TEXT_MISSING);
            return;
        };
        if text.trim().is_empty() {
            if self.letters > 0 {
                findings.add_without_place(&rules::TEXT_EMPTY);
            }
            return;
        }
        let own: HashSet<_> = words(text).collect();
        // Among few words, a single different one would be a large share.
        if self.words.len() >= 20 && own.len() >= 3 && own.intersection(&self.words).count() * 4 < own.len() {
            findings.add_without_place(&rules::TEXT_DIFFERS);
        }
    }
}

/// Returns the text after a prefix in any ASCII case.
pub(crate) fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns the words with at least three letters, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|char: char| !char.is_alphanumeric());
    words.filter(|word| word.chars().nth(2).is_some()).map(str::to_lowercase)
}
