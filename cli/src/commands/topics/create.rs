//! `topics create`: creates a topic.

use idempost::topics::{NewTopic, Subscription, Visibility};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags, Required};
use crate::input::name::NameArg;

/// Create a topic and print its ID
///
/// The default applies to everyone who hasn't chosen, contact or not. It can't be changed later, so the flag is required.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("Name shown to contacts, at most 50 characters")), after_help = "Examples:\n  \
    idempost topics create 'Weekly digest' --default-subscription opt_in\n  \
    idempost topics create 'Product news' --default-subscription opt_out --visibility public \\\n    \
    --description 'What is new, at most once a month'")]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArg,
    /// Default: opt_in or opt_out
    #[arg(long, value_name = "SUBSCRIPTION", add = Required, value_parser = Choices(&["opt_in", "opt_out"]), hide_possible_values = true)]
    default_subscription: Option<String>,
    /// Description shown to contacts, at most 200 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Visibility: public or private [default: private]
    #[arg(long, value_name = "VISIBILITY", value_parser = Choices(&["public", "private"]), hide_possible_values = true)]
    visibility: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (topic, dry_run) = plan(args)?;
    let unknown_outcome = "the topic may have been created; check: idempost topics list --limit 1";
    match mutation::execute(dry_run, unknown_outcome, context, |client| client.topics().create(&topic))
        .await?
    {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(NewTopic, Option<DryRun>), Fail> {
    let Args { name, default_subscription, description, visibility, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("idempost topics create 'Weekly digest' --default-subscription opt_in");
    let name = name.read(&mut flags).unwrap_or_default();
    flags.field("/default_subscription", "--default-subscription", default_subscription.as_deref());
    flags.field("/description", "--description", description.as_deref());
    flags.field("/visibility", "--visibility", visibility.as_deref());
    let undecided = default_subscription.is_none();
    // A placeholder if the choice is missing, which has been reported.
    let subscription = default_subscription.map_or(Subscription::OptOut, Subscription::from);
    let mut topic = NewTopic::new(name, subscription);
    if let Some(description) = description {
        topic = topic.description(description);
    }
    if let Some(visibility) = visibility {
        topic = topic.visibility(Visibility::from(visibility));
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(topic.check());
    if undecided {
        flags.missing("--default-subscription");
    }
    flags.finish()?;
    Ok((topic, dry_run))
}
