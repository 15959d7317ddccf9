//! `automations`: workflows triggered by custom events.

mod definition;
mod runs;

use idempost::{Client, automations::AutomationStatus};
use jiff::Timestamp;
use serde_json::Value;

use crate::actions::by_id::ById;
use crate::actions::mutation::{self, DryRunFlag, document};
use crate::actions::pages::{self, Table};
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::output::record;
use crate::output::table::{Column, Columns, Kind};

/// Manage automations and inspect their runs
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(definition::CreateArgs),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show one automation with its definition
    ///
    /// The JSON of its steps and connections has the format that `automations create --definition` reads.
    #[command(after_help = "Examples:\n  \
        idempost automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd\n  \
        idempost automations get c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd --jq '{name, steps, connections}' > series.json")]
    Get(ById),
    Update(definition::UpdateArgs),
    Stop(StopArgs),
    Duplicate(DuplicateArgs),
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
    Runs(runs::ListArgs),
    Run(runs::GetArgs),
}

/// List automations, newest first
///
/// Without --limit, the service returns 20.
#[derive(Debug, clap::Args)]
#[command(after_help = "Columns: id, name, status, updated_at, created_at\n\n\
    Examples:\n  \
    idempost automations list --status enabled\n  \
    idempost automations list --all --json --jq '.data[].name'")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    part: pages::Args,
    /// Only automations with this status: enabled or disabled
    #[arg(long, value_name = "STATUS", value_parser = Choices(&["enabled", "disabled"]), hide_possible_values = true)]
    status: Option<String>,
}

/// Disable an automation and cancel its runs
///
/// To let runs in progress finish, use `automations update ID --status disabled` instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost automations stop c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd")]
pub(crate) struct StopArgs {
    #[command(flatten)]
    one: OneArgs,
}

/// Duplicate an automation; the copy is disabled
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost automations duplicate c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd")]
pub(crate) struct DuplicateArgs {
    #[command(flatten)]
    one: OneArgs,
}

/// Delete an automation and its runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost automations delete c9b16d4f-ba6c-4e2e-b044-6bf4404e57fd")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    one: OneArgs,
}

#[derive(Debug, clap::Args)]
#[group(skip)]
struct OneArgs {
    /// ID of the automation
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Columns of a list of automations.
const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Shrinks),
        Column::new("status", "STATUS", Kind::State),
        Column::new("updated_at", "UPDATED", Kind::Time),
        Column::new("created_at", "CREATED", Kind::Time),
    ],
    shown: 4,
    nothing: "no automations",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => definition::create(args, context).await,
        Command::List(args) => list(args, context).await,
        Command::Get(args) => get(&args, context).await,
        Command::Update(args) => definition::update(args, context).await,
        Command::Stop(args) => stop(args.one, context).await,
        Command::Duplicate(args) => {
            let unknown_outcome = "the automation may have been copied; check: idempost automations list";
            let make = |client: &Client| client.automations().duplicate(args.one.id.as_str());
            mutation::by_id(&args.one.dry_run, unknown_outcome, context, make).await
        }
        Command::Delete(args) => {
            let unknown_outcome = "the automation may have been deleted; check: idempost automations list";
            let make = |client: &Client| client.automations().delete(args.one.id.as_str());
            mutation::delete(&args.one.dry_run, unknown_outcome, context, make).await
        }
        Command::Runs(args) => runs::list(args, context).await,
        Command::Run(args) => runs::get(args, context).await,
    }
}

async fn list(args: ListArgs, context: &Context) -> Result<(), Fail> {
    let columns = TABLE.columns(context)?;
    let mut flags = Flags::default();
    let status = args.status.as_deref().map(|word| AutomationStatus::from(word.to_owned()));
    if let Some(status @ AutomationStatus::Unknown(_)) = &status {
        flags.wrong("type", "the status must be enabled or disabled", "--status", status.as_str());
    }
    let part = flags.take(args.part.plan());
    flags.finish()?;
    let Some(part) = part else { return Ok(()) };
    let list = context.client()?.automations().list();
    let list = match status {
        Some(status) => list.status(status),
        None => list,
    };
    let shown = pages::show(list, &part, None, &columns, context).await?;
    pages::footer(&shown, TABLE.nothing, context);
    Ok(())
}

async fn get(args: &ById, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    let automation = trace::execute(context, || client.automations().get(args.id.as_str())).await?;
    let document = document(&automation);
    let lines = with_tables(&document, &[("steps", &STEPS), ("connections", &CONNECTIONS)]);
    context.out.result(&lines, &document)
}

const STEPS: [Column; 3] = [
    Column::new("key", "STEP", Kind::Text),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("config", "CONFIG", Kind::Shrinks),
];

const CONNECTIONS: [Column; 3] = [
    Column::new("from", "FROM", Kind::Text),
    Column::new("to", "TO", Kind::Text),
    Column::new("type", "TYPE", Kind::State),
];

/// Renders a record, with its lists of objects as tables below it.
fn with_tables(document: &Value, tables: &[(&str, &'static [Column])]) -> Vec<String> {
    /// Wide enough for any configuration meant for people.
    const WIDTH: usize = 1_000;
    let mut rest = document.clone();
    let mut below = Vec::new();
    for (field, columns) in tables {
        let taken = rest.as_object_mut().and_then(|fields| fields.remove(*field));
        let rows = taken.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if !rows.is_empty() {
            below.push(String::new());
            let table = Columns::all(columns).human(rows, WIDTH, Timestamp::now(), false);
            below.extend(table.lines().map(str::to_owned));
        }
    }
    let mut lines = record::lines(&rest);
    lines.extend(below);
    lines
}

async fn stop(args: OneArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = "the automation may have been stopped; check: idempost automations list";
    let make = |client: &Client| client.automations().stop(args.id.as_str());
    match mutation::execute(dry_run, unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}
