//! Replies and forwards, and code shared with sent drafts.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use crate::context::Context;
use crate::delivery;
use crate::lock::lock;
use crate::model::email::attachments::{self, Attachment, Content};
use crate::model::email::bodies::Bodies;
use crate::model::email::draft::{Draft, Origin};
use crate::model::email::headers;
use crate::model::email::recipients::{self, Mailbox};
use crate::model::inboxes::Inbox;
use crate::model::inboxes::email::{Direction, File, InboxEmail};
use crate::model::received;
use crate::resources::api_keys;
use crate::resources::emails::accepted_response;
use crate::resources::inboxes::emails::find;
use crate::resources::inboxes::{inbox, inbox_sender, inbox_service, is_own};
use crate::state::quota::{self, QuotaUsed};
use crate::wire::{
    Checked, Field, HandlerResult, Problem, boolean, escape_html, input, line, quote, shared, to_iso,
    to_pre_element,
};

/// The maximum number of addresses in `to`, `cc` and `bcc`.
pub(super) const MAX_RECIPIENTS: usize = 50;
/// The maximum number of attachments of a request.
const MAX_ATTACHMENTS: usize = 10;
/// The maximum size of all attachments, in bytes: 25 MB in the larger interpretation.
const MAX_ATTACHED: usize = 25 << 20;
/// Headers that the service sets itself.
const REJECTED_HEADERS: [&str; 3] = ["in-reply-to", "references", "reply-to"];

/// An email to be sent from an inbox.
pub(super) struct Outgoing {
    pub(super) to: Vec<Mailbox>,
    pub(super) cc: Vec<Mailbox>,
    pub(super) bcc: Vec<Mailbox>,
    pub(super) subject: String,
    pub(super) html: Option<Arc<str>>,
    pub(super) text: Option<Arc<str>>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) answers: Option<Arc<InboxEmail>>,
}

/// Sends an email and adds it to its thread. Returns its ID for `GET /emails/{email_id}`.
pub(super) fn send(
    context: &Context<'_>,
    inbox: &Inbox,
    email: Outgoing,
) -> Result<(Uuid, QuotaUsed), Problem> {
    let Outgoing { to, cc, bcc, subject, html, text, attachments, mut headers, answers } = email;
    check_recipients(to.len() + cc.len() + bcc.len())?;
    check_attached(&attachments).map_err(Problem::validation)?;
    attachments::check(&attachments).map_err(|(index, reason)| {
        Problem::validation(format!("`attachments[{index}]` makes a mail that {}.", reason.text()))
    })?;
    headers.extend(answers.iter().flat_map(|answered| answered.reply_headers()));
    let listed = |list: Vec<Mailbox>| Some(list).filter(|list| !list.is_empty());
    let draft = Draft {
        id: None,
        from: inbox_sender(inbox)?,
        to,
        cc: listed(cc),
        bcc: listed(bcc),
        reply_to: None,
        subject,
        bodies: match (html, text) {
            (Some(html), None) => Bodies::from_html(html),
            (html, text) => Bodies::new(html, text),
        },
        headers,
        attachments,
        tags: Arc::default(),
        topic: None,
        scheduled_at: None,
        origin: Origin::default(),
    };
    api_keys::check_sender(context, &draft.from)?;
    delivery::check_hosted(context.state, &draft)?;
    let recipients = draft.recipients().count();
    let used = quota::take(&context.state.settings, &context.tenant, recipients, context.now())?;
    let files = draft.attachments.iter().map(|file| File::new(context.state.next_id(), file)).collect();
    let id = delivery::accept(context.moment(), draft);
    inbox_service(context).add_sent(inbox.id, answers.map(|answered| answered.thread), id, files);
    Ok((id, used))
}

pub(super) fn check_recipients(found: usize) -> Result<(), Problem> {
    if found <= MAX_RECIPIENTS {
        return Ok(());
    }
    Err(Problem::validation(format!(
        "`to`, `cc` and `bcc` must have at most {MAX_RECIPIENTS} addresses in total; found {found}."
    )))
}

fn check_attached(attachments: &[Attachment]) -> Result<(), String> {
    let size: usize = attachments.iter().filter_map(|file| file.content.size()).sum();
    if size > MAX_ATTACHED {
        return Err(format!("`attachments` must have at most {MAX_ATTACHED} bytes in total; found {size}."));
    }
    Ok(())
}

/// Reads attachments: at most 10, with 25 MB in total, and hosted files only on other machines.
pub(super) fn read_attachments(field: &Field<'_>) -> Checked<Vec<Attachment>> {
    let attachments = attachments::read(field)?;
    let mut reported = Ok(());
    let mut reject = |rule: String| reported = Err(field.report().report(rule));
    let found = attachments.len();
    if found > MAX_ATTACHMENTS {
        reject(format!("`{}` must have at most {MAX_ATTACHMENTS} items; found {found}.", field.name()));
    }
    if let Err(rule) = check_attached(&attachments) {
        reject(rule);
    }
    for (index, file) in attachments.iter().enumerate() {
        if let Some(url) = file.content.url().filter(|url| is_local(url)) {
            let (name, found) = (field.name(), quote(url.as_str()));
            reject(format!("`{name}[{index}].path` must not be on this machine; found {found}."));
        }
    }
    reported.map(|()| attachments)
}

