//! Every parser of foreign bytes as a fuzz target: a function of bytes that panics if a property is violated.
//!
//! A target asserts more than the absence of panics: round trips, agreement with a second implementation, bounds, and what the parser
//! promises. `cargo test -p idempost-fuzz` replays the files in `seeds/` and mutations of them. `tests/fuzz/run` searches under coverage
//! guidance, with libFuzzer on the stable toolchain; its time and memory limits also detect superlinear cost.
//!
//! | folder | contents |
//! |---|---|
//! | `seeds/TARGET/` | samples, and the minimized inputs of fixed defects |
//! | `words/TARGET` | tokens of the format, in the syntax of libFuzzer's dictionaries |
//! | `target/fuzz/corpus/TARGET/` | the inputs found by earlier runs |

mod bulk;
mod oauth;
mod operations;
mod sandbox;
mod sdk;
mod text;

// The doors of the program are functions of bytes already.
use idempost_cli::fuzzing as program;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also that of its seeds and words.
    pub name: &'static str,
    /// Runs it for one input.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident: $run:path,)+) => {
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: $run },)+];
    };
}

targets! {
    addresses: program::addresses,
    answers: sdk::answers::run,
    bulk_input: bulk::input::run,
    bulk_journal: bulk::journal::run,
    callback: oauth::callback::run,
    config: program::config,
    contacts: program::contacts,
    credentials: program::credentials,
    emails: sdk::emails::run,
    html: sandbox::html::run,
    imports: sandbox::imports::run,
    json: program::json,
    mime: sandbox::mime::run,
    persistence: sandbox::persistence::run,
    placeholders: sandbox::placeholders::run,
    requests: sandbox::requests::run,
    search: sandbox::search::run,
    shown: program::shown,
    smtp: sandbox::smtp::run,
    tokens: oauth::tokens::run,
    tools: program::tools,
    webhooks: sdk::webhooks::run,
}

/// The target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
