//! Recognizes the features of Can I email in a mail's source.

/// The kind of name to look for in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Element,
    Attribute,
    /// An element and its `type`.
    Type,
    /// The `name` of a `meta` element.
    Meta,
    Property,
    /// A value of `display`.
    Display,
    Function,
    Word,
    Unit,
    AtRule,
    /// A word in the condition of `@media`.
    Media,
    Selector,
    PseudoClass,
    PseudoElement,
    /// A file extension, or the subtype of a media type.
    Image,
    /// Recognized by code.
    Other,
}

use Kind::{Attribute, Display, Element, Function, Image, Media, Meta, Other, Property, Type, Word};

/// Features whose names don't describe how to find them, with their sources.
const BY_NAME: &[(&str, Kind, &[&str])] = &[
    ("amp", Other, &["amp"]),
    ("bimi", Other, &[]),
    (
        "css-animation",
        Property,
        &[
            "animation",
            "animation-name",
            "animation-duration",
            "animation-delay",
            "animation-iteration-count",
            "animation-timing-function",
            "animation-fill-mode",
            "animation-direction",
            "animation-play-state",
        ],
    ),
    (
        "css-at-media-device-pixel-ratio",
        Media,
        &["-webkit-device-pixel-ratio", "-webkit-min-device-pixel-ratio", "-webkit-max-device-pixel-ratio"],
    ),
    ("css-at-media-hover", Media, &["hover", "any-hover"]),
    ("css-at-media-orientation", Media, &["orientation"]),
    ("css-at-media-prefers-color-scheme", Media, &["prefers-color-scheme"]),
    ("css-at-media-prefers-reduced-motion", Media, &["prefers-reduced-motion"]),
    ("css-block-inline-size", Property, &["block-size", "inline-size"]),
    ("css-border", Property, &["border", "border-top", "border-right", "border-bottom", "border-left"]),
    (
        "css-border-image",
        Property,
        &[
            "border-image",
            "border-image-source",
            "border-image-slice",
            "border-image-width",
            "border-image-outset",
            "border-image-repeat",
        ],
    ),
    ("css-border-inline-block", Property, &["border-inline", "border-block"]),
    (
        "css-border-inline-block-individual",
        Property,
        &["border-inline-start", "border-inline-end", "border-block-start", "border-block-end"],
    ),
    (
        "css-border-inline-block-longhand",
        Property,
        &[
            "border-inline-color",
            "border-inline-style",
            "border-inline-width",
            "border-block-color",
            "border-block-style",
            "border-block-width",
        ],
    ),
    (
        "css-border-radius",
        Property,
        &[
            "border-radius",
            "border-top-left-radius",
            "border-top-right-radius",
            "border-bottom-left-radius",
            "border-bottom-right-radius",
        ],
    ),
    (
        "css-border-radius-logical",
        Property,
        &[
            "border-start-start-radius",
            "border-start-end-radius",
            "border-end-start-radius",
            "border-end-end-radius",
        ],
    ),
    ("css-column-count", Property, &["column-count", "columns"]),
    (
        "css-column-layout-properties",
        Property,
        &[
            "column-fill",
            "column-rule",
            "column-rule-color",
            "column-rule-style",
            "column-rule-width",
            "column-span",
            "column-width",
            "columns",
        ],
    ),
    ("css-comments", Other, &["css comment"]),
    ("css-conic-gradient", Function, &["conic-gradient", "repeating-conic-gradient"]),
    ("css-display-flex", Display, &["flex", "inline-flex"]),
    ("css-display-grid", Display, &["grid", "inline-grid"]),
    ("css-display-none", Display, &["none"]),
    ("css-gap", Property, &["gap", "column-gap", "row-gap", "grid-gap"]),
    (
        "css-grid-template",
        Property,
        &["grid-template", "grid-template-areas", "grid-template-columns", "grid-template-rows"],
    ),
    ("css-important", Word, &["important"]),
    ("css-inert-attribute", Attribute, &["inert"]),
    ("css-intrinsic-size", Word, &["fit-content", "min-content", "max-content"]),
    ("css-left-right-top-bottom", Property, &["left", "right", "top", "bottom"]),
    ("css-linear-gradient", Function, &["linear-gradient", "repeating-linear-gradient"]),
    ("css-margin", Property, &["margin", "margin-top", "margin-right", "margin-bottom", "margin-left"]),
    ("css-margin-block-start-end", Property, &["margin-block-start", "margin-block-end"]),
    ("css-margin-inline-block", Property, &["margin-inline", "margin-block"]),
    ("css-margin-inline-start-end", Property, &["margin-inline-start", "margin-inline-end"]),
    ("css-mask-image", Property, &["mask-image", "-webkit-mask-image"]),
    ("css-modern-color", Function, &["lch", "oklch", "lab", "oklab"]),
    ("css-nesting", Other, &["nesting"]),
    ("css-overflow", Property, &["overflow", "overflow-x", "overflow-y"]),
    ("css-padding", Property, &["padding", "padding-top", "padding-right", "padding-bottom", "padding-left"]),
    ("css-padding-block-start-end", Property, &["padding-block-start", "padding-block-end"]),
    ("css-padding-inline-block", Property, &["padding-inline", "padding-block"]),
    ("css-padding-inline-start-end", Property, &["padding-inline-start", "padding-inline-end"]),
    ("css-radial-gradient", Function, &["radial-gradient", "repeating-radial-gradient"]),
    ("css-rgb", Function, &["rgb"]),
    ("css-rgba", Function, &["rgba"]),
    ("css-scroll-snap", Property, &["scroll-snap-type", "scroll-snap-align", "scroll-snap-stop"]),
    ("css-sytem-ui", Word, &["system-ui", "ui-serif", "ui-sans-serif", "ui-rounded", "ui-monospace"]),
    ("css-text-emphasis", Property, &["text-emphasis", "text-emphasis-color", "text-emphasis-style"]),
    (
        "css-transition",
        Property,
        &[
            "transition",
            "transition-property",
            "transition-duration",
            "transition-delay",
            "transition-timing-function",
        ],
    ),
    ("css-unit-calc", Function, &["calc"]),
    ("css-unit-initial", Word, &["initial"]),
    ("css-unit-percent", Kind::Unit, &["%"]),
    ("css-variables", Function, &["var"]),
    ("html-align", Attribute, &["align"]),
    ("html-anchor-links", Other, &["anchor"]),
    ("html-background", Attribute, &["background"]),
    ("html-button-reset", Type, &["button reset"]),
    ("html-button-submit", Type, &["button submit"]),
    ("html-cellpadding", Attribute, &["cellpadding"]),
    ("html-cellspacing", Attribute, &["cellspacing"]),
    ("html-comments", Other, &["comment"]),
    ("html-dir", Attribute, &["dir"]),
    ("html-doctype", Other, &["doctype"]),
    ("html-h1-h6", Element, &["h1", "h2", "h3", "h4", "h5", "h6"]),
    ("html-height", Attribute, &["height"]),
    ("html-hidden", Attribute, &["hidden"]),
    ("html-image-maps", Element, &["map"]),
    ("html-input-checkbox", Type, &["input checkbox"]),
    ("html-input-hidden", Type, &["input hidden"]),
    ("html-input-radio", Type, &["input radio"]),
    ("html-input-reset", Type, &["input reset"]),
    ("html-input-submit", Type, &["input submit"]),
    ("html-input-text", Type, &["input text"]),
    ("html-lang", Attribute, &["lang"]),
    ("html-lists", Element, &["ul", "ol", "dl"]),
    ("html-loading-attribute", Attribute, &["loading"]),
    ("html-mailto-links", Other, &["mailto"]),
    ("html-meta-color-scheme", Meta, &["color-scheme", "supported-color-schemes"]),
    ("html-object", Element, &["object", "embed"]),
    ("html-popover", Attribute, &["popover"]),
    ("html-required", Attribute, &["required"]),
    ("html-role", Attribute, &["role"]),
    (
        "html-semantics",
        Element,
        &[
            "article",
            "aside",
            "details",
            "figcaption",
            "figure",
            "footer",
            "header",
            "main",
            "mark",
            "nav",
            "section",
            "summary",
            "time",
        ],
    ),
    ("html-srcset", Attribute, &["srcset", "sizes"]),
    ("html-target", Attribute, &["target"]),
    ("html-valign", Attribute, &["valign"]),
    ("html-width", Attribute, &["width"]),
    ("image-base64", Other, &["data"]),
    ("image-heif", Image, &["heif", "heic"]),
    ("image-ico", Image, &["ico", "vnd.microsoft.icon", "x-icon"]),
    ("image-jpg", Image, &["jpg", "jpeg"]),
    ("image-mp4", Image, &["mp4"]),
    ("image-svg", Image, &["svg", "svg+xml"]),
    ("image-tiff", Image, &["tiff", "tif"]),
];

