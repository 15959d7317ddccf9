//! `inboxes label`.

use idempost::{Call, Client, Error, inboxes::InboxLabels};

use super::{ThreadArg, change};
use crate::actions::mutation::DryRunFlag;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Add labels to a thread and print all of its labels
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost inboxes label support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34\n  \
    idempost inboxes label support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 --replace")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    thread: ThreadArg,
    /// ID of a label; repeatable, at most 10
    #[arg(value_name = "LABEL_ID", required_unless_present = "replace")]
    labels: Vec<String>,
    /// Remove all other labels
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn label(args: LabelArgs, context: &Context) -> Result<(), Fail> {
    let LabelArgs { thread: ThreadArg { inbox, thread }, labels, replace, dry_run } = args;
    let mut flags = Flags::default();
    flags.list("/labels", "LABEL_ID", &labels);
    let make = |client: &Client| -> Call<InboxLabels> {
        if replace {
            client.inboxes().replace_labels(&inbox, &thread, &labels)
        } else {
            client.inboxes().add_labels(&inbox, &thread, &labels)
        }
    };
    let checked = match make(&context.client_for_preview()?).preview() {
        Err(Error::Invalid(problems)) => Err(problems),
        _ => Ok(()),
    };
    let unknown = "the labels may have been changed; repeating the command is safe";
    change(flags, checked, &dry_run, unknown, context, make).await
}
