//! What the service promises, asked through its public doors.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "service/second_parser.rs"]
mod second_parser;
#[path = "service/support.rs"]
mod support;

#[path = "service/api_keys.rs"]
mod api_keys;
#[path = "service/attachments.rs"]
mod attachments;
#[path = "service/automations.rs"]
mod automations;
#[path = "service/batch.rs"]
mod batch;
#[path = "service/bounds.rs"]
mod bounds;
#[path = "service/broadcasts.rs"]
mod broadcasts;
#[path = "service/clock.rs"]
mod clock;
#[path = "service/contact_properties.rs"]
mod contact_properties;
#[path = "service/custom_events.rs"]
mod custom_events;
#[path = "service/deliveries.rs"]
mod deliveries;
#[path = "service/domains.rs"]
mod domains;
#[path = "service/doors.rs"]
mod doors;
#[path = "service/endpoints.rs"]
mod endpoints;
#[path = "service/errors.rs"]
mod errors;
#[path = "service/events.rs"]
mod events;
#[path = "service/export.rs"]
mod export;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/fetching.rs"]
mod fetching;
#[path = "service/idempotency.rs"]
mod idempotency;
#[path = "service/inbox.rs"]
mod inbox;
#[path = "service/inbox_guard.rs"]
mod inbox_guard;
#[path = "service/inbox_live.rs"]
mod inbox_live;
#[path = "service/inbox_routes.rs"]
mod inbox_routes;
#[path = "service/inbox_unsent.rs"]
mod inbox_unsent;
#[path = "service/inbox_view.rs"]
mod inbox_view;
#[path = "service/keep.rs"]
mod keep;
#[path = "service/keys.rs"]
mod keys;
#[path = "service/latency.rs"]
mod latency;
#[path = "service/lists.rs"]
mod lists;
#[path = "service/nesting.rs"]
mod nesting;
#[path = "service/oauth.rs"]
mod oauth;
#[path = "service/received.rs"]
mod received;
#[path = "service/refusals.rs"]
mod refusals;
#[path = "service/robustness.rs"]
mod robustness;
#[path = "service/schedules.rs"]
mod schedules;
#[path = "service/sending.rs"]
mod sending;
#[path = "service/smtp.rs"]
mod smtp;
#[path = "service/smtp_sending.rs"]
mod smtp_sending;
#[path = "service/sockets.rs"]
mod sockets;
#[path = "service/templates.rs"]
mod templates;
#[path = "service/topics.rs"]
mod topics;
#[path = "service/values.rs"]
mod values;
#[path = "service/webhooks.rs"]
mod webhooks;
