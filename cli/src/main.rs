//! The `idempost` program: a command-line client and a local sandbox for the Resend email API.

use std::process::ExitCode;

#[cfg(feature = "sandbox")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    idempost_cli::main()
}
