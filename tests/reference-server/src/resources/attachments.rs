//! Shared by the attachments of sent and received emails: responses, and signed download URLs, valid for an hour.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::state::State;
use crate::state::mails::Folder;
use crate::state::tenant::Tenant;
use crate::wire::{HandlerResult, Mode, Problem, json, list, to_iso};

/// The lifetime of a download URL. The specification says that it is limited, without a value.
const LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// The purpose of the seals of a folder's download URLs, and their path.
fn purpose_and_path(folder: Folder) -> (&'static str, &'static str) {
    match folder {
        Folder::Sent => ("sent attachment", "files"),
        Folder::Received => ("received", "received-files"),
    }
}

/// `docs/specification.md`, Received-email attachment (list item).
#[derive(Serialize)]
struct Detail<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'static str>,
    #[serde(flatten)]
    item: T,
    download_url: String,
    expires_at: String,
}

/// Responds with a page of an email's attachments, mode B, in the order of the message.
pub(super) fn page<T: Clone + Serialize>(
    context: &Context<'_>,
    links: &Links<'_>,
    items: &[(Uuid, T)],
) -> HandlerResult {
    let page = context.window(Mode::B)?.slice(items, |(id, _)| *id)?;
    Ok(list(&page.map(|(id, item)| links.detail(id, item))))
}

/// Responds with the attachment of the second path parameter.
pub(super) fn show<T: Serialize>(
    context: &Context<'_>,
    links: &Links<'_>,
    items: Vec<(Uuid, T)>,
) -> HandlerResult {
    let id = context.id_at(1, "an attachment")?;
    let item = items.into_iter().find(|(known, _)| *known == id);
    let (_, item) = item.ok_or_else(|| Problem::not_found("Attachment not found."))?;
    Ok(json(StatusCode::OK, &Detail { object: Some("attachment"), ..links.detail(id, item) }))
}

/// Creates the signed download URLs of one email.
pub(super) struct Links<'a> {
    state: &'a State,
    folder: Folder,
    email: Uuid,
    expires_at: Timestamp,
}

impl<'a> Links<'a> {
    pub(super) fn new(now: Timestamp, state: &'a State, folder: Folder, email: Uuid) -> Self {
        let expires_at = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX);
        Self { state, folder, email, expires_at }
    }

    pub(super) fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    pub(super) fn url(&self, attachment: Uuid) -> String {
        let mut bytes = Vec::with_capacity(40);
        bytes.extend(self.email.as_bytes());
        bytes.extend(attachment.as_bytes());
        bytes.extend(self.expires_at.as_millisecond().to_be_bytes());
        let (links, (purpose, path)) = (&self.state.links, purpose_and_path(self.folder));
        format!("{}/_/{path}/{}", links.address(), links.seal(purpose, &bytes))
    }

    fn detail<T>(&self, id: Uuid, item: T) -> Detail<T> {
        Detail { object: None, item, download_url: self.url(id), expires_at: to_iso(self.expires_at) }
    }
}

/// A file to download.
pub struct File {
    pub filename: String,
    pub content_type: String,
    pub bytes: Bytes,
}

/// The target of a download URL.
pub(super) struct Target {
    pub(super) tenant: Arc<Tenant>,
    pub(super) email: Uuid,
    pub(super) attachment: Uuid,
}

/// Resolves the token of a download URL, if it is valid and not expired.
pub(super) fn target(state: &State, folder: Folder, token: &str) -> Result<Target, Problem> {
    let bytes = state.links.open(purpose_and_path(folder).0, token);
    let (email, attachment, until) = bytes.as_deref().and_then(decode_token).ok_or_else(|| {
        invalid_link("invalid_link", "This download URL is not signed by this service, or was modified.")
    })?;
    if state.now_for_mail(email).as_millisecond() >= until {
        return Err(invalid_link(
            "expired_link",
            "This download URL has expired; request the attachment again.",
        ));
    }
    let tenant = state.tenants.owner(email).ok_or_else(deleted_problem)?;
    Ok(Target { tenant, email, attachment })
}

/// The error for a link to an email that was deleted.
pub(super) fn deleted_problem() -> Problem {
    Problem::not_found("The email no longer exists.")
}

fn invalid_link(name: &'static str, message: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, name, message)
}

fn decode_token(bytes: &[u8]) -> Option<(Uuid, Uuid, i64)> {
    let (email, rest) = bytes.split_at_checked(16)?;
    let (attachment, until) = rest.split_at_checked(16)?;
    let until = i64::from_be_bytes(until.try_into().ok()?);
    Some((Uuid::from_slice(email).ok()?, Uuid::from_slice(attachment).ok()?, until))
}
