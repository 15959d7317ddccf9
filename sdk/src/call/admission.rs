//! The gate that every request passes: the client's recipient guard.
//!
//! Only an [`Admitted`] operation can be executed, and only this module creates one. It inspects the method, path and body exactly as they will be
//! sent, regardless of how the request was built, and rejects unknown operations: a new operation that sends is rejected until [`recipient_reach`] lists it.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use http::Method;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::operation::Operation;
use crate::{
    body::{Body, BodyPart},
    clock::Instant,
    error::{Error, Result, chain},
    problem::{Problem, Problems, limits, path_segment},
    transport::BoxFuture,
    types::{RecipientFields, RecipientGuard, unreadable_recipients},
};

/// An operation whose input is valid and whose recipients the guard allows.
pub(crate) struct Admitted(Box<Operation>);

impl Admitted {
    pub(super) fn into_inner(self) -> Box<Operation> {
        self.0
    }
}

/// Executes a `GET`.
pub(crate) type Read<'a> = dyn Fn(Operation) -> BoxFuture<'static, Result<Value>> + Send + Sync + 'a;

/// Admits an operation, or fails before any of it is sent.
pub(crate) async fn admit(
    guard: &RecipientGuard,
    mut operation: Box<Operation>,
    read: &Read<'_>,
) -> Result<Admitted> {
    let stored = screen(guard, &mut operation)?;
    if let Some(stored) = stored {
        let started = Instant::now();
        Lookup { guard, read, operation: &operation, started, problems: Vec::new() }.check(stored).await?;
        operation.timeout = time_left(&operation, started);
    }
    Ok(Admitted(operation))
}

/// Returns the rest of the operation's timeout.
fn time_left(operation: &Operation, started: Instant) -> Option<Duration> {
    operation.timeout.map(|limit| limit.saturating_sub(started.elapsed()))
}

/// Checks and redirects the recipients in an operation's body. Returns which other recipients the service would look up.
pub(crate) fn screen(guard: &RecipientGuard, operation: &mut Operation) -> Result<Option<Stored>> {
    operation.ensure_valid()?;
    let reads = [Method::GET, Method::HEAD].contains(&operation.method) && operation.body.is_empty();
    if !guard.is_active() || operation.external_url.is_some() || reads {
        return Ok(None);
    }
    let mut problems = Vec::new();
    let mut stored = None;
    match recipient_reach(operation) {
        Some(RecipientSource::NoRecipient) => {}
        Some(RecipientSource::Email(redirect)) => {
            if let (Redirect::Possible, true) = (redirect, guard.has_redirect()) {
                edit_json(&mut operation.body, |email| guard.redirect("", email, &mut problems))?;
            }
            guard.check("", &read::<RecipientFields>(&operation.body)?, &mut problems);
        }
        Some(RecipientSource::Batch) => {
            if guard.has_redirect() {
                let redirect = |emails: &mut Value| {
                    for (i, email) in emails.as_array_mut().into_iter().flatten().enumerate() {
                        guard.redirect(&format!("/{i}"), email, &mut problems);
                    }
                };
                edit_json(&mut operation.body, redirect)?;
            }
            for (i, email) in read::<Vec<RecipientFields>>(&operation.body)?.iter().enumerate() {
                guard.check(&format!("/{i}"), email, &mut problems);
            }
        }
        Some(RecipientSource::Stored(wanted)) => {
            guard.check("", &read::<RecipientFields>(&operation.body)?, &mut problems);
            stored = Some(wanted);
        }
        None => {
            let rule = "the recipient guard rejects requests to operations that this version doesn't know";
            problems.push(
                Problem::new("", "recipient", rule)
                    .with_value(format_args!("{} {}", operation.method, operation.path)),
            );
        }
    }
    Problems::check(problems)?;
    Ok(stored)
}

/// The recipients of a request.
enum RecipientSource {
    NoRecipient,
    /// The recipients in its body.
    Email(Redirect),
    /// The recipients of each email in its body.
    Batch,
    /// The recipients in its body, and others that the service looks up.
    Stored(Stored),
}

