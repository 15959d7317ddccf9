//! Rules of fields that several resources have.

use super::{Problem, address::fault as address_fault, limits};

pub(crate) fn check_address(at: &str, address: &str, problems: &mut Vec<Problem>) {
    if let Some((code, rule)) = address_fault(address) {
        problems.push(Problem::new(at, code, rule).found(address.escape_debug()));
    }
}

pub(crate) fn check_addresses(reply_to: &[String], problems: &mut Vec<Problem>) {
    for (i, address) in reply_to.iter().enumerate() {
        check_address(&format!("/reply_to/{i}"), address, problems);
    }
}

pub(crate) fn check_line(field: &str, text: &str, problems: &mut Vec<Problem>) {
    if text.contains(|c: char| c.is_ascii_control()) {
        let rule = format!("`{field}` must not hold control characters such as line breaks");
        problems.push(Problem::new(format!("/{field}"), "header", rule).found(text.escape_debug()));
    }
}

pub(crate) fn check_topic(topic: Option<&str>, problems: &mut Vec<Problem>) {
    if topic.is_some_and(str::is_empty) {
        problems.push(Problem::new("/topic_id", "empty", "`topic_id` must not be empty"));
    }
}

pub(crate) fn schedule_problem(when: &str) -> Option<Problem> {
    when.trim().is_empty().then(|| Problem::new("/scheduled_at", "empty", "`scheduled_at` must not be empty"))
}

/// A text that has to say something.
pub(crate) fn check_filled(field: &str, text: &str, problems: &mut Vec<Problem>) {
    if text.trim().is_empty() {
        problems.push(Problem::new(format!("/{field}"), "empty", format!("`{field}` must not be empty")));
    }
}

/// A text of at most so many characters.
pub(crate) fn check_length(field: &str, text: &str, most: usize, problems: &mut Vec<Problem>) {
    let length = text.chars().count();
    if length > most {
        let rule = format!("`{field}` has at most {most} characters");
        problems
            .push(Problem::new(format!("/{field}"), "length", rule).found(format!("{length} characters")));
    }
}

/// The key of a variable or of a property: what it may be made of, how long, and that it means nothing else already.
pub(crate) fn check_key(at: &str, what: &str, key: &str, problems: &mut Vec<Problem>) {
    let mut push =
        |code, rule: String, found: String| problems.push(Problem::new(at, code, rule).found(found));
    if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        push("charset", format!("a {what}'s key is made of A-Z a-z 0-9 _"), key.to_owned());
    } else if key.len() > limits::VARIABLE_KEY_CHARS {
        push(
            "length",
            format!("a {what}'s key has at most 50 characters"),
            format!("{} characters", key.len()),
        );
    } else if limits::RESERVED_VARIABLE_KEYS.contains(&key) {
        push("reserved", "this key is reserved".to_owned(), key.to_owned());
    }
}
