//! Inboxes, in beta: the mail of an address in threads, with drafts and labels.
//!
//! The specification doesn't define them; the shapes are Resend's, whose operations are in private beta and may still change. A path names an inbox
//! by its ID or its address. Emails that are sent with `POST /emails` don't appear in an inbox.

pub mod agent;
pub mod drafts;
pub mod emails;
pub mod input;
pub mod labels;
pub mod search;
pub mod send;
pub mod threads;

use std::sync::Arc;

use http::StatusCode;

use self::input::read_text;
use crate::context::Context;
use crate::delivery::inboxes::InboxService;
use crate::model::email::recipients::Mailbox;
use crate::model::inboxes::{Agent, Detail, Inbox, Item};
use crate::resources::contacts::read_email;
use crate::resources::received::can_receive;
use crate::store::table::{Record, Table};
use crate::wire::input::input;
use crate::wire::{Change, HandlerResult, Mode, Problem, answers, boolean, json, list, replace};

/// The maximum length of an inbox's name, in characters.
const MAX_NAME: usize = 64;
/// The maximum length of the sender's name, in characters.
const MAX_FROM_NAME: usize = 78;

input! {
    struct NewInbox(fields; requires "email_address") {
        address: String = fields.required("email_address", read_email),
        name: Option<String> = fields.optional("name", |field| read_text(field, 1, MAX_NAME)),
        from_name: Option<String> = fields.optional("from_name", |field| read_text(field, 0, MAX_FROM_NAME)),
        forwarding: Option<bool> = fields.optional("forwarding", boolean),
    }
}

/// `POST /inboxes`. With `forwarding` another provider receives the mail, and forwards it to the `receiving_address`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let NewInbox { address, name, from_name, forwarding } = context.body(NewInbox::read)?;
    let (id, now) = (context.state.next_id(), context.now());
    let forwards = forwarding.unwrap_or(false);
    if !forwards && !can_receive(context.state, &context.tenant, &address) {
        return Err(Problem::validation(
            "`email_address` must be of a domain that is verified for receiving, or `forwarding` must be true.",
        ));
    }
    let domain = address.rsplit_once('@').and_then(|(_, domain)| context.tenant.domain(domain));
    let inbox = Inbox {
        id,
        name: name.unwrap_or_else(|| address.clone()),
        receiving_address: forwards.then(|| format!("{}@inbound.sandbox.invalid", id.simple())),
        address,
        domain: domain.map_or_else(|| context.state.next_id(), |domain| domain.id),
        from_name: from_name.filter(|name| !name.is_empty()),
        agent: Agent::default(),
        last_received: None,
        created_at: now,
        updated_at: now,
    };
    inbox_service(context).create(inbox)?;
    Ok(answers::created_response("inbox", id))
}

/// `GET /inboxes`: 20 by default, as in mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let (tables, window) = (&context.tenant.inboxes, context.window(Mode::A)?);
    Ok(list(&tables.inboxes.page(&window)?.map(|inbox| tables.counted(inbox)).show(Item)))
}

/// `GET /inboxes/{inbox}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    Ok(json(StatusCode::OK, &Detail(&context.tenant.inboxes.counted(inbox(context)?))))
}

input! {
    struct InboxPatch(fields; any "name", "from_name") {
        name: Option<String> = fields.optional("name", |field| read_text(field, 1, MAX_NAME)),
        from_name: Change<String> = fields.patch("from_name", |field| read_text(field, 0, MAX_FROM_NAME)),
    }
}

/// `PATCH /inboxes/{inbox}`: name and sender's name. `null` or an empty string removes the latter.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = inbox(context)?.id;
    let InboxPatch { name, from_name } = context.body(InboxPatch::read)?;
    inbox_service(context).update(id, |inbox| {
        replace(&mut inbox.name, name);
        from_name.apply(&mut inbox.from_name);
        inbox.from_name.take_if(|name| name.is_empty());
    })?;
    Ok(answers::reference("inbox", id))
}

/// `DELETE /inboxes/{inbox}`: also deletes its threads, drafts and labels. Its received and sent emails remain in their lists.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = inbox(context)?.id;
    inbox_service(context).delete(id);
    Ok(answers::deleted_response("inbox", id))
}

fn inbox_service<'a>(context: &'a Context<'_>) -> InboxService<'a> {
    InboxService { moment: context.moment(), source: "api" }
}

/// Finds the inbox of the path.
fn inbox(context: &Context<'_>) -> Result<Arc<Inbox>, Problem> {
    context.find_by_id_or_key(0, &context.tenant.inboxes.inboxes)
}

/// Finds the record of a path parameter, if it belongs to the inbox.
fn member<T: Record>(
    context: &Context<'_>,
    parameter: usize,
    table: &Table<T>,
    belongs: impl Fn(&T) -> bool,
) -> Result<Arc<T>, Problem> {
    let found = context.find_at(parameter, table)?;
    if belongs(&found) { Ok(found) } else { Err(T::not_found()) }
}

/// The sender of emails from an inbox.
fn inbox_sender(inbox: &Inbox) -> Result<Mailbox, Problem> {
    let text = crate::model::received::format_mailbox(inbox.from_name.as_deref(), &inbox.address);
    Mailbox::parse(&text).map_err(|reason| Problem::application(format!("The inbox's address {reason}.")))
}

/// Whether the address is the inbox's own.
fn is_own(inbox: &Inbox, address: &str) -> bool {
    let own = [Some(&inbox.address), inbox.receiving_address.as_ref()];
    own.into_iter().flatten().any(|own| Inbox::normalize(own) == Inbox::normalize(address))
}