/// Whether the guard can redirect an email by changing its body.
enum Redirect {
    Possible,
    Impossible,
}

/// The source from which the service gets recipients. The paths are for a `GET`.
pub(crate) enum Stored {
    /// An email or a draft, by its path.
    Email(String),
    /// A draft, which replies to the sender of another email if it has no recipients: its inbox's path and its own path.
    Draft { inbox: String, draft: String },
    /// The sender and the recipients of the email that is being replied to.
    Reply(String),
    /// The contacts of the segment in the body, if the broadcast is sent.
    NewBroadcast,
    /// The contacts of the broadcast's segment.
    Broadcast(String),
    /// As above, if the broadcast is scheduled.
    BroadcastUpdate(String),
    /// The contact of an event.
    Contact,
}

/// Returns the recipients of an operation; `None` if it is unknown.
#[expect(clippy::match_same_arms, reason = "each group of operations states why")]
fn recipient_reach(operation: &Operation) -> Option<RecipientSource> {
    let path = operation.path.strip_suffix('/').unwrap_or(&operation.path);
    let encoded: Vec<&str> = path.split('/').skip(1).collect();
    let decoded: Vec<_> =
        encoded.iter().map(|one| percent_decode_str(one).decode_utf8().ok()).collect::<Option<_>>()?;
    let segments: Vec<&str> = decoded.iter().map(Cow::as_ref).collect();
    // A proxy that decodes the path might see a different one.
    if segments.iter().any(|segment| segment.split(['/', '\\']).any(|part| matches!(part, "." | ".."))) {
        return None;
    }
    let first = |n: usize| format!("/{}", encoded[..n].join("/"));
    Some(match (operation.method.as_str(), segments.as_slice()) {
        ("POST", ["emails" | "email"] | ["emails" | "email", "sending"]) => {
            RecipientSource::Email(Redirect::Possible)
        }
        ("POST", ["emails", "batch"]) => RecipientSource::Batch,
        ("PATCH", ["emails", _]) => RecipientSource::Stored(Stored::Email(first(2))),
        ("POST", ["emails", _, "cancel" | "share"]) => RecipientSource::NoRecipient,
        ("POST", ["broadcasts"]) => RecipientSource::Stored(Stored::NewBroadcast),
        ("PATCH", ["broadcasts", _]) => RecipientSource::Stored(Stored::BroadcastUpdate(first(2))),
        ("POST", ["broadcasts", _, "send"]) => RecipientSource::Stored(Stored::Broadcast(first(2))),
        ("POST", ["broadcasts", _, "cancel" | "duplicate"]) | ("DELETE", ["broadcasts", _]) => {
            RecipientSource::NoRecipient
        }
        ("POST", ["inboxes", _, "threads", _, "emails", _, "reply"]) => {
            RecipientSource::Stored(Stored::Reply(first(6)))
        }
        ("POST", ["inboxes", _, "threads", _, "emails", _, "forward"]) => {
            RecipientSource::Email(Redirect::Possible)
        }
        ("POST", ["inboxes", _, "drafts", _, "send"]) => {
            RecipientSource::Stored(Stored::Draft { inbox: first(2), draft: first(4) })
        }
        // A draft is checked when it is sent.
        ("POST" | "PATCH" | "DELETE" | "PUT", ["inboxes", rest @ ..])
            if !matches!(rest.last(), Some(&("send" | "reply" | "forward"))) =>
        {
            RecipientSource::NoRecipient
        }
        // Automations can send to the contact.
        ("POST", ["events", "send"]) => RecipientSource::Stored(Stored::Contact),
        ("POST", ["events"]) | ("PATCH" | "DELETE", ["events", _]) => RecipientSource::NoRecipient,
        // An automation run sends to the contact's current address.
        ("PATCH", ["contacts", _] | ["audiences", _, "contacts", _]) => {
            RecipientSource::Email(Redirect::Impossible)
        }
        // The sandbox's own operations: a release sends a captured email to real recipients.
        ("POST", ["_", "messages" | "received", _, "release"]) => {
            RecipientSource::Email(Redirect::Impossible)
        }
        (
            "POST" | "PATCH" | "PUT" | "DELETE",
            ["_", "clock" | "events" | "faults" | "messages" | "received" | "reset", ..],
        ) => RecipientSource::NoRecipient,
        (
            "POST" | "PATCH" | "PUT" | "DELETE",
            [
                "api-keys" | "audiences" | "automations" | "contact-properties" | "contacts" | "domains"
                | "oauth" | "segments" | "suppressions" | "templates" | "topics" | "webhooks",
                ..,
            ],
        ) => RecipientSource::NoRecipient,
        _ => return None,
    })
}

