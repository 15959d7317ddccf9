//! Runs: the execution of an automation for one contact, and the two routes that show it.
//!
//! Every transition is made under the lock of the table of runs: whatever advances a run (the request with the event, the clock, another event)
//! sees its current step, and a canceled run stops.

use http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::Context;
use crate::model::automation::run;
use crate::store::table::Record as _;
use crate::wire::{HandlerResult, Mode, list, problem, to_database_format};

pub use crate::model::automation::run::{Group, Status};

/// `GET /automations/{id}/runs`, mode B.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let automation = context.find(&context.tenant.automations)?.id;
    let window = context.window(Mode::B)?;
    let wanted = context.parameters().word_list("status", Status::WORDS)?;
    let with_status = |status| Group::WithStatus(automation, status);
    let groups = wanted
        .map_or_else(|| vec![Group::Of(automation)], |wanted| wanted.into_iter().map(with_status).collect());
    let page = context.tenant.runs.page_of(&window, groups, |run| run.automation == automation)?;
    Ok(list(&page.show(run::Item)))
}

/// `GET /automations/{id}/runs/{run_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let automation = context.find(&context.tenant.automations)?.id;
    let run = context.tenant.runs.get(context.id_at(1, "a run")?);
    let run = run.filter(|run| run.automation == automation);
    let run = run.ok_or_else(run::Run::not_found)?;
    let steps = run.definition.steps.iter().zip(&run.steps).map(|(step, progress)| {
        json!({
            "key": step.key,
            "type": step.kind,
            "status": progress.status,
            "started_at": progress.started_at.map(to_database_format),
            "completed_at": progress.completed_at.map(to_database_format),
            "output": progress.output,
            "error": progress.error,
            "created_at": to_database_format(run.created_at),
        })
    });
    let detail = Detail { object: "automation_run", item: run::Item(&run), steps: steps.collect() };
    Ok(problem::json(StatusCode::OK, &detail))
}

#[derive(Serialize)]
struct Detail<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: run::Item<'a>,
    steps: Vec<Value>,
}
