//! Replies to received emails.

use std::collections::BTreeSet;

use serde_json::Value;

use super::record::ReceivedEmail;
use crate::{problem::address_fault, resources::emails::Email};

/// The subject to show for an email without one.
pub(super) const NO_SUBJECT: &str = "(no subject)";
/// The maximum number of message IDs in `References`; if there are more, only the first and the last ones are used.
const MAX_REFERENCES: usize = 30;
/// The maximum length of a message ID in bytes: a header line has at most 998.
const MAX_MESSAGE_ID: usize = 500;

impl ReceivedEmail {
    /// Prepares a reply to the sender. Set its body, and [send](crate::resources::emails::Emails::send) it.
    ///
    /// It is addressed to the `Reply-To` addresses, or to the sender if there are none. The subject gets the prefix `Re: `, and the headers
    /// `In-Reply-To` and `References` let mail clients show it in the same thread (RFC 5322, 3.6.4). The original isn't quoted. Malformed addresses
    /// are omitted. (The specification defines no operation for this.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let email = client.received().get("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").await?;
    /// let reply = email.reply("Support <support@acme.test>").text("We are looking into it.");
    /// client.emails().send(&reply).idempotency_key(format!("reply-{}", email.id)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn reply(&self, from: impl Into<String>) -> Email {
        let authors = if self.reply_to.iter().any(|one| is_valid(one)) {
            self.reply_to.as_slice()
        } else {
            self.from.as_slice()
        };
        let mut known = BTreeSet::new();
        let email = Email::new(
            from,
            unique_valid(authors, &mut known),
            prefix_subject("Re:", self.subject.as_deref()),
        );
        let Some(id) = self.thread_id() else { return email };
        email.header("In-Reply-To", &id).header("References", self.references(&id))
    }

    /// Prepares a reply to the sender and all recipients; otherwise like [`reply`](Self::reply).
    ///
    /// Adds the other addresses in `To` and `Cc`, without duplicates, except `from` and the addresses for which the email was received.
    pub fn reply_all(&self, from: impl Into<String>) -> Email {
        let from = from.into();
        let reply = self.reply(from.as_str());
        let own = self.received_for.iter().map(String::as_str).chain([from.as_str()]);
        let mut known: BTreeSet<_> =
            own.chain(reply.fields().to.iter().map(String::as_str)).map(bare_address).collect();
        let to = unique_valid(&self.to, &mut known);
        reply.to(to).cc(unique_valid(&self.cc, &mut known))
    }

    /// Returns the ID by which other emails refer to this one; `None` if it has no `Message-ID` header.
    fn thread_id(&self) -> Option<String> {
        if self.headers.as_ref().is_some_and(|headers| !headers.contains_key("message-id")) {
            return None;
        }
        let id = self.message_id.as_deref()?.trim();
        let bracketed = if id.starts_with('<') { id.to_owned() } else { format!("<{id}>") };
        message_ids(&bracketed).next().map(str::to_owned)
    }

    /// Returns the thread for a reply: the references of this email, and its ID.
    fn references(&self, id: &str) -> String {
        let header = |name| self.headers.as_ref()?.get(name).and_then(Value::as_str);
        let mut thread: Vec<_> = message_ids(header("references").unwrap_or_default()).collect();
        if thread.is_empty() {
            // The parent is only known if there is exactly one.
            let parents: Vec<_> = message_ids(header("in-reply-to").unwrap_or_default()).collect();
            thread.extend(if parents.len() == 1 { parents } else { Vec::new() });
        }
        thread.retain(|known| *known != id);
        if thread.len() >= MAX_REFERENCES {
            thread.drain(1..=thread.len() - (MAX_REFERENCES - 1));
        }
        thread.push(id);
        thread.join(" ")
    }
}

