//! `suppressions remove`: removes entries.

use std::collections::HashSet;

use idempost::{Call, Client, suppressions::RemovedSuppressions};

use super::check_count;
use crate::actions::mutation::{self, DryRunFlag};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;

/// Remove addresses from the suppression list
///
/// Takes up to 100 addresses, or as many IDs. The service sends to them again; the next permanent bounce or complaint adds them again. Prints
/// the ID of each removed entry. The exit code is 5 if none was on the list, and 10 if only some were.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  idempost suppressions remove ada@example.com\n  \
    idempost suppressions remove 520784e2-887d-4c25-b53c-4ad46ad38100 --yes")]
pub(crate) struct Args {
    /// ID or address of the entry; repeatable
    #[arg(value_name = "ID|EMAIL", required = true)]
    entries: Vec<String>,
    #[command(flatten)]
    dry_run: DryRunFlag,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    const FLAG: &str = "ID|EMAIL";
    let Args { mut entries, dry_run } = args;
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(entry.to_ascii_lowercase()));
    let unknown_outcome = "the entries may have been removed; check: idempost suppressions check EMAIL";
    if let [entry] = &entries[..] {
        let make = |client: &Client| client.suppressions().remove(entry);
        return mutation::delete(&dry_run, unknown_outcome, context, make).await;
    }
    let mut flags = Flags::default();
    let dry_run = flags.dry_run(dry_run.dry_run.as_deref());
    flags.list("/emails", FLAG, &entries);
    flags.list("/ids", FLAG, &entries);
    check_count(&entries, FLAG, "", &mut flags);
    let addresses = entries.iter().filter(|entry| entry.contains('@')).count();
    let id = entries.iter().enumerate().find(|(_, entry)| !entry.contains('@'));
    if let Some((at, id)) = id.filter(|_| addresses > 0) {
        flags.wrong_nth("exclusive", "either addresses or IDs, not both", FLAG, at + 1, id);
    }
    flags.finish()?;
    let question = format!("Remove {} entries from the suppression list?", entries.len());
    mutation::confirm(dry_run.is_some(), &question, context).await?;
    let make = |client: &Client| -> Call<RemovedSuppressions> {
        if addresses > 0 {
            client.suppressions().remove_batch(&entries)
        } else {
            client.suppressions().remove_batch_by_id(&entries)
        }
    };
    let Some(response) = mutation::execute(dry_run, unknown_outcome, context, make).await? else {
        return Ok(());
    };
    let ids: Vec<_> = response.value.data.iter().map(|entry| entry.id.to_string()).collect();
    mutation::report(context, || context.out.result(&ids, &mutation::document(&response)))?;
    let missing = entries.len().saturating_sub(ids.len());
    let message = format!("{missing} of {} entries weren't on the list", entries.len());
    match ids.len() {
        0 => Err(Fail::NotFound { message, hint: None }),
        removed if removed < entries.len() => Err(Fail::Partial { message, hint: None }),
        _ => Ok(()),
    }
}
