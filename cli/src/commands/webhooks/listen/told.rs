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

    /// `12:00:04  email.delivered  ada@example.com  200 in 12 ms  msg_27UH4WbU6Z5A5EzD8u03UvzRbpk`.
    pub(super) fn line(&self, zone: &TimeZone) -> String {
        let mut parts = vec![self.at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()];
        if self.id.is_some() {
            parts.push(beginning(self.kind.as_deref().unwrap_or("(no event)")));
            parts.extend(self.whom());
        } else {
            parts.push("refused".to_owned());
        }
        let status = self.status.as_u16();
        match (&self.why, self.took) {
            (Some(why), _) => parts.extend([status.to_string(), beginning(why)]),
            (None, Some(took)) => parts.push(format!("{status} in {} ms", took.as_millis())),
            (None, None) => parts.push(status.to_string()),
        }
        parts.extend(self.id.as_deref().map(beginning));
        parts.join("  ")
    }

    /// Whom or what it is about: a recipient, a contact, the name of a domain or a topic.
    fn whom(&self) -> Option<String> {
        let data = self.payload.get("data")?;
        let recipient = data.pointer("/to/0").or_else(|| data.get("to"));
        let whom = recipient.or_else(|| data.get("email")).or_else(|| data.get("name"))?;
        whom.as_str().map(beginning)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(payload: Value) -> Told {
        Told {
            at: "2026-03-01T12:00:04Z".parse().unwrap(),
            id: Some("msg_1".to_owned()),
            kind: payload["type"].as_str().map(str::to_owned),
            verified: true,
            status: StatusCode::OK,
            why: None,
            took: None,
            payload,
        }
    }

    #[test]
    fn a_line_says_when_what_whom_how_it_ended_and_which() {
        let line = |told: &Told| told.line(&TimeZone::UTC);
        let mut sent = told(json!({ "type": "email.sent", "data": { "to": ["ada@example.com"] } }));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  200  msg_1");
        sent.took = Some(Duration::from_millis(12));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  200 in 12 ms  msg_1");
        (sent.status, sent.why) = (StatusCode::BAD_GATEWAY, Some("nobody\nis there".to_owned()));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  502  nobody?is there  msg_1");
        for (kind, data, whom) in [
            ("contact.created", json!({ "email": "ada@example.com" }), "ada@example.com"),
            ("domain.updated", json!({ "name": "acme.test" }), "acme.test"),
        ] {
            let about = told(json!({ "type": kind, "data": data }));
            assert_eq!(line(&about), format!("12:00:04  {kind}  {whom}  200  msg_1"));
        }
        assert_eq!(line(&told(Value::Null)), "12:00:04  (no event)  200  msg_1");
        let mut refused = Told::refused(StatusCode::UNAUTHORIZED, "x".repeat(10_000));
        refused.at = sent.at;
        assert_eq!(line(&refused), format!("12:00:04  refused  401  {}…", "x".repeat(SHOWN)));
    }
}
