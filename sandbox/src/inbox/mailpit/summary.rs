//! A message in lists, details and events.

use mail_parser::{Address, Message};
use serde_json::{Value, json};

use crate::inbox::count;
use crate::inbox::mail::MailView;
use idempost_reference_server::content::preview::one_line;
use idempost_reference_server::mime;
use idempost_reference_server::state::mails::Folder;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::timestamp::to_iso;

/// The maximum length of a snippet, in characters.
const SNIPPET: usize = 250;

pub(super) fn find_by_id(tenant: &Tenant, id: &str) -> Option<MailView> {
    let found = [Folder::Sent, Folder::Received].map(|folder| MailView::find(tenant, folder, id).ok());
    found.into_iter().flatten().find(|mail| !matches!(mail, MailView::Unsent(_)))
}

/// Returns a message as a list item.
pub(super) fn summary(mail: &MailView) -> Value {
    // Only the headers are parsed, since the parts aren't needed.
    let source = mail.source().unwrap_or_default();
    let mut summary = common_fields(mail, mime::headers(&source).as_ref());
    let attachments = match mail {
        MailView::Sent(mail) => mail.attachments().len(),
        MailView::Received(mail) => mail.attachments.len(),
        MailView::Unsent(_) => 0,
    };
    for (name, value) in [
        ("Read", (!mail.searchable().is_unread()).into()),
        ("Created", to_iso(mail.searchable().timestamp()).into()),
        ("Size", source.len().into()),
        ("Attachments", attachments.into()),
        ("Snippet", one_line(&mail.text().unwrap_or_default(), SNIPPET, "...").into()),
    ] {
        summary[name] = value;
    }
    summary
}

/// Returns the fields that lists and details share.
pub(super) fn common_fields(mail: &MailView, headers: Option<&Message<'_>>) -> Value {
    let named = |address: Option<&Address<'_>>| {
        let all = address.into_iter().flat_map(Address::iter);
        all.map(|one| json!({"Name": one.name().unwrap_or_default(), "Address": one.address().unwrap_or_default()}))
            .collect::<Vec<_>>()
    };
    let copies: Vec<String> = match mail {
        MailView::Sent(mail) => mail.bcc().into_iter().map(str::to_owned).collect(),
        MailView::Received(mail) => {
            let visible = |one: &String| {
                [&mail.to, &mail.cc, &mail.bcc]
                    .into_iter()
                    .flatten()
                    .any(|named| split_address(named).1 == *one)
            };
            let hidden = mail.recipients.iter().filter(|one| !visible(one));
            mail.bcc.iter().chain(hidden).cloned().collect()
        }
        MailView::Unsent(_) => Vec::new(),
    };
    let copies: Vec<_> = copies.iter().map(|one| split_address(one)).collect();
    let from = named(headers.and_then(Message::from)).into_iter().next();
    json!({
        "ID": mail.id(),
        "MessageID": headers.and_then(Message::message_id).unwrap_or_default(),
        "From": from.unwrap_or_else(|| json!({"Name": "", "Address": ""})),
        "To": named(headers.and_then(Message::to)),
        "Cc": named(headers.and_then(Message::cc)),
        "Bcc": copies.iter().map(|(name, address)| json!({"Name": name, "Address": address})).collect::<Vec<_>>(),
        "ReplyTo": named(headers.and_then(Message::reply_to)),
        "Subject": headers.and_then(Message::subject).unwrap_or_default(),
        "Tags": tags(mail),
        "Username": "",
    })
}

/// Returns the tags in Mailpit's form, which has no separate values.
pub(super) fn tags(mail: &MailView) -> Vec<String> {
    let MailView::Sent(mail) = mail else { return Vec::new() };
    mail.tags().iter().map(|tag| format!("{}={}", tag.name, tag.value)).collect()
}

/// Splits `address` or `Name <address>` into name and address.
pub(super) fn split_address(text: &str) -> (String, String) {
    let bracketed = text.rsplit_once('<').and_then(|(name, rest)| Some((name, rest.split_once('>')?.0)));
    let (name, address) = bracketed.unwrap_or(("", text));
    let name = name.trim();
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    (name.replace("\\\"", "\"").replace("\\\\", "\\"), address.trim().to_owned())
}

/// Returns the number of messages, and how many are unread.
pub(super) fn counts(tenant: &Tenant) -> (usize, usize) {
    let (sent, received) = (count(&tenant.captured), count(&tenant.received));
    (sent.0 + received.0, sent.1 + received.1)
}
