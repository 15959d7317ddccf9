//! The output for a delivery: a line, or JSON.

use std::time::Duration;

use http::StatusCode;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Value, json};

/// Maximum characters shown of a value chosen by the sender.
const MAX_SHOWN_CHARS: usize = 200;

/// The outcome of one delivery.
#[derive(Debug)]
pub(super) struct DeliveryRecord {
    pub(super) at: Timestamp,
    /// `None` for a rejected delivery.
    pub(super) id: Option<String>,
    pub(super) kind: Option<String>,
    /// Whether the signature was checked and is valid.
    pub(super) verified: bool,
    /// The status returned to the sender.
    pub(super) status: StatusCode,
    /// Why it was rejected or couldn't be forwarded.
    pub(super) why: Option<String>,
    /// The response time of the application.
    pub(super) took: Option<Duration>,
    /// The body, if it is JSON.
    pub(super) payload: Value,
}

impl DeliveryRecord {
    pub(super) fn rejected(status: StatusCode, why: impl Into<String>) -> Self {
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

    /// Formats the record: `12:00:04 email.delivered ada@example.com 200 in 12 ms msg_27UH4WbU6Z5A5EzD8u03UvzRbpk`.
    pub(super) fn line(&self, zone: &TimeZone) -> String {
        let mut parts = vec![self.at.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()];
        if self.id.is_some() {
            parts.push(shorten(self.kind.as_deref().unwrap_or("(no event)")));
            parts.extend(self.subject());
        } else {
            parts.push("rejected".to_owned());
        }
        let status = self.status.as_u16();
        match (&self.why, self.took) {
            (Some(why), _) => parts.extend([status.to_string(), shorten(why)]),
            (None, Some(took)) => parts.push(format!("{status} in {} ms", took.as_millis())),
            (None, None) => parts.push(status.to_string()),
        }
        parts.extend(self.id.as_deref().map(shorten));
        parts.join("  ")
    }

    /// The subject of the event: a recipient, a contact, or the name of a domain or topic.
    fn subject(&self) -> Option<String> {
        let data = self.payload.get("data")?;
        let recipient = data.pointer("/to/0").or_else(|| data.get("to"));
        let subject = recipient.or_else(|| data.get("email")).or_else(|| data.get("name"))?;
        subject.as_str().map(shorten)
    }

    /// The complete record.
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

/// One line, shortened if long.
fn shorten(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MAX_SHOWN_CHARS).map(|c| if c.is_control() { '?' } else { c }).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(payload: Value) -> DeliveryRecord {
        DeliveryRecord {
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
    fn a_line_has_time_type_subject_status_and_id() {
        let line = |record: &DeliveryRecord| record.line(&TimeZone::UTC);
        let mut sent = record(json!({ "type": "email.sent", "data": { "to": ["ada@example.com"] } }));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  200  msg_1");
        sent.took = Some(Duration::from_millis(12));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  200 in 12 ms  msg_1");
        (sent.status, sent.why) = (StatusCode::BAD_GATEWAY, Some("host\nis down".to_owned()));
        assert_eq!(line(&sent), "12:00:04  email.sent  ada@example.com  502  host?is down  msg_1");
        for (kind, data, subject) in [
            ("contact.created", json!({ "email": "ada@example.com" }), "ada@example.com"),
            ("domain.updated", json!({ "name": "acme.test" }), "acme.test"),
        ] {
            let about = record(json!({ "type": kind, "data": data }));
            assert_eq!(line(&about), format!("12:00:04  {kind}  {subject}  200  msg_1"));
        }
        assert_eq!(line(&record(Value::Null)), "12:00:04  (no event)  200  msg_1");
        let mut rejected = DeliveryRecord::rejected(StatusCode::UNAUTHORIZED, "x".repeat(10_000));
        rejected.at = sent.at;
        assert_eq!(line(&rejected), format!("12:00:04  rejected  401  {}…", "x".repeat(MAX_SHOWN_CHARS)));
    }
}
