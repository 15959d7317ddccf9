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
    problem::json(StatusCode::OK, &MessageDetail::new(tenant, mail, bodies, &raw))
}

pub(super) fn raw(tenant: &Tenant, id: &str) -> HandlerResult {
    let mail = mails::find(tenant, id)?;
    Ok(response_with(mail.mime(), [(header::CONTENT_TYPE, "message/rfc822")]))
}

described! {
    /// A captured email in a list.
    pub(super) struct MessageItem<'a>(tenant: &Tenant, mail: &'a Mail) {
        id: String = mail.id.to_string(),
        email_id: String = mail.email_id.to_string(),
        from: &'a str = mail.from(),
        to: Vec<&'a str> = mail.to(),
        cc: Vec<&'a str> = mail.cc(),
        bcc: Vec<&'a str> = mail.bcc(),
        subject: &'a str = mail.subject(),
        created_at: String = to_database_format(mail.captured_at),
        /// The size of the complete message, in bytes.
        size: usize = mail.size(),
        last_event: Option<&'static str> =
            lock(&tenant.emails).get(mail.email_id).map(|email| email.last_event().as_str()),
        unread: bool = mail.is_unread(),
        tags: &'a [Tag] = mail.tags(),
        attachments: Vec<CapturedAttachment> = mail.attachments(),
        #[serde(flatten)]
        preview: Preview = mail.preview(),
    }

    /// A captured email, with its bodies and its source.
    pub(super) struct MessageDetail<'a>(tenant: &Tenant, mail: &'a Mail, bodies: MailBodies, raw: &[u8]) {
        #[serde(flatten)]
        item: MessageItem<'a> = MessageItem::new(tenant, mail),
        html: Option<Arc<str>> = bodies.html,
        text: Option<Arc<str>> = bodies.text,
        headers: Vec<Header> = Header::all(raw),
        #[serde(flatten)]
        extracted: Extracted = mail.extract(html.as_deref()),
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
