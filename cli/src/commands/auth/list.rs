//! `auth list`: the profiles and their login state.

use serde_json::{Value, json};

use super::status::{describe, login_state};
use crate::actions::pages::Table;
use crate::context::Context;
use crate::credentials::Credentials;
use crate::diagnostics::Fail;
use crate::output::report;
use crate::output::table::{Column, Kind};

/// List profiles and their login state
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: used, profile, origin, kind, state, scope, store, expires_at\n\n\
    Example:\n  idempost auth list --jq '.data[] | select(.state == \"logged_in\").profile'")]
pub(crate) struct Args {}

const TABLE: Table = Table::new(&[
    Column::new("used", "", Kind::Text)
        .format_with(|row| if row["used"] == true { "*".to_owned() } else { String::new() }),
    Column::new("profile", "PROFILE", Kind::Text),
    Column::new("origin", "SERVICE", Kind::Shrinks),
    Column::new("kind", "KIND", Kind::Text),
    Column::new("state", "STATE", Kind::State),
    Column::new("scope", "SCOPE", Kind::Text),
    Column::new("store", "STORE", Kind::Text),
    Column::new("expires_at", "EXPIRES", Kind::Time),
])
.nothing("no profiles yet; log in: idempost auth login");

/// Prints the list.
pub(super) fn run(_: &Args, context: &Context) -> Result<(), Fail> {
    let settings = context.settings()?;
    let columns = TABLE.columns(context)?;
    let stored = Credentials::list(&context.env)?;
    let used = context.settings()?.profile_name();
    let written =
        settings.file.iter().flat_map(|file| file.profiles().into_iter().map(move |name| (file, name)));
    let mut rows: Vec<Value> = Vec::new();
    for (file, name) in written.filter(|(_, name)| !stored.iter().any(|(known, _)| known == name)) {
        let address = file.get(Some(name), "base_url").or_else(|| file.get(None, "base_url"));
        let origin = address
            .and_then(|entry| url::Url::parse(&entry.text).ok())
            .map(|url| url.origin().ascii_serialization());
        rows.push(json!({ "profile": name, "origin": origin, "state": "logged_out" }));
    }
    for (name, overview) in &stored {
        rows.push(match overview {
            Ok(overview) => describe(overview),
            Err(error) => {
                json!({ "profile": name, "state": login_state(Err(error)), "problem": report::error_chain(error) })
            }
        });
    }
    for row in &mut rows {
        let is_used = row["profile"] == used;
        row["used"] = is_used.into();
    }
    rows.sort_by(|one, other| one["profile"].as_str().cmp(&other["profile"].as_str()));
    TABLE.print(&json!({ "object": "list", "data": rows, "has_more": false }), &columns, context)
}
