//! `webhooks`: where the service tells of events, and of which.

mod ledger;
mod listen;
mod secrets;
mod verify;

use posthaste::{Client, CreatedWebhook, EventType, NewWebhook, WebhookPatch, WebhookStatus, WithResponse};

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, EVENT_TYPES, Flags, Required, event_types};
use crate::output::secret::{self, SecretFile};
use crate::output::table::{Column, Kind};

/// Be told of events
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(CreateArgs),
    /// List webhooks, newest first
    ///
    /// Without --limit, the service shows all of them.
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, endpoint, status, events, created_at\n\n\
        Example:\n  posthaste webhooks list --jq '.data[] | select(.status == \"disabled\").endpoint'")]
    List(pages::Args),
    /// Show one webhook, with its secret
    #[command(
        after_help = "Example:\n  posthaste webhooks get 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq .events"
    )]
    Get(ById),
    Update(UpdateArgs),
    /// Delete a webhook
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  posthaste webhooks delete 4dd369bc-aa82-4ff3-97de-514ae3000ee0")]
    Delete(ChangeById),
    Events(ledger::EventsArgs),
    Event(ledger::EventArgs),
    Attempts(ledger::AttemptsArgs),
    Replay(ledger::ReplayArgs),
    RotateSecret(ledger::RotateArgs),
    Listen(listen::Args),
    Verify(verify::Args),
}

impl Command {
    /// Whether it decides itself what a signal means.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self, Self::Listen(_))
    }
}

/// Make a webhook, and print its id
///
/// The secret that its deliveries are signed with is not printed: it is written into --secret-file, or shown with --json.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste webhooks create --endpoint https://acme.test/hooks --event email.delivered --event email.bounced \\\n      \
    --secret-file hooks.secret\n  \
    posthaste webhooks create --endpoint https://acme.test/hooks --event email.received --json --jq .signing_secret")]
pub(crate) struct CreateArgs {
    /// Address that is told: https, or http
    #[arg(long, value_name = "URL", add = Required)]
    endpoint: Option<String>,
    /// Types of events, such as email.delivered, with commas or repeated; all stands for every type but those in beta
    #[arg(long, visible_alias = "events", value_delimiter = ',', value_name = "TYPE", add = Required, value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// New file for the secret, readable by its owner alone
    #[arg(long, value_name = "PATH")]
    secret_file: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Change a webhook
///
/// What no flag names stays as it is. Types of events that are named take the place of all that it had.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    posthaste webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --status disabled\n  \
    posthaste webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --event email.sent --event email.failed")]
pub(crate) struct UpdateArgs {
    /// Id of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// Address that is told: https, or http
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Types of events, such as email.delivered, with commas or repeated; all stands for every type but those in beta
    #[arg(long, visible_alias = "events", value_delimiter = ',', value_name = "TYPE", value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// enabled, or disabled to be told nothing for now
    #[arg(long, value_name = "STATUS", value_parser = Choices(&["enabled", "disabled"]), hide_possible_values = true)]
    status: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("endpoint", "ENDPOINT", Kind::Text),
        Column::new("status", "STATUS", Kind::State),
        Column::new("events", "EVENTS", Kind::Shrinks),
        Column::new("created_at", "MADE", Kind::Time),
    ],
    shown: 5,
    nothing: "no webhooks yet",
};

/// Runs one of them.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.webhooks().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.webhooks().get(args.id.as_str())).await,
        Command::Update(args) => update(args, context).await,
        Command::Delete(args) => {
            let doubt = format!("the webhook may be deleted; look: {}", look(&args.id));
            let make = |client: &Client| client.webhooks().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &doubt, context, make).await
        }
        Command::Events(args) => ledger::events(args, context).await,
        Command::Event(args) => ledger::event(args, context).await,
        Command::Attempts(args) => ledger::attempts(args, context).await,
        Command::Replay(args) => ledger::replay(args, context).await,
        Command::RotateSecret(args) => ledger::rotate(args, context).await,
        Command::Listen(args) => listen::run(args, context).await,
        Command::Verify(args) => verify::run(&args, context),
    }
}

async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { endpoint, event, secret_file, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("posthaste webhooks create --endpoint https://acme.test/hooks --event email.delivered");
    flags.field("/endpoint", "--endpoint", endpoint.as_deref());
    let event = event_types(event);
    flags.list("/events", "--event", &event);
    let webhook = NewWebhook::new(endpoint.unwrap_or_default(), event.into_iter().map(EventType::from));
    flags.judge(webhook.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let file = secret_file.as_deref().filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let doubt = "the webhook may have been made; look: posthaste webhooks list --limit 1";
    let done = mutation::carry_out(dry_run, doubt, context, |client| client.webhooks().create(&webhook));
    let Some(answer) = done.await? else { return Ok(()) };
    tell_secret(&answer, file, context)
}

/// Prints the id of a webhook that has a new secret, and leaves the secret where it was asked for.
fn tell_secret(
    answer: &WithResponse<CreatedWebhook>,
    file: Option<SecretFile<'_>>,
    context: &Context,
) -> Result<(), Fail> {
    let id = answer.value.id.as_str();
    match file {
        Some(file) => {
            let path = file.path().display().to_string();
            file.write(answer.value.signing_secret.expose())?;
            context.out.note(&format!("the secret is in {path}"));
        }
        _ if context.out.is_json() => {}
        _ => context.out.note(&format!("its secret: {} --jq .signing_secret", look(id))),
    }
    mutation::print(id, answer, context)
}

async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { id, endpoint, event, status, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("/endpoint", "--endpoint", endpoint.as_deref());
    let event = event_types(event);
    flags.list("/events", "--event", &event);
    if endpoint.is_none() && event.is_empty() && status.is_none() {
        flags.help("posthaste webhooks update ID --status disabled");
        flags.missing("what to change");
    }
    let mut patch = WebhookPatch::new();
    if let Some(endpoint) = endpoint {
        patch = patch.endpoint(endpoint);
    }
    if !event.is_empty() {
        patch = patch.events(event.into_iter().map(EventType::from));
    }
    match status.as_deref() {
        None => {}
        Some("enabled") => patch = patch.status(WebhookStatus::Enabled),
        Some("disabled") => patch = patch.status(WebhookStatus::Disabled),
        Some(other) => flags.wrong("type", "a status is enabled or disabled", "--status", other),
    }
    flags.judge(patch.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let doubt = format!("the webhook may have been changed; look: {}", look(&id));
    let done =
        mutation::carry_out(dry_run, &doubt, context, |client| client.webhooks().update(id.as_str(), &patch));
    match done.await? {
        Some(answer) => mutation::print(answer.value.id.as_str(), &answer, context),
        None => Ok(()),
    }
}

/// The command that shows one webhook.
fn look(id: &str) -> String {
    format!("posthaste webhooks get {id}")
}
