//! `emails get`: one email with its body, as the service tells it.

use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Show one email
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    posthaste emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --jq .html > body.html")]
pub(crate) struct Args {
    /// Id of the email, as `emails send` prints it
    #[arg(value_name = "ID")]
    id: String,
}

/// Shows it.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    mutation::show(context, |client| client.emails().get(args.id.as_str())).await
}
