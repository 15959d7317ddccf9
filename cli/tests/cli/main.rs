//! End-to-end tests of the program: arguments in, output streams and exit code out.

// Most of these tests run against a sandbox.
#![cfg(feature = "sandbox")]
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod aliases;
mod api;
mod api_keys;
#[cfg(unix)]
mod at_a_terminal;
mod auth;
mod automations;
mod batch;
#[cfg(unix)]
mod broadcast_recipients;
mod broadcasts;
mod browser;
#[cfg(unix)]
mod bulk;
mod completeness;
#[cfg(unix)]
mod completions;
mod config;
mod contacts;
#[cfg(unix)]
mod credentials;
mod doctor;
mod domains;
mod emails_metrics;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod guide;
mod help;
mod hostile;
#[cfg(unix)]
mod identity;
#[cfg(unix)]
mod inbox_page;
mod inboxes;
mod input_files;
#[cfg(unix)]
mod interruptions;
mod layers;
mod lists;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(feature = "mcp", unix))]
mod mcp_http;
mod no_network;
mod outcomes;
mod persistence;
mod profiles;
mod received;
mod received_watch;
mod recipients;
mod redaction;
mod refusals;
#[cfg(unix)]
mod reverse_proxies;
mod sandbox;
mod sandbox_check;
mod sandbox_control;
mod sandbox_mails;
mod sandbox_reach;
mod segment_metrics;
mod send;
mod service;
mod sessions;
mod shorthands;
#[cfg(unix)]
mod skill;
mod smtp;
mod smtp_release;
#[cfg(unix)]
mod soak;
mod streams;
mod support;
mod suppressions;
mod templates;
mod tls;
mod topics;
mod usage;
mod web;
mod webhooks;
mod webhooks_listen;
mod webhooks_verify;
