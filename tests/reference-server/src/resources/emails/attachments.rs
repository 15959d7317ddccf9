//! The attachments of sent emails.
//!
//! An email's content is stored until it is sent, and then in the inbox. An email that won't be sent no longer has attachments, and one whose hosted
//! files are being fetched has none yet.

use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::lock::lock;
use crate::model::email::Email;
use crate::model::email::attachments::{Attachment, Content, attachment_id};
use crate::resources::attachments::{self, File, Links};
use crate::resources::emails::find;
use crate::state::State;
use crate::state::mails::Folder;
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, Problem};

/// `GET /emails/{email_id}/attachments`, mode B: in the order of the request.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    let files = stored_attachments(&context.tenant, &email);
    attachments::page(
        context,
        &Links::new(context.now(), context.state, Folder::Sent, email.id),
        &items(&email, &files),
    )
}

/// `GET /emails/{email_id}/attachments/{attachment_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    let files = stored_attachments(&context.tenant, &email);
    attachments::show(
        context,
        &Links::new(context.now(), context.state, Folder::Sent, email.id),
        items(&email, &files),
    )
}

/// Resolves a signed URL, if it is valid and not expired.
pub fn open(state: &State, token: &str) -> Result<File, Problem> {
    let target = attachments::target(state, Folder::Sent, token)?;
    let email =
        lock(&target.tenant.emails).get(target.email).cloned().ok_or_else(attachments::deleted_problem)?;
    let files = stored_attachments(&target.tenant, &email).into_iter().enumerate();
    let file = files
        .map(|(index, file)| (attachment_id(email.id, index), file))
        .find(|(id, _)| *id == target.attachment);
    let (_, Attachment { filename, content_type, content, .. }) =
        file.ok_or_else(attachments::deleted_problem)?;
    match content {
        Content::Bytes(bytes) => Ok(File { filename, content_type, bytes }),
        Content::Hosted(_) => {
            Err(Problem::not_found("The file is fetched when the email is sent, and isn't stored yet."))
        }
    }
}

/// The attachments of an email, if it has content. Only links to the files are copied.
pub(super) fn stored_attachments(tenant: &Tenant, email: &Email) -> Vec<Attachment> {
    email.waiting_attachments().unwrap_or_else(|| {
        let mail = email.captured_id().and_then(|id| lock(&tenant.captured).get(id).cloned());
        mail.map(|mail| mail.files().to_vec()).unwrap_or_default()
    })
}

pub(super) fn items<'a>(email: &Email, files: &'a [Attachment]) -> Vec<(Uuid, Item<'a>)> {
    let items = files.iter().enumerate().map(|(index, file)| Item::new(attachment_id(email.id, index), file));
    items.map(|item| (item.id, item)).collect()
}

/// An attachment, with the fields of a received one.
#[derive(Clone, Serialize)]
pub(super) struct Item<'a> {
    id: Uuid,
    filename: &'a str,
    content_type: &'a str,
    content_id: Option<&'a str>,
    content_disposition: &'static str,
    size: usize,
}

impl<'a> Item<'a> {
    fn new(id: Uuid, file: &'a Attachment) -> Self {
        Self {
            id,
            filename: &file.filename,
            content_type: &file.content_type,
            content_id: file.content_id.as_deref(),
            content_disposition: if file.content_id.is_some() { "inline" } else { "attachment" },
            // Unknown until it is fetched.
            size: file.content.bytes().len(),
        }
    }
}
