//! Validation of contact properties.

use crate::{problem::Validator, types::Scalar};

/// The maximum length of a property's key, in characters.
const MAX_KEY_CHARS: usize = 50;

/// Validates a property at the current location.
pub(super) fn check(v: &mut Validator, key: &str, value: Option<&Scalar>) {
    if key.is_empty() {
        v.report("empty", "a property key must not be empty");
    } else if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        let rule = "a property key must contain only ASCII letters, digits and `_`";
        v.report_found("charset", rule, key.escape_debug());
    } else if key.len() > MAX_KEY_CHARS {
        let rule = format!("a property key must have at most {MAX_KEY_CHARS} characters");
        v.report_found("length", rule, key.len());
    }
    if let Some(Scalar::Other(other)) = value {
        v.report_found("type", "a property must be a string or a finite number", other);
    }
}
