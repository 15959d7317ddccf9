//! `emails get`: one sent email with its body.

use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;

/// Show one email
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794\n  \
    idempost emails get 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --jq .html > body.html")]
pub(crate) struct Args {
    /// ID of the email, as printed by `emails send`
    #[arg(value_name = "ID")]
    id: String,
}

/// Prints the email.
pub(crate) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    mutation::show(context, |client| client.emails().get(args.id.as_str())).await
}
