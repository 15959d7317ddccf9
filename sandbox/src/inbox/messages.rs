//! Captured emails as JSON: `GET /_/messages`, `GET /_/messages/{id}`, `GET /_/messages/{id}/raw`. With `state`, the list contains unsent emails (see
//! [`unsent`]).

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode, header};

use crate::inbox::unsent::{self, Selection};
use crate::inbox::{matching_page, window};
use idempost_reference_server::content::codes::Extracted;
use idempost_reference_server::content::preview::Preview;
use idempost_reference_server::lock::lock;
use idempost_reference_server::mime;
use idempost_reference_server::model::mail::{CapturedAttachment, Mail, MailBodies, Tag};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::mails;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::mails::StoredMail as _;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::list;
use idempost_reference_server::wire::problem::{self, response_with};
use idempost_reference_server::wire::timestamp::to_database_format;

pub(super) fn index(call: &AccountCall<'_>) -> HandlerResult {
    if let Some(wanted) = Selection::read(call)? {
        return unsent::index(call, wanted);
    }
    let page = matching_page(call, &call.tenant.captured, &window(call)?)?;
    Ok(list(&page.show(|mail| MessageItem::new(&call.tenant, mail))))
}

pub(super) fn show(tenant: &Tenant, id: &str) -> HandlerResult {
    Ok(details(tenant, &*mails::find(tenant, id)?))
}

/// Returns all details of an email.
pub(super) fn details(tenant: &Tenant, mail: &Mail) -> Response<Bytes> {
    let bodies = mail.bodies();
    let raw = mail.render(&bodies);
    problem::json(StatusCode::OK, &mail_detail(tenant, mail, bodies, &raw))
}

/// Returns the details of a mail, for callers that already have the bodies and the source.
pub(super) fn mail_detail<'a>(
    tenant: &Tenant,
    mail: &'a Mail,
    bodies: MailBodies,
    raw: &[u8],
) -> MessageDetail<'a> {
    let extracted = mail.extract(bodies.html.as_deref());
    MessageDetail {
        item: MessageItem::new(tenant, mail),
        html: bodies.html,
        text: bodies.text,
        headers: Header::all(raw),
        extracted,
    }
}

pub(super) fn raw(tenant: &Tenant, id: &str) -> HandlerResult {
    let mail = mails::find(tenant, id)?;
    Ok(response_with(mail.mime(), [(header::CONTENT_TYPE, "message/rfc822")]))
}

described! {
    /// A captured email in a list.
    pub(super) struct MessageItem<'a> {
        id: String,
        email_id: String,
        from: &'a str,
        to: Vec<&'a str>,
        cc: Vec<&'a str>,
        bcc: Vec<&'a str>,
        subject: &'a str,
        created_at: String,
        /// The size of the complete message, in bytes.
        size: usize,
        last_event: Option<&'static str>,
        unread: bool,
        tags: &'a [Tag],
        attachments: Vec<CapturedAttachment>,
        #[serde(flatten)]
        preview: Preview,
    }
}

impl<'a> MessageItem<'a> {
    pub(super) fn new(tenant: &Tenant, mail: &'a Mail) -> Self {
        let email = lock(&tenant.emails).get(mail.email_id).cloned();
        Self {
            id: mail.id.to_string(),
            email_id: mail.email_id.to_string(),
            from: mail.from(),
            to: mail.to(),
            cc: mail.cc(),
            bcc: mail.bcc(),
            subject: mail.subject(),
            created_at: to_database_format(mail.captured_at),
            size: mail.size(),
            last_event: email.map(|email| email.last_event().as_str()),
            unread: mail.is_unread(),
            tags: mail.tags(),
            attachments: mail.attachments(),
            preview: mail.preview(),
        }
    }
}

described! {
    /// A captured email.
    pub(super) struct MessageDetail<'a> {
        #[serde(flatten)]
        item: MessageItem<'a>,
        html: Option<Arc<str>>,
        text: Option<Arc<str>>,
        headers: Vec<Header>,
        #[serde(flatten)]
        extracted: Extracted,
    }

    /// A header.
    pub(super) struct Header {
        name: String,
        value: String,
    }
}

impl Header {
    pub(super) fn new(name: &str, value: String) -> Self {
        Self { name: name.to_owned(), value }
    }

    /// Returns the headers of a message.
    pub(super) fn all(message: &[u8]) -> Vec<Self> {
        let parsed = mime::headers(message);
        let headers = parsed.iter().flat_map(mime::unfolded_headers);
        headers.map(|(name, value)| Self::new(name, value)).collect()
    }
}
