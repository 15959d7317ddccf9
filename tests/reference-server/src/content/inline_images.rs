//! The inline images of an email's HTML: `cid:…` references, and the images as `data:` URIs.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use percent_encoding::percent_decode_str;

/// The images of an email by content ID: media type and content.
pub type InlineImages = HashMap<String, (String, Bytes)>;

/// The images of an email as `data:` URIs, up to a total size.
pub struct Embedded<F> {
    source: Option<F>,
    pictures: InlineImages,
    left: usize,
    is_complete: bool,
}

impl<F: FnOnce() -> InlineImages> Embedded<F> {
    /// `pictures` is called once, if the HTML refers to any.
    pub fn new(pictures: F, max: usize) -> Self {
        Self { source: Some(pictures), pictures: InlineImages::new(), left: max, is_complete: true }
    }

    /// The image with this content ID. `None` if there is none, or it would exceed the limit.
    pub fn data_uri(&mut self, id: &str) -> Option<String> {
        if let Some(source) = self.source.take() {
            self.pictures = source();
            // Once, not for each reference: a media type can be as long as a message.
            self.pictures.retain(|_, (kind, _)| is_picture(kind));
        }
        let (kind, bytes) = self.pictures.get(id)?;
        let size = "data:;base64,".len() + kind.len() + bytes.len().div_ceil(3) * 4;
        let Some(left) = self.left.checked_sub(size) else {
            self.is_complete = false;
            return None;
        };
        self.left = left;
        Some(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
    }
}

/// Finds references in a single pass.
pub struct References {
    /// The number of bytes up to the next character that can't be part of an ID.
    end: usize,
}

impl References {
    pub fn from_text(text: &str) -> Self {
        Self { end: text.len() }
    }

    /// The reference `cid:…` that starts here, and its ID.
    pub fn content_id<'a>(&mut self, text: &'a str) -> Option<(&'a str, Cow<'a, str>)> {
        let id = text.get(..4).filter(|scheme| scheme.eq_ignore_ascii_case("cid:")).map(|_| &text[4..])?;
        if self.end > id.len() {
            let ends = |char: char| char.is_ascii_whitespace() || "\"'<>()\\;,&".contains(char);
            self.end = id.find(ends).map_or(0, |end| id.len() - end);
        }
        let id = &id[..id.len() - self.end];
        // No ID is longer than a header line.
        let fits = !id.is_empty() && id.len() <= 998;
        fits.then(|| (&text[..4 + id.len()], percent_decode_str(id).decode_utf8_lossy()))
    }
}

/// Replaces every reference to an image of the email by its `data:` URI. Returns `None` if the images would exceed `max` bytes in total.
pub fn embed(html: &str, pictures: impl FnOnce() -> InlineImages, max: usize) -> Option<String> {
    let mut embedded = Embedded::new(pictures, max);
    let mut references = References::from_text(html);
    let mut page = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['c', 'C']) {
        let (text, found) = rest.split_at(at);
        page.push_str(text);
        let is_scheme = !page.ends_with(|before: char| before.is_ascii_alphanumeric());
        let reference = if is_scheme { references.content_id(found) } else { None };
        let taken = if let Some((reference, id)) = reference {
            match embedded.data_uri(&id) {
                Some(picture) => page.push_str(&picture),
                None if !embedded.is_complete => return None,
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

/// Whether this is a plain media type of an image.
fn is_picture(kind: &str) -> bool {
    kind.strip_prefix("image/").is_some_and(|subtype| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        !subtype.is_empty() && subtype.bytes().all(fits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures() -> InlineImages {
        HashMap::from([("logo".to_owned(), ("image/png".to_owned(), Bytes::from_static(b"abc")))])
    }

    #[test]
    fn only_references_to_images_of_the_email_are_replaced() {
        for (html, shown) in [
            ("<img src='cid:logo'>", "<img src='data:image/png;base64,YWJj'>"),
            ("url(CID:l%6Fgo)", "url(data:image/png;base64,YWJj)"),
            ("cid:logo cid:logo", "data:image/png;base64,YWJj data:image/png;base64,YWJj"),
            ("acid:logo cid:other cid: cid é", "acid:logo cid:other cid: cid é"),
        ] {
            assert_eq!(embed(html, pictures, 100).as_deref(), Some(shown), "{html}");
        }
    }

    #[test]
    fn images_over_the_limit_are_not_embedded_at_all() {
        let size = "data:image/png;base64,YWJj".len();
        assert!(embed("cid:logo cid:logo", pictures, 2 * size).is_some());
        assert_eq!(embed("cid:logo cid:logo", pictures, 2 * size - 1), None);
    }
}
