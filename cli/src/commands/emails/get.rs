//! `emails get`: one email with its body, as the service tells it.

use crate::change::document;
use crate::context::Context;
use crate::fail::Fail;
use crate::narrate;
use crate::output::record;

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
    let client = context.client()?;
    let record = narrate::carry_out(context, || client.emails().get(args.id.as_str())).await?;
    let document = document(&record);
    context.out.result(&record::lines(&document), &document)
}
