//! `topics create`: makes a topic.

use posthaste::{NewTopic, Subscription, Visibility};

use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags, Required};
use crate::input::name::NameArg;

/// Make a topic, and print its id
///
/// The default holds for who has made no choice, contact or not. It can't be changed later, so it is always asked for.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("What contacts read, at most 50 characters")), after_help = "Examples:\n  \
    posthaste topics create 'Weekly digest' --default-subscription opt_in\n  \
    posthaste topics create 'Product news' --default-subscription opt_out --visibility public \\\n    \
    --description 'What is new, at most once a month'")]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArg,
    /// opt_in or opt_out
    #[arg(long, value_name = "CHOICE", add = Required, value_parser = Choices(&["opt_in", "opt_out"]), hide_possible_values = true)]
    default_subscription: Option<String>,
    /// What it is about, at most 200 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// public or private [default: private]
    #[arg(long, value_name = "WHO", value_parser = Choices(&["public", "private"]), hide_possible_values = true)]
    visibility: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (topic, dry_run) = plan(args)?;
    let doubt = "the topic may have been made; look: posthaste topics list --limit 1";
    match mutation::carry_out(dry_run, doubt, context, |client| client.topics().create(&topic)).await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(NewTopic, Option<DryRun>), Fail> {
    let Args { name, default_subscription, description, visibility, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("posthaste topics create 'Weekly digest' --default-subscription opt_in");
    let name = name.read(&mut flags).unwrap_or_default();
    flags.field("/default_subscription", "--default-subscription", default_subscription.as_deref());
    flags.field("/description", "--description", description.as_deref());
    flags.field("/visibility", "--visibility", visibility.as_deref());
    let undecided = default_subscription.is_none();
    // A choice of no consequence where it is missing: that was said.
    let subscription = default_subscription.map_or(Subscription::OptOut, Subscription::from);
    let mut topic = NewTopic::new(name, subscription);
    if let Some(description) = description {
        topic = topic.description(description);
    }
    if let Some(visibility) = visibility {
        topic = topic.visibility(Visibility::from(visibility));
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.judge(topic.check());
    if undecided {
        flags.missing("--default-subscription");
    }
    flags.finish()?;
    Ok((topic, dry_run))
}
