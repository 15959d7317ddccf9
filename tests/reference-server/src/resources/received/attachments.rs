//! The attachments of received emails.

use uuid::Uuid;

use crate::context::Context;
use crate::lock::lock;
use crate::model::received::{AttachmentItem, Received};
use crate::resources::attachments::{self, File, Links};
use crate::resources::received::find;
use crate::state::State;
use crate::state::mails::Folder;
use crate::wire::{HandlerResult, Problem};

/// `GET /emails/receiving/{email_id}/attachments`, mode B: in the order of the message.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    attachments::page(context, &links(context, &email), &items(&email))
}

/// `GET /emails/receiving/{email_id}/attachments/{attachment_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    attachments::show(context, &links(context, &email), items(&email))
}

/// Creates the download URLs of an email: for its attachments by their IDs, and for the raw message by the nil ID.
pub(super) fn links<'a>(context: &Context<'a>, email: &Received) -> Links<'a> {
    Links::new(context.now(), context.state, Folder::Received, email.id)
}

fn items(email: &Received) -> Vec<(Uuid, AttachmentItem<'_>)> {
    email.attachments.iter().map(|attachment| (attachment.id, AttachmentItem(attachment))).collect()
}

/// Resolves a signed URL, if it is valid and not expired.
pub fn open(state: &State, token: &str) -> Result<File, Problem> {
    let target = attachments::target(state, Folder::Received, token)?;
    let email =
        lock(&target.tenant.received).get(target.email).cloned().ok_or_else(attachments::deleted_problem)?;
    if target.attachment.is_nil() {
        return Ok(File {
            filename: format!("{}.eml", email.id),
            content_type: "message/rfc822".into(),
            bytes: email.raw.clone(),
        });
    }
    let found = email.attachments.iter().find(|one| one.id == target.attachment);
    let found = found.ok_or_else(attachments::deleted_problem)?;
    Ok(File {
        filename: found.filename.clone(),
        content_type: found.content_type.clone(),
        bytes: email.content(found).map_err(|reason| Problem::validation(reason.placeholder_text()))?,
    })
}
