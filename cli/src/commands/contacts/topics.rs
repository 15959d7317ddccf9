//! `contacts update-topics`, and the columns of a contact's topic subscriptions.

use idempost::{Client, topics::Subscription};

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::output::table::{Column, Kind};

/// Change a contact's topic subscriptions
///
/// Subscriptions to other topics stay unchanged. Prints the contact's ID.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost contacts update-topics ada@example.com --opt-out b6d24b8e-af0b-4c3c-be0c-359bbd97381e\n  \
    idempost contacts update-topics ada@example.com --opt-in b6d24b8e-af0b-4c3c-be0c-359bbd97381e \\\n    \
    --opt-out 5b7f0c1d-93a6-4f6e-8f43-0a4d6e2b8c19")]
pub(crate) struct UpdateArgs {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    /// Topic to opt in to; repeatable
    #[arg(long, value_name = "TOPIC_ID")]
    opt_in: Vec<String>,
    /// Topic to opt out of; repeatable
    #[arg(long, value_name = "TOPIC_ID")]
    opt_out: Vec<String>,
    /// Subscriptions as a JSON array: [{"id": "…", "subscription": "opt_in"}]
    #[arg(long, value_name = "JSON")]
    topics: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Columns of a list of subscriptions; the first three are the default.
pub(super) const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("subscription", "SUBSCRIPTION", Kind::Text),
        Column::new("description", "DESCRIPTION", Kind::Shrinks),
    ],
    shown: 3,
    nothing: "no topics yet",
};

/// The entries of `--topics`, without a subscription those that are malformed.
fn read_topics(text: &str) -> Vec<(String, Option<Subscription>)> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Choice {
        id: String,
        subscription: String,
    }
    match serde_json::from_str::<Vec<Choice>>(text) {
        Ok(choices) if !choices.is_empty() => {
            choices.into_iter().map(|one| (one.id, Some(one.subscription.as_str().into()))).collect()
        }
        _ => vec![(String::new(), None)],
    }
}

pub(super) async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { contact, opt_in, opt_out, topics, dry_run } = args;
    let mut flags = Flags::default();
    let mut choices: Vec<(String, Subscription)> = Vec::new();
    for (flag, topics, choice) in
        [("--opt-in", opt_in, Subscription::OptIn), ("--opt-out", opt_out, Subscription::OptOut)]
    {
        for (i, topic) in topics.into_iter().enumerate() {
            if topic.is_empty() {
                flags.wrong_nth("empty", format!("{flag} must not be empty"), flag, i + 1, &topic);
            }
            if choice == Subscription::OptOut
                && choices.iter().any(|(known, chosen)| *known == topic && *chosen != choice)
            {
                let rule = "this topic is also named by --opt-in";
                flags.wrong_nth("exclusive", rule, flag, i + 1, &topic);
            }
            choices.push((topic, choice.clone()));
        }
    }
    let given = topics.is_some();
    for (topic, choice) in topics.as_deref().map(read_topics).unwrap_or_default() {
        let text = topics.as_deref().unwrap_or_default();
        let rule = match choice {
            _ if choices.iter().any(|(known, _)| *known == topic) => {
                Some(format!("the topic `{topic}` is repeated"))
            }
            None => Some(
                "--topics must be a JSON array of objects with only `id` and `subscription`, both text"
                    .to_owned(),
            ),
            Some(choice) => {
                choices.push((topic, choice));
                None
            }
        };
        if let Some(rule) = rule {
            flags.wrong("type", rule, "--topics", text);
        }
    }
    if choices.is_empty() && !given {
        flags.help(format!("idempost contacts update-topics {contact} --opt-out TOPIC"));
        flags.missing("--opt-in, --opt-out or --topics");
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome =
        format!("the subscriptions may have been changed; check: idempost contacts topics {contact}");
    let make = |client: &Client| {
        let choices = choices.iter().map(|(topic, choice)| (topic.as_str(), choice.clone()));
        client.contacts().update_topics(&contact, choices)
    };
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}