/// Prefixes of feature names; the rest of the name is the source.
const BY_PREFIX: &[(&str, Kind)] = &[
    ("css-at-", Kind::AtRule),
    ("css-function-", Function),
    ("css-pseudo-class-", Kind::PseudoClass),
    ("css-pseudo-element-", Kind::PseudoElement),
    ("css-selector-", Kind::Selector),
    ("css-unit-", Kind::Unit),
    ("css-", Property),
    ("image-", Image),
    // `html-aria-label` is the attribute `aria-label`.
    ("html-", Element),
];

/// Returns the sources that identify a feature.
pub(super) fn sources_of(feature: &'static str) -> Vec<(Kind, &'static str)> {
    if let Some((_, kind, names)) = BY_NAME.iter().find(|(name, ..)| *name == feature) {
        return names.iter().map(|name| (*kind, *name)).collect();
    }
    let found = BY_PREFIX.iter().find_map(|(prefix, kind)| Some((*kind, feature.strip_prefix(prefix)?)));
    found
        .map(|(kind, name)| (if name.starts_with("aria-") { Attribute } else { kind }, name))
        .into_iter()
        .collect()
}

/// Returns whether recipients miss content without the feature, rather than just appearance.
pub(super) fn is_content(feature: &str) -> bool {
    const CONTENT: [&str; 8] = [
        "html-audio",
        "html-dialog",
        "html-form",
        "html-meter",
        "html-object",
        "html-progress",
        "html-svg",
        "html-video",
    ];
    CONTENT.contains(&feature) || feature.starts_with("html-input-") || feature.starts_with("image-")
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
        assert_eq!(sources_of("css-align-items"), [(Property, "align-items")]);
        assert_eq!(sources_of("css-at-font-face"), [(Kind::AtRule, "font-face")]);
        assert_eq!(sources_of("css-unit-rem"), [(Kind::Unit, "rem")]);
        assert_eq!(sources_of("css-function-clamp"), [(Function, "clamp")]);
        assert_eq!(sources_of("css-pseudo-class-nth-child"), [(Kind::PseudoClass, "nth-child")]);
        assert_eq!(sources_of("html-aria-label"), [(Attribute, "aria-label")]);
        assert_eq!(sources_of("html-video"), [(Element, "video")]);
        assert_eq!(sources_of("image-png"), [(Image, "png")]);
        assert!(BY_NAME.is_sorted_by_key(|(name, ..)| *name));
    }
}
