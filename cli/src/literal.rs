//! Literal values: in a tool's call, no value on the command line names a file, standard input or a command.
//!
//! A model chooses these values, and untrusted mail may have influenced it. So this is a property of the process, not a list of flags: code calls
//! [`check_local`] before it uses a file or command from the command line.

use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that `mcp` sets for the calls of its tools.
pub(crate) const VARIABLE: &str = "IDEMPOST_LITERAL_VALUES";

/// Its value if the rest of the arguments is on standard input, as a JSON array.
pub(crate) const ARGUMENTS_ON_STDIN: &str = "stdin";

static LITERAL: AtomicBool = AtomicBool::new(false);

/// Makes all values literal until the process exits, if the variable has a value. Returns the complete arguments.
pub(crate) fn enable(variable: Option<&str>, mut arguments: Vec<OsString>) -> io::Result<Vec<OsString>> {
    LITERAL.store(variable.is_some(), Ordering::Relaxed);
    if variable == Some(ARGUMENTS_ON_STDIN) {
        let others: Vec<String> = serde_json::from_reader(io::stdin().lock())?;
        arguments.extend(others.into_iter().map(OsString::from));
    }
    Ok(arguments)
}

/// Whether all values are literal.
pub(crate) fn is_enabled() -> bool {
    LITERAL.load(Ordering::Relaxed)
}

/// Permits a file, standard input or a command from the command line.
///
/// # Errors
/// Rejects it if all values are literal.
pub(crate) fn check_local() -> io::Result<()> {
    if is_enabled() {
        let rule = "a tool can't use local files, standard input or commands";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, rule));
    }
    Ok(())
}
