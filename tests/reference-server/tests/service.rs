//! Tests of the service through its public interfaces.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "../src/cpu_time.rs"]
mod cpu_time;
#[path = "service/independent_parser.rs"]
mod independent_parser;
#[path = "service/response_mutants.rs"]
mod response_mutants;
#[path = "service/restarts.rs"]
mod restarts;
#[path = "service/support.rs"]
mod support;

#[path = "service/account_clocks.rs"]
mod account_clocks;
#[path = "service/api_keys.rs"]
mod api_keys;
#[path = "service/attachments.rs"]
mod attachments;
#[path = "service/authentication.rs"]
mod authentication;
#[path = "service/automations.rs"]
mod automations;
#[path = "service/batch.rs"]
mod batch;
#[path = "service/broadcast_recipients.rs"]
mod broadcast_recipients;
#[path = "service/broadcasts.rs"]
mod broadcasts;
#[path = "service/clock.rs"]
mod clock;
#[path = "service/contact_imports.rs"]
mod contact_imports;
#[path = "service/contact_properties.rs"]
mod contact_properties;
#[path = "service/contacts.rs"]
mod contacts;
#[path = "service/custom_events.rs"]
mod custom_events;
#[path = "service/domain_claims.rs"]
mod domain_claims;
#[path = "service/domains.rs"]
mod domains;
#[path = "service/email_metrics.rs"]
mod email_metrics;
#[path = "service/errors.rs"]
mod errors;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/hosted_attachments.rs"]
mod hosted_attachments;
#[path = "service/idempotency.rs"]
mod idempotency;
#[path = "service/inboxes.rs"]
mod inboxes;
#[path = "service/lifecycle.rs"]
mod lifecycle;
#[path = "service/lists.rs"]
mod lists;
#[path = "service/mounts.rs"]
mod mounts;
#[path = "service/oauth.rs"]
mod oauth;
#[path = "service/received.rs"]
mod received;
#[path = "service/robustness.rs"]
mod robustness;
#[path = "service/schedules.rs"]
mod schedules;
#[path = "service/segment_metrics.rs"]
mod segment_metrics;
#[path = "service/sending.rs"]
mod sending;
#[path = "service/sent_attachments.rs"]
mod sent_attachments;
#[path = "service/sharing.rs"]
mod sharing;
#[path = "service/suppressions.rs"]
mod suppressions;
#[path = "service/templates.rs"]
mod templates;
#[path = "service/topics.rs"]
mod topics;
#[path = "service/usage.rs"]
mod usage;
#[path = "service/validation.rs"]
mod validation;
#[path = "service/values.rs"]
mod values;
#[path = "service/webhook_deliveries.rs"]
mod webhook_deliveries;
#[path = "service/webhook_endpoints.rs"]
mod webhook_endpoints;
#[path = "service/webhooks.rs"]
mod webhooks;
