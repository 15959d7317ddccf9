//! `inboxes`: the mail of an address in threads, in beta. (`sandbox inbox` is another thing: the mails that the sandbox captured.)

mod drafts;
mod labels;
mod messages;
mod settings;
mod threads;

use idempost::inboxes::{InboxLabelPatch, InboxPatch, InboxThreadPatch, NewInbox, NewInboxLabel};
use idempost::{Call, Client, problem::Problems};
use serde::de::DeserializeOwned;

use crate::actions::dry_run::Content;
use crate::actions::mutation::{self, DryRunFlag, Mutation};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind};
use crate::rows::field::Field;
use crate::rows::operation::{Act, Create, Delete, Operation, Own, Pages, Paging, Show, Update};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Inboxes;

impl Noun for Inboxes {
    const ABOUT: &'static str = "Manage inboxes (beta): mail in threads, replies, drafts and labels";
    const DETAIL: &'static str = "Inboxes are in private beta at Resend, which may change them at any time. A sandbox serves them with `sandbox serve --beta`. INBOX is an ID or an address.";
    const VERBS: &'static [Verb] = &[
        Verb::new("create", "Create an inbox and print its ID", &Create(|client, _, inbox: &NewInbox| client.inboxes().create(inbox)))
            .fields(&[
                Field::place("email_address", "ADDRESS", "Address of a domain that receives mail").named("address"),
                Field::new("name", "TEXT", "Name, at most 64 characters [default: the address]"),
                FROM_NAME,
                Field::new("forwarding", "", "Another provider receives the mail and forwards it to the inbox's receiving_address").switch(),
            ])
            .unknown("the inbox may have been created; check: idempost inboxes list")
            .examples(&[
                "inboxes create support@acme.test --name Support --from-name 'Acme Support'",
                "inboxes create sales@acme.test --forwarding --jq .id",
            ]),
        Verb::list("List inboxes, newest first", &TABLE, &Pages(Paging::Usual, |client, _| client.inboxes().list()))
            .examples(&["inboxes list"]),
        Verb::new("get", "Show one inbox", &Show(|client, ids| client.inboxes().get(ids[0])))
            .ids(INBOX)
            .examples(&["inboxes get support@acme.test"]),
        Verb::new("update", "Change the name or the sender's name of an inbox", &Update(|client, ids, patch: &InboxPatch| client.inboxes().update(ids[0], patch)))
            .ids(INBOX)
            .fields(&[Field::new("name", "TEXT", "Name, at most 64 characters"), FROM_NAME])
            .clears("Clear a field: from-name")
            .unknown("the inbox may have been changed; check: idempost inboxes get {0}")
            .examples(&[
                "inboxes update support@acme.test --from-name 'Acme Support'",
                "inboxes update support@acme.test --clear from-name",
            ]),
        Verb::delete(
            "Delete an inbox with its threads, drafts and labels",
            "the inbox may have been deleted; check: idempost inboxes list",
            &Delete(|client, ids| client.inboxes().delete(ids[0])),
        )
        .detail("Its received and sent emails remain in their lists.")
        .ids(INBOX)
        .examples(&["inboxes delete support@acme.test"]),
        Verb::own("agent", &Own(|args: settings::AgentArgs, context| Box::pin(settings::agent(args, context)))),
        Verb::own("threads", &Own(|args: threads::ListArgs, context| Box::pin(threads::list(args, context)))),
        Verb::own("search", &Own(|args: threads::SearchArgs, context| Box::pin(threads::search(args, context)))),
        Verb::new("thread", "Show one thread", &Show(|client, ids| client.inboxes().thread(ids[0], ids[1])))
            .ids(THREAD)
            .examples(&["inboxes thread support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"]),
        Verb::new("read", "Mark a thread with all its emails as read", UPDATE_THREAD)
            .ids(THREAD)
            .fields(&[Field::new("read", "", "Mark it as unread instead").flag("unread").switch().by_hand()])
            .fill(|given, body| body.set("read", (!given.switch("unread")).into()))
            .unknown(THREAD_CHANGED)
            .examples(&["inboxes read support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12", "inboxes read support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 --unread"]),
        Verb::new("move", "Move a thread to a folder", UPDATE_THREAD)
            .ids(THREAD)
            .fields(&[Field::place("folder", "FOLDER", "Folder: inbox, archive, spam or trash")
                .choices(&["inbox", "archive", "spam", "trash"])])
            .unknown(THREAD_CHANGED)
            .examples(&["inboxes move support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 archive"]),
        Verb::new(
            "trash",
            "Move a thread to the trash, from which it is deleted after 30 days",
            &Act(|client, ids| client.inboxes().delete_thread(ids[0], ids[1])),
        )
        .ids(THREAD)
        .unknown("the thread may have been moved")
        .examples(&["inboxes trash support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"]),
        Verb::own("label", &Own(|args: labels::LabelArgs, context| Box::pin(labels::label(args, context)))),
        Verb::new(
            "unlabel",
            "Remove a label from a thread and print those that remain",
            &Act(|client, ids| client.inboxes().remove_label(ids[0], ids[1], ids[2])),
        )
        .ids(THREAD_LABEL)
        .unknown("the label may have been removed; check: idempost inboxes thread {0} {1}")
        .examples(&["inboxes unlabel support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34"]),
        Verb::new(
            "emails",
            "List the emails of a thread, oldest first",
            &Pages(Paging::Usual, |client, given| client.inboxes().emails(given.ids[0], given.ids[1])),
        )
        .detail("--after leads to newer emails.")
        .ids(THREAD)
        .table(&threads::EMAILS)
        .examples(&["inboxes emails support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 --columns from,text"]),
        Verb::new(
            "email",
            "Show one email of a thread with its bodies",
            &Show(|client, ids| client.inboxes().email(ids[0], ids[1], ids[2])),
        )
        .ids(EMAIL)
        .examples(&["inboxes email support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60"]),
        Verb::own("reply", &Own(|args: messages::ReplyArgs, context| Box::pin(messages::reply(args, context)))),
        Verb::own("forward", &Own(|args: messages::ForwardArgs, context| Box::pin(messages::forward(args, context)))),
        Verb::new(
            "drafts",
            "List drafts that weren't sent, newest first",
            &Pages(Paging::Usual, |client, given| client.inboxes().drafts(given.ids[0])),
        )
        .ids(INBOX)
        .table(&drafts::TABLE)
        .examples(&["inboxes drafts support@acme.test"]),
        Verb::new("draft", "Show one draft", &Show(|client, ids| client.inboxes().draft(ids[0], ids[1])))
            .ids(DRAFT)
            .examples(&["inboxes draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"]),
        Verb::own("create-draft", &Own(|args: drafts::CreateArgs, context| Box::pin(drafts::create(args, context)))),
        Verb::own("update-draft", &Own(|args: drafts::UpdateArgs, context| Box::pin(drafts::update(args, context)))),
        Verb::new("delete-draft", "Delete a draft", &Delete(|client, ids| client.inboxes().delete_draft(ids[0], ids[1])))
            .ids(DRAFT)
            .unknown("the draft may have been deleted; check: idempost inboxes drafts {0}")
            .examples(&["inboxes delete-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"]),
        Verb::own("send-draft", &Own(|args: drafts::SendArgs, context| Box::pin(drafts::send(args, context)))),
        Verb::new("labels", "List the labels of an inbox, oldest first", &Show(|client, ids| client.inboxes().labels(ids[0])))
            .ids(INBOX)
            .examples(&["inboxes labels support@acme.test --jq '.data[].name'"]),
        Verb::new(
            "create-label",
            "Create a label and print its ID",
            &Create(|client, ids, label: &NewInboxLabel| client.inboxes().create_label(ids[0], label)),
        )
        .ids(INBOX)
        .fields(&[
            Field::place("name", "NAME", "Name, at most 64 characters, unique in the inbox without regard to case"),
            COLOR,
        ])
        .unknown("the label may have been created; check: idempost inboxes labels {0}")
        .examples(&["inboxes create-label support@acme.test Urgent --label-color '#AB12EF'"]),
        Verb::new(
            "update-label",
            "Change the name or color of a label",
            &Update(|client, ids, patch: &InboxLabelPatch| client.inboxes().update_label(ids[0], ids[1], patch)),
        )
        .ids(LABEL)
        .fields(&[Field::new("name", "TEXT", "Name, at most 64 characters"), COLOR])
        .unknown("the label may have been changed; check: idempost inboxes labels {0}")
        .examples(&["inboxes update-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34 --name Later"]),
        Verb::new(
            "delete-label",
            "Delete a label, also from its threads",
            &Delete(|client, ids| client.inboxes().delete_label(ids[0], ids[1])),
        )
        .ids(LABEL)
        .unknown("the label may have been deleted; check: idempost inboxes labels {0}")
        .examples(&["inboxes delete-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34"]),
    ];
}

