//! `received`: received emails and their attachments, listed or watched, forwarded and answered.

mod answer;
pub(crate) mod attachments;
pub(crate) mod file_name;
mod forward;
mod get;
mod reply;
mod watch;

use crate::actions::pages::Table;
use crate::output::table::{Column, Kind};
use crate::rows::operation::{Own, Pages, Paging};
use crate::rows::{Noun, Verb};

/// The commands.
#[derive(Debug)]
pub(crate) struct Received;

impl Noun for Received {
    const ABOUT: &'static str = "Read, save, forward and answer received emails";
    const VERBS: &'static [Verb] = &[
        Verb::list(
            "List received emails, newest first",
            &TABLE,
            &Pages(Paging::Complete, |client, _| client.received().list()),
        )
        .examples(&[
            "received list --limit 20",
            "received list --all --jq '.data[] | select(.attachments != []).id'",
        ]),
        Verb::own("get", &Own(|args: get::Args, context| Box::pin(get::run(args, context)))),
        Verb::own(
            "attachments",
            &Own(|args: attachments::Args, context| Box::pin(attachments::run(args, context))),
        ),
        Verb::own("forward", &Own(|args: forward::Args, context| Box::pin(forward::run(args, context)))),
        Verb::own("reply", &Own(|args: reply::Args, context| Box::pin(reply::run(args, context)))),
        Verb::own("watch", &Own(|args: watch::Args, context| Box::pin(watch::run(args, context))))
            .ends_by_signal(),
    ];
}

/// Columns of a list of received emails; the first four are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("from", "FROM", Kind::Text),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("created_at", "RECEIVED", Kind::Time),
        Column::new("to", "TO", Kind::Text),
        Column::new("received_for", "RECEIVED FOR", Kind::Text),
        Column::new("cc", "CC", Kind::Text),
        Column::new("bcc", "BCC", Kind::Text),
        Column::new("reply_to", "REPLY TO", Kind::Text),
        Column::new("message_id", "MESSAGE ID", Kind::Text),
    ],
    shown: 4,
    nothing: "no received emails yet",
};
