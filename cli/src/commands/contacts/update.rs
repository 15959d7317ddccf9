//! `contacts update`.

use idempost::contacts::ContactPatch;

use super::{fields, show_command};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};

/// Change a contact
///
/// Fields and properties not set by a flag stay unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost contacts update ada@example.com --email ada@example.org --clear last-name\n  \
    idempost contacts update ada@example.com --property city=Paris --clear-property orders --unsubscribed=false")]
pub(crate) struct Args {
    /// ID or email address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    /// New email address
    #[arg(long, value_name = "EMAIL")]
    email: Option<String>,
    #[command(flatten)]
    fields: fields::Args,
    /// Clear a name: first-name or last-name; repeatable
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["first-name", "last-name"]), hide_possible_values = true)]
    clear: Vec<String>,
    /// Clear a property; repeatable
    #[arg(long, value_name = "KEY")]
    clear_property: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    let patch = patch(&args, &mut flags);
    if patch.as_ref().is_none_or(is_empty) {
        flags.help("idempost contacts update ID|EMAIL --first-name '…'");
        if patch.is_some() {
            flags.missing("a field to change");
        }
    } else if let Some(patch) = &patch {
        flags.add_problems(patch.check());
    }
    flags.finish()?;
    let patch = patch.unwrap_or_default();
    let unknown_outcome =
        format!("the contact may have been changed; check: {}", show_command(&args.contact));
    let make = |client: &idempost::Client| client.contacts().update(&args.contact, &patch);
    match mutation::execute(dry_run, &unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

/// Whether the patch changes nothing.
fn is_empty(patch: &ContactPatch) -> bool {
    patch.check().is_err_and(|problems| problems.iter().any(|problem| problem.path.is_empty()))
}

/// The patch; `None` if a flag is malformed, which has been reported.
fn patch(args: &Args, flags: &mut Flags) -> Option<ContactPatch> {
    let mut patch = ContactPatch::new();
    let mut misspelt = false;
    flags.field("/email", "--email", args.email.as_deref());
    args.fields.name(flags);
    if let Some(email) = &args.email {
        patch = patch.email(email);
    }
    if let Some(name) = &args.fields.first_name {
        patch = patch.first_name(name);
    }
    if let Some(name) = &args.fields.last_name {
        patch = patch.last_name(name);
    }
    match (args.fields.unsubscribed(flags), &args.fields.unsubscribed) {
        (Some(unsubscribed), _) => patch = patch.unsubscribed(unsubscribed),
        (None, Some(_)) => misspelt = true,
        (None, None) => {}
    }
    let properties = args.fields.properties(flags);
    for (i, key) in args.clear_property.iter().enumerate() {
        if properties.iter().any(|(known, _)| known == key) {
            let rule = format!("the property `{key}` can't be both set and cleared");
            flags.wrong_nth("exclusive", rule, "--clear-property", i + 1, key);
        }
        flags.field(
            &format!("/properties{}", crate::input::json::pointer(key)),
            "--clear-property",
            Some(key),
        );
        patch = patch.clear_property(key);
    }
    for (key, value) in properties {
        patch = patch.property(key, value);
    }
    for (i, field) in args.clear.iter().enumerate() {
        let set = match field.as_str() {
            "first-name" => {
                patch = patch.clear_first_name();
                args.fields.first_name.is_some()
            }
            "last-name" => {
                patch = patch.clear_last_name();
                args.fields.last_name.is_some()
            }
            _ => {
                let rule = "--clear must be first-name or last-name";
                flags.wrong_nth("type", rule, "--clear", i + 1, field);
                misspelt = true;
                false
            }
        };
        if set {
            let rule = format!("--{field} and --clear {field} can't be used together");
            flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
        }
    }
    (!misspelt).then_some(patch)
}
