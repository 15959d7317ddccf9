//! Tests of the service through its public interfaces.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "../../src/cpu_time.rs"]
mod cpu_time;
mod independent_parser;
mod response_mutants;
mod restarts;
mod support;

mod account_clocks;
mod api_keys;
mod attachments;
mod authentication;
mod automations;
mod batch;
mod broadcast_recipients;
mod broadcasts;
mod clock;
mod contact_imports;
mod contact_properties;
mod contacts;
mod custom_events;
mod domain_claims;
mod domains;
mod email_metrics;
mod errors;
mod faults;
mod hosted_attachments;
mod idempotency;
mod inboxes;
mod lifecycle;
mod lists;
mod mounts;
mod oauth;
mod received;
mod robustness;
mod schedules;
mod segment_metrics;
mod sending;
mod sent_attachments;
mod sharing;
mod suppressions;
mod templates;
mod topics;
mod usage;
mod validation;
mod values;
mod webhook_deliveries;
mod webhook_endpoints;
mod webhooks;
