//! Mail clients' support for the HTML and CSS in a mail, based on data from Can I email (`support/caniemail.tsv`, with its license).
//!
//! Each client counts once, in its newest tested version. Features are counted in the source, whether or not an element matches the rule.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use self::detect::{Kind, sources_of};
use super::css::{self, Item, Simple, Token};
use super::document::Event;
use super::findings::{Findings, Part, Spot};
use super::{rules, strip_ignoring_case};
use idempost_reference_server::content::html::Tag;
use idempost_reference_server::wire::described;

mod detect;

/// The maximum number of positions in a feature's finding.
const MAX_SPOTS: usize = 3;
const DATA: &str = include_str!("support/caniemail.tsv");

described! {
    /// A feature that a mail uses, and the mail clients that support it.
    #[derive(Clone, Debug)]
    pub struct FeatureSupport {
        /// The name on caniemail.com, such as `css-gap`.
        pub name: &'static str,
        /// The title, such as `display:flex`.
        pub title: &'static str,
        /// The page with the details.
        pub url: String,
        /// How often the mail uses it.
        pub count: usize,
        /// The number of clients with full support.
        pub supported: usize,
        /// The number of clients with partial support.
        pub partial: usize,
        /// The number of clients without support.
        pub unsupported: usize,
        /// The clients by family.
        pub families: Vec<Family>,
    }

    /// A vendor's clients, by platform.
    #[derive(Clone, Debug)]
    pub struct Family {
        /// The name, such as `Gmail`.
        pub name: &'static str,
        /// The platforms with full support, such as `iOS`.
        pub supported: Vec<&'static str>,
        /// The platforms with partial support.
        pub partial: Vec<&'static str>,
        /// The platforms without support.
        pub unsupported: Vec<&'static str>,
    }
}

struct Feature {
    name: &'static str,
    title: &'static str,
    /// One letter per client.
    support: &'static [u8],
}

/// The data, and its index.
struct Data {
    /// Family and platform.
    clients: Vec<(&'static str, &'static str)>,
    features: Vec<Feature>,
    by_source: HashMap<(Kind, &'static str), Vec<usize>>,
}

static SUPPORT: LazyLock<Data> = LazyLock::new(|| {
    let mut lines = DATA.lines().filter(|line| !line.starts_with('#'));
    let clients =
        lines.next().unwrap_or_default().split('|').filter_map(|client| client.split_once('/')).collect();
    let features: Vec<_> = lines
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let (name, title, support) = (fields.next()?, fields.next()?, fields.next()?.as_bytes());
            Some(Feature { name, title, support })
        })
        .collect();
    let mut by_source: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, feature) in features.iter().enumerate() {
        for source in sources_of(feature.name) {
            by_source.entry(source).or_default().push(index);
        }
    }
    Data { clients, features, by_source }
});

/// Returns the names of all features.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    SUPPORT.features.iter().map(|feature| feature.name)
}

/// Counts the features of a mail.
#[derive(Default)]
pub(super) struct Support {
    /// The count and first positions of each used feature, by index.
    used: HashMap<usize, (usize, Vec<Spot>)>,
}

impl Support {
    pub(super) fn visit(&mut self, event: &Event<'_>) {
        match event {
            Event::Doctype(at) => {
                self.record_use(Kind::Other, "doctype", &|| Spot::new(Part::Html, *at, "<!doctype>"));
            }
            Event::Comment(at) => {
                self.record_use(Kind::Other, "comment", &|| Spot::new(Part::Html, *at, "<!-- -->"));
            }
            Event::Start(tag) => self.tag(tag),
            Event::Style(text, offset) => {
                css::scan_stylesheet(text, &mut |at, item| {
                    self.css(&item, &|excerpt| Spot::new(Part::Html, offset + at, excerpt));
                });
            }
            Event::Text(..) | Event::Link(_) => {}
        }
    }

