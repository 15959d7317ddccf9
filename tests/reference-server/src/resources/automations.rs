//! Automations: `POST` and `GET /automations`, `GET`, `PATCH` and `DELETE /automations/{id}`, `POST /automations/{id}/stop` and
//! `/duplicate`, and the runs below `/automations/{id}/runs`.
//!
//! The specification shows only the items of the two lists.

pub mod engine;
pub mod run;
pub mod step;

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;

use crate::context::Context;
use crate::model::automation::definition::Definition;
use crate::model::automation::{self, Automation, Group};
use crate::store::table::Record as _;
use crate::wire::{
    Checked, Fields, HandlerResult, Mode, SWITCH, answers, input, json, list, non_empty, replace,
};

input! {
    struct NewAutomation(fields) {
        name: String = fields.required("name", non_empty),
        enabled: Option<bool> = fields.optional("status", |field| field.one_of(&SWITCH)),
        definition: Definition = Definition::read(fields),
    }
}

input! {
    struct AutomationPatch(fields) {
        name: Option<String> = fields.optional("name", non_empty),
        enabled: Option<bool> = fields.optional("status", |field| field.one_of(&SWITCH)),
        definition: Option<Definition> = {
            let [steps, connections] = fields.alternatives(["steps", "connections"]);
            (steps || connections).then(|| Definition::read(fields)).transpose()
        },
    }
}

/// `POST /automations`, 201.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let NewAutomation { name, enabled, definition } = context.body(NewAutomation::read)?;
    let enabled = enabled.unwrap_or(false);
    add(context, name, enabled, Arc::new(definition))
}

/// `POST /automations/{id}/duplicate`, 201: a disabled copy of the definition, without runs. (The specification doesn't define the copy's name; it is
/// the original's.)
pub fn duplicate(context: &Context<'_>) -> HandlerResult {
    let automation = context.find(&context.tenant.automations)?;
    add(context, automation.name.clone(), false, Arc::clone(&automation.definition))
}

fn add(context: &Context<'_>, name: String, enabled: bool, definition: Arc<Definition>) -> HandlerResult {
    let (id, now) = (context.state.next_id(), context.now());
    let automation = Automation { id, name, enabled, created_at: now, updated_at: now, definition };
    context.tenant.automations.add(id, automation)?;
    Ok(answers::created_response("automation", id))
}

/// `GET /automations`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::A)?;
    let group = context.one_of("status", &SWITCH)?.map(Group::Enabled);
    let page = context.tenant.automations.page_within(&window, group)?;
    Ok(list(&page.show(automation::Item)))
}

/// `PATCH /automations/{id}`: at least one field is required, and steps and connections only together. Existing runs continue with the
/// definition that they started with, even if the automation is disabled.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.automations)?.id;
    let patch = context.body(read_patch)?;
    let now = context.now();
    context.tenant.automations.update(id, |automation| {
        replace(&mut automation.name, patch.name);
        replace(&mut automation.enabled, patch.enabled);
        replace(&mut automation.definition, patch.definition.map(Arc::new));
        automation.updated_at = now;
    })?;
    Ok(answers::reference("automation", id))
}

/// `DELETE /automations/{id}`. Its runs are deleted with it.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.id("an automation")?;
    context.tenant.automations.remove(id).ok_or_else(Automation::not_found)?;
    for run in context.tenant.runs.members(&run::Group::Of(id)) {
        context.tenant.runs.remove(run.id);
    }
    Ok(answers::deleted_response("automation", id))
}

/// `POST /automations/{id}/stop`: disables it and cancels its runs. Repeating it has no effect.
pub fn stop(context: &Context<'_>) -> HandlerResult {
    let (id, now) = (context.id("an automation")?, context.now());
    let stopped = context.tenant.automations.change(id, |automation| {
        if automation.enabled {
            automation.enabled = false;
            automation.updated_at = now;
        }
    });
    stopped.ok_or_else(Automation::not_found)?;
    for run in context.tenant.runs.members(&run::Group::WithStatus(id, run::Status::Running)) {
        context.tenant.runs.change(run.id, |run| run.cancel(now));
    }
    Ok(json(StatusCode::OK, &json!({ "object": "automation", "id": id, "status": "disabled" })))
}

fn read_patch(fields: &mut Fields<'_>) -> Checked<AutomationPatch> {
    if !["name", "status", "steps", "connections"].iter().any(|name| fields.has(name)) {
        fields
            .report()
            .report("The body must change something: `name`, `status`, or `steps` with `connections`.");
    }
    AutomationPatch::read(fields)
}