/// Returns the subject on one line, with the prefix unless it already has it.
pub(super) fn prefix_subject(prefix: &str, subject: Option<&str>) -> String {
    let subject = to_one_line(subject.unwrap_or_default());
    let has_prefix = subject.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    match subject.as_str() {
        "" => format!("{prefix} {NO_SUBJECT}"),
        _ if has_prefix => subject,
        _ => format!("{prefix} {subject}"),
    }
}

/// Returns the text without control characters, which a sender can encode in any header.
pub(super) fn to_one_line(text: &str) -> String {
    let line: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    line.trim().to_owned()
}

fn is_valid(address: &str) -> bool {
    address_fault(address).is_none()
}

/// Returns the valid addresses that aren't included yet, without duplicates.
fn unique_valid(addresses: &[String], known: &mut BTreeSet<String>) -> Vec<String> {
    addresses.iter().filter(|one| is_valid(one) && known.insert(bare_address(one))).cloned().collect()
}

/// Returns the address without a display name, for comparisons.
fn bare_address(address: &str) -> String {
    let bracketed = address.rsplit_once('<').and_then(|(_, rest)| rest.split_once('>'));
    bracketed.map_or(address, |(inner, _)| inner).trim().to_lowercase()
}

fn is_in_message_id(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>')
}

