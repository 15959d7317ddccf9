//! `events`: custom events, which trigger automations.

mod send;

use idempost::events::{EventPatch, NewEvent, PayloadType};
use serde_json::Value;

use crate::actions::mutation::{self, DryRunFlag};
use crate::actions::pages::{self, Table};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::input::json;
use crate::input::name::NameArg;
use crate::input::pair::Pair;
use crate::output::table::{Column, Kind};

/// Define and send custom events
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    Create(CreateArgs),
    /// List event definitions, newest first
    ///
    /// Without --limit, the service returns all of them.
    #[command(visible_alias = "ls")]
    #[command(after_help = "Columns: id, name, schema, created_at, updated_at\n\n\
        Example:\n  idempost events list --json --jq '.data[].name'")]
    List(pages::CompleteArgs),
    Get(GetArgs),
    Update(UpdateArgs),
    #[command(visible_alias = "rm")]
    Delete(DeleteArgs),
    Send(send::Args),
}

/// Define an event
///
/// Events can be sent without a definition. If the definition has fields, payloads must match them. Prints the ID.
#[derive(Debug, clap::Args)]
#[command(mut_arg("name", |name| name.help("Name of the event, referenced by automations")), after_help = "Examples:\n  \
    idempost events create user.created\n  \
    idempost events create user.created --field plan=string --field seats=number")]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    name: NameArg,
    /// Payload field and its type: string, number, boolean or date; repeatable
    #[arg(long, value_name = "KEY=TYPE")]
    field: Vec<String>,
    /// All fields as one JSON object: {"plan": "string", "seats": "number"}
    #[arg(long, value_name = "JSON")]
    schema: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Show an event definition
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost events get user.created --jq .schema")]
pub(crate) struct GetArgs {
    /// ID or name of the event
    #[arg(value_name = "ID|NAME")]
    event: String,
}

/// Change the fields of an event definition
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost events update user.created --field plan=string --field seats=number\n  \
    idempost events update user.created --clear schema")]
pub(crate) struct UpdateArgs {
    /// ID or name of the event
    #[arg(value_name = "ID|NAME")]
    event: String,
    /// Payload field and its type: string, number, boolean or date; replaces all previous fields; repeatable
    #[arg(long, value_name = "KEY=TYPE")]
    field: Vec<String>,
    /// All fields as one JSON object, replacing all previous fields: {"plan": "string", "seats": "number"}
    #[arg(long, value_name = "JSON", conflicts_with = "clear")]
    schema: Option<String>,
    /// Clear the schema, so that any payload is accepted
    #[arg(long, value_name = "FIELD", value_parser = Choices(&["schema"]), hide_possible_values = true)]
    clear: Option<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

/// Delete an event definition
///
/// Automations triggered by the event aren't deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost events delete user.created")]
pub(crate) struct DeleteArgs {
    /// ID or name of the event
    #[arg(value_name = "ID|NAME")]
    event: String,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

const TABLE: Table = Table {
    columns: &[
        Column::new("id", "ID", Kind::Id),
        Column::new("name", "NAME", Kind::Text),
        Column::new("schema", "SCHEMA", Kind::Shrinks),
        Column::new("created_at", "CREATED", Kind::Time),
        Column::new("updated_at", "UPDATED", Kind::Time),
    ],
    shown: 4,
    nothing: "no events defined",
};

/// Runs the command.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Fail> {
    match command {
        Command::Create(args) => create(args, context).await,
        Command::List(args) => pages::list(args, &TABLE, context, |client| client.events().list()).await,
        Command::Get(args) => mutation::show(context, |client| client.events().get(&args.event)).await,
        Command::Update(args) => update(args, context).await,
        Command::Delete(args) => {
            let unknown_outcome = "the event may have been deleted; check: idempost events list";
            let make = |client: &idempost::Client| client.events().delete(&args.event);
            mutation::delete(&args.dry_run, unknown_outcome, context, make).await
        }
        Command::Send(args) => send::run(args, context).await,
    }
}

async fn create(args: CreateArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    flags.help("idempost events create user.created");
    let name = args.name.read(&mut flags);
    if name.is_none() {
        flags.missing("NAME");
    }
    // A placeholder if the name is missing, which has been reported.
    let mut event = NewEvent::new(name.unwrap_or_else(|| "missing".to_owned()));
    for (key, holds) in all_fields(&args.field, args.schema.as_deref(), &mut flags) {
        event = event.field(key, holds);
    }
    flags.add_problems(event.check());
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = "the event may have been defined; check: idempost events list --limit 1";
    match mutation::execute(dry_run, unknown_outcome, context, |client| client.events().create(&event))
        .await?
    {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

async fn update(args: UpdateArgs, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let fields = all_fields(&args.field, args.schema.as_deref(), &mut flags);
    let patch = match args.clear.as_deref() {
        None if args.field.is_empty() && args.schema.is_none() => {
            flags.help("idempost events update NAME --field plan=string");
            flags.missing("--field, --schema or --clear schema");
            EventPatch::clear_schema()
        }
        None => EventPatch::schema(fields),
        Some("schema") if args.field.is_empty() => EventPatch::clear_schema(),
        Some("schema") => {
            flags.wrong(
                "exclusive",
                "--field and --clear schema can't be used together",
                "--clear",
                "schema",
            );
            EventPatch::clear_schema()
        }
        Some(other) => {
            flags.wrong("type", "--clear must be schema", "--clear", other);
            EventPatch::clear_schema()
        }
    };
    flags.add_problems(patch.check());
    let dry_run = flags.dry_run(args.dry_run.dry_run.as_deref());
    flags.finish()?;
    let unknown_outcome = "the event may have been changed; check: idempost events list";
    let make = |client: &idempost::Client| client.events().update(&args.event, &patch);
    match mutation::execute(dry_run, unknown_outcome, context, make).await? {
        Some(response) => mutation::print(response.value.id.as_str(), &response, context),
        None => Ok(()),
    }
}

/// The fields of `--schema` or `--field`.
fn all_fields(given: &[String], schema: Option<&str>, flags: &mut Flags) -> Vec<(String, PayloadType)> {
    let Some(text) = schema else { return fields(given, flags) };
    if let Some(field) = given.first() {
        flags.wrong("exclusive", "--schema and --field can't be used together", "--field", field);
    }
    let mut found = Vec::new();
    for (key, holds) in flags.object("--schema", 1, text) {
        flags.field(&format!("/schema{}", json::pointer(&key)), "--schema", Some(text));
        match holds {
            Value::String(holds) => found.push((key, PayloadType::from(holds))),
            _ => flags.wrong("type", format!("the type of `{key}` must be a string"), "--schema", text),
        }
    }
    found
}

/// Parses `KEY=TYPE`; types are validated with the whole request.
fn fields(given: &[String], flags: &mut Flags) -> Vec<(String, PayloadType)> {
    let mut fields: Vec<(String, PayloadType)> = Vec::new();
    for (i, text) in given.iter().enumerate() {
        match Pair::read(text, '=') {
            Some(pair) if fields.iter().any(|(key, _)| key == pair.name) => {
                flags.wrong_nth("exclusive", "this field is repeated", "--field", i + 1, text);
            }
            Some(pair) => {
                flags.field(&format!("/schema{}", json::pointer(pair.name)), "--field", Some(text));
                fields.push((pair.name.to_owned(), PayloadType::from(pair.value.to_owned())));
            }
            None => flags.wrong_nth("type", "a field must be KEY=TYPE", "--field", i + 1, text),
        }
    }
    fields
}