fn is_local(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(url::Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(url::Host::Ipv6(ip)) => {
            let mapped = ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback() || ip.is_unspecified());
            ip.is_loopback() || ip.is_unspecified() || mapped
        }
        None => true,
    }
}

/// Reads custom headers, without those that the service sets for threads.
pub(super) fn read_headers(field: &Field<'_>) -> Checked<Vec<(String, String)>> {
    let headers = headers::read(field, false)?;
    let refused = |name: &str| REJECTED_HEADERS.iter().any(|refused| refused.eq_ignore_ascii_case(name));
    match headers.iter().find(|(name, _)| refused(name)) {
        Some((name, _)) => Err(field.reject(format_args!(
            "must not have `In-Reply-To`, `References` or `Reply-To`, which the service sets; found {}",
            quote(name)
        ))),
        None => Ok(headers),
    }
}

/// A body with content.
fn non_empty(body: Option<Arc<str>>) -> Option<Arc<str>> {
    body.filter(|body| !body.is_empty())
}

input! {
    struct ReplyInput(fields; any "html", "text") {
        html: Option<Arc<str>> = fields.optional("html", shared),
        text: Option<Arc<str>> = fields.optional("text", shared),
        cc: Option<Vec<Mailbox>> = recipients::read_optional(fields, "cc"),
        bcc: Option<Vec<Mailbox>> = recipients::read_optional(fields, "bcc"),
        subject: Option<String> = fields.optional("subject", line),
        reply_all: Option<bool> = fields.optional("reply_all", boolean),
        attachments: Option<Vec<Attachment>> = fields.optional("attachments", read_attachments),
        headers: Option<Vec<(String, String)>> = fields.optional("headers", read_headers),
    }
}

/// `POST /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/reply`: goes to `Reply-To`, else to the sender; a reply to a sent email goes to its
/// recipients. The original isn't quoted.
pub fn reply(context: &Context<'_>) -> HandlerResult {
    let (inbox, original) = (inbox(context)?, find(context)?);
    let input = context.body(ReplyInput::read)?;
    let (html, text) = (non_empty(input.html), non_empty(input.text));
    if html.is_none() && text.is_none() {
        return Err(Problem::validation("`html` or `text` must have content; found none."));
    }
    let to = reply_recipients(&inbox, &original)?;
    let (mut cc, bcc) = (input.cc.unwrap_or_default(), input.bcc.unwrap_or_default());
    if input.reply_all.unwrap_or(false) {
        let others = original.to.iter().chain(&original.cc).filter_map(|text| Mailbox::parse(text).ok());
        for other in others.filter(|other| !is_own(&inbox, &other.address)) {
            let same = |known: &Mailbox| known.address.eq_ignore_ascii_case(&other.address);
            if !to.iter().chain(&cc).chain(&bcc).any(same) {
                cc.push(other);
            }
        }
    }
    let email = Outgoing {
        to,
        cc,
        bcc,
        subject: input.subject.unwrap_or_else(|| prefix_subject("Re: ", &original)),
        html,
        text,
        attachments: input.attachments.unwrap_or_default(),
        headers: input.headers.unwrap_or_default(),
        answers: Some(original),
    };
    send(context, &inbox, email).map(|(id, used)| accepted_response(id, used))
}

/// The recipients of a reply to this email.
pub(super) fn reply_recipients(inbox: &Inbox, original: &InboxEmail) -> Result<Vec<Mailbox>, Problem> {
    let texts = match original.direction {
        Direction::Outbound => original.to.clone(),
        Direction::Inbound if original.reply_to.is_empty() => vec![original.from.clone()],
        Direction::Inbound => original.reply_to.clone(),
    };
    let to: Vec<_> = texts
        .iter()
        .filter_map(|text| Mailbox::parse(text).ok())
        .filter(|one| original.direction == Direction::Outbound || !is_own(inbox, &one.address))
        .collect();
    if to.is_empty() {
        return Err(Problem::validation("The email has no address that a reply could be sent to."));
    }
    Ok(to)
}

/// The subject of a reply or forward, with the prefix added once.
pub(super) fn prefix_subject(prefix: &str, original: &InboxEmail) -> String {
    let subject = original.subject.as_deref().unwrap_or("(no subject)");
    let has_prefix =
        subject.get(..prefix.len() - 1).is_some_and(|start| start.eq_ignore_ascii_case(prefix.trim_end()));
    if has_prefix { subject.to_owned() } else { format!("{prefix}{subject}") }
}

