//! The `posthaste` program: email from the command line.

use std::process::ExitCode;

mod actions;
mod cli;
mod commands;
mod context;
mod credentials;
mod diagnostics;
mod files;
mod global;
mod input;
mod output;
mod processes;
mod run;
mod settings;
mod signals;

fn main() -> ExitCode {
    run::main(std::env::args_os().collect())
}
