//! `received forward`: sends a received email to other recipients.

use clap::builder::NonEmptyStringValueParser;

use super::answer::{self, Plan};
use crate::actions::html_command::Bodies;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};

/// Forward a received email
///
/// Sends a copy with the same subject, bodies and attachments. With --wrap, the complete original is attached as `forwarded_message.eml` to a new
/// email with your own body: use it to report emails, and for content that shouldn't appear to be yours.
///
/// Prints the ID of the accepted email. If the response is lost, the error shows the idempotency key: retrying with it can't send the email twice.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost received forward 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --from hi@acme.test --to ada@example.com\n  \
    idempost received forward 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --from hi@acme.test --to abuse@example.com \\\n      \
    --wrap --text 'This is what we received.'")]
pub(crate) struct Args {
    /// ID of the received email
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    /// Recipients, at most 50; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", add = Required, num_args = 1..)]
    to: Vec<String>,
    /// Attach the complete original to a new email
    #[arg(long)]
    wrap: bool,
    #[command(flatten)]
    answer: answer::Args,
}

/// Forwards the email or shows the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let Args { id, to, wrap, answer } = args;
    let mut flags = Flags::default();
    flags.help("idempost received forward ID --from 'You <you@yours.test>' --to ada@example.com");
    let plan = Plan::read(answer, Some(&to), &mut flags, context).await?;
    match (wrap, plan.has_body()) {
        (true, false) => flags.add_missing("--text or --html, with --wrap"),
        (false, true) => {
            let rule = "a body requires --wrap: without it, the original body is forwarded";
            let (flag, body) = match &plan.bodies {
                Bodies { text: Some(text), .. } => ("--text", text.as_str()),
                bodies => ("--html", bodies.html.as_deref().unwrap_or_default()),
            };
            flags.reject("exclusive", rule, flag, body);
        }
        _ => {}
    }
    flags.finish()?;
    let client = context.client()?;
    let received = client.received();
    let email = if wrap { received.forward_as_attachment(id) } else { received.forward(id) }.await?;
    plan.send(email.to(to), context).await
}
