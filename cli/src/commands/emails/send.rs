//! `emails send`: sends one email, from flags, a JSON object, or both.

mod plan;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use idempost::{Accepted, Call, Client, Email};
use serde_json::Value;

use crate::actions::dry_run::Content;
use crate::actions::mutation::{self, DryRunFlag, Sending};
use crate::actions::wait::TimeoutFlag;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::bodies;
use crate::input::flags::{Choices, Local, Required};
use crate::output::format_count;
use crate::output::progress::Upload;

/// Send one email
///
/// The email comes from flags, or from a JSON object (--input) that flags override, so every field of the API is available.
/// All validation errors are reported together, and nothing is sent.
///
/// Prints the ID of the accepted email. Accepted doesn't mean delivered: use --wait to wait for delivery.
///
/// Every send has an idempotency key, random unless you pass one. If the response is lost, the error shows the key:
/// retrying with it can't send the email twice.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "14 more options: idempost emails send --help\n\nExamples:\n  \
        idempost emails send --from hi@acme.test --to ada@example.com --subject Hi --text Hello\n  \
        ./report.sh | idempost emails send --from hi@acme.test --to ada@example.com --subject Report",
    after_long_help = "Examples:\n  \
        idempost emails send --from 'Acme <hi@acme.test>' --to ada@example.com --subject Hi --text Hello\n  \
        idempost emails send --from hi@acme.test --to ada@example.com --subject Report --html-file body.html \\\n      \
        --attach report.pdf --attach 'logo.png;cid=logo' --wait\n  \
        ./report.sh | idempost emails send --from hi@acme.test --to ada@example.com --subject Report\n  \
        idempost emails send --from hi@acme.test --to ada@example.com --subject Hi --edit\n  \
        idempost emails send --template welcome --to ada@example.com --var NAME=Ada --var-json APPLES=17\n  \
        idempost emails send --input mail.json --idempotency-key order-17\n  \
        idempost emails send --input mail.json --to test@example.com --dry-run\n\n\
        Exit codes: 0 accepted, 2 invalid input, 3 rejected or bounced, 4 credential, 6 rate limit, 7 unavailable, \
        8 wait timeout, 9 unknown outcome: retry with the printed key. All of them: idempost help exit-codes",
    mut_arg("text", |text| text.long_help(TEXT_HELP))
)]
pub(crate) struct Args {
    /// Sender: `you@x.test` or `You <you@x.test>`
    ///
    /// Defaults to the profile's `from`, unless a template is used, which may define a sender.
    #[arg(long, value_name = "ADDRESS", add = Required)]
    from: Option<String>,
    /// Recipients, at most 50; several values or repeated flags
    ///
    /// Separate addresses with spaces: a comma can be part of a name, as in `"Doe, J" <j@x.test>`.
    #[arg(long, value_name = "ADDRESS", add = Required, num_args = 1..)]
    to: Vec<String>,
    /// Subject; required unless the template has one
    #[arg(long, value_name = "TEXT", add = Required)]
    subject: Option<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Write the body in $VISUAL or $EDITOR
    ///
    /// The editor opens a temporary file with the body so far: the text, or the HTML if only that is given. If the result is empty or unchanged,
    /// nothing is sent. All other fields are validated first.
    #[arg(long, help_heading = "Body", hide_short_help = true, add = Local)]
    edit: bool,
    /// Published template to use, by ID or alias
    ///
    /// Replaces text and HTML: the service rejects both together. Several recipients get one body: fallbacks in place of a contact's values, and
    /// an unsubscribe link that asks for the address.
    #[arg(long, value_name = "ID", help_heading = "Body")]
    template: Option<String>,
    /// Set a template variable to a string; repeatable
    ///
    /// `NAME=@path` reads the value from a file, `NAME=@-` from standard input; `NAME=@@x` is the literal `@x`. The value is always a string:
    /// `--var N=007` stays `007`. A name may have up to 50 characters of A-Z a-z 0-9 _, a value up to 2,000.
    #[arg(long, value_name = "NAME=TEXT", help_heading = "Body")]
    var: Vec<String>,
    /// Set a template variable to a JSON string or number; repeatable
    #[arg(long, value_name = "NAME=JSON", help_heading = "Body", hide_short_help = true)]
    var_json: Vec<String>,
    /// File to attach, with optional `;name= ;type= ;cid=`; repeatable
    ///
    /// `--attach 'logo.png;cid=logo'` embeds the file in the HTML as `<img src="cid:logo">`. `--attach '-;name=report.csv'` attaches standard
    /// input. Files are streamed while sending; at most 40 MB in total after Base64 encoding, which is 30 MB of files.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    attach: Vec<String>,
    /// URL of a file for the service to fetch and attach; repeatable
    #[arg(long, value_name = "URL", hide_short_help = true)]
    attach_url: Vec<String>,
    /// Cc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", hide_short_help = true, num_args = 1..)]
    cc: Vec<String>,
    /// Bcc recipients; several values or repeated flags
    #[arg(long, value_name = "ADDRESS", hide_short_help = true, num_args = 1..)]
    bcc: Vec<String>,
    /// Reply-to address; repeatable
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    reply_to: Vec<String>,
    /// Custom email header; repeatable
    #[arg(long, value_name = "NAME: VALUE", hide_short_help = true)]
    header: Vec<String>,
    /// https URL for one-click unsubscribing in mail clients (RFC 8058)
    ///
    /// Sets the headers List-Unsubscribe and List-Unsubscribe-Post. Mail clients post to the URL, so it must identify the recipient.
    #[arg(long, value_name = "URL", hide_short_help = true)]
    list_unsubscribe: Option<String>,
    /// Tag; name and value of A-Z a-z 0-9 _ -, at most 256 characters each; repeatable
    #[arg(long, value_name = "NAME=VALUE", hide_short_help = true)]
    tag: Vec<String>,
    /// Topic; recipients who opted out of it are skipped
    #[arg(long, value_name = "ID", hide_short_help = true)]
    topic_id: Option<String>,
    /// Time to send: ISO 8601, or a phrase such as `in 1 min`
    ///
    /// The text is passed to the service unchanged.
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    scheduled_at: Option<String>,
    /// Idempotency key: within 24 hours, the same key and email are sent only once
    ///
    /// 1 to 256 visible ASCII characters. Derive it from what identifies the send: order-17-confirmation.
    #[arg(long, value_name = "KEY", hide_short_help = true)]
    idempotency_key: Option<String>,
    /// Start from a JSON object in the API's format; - reads standard input
    ///
    /// Flags override it: --to replaces all its recipients; --tag, --header and --var replace entries with the same name;
    /// --attach adds to its attachments.
    #[arg(long, value_name = "PATH")]
    input: Option<String>,
    /// Wait until the email is delivered; exits with 3 if it fails
    ///
    /// With JSON output, the result is printed after the wait, with the final state as `last_event`, or null if no final state is reached in time.
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "delivered", value_parser = Choices(&["delivered"]), hide_possible_values = true)]
    wait: Option<String>,
    #[command(flatten)]
    timeout: TimeoutFlag,
    #[command(flatten)]
    dry_run: DryRunFlag,
    /// Skip local validation, in case the service's limits have changed
    #[arg(long, hide_short_help = true)]
    no_validate: bool,
}

