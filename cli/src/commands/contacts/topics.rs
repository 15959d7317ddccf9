//! `contacts topics`, `update-topics`: what a contact wants.

use posthaste::{Client, Subscription};

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind};

/// Show what a contact says to each topic
///
/// Where the contact has made no choice, the topic's default is shown. Without --limit, the service shows all topics.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, name, subscription, description\n\n\
    Examples:\n  \
    posthaste contacts topics ada@example.com\n  \
    posthaste contacts topics ada@example.com --jq '.data[] | select(.subscription == \"opt_in\").name'")]
pub(crate) struct ListArgs {
    /// Id or address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    #[command(flatten)]
    part: pages::Args,
}

/// Say which topics a contact wants
///
/// Topics that no flag names keep their choice. It prints the id of the contact.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste contacts update-topics ada@example.com --opt-out b6d24b8e-af0b-4c3c-be0c-359bbd97381e\n  \
    posthaste contacts update-topics ada@example.com --opt-in b6d24b8e-af0b-4c3c-be0c-359bbd97381e \\\n    \
    --opt-out 5b7f0c1d-93a6-4f6e-8f43-0a4d6e2b8c19")]
pub(crate) struct UpdateArgs {
    /// Id or address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    /// Id of a topic that the contact wants; repeat it
    #[arg(long, value_name = "TOPIC")]
    opt_in: Vec<String>,
    /// Id of a topic that the contact doesn't want; repeat it
    #[arg(long, value_name = "TOPIC")]
    opt_out: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// What a list of subscriptions can show; the first three by itself.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("subscription", "SUBSCRIPTION", Kind::Text),
        Column::new("description", "DESCRIPTION", Kind::Shrinks),
    ],
    shown: 3,
    nothing: "no topics yet",
};

pub(super) async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    pages::list(args.part, &TABLE, context, |client| client.contacts().topics(&args.contact)).await
}

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { contact, opt_in, opt_out, dry_run } = args;
    let mut flags = Flags::default();
    let mut choices: Vec<(String, Subscription)> = Vec::new();
    for (flag, topics, choice) in
        [("--opt-in", opt_in, Subscription::OptIn), ("--opt-out", opt_out, Subscription::OptOut)]
    {
        for (i, topic) in topics.into_iter().enumerate() {
            if topic.is_empty() {
                flags.wrong_nth("empty", format!("{flag} is the id of a topic"), flag, i + 1, &topic);
            }
            if choice == Subscription::OptOut
                && choices.iter().any(|(known, said)| *known == topic && *said != choice)
            {
                let rule = "a topic is wanted or not; --opt-in names it too";
                flags.wrong_nth("exclusive", rule, flag, i + 1, &topic);
            }
            choices.push((topic, choice.clone()));
        }
    }
    if choices.is_empty() {
        flags.help(format!("posthaste contacts update-topics {contact} --opt-out TOPIC"));
        flags.missing("--opt-in or --opt-out");
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let doubt = format!("the choices may have been written; look: posthaste contacts topics {contact}");
    let make = |client: &Client| {
        let choices = choices.iter().map(|(topic, choice)| (topic.as_str(), choice.clone()));
        client.contacts().update_topics(&contact, choices)
    };
    match mutation::carry_out(dry_run, &doubt, context, make).await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}
