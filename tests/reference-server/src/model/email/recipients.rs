//! Addresses: `email` or `Name <email>`, one or several.

use std::sync::Arc;

use email_address::{EmailAddress, Options};
use serde::{Deserialize, Serialize};

use crate::wire::fields::MAX_ENTRIES;
use crate::wire::{Checked, Field, Fields, has_control, quote, text};

/// The maximum number of addresses in `to` (`docs/specification.md`, Limits). The specification sets no limit for `cc`, `bcc` and `reply_to`.
pub const MAX_TO: usize = 50;

/// An address as given, and its parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mailbox {
    /// As given, without surrounding white space.
    pub text: Arc<str>,
    /// The display name, unquoted.
    pub name: Option<String>,
    /// `local@domain`.
    pub address: String,
}

/// The mailboxes as given.
pub fn texts(list: &[Mailbox]) -> Vec<&str> {
    list.iter().map(|one| &*one.text).collect()
}

impl Mailbox {
    /// Parses `email` or `Name <email>`. The error continues a sentence about the address.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        Self::parse_with(text, display_name)
    }

    /// Parses a sender, which is one address: everything before the last `<` is its name, even without the quotes that RFC 5322 requires
    /// (`Acme, Inc <hi@acme.test>`). In lists of addresses, a comma separates them.
    pub fn parse_sender(text: &str) -> Result<Self, &'static str> {
        Self::parse_with(text, |name| match display_name(name) {
            Err(reason) if name.starts_with('"') && !name[1..].contains('"') => Err(reason),
            parsed => Ok(parsed.unwrap_or_else(|_| name.to_owned())),
        })
    }

    fn parse_with(
        text: &str,
        display_name: impl Fn(&str) -> Result<String, &'static str>,
    ) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err("is empty");
        }
        if has_control(text) {
            return Err("contains control characters");
        }
        let (name, address) = match text.strip_suffix('>') {
            Some(rest) => {
                let (name, address) = rest.rsplit_once('<').ok_or("has no `<` before its `>`")?;
                (Some(display_name(name.trim())?), address)
            }
            None => (None, text),
        };
        let address = EmailAddress::parse_with_options(address, options())
            .map_err(|_| "is neither `email` nor `Name <email>`")?;
        let name = name.filter(|name| !name.is_empty());
        Ok(Self { text: text.into(), name, address: address.into() })
    }

    /// Reads `email` or `Name <email>`.
    pub fn read(field: &Field<'_>) -> Checked<Self> {
        Self::read_with(field, Self::parse)
    }

    /// Reads a sender.
    pub fn read_sender(field: &Field<'_>) -> Checked<Self> {
        Self::read_with(field, Self::parse_sender)
    }

    fn read_with(field: &Field<'_>, parse: impl Fn(&str) -> Result<Self, &'static str>) -> Checked<Self> {
        let text = field.text()?;
        parse(&text).map_err(|reason| field.reject(format_args!("{reason}: {}", quote(&text))))
    }

    pub fn domain(&self) -> &str {
        self.address.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    pub fn local_part(&self) -> &str {
        self.address.rsplit_once('@').map_or("", |(local, _)| local)
    }

    /// The sender's domain, if it is valid in a Message-ID.
    pub fn message_id_domain(&self) -> &str {
        let domain = self.domain();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        if domain.bytes().all(plain) { domain } else { "mail.invalid" }
    }
}

/// Set by methods, since a version of `email_address` may add a field to its options.
fn options() -> Options {
    Options::default().with_no_minimum_sub_domains().with_domain_literal().without_display_text()
}

/// Parses a display name. Outside its quotes it must contain neither `,`, which would start another address, nor characters of addresses. Only a
/// name that is quoted as a whole loses its quotes.
fn display_name(name: &str) -> Result<String, &'static str> {
    let (mut plain, mut quotes) = (String::with_capacity(name.len()), 0);
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        match (char, quotes % 2 == 1) {
            ('"', _) => quotes += 1,
            ('\\', true) => plain.push(chars.next().ok_or(UNCLOSED)?),
            (',' | ';' | '<' | '>', false) => {
                return Err("is more than one address, or has a name that needs quotes");
            }
            _ => plain.push(char),
        }
    }
    let is_quoted = quotes == 2 && name.starts_with('"') && name.ends_with('"');
    match quotes % 2 {
        0 => Ok(if is_quoted { plain } else { name.to_owned() }),
        _ => Err(UNCLOSED),
    }
}

const UNCLOSED: &str = "has a name whose quotes are not closed";

/// Reads one address or several. The specification doesn't define an empty string; it means no address, like an empty array: published
/// integrations send `"cc": ""` with every email.
pub fn read(field: &Field<'_>) -> Checked<Vec<Mailbox>> {
    read_at_most(MAX_ENTRIES, field)
}

/// Reads an optional field of addresses; `None` if there is none.
pub fn read_optional(fields: &mut Fields<'_>, field: &str) -> Checked<Option<Vec<Mailbox>>> {
    Ok(fields.optional(field, read)?.filter(|list| !list.is_empty()))
}

fn read_at_most(max: usize, field: &Field<'_>) -> Checked<Vec<Mailbox>> {
    if let Some(one) = text(field.json()) {
        return if one.trim().is_empty() { Ok(Vec::new()) } else { Ok(vec![Mailbox::read(field)?]) };
    }
    let several = field.items_unlimited("a string or an array of strings")?;
    if several.len() > max {
        return Err(field.reject(format_args!("must name at most {max} addresses; found {}", several.len())));
    }
    several.read(|_, one| Mailbox::read(one))
}

/// Reads `to`: 1 to 50 addresses. The specification doesn't define an empty array, which is rejected like a missing `to`.
pub fn read_to(field: &Field<'_>) -> Checked<Vec<Mailbox>> {
    let to = read_at_most(MAX_TO, field)?;
    if to.is_empty() {
        return Err(field.reject("must name at least one address; found none"));
    }
    Ok(to)
}
