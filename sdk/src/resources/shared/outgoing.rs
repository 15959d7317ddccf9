//! Attachments for outgoing emails.

use std::io;
#[cfg(not(target_family = "wasm"))]
use std::{path::PathBuf, sync::Arc};

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures_core::Stream;
use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::Value;
use url::Url;

#[cfg(not(target_family = "wasm"))]
use crate::{
    body::FileSource,
    error::{Error, FileError},
};
use crate::{
    body::{Body, Source, encoded_len},
    problem::{Validator, present},
    types::fields::{FieldValue, Kind},
};

/// A file attached to an email, or an inline image for its HTML.
///
/// The attachments of an email are limited to 40 MB in total after Base64, about 30 MB of files (`docs/specification.md`, Limits).
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Attachment {
    filename: Option<String>,
    content_type: Option<String>,
    content_id: Option<String>,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Local(Source),
    Url(String),
}

/// The fields that precede the content in the JSON.
#[derive(Serialize)]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl Attachment {
    fn new(source: Source) -> Self {
        Self { filename: None, content_type: None, content_id: None, content: Content::Local(source) }
    }

    /// Creates an attachment from in-memory bytes, with a file name.
    pub fn from_bytes(filename: impl Into<String>, content: impl Into<Bytes>) -> Self {
        Self::new(Source::Bytes(content.into())).filename(filename)
    }

    /// Creates an attachment without a file name.
    pub(crate) fn without_name(content: Vec<u8>) -> Self {
        Self::new(Source::Bytes(content.into()))
    }

    /// Creates an attachment from a file, using the file's name. The file is read while it is sent, so its size doesn't affect memory use.
    ///
    /// # Errors
    /// [`Error::File`] if it is missing, unreadable or not a regular file. If the file changes before the send completes, the send
    /// fails and nothing is accepted.
    #[cfg(not(target_family = "wasm"))]
    pub async fn from_file(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let shown = path.clone();
        match FileSource::inspect(path).await {
            Ok(source) => {
                let attachment = Self::new(Source::File(Arc::new(source)));
                Ok(name.into_iter().fold(attachment, Self::filename))
            }
            Err(source) => Err(Error::File(FileError { path: shown, source })),
        }
    }

    /// Creates an attachment from a stream of `length` bytes before Base64, with a file name. It is encoded while it is sent, so its size doesn't
    /// affect memory use. `open` is called for each attempt and must return the same content, from its start.
    ///
    /// The length must be known because the request announces the length of its body. If the stream fails or has a different length, the send fails
    /// with [`Error::File`], and nothing is accepted.
    ///
    /// ```
    /// # fn example(pages: Vec<bytes::Bytes>) -> idempost::Email {
    /// use idempost::{Attachment, Email};
    ///
    /// let length = pages.iter().map(|page| page.len() as u64).sum();
    /// let open = move || futures_util::stream::iter(pages.clone().into_iter().map(Ok));
    /// Email::new("hi@acme.test", "ada@example.com", "Your report")
    ///     .text("The report is attached.")
    ///     .attach(Attachment::from_stream("report.pdf", length, open))
    /// # }
    /// ```
    pub fn from_stream<S>(
        filename: impl Into<String>,
        length: u64,
        open: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        Self::new(Source::stream(length, open)).filename(filename)
    }

    /// Creates an attachment that the service fetches from an `http` or `https` URL after it has accepted the email.
    pub fn from_url(url: impl Into<String>) -> Self {
        let content = Content::Url(url.into());
        Self { filename: None, content_type: None, content_id: None, content }
    }

    /// Sets the file name that the recipient sees. Only the last component of a path is sent.
    pub fn filename(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
        self.filename = Some(base.to_owned());
        self
    }

    setters! {
        /// Sets the media type, such as `application/pdf`. By default the service derives it from the file name.
        content_type: String;
        /// Makes the attachment an inline image, shown in the HTML with `<img src="cid:…">`.
        content_id: String;
    }

    /// Returns the file name, if known.
    pub fn file_name(&self) -> Option<&str> {
        self.filename.as_deref()
    }

    /// Returns the size before Base64, in bytes; `None` for URLs, whose size only the service will know.
    pub fn size(&self) -> Option<u64> {
        match &self.content {
            Content::Local(source) => Some(source.len()),
            Content::Url(_) => None,
        }
    }

    /// Returns the size on the wire in bytes.
    pub(crate) fn encoded_size(&self) -> u64 {
        self.size().map_or(0, encoded_len)
    }

    fn head(&self) -> Head<'_> {
        Head {
            filename: self.filename.as_deref(),
            content_type: self.content_type.as_deref(),
            content_id: self.content_id.as_deref(),
            path: if let Content::Url(url) = &self.content { Some(url) } else { None },
            content: None,
        }
    }

    pub(crate) fn write(&self, body: Body) -> Body {
        let mut text = serde_json::to_vec(&self.head()).unwrap_or_default();
        let Content::Local(source) = &self.content else { return body.with_bytes(text) };
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.extend_from_slice(comma.as_bytes());
        text.extend_from_slice(br#""content":""#);
        body.with_bytes(text).with_base64(source.clone()).with_bytes(r#""}"#)
    }

    pub(crate) fn validate(&self, v: &mut Validator) {
        for (field, text) in [
            ("filename", &self.filename),
            ("content_type", &self.content_type),
            ("content_id", &self.content_id),
        ] {
            v.not_empty(field, text.as_deref());
            v.check_one_line(field, text.as_deref());
        }
        let stray = |c: char| !c.is_ascii_graphic() || matches!(c, '<' | '>');
        let lines = |id: &&String| id.contains(|c: char| c.is_ascii_control());
        if let Some(id) = self.content_id.as_ref().filter(|id| id.contains(stray) && !lines(id)) {
            let rule = "`content_id` must be visible ASCII without `<` and `>`";
            v.field("content_id", |v| v.report_found("charset", rule, id));
        }
        if let Content::Url(url) = &self.content
            && let Some(rule) = url_fault(url)
        {
            v.field("path", |v| v.report_found("url", rule, without_userinfo(url)));
        }
    }
}

/// Decodes Base64 in one line or several, as some languages write it (RFC 2045). Errors state the invalid text.
fn from_base64(text: &str) -> Result<Vec<u8>, String> {
    let joined = text.contains(['\r', '\n']).then(|| text.replace(['\r', '\n'], ""));
    let text = joined.as_deref().unwrap_or(text);
    STANDARD.decode(text).map_err(|error| match error {
        DecodeError::InvalidByte(at, _) => {
            format!(
                "{:?} at position {}",
                text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default(),
                at + 1
            )
        }
        _ => "an incomplete end".to_owned(),
    })
}

impl FieldValue for Attachment {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        let fields = v.object(value, "an attachment")?;
        v.check_known_fields(
            fields,
            "an attachment",
            &["content", "filename", "path", "content_type", "content_id"],
        );
        let source = match (v.text(fields, "content"), v.text(fields, "path")) {
            (Some(_), Some(_)) => {
                v.report_at("path", "exclusive", "`path` and `content` are mutually exclusive");
                None
            }
            (None, None) => {
                if present(fields, "content").is_none() && present(fields, "path").is_none() {
                    v.report("required", "`content` or `path` is required");
                }
                None
            }
            (None, Some(url)) => Some(Self::from_url(url)),
            (Some(text), None) => match from_base64(text) {
                Ok(bytes) => Some(Self::without_name(bytes)),
                Err(found) => {
                    let rule = "`content` must be Base64 (RFC 4648, with padding)";
                    v.field("content", |v| v.report_found("base64", rule, found));
                    None
                }
            },
        };
        let [filename, content_type, content_id] =
            ["filename", "content_type", "content_id"].map(|name| v.text(fields, name));
        let mut attachment = source?;
        attachment = filename.into_iter().fold(attachment, Self::filename);
        attachment = content_type.into_iter().fold(attachment, Self::content_type);
        Some(content_id.into_iter().fold(attachment, Self::content_id))
    }
}

