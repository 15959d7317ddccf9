//! `sandbox reset`: deletes all data of a key.

use http::Method;
use serde_json::json;

use super::{client, confirm_disk_deletion, unreachable_failure};
use crate::context::Context;
use crate::diagnostics::Fail;

/// Delete all data for this key
///
/// If the sandbox persists its state (`sandbox serve --data`), the data on disk is deleted too, so the command asks first; --yes skips the question.
#[derive(Debug, clap::Args)]
#[command(after_help = "Other keys are unaffected: each key with the prefix sb_ is a separate account.\n\n\
    Examples:\n  idempost sandbox reset")]
pub(crate) struct Args {}

/// Sends the request.
pub(super) async fn run(Args {}: Args, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    confirm_disk_deletion(&client, "Delete all data for this key, including on disk?", context).await?;
    client.request(Method::POST, "/_/reset").await.map_err(unreachable_failure)?;
    context.out.note("deleted all data of this key");
    context.out.result(&[], &json!({ "reset": true }))
}
