//! `received attachments`: what is attached to an email, as a list or saved.

use std::fs::create_dir_all;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use posthaste::{Client, Error, ReceivedAttachment};
use serde_json::{Value, json};

use super::file_name::{numbered, safe};
use crate::context::Context;
use crate::fail::Fail;
use crate::files;
use crate::output::table::{Column, Kind, at};
use crate::paging::{self, Table};

/// List what is attached to a received email, or save it
///
/// Strangers chose the names of the files. Saved, they lose all folders and characters that mean something to a computer, a file that is there
/// already is never written over (the new one gets a number), and what could not be fetched whole leaves nothing behind.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, filename, size, content_type, content_disposition, content_id, expires_at, download_url\n\n\
    Examples:\n  \
    posthaste received attachments 4ef9a417-02e9-4d39-ad75-9611e0fcc33c\n  \
    posthaste received attachments 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --download invoices"
)]
pub(crate) struct Args {
    /// Id of the email
    #[arg(value_name = "EMAIL_ID")]
    id: String,
    /// Save all of them in this folder, which is made if need be, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["limit", "after", "before", "all"])]
    download: Option<PathBuf>,
    #[command(flatten)]
    part: paging::Args,
}

/// What the list can show; the first four by itself.
const TABLE: Table = Table {
    columns: &[
        Column { name: "id", header: "ID", get: |row| at(row, "/id"), kind: Kind::Id },
        Column { name: "filename", header: "NAME", get: |row| at(row, "/filename"), kind: Kind::Shrinks },
        Column { name: "size", header: "BYTES", get: |row| at(row, "/size"), kind: Kind::Text },
        Column {
            name: "content_type",
            header: "TYPE",
            get: |row| at(row, "/content_type"),
            kind: Kind::Text,
        },
        Column {
            name: "content_disposition",
            header: "DISPOSITION",
            get: |row| at(row, "/content_disposition"),
            kind: Kind::Text,
        },
        Column {
            name: "content_id",
            header: "CONTENT ID",
            get: |row| at(row, "/content_id"),
            kind: Kind::Text,
        },
        Column { name: "expires_at", header: "EXPIRES", get: |row| at(row, "/expires_at"), kind: Kind::Time },
        Column {
            name: "download_url",
            header: "DOWNLOAD URL",
            get: |row| at(row, "/download_url"),
            kind: Kind::Text,
        },
    ],
    shown: 4,
    nothing: "nothing is attached",
};

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, download, part } = args;
    let Some(folder) = download else {
        return paging::list(part, &TABLE, context, |client| client.received().attachments(id.as_str()))
            .await;
    };
    let client = context.client()?;
    let attachments: Vec<_> = client.received().attachments(id.as_str()).stream().try_collect().await?;
    if !attachments.is_empty() {
        let failed = |error| Fail::local(format!("{} can't be made", folder.display()), error);
        create_dir_all(&folder).map_err(failed)?;
    }
    let (mut lines, mut saved) = (Vec::new(), Vec::new());
    for (i, attachment) in attachments.iter().enumerate() {
        let name = safe(attachment.filename.as_deref().unwrap_or_default());
        context.out.note(&format!("fetching {} of {}: {name}", i + 1, attachments.len()));
        let bytes = fetch(&client, &id, attachment).await?;
        let (path, _) = files::write_new(&folder, |number| numbered(&name, number), &bytes, false)
            .map_err(|error| Fail::local(format!("{name} can't be saved in {}", folder.display()), error))?;
        lines.push(path.display().to_string());
        saved.push(row(attachment, &path, bytes.len()));
    }
    if attachments.is_empty() {
        context.out.note(TABLE.nothing);
    }
    context.out.result(&lines, &json!({ "data": saved }))
}

fn row(file: &ReceivedAttachment, path: &Path, size: usize) -> Value {
    json!({
        "id": file.id, "filename": file.filename, "content_type": file.content_type, "size": size,
        "path": path.display().to_string(),
    })
}

/// The bytes of a file. An address that has expired since it was told is asked for once more.
async fn fetch(client: &Client, email: &str, attachment: &ReceivedAttachment) -> Result<Bytes, Fail> {
    match client.received().download(&attachment.download_url).await {
        Err(Error::Api(error)) if matches!(error.status.as_u16(), 401 | 403 | 404 | 410) => {
            let anew = client.received().attachment(email, &attachment.id).await?;
            Ok(client.received().download(&anew.download_url).await?)
        }
        fetched => Ok(fetched?),
    }
}
