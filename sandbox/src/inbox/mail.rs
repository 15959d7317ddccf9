//! The details of one email, captured or received: its source, bodies and files.

pub(super) mod remote_images;
pub(super) mod sanitized;

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use self::sanitized::Colors;
use crate::inbox::folder;
use crate::inbox::messages::{Header, MessageItem};
use crate::inbox::search::{Search, Searchable};
use crate::inbox::unsent::{self, UnsentItem};
use idempost_reference_server::content::codes::{Extracted, extract};
use idempost_reference_server::content::inline_images::InlineImages;
use idempost_reference_server::content::preview::Preview;
use idempost_reference_server::control::downloads::{attachment_response, inert_response};
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::Email;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::model::received::{
    Attachment, Received, attachment_content, attachments, inline_images,
};
use idempost_reference_server::route::{AccountCall, Call};
use idempost_reference_server::state::mails::{self, Folder};
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::store::mails::{Mails, StoredMail};
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::problem::{self, Problem};
use idempost_reference_server::wire::timestamp::to_database_format;
use idempost_reference_server::wire::view::view;

/// The parameter of the HTML on the page, besides the colors.
pub(super) const HTML_QUERY: &[Input] = &[Input::new(
    "images",
    Kind::Words(|| words_of(&LOADED)),
    "Whether to embed the remote images that have been loaded; by default, none is shown",
)];
const LOADED: [(&str, ()); 1] = [("loaded", ())];
/// The parameter of a file.
pub(super) const FILE_QUERY: &[Input] = &[Input::new(
    "as",
    Kind::Words(|| words_of(&PDF)),
    "The type to show the file with; by default, it is downloaded",
)];
const PDF: [(&str, ()); 1] = [("pdf", ())];

/// An email shown on the page.
pub(super) enum MailView {
    Sent(Arc<Mail>),
    /// An unsent email: it has bodies, but neither source nor files.
    Unsent(Arc<Email>),
    Received(Arc<Received>),
}

impl MailView {
    /// Finds the email for a path with a folder and an ID.
    pub(super) fn from_call(call: &AccountCall<'_>) -> Result<Self, Problem> {
        Self::find(&call.tenant, folder(call), &call.parameter(1))
    }

    pub(super) fn find(tenant: &Tenant, folder: Folder, id: &str) -> Result<Self, Problem> {
        match folder {
            Folder::Sent => mails::find(tenant, id).map(Self::Sent).or_else(|missing| {
                let email = Uuid::try_parse(id).ok().and_then(|id| unsent::find(&lock(&tenant.emails), id));
                email.map(Self::Unsent).ok_or(missing)
            }),
            Folder::Received => Uuid::try_parse(id)
                .ok()
                .and_then(|id| lock(&tenant.received).get(id).cloned())
                .map(Self::Received)
                .ok_or_else(|| Problem::not_found("Received email not found.")),
        }
    }

    /// Returns the matching mails of a folder, newest first. The search runs without the lock of the mails.
    pub(super) fn search(
        tenant: &Tenant,
        folder: Folder,
        search: &Search,
        canceled: &Cancellation,
    ) -> Result<Vec<Self>, Problem> {
        match folder {
            Folder::Sent => matching(tenant, &tenant.captured, search, canceled, Self::Sent),
            Folder::Received => matching(tenant, &tenant.received, search, canceled, Self::Received),
        }
    }

    /// Returns the mail as its lists search it.
    pub(super) fn searchable(&self) -> &dyn Searchable {
        match self {
            Self::Sent(mail) => &**mail,
            Self::Unsent(email) => &**email,
            Self::Received(mail) => &**mail,
        }
    }

    pub(super) fn id(&self) -> String {
        self.view_id().to_string()
    }

    /// Returns the ID of a mail's email. For a captured mail that was deleted, `id` must be the email's own ID.
    pub(super) fn find_email(tenant: &Tenant, folder: Folder, id: &str) -> Result<Uuid, Problem> {
        Self::find(tenant, folder, id).map(|mail| mail.email_id()).or_else(|missing| {
            let email = Uuid::try_parse(id).ok().filter(|id| lock(&tenant.emails).contains(*id));
            email.filter(|_| folder == Folder::Sent).ok_or(missing)
        })
    }

    /// Returns the ID of the mail's email; for a received email, its own ID.
    pub(super) fn email_id(&self) -> Uuid {
        match self {
            Self::Sent(mail) => mail.email_id,
            other => other.view_id(),
        }
    }