const INBOX: &[Field] = &[Field::place("inbox", "INBOX", "ID or address of the inbox")];
const THREAD: &[Field] = &[INBOX[0], Field::place("thread", "THREAD_ID", "ID of the thread")];
const THREAD_LABEL: &[Field] = &[THREAD[0], THREAD[1], LABEL[1]];
const EMAIL: &[Field] = &[THREAD[0], THREAD[1], Field::place("email", "EMAIL_ID", "ID of the email")];
const DRAFT: &[Field] = &[INBOX[0], Field::place("draft", "DRAFT_ID", "ID of the draft")];
const LABEL: &[Field] = &[INBOX[0], Field::place("label", "LABEL_ID", "ID of the label")];
const FROM_NAME: Field =
    Field::new("from_name", "TEXT", "Sender's name of its emails, at most 78 characters");
const COLOR: Field = Field::new("color", "COLOR", "Color as #RRGGBB").flag("label-color");
const UPDATE_THREAD: &dyn Operation =
    &Create(|client, ids, patch: &InboxThreadPatch| client.inboxes().update_thread(ids[0], ids[1], patch));
const THREAD_CHANGED: &str = "the thread may have been changed; check: idempost inboxes thread {0} {1}";

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

// An email to read.
#[derive(Debug, clap::Args)]
pub(crate) struct EmailArg {
    #[command(flatten)]
    thread: ThreadArg,
    /// ID of the email
    #[arg(value_name = "EMAIL_ID")]
    email: String,
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
