//! `properties update`: changes the fallback of a contact property.

use idempost::contact_properties::ContactPropertyPatch;

use super::fallback::{self, Fallback};
use super::show_command;
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags};

/// The field that can be cleared.
const FALLBACK: &str = "fallback";

/// Change the fallback of a contact property
///
/// The fallback must match the property's type. Type and key can't be changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost properties update 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60 --fallback 'your place'\n  \
    idempost properties update 0c9a2f4e-6d1b-4f53-8f5e-2b7d9a1c3e60 --clear fallback")]
pub(crate) struct Args {
    /// ID of the property
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    fallback: fallback::Args,
    /// Clear a field: fallback
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["fallback"]), hide_possible_values = true)]
    clear: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let id = args.id.clone();
    let (patch, dry_run) = plan(args)?;
    let unknown_outcome = format!("the property may have been changed; check: {}", show_command(&id));
    let make = |client: &idempost::Client| client.contact_properties().update(id.as_str(), &patch);
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(ContactPropertyPatch, Option<DryRun>), Fail> {
    let Args { id: _, fallback, clear, dry_run } = args;
    let mut flags = Flags::default();
    let fallback_is_given = fallback.is_given();
    if !fallback_is_given && clear.is_empty() {
        flags.help("idempost properties update ID --fallback '…'");
        flags.missing("a field to change");
    }
    let mut patch = ContactPropertyPatch::new();
    match fallback.read(&mut flags) {
        Some(Fallback::Text(text)) => patch = patch.fallback_value(text),
        Some(Fallback::Number(number)) => patch = patch.fallback_value(serde_json::Value::Number(number)),
        None => {}
    }
    for (i, field) in clear.iter().enumerate() {
        if field != FALLBACK {
            let rule = format!("--clear must be {FALLBACK}");
            flags.wrong_nth("type", rule, "--clear", i + 1, field);
        } else if fallback_is_given {
            let rule = "--clear fallback can't be used with a new fallback";
            flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
        } else {
            patch = patch.clear_fallback_value();
        }
    }
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(patch.check());
    flags.finish()?;
    Ok((patch, dry_run))
}
