//! The inputs for creating inboxes and labels.

use crate::problem::{Validator, limits};

input! {
    /// An inbox to create with [`Inboxes::create`](super::Inboxes::create).
    pub struct NewInbox {
        /// Creates an inbox for an address at a domain that receives mail.
        new(email_address: String);
        optional {
            /// Sets the name, at most 64 characters; the default is the address.
            name: String,
            /// Sets the sender name, at most 78 characters.
            from_name: String,
            /// Sets whether another provider receives the mail and forwards it to the inbox's
            /// [`receiving_address`](super::Inbox::receiving_address).
            forwarding: bool,
        }
    }
}

impl NewInbox {
    fn validate(&self, v: &mut Validator) {
        v.required_address("email_address", &self.email_address);
        check_name(v, self.name.as_deref());
        check_from_name(v, self.from_name.as_deref());
    }
}

validate!(NewInbox);

pub(super) fn check_name(v: &mut Validator, name: Option<&str>) {
    v.check_not_blank("name", name);
    v.check_one_line("name", name);
    v.max_length("name", name, limits::INBOX_NAME_CHARS);
}

pub(super) fn check_from_name(v: &mut Validator, name: Option<&str>) {
    v.check_one_line("from_name", name);
    v.max_length("from_name", name, limits::INBOX_FROM_NAME_CHARS);
}

input! {
    /// A label to create with [`Inboxes::create_label`](super::Inboxes::create_label).
    pub struct NewInboxLabel {
        /// Creates a label with a name of at most 64 characters, unique within the inbox (ignoring case).
        new(name: String);
        optional {
            /// Sets the color as `#RRGGBB`. By default the service chooses one.
            color: String,
        }
    }
}

impl NewInboxLabel {
    fn validate(&self, v: &mut Validator) {
        v.check_required("name", &self.name);
        v.check_one_line("name", Some(&self.name));
        v.max_length("name", Some(&self.name), limits::INBOX_NAME_CHARS);
        check_color(v, self.color.as_deref());
    }
}

validate!(NewInboxLabel);

pub(super) fn check_color(v: &mut Validator, color: Option<&str>) {
    let is_color = |color: &str| {
        let digits = color.strip_prefix('#').unwrap_or_default();
        digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if let Some(color) = color.filter(|color| !is_color(color)) {
        v.field("color", |v| {
            v.report_found("color", "`color` must be a color like #1A2B3C", color.escape_debug());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    #[test]
    fn names_and_colors_are_checked() {
        assert_eq!(codes(NewInbox::new("a@b.test").name("x".repeat(64)).from_name("").check()), "");
        let inbox = NewInbox::new("Ada <a@b.test>").name(" ").from_name("x".repeat(79));
        assert_eq!(codes(inbox.check()), "address /email_address, empty /name, length /from_name");
        for color in ["red", "#12345", "123456", "#12345g"] {
            assert_eq!(codes(NewInboxLabel::new("x").color(color).check()), "color /color", "{color}");
        }
        assert_eq!(codes(NewInboxLabel::new("x").color("#a1B2c3").check()), "");
    }
}
