//! `contacts update`.

use posthaste::ContactPatch;

use super::{fields, look};
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};

/// Change a contact
///
/// What no flag names stays as it is, property by property.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste contacts update ada@example.com --email ada@example.org --clear last-name\n  \
    posthaste contacts update ada@example.com --property city=Paris --clear-property orders --unsubscribed=false")]
pub(crate) struct Args {
    /// Id or address of the contact
    #[arg(value_name = "ID|EMAIL")]
    contact: String,
    /// Another address
    #[arg(long, value_name = "EMAIL")]
    email: Option<String>,
    #[command(flatten)]
    fields: fields::Args,
    /// Take a name away: first-name or last-name; repeat it
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["first-name", "last-name"]), hide_possible_values = true)]
    clear: Vec<String>,
    /// Take a property away; repeat it
    #[arg(long, value_name = "KEY")]
    clear_property: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    let patch = patch(&args, &mut flags);
    if patch.as_ref().is_none_or(flags_only_empty) {
        flags.help("posthaste contacts update ID|EMAIL --first-name '…'");
        if patch.is_some() {
            flags.missing("what to change");
        }
    } else if let Some(patch) = &patch {
        flags.judge(patch.check());
    }
    flags.finish()?;
    let patch = patch.unwrap_or_default();
    let doubt = format!("the contact may have been changed; look: {}", look(&args.contact));
    let make = |client: &posthaste::Client| client.contacts().update(&args.contact, &patch);
    match mutation::carry_out(dry_run, &doubt, context, make).await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}

/// Whether a patch changes nothing at all.
fn flags_only_empty(patch: &ContactPatch) -> bool {
    patch.check().is_err_and(|problems| problems.iter().any(|problem| problem.path.is_empty()))
}

/// The change; nothing if a flag was misspelt, which was told then.
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
            let rule = format!("setting the property `{key}` and clearing it exclude each other");
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
                let rule = "what can be taken away is one of first-name, last-name";
                flags.wrong_nth("type", rule, "--clear", i + 1, field);
                misspelt = true;
                false
            }
        };
        if set {
            let rule = format!("--{field} and --clear {field} exclude each other");
            flags.wrong_nth("exclusive", rule, "--clear", i + 1, field);
        }
    }
    (!misspelt).then_some(patch)
}
