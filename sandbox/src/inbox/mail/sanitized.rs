//! The HTML of an email as an isolated document.
//!
//! The document's Content-Security-Policy does most of the work: the sandbox allows no scripts, no forms and no navigation out of the frame, and only
//! images embedded in the document are loaded. But browsers also preconnect to resources that they won't load: for frames, for `link`, and for a link
//! as soon as the mouse button is pressed on it. A policy doesn't prevent that, so these references are removed from the text: such elements are
//! renamed to unknown ones, and a link leads to `#`, with its target in `data-to`. A link in an SVG picture ignores the document's link target, so
//! its URL must not remain in `xlink:href` or come from an animation either.
//!
//! This applies to every occurrence, even in text that only looks like a tag: missing one would be worse than changing an email that quotes HTML
//! without escaping it. Everything else stays unchanged, and the source is shown unmodified.

use http::{HeaderName, header};

use crate::check::strip_ignoring_case;
use idempost_reference_server::content::html::{Event, walk};
use idempost_reference_server::content::inline_images::{Embedded, InlineImages, References};
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::problem::{Problem, response_with};
use idempost_reference_server::wire::query::Parameters;

/// The maximum total size of embedded images, in bytes; further ones are omitted.
const MAX_IMAGE_BYTES: usize = 32 << 20;
/// The number of replacements between checks for a disconnected client.
const CHECK_INTERVAL: usize = 1 << 10;
/// Elements renamed to unknown ones. The policy already prevents all of them from showing anything, except for SVG animations.
const RENAMED: &str = "link meta base iframe frame frameset object embed fencedframe portal animate set";

/// Links open in a new window, which the sandbox forbids, so clicking has no effect; the target is shown instead.
const PREAMBLE: &str = "<base target=\"_blank\"><style>[data-to]:hover::after,[data-to]:focus-visible::after{content:attr(data-to)!important;\
    position:fixed!important;inset:auto auto 0 0!important;z-index:2147483647!important;max-width:100%!important;max-height:40%!important;\
    overflow:hidden!important;box-sizing:border-box!important;padding:5px 10px!important;border-radius:0 6px 0 0!important;\
    background:#1f2328!important;color:#fff!important;font:12px/1.4 ui-monospace,monospace!important;text-align:left!important;\
    text-decoration:none!important;text-transform:none!important;overflow-wrap:anywhere!important;white-space:normal!important;\
    direction:ltr!important;unicode-bidi:bidi-override!important;pointer-events:none!important}</style>";

/// Inverts the lightness but keeps the hues, as some mail clients do in dark mode. Pictures are inverted twice, so they keep their colors; the
/// frame's own background must be black. Repeating `:root` gives the rule precedence over the email's styles.
const INVERTED: &str = "<style>:root:root:root:root{filter:invert(1) hue-rotate(180deg)!important}\
    :root:root:root:root :is(img,video,svg,input[type=image]):not(svg *){filter:invert(1) hue-rotate(180deg)!important}</style>";

const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'self'";

/// The colors of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inbox) enum Colors {
    /// The document's own: light or dark, depending on the frame's color scheme.
    Own,
    Inverted,
}

/// The parameter of a document.
pub(in crate::inbox) const QUERY: &[Input] = &[Input::new(
    "colors",
    Kind::Words(|| words_of(&COLORS)),
    "The colors of the document; by default `own`",
)];
const COLORS: [(&str, Colors); 2] = [("own", Colors::Own), ("inverted", Colors::Inverted)];

impl Colors {
    pub(in crate::inbox) fn read(parameters: &Parameters<'_>) -> Result<Self, Problem> {
        Ok(parameters.one_of("colors", &COLORS)?.unwrap_or(Self::Own))
    }
}

