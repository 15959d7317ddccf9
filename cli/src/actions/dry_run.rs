//! Dry runs: print the request as it would be sent, without the credential, and with the size and hash of each attachment.

use std::{fs::File, io, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::header::CONTENT_TYPE;
use idempost::{body::BodyPart, call::Preview};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::context::{Context, Identity};
use crate::diagnostics::Fail;
use crate::input::flags::DryRun;
use crate::output::{hex, json};

/// The content of an attachment.
#[derive(Debug)]
pub(crate) enum Content {
    /// A file, read on demand.
    File(PathBuf),
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Base64 in a document.
    Base64(String),
}

impl Content {
    /// Its size in bytes and its SHA-256.
    fn digest(&self) -> io::Result<(u64, String)> {
        let mut hash = Sha256::new();
        let bytes = match self {
            Self::File(path) => io::copy(&mut File::open(path)?, &mut hash)?,
            Self::Bytes(bytes) => {
                hash.update(bytes);
                bytes.len() as u64
            }
            Self::Base64(text) => {
                let bytes = STANDARD.decode(text).map_err(io::Error::other)?;
                hash.update(&bytes);
                bytes.len() as u64
            }
        };
        Ok((bytes, hex(&hash.finalize())))
    }

    /// The content as Base64.
    pub(crate) fn to_base64(&self) -> Result<String, Fail> {
        match self {
            Self::File(path) => {
                let read = std::fs::read(path);
                let bytes =
                    read.map_err(|error| Fail::local(format!("couldn't read {}", path.display()), error))?;
                Ok(STANDARD.encode(bytes))
            }
            Self::Bytes(bytes) => Ok(STANDARD.encode(bytes)),
            Self::Base64(text) => Ok(text.clone()),
        }
    }
}

/// Writes the request and its sender's identity to standard output. `contents` are the attachments in the order of the body.
pub(crate) fn show(
    preview: &Preview,
    contents: &[Content],
    form: DryRun,
    identity: &Identity,
    context: &Context,
) -> Result<(), Fail> {
    let body = body(preview, contents)?;
    match form {
        DryRun::Json => {
            let mut request = serde_json::json!({
                "method": preview.method().as_str(),
                "path": preview.path_and_query(),
                "headers": headers(preview),
                "body": body,
            });
            identity.add_to(&mut request);
            context.out.document(&serde_json::json!({ "dry_run": request }))
        }
        DryRun::Curl => {
            context.out.note(&format!("as {identity}"));
            context.out.print_untrusted(format!("{}\n", curl(preview, contents, identity)?).as_bytes())
        }
    }
}

fn headers(preview: &Preview) -> Value {
    let mut headers: Map<String, Value> = preview
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    headers.insert("authorization".into(), "Bearer [redacted]".into());
    Value::Object(headers)
}

/// The body as JSON, with each attachment's content replaced by its size and hash.
fn body(preview: &Preview, contents: &[Content]) -> Result<Option<Value>, Fail> {
    // Can't collide with content: `:` isn't a Base64 character.
    let mark = |n: usize| format!("attachment:{n}");
    let (mut text, mut encoded) = (Vec::new(), 0);
    for part in preview.body_parts() {
        if let BodyPart::Text(bytes) = part {
            text.extend_from_slice(&bytes);
        } else {
            text.extend_from_slice(mark(encoded).as_bytes());
            encoded += 1;
        }
    }
    if text.is_empty() {
        return Ok(None);
    }
    let Ok(mut body) = serde_json::from_slice::<Value>(&text) else {
        return Ok(Some(String::from_utf8_lossy(&text).into()));
    };
    let items = body.get_mut("attachments").and_then(Value::as_array_mut);
    for (item, content) in
        items.into_iter().flatten().filter(|item| item.get("content").is_some()).zip(contents)
    {
        let digest = content.digest();
        let (bytes, sha256) = digest.map_err(|error| Fail::local("couldn't read an attachment", error))?;
        item["content"] = serde_json::json!({"bytes": bytes, "sha256": sha256});
    }
    Ok(Some(body))
}

/// A curl command that sends the request. A body with attachments is piped, since arguments have a size limit, and reads the files at run time.
fn curl(preview: &Preview, contents: &[Content], identity: &Identity) -> Result<String, Fail> {
    let address = match identity.base_url() {
        Some(base_url) => quote(&format!("{base_url}{}", preview.path_and_query())),
        None => format!("\"$IDEMPOST_BASE_URL\"{}", quote(&preview.path_and_query())),
    };
    let mut command = format!("curl -X {} {address}", preview.method());
    command += " \\\n  -H \"Authorization: Bearer $IDEMPOST_API_KEY\"";
    for (name, value) in preview.headers() {
        let header = format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        command.extend([" \\\n  -H ", &quote(&header)]);
    }
    let is_json = preview.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let mut contents = contents.iter();
    let (mut parts, mut piped) = (Vec::new(), false);
    for part in preview.body_parts() {
        if let BodyPart::Text(bytes) = part {
            let text = String::from_utf8_lossy(&bytes);
            // Escapes control characters in JSON: a sender may have chosen them.
            let text = if is_json { json::escape(&text) } else { text.into_owned() };
            parts.push(format!("printf %s {}", quote(&text)));
            continue;
        }
        piped = true;
        match contents.next() {
            Some(Content::File(path)) => {
                let path = quote(&path.display().to_string());
                parts.push(format!("base64 < {path} | tr -d '\\n'"));
            }
            Some(inline) => parts.push(format!("printf %s {}", inline.to_base64()?)),
            None => {}
        }
    }
    match (parts.as_slice(), piped) {
        ([], _) => {}
        ([body], false) => command.extend([" \\\n  --data-binary ", body.trim_start_matches("printf %s ")]),
        _ => command = format!("{{\n  {}\n}} | {command} \\\n  --data-binary @-", parts.join("\n  ")),
    }
    Ok(command)
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_be_quoted_for_a_shell() {
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn file_memory_and_base64_content_have_the_same_hash() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let abc = (3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned());
        assert_eq!(Content::File(file.path().into()).digest().unwrap(), abc);
        assert_eq!(Content::Bytes(b"abc".to_vec()).digest().unwrap(), abc);
        assert_eq!(Content::Base64("YWJj".to_owned()).digest().unwrap(), abc);
    }
}
