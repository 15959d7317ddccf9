//! What is shown of a delivery: a line for people, an object for programs.

use std::time::Duration;

use http::StatusCode;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

/// Of how much that a stranger sent a line tells.
const SHOWN: usize = 200;

/// What came of one delivery.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) at: Timestamp,
    /// None of one that was refused.
    pub(super) id: Option<String>,
    pub(super) kind: Option<String>,
    /// Its signature was looked at, and is right.
    pub(super) verified: bool,
    /// What was answered.
    pub(super) status: StatusCode,
    /// Why it was refused, or could not be passed on.
    pub(super) why: Option<String>,
    /// How long the application took that it was passed on to.
    pub(super) took: Option<Duration>,
    /// The body, if it is JSON.
    pub(super) payload: Value,
}

impl Told {
    /// One that was refused.
    pub(super) fn refused(status: StatusCode, why: impl Into<String>) -> Self {
        Self {
            at: Timestamp::now(),
            id: None,
            kind: None,
            verified: false,
            status,
            why: Some(why.into()),
            took: None,
            payload: Value::Null,
        }
    }

    /// `12:00:04  email.delivered  msg_27UH4WbU6Z5A5EzD8u03UvzRbpk  200 in 12 ms`.
    pub(super) fn line(&self) -> String {
        let mut parts = vec![self.at.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()];
        match &self.id {
            Some(id) => {
                parts.push(beginning(self.kind.as_deref().unwrap_or("(no event)")));
                parts.push(beginning(id));
            }
            None => parts.push("refused".to_owned()),
        }
        let status = self.status.as_u16();
        match (&self.why, self.took) {
            (Some(why), _) => parts.extend([status.to_string(), beginning(why)]),
            (None, Some(took)) => parts.push(format!("{status} in {} ms", took.as_millis())),
            (None, None) => parts.push(status.to_string()),
        }
        parts.join("  ")
    }

    /// All of it.
    pub(super) fn document(&self) -> Value {
        json!({
            "object": "webhook_delivery",
            "received_at": self.at.to_string(),
            "id": self.id,
            "type": self.kind,
            "verified": self.verified,
            "status": self.status.as_u16(),
            "error": self.why,
            "took_ms": self.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            "payload": self.payload,
        })
    }
}

/// One line, and not all of what may be long.
fn beginning(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { '?' } else { c }).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