/// Returns the message IDs in a header value.
fn message_ids(value: &str) -> impl Iterator<Item = &str> {
    value.match_indices('<').filter_map(|(start, _)| {
        let inner = &value[start + 1..];
        // A sender can write any number of brackets, so the search for the end of an ID is limited to the maximum length.
        let end = inner.bytes().take(MAX_MESSAGE_ID + 1).position(|byte| !is_in_message_id(byte))?;
        (end > 0 && inner.as_bytes()[end] == b'>').then(|| &value[start..start + end + 2])
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn received(fields: &Value) -> ReceivedEmail {
        let mut email = json!({
            "id": "e", "from": "ada@example.com", "to": ["support@acme.test"], "subject": "Help", "message_id": "<m1@example.com>",
            "received_for": ["support@acme.test"],
        });
        for (name, value) in fields.as_object().unwrap() {
            email[name] = value.clone();
        }
        from_value(email).unwrap()
    }

    fn header<'a>(email: &'a Email, name: &str) -> Option<&'a str> {
        email.fields().headers.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    #[test]
    fn a_prefix_is_added_once() {
        for (subject, re) in [
            (Some("Help"), "Re: Help"),
            (Some("Re: Help"), "Re: Help"),
            (Some("RE:Help"), "RE:Help"),
            (Some("Reply"), "Re: Reply"),
            (Some("Fwd: Help"), "Re: Fwd: Help"),
            (Some("Größe 🎉"), "Re: Größe 🎉"),
            (Some("ré"), "Re: ré"),
            (Some("Help\r\nBcc: x@evil.test"), "Re: Help  Bcc: x@evil.test"),
            (Some("\u{85} "), "Re: (no subject)"),
            (Some(""), "Re: (no subject)"),
            (None, "Re: (no subject)"),
        ] {
            assert_eq!(prefix_subject("Re:", subject), re);
            let email = received(&json!({ "subject": subject })).reply("support@acme.test").text("x");
            assert_eq!(email.fields().subject, Some(re));
            assert!(email.check().is_ok(), "{subject:?}");
        }
    }

    #[test]
    fn message_ids_are_found_in_any_text_in_linear_time() {
        let long = format!("<{}>", "a".repeat(MAX_MESSAGE_ID));
        let longer = format!("<{}>", "a".repeat(MAX_MESSAGE_ID + 1));
        for (value, ids) in [
            ("<a@b> <c@d>", vec!["<a@b>", "<c@d>"]),
            ("<a@b><<c>, <> <x y> <é> <z", vec!["<a@b>", "<c>"]),
            (&long, vec![long.as_str()]),
            (&longer, vec![]),
        ] {
            assert_eq!(message_ids(value).collect::<Vec<_>>(), ids, "{value}");
        }
        // With quadratic complexity, this would take minutes.
        assert_eq!(message_ids(&"<".repeat(4 << 20)).count(), 0);
        assert_eq!(message_ids(&format!("{}>", "<a ".repeat(1 << 20))).count(), 0);
    }

    #[test]
    fn a_reply_continues_the_thread() {
        let many: Vec<_> = (0..50).map(|n| format!("<{n}@x>")).collect();
        let long = format!("<{}@x>", "a".repeat(600));
        let kept = format!("<0@x> {} <m1@example.com>", many[22..].join(" "));
        for (headers, references) in [
            (json!({ "message-id": "<m1@example.com>" }), "<m1@example.com>"),
            (json!({ "message-id": "", "references": "<a@x>\t<b@x>" }), "<a@x> <b@x> <m1@example.com>"),
            (json!({ "message-id": "", "in-reply-to": "<a@x>" }), "<a@x> <m1@example.com>"),
            (json!({ "message-id": "", "in-reply-to": "<a@x> <b@x>" }), "<m1@example.com>"),
            (
                json!({ "message-id": "", "references": "<a@x>", "in-reply-to": "<b@x>" }),
                "<a@x> <m1@example.com>",
            ),
            (
                json!({ "message-id": "", "references": "x <a b> <é> <> <<c@x> <m1@example.com> <" }),
                "<c@x> <m1@example.com>",
            ),
            (json!({ "message-id": "", "references": long }), "<m1@example.com>"),
            (json!({ "message-id": "", "references": 7 }), "<m1@example.com>"),
            (json!({ "message-id": "", "references": many.join(" ") }), &kept),
            (json!(null), "<m1@example.com>"),
        ] {
            let email = received(&json!({ "headers": headers })).reply("support@acme.test").text("x");
            assert_eq!(header(&email, "References"), Some(references), "{headers}");
            assert_eq!(header(&email, "In-Reply-To"), Some("<m1@example.com>"));
            assert!(email.check().is_ok());
        }
        assert_eq!(kept.split(' ').count(), MAX_REFERENCES);
        for fields in [
            json!({ "headers": {}, "message_id": "<e@received.invalid>" }),
            json!({ "message_id": null }),
            json!({ "message_id": "<a\r\nBcc: x@evil.test>" }),
        ] {
            assert!(received(&fields).reply("support@acme.test").fields().headers.is_empty());
        }
        let bare = received(&json!({ "message_id": "m2@example.com" })).reply("support@acme.test");
        assert_eq!(header(&bare, "In-Reply-To"), Some("<m2@example.com>"));
    }

    #[test]
    fn a_reply_goes_to_the_reply_addresses_or_the_sender() {
        for (fields, to) in [
            (json!({}), vec!["ada@example.com"]),
            (
                json!({ "reply_to": ["Team <team@example.com>", "team@example.com"] }),
                vec!["Team <team@example.com>"],
            ),
            (json!({ "reply_to": ["undisclosed-recipients:;"] }), vec!["ada@example.com"]),
            (json!({ "from": "nobody" }), vec![]),
            (json!({ "from": null }), vec![]),
        ] {
            assert_eq!(received(&fields).reply("support@acme.test").fields().to, to, "{fields}");
        }
    }

    #[test]
    fn a_reply_to_all_has_every_other_address_once() {
        let email = received(&json!({
            "to": ["Support <Support@acme.test>", "\"Doe, J\" <j@example.com>", "ADA@example.com", "alias@acme.test"],
            "cc": ["j@example.com", "c@example.com", "not an address", "c@example.com", "me@acme.test"],
            "received_for": ["support@acme.test", "alias@acme.test"],
        }));
        let reply = email.reply_all("Me <me@acme.test>");
        assert_eq!(reply.fields().to, ["ada@example.com", "\"Doe, J\" <j@example.com>"]);
        assert_eq!(reply.fields().cc, ["c@example.com"]);
        assert_eq!(email.reply("me@acme.test").fields().cc, [""; 0]);
    }
}
