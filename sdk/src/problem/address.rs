//! The syntax of email addresses.

use std::{borrow::Cow, fmt};

use url::Host;

/// Returns an address as it is sent: a display name is quoted if RFC 5322 (section 3.2.5) requires it.
pub(crate) fn quote_display_name(text: &str) -> Cow<'_, str> {
    let Some((name, mailbox)) = split_display_name(text.trim()) else { return Cow::Borrowed(text) };
    let name = name.trim();
    if name.chars().all(is_atom_or_space) || is_quoted_string(name) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push_str("\" <");
    quoted.push_str(mailbox);
    quoted.push('>');
    Cow::Owned(quoted)
}

/// A bare address, for comparisons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mailbox {
    pub(crate) local: String,
    /// In ASCII and lowercase.
    pub(crate) domain: String,
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local, self.domain)
    }
}

/// Returns the mailbox in `email` or `Name <email>`; `None` unless every mail server would read the same mailbox. Quoted local parts, comments,
/// routes, domain literals and display names that could be addresses are ambiguous, so they return `None`.
pub(crate) fn mailbox(text: &str) -> Option<Mailbox> {
    if find_fault(text).is_some() {
        return None;
    }
    let text = text.trim();
    let address = match split_display_name(text) {
        Some((name, _)) if name.contains(['@', '<', '>']) && !is_quoted_string(name.trim()) => return None,
        Some((_, address)) => address,
        None => text,
    };
    let (local, domain) = address.rsplit_once('@')?;
    let is_plain = |c: char| c.is_alphanumeric() || "!#$&'*+-/=?^_`{|}~.".contains(c);
    if !local.chars().all(is_plain) || domain.contains('%') {
        return None;
    }
    match Host::parse(domain).ok()? {
        Host::Domain(domain) => Some(Mailbox { local: local.to_owned(), domain }),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// Splits `Name <email>`.
fn split_display_name(text: &str) -> Option<(&str, &str)> {
    let named = text.strip_suffix('>')?;
    // An unclosed quote belongs to the name.
    let open = if !named.contains('"') || is_unclosed(named) {
        named.rfind('<')?
    } else {
        unquoted_chars(named).filter(|(_, c)| *c == '<').last()?.0
    };
    Some((&named[..open], &named[open + 1..]))
}

/// RFC 6532 allows non-ASCII letters.
fn is_atom_or_space(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || " \t!#$%&'*+-/=?^_`{|}~".contains(c)
}

fn is_quoted_string(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut escaped = false;
    let closes = |c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    };
    inner.is_some_and(|inner| !inner.chars().any(closes)) && !escaped
}

/// Returns why `text` isn't a single `email` or `Name <email>`: the problem's code and the violated rule.
///
/// It rejects only text that no mail system accepts. The service applies the exact grammar of a mailbox: a stricter check here might reject addresses
/// that it accepts.
pub(crate) fn find_fault(text: &str) -> Option<(&'static str, &'static str)> {
    let (whole, text) = (text, text.trim());
    if text.is_empty() {
        return Some(("empty", "an address must not be empty"));
    }
    if whole.bytes().any(|byte| byte.is_ascii_control()) {
        return Some(("header", "an address must not contain control characters such as line breaks"));
    }
    if text.ends_with('>') {
        let Some((name, mailbox)) = split_display_name(text) else {
            return Some((
                "address",
                "an address must be `email` or `Name <email>`: the `>` has no matching `<`",
            ));
        };
        // An unquoted `ada@acme.test <ada@acme.test>` is common.
        let starts_another = |c| is_separator(c) || c == '<';
        let mut parts = name.split(|c| starts_another(c) || c == '>');
        if find_unquoted_by(name, starts_another).is_some()
            && parts.any(|part| mailbox_fault(part.trim()).is_none())
        {
            return Some(("address", "an entry must be a single address; pass several as a list"));
        }
        return mailbox_fault(mailbox);
    }
    let unclosed = find_unquoted(text, '<');
    if unclosed.is_some_and(|open| find_unquoted(&text[..open], '@').is_none()) {
        return Some((
            "address",
            "an address must be `email` or `Name <email>`: the `<` has no matching `>`",
        ));
    }
    mailbox_fault(text)
}

fn mailbox_fault(text: &str) -> Option<(&'static str, &'static str)> {
    let mut ats = unquoted_chars(text).filter(|(_, c)| *c == '@').map(|(at, _)| at);
    let at = match (ats.next(), ats.next()) {
        (Some(at), None) => at,
        (Some(_), Some(_)) if text.contains(is_separator) => {
            return Some(("address", "an entry must be a single address; pass several as a list"));
        }
        _ => return Some(("address", "an address must have exactly one `@`")),
    };
    let (local, domain) = (&text[..at], &text[at + 1..]);
    if local.is_empty() {
        return Some(("address", "an address must have a local part before the `@`"));
    }
    if domain.is_empty() {
        return Some(("address", "an address must have a domain after the `@`"));
    }
    let stray = |c: char| c.is_whitespace() || matches!(c, '<' | '>') || is_separator(c);
    // RFC 5322, section 3.4.1: a domain literal may contain any of these except white space.
    let is_literal = domain.starts_with('[') && domain.ends_with(']');
    let stray_in_domain = |c: char| if is_literal { c.is_whitespace() } else { stray(c) };
    if find_unquoted_by(local, stray).is_some() || domain.contains(stray_in_domain) {
        return Some(("address", "an address must be `email` or `Name <email>`"));
    }
    None
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | ';')
}

