//! Files that travel with an email.

use std::{path::PathBuf, sync::Arc};

use bytes::Bytes;
use serde::Serialize;
use url::Url;

use crate::{
    body::{Body, FileSource, encoded_len},
    error::{Error, FileError},
    problem::Problem,
};

/// A file that travels with an email, or stands in its HTML as an image.
///
/// All attachments of an email together may have 40 MB after Base64, which is about 30 MB of files (`SPEC.md`, Limits).
#[derive(Clone, Debug)]
pub struct Attachment {
    filename: Option<String>,
    content_type: Option<String>,
    content_id: Option<String>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Bytes(Bytes),
    File(Arc<FileSource>),
    Url(String),
}

/// What stands in front of the content in the JSON.
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
}

impl Attachment {
    fn new(source: Source) -> Self {
        Self { filename: None, content_type: None, content_id: None, source }
    }

    /// Attaches bytes that are in memory, under this name.
    pub fn from_bytes(filename: impl Into<String>, content: impl Into<Bytes>) -> Self {
        Self::new(Source::Bytes(content.into())).filename(filename)
    }

    /// Content that came without a name.
    pub(super) fn without_name(content: Vec<u8>) -> Self {
        Self::new(Source::Bytes(content.into()))
    }

    /// Attaches a file, under its own name. It is read while it is sent, so its size costs no memory.
    ///
    /// # Errors
    /// [`Error::File`] when it is missing, unreadable or not a regular file. One that changes between now and the end of the send makes
    /// the send fail; nothing is accepted then.
    pub async fn from_file(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let shown = path.clone();
        match FileSource::look(path).await {
            Ok(source) => {
                let attachment = Self::new(Source::File(Arc::new(source)));
                Ok(name.into_iter().fold(attachment, Self::filename))
            }
            Err(source) => Err(Error::File(FileError { path: shown, source })),
        }
    }

    /// Attaches what the service fetches from an `http` or `https` address after it has accepted the email.
    pub fn from_url(url: impl Into<String>) -> Self {
        Self::new(Source::Url(url.into()))
    }

    /// The name that the recipient sees. Folders in it are dropped: only the last part is sent.
    #[must_use]
    pub fn filename(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
        self.filename = Some(base.to_owned());
        self
    }

    /// Its media type, such as `application/pdf`. Without it the service derives one from the name.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// Makes it an inline image, which the HTML shows with `<img src="cid:…">`.
    #[must_use]
    pub fn content_id(mut self, id: impl Into<String>) -> Self {
        self.content_id = Some(id.into());
        self
    }

    /// The name that the recipient sees, if one is known.
    pub fn filename_str(&self) -> Option<&str> {
        self.filename.as_deref()
    }

    /// Its size before Base64 in bytes; `None` when only the service will know.
    pub fn size(&self) -> Option<u64> {
        match &self.source {
            Source::Bytes(bytes) => Some(bytes.len() as u64),
            Source::File(file) => Some(file.len()),
            Source::Url(_) => None,
        }
    }

    /// Its size on the wire in bytes.
    pub(super) fn encoded_size(&self) -> u64 {
        self.size().map_or(0, encoded_len)
    }

    pub(super) fn write(&self, body: Body) -> Body {
        let path = if let Source::Url(url) = &self.source { Some(url.as_str()) } else { None };
        let head = Head {
            filename: self.filename.as_deref(),
            content_type: self.content_type.as_deref(),
            content_id: self.content_id.as_deref(),
            path,
        };
        let mut text = serde_json::to_vec(&head).unwrap_or_default();
        if path.is_some() {
            return body.plain(text);
        }
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.extend_from_slice(comma.as_bytes());
        text.extend_from_slice(br#""content":""#);
        let body = body.plain(text);
        match &self.source {
            Source::Bytes(bytes) => body.encoded(bytes.clone()),
            Source::File(file) => body.file(Arc::clone(file)),
            Source::Url(_) => body,
        }
        .plain(r#""}"#)
    }

    pub(super) fn check(&self, at: &str, problems: &mut Vec<Problem>) {
        for (field, text) in [
            ("filename", &self.filename),
            ("content_type", &self.content_type),
            ("content_id", &self.content_id),
        ] {
            let Some(text) = text else { continue };
            let path = format!("{at}/{field}");
            if text.is_empty() {
                problems.push(Problem::new(path, "empty", format!("`{field}` must not be empty")));
            } else if text.contains(|c: char| c.is_ascii_control()) {
                let rule = format!("`{field}` must not hold control characters such as line breaks");
                problems.push(Problem::new(path, "header", rule).found(text.escape_debug()));
            } else if field == "content_id"
                && text.contains(|c: char| !c.is_ascii_graphic() || matches!(c, '<' | '>'))
            {
                let rule = "`content_id` is visible ASCII without `<` and `>`";
                problems.push(Problem::new(path, "charset", rule).found(text));
            }
        }
        if let Source::Url(url) = &self.source
            && let Some(rule) = url_fault(url)
        {
            problems.push(Problem::new(format!("{at}/path"), "url", rule).found(without_userinfo(url)));
        }
    }
}

fn url_fault(text: &str) -> Option<&'static str> {
    match Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Some("the address of an attachment begins with https:// or http://")
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Some("the address of an attachment must not hold a user name or password")
        }
        Ok(_) => None,
        Err(_) => {
            Some("the address of an attachment must be absolute, such as https://example.com/report.pdf")
        }
    }
}

fn without_userinfo(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, host)| host)
}
