//! The `idempost` program: a command-line client and a local sandbox for the Resend email API.

use std::process::ExitCode;

fn main() -> ExitCode {
    idempost_cli::main()
}
