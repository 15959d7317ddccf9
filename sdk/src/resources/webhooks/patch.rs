//! The input for updating a webhook.

use super::{event::EventType, new::check_endpoint, record::WebhookStatus};
use crate::{problem::Validator, types::Patch};

patch! {
    /// Changes to a webhook: [`Webhooks::update`](super::Webhooks::update). Fields that aren't set are left unchanged.
    pub struct WebhookPatch {
        /// Sets the URL to which events are delivered; absolute http or https.
        endpoint: String,
        /// Enables or disables the webhook.
        status: WebhookStatus,
    } other {
        #[serde(skip_serializing_if = "Patch::is_keep")]
        events: Patch<Vec<EventType>>,
    }
}

impl WebhookPatch {
    /// Replaces the subscribed event types; at least one is required.
    pub fn events(mut self, events: impl IntoIterator<Item = EventType>) -> Self {
        self.events = Patch::Set(events.into_iter().collect());
        self
    }

    fn validate(&self, v: &mut Validator) {
        if let Some(endpoint) = self.endpoint.value() {
            check_endpoint(v, endpoint);
        }
        if self.events.value().is_some_and(Vec::is_empty) {
            v.report_at("events", "count", "`events` must have at least one event type");
        }
        v.check_known("status", WebhookStatus::KNOWN, self.status.value().map(WebhookStatus::as_str));
    }
}

validate!(WebhookPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    #[test]
    fn only_fields_that_were_set_are_sent() {
        // HOOK-12
        let patch = |patch: WebhookPatch| serde_json::to_value(patch).unwrap();
        assert_eq!(patch(WebhookPatch::new()), json!({}));
        assert_eq!(
            patch(WebhookPatch::new().status(WebhookStatus::Disabled)),
            json!({ "status": "disabled" })
        );
        assert_eq!(patch(WebhookPatch::new().events(["x.y".into()])), json!({ "events": ["x.y"] }));
    }

    #[test]
    fn an_endpoint_must_be_a_url_and_events_must_not_be_empty() {
        // HOOK-04, HOOK-05, A-43
        for endpoint in ["x", "/hook", "ftp://a.test/", "mailto:a@b.test"] {
            let both = "url /endpoint, count /events";
            assert_eq!(codes(WebhookPatch::new().endpoint(endpoint).events([]).check()), both);
        }
        assert!(WebhookPatch::new().check().is_ok());
        assert_eq!(codes(WebhookPatch::new().status("paused").check()), "type /status");
    }
}