    /// Returns the view's own ID, which is the key of its remote images.
    pub(super) fn view_id(&self) -> Uuid {
        match self {
            Self::Sent(mail) => mail.id,
            Self::Unsent(email) => email.id,
            Self::Received(mail) => mail.id,
        }
    }

    /// Returns the envelope sender; `None` if the message has none.
    pub(super) fn sender(&self) -> Option<&str> {
        match self {
            Self::Sent(mail) => Some(mail.sender()),
            Self::Unsent(_) => None,
            Self::Received(mail) => Some(&mail.from),
        }
    }

    pub(super) fn source(&self) -> Result<Bytes, Problem> {
        match self {
            Self::Sent(mail) => Ok(mail.mime()),
            Self::Unsent(_) => Err(no_message()),
            Self::Received(mail) => Ok(mail.raw.clone()),
        }
    }

    /// Returns the files in message order, each with its name and size. An unparsable message has none.
    pub(super) fn file_list(&self) -> Vec<(String, usize)> {
        let files = self.source().map(|source| attachments(&source).unwrap_or_default()).unwrap_or_default();
        files.into_iter().map(|file| (file.filename, file.size)).collect()
    }

    pub(super) fn html(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Sent(mail) => mail.html().map(|html| html.to_string().into()),
            Self::Unsent(email) => email.bodies.html().map(|html| html.to_string().into()),
            Self::Received(mail) => mail.html.as_deref().map(Cow::Borrowed),
        }
    }

    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Sent(mail) => mail.text().map(|text| text.to_string().into()),
            Self::Unsent(email) => email.bodies.text().map(|text| text.to_string().into()),
            Self::Received(mail) => mail.text.as_deref().map(Cow::Borrowed),
        }
    }

    /// Returns the email's one-time codes and links.
    fn extract(&self) -> Extracted {
        match self {
            Self::Sent(mail) => mail.extract(mail.html().as_deref()),
            Self::Unsent(email) => {
                let (html, text) = (email.bodies.html(), email.bodies.explicit_text());
                extract(&email.subject, html.as_deref(), text.as_deref())
            }
            Self::Received(mail) => extract(&mail.subject, mail.html.as_deref(), mail.text.as_deref()),
        }
    }

    /// Returns the HTML body as an isolated document: without scripts and external resources, but with the message's own inline images embedded.
    pub(super) fn html_document(&self, canceled: &Cancellation) -> HandlerResult {
        sanitized::respond(&self.html_body()?, Colors::Own, || self.inline_images(), canceled)
    }

    /// As above, for the page: with the remote images that have been loaded, or other colors, if the query asks for it.
    pub(super) fn html_page(&self, call: &Call<'_>) -> HandlerResult {
        let (state, parameters) = (call.state, call.parameters());
        let (images, colors) = (parameters.one_of("images", &LOADED)?, Colors::read(&parameters)?);
        let html = self.html_body()?;
        let loaded = state.images.get(self.view_id(), state.clock.now());
        let html = match loaded.filter(|_| images.is_some()) {
            Some(loaded) => Cow::Owned(remote_images::embed(&html, &loaded).into_owned()),
            None => html,
        };
        sanitized::respond(&html, colors, || self.inline_images(), &call.cancellation())
    }

    fn html_body(&self) -> Result<Cow<'_, str>, Problem> {
        self.html().ok_or_else(|| Problem::not_found("The email has no HTML body."))
    }

    /// Returns the inline images of the HTML. An unparsable message has none.
    fn inline_images(&self) -> InlineImages {
        self.source().map(|source| inline_images(&source)).unwrap_or_default()
    }

    /// Returns the text body.
    pub(super) fn text_page(&self) -> HandlerResult {
        let text = self.text().ok_or_else(|| Problem::not_found("The email has no text body."))?;
        Ok(inert_response(Bytes::copy_from_slice(text.as_bytes()), "text/plain; charset=utf-8"))
    }

    /// Returns the raw message as a download.
    pub(super) fn download(&self) -> HandlerResult {
        Ok(attachment_response(self.source()?, "message/rfc822", &format!("{}.eml", self.id())))
    }

    /// Returns one of the files, as the query asks for it.
    pub(super) fn file_for(&self, call: &Call<'_>) -> HandlerResult {
        let as_pdf = call.parameters().one_of("as", &PDF)?.is_some();
        self.file(&call.parameter(2), as_pdf)
    }

    /// Returns one of the files as a download, or for display as a PDF document.
    pub(super) fn file(&self, place: &str, as_pdf: bool) -> HandlerResult {
        let source = self.source()?;
        let files = attachments(&source).map_err(|reason| Problem::validation(reason.placeholder_text()))?;
        let file = place.parse::<usize>().ok().and_then(|place| files.get(place));
        let file = file.ok_or_else(|| Problem::not_found("Attachment not found."))?;
        let bytes = attachment_content(&source, file)
            .map_err(|reason| Problem::validation(reason.placeholder_text()))?;
        if !as_pdf {
            return Ok(attachment_response(bytes, &file.content_type, &file.filename));
        }
        // Since the type can't be sniffed, a browser passes the file to its PDF viewer only.
        if !bytes.starts_with(b"%PDF-") {
            return Err(Problem::validation("The content of the file isn't PDF."));
        }
        Ok(inert_response(bytes, "application/pdf"))
    }

    /// Returns all details except the bodies.
    pub(super) fn details(&self, tenant: &Tenant) -> Response<Bytes> {
        // An unsent email has neither headers nor files.
        let source = self.source().unwrap_or_default();
        let (files, not_shown) = match attachments(&source) {
            Ok(files) => (files, None),
            Err(reason) => (Vec::new(), Some(reason.placeholder_text())),
        };
        problem::json(StatusCode::OK, &EmailDetails::new(self, tenant, &source, &files, not_shown))
    }
}

