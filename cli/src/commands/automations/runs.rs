//! `automations runs` and `run`: the execution of an automation for each contact.

use std::time::Duration;

use idempost::automations::{AutomationRun, RunStatus};

use crate::actions::mutation::document;
use crate::actions::trace;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::{self, Fail, Origin};
use crate::input::flags::Flags;
use crate::output::record;
use crate::rows::prelude::*;

/// The state to wait for.
pub(super) const COMPLETED: &str = "completed";

pub(super) const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("status", "STATUS", Kind::State),
    Column::new("started_at", "STARTED", Kind::Time),
    Column::new("completed_at", "ENDED", Kind::Time),
    Column::new("created_at", "CREATED", Kind::Time).optional(),
])
.nothing("no runs");

const STEPS: [Column; 6] = [
    Column::new("key", "STEP", Kind::Text),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("status", "STATUS", Kind::State),
    Column::new("started_at", "STARTED", Kind::Time),
    Column::new("completed_at", "ENDED", Kind::Time),
    Column::new("error", "ERROR", Kind::Shrinks).pointer("/error/message"),
];

/// Reports each unknown status with its location.
pub(super) fn statuses(text: &str, flags: &mut Flags) -> Vec<RunStatus> {
    let (mut read, mut start) = (Vec::new(), 0);
    for part in text.split(',') {
        let word = part.trim();
        match RunStatus::from(word.to_owned()) {
            RunStatus::Unknown(_) => {
                let rule = "the status must be running, completed, failed or cancelled";
                let origin = Origin::flag_part("--status", 1, text, start..start + part.len());
                flags.reject_at("type", rule, origin);
            }
            status => read.push(status),
        }
        start += part.len() + 1;
    }
    read
}

pub(super) async fn get(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let [id, run] = [given.ids[0], given.ids[1]];
    let plan = given.plan_change(context).await?;
    let client = context.client()?;
    let ended = match plan.wait {
        Some(timeout) => wait_until_ended(id, run, timeout, context).await,
        None => Ok(()),
    };
    // Also shows a failed run, since its steps contain the reason.
    if matches!(ended, Ok(()) | Err(Fail::Own { kind: diagnostics::Kind::Rejected, .. })) {
        let document = document(&trace::execute(context, || client.automations().run(id, run)).await?);
        context.out.result(&record::with_tables(&document, &[("steps", &STEPS)]), &document)?;
    }
    ended
}

async fn wait_until_ended(id: &str, run: &str, timeout: Duration, context: &Context) -> Result<(), Fail> {
    let words = Messages {
        timed_out: "the run hasn't ended".to_owned(),
        continues: "the run continues".to_owned(),
        failed: "the run didn't complete".to_owned(),
        check: format!("idempost automations run {id} {run}"),
    };
    let wait = context.client()?.automations().wait_for_run(id, run);
    let end = |run: &AutomationRun| End::of(run.status.as_ref().map(RunStatus::as_str), COMPLETED);
    wait::poll_until_terminal(wait, timeout, &words, context, end).await.map(drop)
}
