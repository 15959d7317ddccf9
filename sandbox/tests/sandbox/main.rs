//! Tests of the sandbox through its public interfaces.

#![expect(clippy::unwrap_used, reason = "the helpers of these tests are tests too")]

#[path = "../../../tests/reference-server/src/cpu_time.rs"]
mod cpu_time;
#[path = "../../../tests/reference-server/tests/service/independent_parser.rs"]
mod independent_parser;
#[path = "../../../tests/reference-server/tests/service/response_mutants.rs"]
mod response_mutants;
#[path = "../../../tests/reference-server/tests/service/restarts.rs"]
mod restarts;
#[path = "../../../tests/reference-server/tests/service/support.rs"]
#[expect(dead_code, reason = "the tests of the service use more of it")]
mod support;

mod access;
mod check;
mod codes;
mod export;
mod inbox;
mod inbox_guard;
mod inbox_live;
mod inbox_mutations;
mod inbox_routes;
mod inbox_search;
mod inbox_unsent;
mod inbox_view;
mod latency;
mod mailpit;
mod nesting;
mod openapi;
mod password;
mod persistence;
mod release;
mod remote_images;
mod remote_server;
mod request_guards;
mod requested_links;
mod retention;
mod served;
mod smtp_faults;
mod smtp_receiving;
mod smtp_sending;
mod waiting;
