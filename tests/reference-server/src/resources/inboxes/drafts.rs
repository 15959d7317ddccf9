//! The drafts of an inbox.

use std::sync::Arc;

use http::StatusCode;
use uuid::Uuid;

use crate::context::Context;
use crate::model::email::attachments::Attachment;
use crate::model::email::recipients::{self, Mailbox};
use crate::model::inboxes::Inbox;
use crate::model::inboxes::draft::{Detail, Group, InboxDraft, Item, Progress};
use crate::resources::emails::accepted_response;
use crate::resources::inboxes::input::read_text;
use crate::resources::inboxes::send::{
    Outgoing, check_recipients, prefix_subject, read_attachments, read_headers, reply_recipients,
    send as send_email,
};
use crate::resources::inboxes::{inbox, inbox_service, member};
use crate::state::quota::QuotaUsed;
use crate::wire::{
    Change, Checked, Fields, HandlerResult, Mode, Problem, answers, input, json, list, shared, uuid,
};

/// The maximum length of a subject, in characters.
const MAX_SUBJECT: usize = 2_000;

/// The fields of a draft, of which every request must contain at least one.
const FIELDS: &[&str] = &["to", "cc", "bcc", "subject", "text", "html", "attachments"];

input! {
    struct DraftPatch(fields) {
        to: Change<Vec<Mailbox>> = fields.patch("to", recipients::read),
        cc: Change<Vec<Mailbox>> = fields.patch("cc", recipients::read),
        bcc: Change<Vec<Mailbox>> = fields.patch("bcc", recipients::read),
        subject: Change<String> = fields.patch("subject", |field| read_text(field, 0, MAX_SUBJECT)),
        html: Change<Arc<str>> = fields.patch("html", shared),
        text: Change<Arc<str>> = fields.patch("text", shared),
        attachments: Change<Vec<Attachment>> = fields.patch("attachments", read_attachments),
        replies_to: Change<(Uuid, Uuid)> = read_reply_target(fields),
    }
}

/// Reads `thread_id` and `reply_to_email_id`: both or neither.
fn read_reply_target(fields: &mut Fields<'_>) -> Checked<Change<(Uuid, Uuid)>> {
    let (thread, email) = (fields.patch("thread_id", uuid), fields.patch("reply_to_email_id", uuid));
    match (thread?, email?) {
        (Change::Set(thread), Change::Set(email)) => Ok(Change::Set((thread, email))),
        (Change::Keep, Change::Keep) => Ok(Change::Keep),
        (Change::Clear | Change::Keep, Change::Clear | Change::Keep) => Ok(Change::Clear),
        _ => Err(fields.report().report("`thread_id` and `reply_to_email_id` must be given together.")),
    }
}

impl DraftPatch {
    fn apply(self, context: &Context<'_>, draft: &mut InboxDraft) -> Result<(), Problem> {
        let Self { to, cc, bcc, subject, html, text, attachments, replies_to } = self;
        for (change, field) in [(to, &mut draft.to), (cc, &mut draft.cc), (bcc, &mut draft.bcc)] {
            change.apply(field);
            field.take_if(|list| list.is_empty());
        }
        subject.apply(&mut draft.subject);
        // Either replaces the whole body.
        if html != Change::Keep || text != Change::Keep {
            (draft.html, draft.text) = (None, None);
            html.apply(&mut draft.html);
            text.apply(&mut draft.text);
            draft.html.take_if(|body| body.is_empty());
            draft.text.take_if(|body| body.is_empty());
        }
        let with_id = |file| (context.state.next_id(), file);
        match attachments {
            Change::Keep => {}
            Change::Clear => draft.attachments.clear(),
            Change::Set(files) => draft.attachments = files.into_iter().map(with_id).collect(),
        }
        replies_to.apply(&mut draft.replies_to);
        check_recipients(draft.recipients())?;
        let Some((thread, email)) = draft.replies_to else { return Ok(()) };
        let tables = &context.tenant.inboxes;
        if tables.threads.get(thread).is_none_or(|thread| thread.inbox != draft.inbox) {
            return Err(Problem::validation(format!(
                "`thread_id` must be the id of a thread of this inbox; there is no thread {thread}."
            )));
        }
        if tables.emails.get(email).is_none_or(|email| email.thread != thread) {
            return Err(Problem::validation(format!(
                "`reply_to_email_id` must be the id of an email of the thread; there is no email {email}."
            )));
        }
        Ok(())
    }
}