/// Responds with the document; see [`render_document`].
pub(in crate::inbox) fn respond(
    html: &str,
    colors: Colors,
    pictures: impl FnOnce() -> InlineImages,
    canceled: &Cancellation,
) -> HandlerResult {
    let page = render_document(html, colors, pictures, canceled)
        .ok_or_else(|| Problem::application("The client disconnected."))?;
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_DNS_PREFETCH_CONTROL, "off"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("permissions-policy"), "autoplay=(), fullscreen=(), picture-in-picture=()"),
    ];
    Ok(response_with(page, headers))
}

/// Renders the document, in time and space linear in the size of the HTML. `pictures` is called once, if the HTML refers to any picture as `cid:…`.
/// Returns `None` if the client disconnects in the meantime.
fn render_document(
    html: &str,
    colors: Colors,
    pictures: impl FnOnce() -> InlineImages,
    canceled: &Cancellation,
) -> Option<String> {
    let (before, mut rest) = html.split_at(end_of_doctype(html));
    let mut page = String::with_capacity(html.len() + PREAMBLE.len());
    page.push_str(before);
    page.push_str(PREAMBLE);
    if let Some(schemes) = color_schemes(html) {
        page.extend(["<style>:root{color-scheme:", &schemes, "}</style>"]);
    }
    if colors == Colors::Inverted {
        page.push_str(INVERTED);
    }
    let mut embedded = Embedded::new(pictures, MAX_IMAGE_BYTES);
    let mut references = References::from_text(rest);
    for step in 0_usize.. {
        if step.is_multiple_of(CHECK_INTERVAL) && canceled.is_canceled() {
            return None;
        }
        let Some(at) = rest.find(['<', 'c', 'C', 'h', 'H']) else { break };
        let (text, found) = rest.split_at(at);
        page.push_str(text);
        let taken = if let Some(name) = replacement_name(found) {
            page.push_str("<x-");
            page.push_str(name);
            1 + name.len()
        } else if let Some(length) = link_len(&page, found) {
            // Unquoted, since it may be inside quotes; before the original attribute, since the first of two takes effect.
            page.push_str(" href=# data-to=");
            length
        } else if let Some((reference, id)) = references.content_id(found) {
            match embedded.data_uri(&id) {
                Some(picture) => page.push_str(&picture),
                None => page.push_str(reference),
            }
            reference.len()
        } else {
            page.push_str(&found[..1]);
            1
        };
        rest = &found[taken..];
    }
    page.push_str(rest);
    Some(page)
}

/// Returns the color schemes that the document declares with `<meta name="color-scheme">`, an element that is renamed.
fn color_schemes(html: &str) -> Option<String> {
    let mut schemes = None;
    walk(html, &mut |event| {
        if let Event::Start(tag) = event
            && tag.name == "meta"
            && tag.has_attribute_value("name", "color-scheme")
            && schemes.is_none()
        {
            schemes = tag.get("content").and_then(valid_schemes);
        }
    });
    schemes
}

fn valid_schemes(content: &str) -> Option<String> {
    let schemes = content.to_ascii_lowercase();
    let schemes: Vec<_> = schemes.split_ascii_whitespace().collect();
    let are_known = schemes.iter().all(|scheme| matches!(*scheme, "light" | "dark" | "only" | "normal"));
    (are_known && (1..=3).contains(&schemes.len())).then(|| schemes.join(" "))
}

/// Returns the end of the document type, or 0 if there is none. White space and comments may precede it.
fn end_of_doctype(html: &str) -> usize {
    let mut rest = html;
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '\u{feff}');
        match rest.strip_prefix("<!--").and_then(|comment| comment.split_once("-->")) {
            Some((_, after)) => rest = after,
            None => break,
        }
    }
    let is_doctype = strip_ignoring_case(rest, "<!doctype").is_some();
    let end = rest.find('>').filter(|_| is_doctype);
    end.map_or(0, |end| html.len() - rest.len() + end + 1)
}

/// Returns the name of the element that starts here, if it must be renamed.
fn replacement_name(tag: &str) -> Option<&str> {
    let name = tag.strip_prefix('<')?;
    RENAMED.split(' ').find_map(|renamed| {
        let rest = strip_ignoring_case(name, renamed)?;
        let ends = rest.starts_with(|next: char| next.is_ascii_whitespace() || matches!(next, '/' | '>'));
        ends.then_some(&name[..renamed.len()])
    })
}

