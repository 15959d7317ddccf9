//! `emails attachments`: lists or saves the attachments of a sent email.

use clap::builder::NonEmptyStringValueParser;

use crate::commands::received::attachments::{Folder, Selection, show};
use crate::context::Context;
use crate::diagnostics::Fail;

/// List or save the attachments of a sent email
///
/// When saving, folders and special characters are removed from file names, and existing files are never overwritten (a file with other
/// content gets a number). After a failure, the files saved so far are listed; downloads that fail leave no partial file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Columns: id, filename, size, content_type, content_disposition, content_id, expires_at, download_url\n\n\
    Examples:\n  \
    idempost emails attachments 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    idempost emails attachments 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --download sent"
)]
pub(crate) struct Args {
    /// ID of the email, as printed by `emails send`
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    #[command(flatten)]
    selection: Selection,
}

/// Lists or saves the attachments.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    show(Folder::Sent, &args.id, args.selection, context).await
}
