//! The parts of a message to check, and the rules about its headers, sizes and character sets.

use std::borrow::Cow;
use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};
use mail_parser::{Message, MessagePart, MimeHeaders as _, PartType};
use url::Url;

use super::findings::{Findings, Part, Spot};
use super::targets::OWN_PATH;
use super::{Sizes, rules};
use idempost_reference_server::mime;
use idempost_reference_server::model::received::parts;

/// The size at which Gmail clips HTML, in bytes.
const MAX_HTML: usize = 102_000;
/// Postfix's default `message_size_limit`, in bytes.
const MAX_MESSAGE: usize = 10_240_000;
const MAX_IMAGES: usize = 1_000_000;
const MAX_SUBJECT: usize = 120;

/// File extensions that Gmail rejects.
const BLOCKED: &str = " ade adp apk appx appxbundle bat cab chm cmd com cpl diagcab diagcfg diagpkg dll dmg ex ex_ exe hta img ins iso isp jar jnlp \
    js jse lib lnk mde mjs msc msi msix msixbundle msp mst nsh pif ps1 scr sct shb sys vb vbe vbs vhd vxd wsc wsf wsh xll ";

/// The parts of a mail to check. Lines end with a line feed.
#[derive(Clone, Default)]
pub(super) struct Parts {
    pub(super) subject: String,
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
    /// The content IDs of the other parts.
    pub(super) content_ids: HashSet<String>,
    pub(super) sizes: Sizes,
    /// The character set of the HTML, if its bytes depend on one.
    pub(super) charset: Option<&'static Encoding>,
    unsubscribe: Option<String>,
    one_click: Option<String>,
    is_list: bool,
    is_message: bool,
}

impl Parts {
    /// Returns the parts of an unparsable message.
    pub(super) fn from_unparsable(raw: &[u8]) -> Self {
        Self { sizes: Sizes { message: Some(raw.len()), ..Sizes::default() }, ..Self::default() }
    }

    /// Returns the parts of a mail that isn't a message yet.
    pub(super) fn from_bodies(
        subject: &str,
        html: Option<&str>,
        text: Option<&str>,
        unsubscribe: Option<&str>,
    ) -> Self {
        let mut parts = Self {
            subject: subject.to_owned(),
            html: html.map(normalize_lines),
            text: text.map(normalize_lines),
            unsubscribe: unsubscribe.map(str::to_owned),
            ..Self::default()
        };
        parts.measure();
        parts
    }

    /// Returns the parts of a message, and adds the findings about its MIME structure.
    pub(super) fn from_message(raw: &[u8], message: &Message<'_>, findings: &mut Findings) -> Self {
        let mut charset = None;
        let html =
            parts::html_parts(message).into_iter().filter(|part| matches!(part.body, PartType::Html(_)));
        let html = html.map(|part| decode_body(part, message, Part::Html, &mut charset, findings));
        let html = html.reduce(|all, next| all + "\n" + &next);
        let text =
            parts::text_parts(message).into_iter().filter(|part| matches!(part.body, PartType::Text(_)));
        let text = text.map(|part| decode_body(part, message, Part::Text, &mut None, findings));
        let text = text.reduce(|all, next| all + "\n" + &next);
        let header = |name: &'static str| message.header_raw(name).map(|value| value.trim().to_owned());
        let is_bulk =
            |value: String| ["bulk", "list", "junk"].iter().any(|word| value.eq_ignore_ascii_case(word));
        let images = message.parts.iter().filter(|part| {
            part.content_type().is_some_and(|kind| kind.ctype().eq_ignore_ascii_case("image"))
        });
        let mut parts = Self {
            subject: message.subject().unwrap_or_default().to_owned(),
            html,
            text,
            content_ids: message
                .parts
                .iter()
                .filter_map(|part| Some(part.content_id()?.trim_matches(['<', '>']).to_owned()))
                .collect(),
            sizes: Sizes {
                message: Some(raw.len()),
                images: images.map(|part| part.contents().len()).sum(),
                ..Sizes::default()
            },
            charset,
            unsubscribe: header("List-Unsubscribe"),
            one_click: header("List-Unsubscribe-Post"),
            is_list: header("Precedence").is_some_and(is_bulk) || header("List-Id").is_some(),
            is_message: true,
        };
        for name in message.attachments().filter_map(MessagePart::attachment_name) {
            // Windows ignores dots and spaces at the end of a name.
            let name_end = name.trim_end_matches(|char: char| char == '.' || char.is_whitespace());
            let extension = name_end.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
            if extension.is_some_and(|extension| {
                !extension.contains(' ') && BLOCKED.contains(&format!(" {extension} "))
            }) {
                findings.add(&rules::ATTACHMENT_BLOCKED, || Spot::in_part(Part::Attachment, name));
            }
        }
        parts.measure();
        parts
    }

    fn measure(&mut self) {
        self.sizes.html = self.html.as_ref().map(String::len);
        self.sizes.text = self.text.as_ref().map(String::len);
    }

