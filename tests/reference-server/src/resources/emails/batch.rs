//! `POST /emails/batch`: up to 100 emails in one request.
//!
//! The specification doesn't define a batch with an invalid email. By default it is rejected as a whole, nothing is sent, and the error
//! names the index. Emails have no schedule, as the specification says, except with [`Compat::Live`]. With the header `x-batch-validation: permissive` the valid ones are sent, and the others are listed in `errors`.

use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::delivery;
use crate::model::email::draft::Draft;
use crate::resources::api_keys;
use crate::resources::emails::Accepted;
use crate::resources::emails::draft::Form;
use crate::settings::Compat;
use crate::state::moment::Moment;
use crate::state::quota;
use crate::wire::{HandlerResult, Problem, fields, json, kind, quote, well_formed};

/// The maximum number of emails in a batch (`docs/specification.md`, Limits).
const MAX_EMAILS: usize = 100;

pub fn send(context: &Context<'_>) -> HandlerResult {
    let permissive = read_mode(context)?;
    let items = read_items(context.request.body())?;
    if items.is_empty() || items.len() > MAX_EMAILS {
        return Err(Problem::validation(format!(
            "The body must be an array of 1 to {MAX_EMAILS} emails; found {}.",
            items.len()
        )));
    }

    let now = context.now();
    let unsupported: &[_] = match context.state.settings.compat {
        Compat::Specification => &["attachments", "scheduled_at"],
        Compat::Live => &["attachments"],
    };
    let form = Form { unsupported, ..Form::single(context.state, &context.tenant, now) };
    let mut drafts = Vec::with_capacity(items.len());
    let mut errors = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let draft =
            fields::read_item(item.get(), index, context.ignored, |fields| Draft::read(fields, &form));
        let checked = draft.map_err(Problem::from).and_then(|draft| {
            api_keys::check_sender(context, &draft.from)?;
            Ok(draft)
        });
        match checked {
            Ok(draft) => drafts.push(draft),
            Err(problem) if permissive => errors.push(Refused { index, message: problem.message }),
            Err(problem) => {
                // Problems of a field contain the index already; others don't.
                let message = if problem.message.contains(&format!("[{index}]")) {
                    problem.message
                } else {
                    format!("[{index}]: {}", problem.message)
                };
                return Err(Problem { message, ..problem });
            }
        }
    }
    let recipients = drafts.iter().map(|draft| draft.recipients().count()).sum();
    let used = quota::take(&context.state.settings, &context.tenant, recipients, now)?;
    let data = drafts
        .into_iter()
        .map(|draft| Accepted { id: delivery::accept(Moment { at: now, ..context.moment() }, draft) })
        .collect();
    let errors = permissive.then_some(errors);
    let mut response = json(StatusCode::OK, &BatchResult { data, errors });
    used.add_headers(response.headers_mut());
    Ok(response)
}

fn read_items(body: &[u8]) -> Result<Vec<&RawValue>, Problem> {
    serde_json::from_slice(body).or_else(|_| {
        let found = kind(well_formed(body)?.get());
        Err(Problem::validation(format!("The body must be a JSON array of emails; found {found}.")))
    })
}

fn read_mode(context: &Context<'_>) -> Result<bool, Problem> {
    match context.request.headers().get("x-batch-validation").map(http::HeaderValue::as_bytes) {
        None | Some(b"strict") => Ok(false),
        Some(b"permissive") => Ok(true),
        Some(other) => Err(Problem::validation(format!(
            "`x-batch-validation` must be `strict` or `permissive`; found {}.",
            quote(&String::from_utf8_lossy(other))
        ))),
    }
}

#[derive(Serialize)]
struct BatchResult {
    data: Vec<Accepted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<Refused>>,
}

#[derive(Serialize)]
struct Refused {
    index: usize,
    message: String,
}
