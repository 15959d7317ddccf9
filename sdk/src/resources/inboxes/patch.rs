//! The inputs for updating inboxes, agents, labels and threads.

use super::{
    new::{check_color, check_from_name, check_name},
    record::{InboxAction, InboxFolder, InboxTone},
};
use crate::problem::{Validator, limits};

/// Reports an update that changes nothing, which the service rejects.
pub(super) fn check_touched(v: &mut Validator, is_untouched: bool, names: &str) {
    if is_untouched {
        v.report("required", format!("at least one of {names} is required"));
    }
}

patch! {
    /// Changes to an inbox: [`Inboxes::update`](super::Inboxes::update). Fields that aren't set are left unchanged; at least one must be set.
    pub struct InboxPatch {
        /// Sets the name, at most 64 characters.
        name: String,
        /// Sets the sender name, at most 78 characters.
        from_name: String |
        /// Removes the sender name.
        clear_from_name,
    }
}

impl InboxPatch {
    fn validate(&self, v: &mut Validator) {
        check_touched(v, self.is_untouched(), "`name` and `from_name`");
        check_name(v, self.name.text());
        check_from_name(v, self.from_name.text());
    }
}

validate!(InboxPatch);

patch! {
    /// Changes to an inbox agent's settings: [`Inboxes::update_agent`](super::Inboxes::update_agent). At least one must be set.
    pub struct InboxAgentPatch {
        /// Sets the instructions, at most 4,000 characters.
        instructions: String |
        /// Removes the instructions.
        clear_instructions,
        /// Sets the tone of drafts.
        tone: InboxTone |
        /// Removes the tone.
        clear_tone,
        /// Replaces all actions.
        actions: Vec<InboxAction>,
    }
}

impl InboxAgentPatch {
    fn validate(&self, v: &mut Validator) {
        check_touched(v, self.is_untouched(), "`instructions`, `tone` and `actions`");
        v.max_length("instructions", self.instructions.text(), limits::INBOX_INSTRUCTIONS_CHARS);
        v.check_known("tone", InboxTone::KNOWN, self.tone.value().map(InboxTone::as_str));
        v.for_each_item("actions", self.actions.value().into_iter().flatten(), |v, action| {
            v.check_one_of("an action", InboxAction::KNOWN, action.as_str());
        });
    }
}

validate!(InboxAgentPatch);

patch! {
    /// Changes to a label: [`Inboxes::update_label`](super::Inboxes::update_label). At least one must be set.
    pub struct InboxLabelPatch {
        /// Sets the name, at most 64 characters, unique within the inbox (ignoring case).
        name: String,
        /// Sets the color as `#RRGGBB`.
        color: String,
    }
}

impl InboxLabelPatch {
    fn validate(&self, v: &mut Validator) {
        check_touched(v, self.is_untouched(), "`name` and `color`");
        check_name(v, self.name.text());
        check_color(v, self.color.text());
    }
}

validate!(InboxLabelPatch);

patch! {
    /// Changes to a thread: [`Inboxes::update_thread`](super::Inboxes::update_thread). At least one must be set.
    pub struct InboxThreadPatch {
        /// Marks the thread and all its emails as read or unread.
        read: bool,
        /// Moves the thread to a folder other than `sent`.
        folder: InboxFolder,
    }
}

impl InboxThreadPatch {
    fn validate(&self, v: &mut Validator) {
        check_touched(v, self.is_untouched(), "`read` and `folder`");
        if let Some(folder @ (InboxFolder::Sent | InboxFolder::Unknown(_))) = self.folder.value() {
            let rule = "a thread can be moved to inbox, archive, spam or trash";
            v.field("folder", |v| v.report_found("type", rule, folder.as_str()));
        }
    }
}

validate!(InboxThreadPatch);

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::problem::codes;

    #[test]
    fn an_update_that_changes_nothing_is_reported() {
        assert_eq!(codes(InboxPatch::new().check()), "required");
        assert_eq!(codes(InboxAgentPatch::new().check()), "required");
        assert_eq!(codes(InboxLabelPatch::new().check()), "required");
        assert_eq!(codes(InboxThreadPatch::new().check()), "required");
        assert_eq!(codes(InboxPatch::new().clear_from_name().check()), "");
    }

    #[test]
    fn values_that_the_service_rejects_are_reported() {
        assert_eq!(codes(InboxThreadPatch::new().folder(InboxFolder::Sent).check()), "type /folder");
        assert_eq!(codes(InboxThreadPatch::new().folder("attic").check()), "type /folder");
        assert_eq!(codes(InboxAgentPatch::new().tone("loud").check()), "type /tone");
        let actions = InboxAgentPatch::new().actions([InboxAction::Archive, "fly".into()]);
        assert_eq!(codes(actions.check()), "type /actions/1");
        let expected = json!({ "instructions": null, "tone": "concise_casual", "actions": [] });
        let patch = InboxAgentPatch::new().clear_instructions().tone(InboxTone::ConciseCasual).actions([]);
        assert_eq!(to_value(patch).unwrap(), expected);
    }
}
