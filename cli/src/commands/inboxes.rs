//! `inboxes`: the mail of an address in threads, in beta. (Unlike `sandbox inbox`: the mails captured by the sandbox.)

mod threads;

use idempost::inboxes::{
    InboxAgentPatch, InboxDraftPatch, InboxForward, InboxLabelPatch, InboxPatch, InboxReply,
    InboxThreadPatch, NewInbox, NewInboxDraft, NewInboxLabel,
};
use idempost::types::fields::Kind::Text;

use crate::rows::prelude::*;

noun!(Inboxes, "Manage inboxes (beta): threads, replies, drafts and labels", VERBS, DETAIL);

const DETAIL: &str = "Inboxes are in private beta at Resend, which may change them at any time. A sandbox supports them with `sandbox serve --beta`. INBOX is an ID or an address.";
const VERBS: &[Verb] = &[
    Verb::new("create", "Create an inbox and print its ID", &Create(|client, _, inbox: &NewInbox| client.inboxes().create(inbox)))
        .fields(&[
            Field::positional("email_address", "ADDRESS", "Address of a domain that receives mail").arg_id("address"),
            Field::new("name", "TEXT", "Name, at most 64 characters [default: the address]"),
            FROM_NAME,
            Field::new("forwarding", "", "Another provider receives the mail and forwards it to the inbox's receiving_address").switch(),
        ])
        .unknown_outcome("the inbox may have been created; check: idempost inboxes list")
        .examples(&[
            "inboxes create support@acme.test --name Support --from-name 'Acme Support'",
            "inboxes create sales@acme.test --forwarding --jq .id",
        ]),
    Verb::list("List inboxes, newest first", &TABLE, &Pages(Paging::Usual, |client, _| client.inboxes().list()))
        .examples(&["inboxes list"]),
    Verb::new("get", "Show one inbox", &Show(|client, ids| client.inboxes().get(ids[0])))
        .ids(INBOX)
        .examples(&["inboxes get support@acme.test"]),
    Verb::new("update", "Change an inbox's name or sender name", &Update(|client, ids, patch: &InboxPatch| client.inboxes().update(ids[0], patch)))
        .ids(INBOX)
        .fields(&[Field::new("name", "TEXT", "Name, at most 64 characters"), FROM_NAME])
        .clear_flag("Clear a field: from-name")
        .unknown_outcome("the inbox may have been changed; check: idempost inboxes get {0}")
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
    Verb::new(
        "agent",
        "Show or change the settings of an inbox's agent",
        &ShowOrUpdate(
            |client, ids| client.inboxes().agent(ids[0]),
            |client, ids, patch: &InboxAgentPatch| client.inboxes().update_agent(ids[0], patch),
        ),
    )
    .detail("Without flags, the settings are shown. A sandbox only stores the settings; it has no agent.")
    .ids(INBOX)
    .fields(&[
        Field::new("instructions", "TEXT", "Instructions, at most 4,000 characters"),
        Field::new("tone", "TONE", "Tone: concise_professional, concise_casual, expanded_professional or expanded_casual"),
        Field::new("actions", "ACTION", "Action that the agent may take, replacing all others: draft_reply, forward_thread, add_labels, assign_thread, mark_as_spam, archive or move_to_trash; repeatable")
            .flag("action")
            .clear_to_empty()
            .clear("actions"),
    ])
    .clear_flag("Clear a field: instructions, tone or actions")
    .unknown_outcome("the settings may have been changed; check: idempost inboxes agent {0}")
    .examples(&[
        "inboxes agent support@acme.test",
        "inboxes agent support@acme.test --instructions 'Be kind' --tone concise_casual --action draft_reply --action archive",
    ]),
    Verb::new("threads", "List threads, most recently active first", &Pages(Paging::Usual, threads::list))
        .ids(INBOX)
        .fields(threads::FILTERS)
        .table(&threads::TABLE)
        .after_help(threads::LIST_HELP),
    Verb::new("search", "Search threads, most recently active first", &Pages(Paging::Usual, threads::search))
        .detail("All conditions must apply to one email of a thread. Quotes enclose a phrase, and - before a word or phrase excludes it; a query that starts with - comes after --. A sandbox examines the 1,000 most recently active threads of the folders.")
        .ids(INBOX)
        .fields(threads::CONDITIONS)
        .table(&threads::TABLE)
        .after_help(threads::SEARCH_HELP),
    Verb::new("thread", "Show one thread", &Show(|client, ids| client.inboxes().thread(ids[0], ids[1])))
        .ids(THREAD)
        .examples(&["inboxes thread support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"]),
    Verb::new("read", "Mark a thread with all its emails as read", UPDATE_THREAD)
        .ids(THREAD)
        .fields(&[Field::new("read", "", "Mark it as unread instead").flag("unread").switch().manual()])
        .without_input()
        .fill(|given, body| body.set("read", (!given.is_set("unread")).into()))
        .unknown_outcome(THREAD_CHANGED)
        .examples(&["inboxes read support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12", "inboxes read support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 --unread"]),
    Verb::new("move", "Move a thread to a folder", UPDATE_THREAD)
        .ids(THREAD)
        .fields(&[Field::positional("folder", "FOLDER", "Folder: inbox, archive, spam or trash")
            .choices(&["inbox", "archive", "spam", "trash"])])
        .without_input()
        .unknown_outcome(THREAD_CHANGED)
        .examples(&["inboxes move support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 archive"]),
    Verb::new(
        "trash",
        "Move a thread to the trash, from which it is deleted after 30 days",
        &Act(|client, ids| client.inboxes().delete_thread(ids[0], ids[1])),
    )
    .ids(THREAD)
    .unknown_outcome("the thread may have been moved")
    .examples(&["inboxes trash support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12"]),
    Verb::new(
        "label",
        "Add labels to a thread and print all of its labels",
        &Checked(|client, given| {
            let [inbox, thread] = [given.ids[0], given.ids[1]];
            let labels = given.texts("labels");
            if given.is_set("replace") {
                client.inboxes().replace_labels(inbox, thread, labels)
            } else {
                client.inboxes().add_labels(inbox, thread, labels)
            }
        }),
    )
    .ids(THREAD)
    .fields(&[
        Field::positional("labels", "LABEL_ID", "ID of a label; repeatable, at most 10").list(&Text).multiple().optional(),
        Field::new("replace", "", "Remove all other labels").switch(),
    ])
    .fill(|given, body| {
        if given.texts("labels").is_empty() && !given.is_set("replace") {
            body.flags.field("/labels", "LABEL_ID", None);
        }
    })
    .unknown_outcome("the labels may have been changed; repeating the command is safe")
    .examples(&[
        "inboxes label support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34",
        "inboxes label support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 --replace",
    ]),
    Verb::new(
        "unlabel",
        "Remove a label from a thread and print those that remain",
        &Act(|client, ids| client.inboxes().remove_label(ids[0], ids[1], ids[2])),
    )
    .ids(THREAD_LABEL)
    .unknown_outcome("the label may have been removed; check: idempost inboxes thread {0} {1}")
    .examples(&["inboxes unlabel support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34"]),
    Verb::new(
        "emails",
        "List the emails of a thread, oldest first",
        &Pages(Paging::Usual, |client, given| client.inboxes().emails(given.ids[0], given.ids[1])),
    )
    .detail("Use --after to page toward newer emails.")
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
    Verb::new(
        "reply",
        "Reply to an email of a thread and print the ID of the reply",
        &Compose(Change::Create, InboxReply::attach, |client, ids, reply| {
            client.inboxes().reply(ids[0], ids[1], ids[2], reply)
        }),
    )
    .detail("The reply is sent to the Reply-To address or, without one, to the sender.")
    .ids(EMAIL)
    .fields(&[
        BODIES,
        Field::new("reply_all", "", "Send a copy to the other recipients of the email").switch(),
        CC, BCC,
        SUBJECT.help("Subject [default: the email's subject with Re:]"),
        ATTACHMENTS,
    ])
    .fill(|_, body| body.flags.field("", "--text or --html", None))
    .examples(&[
        "inboxes reply support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 --text 'On its way.'",
        "inboxes reply support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 \\\n    --html-file answer.html --attach invoice.pdf --reply-all",
    ]),
    Verb::new(
        "forward",
        "Forward an email of a thread with its attachments and print the ID of the new email",
        &Compose(Change::Create, InboxForward::attach, |client, ids, forward| {
            client.inboxes().forward(ids[0], ids[1], ids[2], forward)
        }),
    )
    .ids(EMAIL)
    .fields(&[TO, CC, BCC, SUBJECT.help("Subject [default: the email's subject with Fwd:]"), BODIES, ATTACHMENTS])
    .examples(&[
        "inboxes forward support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 \\\n    --to boss@acme.test --text 'Please decide.'",
    ]),
    Verb::new(
        "drafts",
        "List drafts that weren't sent, newest first",
        &Pages(Paging::Usual, |client, given| client.inboxes().drafts(given.ids[0])),
    )
    .ids(INBOX)
    .table(&DRAFTS)
    .examples(&["inboxes drafts support@acme.test"]),
    Verb::new("draft", "Show one draft", &Show(|client, ids| client.inboxes().draft(ids[0], ids[1])))
        .ids(DRAFT)
        .examples(&["inboxes draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"]),
    Verb::new(
        "create-draft",
        "Create a draft and print its ID",
        &Compose(Change::Create, NewInboxDraft::attach, |client, ids, draft| client.inboxes().create_draft(ids[0], draft)),
    )
    .ids(INBOX)
    .fields(&[
        TO, CC, BCC, SUBJECT, BODIES, ATTACHMENTS,
        Field::new("thread_id", "ID", "Thread that the draft replies to").flag("thread").requires("reply-to-email"),
        Field::new("reply_to_email_id", "ID", "Email in that thread that the draft replies to").flag("reply-to-email").requires("thread"),
    ])
    .fill(|_, body| body.flags.field("", "--to, --cc, --bcc, --subject, --text, --html or --attach", None))
    .examples(&[
        "inboxes create-draft support@acme.test --to ada@example.com --subject Offer --text 'Dear Ada'",
        "inboxes create-draft support@acme.test --thread 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 \\\n    --reply-to-email 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 --text-file answer.txt",
    ]),
    Verb::new(
        "update-draft",
        "Change a draft that wasn't sent",
        &Compose(Change::Update, InboxDraftPatch::attach, |client, ids, patch| {
            client.inboxes().update_draft(ids[0], ids[1], patch)
        }),
    )
    .detail("Fields not set by a flag stay unchanged, except that setting one body removes the other, and attached files replace all others.")
    .ids(DRAFT)
    .fields(&[TO, CC, BCC, SUBJECT, BODIES, ATTACHMENTS])
    .clear_flag("Clear a field: to, cc, bcc, subject, html, text or attachments")
    .unknown_outcome("the draft may have been changed; check: idempost inboxes draft {0} {1}")
    .examples(&["inboxes update-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21 --subject 'New offer' --clear cc"]),
    Verb::new("delete-draft", "Delete a draft", &Delete(|client, ids| client.inboxes().delete_draft(ids[0], ids[1])))
        .ids(DRAFT)
        .unknown_outcome("the draft may have been deleted; check: idempost inboxes drafts {0}")
        .examples(&["inboxes delete-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"]),
    Verb::new(
        "send-draft",
        "Send a draft, once, and print the ID of the email",
        &Repeat(|client, ids| client.inboxes().send_draft(ids[0], ids[1])),
    )
    .ids(DRAFT)
    .examples(&["inboxes send-draft support@acme.test c2b4f6a8-1d3e-4f50-9a7b-8c6d5e4f3a21"]),
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
        Field::positional("name", "NAME", "Name, at most 64 characters, unique in the inbox, ignoring case"),
        COLOR,
    ])
    .unknown_outcome("the label may have been created; check: idempost inboxes labels {0}")
    .examples(&["inboxes create-label support@acme.test Urgent --label-color '#AB12EF'"]),
    Verb::new(
        "update-label",
        "Change the name or color of a label",
        &Update(|client, ids, patch: &InboxLabelPatch| client.inboxes().update_label(ids[0], ids[1], patch)),
    )
    .ids(LABEL)
    .fields(&[Field::new("name", "TEXT", "Name, at most 64 characters"), COLOR])
    .unknown_outcome("the label may have been changed; check: idempost inboxes labels {0}")
    .examples(&["inboxes update-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34 --name Later"]),
    Verb::new(
        "delete-label",
        "Delete a label and remove it from its threads",
        &Delete(|client, ids| client.inboxes().delete_label(ids[0], ids[1])),
    )
    .ids(LABEL)
    .unknown_outcome("the label may have been deleted; check: idempost inboxes labels {0}")
    .examples(&["inboxes delete-label support@acme.test 7f9c1d2e-4a6b-4c3d-8e15-9b0a7c6d5e34"]),
];

