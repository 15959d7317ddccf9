//! The input for creating a webhook.

use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::event::EventType;
use crate::{
    problem::{Problems, Validator},
    types::fields::{Field, Input, Reader},
};

/// A webhook to create with [`Webhooks::create`](super::Webhooks::create).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewWebhook {
    endpoint: String,
    events: Vec<EventType>,
}

impl NewWebhook {
    /// Creates a webhook that delivers events of the given types, at least one, to an absolute http or https URL.
    pub fn new(endpoint: impl Into<String>, events: impl IntoIterator<Item = EventType>) -> Self {
        Self { endpoint: endpoint.into(), events: events.into_iter().collect() }
    }

    fn validate(&self, v: &mut Validator) {
        v.check_required("endpoint", &self.endpoint);
        if !self.endpoint.trim().is_empty() {
            check_endpoint(v, &self.endpoint);
        }
        if self.events.is_empty() {
            v.report_at("events", "required", "`events` must have at least one event type");
        }
    }
}

validate!(NewWebhook);

impl Input for NewWebhook {
    const FIELDS: &'static [Field] =
        &[Field::required::<String>("endpoint"), Field::required::<Vec<EventType>>("events")];

    fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Reader::input(json, |fields| Self {
            endpoint: fields.required("endpoint"),
            events: fields.optional("events").unwrap_or_default(),
        })
    }
}

pub(super) fn check_endpoint(v: &mut Validator, endpoint: &str) {
    let fits =
        Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let rule = "`endpoint` must be an absolute http or https URL";
    if !fits {
        v.field("endpoint", |v| v.report_found("url", rule, endpoint.escape_debug()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    #[test]
    fn a_webhook_requires_an_endpoint_and_an_event_type() {
        // HOOK-04, HOOK-05, A-43
        assert_eq!(codes(NewWebhook::new("", []).check()), "required /endpoint, required /events");
        for endpoint in ["x", "/hook", "ftp://a.test/", "mailto:a@b.test"] {
            assert_eq!(codes(NewWebhook::new(endpoint, []).check()), "url /endpoint, required /events");
        }
        assert!(NewWebhook::new("http://localhost:1/x", [EventType::EmailSent]).check().is_ok());
        assert!(NewWebhook::new("http://localhost:1/x", ["later.added".into()]).check().is_ok());
    }
}
