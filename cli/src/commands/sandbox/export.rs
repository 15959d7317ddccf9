//! `sandbox export`: writes captured emails to files.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::Method;
use idempost::{Client, Error};
use serde_json::{Value, json};

use super::inbox::{EmailFilter, fetch_messages};
use super::{client, unreachable_failure};
use crate::commands::received::file_name::{safe, with_number};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files::{self, Output};
use crate::input::flags::{Choices, Flags};
use crate::output::format_count as counted;
use crate::output::table::text_at;

/// Maximum bytes of mail per request, unless a single mail is larger.
const MAX_CHUNK_BYTES: u64 = 8 << 20;
/// Maximum number of mails per request.
const MAX_CHUNK_MAILS: usize = 100;

/// Export captured emails to files, oldest first
///
/// With the format eml, writes one file per email to a folder, created if needed, named by time, subject and ID; with mbox or json, one
/// file, or standard output for -. Without --format, the extension decides: .mbox, .json; anything else is a folder. Existing files are never
/// overwritten: repeating an eml export adds only new emails; an mbox or json file must not exist yet. The files contain the emails as they
/// would have been sent; json contains bodies and headers but no attachments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox export mails\n  \
    idempost sandbox export mails.mbox --to ada@example.com\n  \
    idempost sandbox export - --format json")]
pub(crate) struct Args {
    /// Folder, file, or - for standard output
    #[arg(value_name = "DEST")]
    to_path: PathBuf,
    /// Format: eml, mbox or json
    #[arg(long, value_name = "FORMAT", value_parser = Choices(&["eml", "mbox", "json"]), hide_possible_values = true)]
    format: Option<String>,
    #[command(flatten)]
    which: EmailFilter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Eml,
    Mbox,
    Json,
}

/// A captured email, as listed.
struct Mail {
    id: String,
    size: u64,
    name: String,
}

/// Exports the emails.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let format = parse_format(&args, &mut flags);
    flags.finish()?;
    let query = args.which.query();
    let client = client(context)?;
    let mails = fetch_all(&client, &query).await?;
    match format {
        Format::Eml => export_to_folder(&args.to_path, &mails, &client, context).await,
        format if args.to_path == Path::new("-") => {
            write(format, &mails, &client, |bytes| context.out.print_untrusted(bytes)).await.map(drop)
        }
        format => export_to_file(&args.to_path, format, &mails, &client, context).await,
    }
}

fn parse_format(args: &Args, flags: &mut Flags) -> Format {
    let stdout = args.to_path == Path::new("-");
    let ending = args.to_path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    let format = match args.format.as_deref() {
        Some("eml") => Format::Eml,
        Some("mbox") => Format::Mbox,
        Some("json") => Format::Json,
        Some(other) => {
            flags.reject("unknown", "the format must be eml, mbox or json", "--format", other);
            return Format::Eml;
        }
        None if ending.as_deref().is_some_and(|ending| ending == "mbox") => Format::Mbox,
        None if ending.as_deref().is_some_and(|ending| ending == "json") => Format::Json,
        None => Format::Eml,
    };
    if stdout && format == Format::Eml {
        let rule = "only a single file can be written to standard output; use --format mbox or --format json";
        flags.reject("exclusive", rule, "DEST", "-");
    }
    if !stdout && format != Format::Eml && (args.to_path.is_file() || args.to_path.is_dir()) {
        let rule = "the file exists and won't be overwritten";
        flags.reject("file", rule, "DEST", &args.to_path.display().to_string());
    }
    if format == Format::Eml && args.to_path.is_file() {
        let rule = "this is a file; eml needs a folder";
        flags.reject("file", rule, "DEST", &args.to_path.display().to_string());
    }
    format
}

