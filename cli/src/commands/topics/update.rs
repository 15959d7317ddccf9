//! `topics update`: changes a topic.

use idempost::topics::{TopicPatch, Visibility};

use super::show_command;
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};

/// The field that can be cleared.
const DESCRIPTION: &str = "description";

/// Change a topic
///
/// Fields not set by a flag stay unchanged. The default subscription can't be changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost topics update b6d24b8e-af0b-4c3c-be0c-359bbd97381e --name 'Monthly digest'\n  \
    idempost topics update b6d24b8e-af0b-4c3c-be0c-359bbd97381e --visibility public --clear description")]
pub(crate) struct Args {
    /// ID of the topic
    #[arg(value_name = "ID")]
    id: String,
    /// Name shown to contacts, at most 50 characters
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Description shown to contacts, at most 200 characters
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Visibility: public or private
    #[arg(long, value_name = "VISIBILITY", value_parser = Choices(&["public", "private"]), hide_possible_values = true)]
    visibility: Option<String>,
    /// Clear a field: description
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["description"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let id = args.id.clone();
    let (patch, dry_run) = plan(args)?;
    let unknown_outcome = format!("the topic may have been changed; check: {}", show_command(&id));
    let make = |client: &idempost::Client| client.topics().update(id.as_str(), &patch);
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(TopicPatch, Option<DryRun>), Fail> {
    let Args { id: _, name, description, visibility, clear, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("/name", "--name", name.as_deref());
    flags.field("/description", "--description", description.as_deref());
    flags.field("/visibility", "--visibility", visibility.as_deref());
    if name.is_none() && description.is_none() && visibility.is_none() && clear.is_empty() {
        flags.help("idempost topics update ID --name '…'");
        flags.missing("a field to change");
    }
    let mut patch = TopicPatch::new();
    for (i, field) in clear.iter().enumerate() {
        if field != DESCRIPTION {
            let rule = format!("--clear must be {DESCRIPTION}");
            flags.wrong_nth("type", rule, "--clear", i + 1, field);
        } else if description.is_some() {
            let rule = "--description and --clear description can't be used together";
            flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
        } else {
            patch = patch.clear_description();
        }
    }
    if let Some(name) = name {
        patch = patch.name(name);
    }
    if let Some(description) = description {
        patch = patch.description(description);
    }
    if let Some(visibility) = visibility {
        patch = patch.visibility(Visibility::from(visibility));
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(patch.check());
    flags.finish()?;
    Ok((patch, dry_run))
}
