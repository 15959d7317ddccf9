//! The `idempost` program: email from the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    idempost_cli::main()
}
