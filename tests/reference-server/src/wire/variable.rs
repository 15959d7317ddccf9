//! The names of variables and of contact properties.

use crate::wire::paging::quoted;
use crate::wire::validation::Problems;

/// The maximum length of a variable key in characters.
const LONGEST_KEY: usize = 50;

/// The specification has two lists of reserved keys; both are rejected, wherever a key is defined or sent.
const RESERVED: [&str; 7] =
    ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "contact", "this"];

/// Checks a key, both where a variable is defined and where a value is given.
pub(crate) fn check_key(name: &str, key: &str, problems: &mut Problems) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if key.is_empty() || !key.bytes().all(allowed) {
        problems.wrong(|| {
            format!(
                "`{name}` must have keys of ASCII letters, digits and underscores; found {}.",
                quoted(key)
            )
        });
    } else if key.len() > LONGEST_KEY {
        problems.wrong(|| {
            format!(
                "`{name}` must have keys of at most {LONGEST_KEY} characters; found one of {}.",
                key.len()
            )
        });
    } else if RESERVED.contains(&key) {
        problems.wrong(|| format!("`{name}` must not use the reserved key {key}."));
    }
}