/// `GET /inboxes/{inbox}/drafts`: unsent drafts, newest first, 20 by default as in mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let (inbox, window) = (inbox(context)?.id, context.window(Mode::A)?);
    let drafts = &context.tenant.inboxes.drafts;
    Ok(list(&drafts.page_of(&window, [Group::Open(inbox)], |draft| draft.inbox == inbox)?.show(Item)))
}

/// `POST /inboxes/{inbox}/drafts`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let (inbox, id, now) = (inbox(context)?.id, context.state.next_id(), context.now());
    let input = context.body(|fields| {
        fields.require_any(FIELDS);
        DraftPatch::read(fields)
    })?;
    let mut draft = InboxDraft { id, inbox, created_at: now, updated_at: now, ..InboxDraft::default() };
    input.apply(context, &mut draft)?;
    if draft.is_blank() {
        return Err(Problem::validation("A draft must have content; found none."));
    }
    inbox_service(context).create_draft(draft)?;
    Ok(answers::created_response("inbox_draft", id))
}

/// `GET /inboxes/{inbox}/drafts/{draft_id}`. After it was sent, it contains its `email_id`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Detail(&*find(context)?)))
}

/// `PATCH /inboxes/{inbox}/drafts/{draft_id}`: `null` removes a value; `html` or `text` replaces the whole body.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    let input = context.body(|fields| {
        fields.require_any(&[FIELDS, &["thread_id", "reply_to_email_id"]].concat());
        DraftPatch::read(fields)
    })?;
    inbox_service(context).update_draft(id, |draft| input.apply(context, draft))?;
    Ok(answers::reference("inbox_draft", id))
}

/// `DELETE /inboxes/{inbox}/drafts/{draft_id}`. The email of a sent draft remains.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = find(context)?.id;
    inbox_service(context).delete_draft(id);
    Ok(answers::deleted_response("inbox_draft", id))
}

/// `POST /inboxes/{inbox}/drafts/{draft_id}/send`, once. The body is optional. A reply without recipients is sent to the original's sender.
pub fn send(context: &Context<'_>) -> HandlerResult {
    let (inbox, id) = (inbox(context)?, find(context)?.id);
    let headers = if context.request.body().is_empty() {
        None
    } else {
        context.body(|fields| fields.optional("headers", read_headers))?
    };
    let drafts = &context.tenant.inboxes.drafts;
    let draft = drafts.try_update(id, |draft| {
        draft.check_open()?;
        draft.progress = Progress::Sending;
        Ok(draft.clone())
    })?;
    let sent = send_claimed(context, &inbox, draft, headers.unwrap_or_default());
    match &sent {
        Ok((email, _)) => inbox_service(context).finish_draft(id, *email),
        Err(_) => {
            drafts.change(id, |draft| draft.progress = Progress::Open);
        }
    }
    sent.map(|(id, used)| accepted_response(id, used))
}

fn send_claimed(
    context: &Context<'_>,
    inbox: &Inbox,
    draft: InboxDraft,
    headers: Vec<(String, String)>,
) -> Result<(Uuid, QuotaUsed), Problem> {
    let answers = draft.replies_to.and_then(|(_, email)| context.tenant.inboxes.emails.get(email));
    let to = match (draft.to, &answers) {
        (Some(to), _) => to,
        (None, Some(original)) => reply_recipients(inbox, original)?,
        (None, None) => {
            return Err(Problem::validation("The draft needs an address in `to` to be sent."));
        }
    };
    if draft.html.is_none() && draft.text.is_none() {
        return Err(Problem::validation("The draft needs `html` or `text` to be sent."));
    }
    let subject = draft.subject.unwrap_or_else(|| match &answers {
        Some(original) => prefix_subject("Re: ", original),
        None => "(no subject)".to_owned(),
    });
    let email = Outgoing {
        to,
        cc: draft.cc.unwrap_or_default(),
        bcc: draft.bcc.unwrap_or_default(),
        subject,
        html: draft.html,
        text: draft.text,
        attachments: draft.attachments.into_iter().map(|(_, file)| file).collect(),
        headers,
        answers,
    };
    send_email(context, inbox, email)
}

/// Finds the draft of the path.
fn find(context: &Context<'_>) -> Result<Arc<InboxDraft>, Problem> {
    let inbox = inbox(context)?.id;
    member(context, 1, &context.tenant.inboxes.drafts, |draft| draft.inbox == inbox)
}
