//! The emails of a thread.

use std::sync::Arc;

use http::StatusCode;

use crate::context::Context;
use crate::model::inboxes::email::{InboxEmail, Item};
use crate::resources::inboxes::member;
use crate::resources::inboxes::threads::find as thread;
use crate::wire::{HandlerResult, Mode, Problem, json, list};

/// `GET /inboxes/{inbox}/threads/{thread_id}/emails`: oldest first, so that `after` leads to newer ones; 20 by default, as in mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let (thread, window) = (thread(context)?, context.window(Mode::A)?);
    // A thread has at most 100 emails.
    let emails = context.tenant.inboxes.emails_of(thread.id);
    let page = window.slice(&emails, |email| email.id)?;
    Ok(list(&page.show(Item)))
}

/// `GET /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Item(&*find(context)?)))
}

/// Finds the email of the path.
pub(super) fn find(context: &Context<'_>) -> Result<Arc<InboxEmail>, Problem> {
    let thread = thread(context)?.id;
    member(context, 2, &context.tenant.inboxes.emails, |email| email.thread == thread)
}
