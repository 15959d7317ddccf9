//! Received emails: `GET /emails/receiving`, `GET /emails/receiving/{email_id}`, and the reception itself.
//!
//! The specification doesn't define the full record; it has Resend's shape.

pub mod attachments;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use uuid::Uuid;

use self::attachments::links;
use crate::content::inline_images::embed;
use crate::context::Context;
use crate::delivery::inboxes;
use crate::delivery::webhooks::{notify, payload};
use crate::lock::lock;
use crate::model::received as record;
use crate::model::received::{Authentication, Received, inline_images};
use crate::model::usage::UsageKind;
use crate::state::State;
use crate::state::event_bus::BusEventKind;
use crate::state::moment::Moment;
use crate::state::tenant::Tenant;
use crate::state::{mails, quota};
use crate::store::size;
use crate::wire::{HandlerResult, Mode, Problem, json, list, to_iso, words};

/// Why an email wasn't received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReceived {
    /// The API key is invalid.
    #[error("the API key is invalid")]
    UnknownKey,
    /// The envelope has no recipients.
    #[error("the mail has no recipient")]
    NoRecipient,
    /// The sandbox is strict, and these domains aren't verified for receiving.
    #[error("no recipient's domain is verified for receiving: {}", .0.join(", "))]
    UnknownDomains(Vec<String>),
    /// The message has no headers.
    #[error("the mail is not a message with headers (RFC 5322)")]
    Unreadable,
    /// The message exceeds a limit of its parts or can't be parsed, as the text explains.
    #[error("the mail {0}")]
    TooComplex(&'static str),
}

/// Receives an email for its allowed recipients.
pub fn receive(
    state: &State,
    tenant: &Arc<Tenant>,
    recipients: Vec<String>,
    authentication: Authentication,
    raw: Bytes,
) -> Result<Uuid, NotReceived> {
    if recipients.is_empty() {
        return Err(NotReceived::NoRecipient);
    }
    let (welcome, unknown): (Vec<_>, Vec<_>) =
        recipients.into_iter().partition(|recipient| can_receive(state, tenant, recipient));
    if welcome.is_empty() {
        return Err(NotReceived::UnknownDomains(unknown));
    }
    let id = state.next_id();
    let received = Received::read(id, tenant.clock.now(), welcome, authentication, raw, || state.next_id())
        .map_err(|reason| NotReceived::TooComplex(reason.text()))?
        .ok_or(NotReceived::Unreadable)?;
    let size = size::record(&received);
    quota::count(tenant, UsageKind::Received, received.created_at);
    let received = Arc::new(received);
    lock(&tenant.received).insert(id, Arc::clone(&received));
    mails::schedule_expiry(state, tenant, received.created_at);
    state.tenants.count_mail(tenant, id, size);
    state.event_bus.publish(&tenant.name, BusEventKind::Received { id });
    notify(Moment { state, tenant, at: received.created_at }, "email.received", Some(id), || {
        payload::received(&received)
    });
    inboxes::receive(state, tenant, &received);
    Ok(id)
}

/// Whether this recipient may receive emails: in a strict sandbox, its domain must be verified, except for the address of an inbox that mail is
/// forwarded to.
pub fn can_receive(state: &State, tenant: &Tenant, recipient: &str) -> bool {
    let domain = recipient.rsplit_once('@').map_or("", |(_, domain)| domain);
    !state.settings.strict_domains
        || tenant.domain(domain).is_some_and(|domain| domain.can_receive())
        || tenant.inboxes.forwarded(recipient).is_some()
}

/// `GET /emails/receiving`, mode B.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let window = context.window(Mode::B)?;
    let page = window.show(&**lock(&context.tenant.received))?;
    Ok(list(&page.show(record::Item)))
}

/// The maximum size of the images in the HTML of a response, in bytes; Resend's limit for a whole response.
const MAX_EMBEDDED: usize = 100_000_000;

words! {
    /// How the HTML of a response refers to the email's images.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum HtmlFormat {
        /// The images are part of the HTML.
        DataUri = "data_uri",
        /// The images are referenced by content ID.
        Cid = "cid",
    }
}

/// `GET /emails/receiving/{email_id}`.
pub fn show(context: &Context<'_>) -> HandlerResult {
    let email = find(context)?;
    let html_format = context.one_of("html_format", HtmlFormat::WORDS)?;
    let mut html_format = html_format.unwrap_or(HtmlFormat::DataUri);
    let mut html = email.html.as_deref().map(Cow::Borrowed);
    if html_format == HtmlFormat::DataUri
        && let Some(text) = &mut html
    {
        match embed(text, || inline_images(&email.raw), MAX_EMBEDDED) {
            Some(embedded) => *text = embedded.into(),
            None => html_format = HtmlFormat::Cid,
        }
    }
    let links = links(context, &email);
    Ok(json(
        StatusCode::OK,
        &Record {
            object: "email",
            item: record::Item(&email),
            html,
            html_format: html_format.as_str(),
            text: email.text.as_deref(),
            headers: &email.headers,
            authentication: email.authentication,
            raw: Raw { download_url: links.url(Uuid::nil()), expires_at: to_iso(links.expires_at()) },
        },
    ))
}

/// Finds the email of the path.
fn find(context: &Context<'_>) -> Result<Arc<Received>, Problem> {
    let id = context.id("a received email")?;
    lock(&context.tenant.received)
        .get(id)
        .cloned()
        .ok_or_else(|| Problem::not_found("Received email not found."))
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: record::Item<'a>,
    html: Option<Cow<'a, str>>,
    /// The format of this response, possibly not the requested one.
    html_format: &'static str,
    text: Option<&'a str>,
    headers: &'a BTreeMap<String, String>,
    authentication: Option<Authentication>,
    raw: Raw,
}

/// A download link to the raw message.
#[derive(Serialize)]
struct Raw {
    download_url: String,
    expires_at: String,
}
