//! The `posthaste` program: email from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    posthaste_cli::main()
}
