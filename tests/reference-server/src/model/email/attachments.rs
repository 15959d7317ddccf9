//! Attachments (`SPEC.md`, POST /emails, Attachment item fields).

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::Url;

use crate::mime::limits::{MAX_WORD, is_plain};
use crate::mime::{self, NotParsed};
use crate::store::size::Size;
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, Ignored, Problems, kind, text};

/// The maximum number of Base64 characters over all attachments of an email. `SPEC.md` says 40 MB, which may mean 40,000,000 bytes or 40
/// MiB; this is the larger reading.
pub(crate) const MAX_BASE64: usize = 40 << 20;
/// The maximum length of a content ID, in bytes: with `<` and `>` it is one word of a header.
const MAX_CONTENT_ID: usize = MAX_WORD - 2;

/// An attachment of an email.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Attachment {
    pub(crate) filename: String,
    pub(crate) content_type: String,
    /// The ID that the HTML refers to as `cid:<content_id>`; such an attachment is inline.
    pub(crate) content_id: Option<String>,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Content {
    Bytes(Bytes),
    /// To be fetched before the email is sent.
    Hosted(Url),
}

impl Size for Attachment {
    fn heap_size(&self) -> usize {
        let content = match &self.content {
            Content::Bytes(bytes) => bytes.heap_size(),
            Content::Hosted(url) => url.heap_size(),
        };
        content + self.filename.heap_size() + self.content_type.heap_size() + self.content_id.heap_size()
    }
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(crate) fn read(
    fields: &Fields<'_>,
    items: &[&RawValue],
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Vec<Attachment> {
    let mut attachments = Vec::with_capacity(items.len());
    let mut total = 0;
    for (index, item) in items.iter().enumerate() {
        let Some(mut item) = Fields::read_element(item.get(), fields, "attachments", index, problems) else {
            continue;
        };
        if let Some(attachment) = read_one(&mut item, index, &mut total, problems) {
            attachments.push(attachment);
        }
        item.report_ignored(ignored);
    }
    if total > MAX_BASE64 {
        problems.wrong(|| {
            format!(
                "`{}` must have at most {MAX_BASE64} characters of Base64 in all; found {total}.",
                fields.name("attachments")
            )
        });
    }
    if let Err((index, reason)) = check(&attachments) {
        problems.wrong(|| {
            let content = format!("{}[{index}].content", fields.name("attachments"));
            format!("`{content}` must be a file that can be read inside a mail; with it the mail {reason}.")
        });
    }
    attachments
}

/// The length of `bytes` bytes in Base64, in characters.
pub(crate) fn base64_size(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// The length of all content in Base64, in characters, without hosted attachments.
pub(crate) fn encoded_size(attachments: &[Attachment]) -> usize {
    let sizes = attachments.iter().map(|attachment| match &attachment.content {
        Content::Bytes(bytes) => base64_size(bytes.len()),
        Content::Hosted(_) => 0,
    });
    sizes.sum()
}

/// Whether the email could be parsed with these files in it; if not, the index of the file that exceeds a limit.
pub(crate) fn check(attachments: &[Attachment]) -> Result<(), (usize, NotParsed)> {
    mime::check_attached(attachments.iter().map(|attachment| {
        let bytes = match &attachment.content {
            Content::Bytes(bytes) => &bytes[..],
            Content::Hosted(_) => &[],
        };
        (attachment.content_type.as_str(), bytes)
    }))
}

fn read_one(
    item: &mut Fields<'_>,
    index: usize,
    total: &mut usize,
    problems: &mut Problems,
) -> Option<Attachment> {
    let filename = item.take_line("filename", problems);
    let filename = filename.map(|name| base_name(&name).to_owned());
    if filename.as_deref() == Some("") {
        problems.wrong(|| format!("`{}` must not be empty.", item.name("filename")));
    }
    // Some clients write `contentType`.
    let content_type = match item.take_line("content_type", problems) {
        Some(given) => Some(given),
        None => item.take_line("contentType", problems),
    };
    if let Some(given) = content_type.as_deref().filter(|given| !is_media_type(given)) {
        problems.wrong(|| {
            format!(
                "`{}` must look like `type/subtype`, with words of at most {MAX_WORD} characters; found {}.",
                item.name("content_type"),
                quoted(given)
            )
        });
    }
    if let Some(given) = content_type.as_deref().filter(|given| is_multipart(given)) {
        problems.wrong(|| {
            format!(
                "`{}` must not be a `multipart` type, since a file has no parts (RFC 2046); found {}.",
                item.name("content_type"),
                quoted(given)
            )
        });
    }
    let content_id = item.take_line("content_id", problems);
    if let Some(id) = content_id.as_deref().filter(|id| !is_content_id(id)) {
        problems.wrong(|| {
            format!(
                "`{}` must have at most {MAX_CONTENT_ID} characters, neither white space nor `<`, `>`; found {}.",
                item.name("content_id"),
                quoted(id)
            )
        });
    }
    let path = item.take_line("path", problems);
    let content = item.take("content");
    let content = match (content, path) {
        (None, None) => {
            problems.attachment(|| {
                format!("`{}` must have `content` or `path`.", item.name("").trim_end_matches('.'))
            });
            None
        }
        (Some(_), Some(_)) => {
            problems.wrong(|| {
                format!("`{}` must have `content` or `path`, not both.", item.name("").trim_end_matches('.'))
            });
            None
        }
        (Some(json), None) => read_content(item, json, total, problems).map(Content::Bytes),
        (None, Some(path)) => read_path(item, &path, problems).map(Content::Hosted),
    }?;

    let filename = filename.unwrap_or_else(|| match &content {
        Content::Hosted(url) => hosted_name(url).unwrap_or_else(|| unnamed(index)),
        Content::Bytes(_) => unnamed(index),
    });
    let content_type = content_type.map_or_else(
        || mime_guess::from_path(&filename).first_or_octet_stream().essence_str().to_owned(),
        Cow::into_owned,
    );
    Some(Attachment { filename, content_type, content_id: content_id.map(Cow::into_owned), content })
}

/// A Base64 string, an array of bytes, or `{"type": "Buffer", "data": […]}`: the specification says "buffer or Base64 string", and clients
/// serialize a buffer in both of the latter forms.
fn read_content(item: &Fields<'_>, json: &str, total: &mut usize, problems: &mut Problems) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Buffer {
        #[serde(rename = "type")]
        kind: String,
        data: Vec<u8>,
    }
    if let Some(base64) = text(json) {
        *total = total.saturating_add(base64.len());
        return match BASE64.decode(base64.as_bytes()) {
            Ok(bytes) => Some(bytes.into()),
            Err(error) => {
                problems.wrong(|| format!("`{}` must be Base64: {error}.", item.name("content")));
                None
            }
        };
    }
    let bytes = serde_json::from_str::<Vec<u8>>(json).ok().or_else(|| {
        serde_json::from_str::<Buffer>(json).ok().filter(|it| it.kind == "Buffer").map(|it| it.data)
    });
    let Some(bytes) = bytes else {
        problems.wrong(|| {
            format!(
                "`{}` must be a Base64 string or an array of bytes; found {} that is neither.",
                item.name("content"),
                kind(json)
            )
        });
        return None;
    };
    *total = total.saturating_add(base64_size(bytes.len()));
    Some(bytes.into())
}

fn read_path(item: &Fields<'_>, path: &str, problems: &mut Problems) -> Option<Url> {
    let url = Url::parse(path).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    });
    if url.is_none() {
        problems.wrong(|| {
            format!(
                "`{}` must be an http or https address without credentials; found {}.",
                item.name("path"),
                quoted(path)
            )
        });
    }
    url
}

/// The file name without folders, for any operating system.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

fn hosted_name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back().filter(|last| !last.is_empty())?;
    let name = percent_encoding::percent_decode_str(last).decode_utf8().ok()?;
    let name = base_name(&name);
    (!name.is_empty() && !crate::wire::validation::has_control(name)).then(|| name.to_owned())
}

fn unnamed(index: usize) -> String {
    format!("attachment-{}", index + 1)
}

fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let token = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte))
    };
    is_plain(text.trim()) && essence.split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub))
}

fn is_multipart(media_type: &str) -> bool {
    media_type.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("multipart/"))
}

fn is_content_id(text: &str) -> bool {
    (1..=MAX_CONTENT_ID).contains(&text.len()) && text.is_ascii() && !text.contains(['<', '>', ' ', '\t'])
}
