//! Tests of the sandbox through its public interfaces.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "../../tests/reference-server/src/cpu_time.rs"]
mod cpu_time;
#[path = "../../tests/reference-server/tests/service/independent_parser.rs"]
mod independent_parser;
#[path = "../../tests/reference-server/tests/service/response_mutants.rs"]
mod response_mutants;
#[path = "../../tests/reference-server/tests/service/restarts.rs"]
mod restarts;
#[path = "../../tests/reference-server/tests/service/support.rs"]
#[expect(dead_code, reason = "the tests of the service use more of it")]
mod support;

#[path = "sandbox/access.rs"]
mod access;
#[path = "sandbox/check.rs"]
mod check;
#[path = "sandbox/codes.rs"]
mod codes;
#[path = "sandbox/export.rs"]
mod export;
#[path = "sandbox/inbox.rs"]
mod inbox;
#[path = "sandbox/inbox_guard.rs"]
mod inbox_guard;
#[path = "sandbox/inbox_live.rs"]
mod inbox_live;
#[path = "sandbox/inbox_mutations.rs"]
mod inbox_mutations;
#[path = "sandbox/inbox_routes.rs"]
mod inbox_routes;
#[path = "sandbox/inbox_search.rs"]
mod inbox_search;
#[path = "sandbox/inbox_unsent.rs"]
mod inbox_unsent;
#[path = "sandbox/inbox_view.rs"]
mod inbox_view;
#[path = "sandbox/latency.rs"]
mod latency;
#[path = "sandbox/mailpit.rs"]
mod mailpit;
#[path = "sandbox/nesting.rs"]
mod nesting;
#[path = "sandbox/openapi.rs"]
mod openapi;
#[path = "sandbox/password.rs"]
mod password;
#[path = "sandbox/persistence.rs"]
mod persistence;
#[path = "sandbox/release.rs"]
mod release;
#[path = "sandbox/remote_images.rs"]
mod remote_images;
#[path = "sandbox/remote_server.rs"]
mod remote_server;
#[path = "sandbox/request_guards.rs"]
mod request_guards;
#[path = "sandbox/requested_links.rs"]
mod requested_links;
#[path = "sandbox/retention.rs"]
mod retention;
#[path = "sandbox/served.rs"]
mod served;
#[path = "sandbox/smtp_faults.rs"]
mod smtp_faults;
#[path = "sandbox/smtp_receiving.rs"]
mod smtp_receiving;
#[path = "sandbox/smtp_sending.rs"]
mod smtp_sending;
#[path = "sandbox/waiting.rs"]
mod waiting;