/// Reads a JSON body without its attachments' content.
fn read<T: for<'de> Deserialize<'de> + Default>(body: &Body) -> Result<T> {
    if body.is_empty() {
        return Ok(T::default());
    }
    let mut text = Vec::new();
    for part in body.parts() {
        if let BodyPart::Text(bytes) = part {
            text.extend_from_slice(&bytes);
        }
    }
    serde_json::from_slice(&text).map_err(|error| unreadable_recipients("", error).into())
}

fn edit_json(body: &mut Body, change: impl FnOnce(&mut Value)) -> Result<()> {
    *body = body.edit_json(change).map_err(|error| unreadable_recipients("", error))?;
    Ok(())
}

/// The fields of a broadcast that determine its recipients and time.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BroadcastFields {
    segment_id: Value,
    audience_id: Value,
    send: Value,
    scheduled_at: Value,
    status: Value,
}

/// The fields of a reply, a draft or an event that determine its recipients.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredFields {
    from: Value,
    to: Value,
    cc: Value,
    bcc: Value,
    reply_to: Value,
    direction: Value,
    thread_id: Value,
    reply_to_email_id: Value,
    reply_all: Value,
    contact_id: Value,
    email: Value,
}

/// Reads and checks the recipients that the service would look up.
struct Lookup<'a> {
    guard: &'a RecipientGuard,
    read: &'a Read<'a>,
    operation: &'a Operation,
    started: Instant,
    problems: Vec<Problem>,
}

