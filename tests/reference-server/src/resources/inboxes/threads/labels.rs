//! The labels of a thread.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::context::Context;
use crate::model::inboxes::label::{Label, OfThread};
use crate::model::inboxes::thread::{MAX_LABELS, Thread};
use crate::resources::inboxes::labels::list;
use crate::resources::inboxes::threads::find;
use crate::resources::inboxes::{inbox, inbox_service, member};
use crate::store::table::Record as _;
use crate::wire::{Checked, Field, HandlerResult, Problem};

/// The maximum number of labels in a request.
const MAX_GIVEN: usize = 10;

/// `POST /inboxes/{inbox}/threads/{thread_id}/labels`: adds 1 to 10 labels.
pub fn add(context: &Context<'_>) -> HandlerResult {
    let given = read(context, 1)?;
    change(context, |labels| labels.extend(&given))
}

/// `PUT /inboxes/{inbox}/threads/{thread_id}/labels`: replaces all labels; with an empty array it removes them.
pub fn replace(context: &Context<'_>) -> HandlerResult {
    let given = read(context, 0)?;
    change(context, |labels| *labels = given)
}

/// `DELETE /inboxes/{inbox}/threads/{thread_id}/labels/{label_id}`.
pub fn remove(context: &Context<'_>) -> HandlerResult {
    let inbox = inbox(context)?.id;
    let label = member(context, 2, &context.tenant.inboxes.labels, |label| label.inbox == inbox)?.id;
    if !find(context)?.labels.contains(&label) {
        return Err(Label::not_found());
    }
    change(context, |labels| {
        labels.remove(&label);
    })
}

fn read(context: &Context<'_>, min: usize) -> Result<BTreeSet<Uuid>, Problem> {
    let inbox = find(context)?.inbox;
    let tables = &context.tenant.inboxes;
    let label = |field: &Field<'_>| -> Checked<Uuid> {
        let id = tables.labels.read_uuid(field)?;
        let is_own = tables.labels.get(id).is_some_and(|label| label.inbox == inbox);
        let rule = format_args!("must be the id of a label of this inbox; found {id}");
        if is_own { Ok(id) } else { Err(field.reject(rule)) }
    };
    context.body(|fields| {
        fields.required("labels", |field| {
            let items = field.items()?;
            if !(min..=MAX_GIVEN).contains(&items.len()) {
                let found = items.len();
                return Err(field.reject(format_args!("must have {min} to {MAX_GIVEN} ids; found {found}")));
            }
            Ok(items.read(|_, item| label(item))?.into_iter().collect())
        })
    })
}

fn change(context: &Context<'_>, change: impl FnOnce(&mut BTreeSet<Uuid>)) -> HandlerResult {
    let id = find(context)?.id;
    let tables = &context.tenant.inboxes;
    let mut fits = true;
    let changed = inbox_service(context).change_thread(id, |thread| {
        // Omits deleted labels.
        let mut labels: BTreeSet<_> = tables.labels_of(&thread.labels).iter().map(|label| label.id).collect();
        change(&mut labels);
        fits = labels.len() <= MAX_LABELS;
        if fits {
            thread.labels = labels;
        }
    });
    if !fits {
        return Err(Problem::validation(format!("A thread has at most {MAX_LABELS} labels.")));
    }
    let (_, thread) = changed.ok_or_else(Thread::not_found)?;
    let labels = tables.labels_of(&thread.labels);
    Ok(list(&labels.iter().map(|label| OfThread(label)).collect::<Vec<_>>()))
}