const INBOX: &[Field] = &[Field::positional("inbox", "INBOX", "ID or address of the inbox")];
const THREAD: &[Field] = &[INBOX[0], Field::positional("thread", "THREAD_ID", "ID of the thread")];
const THREAD_LABEL: &[Field] = &[THREAD[0], THREAD[1], LABEL[1]];
const EMAIL: &[Field] = &[THREAD[0], THREAD[1], Field::positional("email", "EMAIL_ID", "ID of the email")];
const DRAFT: &[Field] = &[INBOX[0], Field::positional("draft", "DRAFT_ID", "ID of the draft")];
const LABEL: &[Field] = &[INBOX[0], Field::positional("label", "LABEL_ID", "ID of the label")];
const FROM_NAME: Field = Field::new("from_name", "TEXT", "Sender name in its emails, at most 78 characters");
const TO: Field = Field::new("to", "ADDRESS", "Recipients; several values or repeated flags").multiple();
const CC: Field = Field::new("cc", "ADDRESS", "Cc recipients; several values or repeated flags").multiple();
const BCC: Field =
    Field::new("bcc", "ADDRESS", "Bcc recipients; several values or repeated flags").multiple();
const SUBJECT: Field = Field::new("subject", "TEXT", "Subject, at most 2,000 characters");
const COLOR: Field = Field::new("color", "COLOR", "Color as #RRGGBB").flag("label-color");
const UPDATE_THREAD: &dyn Operation =
    &Create(|client, ids, patch: &InboxThreadPatch| client.inboxes().update_thread(ids[0], ids[1], patch));
const THREAD_CHANGED: &str = "the thread may have been changed; check: idempost inboxes thread {0} {1}";

/// Columns of the list.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("email_address", "ADDRESS", Kind::Shrinks),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("unread", "UNREAD", Kind::Text),
    Column::new("last_received", "RECEIVED", Kind::Time),
    Column::new("from_name", "FROM", Kind::Shrinks).optional(),
    Column::new("created_at", "CREATED", Kind::Time).optional(),
    Column::new("updated_at", "UPDATED", Kind::Time).optional(),
])
.nothing("no inboxes yet");

/// Columns of drafts.
const DRAFTS: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("to", "TO", Kind::Shrinks),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("updated_at", "UPDATED", Kind::Time),
    Column::new("snippet", "SNIPPET", Kind::Shrinks).optional(),
    Column::new("thread_id", "THREAD", Kind::Id).optional(),
    Column::new("reply_to_email_id", "REPLY TO", Kind::Id).optional(),
])
.nothing("no drafts");
