//! `received reply`: replies to a received email.

use clap::builder::NonEmptyStringValueParser;

use super::answer::{self, Plan};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Reply to a received email
///
/// The reply goes to the Reply-To addresses, or to the sender. The headers In-Reply-To and References keep it in the thread; the original isn't quoted.
///
/// Prints the ID of the accepted email. If the response is lost, the error shows the idempotency key: retrying with it can't send the email twice.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost received reply 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --from support@acme.test --text 'We are looking into it.'\n  \
    idempost received reply 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --from support@acme.test --html-file answer.html --reply-all")]
pub(crate) struct Args {
    /// ID of the received email
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Reply to the other recipients too, except the sender of the reply and the addresses that received the email
    #[arg(long)]
    reply_all: bool,
    #[command(flatten)]
    answer: answer::Args,
}

/// Sends the reply or shows the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, reply_all, answer } = args;
    let mut flags = Flags::default();
    flags.help("idempost received reply ID --from 'You <you@yours.test>' --text '…'");
    let plan = Plan::read(answer, None, &mut flags, context).await?;
    if !plan.has_body() {
        flags.add_missing("--text or --html");
    }
    flags.finish()?;
    let client = context.client()?;
    let email =
        trace::execute(context, || client.received().get(id.as_str()).html_format("cid")).await?.value;
    let from = plan.from.as_str();
    let reply = if reply_all { email.reply_all(from) } else { email.reply(from) };
    plan.send(reply, context).await
}
