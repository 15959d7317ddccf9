//! `inboxes reply` and `forward`, and what they share with drafts.

use idempost::{
    Call, Client, IdempotencyKey,
    inboxes::{InboxForward, InboxReply, SentInboxEmail},
    problem::Problems,
};
use serde::de::DeserializeOwned;

use super::{EmailArg, ThreadArg};
use crate::actions::attachments::InboxArgs;
use crate::actions::dry_run::Content;
use crate::actions::html_command;
use crate::actions::mutation::{self, DryRunFlag, Mutation};
use crate::context::Context;
use crate::diagnostics::{Fail, repeatable_with};
use crate::input::bodies;
use crate::input::flags::Flags;

// The flags of every send; no doc comment, which would replace the command's own.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct SendFlags {
    /// Idempotency key: within 24 hours, the same key and request are executed only once
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    idempotency_key: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Executes a request with an idempotency key and prints the ID in its response. `contents` are those of its attachments.
pub(super) async fn send<T: DeserializeOwned + Send + 'static>(
    mut flags: Flags,
    checked: Result<(), Problems>,
    send: &SendFlags,
    contents: &[Content],
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let given = send.idempotency_key.as_deref();
    flags.field("/idempotency_key", "--idempotency-key", given);
    let key = given.map_or_else(IdempotencyKey::random, |given| {
        IdempotencyKey::new(given).unwrap_or_else(|problem| {
            flags.wrong(problem.code, problem.message, "--idempotency-key", given);
            IdempotencyKey::random()
        })
    });
    let dry_run = flags.dry_run(send.dry_run.dry_run.as_deref());
    flags.add_problems(checked);
    flags.finish()?;
    let unknown_outcome = repeatable_with("the request may have been executed", &key);
    let mutation = Mutation {
        dry_run,
        unknown_outcome: &unknown_outcome,
        key: Some(&key),
        key_given: given.is_some(),
        contents,
    };
    let make = |client: &Client| make(client).idempotency_key(key.as_str());
    let Some((_, response)) = mutation.execute(context, make).await? else { return Ok(()) };
    let document = mutation::document(&response);
    mutation::print(document["id"].as_str().unwrap_or_default(), &response, context)
}

/// Reply to an email of a thread and print the ID of the reply
///
/// It goes to the Reply-To address, else to the sender.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost inboxes reply support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 --text 'On its way.'\n  \
    idempost inboxes reply support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 \\\n    \
    --html-file answer.html --attach invoice.pdf --reply-all")]
pub(crate) struct ReplyArgs {
    #[command(flatten)]
    email: EmailArg,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Send a copy to the other recipients of the email
    #[arg(long)]
    reply_all: bool,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    bcc: Vec<String>,
    /// Subject [default: that of the email with Re:]
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    #[command(flatten)]
    attachments: InboxArgs,
    #[command(flatten)]
    send: SendFlags,
}

pub(super) async fn reply(args: ReplyArgs, context: &Context) -> Result<(), Fail> {
    let ReplyArgs {
        email: EmailArg { thread: ThreadArg { inbox, thread }, email },
        bodies,
        reply_all,
        cc,
        bcc,
        subject,
        attachments,
        send: flags_of_send,
    } = args;
    let mut flags = Flags::default();
    let mut stdin = context.stdin();
    let bodies = html_command::bodies(&bodies, &mut flags, &mut stdin).await;
    let (attachments, contents) = attachments.open(&mut flags, &mut stdin).await;
    flags.field("", "--text or --html", None);
    flags.list("/cc", "--cc", &cc);
    flags.list("/bcc", "--bcc", &bcc);
    flags.field("/subject", "--subject", subject.as_deref());
    let mut reply = attachments.into_iter().fold(InboxReply::new().cc(cc).bcc(bcc), InboxReply::attach);
    if let Some(html) = bodies.html {
        reply = reply.html(html);
    }
    if let Some(text) = bodies.text {
        reply = reply.text(text);
    }
    if let Some(subject) = subject {
        reply = reply.subject(subject);
    }
    if reply_all {
        reply = reply.reply_all(true);
    }
    let checked = if bodies.unread { Ok(()) } else { reply.check() };
    let make =
        |client: &Client| -> Call<SentInboxEmail> { client.inboxes().reply(&inbox, &thread, &email, &reply) };
    send(flags, checked, &flags_of_send, &contents, context, make).await
}

/// Forward an email of a thread with its attachments and print the ID of the new email
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    idempost inboxes forward support@acme.test 4d8e2a1c-9b3f-4c6d-8a21-3e5f7c9c0d12 5b1a9f47-2c8d-4e6f-9a03-1d2e3f4a5b60 \\\n    \
    --to boss@acme.test --text 'Please decide.'")]
pub(crate) struct ForwardArgs {
    #[command(flatten)]
    email: EmailArg,
    /// Recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", required = true, num_args = 1..)]
    to: Vec<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    bcc: Vec<String>,
    /// Subject [default: that of the email with Fwd:]
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    #[command(flatten)]
    attachments: InboxArgs,
    #[command(flatten)]
    send: SendFlags,
}

pub(super) async fn forward(args: ForwardArgs, context: &Context) -> Result<(), Fail> {
    let ForwardArgs {
        email: EmailArg { thread: ThreadArg { inbox, thread }, email },
        to,
        cc,
        bcc,
        subject,
        bodies,
        attachments,
        send: flags_of_send,
    } = args;
    let mut flags = Flags::default();
    let mut stdin = context.stdin();
    let bodies = html_command::bodies(&bodies, &mut flags, &mut stdin).await;
    let (attachments, contents) = attachments.open(&mut flags, &mut stdin).await;
    flags.list("/to", "--to", &to);
    flags.list("/cc", "--cc", &cc);
    flags.list("/bcc", "--bcc", &bcc);
    flags.field("/subject", "--subject", subject.as_deref());
    let forward = InboxForward::new(to).cc(cc).bcc(bcc);
    let mut forward = attachments.into_iter().fold(forward, InboxForward::attach);
    if let Some(html) = bodies.html {
        forward = forward.html(html);
    }
    if let Some(text) = bodies.text {
        forward = forward.text(text);
    }
    if let Some(subject) = subject {
        forward = forward.subject(subject);
    }
    let make = |client: &Client| client.inboxes().forward(&inbox, &thread, &email, &forward);
    send(flags, forward.check(), &flags_of_send, &contents, context, make).await
}
