//! A browser, a terminal and a client of the Model Context Protocol that tests drive.
//!
//! A crate of its own, because Cargo unites the features of ordinary dependencies throughout the workspace, but not those of
//! dependencies for tests: `cargo test` would build again most of what `cargo run` has built.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "what fails here fails its test")]

mod chromium;

pub use chromium::{Browser, TIMEOUT};
pub use {rexpect, rmcp, thirtyfour};
