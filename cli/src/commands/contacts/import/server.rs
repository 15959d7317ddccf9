//! `contacts import --server`: the service reads the file in the background.

use std::time::Duration;

use idempost::{
    Client, ContactImportId,
    contact_imports::{
        ContactImport, ContactImportCounts, ContactImportStatus, ImportConflict, ImportPropertyType,
        NewContactImport,
    },
    topics::Subscription,
};

use super::columns::{Columns, Field};
use super::file::Csv;
use super::{Args, MAX_SIZE};
use crate::actions::mutation;
use crate::actions::repeat::quote_argument;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// The state to wait for.
pub(super) const COMPLETED: &str = "completed";

pub(super) async fn run(
    client: &Client,
    csv: &Csv,
    columns: &Columns,
    args: &Args,
    wait: Option<Duration>,
    context: &Context,
) -> Result<(), Fail> {
    let import = plan(csv.upload(&args.file).await?, columns, args)?;
    let unknown_outcome = "the import may have started; check: idempost contacts imports list";
    let make = |client: &Client| client.contact_imports().create(&import);
    let Some(response) = mutation::execute(None, unknown_outcome, context, make).await? else {
        return Ok(());
    };
    let id = response.value.id.clone();
    mutation::print(id.as_str(), &response, context)?;
    if let Some(timeout) = wait {
        return wait_until_finished(client, timeout, id, args, context).await;
    }
    context.out.note(&format!("import started · check: {}", show_command(&id)));
    Ok(())
}

/// Describes every column, so that the service imports those and no others.
fn plan(mut import: NewContactImport, columns: &Columns, args: &Args) -> Result<NewContactImport, Fail> {
    for (name, field) in &columns.all {
        import = match field {
            Field::Email => import.email_column(name),
            Field::FirstName => import.first_name_column(name),
            Field::LastName => import.last_name_column(name),
            Field::Unsubscribed => import.unsubscribed_column(name),
            Field::Property { key, number: true } => {
                import.property_column(key, name, ImportPropertyType::Number)
            }
            Field::Property { key, number: false } => {
                import.property_column(key, name, ImportPropertyType::String)
            }
            Field::Nothing => import,
        };
    }
    let conflict = if args.on_conflict == "skip" { ImportConflict::Skip } else { ImportConflict::Upsert };
    import = import.on_conflict(conflict);
    import = args.segment_id.iter().fold(import, NewContactImport::segment);
    for (topics, choice) in [(&args.opt_in, Subscription::OptIn), (&args.opt_out, Subscription::OptOut)] {
        import = topics.iter().fold(import, |import, topic| import.topic(topic, choice.clone()));
    }
    let mut flags = Flags::default();
    flags.field("/file", "FILE", Some(&args.file));
    flags.add_problems(import.check());
    flags.finish()?;
    Ok(import)
}

async fn wait_until_finished(
    client: &Client,
    timeout: Duration,
    id: ContactImportId,
    args: &Args,
    context: &Context,
) -> Result<(), Fail> {
    let words = Messages {
        timed_out: "the import hasn't been completed".to_owned(),
        continues: "the import continues in the background".to_owned(),
        failed: "the import ended before the last row".to_owned(),
        check: show_command(&id),
    };
    let end =
        |import: &ContactImport| End::of(import.status.as_ref().map(ContactImportStatus::as_str), COMPLETED);
    let wait = client.contact_imports().wait(id);
    let import = wait::poll_until_terminal(wait, timeout, &words, context, end).await?;
    let ContactImportCounts { total, created, updated, skipped, failed, .. } = import.counts;
    let [total, created, updated, skipped, failed] =
        [total, created, updated, skipped, failed].map(Option::unwrap_or_default);
    context.out.note(&format!("{created} created, {updated} updated, {skipped} skipped, {failed} failed"));
    if failed == 0 {
        return Ok(());
    }
    let fail = Fail::items(failed == total, format!("{failed} of {total} rows failed"));
    // Standard input can't be read again.
    if args.file == "-" {
        return Err(fail);
    }
    let delimiter = args.delimiter.iter().map(|delimiter| ("--delimiter", delimiter));
    let maps = args.map.iter().map(|map| ("--map", map));
    let size = (args.max_size != MAX_SIZE).then_some(("--max-size", &args.max_size));
    let flags = delimiter.chain(maps).chain(size);
    let flags = flags.map(|(flag, value)| format!("{flag} {} ", quote_argument(value)));
    let (file, flags) = (quote_argument(&args.file), flags.collect::<String>());
    let check = format!("idempost contacts import {file} {flags}--dry-run");
    Err(fail.hint(format!("to list the invalid ones: {check}")))
}

/// The command that shows an import, for hints.
fn show_command(id: &ContactImportId) -> String {
    format!("idempost contacts imports get {id}")
}
