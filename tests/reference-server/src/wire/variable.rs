//! The names of variables and of contact properties.

use std::fmt::{self, Display};

use crate::wire::paging::quote;
use crate::wire::problems::{Checked, Report};

/// The maximum length of a variable key in characters.
const MAX_KEY: usize = 50;

/// The specification has two lists of reserved keys; both are rejected, wherever a key is defined or sent. So is the name of the
/// unsubscribe link in Resend's own documentation, which is substituted as well.
const RESERVED: [&str; 8] = [
    "FIRST_NAME",
    "LAST_NAME",
    "EMAIL",
    "UNSUBSCRIBE_URL",
    "SERVICE_UNSUBSCRIBE_URL",
    "RESEND_UNSUBSCRIBE_URL",
    "contact",
    "this",
];

/// Whether a key is reserved.
pub fn is_reserved(key: &str) -> bool {
    RESERVED.contains(&key)
}

/// Checks a key, both where a variable is defined and where a value is given. `what` is the subject of messages.
pub fn check_key(what: impl Display, key: &str, report: &Report<'_>) -> Checked<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let wrong = |rule: fmt::Arguments<'_>| Err(report.report(format_args!("{what} must {rule}.")));
    if key.is_empty() || !key.bytes().all(allowed) {
        let found = quote(key);
        return wrong(format_args!("consist of ASCII letters, digits and underscores; found {found}"));
    }
    if key.len() > MAX_KEY {
        let found = key.len();
        return wrong(format_args!("have at most {MAX_KEY} characters; found {found}"));
    }
    if is_reserved(key) {
        return wrong(format_args!("not be reserved; found {key}"));
    }
    Ok(())
}
