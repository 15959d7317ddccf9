//! The program `idempost`: a command-line client and a local sandbox for the Resend email API. A library only so that `tests/fuzz` can call its
//! parsers.

use std::process::ExitCode;

mod actions;
mod cli;
mod commands;
mod context;
mod credentials;
mod diagnostics;
mod files;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod global;
mod input;
mod literal;
mod output;
mod processes;
mod rows;
mod run;
mod settings;
mod signals;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    run::main(std::env::args_os().collect())
}