impl Lookup<'_> {
    async fn check(mut self, stored: Stored) -> Result<()> {
        match stored {
            Stored::Email(path) => {
                let email: StoredFields = self.get(path).await?;
                self.recipients(&email);
            }
            Stored::Reply(path) => {
                let reply: StoredFields = read(&self.operation.body)?;
                self.reply(path, reply.reply_all != Value::Null && reply.reply_all != false).await?;
            }
            Stored::Draft { inbox, draft } => {
                let draft: StoredFields = self.get(draft).await?;
                self.recipients(&draft);
                let replies_to = (draft.thread_id.as_str(), draft.reply_to_email_id.as_str());
                let has_own = draft.to.as_array().is_some_and(|to| !to.is_empty());
                if let ((Some(thread), Some(email)), false) = (replies_to, has_own) {
                    let (thread, email) = (path_segment(thread)?, path_segment(email)?);
                    self.reply(format!("{inbox}/threads/{thread}/emails/{email}"), false).await?;
                }
            }
            Stored::NewBroadcast => {
                let broadcast: BroadcastFields = read(&self.operation.body)?;
                self.reject_scheduled(&broadcast);
                if broadcast.send != Value::Null && broadcast.send != false {
                    self.segments(&broadcast).await?;
                }
            }
            Stored::Broadcast(path) => {
                self.reject_scheduled(&read(&self.operation.body)?);
                let broadcast = self.get(path).await?;
                self.segments(&broadcast).await?;
            }
            Stored::BroadcastUpdate(path) => {
                let broadcast: BroadcastFields = self.get(path).await?;
                if broadcast.status != "draft" {
                    self.reject(
                        "only a draft can be updated: the recipients of a scheduled broadcast can change",
                    );
                }
            }
            Stored::Contact => {
                let event: StoredFields = read(&self.operation.body)?;
                if let Some(id) = event.contact_id.as_str() {
                    let path = format!("/contacts/{}", path_segment(id)?);
                    let contact: StoredFields = self.get(path).await?;
                    self.field("/contact_id", &contact.email);
                } else if !event.contact_id.is_null() {
                    self.field("/contact_id", &event.contact_id);
                }
            }
        }
        Ok(Problems::check(self.problems)?)
    }

    fn recipients(&mut self, email: &StoredFields) {
        self.field("/to", &email.to);
        self.field("/cc", &email.cc);
        self.field("/bcc", &email.bcc);
    }

    /// A reply goes to the sender of a received email, or to the recipients of a sent one.
    async fn reply(&mut self, path: String, to_all: bool) -> Result<()> {
        let email: StoredFields = self.get(path).await?;
        if email.direction != "inbound" {
            self.field("/to", &email.to);
        }
        if email.direction != "outbound" {
            let answers = email.reply_to.as_array().is_some_and(|list| !list.is_empty());
            self.field("/to", if answers { &email.reply_to } else { &email.from });
        }
        if to_all {
            self.field("/to", &email.to);
            self.field("/cc", &email.cc);
        }
        Ok(())
    }

    fn reject_scheduled(&mut self, broadcast: &BroadcastFields) {
        if !broadcast.scheduled_at.is_null() {
            let rule = "a broadcast must not be scheduled: the recipient guard can't know who will be in the segment by then";
            self.problems.push(Problem::new("/scheduled_at", "recipient", rule));
        }
    }

    async fn segments(&mut self, broadcast: &BroadcastFields) -> Result<()> {
        let mut segments: Vec<_> =
            [&broadcast.segment_id, &broadcast.audience_id].into_iter().filter_map(Value::as_str).collect();
        segments.dedup();
        if segments.is_empty() {
            self.reject("the broadcast must have a segment whose contacts the recipient guard can read");
        }
        for segment in segments {
            self.contacts(segment).await?;
        }
        Ok(())
    }

    /// Checks the contacts of a segment page by page, up to the number of problems that an error lists.
    async fn contacts(&mut self, segment: &str) -> Result<()> {
        #[derive(Deserialize)]
        struct Page {
            data: Vec<Contact>,
        }
        #[derive(Deserialize)]
        struct Contact {
            id: String,
            email: Value,
        }
        let path = format!("/segments/{}/contacts?limit=100", path_segment(segment)?);
        let (mut next, mut seen) = (path.clone(), HashSet::new());
        while self.problems.len() < limits::PROBLEMS_LISTED {
            let page: Page = self.get(next.clone()).await?;
            // An empty page ends the list, whatever `has_more` says. No contact may be overlooked.
            let Some(last) = page.data.last() else { break };
            if !seen.insert(last.id.clone()) {
                self.reject("the recipient guard can't read the segment: its pages repeat");
                break;
            }
            next = format!("{path}&after={}", path_segment(&last.id)?);
            for contact in &page.data {
                self.field("/segment_id", &contact.email);
            }
        }
        Ok(())
    }

    fn field(&mut self, path: &str, value: &Value) {
        self.guard.check_field(path, value, &mut self.problems);
    }

    fn reject(&mut self, rule: &str) {
        self.problems.push(Problem::new("", "recipient", rule));
    }

    /// Reads a record. If the service fails, the operation is rejected; its outcome isn't the read's.
    async fn get<T: for<'de> Deserialize<'de>>(&self, path: String) -> Result<T> {
        let mut read = Operation::raw(Method::GET, path);
        read.timeout = time_left(self.operation, self.started);
        let record = (self.read)(read).await.map_err(|error| match error {
            Error::Api(_) | Error::Decode(_) | Error::OutcomeUnknown(_) => {
                unreadable_recipients("", chain(&error)).into()
            }
            other => other,
        })?;
        serde_json::from_value(record).map_err(|error| unreadable_recipients("", error).into())
    }
}
