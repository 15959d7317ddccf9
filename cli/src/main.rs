//! The program `posthaste`: email from the command line.

use std::process::ExitCode;

mod args;
mod browser;
mod change;
mod commands;
mod confirm;
mod context;
mod credentials;
#[cfg(feature = "sandbox")]
mod embedded;
mod fail;
mod files;
mod input;
mod narrate;
mod output;
mod paging;
mod preview;
mod problem;
mod run;
mod settings;
mod signals;
mod unsettled;
mod wait;

fn main() -> ExitCode {
    run::main(std::env::args_os().collect())
}
