//! Automations: `POST` and `GET /automations`, `GET`, `PATCH` and `DELETE /automations/{id}`, `POST /automations/{id}/stop` and
//! `/duplicate`, and the runs below `/automations/{id}/runs`.
//!
//! The specification shows only the items of the two lists.

pub(crate) mod engine;
pub(crate) mod run;
mod step;

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::context::Context;
use crate::model::automation::definition::Definition;
use crate::model::automation::{self, Automation, Group};
use crate::wire::answers::{self, Reference};
use crate::wire::paging::{Mode, Window, list, quoted};
use crate::wire::problem::{Problem, json};
use crate::wire::switch::SWITCH;
use crate::wire::validation::{Fields, Ignored, Problems};

/// `POST /automations`, 201.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let (name, enabled, definition) = context.body(|fields, problems, ignored| {
        let name = fields.require_text("name", problems);
        let enabled = fields.take_word("status", &SWITCH, problems);
        let definition = Definition::take(fields, problems, ignored);
        Some((name?, enabled.unwrap_or(false), definition?))
    })?;
    add(context, name, enabled, Arc::new(definition))
}

/// `POST /automations/{id}/duplicate`, 201: a disabled copy of the definition, without runs. (The specification doesn't define its name: it
/// stays the same.)
pub(crate) fn duplicate(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let automation = find(context)?;
    add(context, automation.name.clone(), false, Arc::clone(&automation.definition))
}

fn add(
    context: &Context<'_>,
    name: String,
    enabled: bool,
    definition: Arc<Definition>,
) -> Result<Response<Bytes>, Problem> {
    let (id, now) = (context.state.next_id(), context.now());
    let automation = Automation { id, name, enabled, created_at: now, updated_at: now, definition };
    context.tenant.automations.add(id, automation)?;
    Ok(answers::created("automation", id))
}

/// `GET /automations`, mode A.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    let enabled = match context.query("status") {
        None => None,
        Some(word) => Some(SWITCH.iter().find(|(status, _)| *status == word).ok_or_else(|| {
            Problem::validation(format!("`status` must be `enabled` or `disabled`; found {}.", quoted(&word)))
        })?),
    };
    let automations = &context.tenant.automations;
    let page = match enabled {
        Some((_, enabled)) => automations.page_of(&window, [Group::Enabled(*enabled)], |_| true)?,
        None => automations.page(&window)?,
    };
    Ok(list(&page.show(automation::Item)))
}

/// `GET /automations/{id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let automation = find(context)?;
    let Definition { steps, connections } = &*automation.definition;
    let steps = steps.iter().map(|step| StepShown { key: &step.key, kind: step.kind, config: &step.config });
    let connections = connections.iter().map(|one| ConnectionShown {
        from: &one.from,
        to: &one.to,
        kind: one.kind.as_str(),
    });
    let detail = Detail {
        object: "automation",
        item: automation::Item(&automation),
        steps: steps.collect(),
        connections: connections.collect(),
    };
    Ok(json(StatusCode::OK, &detail))
}

/// `PATCH /automations/{id}`: at least one field is required, and steps and connections only together. Existing runs continue with the
/// definition that they started with, even if the automation is disabled.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = find(context)?.id;
    let change = context.body(|fields, problems, ignored| Some(Change::read(fields, problems, ignored)))?;
    let now = context.now();
    let changed = context.tenant.automations.try_change(id, |automation| {
        if let Some(name) = change.name {
            automation.name = name;
        }
        if let Some(enabled) = change.enabled {
            automation.enabled = enabled;
        }
        if let Some(definition) = change.definition {
            automation.definition = Arc::new(definition);
        }
        automation.updated_at = now;
        Ok(())
    });
    changed.ok_or_else(not_found)??;
    Ok(answers::reference("automation", id))
}

/// `DELETE /automations/{id}`. Its runs are deleted with it.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.id("an automation")?;
    context.tenant.automations.remove(id).ok_or_else(not_found)?;
    for run in context.tenant.runs.members(&run::Group::Of(id)) {
        context.tenant.runs.remove(run.id);
    }
    Ok(answers::deleted("automation", id))
}

/// `POST /automations/{id}/stop`: disables it and cancels its runs. Repeating it has no effect.
pub(crate) fn stop(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    #[derive(Serialize)]
    struct Stopped {
        #[serde(flatten)]
        reference: Reference,
        status: &'static str,
    }
    let (id, now) = (context.id("an automation")?, context.now());
    let stopped = context.tenant.automations.change(id, |automation| {
        if automation.enabled {
            automation.enabled = false;
            automation.updated_at = now;
        }
    });
    stopped.ok_or_else(not_found)?;
    for run in context.tenant.runs.members(&run::Group::WithStatus(id, run::Status::Running)) {
        context.tenant.runs.change(run.id, |run| run.cancel(now));
    }
    Ok(json(StatusCode::OK, &Stopped { reference: Reference::to("automation", id), status: "disabled" }))
}

/// Finds the automation of the path.
fn find(context: &Context<'_>) -> Result<Arc<Automation>, Problem> {
    context.tenant.automations.get(context.id("an automation")?).ok_or_else(not_found)
}

fn not_found() -> Problem {
    Problem::not_found("Automation not found.")
}

/// The fields of an update.
struct Change {
    name: Option<String>,
    enabled: Option<bool>,
    definition: Option<Definition>,
}

impl Change {
    fn read(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> Self {
        const ALL: [&str; 4] = ["name", "status", "steps", "connections"];
        if !ALL.iter().any(|name| fields.has(name)) {
            problems.wrong(|| {
                "The body must change something: `name`, `status`, or `steps` with `connections`.".into()
            });
        }
        let name = if fields.has("name") { fields.require_text("name", problems) } else { None };
        let enabled = fields.take_word("status", &SWITCH, problems);
        let definition = (fields.has("steps") || fields.has("connections"))
            .then(|| Definition::take(fields, problems, ignored))
            .flatten();
        Self { name, enabled, definition }
    }
}

#[derive(Serialize)]
struct Detail<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: automation::Item<'a>,
    steps: Vec<StepShown<'a>>,
    connections: Vec<ConnectionShown<'a>>,
}

#[derive(Serialize)]
struct StepShown<'a> {
    key: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    config: &'a Value,
}

#[derive(Serialize)]
struct ConnectionShown<'a> {
    from: &'a str,
    to: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}