    fn record_use(&mut self, kind: Kind, name: &str, spot: &dyn Fn() -> Spot) {
        let name = to_lowercase(name);
        for index in SUPPORT.by_source.get(&(kind, &*name)).into_iter().flatten() {
            let (count, spots) = self.used.entry(*index).or_default();
            *count += 1;
            if spots.len() < MAX_SPOTS {
                spots.push(spot());
            }
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        let spot = || Spot::new(Part::Html, tag.offset, tag.source);
        self.record_use(Kind::Element, tag.name, &spot);
        for (name, value) in tag.attributes().iter().map(|one| (&*one.name, &*one.value)) {
            self.record_use(Kind::Attribute, name, &spot);
            match name {
                "style" => css::scan_declarations(value, &mut |_, item| self.css(&item, &|_| spot())),
                "type" if matches!(tag.name, "input" | "button") => {
                    self.record_use(Kind::Type, &format!("{} {}", tag.name, value.trim()), &spot);
                }
                "href" if tag.name == "a" && value.starts_with('#') => {
                    self.record_use(Kind::Other, "anchor", &spot);
                }
                "href" if tag.name == "a" && strip_ignoring_case(value, "mailto:").is_some() => {
                    self.record_use(Kind::Other, "mailto", &spot);
                }
                "usemap" if tag.name == "img" => self.record_use(Kind::Element, "map", &spot),
                "name" if tag.name == "meta" => self.record_use(Kind::Meta, value.trim(), &spot),
                "⚡4email" | "amp4email" if tag.name == "html" => self.record_use(Kind::Other, "amp", &spot),
                "src" if tag.name == "img" => self.image(value, &spot),
                "background" => self.image(value, &spot),
                "srcset" if matches!(tag.name, "img" | "source") => {
                    for candidate in value.split(',').take(100) {
                        self.image(candidate.split_whitespace().next().unwrap_or_default(), &spot);
                    }
                }
                _ => {}
            }
        }
        // By default, a button submits and an input takes text.
        match tag.name {
            "button" if tag.get("type").is_none() => self.record_use(Kind::Type, "button submit", &spot),
            "input" if tag.get("type").is_none() => self.record_use(Kind::Type, "input text", &spot),
            _ => {}
        }
    }

    /// Counts an image by its media type or file extension.
    fn image(&mut self, url: &str, spot: &dyn Fn() -> Spot) {
        let url = url.trim();
        if let Some(data) = strip_ignoring_case(url, "data:") {
            let kind = data.split([';', ',']).next().unwrap_or_default();
            self.record_use(Kind::Other, "data", spot);
            if let Some(subtype) = strip_ignoring_case(kind, "image/") {
                self.record_use(Kind::Image, subtype, spot);
            }
            return;
        }
        let path = url.split(['?', '#']).next().unwrap_or_default();
        if let Some((_, extension)) = path.rsplit_once('.') {
            self.record_use(Kind::Image, extension, spot);
        }
    }

    fn css(&mut self, item: &Item<'_>, spot: &dyn Fn(&str) -> Spot) {
        match item {
            Item::Comment => self.record_use(Kind::Other, "css comment", &|| spot("/* */")),
            Item::Nested => self.record_use(Kind::Other, "nesting", &|| spot("&")),
            Item::AtRule(name, prelude) => {
                let place = || spot(&format!("@{name} {prelude}"));
                let name = name.strip_prefix("-webkit-").unwrap_or(name);
                self.record_use(Kind::AtRule, name, &place);
                if matches!(name, "media" | "import") {
                    css::scan_tokens(prelude, &mut |token| {
                        if let Token::Word(word) = token {
                            self.record_use(Kind::Media, word, &place);
                        }
                    });
                }
            }
            Item::Selector(text) => css::scan_selectors(text, &mut |one| {
                let place = || spot(text);
                match one {
                    Simple::PseudoClass(name) => self.record_use(Kind::PseudoClass, name, &place),
                    Simple::PseudoElement(name) => self.record_use(Kind::PseudoElement, name, &place),
                    Simple::Selector(name) => self.record_use(Kind::Selector, name, &place),
                }
            }),
            Item::Declaration(property, value) => {
                let place = || spot(&format!("{property}: {value}"));
                if property.starts_with("--") {
                    self.record_use(Kind::Function, "var", &place);
                } else {
                    self.record_use(Kind::Property, property, &place);
                }
                css::scan_tokens(value, &mut |token| match token {
                    Token::Function(name) => {
                        self.record_use(Kind::Function, name, &place);
                        self.record_use(Kind::Word, name, &place);
                    }
                    Token::Word(word) => {
                        self.record_use(Kind::Word, word, &place);
                        if *property == "display" {
                            self.record_use(Kind::Display, word, &place);
                        }
                    }
                    Token::Unit(unit) => self.record_use(Kind::Unit, unit, &place),
                });
            }
        }
    }

    /// Returns all features, least supported first, and adds the findings about them.
    pub(super) fn finish(self, findings: &mut Findings) -> Vec<FeatureSupport> {
        let mut features: Vec<_> = self
            .used
            .into_iter()
            .map(|(index, (count, spots))| (SUPPORT.features[index].with_count(count), spots))
            .filter(|(feature, _)| feature.tested_clients() > 0)
            .collect();
        // In per mille, so that equal shares compare equal.
        let share = |feature: &FeatureSupport| {
            (
                feature.helped() * 1_000 / feature.tested_clients(),
                feature.supported * 1_000 / feature.tested_clients(),
            )
        };
        features.sort_by(|(a, _), (b, _)| share(a).cmp(&share(b)).then(a.name.cmp(b.name)));
        let all = features.into_iter().map(|(feature, spots)| {
            // Lack of support in up to a tenth of the clients is ignored, since these are rarely used.
            if feature.helped() * 10 < feature.tested_clients() * 9 && !detect::is_recommended(feature.name) {
                let is_content =
                    detect::is_content(feature.name) && feature.helped() * 2 < feature.tested_clients();
                let rule = if is_content { &rules::CONTENT_UNSUPPORTED } else { &rules::FEATURE_UNSUPPORTED };
                findings.feature(rule, feature.name, feature.describe(), feature.count, spots);
            }
            feature
        });
        all.collect()
    }
}

impl Feature {
    fn with_count(&self, count: usize) -> FeatureSupport {
        let mut families: Vec<Family> = Vec::new();
        for ((name, platform), letter) in SUPPORT.clients.iter().zip(self.support) {
            if families.last().is_none_or(|family| family.name != *name) {
                families.push(Family {
                    name,
                    supported: Vec::new(),
                    partial: Vec::new(),
                    unsupported: Vec::new(),
                });
            }
            let Some(family) = families.last_mut() else { continue };
            match letter {
                b'y' => family.supported.push(platform),
                b'p' => family.partial.push(platform),
                b'n' => family.unsupported.push(platform),
                _ => {}
            }
        }
        families
            .retain(|family| family.supported.len() + family.partial.len() + family.unsupported.len() > 0);
        let of = |letter| memchr::memchr_iter(letter, self.support).count();
        FeatureSupport {
            name: self.name,
            title: self.title,
            url: format!("https://www.caniemail.com/features/{}/", self.name),
            count,
            supported: of(b'y'),
            partial: of(b'p'),
            unsupported: of(b'n'),
            families,
        }
    }
}

impl FeatureSupport {
    fn tested_clients(&self) -> usize {
        self.supported + self.partial + self.unsupported
    }

