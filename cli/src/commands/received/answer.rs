//! The common part of `received forward` and `received reply`: the flags, and the send.

use idempost::{Accepted, Client, Email};
use serde_json::Value;

use crate::actions::attachments::describe_contents;
use crate::actions::html_command::{self, Bodies};
use crate::actions::mutation::{self, Sending};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::bodies;
use crate::input::flags::{Choices, Flags, Required};
use crate::output::format_count;

/// The email to send
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Sender: `you@x.test` or `You <you@x.test>`; defaults to the profile's `from`
    #[arg(long, value_name = "ADDRESS", add = Required)]
    from: Option<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    bcc: Vec<String>,
    /// Subject, instead of the one derived from the received email
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Idempotency key: within 24 hours, the same key and email are sent only once
    ///
    /// 1 to 256 visible ASCII characters. Derive it from the received email: forward-4ef9a417.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Fetch the received email and show the request without sending it; =curl shows a curl command
    #[arg(short = 'n', long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "json", value_parser = Choices(&["json", "curl"]), hide_possible_values = true)]
    dry_run: Option<String>,
}

/// The validated flags.
pub(super) struct Plan {
    pub(super) from: String,
    cc: Vec<String>,
    bcc: Vec<String>,
    subject: Option<String>,
    pub(super) bodies: Bodies,
    sending: Sending,
}

impl Plan {
    /// Reads and validates the flags. `to` are the recipients, if the command takes them.
    pub(super) async fn read(
        args: Args,
        to: Option<&[String]>,
        flags: &mut Flags,
        context: &Context,
    ) -> Result<Self, Fail> {
        let Args { from, cc, bcc, subject, bodies, idempotency_key, dry_run } = args;
        let given = from.is_some();
        let from = from.or(context.settings()?.from.as_ref().map(|from| from.value.clone()));
        flags.field("/from", "--from", from.as_deref().filter(|_| given));
        flags.field("/subject", "--subject", subject.as_deref());
        for (pointer, flag, list) in
            [("/to", "--to", to.unwrap_or_default()), ("/cc", "--cc", &cc), ("/bcc", "--bcc", &bcc)]
        {
            flags.declare_list(pointer, flag, list);
        }
        let bodies = html_command::bodies(&bodies, flags, &mut context.stdin()).await;
        // The received email provides the rest; placeholders stand for it.
        let to = to.map_or_else(|| vec!["ada@example.com".to_owned()], <[String]>::to_vec);
        let email =
            Email::default().to(to).cc(&cc).bcc(&bcc).subject(subject.clone().unwrap_or_default()).text("-");
        flags.add_problems(from.iter().cloned().fold(email, Email::from).check());
        let sending = Sending::read(idempotency_key.as_deref(), dry_run.as_deref(), flags);
        Ok(Self { from: from.unwrap_or_default(), cc, bcc, subject, bodies, sending })
    }

    /// Whether a body flag was passed, even an unreadable one.
    pub(super) fn has_body(&self) -> bool {
        let Bodies { html, text, unread } = &self.bodies;
        *unread || [html, text].into_iter().flatten().any(|body| !body.is_empty())
    }

    /// Applies the flags to the email that was prepared, and sends it.
    pub(super) async fn send(self, email: Email, context: &Context) -> Result<(), Fail> {
        let Self { from, cc, bcc, subject, bodies, sending } = self;
        let email = email.from(from).cc(cc).bcc(bcc);
        let email = subject.into_iter().fold(email, Email::subject);
        let email = bodies.html.into_iter().fold(email, Email::html);
        let email = bodies.text.into_iter().fold(email, Email::text);
        let json = if sending.dry_run.is_some() { serde_json::to_value(&email).ok() } else { None };
        let contents = json.as_ref().and_then(Value::as_object).map(describe_contents).unwrap_or_default();
        let make = |client: &Client| client.emails().send(&email);
        let done = sending.execute::<Accepted>("the email may have been accepted", &contents, context, make);
        let Some((_, accepted)) = done.await? else { return Ok(()) };
        let id = accepted.value.id.as_str();
        mutation::print(id, &accepted, context)?;
        let fields = email.fields();
        let recipients = format_count(fields.to.len() + fields.cc.len() + fields.bcc.len(), "recipient");
        context.out.note(&match context.show_command(id) {
            Some(look) => format!("accepted for {recipients} · view it: {look}"),
            None => format!("accepted for {recipients}"),
        });
        Ok(())
    }
}
