//! `--attach` and `--attach-url`: opens attachments; they are read only while sending.

use posthaste::Attachment;
use serde_json::{Value, json};

use crate::actions::dry_run::Content;
use crate::diagnostics::Fail;
use crate::input::{
    attach::AttachSpec,
    body_builder::{BodyBuilder, flag_span},
    source::{Source, StdinReaders},
};

/// Larger files can't be sent with any email; standard input isn't read beyond this.
const ATTACHMENT_LIMIT: u64 = 32 * 1024 * 1024;

/// Describes the attachments in the document for a dry run.
pub(super) fn contents_of(fields: &serde_json::Map<String, Value>) -> Vec<Content> {
    let items = fields.get("attachments").and_then(Value::as_array);
    let contents = items.into_iter().flatten().filter_map(|item| item.get("content")?.as_str());
    contents.map(|text| Content::Base64(text.to_owned())).collect()
}

/// One file, as named by the flag.
pub(super) struct File {
    pub(super) attachment: Attachment,
    pub(super) content: Option<Content>,
    url: Option<String>,
    content_type: Option<String>,
    content_id: Option<String>,
}

impl File {
    /// The attachment as a JSON item, with its content in memory.
    pub(super) fn wire(&self) -> Result<Value, Fail> {
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

/// Opens the attachments; failures are added to the builder's problems. `first` is the index of the first one in the email.
pub(super) async fn attachments(
    builder: &mut BodyBuilder,
    stdin: &mut StdinReaders,
    files: &[String],
    urls: &[String],
    first: usize,
) -> Vec<File> {
    let mut read = Vec::new();
    let named = files.iter().enumerate().map(|(i, text)| ("--attach", i + 1, text));
    let hosted = urls.iter().enumerate().map(|(i, text)| ("--attach-url", i + 1, text));
    for (flag, n, text) in named.chain(hosted) {
        let spec = AttachSpec::read(text);
        let target_at = 0..spec.target.len();
        let file = match flag {
            "--attach-url" => Ok((Attachment::from_url(spec.target), None, Some(spec.target.to_owned()))),
            _ => open(stdin, &spec).await.map(|(attachment, content)| (attachment, Some(content), None)),
        };
        let (mut attachment, content, url) = match file {
            Ok(file) => file,
            Err(OpenError::Rule(code, rule, hint)) => {
                builder.malformed(code, rule, flag_span(flag, n, text, target_at), hint);
                continue;
            }
            Err(OpenError::Diagnostic(found)) => {
                builder.push(*found);
                continue;
            }
        };
        let pointer = format!("/attachments/{}", first + read.len());
        builder.set_origin(pointer.clone(), flag_span(flag, n, text, target_at.clone()));
        for (field, part) in
            [("filename", &spec.name), ("content_type", &spec.content_type), ("content_id", &spec.content_id)]
        {
            let Some(part) = part else { continue };
            builder.set_origin(format!("{pointer}/{field}"), flag_span(flag, n, text, part.at.clone()));
            attachment = match field {
                "filename" => attachment.filename(part.value),
                "content_type" => attachment.content_type(part.value),
                _ => attachment.content_id(part.value),
            };
        }
        let text_of =
            |part: Option<crate::input::attach::Parameter<'_>>| part.map(|part| part.value.to_owned());
        let (content_type, content_id) = (text_of(spec.content_type), text_of(spec.content_id));
        read.push(File { attachment, content, url, content_type, content_id });
    }
    read
}

enum OpenError {
    Rule(&'static str, String, Option<String>),
    Diagnostic(Box<crate::diagnostics::Diagnostic>),
}

async fn open(stdin: &mut StdinReaders, spec: &AttachSpec<'_>) -> Result<(Attachment, Content), OpenError> {
    if spec.target.starts_with("--") {
        let rule = "--attach needs a file path, but this looks like a flag".to_owned();
        return Err(OpenError::Rule("type", rule, Some(format!("--attach ./{}", spec.target))));
    }
    match stdin.claim("--attach", spec.target).map_err(OpenError::Diagnostic)? {
        Source::Stdin => {
            let Some(name) = &spec.name else {
                let rule = "an attachment from standard input needs a file name".to_owned();
                return Err(OpenError::Rule("type", rule, Some("--attach '-;name=report.csv'".to_owned())));
            };
            let bytes = Source::Stdin.bytes(ATTACHMENT_LIMIT);
            let bytes =
                bytes.map_err(|rule| OpenError::Rule("size", format!("standard input: {rule}"), None))?;
            Ok((Attachment::from_bytes(name.value, bytes.clone()), Content::Bytes(bytes)))
        }
        Source::File(path) => match Attachment::from_file(&path).await {
            Ok(attachment) => Ok((attachment, Content::File(path))),
            Err(posthaste::Error::File(error)) => {
                let rule = format!("couldn't attach the file: {}", error.source);
                let hint =
                    spec.target.contains(';').then(|| "the parameters are ;name= ;type= ;cid=".to_owned());
                Err(OpenError::Rule("file", rule, hint))
            }
            Err(error) => Err(OpenError::Rule("file", error.to_string(), None)),
        },
    }
}
