//! The rules that a new broadcast and a change of one share.

use crate::{
    check::Problem,
    types::{Recipients, TopicId, address_fault},
};

pub(super) fn check_address(at: &str, address: &str, problems: &mut Vec<Problem>) {
    if let Some((code, rule)) = address_fault(address) {
        problems.push(Problem::new(at, code, rule).found(address.escape_debug()));
    }
}

pub(super) fn check_addresses(reply_to: &Recipients, problems: &mut Vec<Problem>) {
    for (i, address) in reply_to.as_slice().iter().enumerate() {
        check_address(&format!("/reply_to/{i}"), address, problems);
    }
}

pub(super) fn check_line(field: &str, text: &str, problems: &mut Vec<Problem>) {
    if text.contains(|c: char| c.is_ascii_control()) {
        let rule = format!("`{field}` must not hold control characters such as line breaks");
        problems.push(Problem::new(format!("/{field}"), "header", rule).found(text.escape_debug()));
    }
}

pub(super) fn check_topic(topic: Option<&TopicId>, problems: &mut Vec<Problem>) {
    if topic.is_some_and(|id| id.as_str().is_empty()) {
        problems.push(Problem::new("/topic_id", "empty", "`topic_id` must not be empty"));
    }
}

pub(super) fn schedule_problem(when: &str) -> Option<Problem> {
    when.trim().is_empty().then(|| Problem::new("/scheduled_at", "empty", "`scheduled_at` must not be empty"))
}
