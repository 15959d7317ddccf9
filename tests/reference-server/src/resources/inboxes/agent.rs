//! The settings of an inbox's agent. They are stored and returned; no agent acts.

use http::StatusCode;

use crate::context::Context;
use crate::model::inboxes::{Action, AgentView, Tone};
use crate::resources::inboxes::inbox;
use crate::wire::{Change, Checked, Field, HandlerResult, answers, at_most, input, json, replace};

/// The maximum length of the instructions, in characters.
const MAX_INSTRUCTIONS: usize = 4_000;

input! {
    struct AgentPatch(fields; any "instructions", "tone", "actions") {
        instructions: Change<String> = fields.patch("instructions", at_most(MAX_INSTRUCTIONS)),
        tone: Change<Tone> = fields.patch("tone", |field| field.one_of(Tone::WORDS)),
        actions: Option<Vec<Action>> = fields.optional("actions", actions),
    }
}

/// Repeated actions count once.
fn actions(field: &Field<'_>) -> Checked<Vec<Action>> {
    let mut actions: Vec<Action> = Vec::new();
    for action in field.items()?.read(|_, item| item.one_of(Action::WORDS))? {
        if !actions.contains(&action) {
            actions.push(action);
        }
    }
    Ok(actions)
}

/// `GET /inboxes/{inbox}/agent`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &AgentView(&inbox(context)?.agent)))
}

/// `PATCH /inboxes/{inbox}/agent`: `actions` replaces all of them. It sends no event.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = inbox(context)?.id;
    let AgentPatch { instructions, tone, actions } = context.body(AgentPatch::read)?;
    context.tenant.inboxes.inboxes.update(id, |inbox| {
        instructions.apply(&mut inbox.agent.instructions);
        tone.apply(&mut inbox.agent.tone);
        replace(&mut inbox.agent.actions, actions);
    })?;
    Ok(answers::reference("inbox_agent", id))
}
