//! `emails send`: one email, from flags, from a JSON object, or from both.

mod files;
mod plan;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use posthaste::{Accepted, Call, Client, Email, IdempotencyKey};
use serde_json::Value;

pub(crate) use plan::plan;

use super::count;
use crate::actions::dry_run::Content;
use crate::actions::mutation::{self, Mutation};
use crate::actions::wait::TimeoutFlag;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, DryRun, Required};
use crate::output::progress::Upload;

/// Send one email
///
/// The email is made from flags, or from a JSON object (--input) over which the flags are laid, so every field of the service can
/// be reached. Everything that is wrong with it is said at once, before anything is sent.
///
/// It prints the id of the accepted email. Accepted is not delivered: --wait waits for that.
///
/// Each send carries an idempotency key, a random one unless you give yours. If the answer gets lost, the error names the key:
/// repeating with it can't send twice.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "12 more options: posthaste emails send --help\n\nExamples:\n  \
        posthaste emails send --from hi@acme.test --to ada@example.com --subject Hi --text Hello\n  \
        posthaste emails send --input mail.json --idempotency-key order-17",
    after_long_help = "Examples:\n  \
        posthaste emails send --from 'Acme <hi@acme.test>' --to ada@example.com --subject Hi --text Hello\n  \
        posthaste emails send --from hi@acme.test --to ada@example.com --subject Report --html-file body.html \\\n      \
        --attach report.pdf --attach 'logo.png;cid=logo' --wait\n  \
        posthaste emails send --template welcome --to ada@example.com --var NAME=Ada --var-json APPLES=17\n  \
        posthaste emails send --input mail.json --idempotency-key order-17\n  \
        posthaste emails send --input mail.json --to test@example.com --dry-run\n\n\
        Exit codes: 0 accepted, 2 wrong input, 3 refused or bounced, 4 credential, 6 too many requests, 7 unavailable,\n\
        8 still waiting, 9 unknown: repeat with the printed key. All of them: posthaste help exit-codes"
)]
pub(crate) struct Args {
    /// Sender: `you@x.test` or `You <you@x.test>`
    ///
    /// By default `from` of the profile, unless a template is used: that may have a sender of its own.
    #[arg(long, value_name = "ADDR", add = Required)]
    from: Option<String>,
    /// Recipients, at most 50: several values, or the flag again
    ///
    /// Separate addresses with spaces: a comma can be part of a name, as in `"Doe, J" <j@x.test>`.
    #[arg(long, value_name = "ADDR", add = Required, num_args = 1..)]
    to: Vec<String>,
    /// Subject; needed unless the template has one
    #[arg(long, value_name = "TEXT", add = Required)]
    subject: Option<String>,
    /// Plain text; derived from the HTML when absent
    ///
    /// An empty text switches the derivation off. A text that begins with a dash is written --text='- one'.
    #[arg(long, value_name = "TEXT", help_heading = "Body")]
    text: Option<String>,
    /// Plain text from a file; - is standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    text_file: Option<String>,
    /// HTML
    #[arg(long, value_name = "HTML", help_heading = "Body")]
    html: Option<String>,
    /// HTML from a file; - is standard input
    #[arg(long, value_name = "PATH", help_heading = "Body")]
    html_file: Option<String>,
    /// HTML from the output of a command, such as a renderer; nothing is sent if it fails
    #[arg(long, value_name = "COMMAND", help_heading = "Body")]
    html_command: Option<String>,
    /// Published template instead, by its id or alias
    ///
    /// It takes the place of text and HTML: the service refuses both together.
    #[arg(long, value_name = "ID", help_heading = "Body")]
    template: Option<String>,
    /// Text for a variable of the template; repeat it
    ///
    /// `NAME=@path` takes the text from a file, `NAME=@-` from standard input, `NAME=@@x` is the text `@x`. The value is always a text:
    /// `--var N=007` stays `007`. A name has at most 50 of A-Z a-z 0-9 _, a text at most 2,000 characters.
    #[arg(long, value_name = "NAME=TEXT", help_heading = "Body")]
    var: Vec<String>,
    /// JSON text or number for a variable; repeat it
    #[arg(long, value_name = "NAME=JSON", help_heading = "Body", hide_short_help = true)]
    var_json: Vec<String>,
    /// File to attach, with `;name= ;type= ;cid=`; repeat it
    ///
    /// `--attach 'logo.png;cid=logo'` shows it in the HTML as `<img src="cid:logo">`. `--attach '-;name=report.csv'` attaches standard
    /// input. Files are read while they are sent; at most 40 MB in all after Base64, which is 30 MB of files.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    attach: Vec<String>,
    /// Address of a file that the service fetches and attaches; repeat it
    #[arg(long, value_name = "URL", hide_short_help = true)]
    attach_url: Vec<String>,
    /// Recipient of a copy; repeat it
    #[arg(long, value_name = "ADDR", hide_short_help = true, num_args = 1..)]
    cc: Vec<String>,
    /// Recipient of a blind copy; repeat it
    #[arg(long, value_name = "ADDR", hide_short_help = true, num_args = 1..)]
    bcc: Vec<String>,
    /// Address that answers go to; repeat it
    #[arg(long, value_name = "ADDR", hide_short_help = true)]
    reply_to: Vec<String>,
    /// Custom header of the mail; repeat it
    #[arg(long, value_name = "NAME: VALUE", hide_short_help = true)]
    header: Vec<String>,
    /// Tag: A-Z a-z 0-9 _ -, at most 256 each; repeat it
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true)]
    tag: Vec<String>,
    /// Topic: recipients who opted out of it get nothing
    #[arg(long, value_name = "ID", hide_short_help = true)]
    topic_id: Option<String>,
    /// When to send: ISO 8601, or words such as `in 1 min`
    ///
    /// The text goes to the service unchanged.
    #[arg(long, value_name = "WHEN", hide_short_help = true)]
    scheduled_at: Option<String>,
    /// Key that makes repeating harmless: within 24 hours, the same key and email are sent once
    ///
    /// 1 to 256 visible ASCII characters. Make it from what identifies the send: order-17-confirmation.
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    idempotency_key: Option<String>,
    /// Start from a JSON object as the service takes it; - is standard input
    ///
    /// Flags are laid over it: --to takes the place of all its recipients, --tag, --header and --var of those with the same name;
    /// --attach adds to its attachments.
    #[arg(long, value_name = "PATH")]
    input: Option<String>,
    /// Wait until it is delivered, or has failed (exit code 3)
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "delivered", value_parser = Choices(&["delivered"]), hide_possible_values = true)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    /// Check everything and show the request, but send nothing; =curl shows a command
    ///
    /// Needs neither a credential nor an address of the service.
    #[arg(short = 'n', long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json", value_parser = Choices(&["json", "curl"]), hide_possible_values = true)]
    dry_run: Option<String>,
    /// Leave checking to the service, in case it has moved a limit
    #[arg(long, hide_short_help = true)]
    no_validate: bool,
}

