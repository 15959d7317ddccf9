//! `--attach` and `--attach-url`: opens attachments; they are read only while sending.

use idempost::Attachment;
use serde_json::{Value, json};

use super::dry_run::Content;
use crate::diagnostics::{Diagnostic, Fail, Origin};
use crate::input::attach::{AttachSpec, Parameter};
use crate::input::flags::Flags;
use crate::input::source::{Source, StdinReaders};

/// No email can include a larger file; standard input isn't read beyond this.
const ATTACHMENT_LIMIT: u64 = 32 * 1024 * 1024;

/// The attachments of an email from an inbox
#[derive(Debug, Default, clap::Args)]
#[group(skip)]
pub(crate) struct InboxArgs {
    /// File to attach, with optional `;name= ;type= ;cid=`; repeatable
    ///
    /// `--attach 'logo.png;cid=logo'` embeds the file in the HTML as `<img src="cid:logo">`. `--attach '-;name=report.csv'` attaches standard
    /// input. Files are streamed while sending; at most 10, with 25 MB in total.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    attach: Vec<String>,
    /// URL of a file for the service to fetch and attach; repeatable
    #[arg(long, value_name = "URL", hide_short_help = true)]
    attach_url: Vec<String>,
}

impl InboxArgs {
    /// Whether no flag names a file.
    pub(crate) fn is_empty(&self) -> bool {
        self.attach.is_empty() && self.attach_url.is_empty()
    }

    /// Opens the attachments. Returns them, and their contents for a dry run.
    pub(crate) async fn open(
        &self,
        flags: &mut Flags,
        stdin: &mut StdinReaders,
    ) -> (Vec<Attachment>, Vec<Content>) {
        flags.field("/attachments", "--attach", None);
        let files = open(flags, stdin, &self.attach, &self.attach_url, 0).await;
        let (attachments, contents): (Vec<_>, Vec<_>) =
            files.into_iter().map(|file| (file.attachment, file.content)).unzip();
        (attachments, contents.into_iter().flatten().collect())
    }
}

/// Describes the attachments in the document for a dry run.
pub(crate) fn describe_contents(fields: &serde_json::Map<String, Value>) -> Vec<Content> {
    let items = fields.get("attachments").and_then(Value::as_array);
    let contents = items.into_iter().flatten().filter_map(|item| item.get("content")?.as_str());
    contents.map(|text| Content::Base64(text.to_owned())).collect()
}

/// A file named by the flag.
pub(crate) struct File {
    pub(crate) attachment: Attachment,
    pub(crate) content: Option<Content>,
    url: Option<String>,
    content_type: Option<String>,
    content_id: Option<String>,
}

impl File {
    /// The attachment as a JSON item, with its content in memory.
    pub(crate) fn wire(&self) -> Result<Value, Fail> {
        let mut item = json!({});
        let fields = [
            ("filename", self.attachment.file_name().map(str::to_owned)),
            ("content_type", self.content_type.clone()),
            ("content_id", self.content_id.clone()),
            ("path", self.url.clone()),
            ("content", self.content.as_ref().map(Content::to_base64).transpose()?),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                item[name] = value.into();
            }
        }
        Ok(item)
    }
}

/// Opens the files and URLs of `--attach` and `--attach-url`, which follow other attachments. Adds problems to the flags.
pub(crate) async fn open(
    flags: &mut Flags,
    stdin: &mut StdinReaders,
    files: &[String],
    urls: &[String],
    others: usize,
) -> Vec<File> {
    let mut opened = Vec::new();
    for (flag, texts) in [("--attach", files), ("--attach-url", urls)] {
        for (i, text) in texts.iter().enumerate() {
            let pointer = format!("/attachments/{}", others + opened.len());
            match read_attachment(flags, stdin, (flag, i + 1, text), &pointer).await {
                Ok(file) => opened.push(file),
                Err(found) => flags.push(*found),
            }
        }
    }
    opened
}

async fn read_attachment(
    flags: &mut Flags,
    stdin: &mut StdinReaders,
    (flag, n, text): (&'static str, usize, &str),
    pointer: &str,
) -> Result<File, Box<Diagnostic>> {
    let spec = AttachSpec::read(text);
    let target = Origin::flag_part(flag, n, text, 0..spec.target.len());
    let (mut attachment, content, url) = if flag == "--attach-url" {
        (Attachment::from_url(spec.target), None, Some(spec.target.to_owned()))
    } else {
        let (attachment, content) = open_file(stdin, &spec, &target).await?;
        (attachment, Some(content), None)
    };
    flags.declare_part(pointer.to_owned(), flag, target);
    let mut part = |field: &str, part: &Option<Parameter<'_>>| {
        let part = part.as_ref()?;
        let origin = Origin::flag_part(flag, n, text, part.at.clone());
        flags.declare_part(format!("{pointer}{field}"), flag, origin);
        Some(part.value.to_owned())
    };
    let filename = part("/filename", &spec.name);
    let content_type = part("/content_type", &spec.content_type);
    let content_id = part("/content_id", &spec.content_id);
    attachment = filename.into_iter().fold(attachment, Attachment::filename);
    attachment = content_type.clone().into_iter().fold(attachment, Attachment::content_type);
    attachment = content_id.clone().into_iter().fold(attachment, Attachment::content_id);
    Ok(File { attachment, content, url, content_type, content_id })
}

async fn open_file(
    stdin: &mut StdinReaders,
    spec: &AttachSpec<'_>,
    target: &Origin,
) -> Result<(Attachment, Content), Box<Diagnostic>> {
    let wrong = |code, rule: &str, hint: Option<&str>| {
        let hint = hint.map(str::to_owned);
        Box::new(Diagnostic { hint, ..Diagnostic::new(code, rule, Some(target.clone())) })
    };
    if spec.target.starts_with("--") {
        let rule = "--attach needs a file path, but this looks like a flag";
        return Err(wrong("type", rule, Some(&format!("--attach ./{}", spec.target))));
    }
    match stdin.claim("--attach", spec.target)? {
        Source::Stdin => {
            let Some(name) = &spec.name else {
                let rule = "an attachment from standard input needs a file name";
                return Err(wrong("type", rule, Some("--attach '-;name=report.csv'")));
            };
            let bytes = Source::Stdin.bytes(ATTACHMENT_LIMIT);
            let bytes = bytes.map_err(|rule| wrong("size", &format!("standard input: {rule}"), None))?;
            Ok((Attachment::from_bytes(name.value, bytes.clone()), Content::Bytes(bytes)))
        }
        Source::File(path) => match Attachment::from_file(&path).await {
            Ok(attachment) => Ok((attachment, Content::File(path))),
            Err(idempost::Error::File(error)) => {
                let rule = format!("couldn't attach the file: {}", error.source);
                let hint = match spec.target {
                    url if url.contains("://") => Some("to attach the file at a URL: --attach-url URL"),
                    text if text.contains(';') => Some("the parameters are ;name= ;type= ;cid="),
                    _ => None,
                };
                Err(wrong("file", &rule, hint))
            }
            Err(error) => Err(wrong("file", &error.to_string(), None)),
        },
    }
}
