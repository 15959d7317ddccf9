//! Attachments (`docs/specification.md`, POST /emails, Attachment item fields).

use std::cell::Cell;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

use crate::digest::uuid_of;
use crate::mime::limits::{MAX_WORD, is_plain};
use crate::mime::{self, NotParsed};
use crate::wire::{Checked, Field, Fields, has_control, input, line, quote, text};

/// The maximum number of Base64 characters over all attachments of an email. `docs/specification.md` says 40 MB, which may mean 40,000,000 bytes or 40
/// MiB; this is the larger reading.
pub const MAX_BASE64: usize = 40 << 20;
/// The maximum length of a content ID, in bytes: with `<` and `>` it is one word of a header.
const MAX_CONTENT_ID: usize = MAX_WORD - 2;

/// The rejected file name extensions. The specification is silent on them.
const REJECTED_EXTENSIONS: [&str; 89] = [
    "adp", "app", "asp", "bas", "bat", "cer", "chm", "cmd", "com", "cpl", "crt", "csh", "der", "exe", "fxp",
    "gadget", "hlp", "hta", "inf", "ins", "isp", "its", "js", "jse", "ksh", "lib", "lnk", "mad", "maf",
    "mag", "mam", "maq", "mar", "mas", "mat", "mau", "mav", "maw", "mda", "mdb", "mde", "mdt", "mdw", "mdz",
    "msc", "msh", "msh1", "msh2", "mshxml", "msh1xml", "msh2xml", "msi", "msp", "mst", "ops", "pcd", "pif",
    "plg", "prf", "prg", "reg", "scf", "scr", "sct", "shb", "shs", "sys", "ps1", "ps1xml", "ps2", "ps2xml",
    "psc1", "psc2", "tmp", "url", "vb", "vbe", "vbs", "vps", "vsmacros", "vss", "vst", "vsw", "vxd", "ws",
    "wsc", "wsf", "wsh", "xnk",
];

/// An attachment of an email.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Attachment {
    pub filename: String,
    pub content_type: String,
    /// The ID that the HTML refers to as `cid:<content_id>`; such an attachment is inline.
    pub content_id: Option<String>,
    pub content: Content,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Content {
    Bytes(Bytes),
    /// To be fetched before the email is sent.
    Hosted(Url),
}

impl Content {
    /// The bytes, none of a hosted file before it is fetched.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Hosted(_) => &[],
        }
    }

    /// The URL of a hosted file.
    pub fn url(&self) -> Option<&Url> {
        match self {
            Self::Bytes(_) => None,
            Self::Hosted(url) => Some(url),
        }
    }

    /// Its size in bytes, if it is known.
    pub fn size(&self) -> Option<usize> {
        self.url().is_none().then(|| self.bytes().len())
    }
}

