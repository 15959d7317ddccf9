//! `broadcasts`: one email for all contacts of a segment.

mod confirm_send;
mod content;
mod create;
mod recipients;
mod send;

use idempost::broadcasts::BroadcastPatch;

use crate::actions::pages::Table;
use crate::output::table::{Column, Kind};
use crate::rows::field::{BODIES, Field, ID};
use crate::rows::operation::{Act, Delete, Own, Pages, Paging, Show, Update};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Broadcasts;

impl Noun for Broadcasts {
    const ABOUT: &'static str = "Send one email to all contacts of a segment, now or later";
    const VERBS: &'static [Verb] = &[
        Verb::own("create", &Own(|args: create::Args, context| Box::pin(create::run(args, context)))),
        Verb::list("List broadcasts, newest first", &TABLE, &Pages(Paging::Complete, |client, _| client.broadcasts().list()))
            .detail("Without --limit, the service returns all of them.")
            .examples(&["broadcasts list --limit 10", "broadcasts list --jq '.data[] | select(.status == \"draft\").id'"]),
        Verb::new("get", "Show one broadcast with its content", &Show(|client, ids| client.broadcasts().get(ids[0])))
            .ids(ID)
            .examples(&["broadcasts get 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --jq .status"]),
        Verb::new(
            "update",
            "Change a draft or a scheduled broadcast",
            &Update(|client, ids, patch: &BroadcastPatch| client.broadcasts().update(ids[0], patch)),
        )
        .detail("Fields not set by a flag stay unchanged. A scheduled broadcast stays scheduled.")
        .ids(BROADCAST)
        .fields(&[
            Field::new("segment_id", "ID", "Segment whose contacts receive the broadcast, except unsubscribed ones"),
            Field::new("from", "ADDRESS", "Sender: `you@x.test` or `You <you@x.test>`"),
            Field::new("subject", "TEXT", "Subject; may contain placeholders, like the body"),
            BODIES,
            Field::new("reply_to", "ADDRESS", "Reply-to address; repeatable"),
            Field::new("preview_text", "TEXT", "Preview text shown beside the subject in mail clients"),
            Field::new("name", "TEXT", "Internal name, not shown to recipients"),
            Field::new("topic_id", "ID", "Topic; contacts who opted out of it are skipped"),
        ])
        .clears("Clear a field: reply-to, html, text, preview-text, name or topic-id; repeatable")
        .hint("broadcasts update ID --subject '…'")
        .unknown("the broadcast may have been changed; check: idempost broadcasts get {0}")
        .examples(&[
            "broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --subject 'Your week, corrected'",
            "broadcasts update 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --html-file week.html --clear text --clear topic-id",
        ]),
        Verb::own("send", &Own(|args: send::Args, context| Box::pin(send::run(args, context)))),
        Verb::new("cancel", "Cancel a broadcast before it is sent", &Act(|client, ids| client.broadcasts().cancel(ids[0])))
            .detail("A scheduled broadcast becomes a draft again. A broadcast being sent stops, permanently. Drafts and sent broadcasts can't be canceled.")
            .ids(ID)
            .unknown("the broadcast may have been canceled; check: idempost broadcasts get {0}")
            .examples(&["broadcasts cancel 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
        Verb::own("recipients", &Own(|args: recipients::Args, context| Box::pin(recipients::run(args, context)))),
        Verb::new(
            "clicked-links",
            "List the clicked links of a broadcast, the most clicked first",
            &Pages(Paging::Usual, |client, given| client.broadcasts().clicked_links(given.ids[0])),
        )
        .detail("Items have no IDs: the column id is a cursor for --after and --before.")
        .ids(BROADCAST)
        .table(&recipients::LINKS)
        .examples(&["broadcasts clicked-links 559ac32e-9ef5-46fb-82a1-b76b840c0f7b --limit 5"]),
        Verb::new(
            "duplicate",
            "Copy a broadcast's content into a new draft, and print its ID",
            &Act(|client, ids| client.broadcasts().duplicate(ids[0])),
        )
        .ids(ID)
        .unknown("the copy may have been created; check: idempost broadcasts list --limit 1")
        .examples(&["broadcasts duplicate 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
        Verb::delete(
            "Delete a draft, or a scheduled broadcast with its schedule",
            "the broadcast may have been deleted; check: idempost broadcasts get {0}",
            &Delete(|client, ids| client.broadcasts().delete(ids[0])),
        )
        .ids(ID)
        .examples(&["broadcasts delete 559ac32e-9ef5-46fb-82a1-b76b840c0f7b"]),
    ];
}

const BROADCAST: &[Field] = &[Field::place("id", "ID", "ID of the broadcast")];

/// Columns of a list of broadcasts; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("scheduled_at", "SCHEDULED", Kind::Time),
        Column::new("sent_at", "SENT", Kind::Time),
        Column::new("segment_id", "SEGMENT", Kind::Id),
        Column::new("topic_id", "TOPIC", Kind::Id),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no broadcasts yet",
};

/// The command that shows one broadcast, for hints.
fn show_command(id: &str) -> String {
    format!("idempost broadcasts get {id}")
}
