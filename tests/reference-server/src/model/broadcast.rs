//! Broadcasts and their progress.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::email::recipients::{Mailbox, texts};
use crate::store::table::{self, NoGroup};
use crate::wire::{Problem, to_database_format, view, words};

/// One email to all contacts of a segment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Broadcast {
    pub id: Uuid,
    pub created_at: Timestamp,
    pub message: Message,
    pub status: Status,
    pub scheduled_at: Option<Timestamp>,
    pub sent_at: Option<Timestamp>,
}

impl table::Record for Broadcast {
    const NOUN: &'static str = "a broadcast";
    const PLURAL: &'static str = "broadcasts";

    type Group = NoGroup;
}

/// The content, which can be changed until the broadcast is sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Message {
    pub segment: Uuid,
    pub from: Mailbox,
    pub subject: String,
    pub reply_to: Option<Vec<Mailbox>>,
    pub preview_text: Option<String>,
    pub html: Option<Arc<str>>,
    /// `None`: derived from the HTML of each email. Empty: no text.
    pub text: Option<Arc<str>>,
    pub name: Option<String>,
    pub topic: Option<Uuid>,
}

/// A broadcast needs at least one of these fields.
pub const BODY: &str = "html` or `text";

impl Message {
    /// Whether it has a body. An empty `text` only disables the derivation.
    pub fn has_body(&self) -> bool {
        self.html.is_some() || self.text.as_ref().is_some_and(|text| !text.is_empty())
    }

    /// The name; without one the subject, or `Untitled`. (The specification doesn't define this; official clients expect a string.)
    pub fn display_name(&self) -> &str {
        let names = [self.name.as_deref(), Some(self.subject.as_str())];
        names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or("Untitled")
    }
}

words! {
    /// The status of a broadcast. The specification names `draft` and `sent`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
    pub enum Status {
        Draft = "draft",
        Scheduled = "scheduled",
        /// Its emails are being sent.
        Queued = "queued",
        Sent = "sent",
        /// It was canceled, or its topic or a required domain was deleted, while its emails were being sent.
        Canceled = "canceled",
    }
}

impl Broadcast {
    pub fn new(id: Uuid, message: Message, created_at: Timestamp) -> Self {
        Self { id, created_at, message, status: Status::Draft, scheduled_at: None, sent_at: None }
    }

    /// Sends a draft with a body, immediately or at `due`.
    pub fn send(&mut self, due: Option<Timestamp>) -> Result<(), Problem> {
        if self.status != Status::Draft {
            return Err(self.state_problem("sent", "a draft"));
        }
        if !self.message.has_body() {
            return Err(Problem::missing_field(BODY));
        }
        self.scheduled_at = due;
        self.status = if due.is_some() { Status::Scheduled } else { Status::Queued };
        Ok(())
    }

    /// Starts sending a broadcast that was scheduled for `due`. Returns false if it was canceled or rescheduled, or can't be sent anymore: it is then a
    /// draft again, since its emails would go to no one.
    pub fn start_sending(&mut self, due: Timestamp, can_send: bool) -> bool {
        if !self.is_scheduled_for(due) {
            return false;
        }
        if can_send {
            self.status = Status::Queued;
        } else {
            self.unschedule();
        }
        can_send
    }

    pub fn is_scheduled_for(&self, due: Timestamp) -> bool {
        self.status == Status::Scheduled && self.scheduled_at == Some(due)
    }

    fn unschedule(&mut self) {
        self.status = Status::Draft;
        self.scheduled_at = None;
    }

    /// Completes the broadcast after its last email. A canceled one stays canceled.
    pub fn finish(&mut self, at: Timestamp) {
        if self.status == Status::Queued {
            self.status = Status::Sent;
            self.sent_at = Some(at);
        }
    }

    /// Cancels the broadcast.
    pub fn cancel(&mut self) -> Result<(), Problem> {
        match self.status {
            Status::Scheduled => self.unschedule(),
            Status::Queued => self.status = Status::Canceled,
            Status::Draft | Status::Sent | Status::Canceled => {
                return Err(self.state_problem("canceled", "a scheduled or queued broadcast"));
            }
        }
        Ok(())
    }

    /// Rejects a change of a broadcast that was already sent; `done` names the change: `updated`.
    pub fn check_open(&self, done: &str) -> Result<(), Problem> {
        match self.status {
            Status::Draft | Status::Scheduled => Ok(()),
            _ => Err(self.state_problem(done, "a draft or scheduled broadcast")),
        }
    }

    fn state_problem(&self, done: &str, what: &str) -> Problem {
        Problem::forbidden(format!("Only {what} can be {done}; this one is {}.", self.status.as_str()))
    }
}

view! {
    /// `docs/specification.md`, Broadcast (list item), with the topic. `audience_id` is the deprecated name of the segment.
    pub Item of broadcast: Broadcast {
        id: broadcast.id,
        name: broadcast.message.display_name(),
        audience_id: broadcast.message.segment,
        segment_id: broadcast.message.segment,
        status: broadcast.status.as_str(),
        created_at: to_database_format(broadcast.created_at),
        scheduled_at: broadcast.scheduled_at.map(to_database_format),
        sent_at: broadcast.sent_at.map(to_database_format),
        topic_id: broadcast.message.topic,
    }
}

view! {
    pub Detail of broadcast: Broadcast {
        object: "broadcast",
        ..Item,
        from: broadcast.message.from.text,
        subject: broadcast.message.subject,
        reply_to: broadcast.message.reply_to.as_deref().map(texts),
        preview_text: broadcast.message.preview_text,
        html: broadcast.message.html,
        text: broadcast.message.text,
    }
}
