//! The program `posthaste`: email from the command line.

use std::process::ExitCode;

mod args;
mod commands;
mod context;
#[cfg(feature = "sandbox")]
mod embedded;
mod fail;
mod output;
mod problem;
mod run;
mod settings;

fn main() -> ExitCode {
    run::main(std::env::args_os().collect())
}
