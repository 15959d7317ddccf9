//! Validation of contact properties.

use crate::{problem::Problem, resources::shared::PropertyValue};

/// Characters of a property's key.
const KEY_CHARS: usize = 50;

/// Validates a property to send.
pub(super) fn check(key: &str, value: Option<&PropertyValue>, problems: &mut Vec<Problem>) {
    let at = format!("/properties/{}", key.replace('~', "~0").replace('/', "~1"));
    let found = key.escape_debug();
    if key.is_empty() {
        problems.push(Problem::new(at.clone(), "empty", "a property's key must not be empty"));
    } else if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        let rule = "a property's key has only ASCII letters, digits and underscores";
        problems.push(Problem::new(at.clone(), "charset", rule).found(found));
    } else if key.len() > KEY_CHARS {
        let rule = format!("a property's key has at most {KEY_CHARS} characters");
        problems.push(Problem::new(at.clone(), "length", rule).found(key.len()));
    }
    if let Some(PropertyValue::Other(other)) = value {
        problems.push(Problem::new(at, "type", "a property is a text or a finite number").found(other));
    }
}
