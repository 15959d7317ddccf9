//! `webhooks`: endpoints that events are delivered to.

mod deliveries;
mod listen;
mod secrets;
mod verify;

use idempost::{
    Client,
    call::WithResponse,
    webhooks::{CreatedWebhook, EventType, NewWebhook, WebhookPatch, WebhookStatus},
};

use crate::actions::by_id::{ById, ChangeById};
use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, EVENT_TYPES, Flags, Required, event_types};
use crate::input::name::argument_or_flag;
use crate::output::secret::{self, SecretFile};
use crate::output::table::{Column, Kind};

/// Manage webhooks
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(CreateArgs),
    /// List webhooks, newest first
    ///
    /// Without --limit, the service returns all of them.
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, endpoint, status, events, created_at\n\n\
        Example:\n  idempost webhooks list --jq '.data[] | select(.status == \"disabled\").endpoint'")]
    List(pages::CompleteArgs),
    /// Show one webhook with its signing secret
    #[command(
        after_help = "Example:\n  idempost webhooks get 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --jq .events"
    )]
    Get(ById),
    Update(UpdateArgs),
    /// Delete a webhook
    #[command(visible_alias = "rm")]
    #[command(after_help = "Example:\n  idempost webhooks delete 4dd369bc-aa82-4ff3-97de-514ae3000ee0")]
    Delete(ChangeById),
    Events(deliveries::EventsArgs),
    Event(deliveries::EventArgs),
    Attempts(deliveries::AttemptsArgs),
    Replay(deliveries::ReplayArgs),
    RotateSecret(deliveries::RotateArgs),
    Listen(listen::Args),
    Verify(verify::Args),
}

impl Command {
    /// Whether the command handles signals itself.
    pub(crate) fn handles_signals(&self) -> bool {
        matches!(self, Self::Listen(_))
    }
}

/// Create a webhook and print its ID
///
/// The signing secret isn't printed: write it to a file with --secret-file, or show it with --json.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost webhooks create https://acme.test/hooks --event email.delivered --event email.bounced \\\n      \
    --secret-file hooks.secret\n  \
    idempost webhooks create https://acme.test/hooks --event email.received --json --jq .signing_secret")]
pub(crate) struct CreateArgs {
    /// URL that events are delivered to: https, or http
    #[arg(value_name = "ENDPOINT", add = Required)]
    endpoint: Option<String>,
    /// Same as ENDPOINT
    #[arg(long = "endpoint", value_name = "URL", hide = true, conflicts_with = "endpoint")]
    endpoint_flag: Option<String>,
    /// Event types, such as email.delivered; comma-separated or repeated; all selects every type except beta types
    #[arg(long, visible_alias = "events", value_delimiter = ',', value_name = "TYPE", add = Required, value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// New file for the signing secret, readable only by its owner
    #[arg(long, value_name = "PATH")]
    secret_file: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Change a webhook
///
/// Fields not set by a flag stay unchanged. --event replaces all subscribed event types.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --status disabled\n  \
    idempost webhooks update 4dd369bc-aa82-4ff3-97de-514ae3000ee0 --event email.sent --event email.failed")]
pub(crate) struct UpdateArgs {
    /// ID of the webhook
    #[arg(value_name = "ID")]
    id: String,
    /// URL that events are delivered to: https, or http
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Event types, such as email.delivered; comma-separated or repeated; all selects every type except beta types
    #[arg(long, visible_alias = "events", value_delimiter = ',', value_name = "TYPE", value_parser = EVENT_TYPES, hide_possible_values = true)]
    event: Vec<String>,
    /// Status: enabled, or disabled to pause deliveries
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
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 5,
    nothing: "no webhooks yet",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.webhooks().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.webhooks().get(args.id.as_str())).await,
        Command::Update(args) => update(args, context).await,
        Command::Delete(args) => {
            let unknown_outcome =
                format!("the webhook may have been deleted; check: {}", show_command(&args.id));
            let make = |client: &Client| client.webhooks().delete(args.id.as_str());
            mutation::delete(&args.dry_run, &unknown_outcome, context, make).await
        }
        Command::Events(args) => deliveries::events(args, context).await,
        Command::Event(args) => deliveries::event(args, context).await,
        Command::Attempts(args) => deliveries::attempts(args, context).await,
        Command::Replay(args) => deliveries::replay(args, context).await,
        Command::RotateSecret(args) => deliveries::rotate(args, context).await,
        Command::Listen(args) => listen::run(args, context).await,
        Command::Verify(args) => verify::run(&args, context),
    }
}

async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let CreateArgs { endpoint, endpoint_flag, event, secret_file, dry_run } = args;
    let mut flags = Flags::default();
    flags.help("idempost webhooks create https://acme.test/hooks --event email.delivered");
    let (label, endpoint) = argument_or_flag(endpoint, "ENDPOINT", endpoint_flag, "--endpoint");
    flags.field("/endpoint", label, endpoint.as_deref());
    let event = event_types(event);
    flags.list("/events", "--event", &event);
    let webhook = NewWebhook::new(endpoint.unwrap_or_default(), event.into_iter().map(EventType::from));
    flags.add_problems(webhook.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let file = secret_file.as_deref().filter(|_| dry_run.is_none()).map(secret::place).transpose()?;
    let unknown_outcome = "the webhook may have been created; check: idempost webhooks list --limit 1";
    let done =
        mutation::execute(dry_run, unknown_outcome, context, |client| client.webhooks().create(&webhook));
    let Some(response) = done.await? else { return Ok(()) };
    print_secret(&response, file, context)
}

/// Prints the ID of a webhook with a new secret, and puts the secret where the flags say.
fn print_secret(
    response: &WithResponse<CreatedWebhook>,
    file: Option<SecretFile<'_>>,
    context: &Context,
) -> Result<(), Fail> {
    let id = response.value.id.as_str();
    match file {
        Some(file) => {
            let path = file.path().display().to_string();
            file.write(response.value.signing_secret.expose())?;
            context.out.note(&format!("the secret is in {path}"));
        }
        _ if context.out.is_json() => {}
        _ => context.out.note(&format!("show the secret: {} --jq .signing_secret", show_command(id))),
    }
    mutation::print(id, response, context)
}

async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let UpdateArgs { id, endpoint, event, status, dry_run } = args;
    let mut flags = Flags::default();
    flags.field("/endpoint", "--endpoint", endpoint.as_deref());
    let event = event_types(event);
    flags.list("/events", "--event", &event);
    if endpoint.is_none() && event.is_empty() && status.is_none() {
        flags.help("idempost webhooks update ID --status disabled");
        flags.missing("a field to change");
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
        Some(other) => flags.wrong("type", "the status must be enabled or disabled", "--status", other),
    }
    flags.add_problems(patch.check());
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = format!("the webhook may have been changed; check: {}", show_command(&id));
    let done = mutation::execute(dry_run, &unknown_outcome, context, |client| {
        client.webhooks().update(id.as_str(), &patch)
    });
    match done.await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

/// The command that shows one webhook, for hints.
fn show_command(id: &str) -> String {
    format!("idempost webhooks get {id}")
}
