//! `properties create`: creates a contact property.

use idempost::contact_properties::NewContactProperty;

use super::fallback::{self, Fallback};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Flags, Required};
use crate::input::name::argument_or_flag;

/// Create a contact property and print its ID
///
/// Broadcasts insert it with {{{contact.KEY|fallback}}}. The key and type can't be changed later.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost properties create city --type string --fallback 'your town'\n  \
    idempost properties create orders --type number --fallback-number 0")]
pub(crate) struct Args {
    /// Key of A-Z a-z 0-9 _, at most 50 characters
    #[arg(value_name = "KEY", add = Required)]
    key: Option<String>,
    /// Same as KEY
    #[arg(long = "key", value_name = "KEY", hide = true, conflicts_with = "key")]
    key_flag: Option<String>,
    /// Type: string or number [default: type of the fallback]
    #[arg(long = "type", value_name = "TYPE", add = Required, value_parser = Choices(&["string", "number"]), hide_possible_values = true)]
    r#type: Option<String>,
    #[command(flatten)]
    fallback: fallback::Args,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let (property, dry_run) = plan(args)?;
    let unknown_outcome = "the property may have been created; check: idempost properties list --limit 1";
    let make = |client: &idempost::Client| client.contact_properties().create(property.clone());
    match mutation::execute(dry_run, unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

fn plan(args: Args) -> Result<(NewContactProperty, Option<DryRun>), Fail> {
    let Args { key, key_flag, r#type, fallback, dry_run } = args;
    let (label, key) = argument_or_flag(key, "KEY", key_flag, "--key");
    let mut flags = Flags::default();
    flags.help("idempost properties create city --type string");
    flags.field("/key", label, key.as_deref());
    let fallback_is_given = fallback.is_given();
    let fallback = fallback.read(&mut flags);
    let key = key.unwrap_or_default();
    let property: NewContactProperty = match (r#type.as_deref(), fallback) {
        (None | Some("string"), Some(Fallback::Text(text))) => {
            NewContactProperty::string(key).fallback(text).into()
        }
        (None | Some("number"), Some(Fallback::Number(number))) => {
            NewContactProperty::number(key).fallback(number).into()
        }
        (Some("number"), None) => NewContactProperty::number(key).into(),
        (r#type, fallback) => {
            match (r#type, fallback) {
                (Some(r#type @ ("string" | "number")), Some(_)) => {
                    let rule = "for a string use --fallback, for a number --fallback-number";
                    flags.wrong("type", rule, "--type", r#type);
                }
                (Some("string"), None) => {}
                (Some(other), _) => flags.wrong("type", "--type must be string or number", "--type", other),
                // An invalid fallback has been reported.
                (None, _) if fallback_is_given => {}
                (None, _) => flags.missing("--type"),
            }
            NewContactProperty::string(key).into()
        }
    };
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.add_problems(property.check());
    flags.finish()?;
    Ok((property, dry_run))
}
