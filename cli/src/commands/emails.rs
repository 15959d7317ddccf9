//! `emails`: send, list, reschedule and cancel emails.

mod attachments;
pub(crate) mod batch;
mod list;
mod metrics;
mod reschedule;
pub(crate) mod send;
mod share;
mod tail;

use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};
use crate::rows::field::Field;
use crate::rows::operation::{Act, Own, Show};
use crate::rows::{Noun, Verb, Verbs};

// The commands, and the ones of `received` under their path in the API. No doc comment, which would replace the description.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Verb(Verbs<Emails>),
    /// Read received emails; same as `received`
    #[command(subcommand, hide = true)]
    Receiving(Verbs<super::received::Received>),
}

impl Command {
    /// Whether the command runs until a signal stops it.
    pub(crate) fn ends_by_signal(&self) -> bool {
        match self {
            Self::Verb(verb) => verb.ends_by_signal(),
            Self::Receiving(verb) => verb.ends_by_signal(),
        }
    }

    /// Runs the command.
    pub(crate) async fn run(self, context: &Context) -> Result<(), Fail> {
        match self {
            Self::Verb(verb) => verb.run(context).await,
            Self::Receiving(verb) => verb.run(context).await,
        }
    }
}

/// The commands for sent emails.
#[derive(Debug)]
pub(crate) struct Emails;

impl Noun for Emails {
    const ABOUT: &'static str = "Send emails and inspect sent ones";
    const VERBS: &'static [Verb] = &[
        Verb::own(
            "send",
            &Own(|args: Box<send::Args>, context| {
                Box::pin(async { send::run(send::plan(*args, context).await?, context).await })
            }),
        ),
        Verb::own(
            "batch",
            &Own(|args: batch::Args, context| {
                Box::pin(async { batch::run(batch::plan(args, context).await?, context).await })
            }),
        ),
        Verb::own("list", &Own(|args: list::Args, context| Box::pin(list::run(args, context)))).alias("ls"),
        Verb::new("get", "Show one email", &Show(|client, ids| client.emails().get(ids[0])))
            .ids(ID)
            .examples(&[
                "emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794",
                "emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --jq .html > body.html",
            ]),
        Verb::own("tail", &Own(|args: tail::Args, context| Box::pin(tail::run(args, context))))
            .ends_by_signal(),
        Verb::own(
            "attachments",
            &Own(|args: attachments::Args, context| Box::pin(attachments::run(args, context))),
        ),
        Verb::own("share", &Own(|args: share::Args, context| Box::pin(share::run(args, context)))),
        Verb::own("update", &Own(|args: reschedule::Args, context| Box::pin(reschedule::run(args, context)))),
        Verb::new("cancel", "Cancel a scheduled email", &Act(|client, ids| client.emails().cancel(ids[0])))
            .detail("Emails that were already sent can't be canceled. Safe to repeat.")
            .ids(ID)
            .unknown("the email may have been canceled; check: idempost emails get {0}")
            .examples(&["emails cancel 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"]),
        Verb::own(
            "metrics",
            &Own(|args: Box<metrics::Args>, context| Box::pin(metrics::run(*args, context))),
        ),
    ];
}

const ID: &[Field] = &[Field::place("id", "ID", "ID of the email, as printed by `emails send`")];

/// Columns of a list of emails; the first five are the default.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("to", "TO", Kind::Text),
        Column::new("subject", "SUBJECT", Kind::Shrinks),
        Column::new("last_event", "LAST EVENT", Kind::State),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("from", "FROM", Kind::Text),
        Column::new("cc", "CC", Kind::Text),
        Column::new("bcc", "BCC", Kind::Text),
        Column::new("reply_to", "REPLY TO", Kind::Text),
        Column::new("message_id", "MESSAGE ID", Kind::Text),
        Column::new("scheduled_at", "SCHEDULED", Kind::Time),
    ],
    shown: 5,
    nothing: "no emails yet",
};

/// `1 recipient`, `2 recipients`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}
