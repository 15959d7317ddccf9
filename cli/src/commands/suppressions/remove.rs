//! `suppressions remove`: removes entries.

use std::collections::HashSet;

use idempost::{Call, Client, suppressions::RemovedSuppressions};

use super::check_count;
use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::{Fail, Kind};
use crate::rows::given::Given;
use crate::rows::operation;

pub(super) async fn run(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    const FLAG: &str = "ID|EMAIL";
    let mut entries = given.texts("entries");
    let mut seen = HashSet::new();
    entries.retain(|entry| seen.insert(entry.to_ascii_lowercase()));
    let mut flags = given.flags(context).await;
    let plan = given.mutation_flags(&mut flags);
    let unknown = given.unknown_outcome();
    if let [entry] = &entries[..] {
        flags.finish()?;
        let make: &mutation::BuildCall<'_> = &|client| client.suppressions().remove(entry).response();
        mutation::confirm_delete(plan.dry_run.is_some(), context, make).await?;
        return operation::execute(&given, &plan, context, make).await;
    }
    flags.declare_list("/emails", FLAG, &entries);
    flags.declare_list("/ids", FLAG, &entries);
    check_count(&entries, FLAG, "", &mut flags);
    let addresses = entries.iter().filter(|entry| entry.contains('@')).count();
    let id = entries.iter().enumerate().find(|(_, entry)| !entry.contains('@'));
    if let Some((at, id)) = id.filter(|_| addresses > 0) {
        flags.reject_nth("exclusive", "pass either addresses or IDs, not both", FLAG, at + 1, id);
    }
    flags.finish()?;
    let question = format!("Remove {} entries from the suppression list?", entries.len());
    mutation::confirm(plan.dry_run.is_some(), &question, context).await?;
    let make = |client: &Client| -> Call<RemovedSuppressions> {
        if addresses > 0 {
            client.suppressions().remove_batch(&entries)
        } else {
            client.suppressions().remove_batch_by_id(&entries)
        }
    };
    let Some(response) = mutation::execute(plan.dry_run, &unknown, context, make).await? else {
        return Ok(());
    };
    let ids: Vec<_> = response.value.data.iter().map(|entry| entry.id.to_string()).collect();
    mutation::report(context, || context.out.result(&ids, &mutation::document(&response)))?;
    let missing = entries.len().saturating_sub(ids.len());
    if missing > 0 && context.in_flight.may_be_repeated() {
        let message = "aren't on the list; a request without a response may have removed them";
        return Err(Fail::new(Kind::Unknown, format!("{missing} of {} entries {message}", entries.len())));
    }
    let message = format!("{missing} of {} entries weren't on the list", entries.len());
    match ids.len() {
        0 => Err(Fail::not_found(message)),
        removed if removed < entries.len() => Err(Fail::items(false, message)),
        _ => Ok(()),
    }
}
