//! The canonical form of an address, both compared with the allow list and sent to the server.

use std::fmt;

/// The maximum length of an address in bytes (RFC 5321, 4.5.3.1).
const MAX_LENGTH: usize = 320;

/// An address whose spelling can't hide another: an unquoted local part, and a domain in lower case and ASCII (RFC 5891).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Canonical {
    pub(super) local: String,
    pub(super) domain: String,
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

impl Canonical {
    /// Reads one address. The error continues a sentence about it.
    ///
    /// Rejects several addresses, display names, comments, source routes, domain literals, and local parts that need quotes.
    pub(super) fn read(address: &str) -> Result<Self, &'static str> {
        if address.len() > MAX_LENGTH {
            return Err("is longer than 320 bytes");
        }
        let (local, domain) = address.rsplit_once('@').ok_or("has no `@`")?;
        let local = unquote(local).unwrap_or(local);
        if !is_dot_atom(local) {
            return Err("isn't a single address, or has a local part that needs quotes");
        }
        let domain = self::normalize_domain(domain).ok_or("has no valid domain name")?;
        Ok(Self { local: local.to_owned(), domain })
    }

    /// Whether the local part may name a recipient at another domain: `user%other.test@…` and `other.test!user@…`.
    pub(super) fn is_routed(&self) -> bool {
        self.local.contains(['%', '!'])
    }
}

/// The content of a quoted local part without escapes; `"ada"@…` and `ada@…` are the same (RFC 5321, 4.1.2).
fn unquote(local: &str) -> Option<&str> {
    local.strip_prefix('"')?.strip_suffix('"')
}

/// Atoms separated by single dots (RFC 5322, 3.2.3), which may contain characters beyond ASCII (RFC 6532).
pub(super) fn is_dot_atom(text: &str) -> bool {
    let is_atom = |atom: &str| {
        let is_text = |char: char| match char {
            char if char.is_ascii() => char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char),
            char => !char.is_control() && !char.is_whitespace() && !is_invisible(char),
        };
        !atom.is_empty() && atom.chars().all(is_text)
    };
    text.split('.').all(is_atom)
}

/// Zero-width characters and direction marks.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A domain name in lower case and ASCII. Characters that the conversion maps to others, such as full-width ones, are rejected.
pub(super) fn normalize_domain(text: &str) -> Option<String> {
    let ascii = idna::domain_to_ascii_strict(text).ok()?;
    let is_same = ascii == text.to_lowercase() || idna::domain_to_unicode(&ascii).0 == text.to_lowercase();
    (is_same && !text.starts_with('.') && !text.ends_with('.')).then_some(ascii)
}
