//! `config list` and `config get`: effective settings and their sources.

use serde_json::{Value, json};

use super::find;
use crate::actions::pages::Table;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind, text_at};
use crate::settings::keys::KEYS;
use crate::settings::merge::Layers;
use crate::settings::secrets::mask_user_info;

/// List the effective settings
///
/// The settings of the recipient guard, allow_to and redirect_to, have a row for each source, because all of them apply.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost config list --origin\n  idempost --profile work config list")]
pub(crate) struct Args {
    /// Also show where each setting comes from
    #[arg(long)]
    origin: bool,
}

/// Print one setting
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost config get base_url")]
pub(crate) struct GetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    key: String,
}

const TABLE: Table = Table::new(&[
    Column::new("name", "NAME", Kind::Text),
    Column::new("value", "VALUE", Kind::Shrinks),
    Column::new("source", "SOURCE", Kind::Text).optional(),
]);

/// Prints all settings.
pub(super) fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns_with(args.origin.then_some("source"), context)?;
    let rows = rows(context)?;
    if context.out.is_json() {
        return context.out.document(&json!({ "settings": rows }));
    }
    context.out.list(&json!({ "data": rows }), &columns)
}

/// Prints one setting; exits with 5 if it isn't set, so that scripts can tell.
pub(super) fn get(args: &GetArgs, context: &Context) -> Result<(), Fail> {
    // The list shows the active profile.
    let name =
        if args.key == "profile" || find(&args.key)?.is_none() { "profile" } else { args.key.as_str() };
    let mut rows = rows(context)?;
    rows.retain(|row| row["name"] == name && !row["value"].is_null());
    match rows.as_slice() {
        [] => Err(Fail::not_found(format!("`{}` isn't set", args.key))),
        [row] => context.out.result(&[text_at(row, "/value")], row),
        rows => {
            let values: Vec<_> = rows.iter().map(|row| text_at(row, "/value")).collect();
            context.out.result(&values, &json!({ "settings": rows }))
        }
    }
}

/// Each setting's name, value and source. For the credential only the source is shown.
fn rows(context: &Context) -> Result<Vec<Value>, Fail> {
    context.warn_about_settings();
    let settings = context.settings()?;
    let flags = context.global.flags();
    let layers = Layers::new(&flags, &context.env, settings.file.clone());
    let mut rows = vec![json!({
        "name": "profile",
        "value": settings.profile.as_ref().map(|profile| &profile.value),
        "source": settings.profile.as_ref().map(|profile| profile.source.to_string()),
    })];
    for key in KEYS {
        let applying = layers.effective(key);
        if applying.is_empty() {
            rows.push(json!({ "name": key.name, "value": null, "source": null }));
        }
        rows.extend(applying.iter().map(|setting| {
            json!({ "name": key.name, "value": mask_user_info(&setting.value), "source": setting.source.to_string() })
        }));
    }
    if let Some(credential) = &settings.credential {
        rows.push(
            json!({ "name": "credential", "value": "(hidden)", "source": credential.source.to_string() }),
        );
    }
    Ok(rows)
}
