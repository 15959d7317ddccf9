//! `sandbox reset`: as if nothing had been sent.

use http::Method;
use serde_json::json;

use super::{client, unreachable};
use crate::actions::confirm::confirm;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Forget everything that was sent with this key
///
/// A sandbox that keeps its state in a folder (`sandbox serve --data`) forgets it there, too, and so it is asked before; --yes answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Other keys keep theirs: each key that begins with sb_ is an account of its own.\n\n\
    Examples:\n  posthaste sandbox reset")]
pub(crate) struct Args {}

/// Asks for it.
pub(super) async fn run(Args {}: &Args, context: &Context) -> Result<(), Fail> {
    let client = client(context)?;
    let ready = client.request(Method::GET, "/_/ready").await.map_err(unreachable)?;
    if ready["keeps"] == true {
        confirm("Everything of this key goes, also on disk. Forget it?", context).await?;
    }
    client.request(Method::POST, "/_/reset").await.map_err(unreachable)?;
    context.out.note("the sandbox has forgotten everything of this key");
    context.out.result(&[], &json!({ "reset": true }))
}