    /// Applies the rules that don't need HTML.
    pub(super) fn check(&self, findings: &mut Findings) {
        if self.subject.trim().is_empty() {
            findings.add(&rules::SUBJECT_MISSING, || Spot::in_part(Part::Subject, ""));
        }
        let length = self.subject.chars().count();
        if length > MAX_SUBJECT {
            findings.add_with_message(
                &rules::SUBJECT_LONG,
                format!("The subject has {length} characters; mail clients show 40 to 80."),
            );
        }
        let is_blank = |body: &Option<String>| body.as_ref().is_none_or(|body| body.trim().is_empty());
        if is_blank(&self.html) && is_blank(&self.text) {
            findings.add_without_place(&rules::BODY_MISSING);
        }
        let Sizes { message, html, images, .. } = self.sizes;
        if let Some(size) = html.filter(|size| *size > MAX_HTML) {
            findings.add_with_message(
                &rules::HTML_CLIPPED,
                format!("The HTML is {} kB; Gmail clips it after 102 kB.", size.div_ceil(1_000)),
            );
        }
        if let Some(size) = message.filter(|size| *size > MAX_MESSAGE) {
            let size = size.div_ceil(1_000_000);
            findings.add_with_message(
                &rules::MESSAGE_LARGE,
                format!("The message is {size} MB; many servers reject messages larger than 10 MB."),
            );
        }
        if images > MAX_IMAGES {
            let tenths = images / 100_000;
            findings.add_with_message(
                &rules::IMAGES_LARGE,
                format!("The attached images are {}.{} MB in total.", tenths / 10, tenths % 10),
            );
        }
    }

    /// Returns the URLs in `List-Unsubscribe`.
    pub(super) fn unsubscribe_urls(&self) -> impl Iterator<Item = Url> {
        let urls = self.unsubscribe.as_deref().unwrap_or_default().split('<').skip(1);
        urls.filter_map(|rest| Url::parse(rest.split_once('>')?.0).ok())
    }

    /// Applies the rules about unsubscribing (RFC 2369, RFC 8058).
    pub(super) fn check_unsubscribe(&self, has_link: bool, findings: &mut Findings) {
        let Some(header) = self.unsubscribe.as_ref().filter(|_| self.is_message) else {
            if self.is_message && (has_link || self.is_list) {
                findings.add_without_place(&rules::UNSUBSCRIBE_MISSING);
            }
            return;
        };
        let spot = || Spot::in_part(Part::Header, &format!("List-Unsubscribe: {header}"));
        let is_usable = |url: &Url| matches!(url.scheme(), "https" | "http" | "mailto");
        let urls: Vec<_> = self.unsubscribe_urls().filter(is_usable).take(20).collect();
        // The sandbox itself has no certificate, so its own links may use `http:`.
        let is_post = |url: &Url| {
            url.scheme() == "https" || (url.scheme() == "http" && url.path().starts_with(OWN_PATH))
        };
        match &self.one_click {
            _ if urls.is_empty() => findings.add(&rules::UNSUBSCRIBE_INVALID, spot),
            None => findings.add(&rules::ONE_CLICK_MISSING, spot),
            Some(value) if value != "List-Unsubscribe=One-Click" || !urls.iter().any(is_post) => {
                findings.add(&rules::UNSUBSCRIBE_INVALID, || {
                    Spot::in_part(
                        Part::Header,
                        &format!("List-Unsubscribe: {header}, List-Unsubscribe-Post: {value}"),
                    )
                });
            }
            Some(_) => {}
        }
    }
}

/// Decodes a body from its character set. The parser doesn't report which bytes it replaced.
fn decode_body(
    part: &MessagePart<'_>,
    message: &Message<'_>,
    kind: Part,
    charset: &mut Option<&'static Encoding>,
    findings: &mut Findings,
) -> String {
    let bytes = mime::decode_part(part, message).unwrap_or_else(|| part.contents().into());
    let label = part.content_type().and_then(|kind| kind.attribute("charset"));
    let is_ascii = bytes.is_ascii();
    let spot = |label: &str| Spot::in_part(kind, &format!("charset={label}"));
    let encoding = match label {
        _ if is_ascii && label.is_none_or(|label| !label.to_ascii_lowercase().starts_with("iso-2022")) => {
            UTF_8
        }
        None => {
            findings.add(&rules::CHARSET_MISSING, || spot("?"));
            UTF_8
        }
        Some(label) if label.eq_ignore_ascii_case("us-ascii") => {
            findings.add(&rules::CHARSET_INVALID, || spot(label));
            UTF_8
        }
        Some(label) => Encoding::for_label(label.trim().as_bytes()).unwrap_or_else(|| {
            findings.add(&rules::CHARSET_INVALID, || spot(label));
            UTF_8
        }),
    };
    let (text, wrong) = encoding.decode_without_bom_handling(&bytes);
    if wrong {
        findings.add(&rules::CHARSET_INVALID, || spot(label.unwrap_or("utf-8")));
    }
    *charset = Some(encoding).filter(|_| !is_ascii);
    // The parser inserted these characters; another finding already reports that.
    let text = if wrong { Cow::Owned(text.replace('\u{fffd}', "?")) } else { text };
    normalize_lines(&text)
}

fn normalize_lines(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the offset of the first sign that a text was decoded with the wrong character set: U+FFFD, or UTF-8 read as Latin-1 (`Ã©`, `â€™`).
pub(super) fn find_mojibake(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_garbled = match char {
            '\u{fffd}' => true,
            // Excludes quotation marks, which can follow the letter at the end of a word.
            'Ã' => next.is_some_and(|next| {
                matches!(next, '\u{80}'..='\u{bf}') && !matches!(next, '«' | '»' | '\u{a0}')
            }),
            'â' => next == Some('€') || next == Some('\u{80}'),
            _ => false,
        };
        if is_garbled {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_read_in_a_wrong_character_set_is_garbled() {
        for text in ["CafÃ©", "itâ€™s", "x\u{fffd}", "Ã¼ber"] {
            assert!(find_mojibake(text).is_some(), "{text}");
        }
        for text in ["Café", "AMANHÃ", "«AMANHû", "SÃO", "â la carte", "5 €", "Ã"] {
            assert_eq!(find_mojibake(text), None, "{text}");
        }
    }
}
