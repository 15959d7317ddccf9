//! The attachments of received emails, and their signed download URLs, valid for an hour.

use bytes::Bytes;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::lock::lock;
use crate::model::received::{Attachment, AttachmentItem, Received};
use crate::resources::received::named;
use crate::state::State;
use crate::store::ledger::Ledger;
use crate::wire::answers::Answer;
use crate::wire::paging::{Mode, list};
use crate::wire::problem::{Problem, json};
use crate::wire::timestamp::iso;

/// The lifetime of a download URL. The specification says that it is limited, without a value.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);
const PURPOSE: &str = "received";

/// `GET /emails/receiving/{email_id}/attachments`, mode B: in the order of the message.
pub(crate) fn index(context: &Context<'_>) -> Answer {
    let email = named(context)?;
    let window = context.window(Mode::B)?;
    let links = Links::now(context.state, &email);
    // A ledger lists the newest first; a message lists the first part first.
    let mut ledger = Ledger::new();
    for attachment in email.attachments.iter().rev() {
        ledger.insert(attachment.id, attachment);
    }
    let page = window.page_where(&ledger, |_| true)?;
    Ok(list(&page.map(|attachment| Detail::of(attachment, &links))))
}

/// `GET /emails/receiving/{email_id}/attachments/{attachment_id}`.
pub(crate) fn show(context: &Context<'_>) -> Answer {
    let email = named(context)?;
    let id = context.id_at(1, "an attachment")?;
    let attachment = email.attachments.iter().find(|attachment| attachment.id == id);
    let attachment = attachment.ok_or_else(|| Problem::not_found("Attachment not found."))?;
    let links = Links::now(context.state, &email);
    let record = Record { object: "attachment", detail: Detail::of(attachment, &links) };
    Ok(json(StatusCode::OK, &record))
}

/// `SPEC.md`, Received-email attachment (list item).
#[derive(Serialize)]
struct Detail<'a> {
    #[serde(flatten)]
    item: AttachmentItem<'a>,
    download_url: String,
    expires_at: String,
}

impl<'a> Detail<'a> {
    fn of(attachment: &'a Attachment, links: &Links<'_>) -> Self {
        Self {
            item: AttachmentItem(attachment),
            download_url: links.to(attachment.id),
            expires_at: iso(links.expires_at()),
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    detail: Detail<'a>,
}

/// Creates the signed download URLs of one email.
pub(super) struct Links<'a> {
    state: &'a State,
    email: Uuid,
    expires_at: Timestamp,
}

impl<'a> Links<'a> {
    pub(super) fn now(state: &'a State, email: &Received) -> Self {
        let now = state.clock.now();
        let expires_at = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX);
        Self { state, email: email.id, expires_at }
    }

    pub(super) fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The URL of the raw message.
    pub(super) fn raw(&self) -> String {
        self.to(Uuid::nil())
    }

    pub(super) fn to(&self, attachment: Uuid) -> String {
        let mut bytes = Vec::with_capacity(40);
        bytes.extend(self.email.as_bytes());
        bytes.extend(attachment.as_bytes());
        bytes.extend(self.expires_at.as_millisecond().to_be_bytes());
        let links = &self.state.links;
        format!("{}/_/received/{}", links.address(), links.seal(PURPOSE, &bytes))
    }
}

/// A file to download.
pub(crate) struct File {
    pub(crate) filename: String,
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

/// Resolves a signed URL, if it is valid and not expired.
pub(crate) fn open(state: &State, token: &str) -> Result<File, Problem> {
    let bytes = state.links.open(PURPOSE, token);
    let (email, attachment, until) = bytes.as_deref().and_then(take_apart).ok_or_else(|| {
        refused("invalid_link", "This download URL is not signed by this service, or was modified.")
    })?;
    if state.clock.now().as_millisecond() >= until {
        return Err(refused("expired_link", "This download URL has expired; request the attachment again."));
    }
    let gone = || Problem::not_found("The email no longer exists.");
    let tenant = state.tenants.owner(email).ok_or_else(gone)?;
    let email = lock(&tenant.received).get(email).cloned().ok_or_else(gone)?;
    if attachment.is_nil() {
        return Ok(File {
            filename: format!("{}.eml", email.id),
            content_type: "message/rfc822".into(),
            bytes: email.raw.clone(),
        });
    }
    let found = email.attachments.iter().find(|one| one.id == attachment).ok_or_else(gone)?;
    Ok(File {
        filename: found.filename.clone(),
        content_type: found.content_type.clone(),
        bytes: email.content(found).map_err(|reason| Problem::validation(reason.not_shown()))?,
    })
}

fn refused(name: &'static str, message: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, name, message)
}

fn take_apart(bytes: &[u8]) -> Option<(Uuid, Uuid, i64)> {
    let (email, rest) = bytes.split_at_checked(16)?;
    let (attachment, until) = rest.split_at_checked(16)?;
    let until = i64::from_be_bytes(until.try_into().ok()?);
    Some((Uuid::from_slice(email).ok()?, Uuid::from_slice(attachment).ok()?, until))
}