/// Returns the length of the `href=` or `xlink:href=` that starts here, if it is the attribute of an external link.
fn link_len(before: &str, text: &str) -> Option<usize> {
    let rest = strip_ignoring_case(text, "href")?;
    let space = |char: char| char.is_ascii_whitespace();
    if !before.ends_with(|char: char| space(char) || matches!(char, '/' | '"' | '\'' | ':')) {
        return None;
    }
    let value = rest.trim_start_matches(space).strip_prefix('=')?;
    let start = value.trim_start_matches(space).trim_start_matches(['"', '\'']);
    let stays = ["#", "data:", "cid:"].iter().any(|inner| strip_ignoring_case(start, inner).is_some());
    (!stays).then(|| text.len() - value.len())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bytes::Bytes;

    use super::*;
    use crate::cpu_time::cpu_time;

    fn shown(html: &str, id: &str, kind: &str, bytes: Bytes) -> String {
        let files = HashMap::from([(id.to_owned(), (kind.to_owned(), bytes))]);
        render_document(html, Colors::Own, || files, &Cancellation::default()).unwrap()
    }

    fn sanitized(html: &str) -> String {
        let page = shown(html, "logo", "image/png", Bytes::from_static(b"abc"));
        page.replace(PREAMBLE, "|")
    }

    #[test]
    fn references_beyond_the_policy_are_removed() {
        for (html, shown) in [
            ("<p>Hi</p>", "|<p>Hi</p>"),
            ("<!doctype html><p>Hi", "<!doctype html>|<p>Hi"),
            (
                "\u{feff} <!-- a > b --> <!DOCTYPE html PUBLIC \"x\">Hi",
                "\u{feff} <!-- a > b --> <!DOCTYPE html PUBLIC \"x\">|Hi",
            ),
            ("<!-- never closed <!doctype html>", "|<!-- never closed <!doctype html>"),
            ("<!doctype", "|<!doctype"),
            ("<link rel=preconnect>", "|<x-link rel=preconnect>"),
            (
                "<LiNk/rel=x><meta\thttp-equiv=refresh><BASE>",
                "|<x-LiNk/rel=x><x-meta\thttp-equiv=refresh><x-BASE>",
            ),
            ("<<link\n>", "|<<x-link\n>"),
            ("<linked><basefont><link", "|<linked><basefont><link"),
            ("é<ü<l", "|é<ü<l"),
        ] {
            assert_eq!(sanitized(html), shown, "{html}");
        }
    }

    #[test]
    fn links_in_pictures_lead_nowhere_and_cannot_be_animated_to_lead_elsewhere() {
        for (html, shown) in [
            ("<a xlink:href='//e.test'>", "|<a xlink: href=# data-to='//e.test'>"),
            ("<use xlink:href=#x>", "|<use xlink:href=#x>"),
            ("<set attributeName=href to=//e.test>", "|<x-set attributeName=href to=//e.test>"),
            (
                "<Animate/attributeName='href' values=//e.test>",
                "|<x-Animate/attributeName='href' values=//e.test>",
            ),
            ("<animateTransform><settings>", "|<animateTransform><settings>"),
        ] {
            assert_eq!(sanitized(html), shown, "{html}");
        }
    }

    #[test]
    fn declared_color_schemes_apply_although_their_element_is_renamed() {
        for (meta, schemes) in [
            ("<meta name=color-scheme content='light dark'>", Some("light dark")),
            ("<META content=\"Dark&#32; only\" NAME='Color-Scheme'/>", Some("dark only")),
            (
                "<meta name=color-scheme content='dark}*{color:red'><meta name=color-scheme content=dark>",
                Some("dark"),
            ),
            ("<meta name=color-scheme content=''>", None),
            ("<meta name=viewport content=dark><meta content=dark>", None),
            ("<!-- <meta name=color-scheme content=dark> -->", None),
        ] {
            assert_eq!(color_schemes(meta).as_deref(), schemes, "{meta}");
            let style = schemes
                .map(|schemes| format!("<style>:root{{color-scheme:{schemes}}}</style>"))
                .unwrap_or_default();
            let renamed = meta.replace("<meta", "<x-meta").replace("<META", "<x-META");
            assert_eq!(sanitized(meta), format!("|{style}{renamed}"));
        }
    }

    #[test]
    fn images_are_embedded_from_the_message_itself() {
        for (html, shown) in [
            ("<img src='cid:logo'>", "|<img src='data:image/png;base64,YWJj'>"),
            ("<img src=CID:l%6Fgo>", "|<img src=data:image/png;base64,YWJj>"),
            ("url(cid:logo)", "|url(data:image/png;base64,YWJj)"),
            ("cid:other cid: cid", "|cid:other cid: cid"),
        ] {
            assert_eq!(sanitized(html), shown, "{html}");
        }
        let script = shown("cid:a", "a", "text/html", Bytes::from_static(b"<b>"));
        assert!(script.ends_with("cid:a"));
        let quoted = shown("cid:a", "a", "image/\"onload=", Bytes::new());
        assert!(quoted.ends_with("cid:a"));
    }

    fn cost(html: &str, files: usize) -> std::time::Duration {
        let picture = |number| (format!("f{number}"), ("image/png".to_owned(), Bytes::from_static(b"abc")));
        let files: HashMap<_, _> = (0..files).map(picture).collect();
        cpu_time(|| assert!(render_document(html, Colors::Own, || files, &Cancellation::default()).is_some()))
    }

    #[test]
    fn cost_is_linear_in_the_size_of_the_message() {
        let pieces: [&[&str]; 8] = [
            &["cid:"],
            &["cid:a"],
            &["cid:none "],
            &["cid:f1 cid:f2 "],
            &["href"],
            &[" href = \"\"\""],
            &["<", "c", "h"],
            &[" href", "\n"],
        ];
        for piece in pieces {
            // Includes HTML in which all items of one kind precede all of the next.
            let of =
                |size: usize| piece.iter().map(|piece| piece.repeat(size / piece.len())).collect::<String>();
            let (small, large) = (of(20_000), of(80_000));
            // Noise can hide a linear cost in some attempts; a superlinear cost shows in all of them.
            let linear = (0..20).any(|_| cost(&large, 400) <= cost(&small, 100) * 6);
            assert!(linear, "{piece:?}");
        }
    }

    #[test]
    fn long_media_types_count_toward_the_image_limit_and_are_checked_once() {
        let html = "cid:a ".repeat(1_000);
        let page = |kind: &str| shown(&html, "a", kind, Bytes::new()).len();
        let cost = |kind: &str| cpu_time(|| page(kind));
        let kind = |length| format!("image/{}", "a".repeat(length));
        assert!(page(&kind(1 << 20)) < 40 << 20);
        // Invalid at the end, so they are read completely but never embedded.
        let (short, long) = (kind(1) + " ", kind(1 << 16) + " ");
        let checked_once = (0..20).any(|_| cost(&long) < cost(&short) * 100);
        assert!(checked_once, "each reference costs as much as its media type is long");
    }

    #[test]
    fn rendering_stops_when_the_client_disconnects() {
        let canceled = Cancellation::default();
        let html = "cid:a ".repeat(100_000);
        let gone = canceled.on_drop();
        // The client disconnects while the files are looked up for the first reference.
        let files = || {
            drop(gone);
            HashMap::new()
        };
        assert_eq!(render_document(&html, Colors::Own, files, &canceled), None);
    }

    #[test]
    fn repeated_large_image_stays_within_the_limit() {
        let large = Bytes::from(vec![0; 8 << 20]);
        let page = shown(&"<img src=cid:a>".repeat(10_000), "a", "image/png", large);
        assert!(page.len() < 64 << 20);
    }
}
