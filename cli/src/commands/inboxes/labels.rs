//! Labels of an inbox and of its threads.

use idempost::{
    Call, Client, Error,
    inboxes::{InboxLabelPatch, InboxLabels, NewInboxLabel},
};

use super::{ThreadArg, change};
use crate::actions::mutation::DryRunFlag;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

// A label to delete.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeLabel {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// ID of the label
    #[arg(value_name = "LABEL_ID")]
    label: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Create a label and print its ID
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost inboxes create-label support@acme.test Urgent --label-color '#AB12EF'"
)]
pub(crate) struct CreateArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// Name, at most 64 characters, unique in the inbox without regard to case
    #[arg(value_name = "NAME")]
    name: String,
    /// Color as #RRGGBB
    #[arg(long, value_name = "COLOR")]
    label_color: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { inbox, name, label_color: color, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("/name", "NAME", Some(&name));
    flags.field("/color", "--label-color", color.as_deref());
    let mut label = NewInboxLabel::new(name);
    if let Some(color) = color {
        label = label.color(color);
    }
    let unknown = format!("the label may have been created; check: idempost inboxes labels {inbox}");
    let make = |client: &Client| client.inboxes().create_label(&inbox, &label);
    change(flags, label.check(), &dry_run, &unknown, context, make).await
}

/// Change the name or color of a label
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  idempost inboxes update-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34 --name Later"
)]
pub(crate) struct UpdateArgs {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// ID of the label
    #[arg(value_name = "LABEL_ID")]
    label: String,
    /// Name, at most 64 characters
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Color as #RRGGBB
    #[arg(long, value_name = "COLOR")]
    label_color: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { inbox, label, name, label_color: color, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("", "a field to change", None);
    flags.field("/name", "--name", name.as_deref());
    flags.field("/color", "--label-color", color.as_deref());
    let mut patch = InboxLabelPatch::new();
    if let Some(name) = name {
        patch = patch.name(name);
    }
    if let Some(color) = color {
        patch = patch.color(color);
    }
    let unknown = format!("the label may have been changed; check: idempost inboxes labels {inbox}");
    let make = |client: &Client| client.inboxes().update_label(&inbox, &label, &patch);
    change(flags, patch.check(), &dry_run, &unknown, context, make).await
}

pub(super) async fn delete(args: ChangeLabel, context: &Context) -> Result<(), Fail> {
    let ChangeLabel { inbox, label, dry_run } = args;
    let unknown = format!("the label may have been deleted; check: idempost inboxes labels {inbox}");
    let make = |client: &Client| client.inboxes().delete_label(&inbox, &label);
    crate::actions::mutation::delete(&dry_run, &unknown, context, make).await
}

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

/// Remove a label from a thread and print those that remain
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    idempost inboxes unlabel support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34")]
pub(crate) struct UnlabelArgs {
    #[command(flatten)]
    thread: ThreadArg,
    /// ID of the label
    #[arg(value_name = "LABEL_ID")]
    label: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn unlabel(args: UnlabelArgs, context: &Context) -> Result<(), Fail> {
    let UnlabelArgs { thread: ThreadArg { inbox, thread }, label, dry_run } = args;
    let unknown = format!("the label may have been removed; check: idempost inboxes thread {inbox} {thread}");
    let make = |client: &Client| client.inboxes().remove_label(&inbox, &thread, &label);
    change(Flags::default(), Ok(()), &dry_run, &unknown, context, make).await
}