/// 404 for an unsent email.
pub(super) fn no_message() -> Problem {
    Problem::not_found("The email was not sent, so there is no message.")
}

fn matching<T: StoredMail + Searchable>(
    tenant: &Tenant,
    mails: &Mutex<Mails<T>>,
    search: &Search,
    canceled: &Cancellation,
    view: fn(Arc<T>) -> MailView,
) -> Result<Vec<MailView>, Problem> {
    let mut all = lock(mails).newest_first().cloned().collect();
    search.retain_matching(&mut all, tenant, canceled)?;
    Ok(all.into_iter().map(view).collect())
}

described! {
    /// An email.
    pub(super) struct EmailDetails<'a>(
        view: &'a MailView, tenant: &Tenant, source: &[u8], attachments: &'a [Attachment], reason: Option<String>
    ) {
        #[serde(flatten)]
        mail: Item<'a> = match view {
            MailView::Sent(mail) => Item::Sent(SentItem::Captured(Box::new(MessageItem::new(tenant, mail)))),
            MailView::Unsent(email) => Item::Sent(SentItem::Unsent(UnsentItem(email))),
            MailView::Received(mail) => Item::Received(ReceivedItem(mail)),
        },
        /// In bytes.
        html_size: Option<usize> = view.html().map(|html| html.len()),
        text_size: Option<usize> = view.text().map(|text| text.len()),
        headers: Vec<Header> = Header::all(source),
        /// In message order; the index is `n` in `files/{n}`.
        files: Vec<File<'a>> = attachments.iter().map(File).collect(),
        #[serde(flatten)]
        extracted: Extracted = view.extract(),
        /// Why an unparsable message isn't shown.
        not_shown: Option<String> = reason,
    }

    /// A sent or unsent email in a list.
    #[derive(Serialize)]
    #[serde(untagged)]
    pub(super) enum SentItem<'a> {
        Captured(Box<MessageItem<'a>>),
        Unsent(UnsentItem<'a>),
    }

    /// An email in a list.
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Item<'a> {
        Sent(SentItem<'a>),
        Received(ReceivedItem<'a>),
    }
}

view! {
    described File of file: Attachment {
        filename: file.filename,
        content_type: file.content_type,
        size: file.size,
        content_id: file.content_id,
        inline: file.inline,
    }
}

view! {
    described
    /// A received email in a list, with the fields of a captured one that apply.
    pub(super) ReceivedItem of mail: Received {
        id: mail.id.to_string(),
        from: mail.from,
        to: mail.to,
        cc: mail.cc,
        bcc: mail.bcc,
        reply_to: mail.reply_to,
        /// The envelope recipients.
        received_for: mail.recipients,
        subject: mail.subject,
        created_at: to_database_format(mail.created_at),
        size: mail.raw.len(),
        unread: StoredMail::is_unread(mail),
        message_id: mail.message_id,
        /// The results of authenticating the sender.
        authentication: mail.authentication,
        attachments: mail.attachments.iter().map(File).collect::<Vec<_>>(),
        ..(Preview::new(&mail.subject, mail.html.as_deref(), mail.text.as_deref())),
    }
}