input! {
    struct Forward(fields; requires "to") {
        to: Vec<Mailbox> = fields.required("to", recipients::read_to),
        cc: Option<Vec<Mailbox>> = recipients::read_optional(fields, "cc"),
        bcc: Option<Vec<Mailbox>> = recipients::read_optional(fields, "bcc"),
        html: Option<Arc<str>> = fields.optional("html", shared),
        text: Option<Arc<str>> = fields.optional("text", shared),
        subject: Option<String> = fields.optional("subject", line),
        attachments: Option<Vec<Attachment>> = fields.optional("attachments", read_attachments),
        headers: Option<Vec<(String, String)>> = fields.optional("headers", read_headers),
    }
}

/// `POST /inboxes/{inbox}/threads/{thread_id}/emails/{email_id}/forward`: `html` and `text` come before the original, whose attachments are included
/// while the service still stores them.
pub fn forward(context: &Context<'_>) -> HandlerResult {
    let (inbox, original) = (inbox(context)?, find(context)?);
    let input = context.body(Forward::read)?;
    let (html, text) = (non_empty(input.html), non_empty(input.text));
    let mut attachments = original_files(context, &original)?;
    attachments.extend(input.attachments.unwrap_or_default());
    let email = Outgoing {
        to: input.to,
        cc: input.cc.unwrap_or_default(),
        bcc: input.bcc.unwrap_or_default(),
        subject: input.subject.unwrap_or_else(|| prefix_subject("Fwd: ", &original)),
        html: forwarded_html(html.as_deref(), text.as_deref(), &original),
        text: Some(forwarded_text(text.as_deref(), html.as_deref(), &original)),
        attachments,
        headers: input.headers.unwrap_or_default(),
        answers: Some(original),
    };
    send(context, &inbox, email).map(|(id, used)| accepted_response(id, used))
}

/// The header lines of the original.
fn original_lines(original: &InboxEmail) -> Vec<String> {
    let mut lines = vec![
        "---------- Forwarded message ---------".to_owned(),
        format!("From: {}", original.from),
        format!("Date: {}", to_iso(original.received_at)),
        format!("Subject: {}", original.subject.as_deref().unwrap_or("(no subject)")),
        format!("To: {}", original.to.join(", ")),
    ];
    if !original.cc.is_empty() {
        lines.push(format!("Cc: {}", original.cc.join(", ")));
    }
    lines
}

fn forwarded_text(text: Option<&str>, html: Option<&str>, original: &InboxEmail) -> Arc<str> {
    let note = text.map(str::to_owned).or_else(|| html.map(crate::content::text::derive)).unwrap_or_default();
    let gap = if note.is_empty() { "" } else { "\n\n" };
    let (lines, body) = (original_lines(original).join("\n"), original.searched_text());
    format!("{note}{gap}{lines}\n\n{body}").into()
}

/// HTML, if the caller or the original has any.
fn forwarded_html(html: Option<&str>, text: Option<&str>, original: &InboxEmail) -> Option<Arc<str>> {
    if html.is_none() && original.html.is_none() {
        return None;
    }
    let note = html.map(str::to_owned).or_else(|| text.map(to_pre_element)).unwrap_or_default();
    let lines: Vec<_> = original_lines(original).iter().map(|line| escape_html(line)).collect();
    let body =
        original.html.as_deref().map_or_else(|| to_pre_element(original.searched_text()), str::to_owned);
    Some(format!("{note}<div>{}</div><br>{body}", lines.join("<br>")).into())
}

/// The attachments of the original, unless the received or sent email was evicted.
fn original_files(context: &Context<'_>, original: &InboxEmail) -> Result<Vec<Attachment>, Problem> {
    if original.attachments.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(received) = original.received {
        let Some(email) = lock(&context.tenant.received).get(received).cloned() else {
            return Ok(Vec::new());
        };
        let files = received::read_contents(&email.raw)
            .map_err(|reason| Problem::validation(format!("The email {}.", reason.text())))?;
        return Ok(files.into_iter().map(|(file, content)| to_attachment(file, content)).collect());
    }
    let sent = lock(&context.tenant.emails).get(original.id).and_then(|email| email.captured_id());
    let mail = sent.and_then(|id| lock(&context.tenant.captured).get(id).cloned());
    Ok(mail.map(|mail| mail.files().to_vec()).unwrap_or_default())
}

fn to_attachment(file: received::Attachment, content: Bytes) -> Attachment {
    let fits = |text: &String| {
        text.len() < 200 && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte))
    };
    Attachment {
        filename: file.filename,
        content_type: Some(file.content_type)
            .filter(fits)
            .unwrap_or_else(|| "application/octet-stream".to_owned()),
        content_id: file.content_id.filter(fits),
        content: Content::Bytes(content),
    }
}
