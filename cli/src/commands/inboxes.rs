//! `inboxes`: the mail of an address in threads, in beta. (`sandbox inbox` is another thing: the mails that the sandbox captured.)

mod drafts;
mod labels;
mod messages;
mod settings;
mod threads;

use idempost::{Call, Client, problem::Problems};
use serde::de::DeserializeOwned;

use crate::actions::dry_run::Content;
use crate::actions::mutation::{self, DryRunFlag, Mutation};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind};

/// Manage inboxes (beta): mail in threads, replies, drafts and labels
///
/// Inboxes are in private beta at Resend, which may change them at any time. A sandbox serves them with `sandbox serve --beta`.
/// INBOX is an ID or an address.
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(settings::CreateArgs),
    /// List inboxes, newest first
    #[command(visible_alias = "ls")]
    #[command(
        after_help = "Columns: id, email_address, name, unread, last_received, from_name, created_at, updated_at\n\n\
        Example:\n  idempost inboxes list"
    )]
    List(pages::Args),
    /// Show one inbox
    #[command(after_help = "Example:\n  idempost inboxes get support@acme.test")]
    Get(InboxArg),
    Update(settings::UpdateArgs),
    /// Delete an inbox with its threads, drafts and labels
    ///
    /// Its received and sent emails remain in their lists.
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost inboxes delete support@acme.test")]
    Delete(ChangeInbox),
    Agent(settings::AgentArgs),
    Threads(threads::ListArgs),
    Search(threads::SearchArgs),
    /// Show one thread
    #[command(
        after_help = "Example:\n  idempost inboxes thread support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"
    )]
    Thread(ThreadArg),
    Read(threads::ReadArgs),
    Move(threads::MoveArgs),
    /// Move a thread to the trash, from which it is deleted after 30 days
    #[command(
        after_help = "Example:\n  idempost inboxes trash support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"
    )]
    Trash(ChangeThread),
    Label(labels::LabelArgs),
    Unlabel(labels::UnlabelArgs),
    Emails(threads::EmailsArgs),
    /// Show one email of a thread with its bodies
    #[command(after_help = "Example:\n  \
        idempost inboxes email support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60")]
    Email(EmailArg),
    Reply(messages::ReplyArgs),
    Forward(messages::ForwardArgs),
    /// List drafts that weren't sent, newest first
    #[command(
        after_help = "Columns: id, type, to, subject, updated_at, snippet, thread_id, reply_to_email_id\n\n\
        Example:\n  idempost inboxes drafts support@acme.test"
    )]
    Drafts(drafts::ListArgs),
    /// Show one draft
    #[command(
        after_help = "Example:\n  idempost inboxes draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"
    )]
    Draft(drafts::DraftArg),
    CreateDraft(drafts::CreateArgs),
    UpdateDraft(drafts::UpdateArgs),
    /// Delete a draft
    #[command(
        after_help = "Example:\n  idempost inboxes delete-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"
    )]
    DeleteDraft(drafts::ChangeDraft),
    SendDraft(drafts::SendArgs),
    /// List the labels of an inbox, oldest first
    #[command(after_help = "Example:\n  idempost inboxes labels support@acme.test --jq '.data[].name'")]
    Labels(InboxArg),
    CreateLabel(labels::CreateArgs),
    UpdateLabel(labels::UpdateArgs),
    /// Delete a label, also from its threads
    #[command(
        after_help = "Example:\n  idempost inboxes delete-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34"
    )]
    DeleteLabel(labels::ChangeLabel),
}

// An inbox to read.
#[derive(Debug, clap::Args)]
pub(crate) struct InboxArg {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
}

// An inbox to change.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeInbox {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

// A thread to read.
#[derive(Debug, clap::Args)]
pub(crate) struct ThreadArg {
    /// ID or address of the inbox
    #[arg(value_name = "INBOX")]
    inbox: String,
    /// ID of the thread
    #[arg(value_name = "THREAD_ID")]
    thread: String,
}

// A thread to change.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeThread {
    #[command(flatten)]
    thread: ThreadArg,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

