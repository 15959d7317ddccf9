//! Tests of the service through its public interfaces.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "../src/cpu_time.rs"]
mod cpu_time;
#[path = "service/independent_parser.rs"]
mod independent_parser;
#[path = "service/support.rs"]
mod support;

#[path = "service/access.rs"]
mod access;
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
#[path = "service/check.rs"]
mod check;
#[path = "service/clock.rs"]
mod clock;
#[path = "service/codes.rs"]
mod codes;
#[path = "service/contact_imports.rs"]
mod contact_imports;
#[path = "service/contact_properties.rs"]
mod contact_properties;
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
#[path = "service/export.rs"]
mod export;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/hosted_attachments.rs"]
mod hosted_attachments;
#[path = "service/idempotency.rs"]
mod idempotency;
#[path = "service/inbox.rs"]
mod inbox;
#[path = "service/inbox_guard.rs"]
mod inbox_guard;
#[path = "service/inbox_live.rs"]
mod inbox_live;
#[path = "service/inbox_mutations.rs"]
mod inbox_mutations;
#[path = "service/inbox_routes.rs"]
mod inbox_routes;
#[path = "service/inbox_search.rs"]
mod inbox_search;
#[path = "service/inbox_unsent.rs"]
mod inbox_unsent;
#[path = "service/inbox_view.rs"]
mod inbox_view;
#[path = "service/inboxes.rs"]
mod inboxes;
#[path = "service/latency.rs"]
mod latency;
#[path = "service/lifecycle.rs"]
mod lifecycle;
#[path = "service/lists.rs"]
mod lists;
#[path = "service/mailpit.rs"]
mod mailpit;
#[path = "service/mounts.rs"]
mod mounts;
#[path = "service/nesting.rs"]
mod nesting;
#[path = "service/oauth.rs"]
mod oauth;
#[path = "service/password.rs"]
mod password;
#[path = "service/persistence.rs"]
mod persistence;
#[path = "service/received.rs"]
mod received;
#[path = "service/release.rs"]
mod release;
#[path = "service/remote_images.rs"]
mod remote_images;
#[path = "service/request_guards.rs"]
mod request_guards;
#[path = "service/requested_links.rs"]
mod requested_links;
#[path = "service/retention.rs"]
mod retention;
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
#[path = "service/smtp_faults.rs"]
mod smtp_faults;
#[path = "service/smtp_receiving.rs"]
mod smtp_receiving;
#[path = "service/smtp_sending.rs"]
mod smtp_sending;
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
#[path = "service/waiting.rs"]
mod waiting;
#[path = "service/webhook_deliveries.rs"]
mod webhook_deliveries;
#[path = "service/webhook_endpoints.rs"]
mod webhook_endpoints;
#[path = "service/webhooks.rs"]
mod webhooks;