/// Serializes to the service's JSON, with in-memory content as Base64. An attachment from a file or a stream is an error, since it is read while it
/// is sent.
impl Serialize for Attachment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = match &self.content {
            Content::Local(Source::Bytes(bytes)) => Some(STANDARD.encode(bytes)),
            Content::Url(_) => None,
            Content::Local(_) => {
                let name = self.filename.as_ref().map_or_else(
                    || "the unnamed attachment".to_owned(),
                    |name| format!("the attachment `{name}`"),
                );
                let reason = "is read while it is sent; attach its bytes with `Attachment::from_bytes`";
                return Err(S::Error::custom(format!("{name} {reason} to serialize the email")));
            }
        };
        Head { content, ..self.head() }.serialize(serializer)
    }
}

/// Appends a JSON object, with its attachments' content as the last field. The object must not already have a field of this name.
pub(crate) fn write_object(mut text: Vec<u8>, attachments: &[Attachment], body: Body) -> Body {
    if attachments.is_empty() {
        return body.with_bytes(text);
    }
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    text.extend_from_slice(comma.as_bytes());
    text.extend_from_slice(br#""attachments":["#);
    let mut body = body.with_bytes(text);
    for (i, attachment) in attachments.iter().enumerate() {
        body = attachment.write(if i > 0 { body.with_bytes(",") } else { body });
    }
    body.with_bytes("]}")
}

fn url_fault(text: &str) -> Option<&'static str> {
    match Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Some("`path` must start with https:// or http://")
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Some("`path` must not contain a username or password")
        }
        Ok(_) => None,
        Err(_) => Some("`path` must be an absolute URL, such as https://example.com/report.pdf"),
    }
}

fn without_userinfo(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, host)| host)
}