fn find_unquoted(text: &str, wanted: char) -> Option<usize> {
    find_unquoted_by(text, |c| c == wanted)
}

fn find_unquoted_by(text: &str, wanted: impl Fn(char) -> bool) -> Option<usize> {
    unquoted_chars(text).find(|(_, c)| wanted(*c)).map(|(at, _)| at)
}

/// Returns the characters outside `"…"`; a backslash escapes the next character.
fn unquoted_chars(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quotes = Quotes::default();
    text.char_indices().filter(move |(_, c)| quotes.is_outside(*c))
}

/// Returns whether a quote is still open at the end.
fn is_unclosed(text: &str) -> bool {
    let mut quotes = Quotes::default();
    for c in text.chars() {
        quotes.is_outside(c);
    }
    quotes.open
}

#[derive(Default)]
struct Quotes {
    open: bool,
    escaped: bool,
}

impl Quotes {
    fn is_outside(&mut self, c: char) -> bool {
        if self.escaped {
            self.escaped = false;
            return false;
        }
        match c {
            '\\' if self.open => self.escaped = true,
            '"' => self.open = !self.open,
            _ => return !self.open,
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_addresses_pass() {
        // EMAIL-04, EMAIL-05, A-04
        let good = [
            "a@b.c",
            "Name <a@b.c>",
            "\"N, x\" <a@b.c>",
            "\"a@x, b@y\" <a@b.c>",
            "Doe, J <a@b.c>",
            "<a@b.c>",
            "\"a b\"@x.test",
            "a+b@x.test",
            "müller@bücher.test",
            "a@localhost",
            "a@[127.0.0.1]",
            "a@[,55.0.0.1]",
            "a@[1<2;3>4]",
            "ada@acme.test <ada@acme.test>",
            "Acme, Inc <hi@acme.test>",
            "Acme <EU> <hi@acme.test>",
            "@; <hi@acme.test>",
        ];
        for text in good {
            assert_eq!(find_fault(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_quoted_where_rfc_5322_requires_it() {
        // EMAIL-05
        for (given, sent) in [
            ("Acme, Inc <hi@acme.test>", "\"Acme, Inc\" <hi@acme.test>"),
            (" Acme Inc. <hi@acme.test>", "\"Acme Inc.\" <hi@acme.test>"),
            ("ada@acme.test <ada@acme.test>", "\"ada@acme.test\" <ada@acme.test>"),
            ("Ada (Sales) <a@b.c>", "\"Ada (Sales)\" <a@b.c>"),
            ("Acme <EU><a@b.c>", "\"Acme <EU>\" <a@b.c>"),
            ("Ada \"A, B\" L <a@b.c>", "\"Ada \\\"A, B\\\" L\" <a@b.c>"),
            ("\"A\" \"B\" <a@b.c>", "\"\\\"A\\\" \\\"B\\\"\" <a@b.c>"),
            ("A\\B <a@b.c>", "\"A\\\\B\" <a@b.c>"),
            ("5\" disks <a@b.c>", "\"5\\\" disks\" <a@b.c>"),
        ] {
            assert_eq!(quote_display_name(given), sent);
            assert_eq!(
                (find_fault(given), find_fault(sent), quote_display_name(sent)),
                (None, None, sent.into())
            );
        }
        for unchanged in [
            "a@b.c",
            "<a@b.c>",
            "Ada Lovelace <a@b.c>",
            "Zoë & Søn! <a@b.c>",
            "\"Acme, Inc\" <a@b.c>",
            "\"A \\\"B\\\", C\\\\\" <a@b.c>",
            "=?UTF-8?Q?A=2C_B?= <a@b.c>",
            "\"a, b\"@x.test",
            "Acme, Inc hi@acme.test",
        ] {
            assert_eq!(quote_display_name(unchanged), unchanged);
        }
    }

    #[test]
    fn invalid_addresses_are_rejected() {
        //
        let bad = [
            ("", "empty"),
            ("  ", "empty"),
            ("Name <a@b.c", "address"),
            ("<>", "address"),
            ("a@", "address"),
            ("@b", "address"),
            ("Name a@b.c", "address"),
            ("bob@@example.com", "address"),
            ("a@x, b@y", "address"),
            ("a@x; b@y", "address"),
            ("a@[1,2", "address"),
            ("a@[1 2]", "address"),
            ("a@x, c@d <c@d>", "address"),
            ("Ada <a@x> <b@y>", "address"),
            ("a@x <c", "address"),
            ("a@x<c]", "address"),
            ("a@b.c>", "address"),
            ("Acme a@acme.test>", "address"),
            ("x@y.test\r\nBcc: victim@z.test", "header"),
            ("x\0@y.test", "header"),
        ];
        for (text, code) in bad {
            assert_eq!(find_fault(text).map(|(code, _)| code), Some(code), "{text:?}");
        }
    }
}