const TEXT_HELP: &str = "Plain-text body; - reads standard input; derived from the HTML by default\n\n\
    An empty value disables the derivation. For text with a leading dash, write --text='- one'. Without any body, the text is \
    read from standard input if that is a pipe or a file.";

/// A validated send.
#[derive(Debug)]
pub(crate) struct Plan {
    message: Message,
    contents: Vec<Content>,
    sending: Sending,
    recipients: usize,
    unchecked: bool,
    /// How long to wait for delivery.
    wait: Option<Duration>,
}

#[derive(Debug)]
enum Message {
    Email(Box<Email>),
    /// A body that this version can't parse, sent because of --no-validate.
    Json(Value),
}

impl Message {
    fn is_scheduled(&self) -> bool {
        match self {
            Self::Email(email) => email.fields().scheduled_at.is_some(),
            Self::Json(json) => json["scheduled_at"].is_string(),
        }
    }

    /// Replaces the text or the HTML.
    fn with_body(self, field: &str, body: String) -> Self {
        match self {
            Self::Email(email) if field == "html" => Self::Email(Box::new(email.html(body))),
            Self::Email(email) => Self::Email(Box::new(email.text(body))),
            Self::Json(mut json) => {
                json[field] = body.into();
                Self::Json(json)
            }
        }
    }
}

/// Sends the email or shows the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let plan = plan::plan(args, context).await?;
    let progress = context.settings()?.progress.value;
    let label = format!("uploading {}", format_count(plan.contents.len(), "file"));
    let upload = Arc::new(Upload::new(progress, &context.out, &label));
    let make = |client: &Client| {
        let call: Call<Accepted> = match &plan.message {
            Message::Email(email) => client.emails().send(email),
            Message::Json(json) => client.request(Method::POST, "/emails").json(json).with_response_type(),
        };
        let call = if plan.unchecked { call.skip_validation() } else { call };
        let seen = Arc::clone(&upload);
        call.on_upload(move |sent, total| seen.set(sent, total))
    };
    let what = "the email may have been accepted";
    let done = plan.sending.execute(what, &plan.contents, context, make).await;
    upload.finish();
    let Some((client, accepted)) = done? else { return Ok(()) };
    let id = accepted.value.id.as_str();
    if let (Some(timeout), true) = (plan.wait, context.out.is_json()) {
        return wait::wait_and_print(timeout, &client, &accepted, context).await;
    }
    mutation::print(id, &accepted, context)?;
    let recipients = format_count(plan.recipients, "recipient");
    context.out.note(&match context.show_command(id) {
        // The sandbox captures the email when it is sent.
        Some(_) if plan.message.is_scheduled() => {
            format!("scheduled for {recipients} · view it: idempost emails get {id}")
        }
        Some(look) => format!("accepted for {recipients} · view it: {look}"),
        None => format!("accepted for {recipients}"),
    });
    match plan.wait {
        Some(timeout) => wait::wait_until_final(timeout, &client, &accepted.value.id, |_| {}, context).await,
        None => Ok(()),
    }
}