/// What is to be done, with everything decided.
#[derive(Debug)]
pub(crate) struct Plan {
    message: Message,
    contents: Vec<Content>,
    key: IdempotencyKey,
    recipients: usize,
    unchecked: bool,
    dry_run: Option<DryRun>,
    /// How long to wait for its delivery.
    wait: Option<Duration>,
}

#[derive(Debug)]
enum Message {
    Email(Box<Email>),
    /// What this version can't read and was told to send all the same.
    Json(Value),
}

/// Sends it, or shows what would be sent.
pub(crate) async fn run(plan: Plan, context: &Context) -> Result<(), Fail> {
    let progress = context.settings()?.progress.value;
    let upload = Arc::new(Upload::new(progress, &context.out, &uploading(&plan.contents)));
    let make = |client: &Client| {
        let call: Call<Accepted> = match &plan.message {
            Message::Email(email) => client.emails().send(email),
            Message::Json(json) => client.request(Method::POST, "/emails").json(json).typed(),
        };
        let call = if plan.unchecked { call.unchecked() } else { call };
        let seen = Arc::clone(&upload);
        call.idempotency_key(plan.key.as_str()).on_upload(move |sent, total| seen.set(sent, total))
    };
    let doubt = format!(
        "the email may have been accepted; repeat it with `--idempotency-key {}`: that can't send it twice",
        plan.key
    );
    let mutation =
        Mutation { dry_run: plan.dry_run, doubt: &doubt, key: Some(&plan.key), contents: &plan.contents };
    let done = mutation.carry_out(context, make).await;
    upload.finish();
    let Some((client, accepted)) = done? else { return Ok(()) };
    let id = accepted.value.id.as_str();
    mutation::print(id, &accepted, context)?;
    let recipients = count(plan.recipients, "recipient");
    context.out.note(&match context.where_to_look(id) {
        Some(look) => format!("accepted for {recipients} · see it: {look}"),
        None => format!("accepted for {recipients}"),
    });
    match plan.wait {
        Some(timeout) => wait::until_final(timeout, &client, accepted.value.id, context).await,
        None => Ok(()),
    }
}

fn uploading(contents: &[Content]) -> String {
    format!("uploading {}", count(contents.len(), "file"))
}
