//! Recognizes the features of Can I email in a mail's source.

use idempost_reference_server::wire::words::words;

words! {
    /// The kind of name to look for in the source, with its name in `sources.tsv`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) enum Kind {
        Element = "element",
        Attribute = "attribute",
        /// An element and its `type`.
        Type = "type",
        /// The `name` of a `meta` element.
        Meta = "meta",
        Property = "property",
        /// A value of `display`.
        Display = "display",
        Function = "function",
        Word = "word",
        Unit = "unit",
        AtRule = "at-rule",
        /// A word in the condition of `@media`.
        Media = "media",
        Selector = "selector",
        PseudoClass = "pseudo-class",
        PseudoElement = "pseudo-element",
        /// A file extension, or the subtype of a media type.
        Image = "image",
        /// Recognized by code.
        Other = "other",
    }
}

/// Features whose names don't describe how to find them, with their sources.
const BY_NAME: &str = include_str!("sources.tsv");

/// Prefixes of feature names; the rest of the name is the source.
const BY_PREFIX: &[(&str, Kind)] = &[
    ("css-at-", Kind::AtRule),
    ("css-function-", Kind::Function),
    ("css-pseudo-class-", Kind::PseudoClass),
    ("css-pseudo-element-", Kind::PseudoElement),
    ("css-selector-", Kind::Selector),
    ("css-unit-", Kind::Unit),
    ("css-", Kind::Property),
    ("image-", Kind::Image),
    // `html-aria-label` is the attribute `aria-label`.
    ("html-", Kind::Element),
];

/// Returns the sources that identify a feature.
pub(super) fn sources_of(feature: &'static str) -> Vec<(Kind, &'static str)> {
    let by_name = BY_NAME.lines().find_map(|line| line.strip_prefix(feature)?.strip_prefix('\t'));
    if let Some((kind, names)) = by_name.and_then(|sources| sources.split_once('\t')) {
        let kind = Kind::WORDS.iter().find(|(word, _)| *word == kind);
        return names.split(", ").filter_map(|name| Some((kind?.1, name))).collect();
    }
    let found = BY_PREFIX.iter().find_map(|(prefix, kind)| Some((*kind, feature.strip_prefix(prefix)?)));
    found
        .map(|(kind, name)| (if name.starts_with("aria-") { Kind::Attribute } else { kind }, name))
        .into_iter()
        .collect()
}

/// Returns whether recipients miss content without the feature, rather than just appearance.
pub(super) fn is_content(feature: &str) -> bool {
    matches!(
        feature.strip_prefix("html-"),
        Some("audio" | "dialog" | "form" | "meter" | "object" | "progress" | "svg" | "video")
    ) || feature.starts_with("html-input-")
        || feature.starts_with("image-")
}

/// Returns whether a mail should use the feature anyway, because it helps where it is supported and is harmless elsewhere.
pub(super) fn is_recommended(feature: &str) -> bool {
    ["html-dir", "html-doctype", "html-lang", "html-role"].contains(&feature)
        || feature.starts_with("html-aria-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_describe_features_unless_the_table_does() {
        assert_eq!(sources_of("css-align-items"), [(Kind::Property, "align-items")]);
        assert_eq!(sources_of("css-at-font-face"), [(Kind::AtRule, "font-face")]);
        assert_eq!(sources_of("css-unit-rem"), [(Kind::Unit, "rem")]);
        assert_eq!(sources_of("css-function-clamp"), [(Kind::Function, "clamp")]);
        assert_eq!(sources_of("css-pseudo-class-nth-child"), [(Kind::PseudoClass, "nth-child")]);
        assert_eq!(sources_of("html-aria-label"), [(Kind::Attribute, "aria-label")]);
        assert_eq!(sources_of("html-video"), [(Kind::Element, "video")]);
        assert_eq!(sources_of("image-png"), [(Kind::Image, "png")]);
        assert!(BY_NAME.lines().is_sorted());
    }
}