    fn helped(&self) -> usize {
        self.supported + self.partial
    }

    /// Returns a sentence such as `…: 12 of 41 mail clients support it, 3 in part; not Gmail, Outlook`.
    fn describe(&self) -> String {
        let mut sentence = format!(
            "{}: {} of {} mail clients support it",
            self.title,
            self.supported,
            self.tested_clients()
        );
        // Writing to a string can't fail.
        if self.partial > 0 {
            let _ = write!(sentence, ", {} in part", self.partial);
        }
        let without =
            self.families.iter().filter(|family| family.supported.len() + family.partial.len() == 0);
        let without: Vec<_> = without.map(|family| family.name).collect();
        if !without.is_empty() {
            let _ = write!(sentence, "; not {}", without[..without.len().min(5)].join(", "));
        }
        if without.len() > 5 {
            let _ = write!(sentence, " and {} more", without.len() - 5);
        }
        sentence + "."
    }
}

fn to_lowercase(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::document;

    pub(super) fn used(html: &str) -> Vec<&'static str> {
        let mut support = Support::default();
        document::walk(html, &mut |event| support.visit(&event));
        let mut names: Vec<_> = support.used.keys().map(|index| SUPPORT.features[*index].name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn data_has_a_letter_per_client_and_a_source_for_every_feature() {
        assert_eq!((SUPPORT.clients.len(), SUPPORT.features.len()), (44, 307));
        for feature in &SUPPORT.features {
            assert_eq!(feature.support.len(), SUPPORT.clients.len(), "{}", feature.name);
            assert!(feature.support.iter().all(|letter| b"ypn-".contains(letter)), "{}", feature.name);
            // `bimi` is a DNS record.
            assert_eq!(sources_of(feature.name).is_empty(), feature.name == "bimi", "{}", feature.name);
        }
        assert!(DATA.contains("Rémi Parmentier") && DATA.contains("The above copyright notice"));
        assert!(DATA.len() < 30_000);
    }

    /// The table in the test `mailpit` lists the features that Mailpit's check also finds.
    #[test]
    fn each_kind_of_source_is_detected() {
        for (html, names) in [
            ("<p>x</p>", &["html-p"][..]),
            ("<VIDEO src=x>", &["html-video"]),
            ("<img src='a.webp?x=1'>", &["html-img", "image-webp"]),
            ("<img src=data:image/svg+xml;base64,x>", &["html-img", "image-base64", "image-svg"]),
            ("<img srcset='a.avif 1x, b.PNG 2x'>", &["html-img", "html-srcset", "image-avif", "image-png"]),
            ("<input><button>", &["html-button-submit", "html-input-text"]),
            ("<input TYPE=Radio>", &["html-input-radio"]),
            ("<a href='#x'><a href=MAILTO:x>", &["html-anchor-links", "html-mailto-links"]),
            ("<meta name=color-scheme>", &["html-meta-color-scheme"]),
            ("<!-- x -->", &["html-comments"]),
            ("<i style='DISPLAY : Flex'>", &["css-display", "css-display-flex"]),
            ("<i style='display:flexing'>", &["css-display"]),
            ("<i style='--x:1;color:var(--x)'>", &["css-variables"]),
            (
                "<i style='width:calc(1vw + 2REM) !important'>",
                &["css-important", "css-unit-calc", "css-unit-rem", "css-unit-vw", "css-width"],
            ),
            ("<i style=\"content:'1rem !important /* */ calc()'\">", &[]),
            (
                "<style>@media (prefers-color-scheme:dark){a:hover{b:c}}</style>",
                &[
                    "css-at-media",
                    "css-at-media-prefers-color-scheme",
                    "css-pseudo-class-hover",
                    "css-selector-type",
                    "html-style",
                ],
            ),
            (
                "<style>/* x */@font-face{src:url(1rem.woff)}</style>",
                &["css-at-font-face", "css-comments", "html-style"],
            ),
            (
                "<style>.a.b>#c{d:linear-gradient(red)}</style>",
                &[
                    "css-linear-gradient",
                    "css-selector-chaining",
                    "css-selector-child",
                    "css-selector-class",
                    "css-selector-id",
                    "html-style",
                ],
            ),
            ("<!-- <style>a{gap:1px}</style> -->", &["html-comments"]),
            ("<script>'<video>'</script>", &[]),
        ] {
            assert_eq!(used(html), names, "{html}");
        }
    }

    #[test]
    fn features_that_nearly_all_clients_support_are_no_findings() {
        let (mut support, mut findings) = (Support::default(), Findings::default());
        let html = "<table width=1 style='width:1px;margin:0;gap:1px'><video></video><video></video>";
        document::walk(html, &mut |event| support.visit(&event));
        let features = support.finish(&mut findings);
        let names: Vec<_> = features.iter().map(|feature| (feature.name, feature.count)).collect();
        let all = [
            ("html-video", 2),
            ("css-gap", 1),
            ("html-width", 1),
            ("css-margin", 1),
            ("css-width", 1),
            ("css-unit-px", 2),
            ("html-table", 1),
        ];
        assert_eq!(names, all);
        let findings = findings.finish(html, "");
        let codes: Vec<_> = findings.iter().map(|one| (one.code, one.feature, one.count)).collect();
        assert_eq!(
            codes,
            [("content_unsupported", Some("html-video"), 2), ("feature_unsupported", Some("css-gap"), 1)]
        );
        let sentence = &findings[1].message;
        assert!(
            sentence
                .starts_with("gap, column-gap, row-gap: 15 of 36 mail clients support it, 8 in part; not "),
            "{sentence}"
        );
    }
}
