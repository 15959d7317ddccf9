//! Addresses: `email` or `Name <email>`, one or several.

use email_address::EmailAddress;
use serde::{Deserialize, Serialize};

use crate::store::size::Size;
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, MAX_ENTRIES, Problems, has_control, kind, text};

/// The maximum number of addresses in `to` (`SPEC.md`, Limits). The specification sets no limit for `cc`, `bcc` and `reply_to`.
pub(crate) const MOST_TO: usize = 50;

/// An address as given, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Mailbox {
    /// As given, without surrounding white space.
    pub(crate) text: String,
    /// The display name, unquoted.
    pub(crate) name: Option<String>,
    /// `local@domain`.
    pub(crate) address: String,
}

/// The mailboxes as given.
pub(crate) fn texts(list: &[Mailbox]) -> Vec<&str> {
    list.iter().map(|one| one.text.as_str()).collect()
}

impl Size for Mailbox {
    fn heap_size(&self) -> usize {
        self.text.heap_size() + self.name.heap_size() + self.address.heap_size()
    }
}

impl Mailbox {
    /// Parses `email` or `Name <email>`. The error continues a sentence about the address.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty");
        }
        if has_control(text) {
            return Err("holds control characters");
        }
        let (name, address) = match text.strip_suffix('>') {
            Some(rest) => {
                let (name, address) = rest.rsplit_once('<').ok_or("has no `<` before its `>`")?;
                (Some(display_name(name.trim())?), address)
            }
            None => (None, text),
        };
        if EmailAddress::parse_with_options(address, OPTIONS).is_err() {
            return Err("is neither `email` nor `Name <email>`");
        }
        let name = name.filter(|name| !name.is_empty());
        Ok(Self { text: text.to_owned(), name, address: address.to_owned() })
    }

    pub(crate) fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    pub(crate) fn local_part(&self) -> &str {
        self.address.rsplit_once('@').map_or("", |(local, _)| local)
    }

    /// The sender's domain, if it is valid in a Message-ID.
    pub(crate) fn message_id_domain(&self) -> &str {
        let domain = self.domain();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        if domain.bytes().all(plain) { domain } else { "mail.invalid" }
    }
}

const OPTIONS: email_address::Options =
    email_address::Options { minimum_sub_domains: 0, allow_domain_literal: true, allow_display_text: false };

/// Parses a display name, with or without quotes. Unquoted it must contain neither `,`, which would start another address, nor characters
/// of addresses.
fn display_name(name: &str) -> Result<String, &'static str> {
    if let Some(quoted) = name.strip_prefix('"') {
        let inner = quoted.strip_suffix('"').ok_or("has a name whose quotes are not closed")?;
        let mut plain = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => plain.push(chars.next().ok_or("has a name whose quotes are not closed")?),
                '"' => return Err("has a quote inside its quoted name"),
                char => plain.push(char),
            }
        }
        return Ok(plain);
    }
    if name.contains([',', ';', '<', '>', '"']) {
        return Err("is more than one address, or has a name that needs quotes");
    }
    Ok(name.to_owned())
}

/// Reads a field with one address or several. Returns `None` if it is absent or invalid. The specification doesn't define an empty string;
/// it means no address, like an empty array: published integrations send `"cc": ""` with every email.
pub(crate) fn take(fields: &mut Fields<'_>, field: &str, problems: &mut Problems) -> Option<Vec<Mailbox>> {
    take_at_most(MAX_ENTRIES, fields, field, problems)
}

fn take_at_most(
    most: usize,
    fields: &mut Fields<'_>,
    field: &str,
    problems: &mut Problems,
) -> Option<Vec<Mailbox>> {
    let json = fields.take(field)?;
    let mut mailboxes = Vec::new();
    if let Some(one) = text(json) {
        if one.trim().is_empty() {
            return Some(mailboxes);
        }
        match Mailbox::parse(&one) {
            Ok(mailbox) => mailboxes = vec![mailbox],
            Err(reason) => {
                problems.wrong(|| format!("`{}` {reason}: {}.", fields.name(field), quoted(&one)));
            }
        }
        return Some(mailboxes);
    }
    let Ok(several) = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(json) else {
        problems.wrong(|| {
            format!("`{}` must be a string or an array of strings; found {}.", fields.name(field), kind(json))
        });
        return Some(mailboxes);
    };
    if several.len() > most {
        problems.wrong(|| {
            format!("`{}` must name at most {most} addresses; found {}.", fields.name(field), several.len())
        });
        return Some(mailboxes);
    }
    mailboxes.reserve_exact(several.len());
    for (index, json) in several.iter().enumerate() {
        let Some(one) = text(json.get()) else {
            problems.wrong(|| {
                format!("`{}[{index}]` must be a string; found {}.", fields.name(field), kind(json.get()))
            });
            continue;
        };
        match Mailbox::parse(&one) {
            Ok(mailbox) => mailboxes.push(mailbox),
            Err(reason) => {
                problems.wrong(|| format!("`{}[{index}]` {reason}: {}.", fields.name(field), quoted(&one)));
            }
        }
    }
    Some(mailboxes)
}

/// Reads `to`: 1 to 50 addresses. The specification doesn't define an empty array, which is rejected like a missing `to`.
pub(crate) fn take_to(fields: &mut Fields<'_>, problems: &mut Problems) -> Vec<Mailbox> {
    let before = problems.count();
    let Some(to) = take_at_most(MOST_TO, fields, "to", problems) else {
        problems.missing(fields.name("to"));
        return Vec::new();
    };
    if to.is_empty() && problems.count() == before {
        problems.wrong(|| format!("`{}` must name at least one address; found none.", fields.name("to")));
    }
    to
}
