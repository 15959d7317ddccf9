//! `received attachments`: lists or saves the attachments of an email.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::builder::NonEmptyStringValueParser;
use futures_util::TryStreamExt as _;
use idempost::{Call, Client, Error, List, received::EmailAttachment};
use serde_json::{Value, json};

use super::file_name::{safe, with_number};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;
use crate::output::table::{Column, Kind};

/// List or save the attachments of a received email
///
/// File names are untrusted: when saving, folders and special characters are removed and existing files are never overwritten (a file with
/// other content gets a number). After a failure, the files saved so far are listed; downloads that fail leave no partial file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, filename, size, content_type, content_disposition, content_id, expires_at, download_url\n\n\
    Examples:\n  \
    idempost received attachments 4ef9a417-02e9-4d39-ad75-9611e0fcc33c\n  \
    idempost received attachments 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --download invoices"
)]
pub(crate) struct Args {
    /// ID of the email
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    #[command(flatten)]
    selection: Selection,
}

// The flags of both commands that list attachments. No doc comment: it would replace the command's.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(mut_arg("limit", pages::complete))]
pub(crate) struct Selection {
    /// Save all attachments to this folder, creating it if needed, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["limit", "after", "before", "all"])]
    download: Option<PathBuf>,
    #[command(flatten)]
    part: pages::Args,
}

/// Columns of the list.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("filename", "NAME", Kind::Shrinks),
    Column::new("size", "BYTES", Kind::Text),
    Column::new("content_type", "TYPE", Kind::Text),
    Column::new("content_disposition", "DISPOSITION", Kind::Text).optional(),
    Column::new("content_id", "CONTENT ID", Kind::Text).optional(),
    Column::new("expires_at", "EXPIRES", Kind::Time).optional(),
    Column::new("download_url", "DOWNLOAD URL", Kind::Text).optional(),
])
.nothing("no attachments");

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    show(Folder::Received, &args.id, args.selection, context).await
}

/// The email whose attachments are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Folder {
    Sent,
    Received,
}

impl Folder {
    fn list(self, client: &Client, email: &str) -> List<EmailAttachment> {
        match self {
            Self::Sent => client.emails().attachments(email),
            Self::Received => client.received().attachments(email),
        }
    }

    fn get(self, client: &Client, email: &str, attachment: &EmailAttachment) -> Call<EmailAttachment> {
        match self {
            Self::Sent => client.emails().attachment(email, &attachment.id),
            Self::Received => client.received().attachment(email, &attachment.id),
        }
    }
}

/// Lists or saves the attachments of an email.
pub(crate) async fn show(
    folder: Folder,
    id: &str,
    selection: Selection,
    context: &Context,
) -> Result<(), Fail> {
    let from = folder;
    let Selection { download, part } = selection;
    let Some(folder) = download else {
        return pages::list(part, &TABLE, context, |client| from.list(client, id)).await;
    };
    let client = context.client()?;
    let attachments: Vec<_> = from.list(&client, id).stream().try_collect().await?;
    if !attachments.is_empty() {
        let failed = |error| Fail::local(format!("couldn't create {}", folder.display()), error);
        files::create_dir(&folder).map_err(failed)?;
    }
    let (mut lines, mut saved) = (Vec::new(), Vec::new());
    let download = async {
        for (i, attachment) in attachments.iter().enumerate() {
            let name = safe(attachment.filename.as_deref().unwrap_or_default());
            context.out.note(&format!("fetching {} of {}: {name}", i + 1, attachments.len()));
            let bytes = fetch(&client, from, id, attachment).await?;
            let (path, _) =
                files::write_new(&folder, |number| with_number(&name, number), &bytes).map_err(|error| {
                    Fail::local(format!("couldn't save {name} in {}", folder.display()), error)
                })?;
            lines.push(path.display().to_string());
            saved.push(row(attachment, &path, bytes.len()));
        }
        Ok(())
    };
    let ended = download.await;
    if attachments.is_empty() {
        context.out.note(TABLE.nothing);
    }
    if saved.is_empty() && ended.is_err() {
        return ended;
    }
    context.out.result(&lines, &json!({ "data": saved })).and(ended)
}

fn row(file: &EmailAttachment, path: &Path, size: usize) -> Value {
    json!({
        "id": file.id, "filename": file.filename, "content_type": file.content_type, "size": size,
        "path": path.display().to_string(),
    })
}

/// Downloads an attachment. If its URL has expired, requests a new one once.
async fn fetch(
    client: &Client,
    folder: Folder,
    email: &str,
    attachment: &EmailAttachment,
) -> Result<Bytes, Fail> {
    match client.received().download(&attachment.download_url).await {
        Err(Error::Api(error)) if matches!(error.status.as_u16(), 401 | 403 | 404 | 410) => {
            let anew = folder.get(client, email, attachment).await?;
            Ok(client.received().download(&anew.download_url).await?)
        }
        fetched => Ok(fetched?),
    }
}