/// All matching emails, oldest first.
async fn fetch_all(client: &Client, query: &[(&'static str, String)]) -> Result<Vec<Mail>, Fail> {
    let mut mails: Vec<Mail> = Vec::new();
    loop {
        let mut query = query.to_vec();
        query.push(("limit", MAX_CHUNK_MAILS.to_string()));
        query.extend(mails.last().map(|mail| ("after", mail.id.clone())));
        let page = match fetch_messages(client, &query).await {
            // The last mail was deleted or evicted in the meantime, so its page is listed again.
            Err(Fail::Sdk(Error::Api(error))) if error.status.as_u16() == 422 && !mails.is_empty() => {
                mails.truncate(mails.len().saturating_sub(MAX_CHUNK_MAILS));
                continue;
            }
            page => page?,
        };
        let data = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        mails.extend(data.iter().map(Mail::from_json));
        if data.is_empty() || !page["has_more"].as_bool().unwrap_or_default() {
            break;
        }
    }
    mails.reverse();
    Ok(mails)
}

impl Mail {
    fn from_json(row: &Value) -> Self {
        let digits: String =
            text_at(row, "/created_at").chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, time) = digits.split_at(digits.len().min(8));
        let id = text_at(row, "/id");
        let start: String = id.chars().take(8).collect();
        let subject: String = text_at(row, "/subject").chars().take(60).collect();
        Self {
            size: row["size"].as_u64().unwrap_or_default(),
            name: safe(&format!("{day}T{time}Z {subject} {start}.eml")),
            id,
        }
    }
}

async fn export_to_folder(
    folder: &Path,
    mails: &[Mail],
    client: &Client,
    context: &Context,
) -> Result<(), Fail> {
    files::create_dir(folder)
        .map_err(|error| Fail::local(format!("couldn't create {}", folder.display()), error))?;
    let (mut lines, mut saved, mut known, mut gone) = (Vec::new(), Vec::new(), 0, 0);
    for mail in mails {
        let Some(bytes) = fetch_raw(mail, client).await? else {
            gone += 1;
            continue;
        };
        let written = files::write_new(folder, |number| with_number(&mail.name, number), &bytes);
        let (path, new) = written.map_err(|error| {
            Fail::local(format!("couldn't save {} in {}", mail.name, folder.display()), error)
        })?;
        known += usize::from(!new);
        lines.push(path.display().to_string());
        saved.push(
            json!({ "id": mail.id, "path": path.display().to_string(), "size": bytes.len(), "new": new }),
        );
    }
    let evicted = if gone == 0 { String::new() } else { format!("; {gone} evicted in the meantime") };
    context.out.note(&format!(
        "{}, {} of them new{evicted}",
        counted(saved.len(), "mail"),
        saved.len() - known
    ));
    context.out.result(&lines, &json!({ "data": saved }))
}

/// A mail as it would have been sent; `None` if it has been evicted.
async fn fetch_raw(mail: &Mail, client: &Client) -> Result<Option<Bytes>, Fail> {
    match client.request(Method::GET, format!("/_/messages/{}/raw", mail.id)).bytes().await {
        Err(Error::Api(error)) if error.status.as_u16() == 404 => Ok(None),
        bytes => bytes.map(Some).map_err(unreachable_failure),
    }
}

async fn export_to_file(
    path: &Path,
    format: Format,
    mails: &[Mail],
    client: &Client,
    context: &Context,
) -> Result<(), Fail> {
    let failed = |error: io::Error| Fail::local(format!("couldn't write {}", path.display()), error);
    let mut file = Output::open(path).await.map_err(failed)?;
    let (count, size) = write(format, mails, client, |bytes| file.write_all(bytes).map_err(failed)).await?;
    file.commit(false).map_err(failed)?;
    context.out.note(&format!("{}, {}", counted(count, "mail"), counted(size, "byte")));
    let shown = path.display().to_string();
    context.out.result(std::slice::from_ref(&shown), &json!({ "path": shown, "mails": count, "bytes": size }))
}

/// Fetches the mails in chunks and passes on their bytes; returns the number of mails and of bytes.
async fn write(
    format: Format,
    mails: &[Mail],
    client: &Client,
    mut to: impl FnMut(&[u8]) -> Result<(), Fail>,
) -> Result<(usize, usize), Fail> {
    let (mut count, mut size) = (0, 0);
    let mut hand_on = |bytes: &[u8]| {
        size += bytes.len();
        to(bytes)
    };
    if format == Format::Json {
        hand_on(b"[")?;
    }
    for chunk in split_chunks(mails) {
        let name = if format == Format::Json { "json" } else { "mbox" };
        let call = client.request(Method::GET, "/_/export").query("format", name);
        let call = chunk.iter().fold(call, |call, mail| call.query("id", mail.id.as_str()));
        let bytes = call.bytes().await.map_err(unreachable_failure)?;
        if format == Format::Mbox {
            hand_on(&bytes)?;
            // In the mails themselves, such lines are quoted.
            count += bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"From ")).count();
            continue;
        }
        let rows: Vec<Value> = serde_json::from_slice(&bytes)
            .map_err(|error| Fail::local("the sandbox's response isn't JSON", error))?;
        for row in rows {
            hand_on(if count == 0 { b"\n" } else { b",\n" })?;
            hand_on(row.to_string().as_bytes())?;
            count += 1;
        }
    }
    if format == Format::Json {
        hand_on(if count == 0 { b"]\n" } else { b"\n]\n" })?;
    }
    Ok((count, size))
}

/// Splits the mails into chunks of limited size; a mail above the limit forms its own chunk.
fn split_chunks(mails: &[Mail]) -> Vec<&[Mail]> {
    let (mut chunks, mut start, mut size) = (Vec::new(), 0, 0);
    for (i, mail) in mails.iter().enumerate() {
        if i > start && (size + mail.size > MAX_CHUNK_BYTES || i - start == MAX_CHUNK_MAILS) {
            chunks.push(&mails[start..i]);
            (start, size) = (i, 0);
        }
        size += mail.size;
    }
    if start < mails.len() {
        chunks.push(&mails[start..]);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_every_mail_once_in_order_within_the_limits() {
        let sizes =
            [1, 2, MAX_CHUNK_BYTES, 1, MAX_CHUNK_BYTES + 1, MAX_CHUNK_BYTES / 2, MAX_CHUNK_BYTES / 2, 1];
        let mails: Vec<_> = sizes
            .iter()
            .copied()
            .chain(std::iter::repeat_n(1, 250))
            .enumerate()
            .map(|(i, size)| Mail { id: i.to_string(), size, name: String::new() })
            .collect();
        let chunks = split_chunks(&mails);
        let ids: Vec<_> = chunks.iter().copied().flatten().map(|mail| mail.id.clone()).collect();
        assert_eq!(ids, (0..mails.len()).map(|i| i.to_string()).collect::<Vec<_>>());
        for chunk in chunks {
            assert!(
                chunk.len() == 1
                    || chunk.len() <= MAX_CHUNK_MAILS
                        && chunk.iter().map(|mail| mail.size).sum::<u64>() <= MAX_CHUNK_BYTES
            );
        }
    }
}