/// The ID of an email's attachment, by its index: derived from the email's ID, so that nothing is stored for it.
pub fn attachment_id(email: Uuid, index: usize) -> Uuid {
    let index = u32::try_from(index).unwrap_or(u32::MAX).to_be_bytes();
    uuid_of(&[b"attachment\n", email.as_bytes(), &index])
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Reads all attachments of an email.
pub fn read(field: &Field<'_>) -> Checked<Vec<Attachment>> {
    let total = Cell::new(0);
    let attachments = field.items()?.read(|index, item| {
        let input = item.object(|fields| AttachmentInput::read(fields, &total))?;
        let attachment = input.attachment(index);
        match rejected_extension(&attachment.filename) {
            None => Ok(attachment),
            Some(ending) => Err(item.reject(format_args!(
                "must not be a file with the ending `.{ending}`, which is refused for the recipients' safety; found {}",
                quote(&attachment.filename)
            ))),
        }
    });
    let total = total.get();
    if total > MAX_BASE64 {
        return Err(field.reject(format_args!(
            "must have at most {MAX_BASE64} characters of Base64 in all; found {total}"
        )));
    }
    let attachments = attachments?;
    check(&attachments).map_err(|(index, reason)| {
        field.report().report(format_args!(
            "`{}[{index}].content` must be a file that can be parsed as part of a message; with it, the message {reason}.",
            field.name()
        ))
    })?;
    Ok(attachments)
}

/// The length of `bytes` bytes in Base64, in characters.
pub fn base64_size(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// The length of all content in Base64, in characters, without hosted attachments.
pub fn encoded_size(attachments: &[Attachment]) -> usize {
    attachments.iter().map(|attachment| base64_size(attachment.content.bytes().len())).sum()
}

/// Whether the email could be parsed with these files in it; if not, the index of the file that exceeds a limit.
pub fn check(attachments: &[Attachment]) -> Result<(), (usize, NotParsed)> {
    mime::check_attached(attachments.iter().map(|one| (one.content_type.as_str(), one.content.bytes())))
}

input! {
    struct AttachmentInput(fields, total: &Cell<usize>) {
        filename: Option<String> = fields.optional("filename", read_filename),
        content_type: Option<String> = content_type(fields),
        content_id: Option<String> = read_content_id(fields),
        content: Content = read_content(fields, total),
    }
}

impl AttachmentInput {
    fn attachment(self, index: usize) -> Attachment {
        let Self { filename, content_type, content_id, content } = self;
        let filename =
            filename.or_else(|| hosted_name(content.url()?)).unwrap_or_else(|| default_name(index));
        let content_type = content_type.unwrap_or_else(|| {
            mime_guess::from_path(&filename).first_or_octet_stream().essence_str().to_owned()
        });
        Attachment { filename, content_type, content_id, content }
    }
}

fn read_filename(field: &Field<'_>) -> Checked<String> {
    let line = field.as_line()?;
    match base_name(&line) {
        "" => Err(field.reject("must not be empty")),
        name => Ok(name.to_owned()),
    }
}

fn content_type(item: &mut Fields<'_>) -> Checked<Option<String>> {
    // Some clients write `contentType`.
    let given = read_named(item, ["content_type", "contentType"], line)?;
    let reject = |rule: &str, found: &str| {
        Err(item.reject("content_type", format_args!("must {rule}; found {}", quote(found))))
    };
    match given {
        Some(given) if !is_media_type(&given) => {
            reject(&format!("look like `type/subtype`, with words of at most {MAX_WORD} characters"), &given)
        }
        Some(given) if is_multipart(&given) => {
            reject("not be a `multipart` type, since a file has no parts (RFC 2046)", &given)
        }
        given => Ok(given),
    }
}

fn rejected_extension(filename: &str) -> Option<&'static str> {
    // Windows ignores dots and spaces at the end of a name.
    let (_, ending) = filename.trim_end_matches(['.', ' ']).rsplit_once('.')?;
    REJECTED_EXTENSIONS.into_iter().find(|refused| ending.eq_ignore_ascii_case(refused))
}

fn read_content_id(item: &mut Fields<'_>) -> Checked<Option<String>> {
    // Some clients write `inline_content_id`.
    read_named(item, ["content_id", "inline_content_id"], content_id)
}

/// Reads a field that has two names; the first takes precedence.
fn read_named<T>(
    item: &mut Fields<'_>,
    [name, other]: [&str; 2],
    read: impl FnOnce(&Field<'_>) -> Checked<T>,
) -> Checked<Option<T>> {
    let [has_name, _] = item.alternatives([name, other]);
    item.optional(if has_name { name } else { other }, read)
}

fn content_id(field: &Field<'_>) -> Checked<String> {
    let id = field.as_line()?;
    if !is_content_id(&id) {
        return Err(field.reject(format_args!(
            "must have at most {MAX_CONTENT_ID} characters, neither white space nor `<`, `>`; found {}",
            quote(&id)
        )));
    }
    Ok(id.into_owned())
}

/// Reads either `content` or `path`.
fn read_content(item: &mut Fields<'_>, total: &Cell<usize>) -> Checked<Content> {
    match item.alternatives(["content", "path"]) {
        [false, false] => {
            let name = item.own_name();
            Err(item.report().attachment(format_args!("`{name}` must have `content` or `path`.")))
        }
        [true, true] => {
            item.skip("content");
            item.skip("path");
            let name = item.own_name();
            Err(item.report().report(format_args!("`{name}` must have `content` or `path`, not both.")))
        }
        [true, false] => item.required("content", |field| read_bytes(field, total)).map(Content::Bytes),
        [false, true] => item.required("path", read_url).map(Content::Hosted),
    }
}

/// A Base64 string, an array of bytes, or `{"type": "Buffer", "data": […]}`: the specification says "buffer or Base64 string", and clients serialize
/// a buffer in either of the latter two forms. Adds its length in Base64 to `total`.
fn read_bytes(field: &Field<'_>, total: &Cell<usize>) -> Checked<Bytes> {
    #[derive(Deserialize)]
    struct Buffer {
        #[serde(rename = "type")]
        kind: String,
        data: Vec<u8>,
    }
    let add = |length: usize| total.set(total.get().saturating_add(length));
    if let Some(base64) = text(field.json()) {
        add(base64.len());
        let bytes = decode_base64(&base64);
        return bytes.map_err(|found| field.reject(format_args!("must be Base64; found {found}")));
    }
    let buffer = || serde_json::from_str(field.json()).ok().filter(|buffer: &Buffer| buffer.kind == "Buffer");
    let bytes = serde_json::from_str::<Vec<u8>>(field.json()).ok().or_else(|| Some(buffer()?.data));
    let bytes = bytes.ok_or_else(|| {
        let found = field.kind();
        field.reject(format_args!(
            "must be a Base64 string or an array of bytes; found {found} that is neither"
        ))
    })?;
    add(base64_size(bytes.len()));
    Ok(bytes.into())
}

/// Reads Base64 in one line or, as some languages write it (RFC 2045), in several. An error says what was found.
fn decode_base64(text: &str) -> Result<Bytes, String> {
    let is_split = memchr::memchr2(b'\r', b'\n', text.as_bytes()).is_some();
    let joined = is_split.then(|| text.replace(['\r', '\n'], ""));
    let text = joined.as_deref().unwrap_or(text);
    BASE64.decode(text).map(Bytes::from).map_err(|error| match error {
        // Only ASCII precedes it.
        DecodeError::InvalidByte(at, _) => {
            format!("{} at position {}", quote(text.get(at..=at).unwrap_or("a character")), at + 1)
        }
        _ => "an incomplete end".to_owned(),
    })
}

fn read_url(field: &Field<'_>) -> Checked<Url> {
    let path = field.as_line()?;
    let url = Url::parse(&path).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    });
    url.ok_or_else(|| {
        let found = quote(&path);
        field.reject(format_args!("must be an http or https address without credentials; found {found}"))
    })
}

/// The file name without folders, for any operating system.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

fn hosted_name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back().filter(|last| !last.is_empty())?;
    let name = percent_encoding::percent_decode_str(last).decode_utf8().ok()?;
    let name = base_name(&name);
    (!name.is_empty() && !has_control(name)).then(|| name.to_owned())
}

fn default_name(index: usize) -> String {
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