// An email to read.
#[derive(Debug, clap::Args)]
pub(crate) struct EmailArg {
    #[command(flatten)]
    thread: ThreadArg,
    /// ID of the email
    #[arg(value_name = "EMAIL_ID")]
    email: String,
}

/// Columns of the list; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("email_address", "ADDRESS", Kind::Shrinks),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("unread", "UNREAD", Kind::Text),
        Column::new("last_received", "RECEIVED", Kind::Time),
        Column::new("from_name", "FROM", Kind::Shrinks),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("updated_at", "UPDATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no inboxes yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => settings::create(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.inboxes().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.inboxes().get(&args.inbox)).await,
        Command::Update(args) => settings::update(args, context).await,
        Command::Delete(args) => {
            let unknown = "the inbox may have been deleted; check: idempost inboxes list";
            mutation::delete(&args.dry_run, unknown, context, |client| client.inboxes().delete(&args.inbox))
                .await
        }
        Command::Agent(args) => settings::agent(args, context).await,
        Command::Threads(args) => threads::list(args, context).await,
        Command::Search(args) => threads::search(args, context).await,
        Command::Thread(ThreadArg { inbox, thread }) => {
            mutation::show(context, |client| client.inboxes().thread(&inbox, &thread)).await
        }
        Command::Read(args) => threads::read(args, context).await,
        Command::Move(args) => threads::move_to(args, context).await,
        Command::Trash(ChangeThread { thread: ThreadArg { inbox, thread }, dry_run }) => {
            let make = |client: &Client| client.inboxes().delete_thread(&inbox, &thread);
            change(Flags::default(), Ok(()), &dry_run, "the thread may have been moved", context, make).await
        }
        Command::Label(args) => labels::label(args, context).await,
        Command::Unlabel(args) => labels::unlabel(args, context).await,
        Command::Emails(args) => threads::emails(args, context).await,
        Command::Email(EmailArg { thread: ThreadArg { inbox, thread }, email }) => {
            mutation::show(context, |client| client.inboxes().email(&inbox, &thread, &email)).await
        }
        Command::Reply(args) => messages::reply(args, context).await,
        Command::Forward(args) => messages::forward(args, context).await,
        Command::Drafts(args) => drafts::list(args, context).await,
        Command::Draft(args) => drafts::show(args, context).await,
        Command::CreateDraft(args) => drafts::create(args, context).await,
        Command::UpdateDraft(args) => drafts::update(args, context).await,
        Command::DeleteDraft(args) => drafts::delete(args, context).await,
        Command::SendDraft(args) => drafts::send(args, context).await,
        Command::Labels(InboxArg { inbox }) => {
            mutation::show(context, |client| client.inboxes().labels(&inbox)).await
        }
        Command::CreateLabel(args) => labels::create(args, context).await,
        Command::UpdateLabel(args) => labels::update(args, context).await,
        Command::DeleteLabel(args) => labels::delete(args, context).await,
    }
}

/// Executes a change and prints the IDs in its response.
async fn change<T: DeserializeOwned + Send + 'static>(
    flags: Flags,
    checked: Result<(), Problems>,
    dry_run: &DryRunFlag,
    unknown_outcome: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    change_with_files(flags, checked, dry_run, unknown_outcome, &[], context, make).await
}

/// The same with the contents of the attachments, for a dry run.
async fn change_with_files<T: DeserializeOwned + Send + 'static>(
    mut flags: Flags,
    checked: Result<(), Problems>,
    dry_run: &DryRunFlag,
    unknown_outcome: &str,
    contents: &[Content],
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(checked);
    flags.finish()?;
    let mutation = Mutation { dry_run, unknown_outcome, key: None, key_given: false, contents };
    let Some((_, response)) = mutation.execute(context, make).await? else { return Ok(()) };
    let document = mutation::document(&response);
    let items = document["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ids =
        std::iter::once(&document).chain(items).filter_map(|item| Some(item["id"].as_str()?.to_owned()));
    let ids: Vec<_> = ids.collect();
    mutation::report(context, || context.out.result(&ids, &document))
}
