//! The syntax of addresses.

/// Returns why `text` isn't a single `email` or `Name <email>`: the problem's code and the violated rule.
///
/// It rejects only what no mail system accepts. The service applies the exact grammar of a mailbox: a stricter check here would
/// reject addresses that it accepts.
pub(crate) fn fault(text: &str) -> Option<(&'static str, &'static str)> {
    let (whole, text) = (text, text.trim());
    if text.is_empty() {
        return Some(("empty", "an address must not be empty"));
    }
    if whole.bytes().any(|byte| byte.is_ascii_control()) {
        return Some(("header", "an address must not contain control characters such as line breaks"));
    }
    if let Some(named) = text.strip_suffix('>') {
        let Some(open) = find_unquoted(named, '<') else {
            return Some((
                "address",
                "an address must be `email` or `Name <email>`: the `>` has no matching `<`",
            ));
        };
        let name = &named[..open];
        // An unquoted `ada@acme.test <ada@acme.test>` is common.
        if find_unquoted(name, '@').is_some() && find_unquoted_by(name, is_separator).is_some() {
            return Some(("address", "an entry must be a single address; pass several as a list"));
        }
        return mailbox_fault(&named[open + 1..]);
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
    let mut ats = unquoted(text).filter(|(_, c)| *c == '@').map(|(at, _)| at);
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
    // RFC 5322, section 3.4.1: a domain literal may contain all of them but white space.
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
    unquoted(text).find(|(_, c)| wanted(*c)).map(|(at, _)| at)
}

/// Returns the characters outside of `"…"`; a backslash escapes the next one.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().filter(move |(_, c)| {
        if escaped {
            escaped = false;
            return false;
        }
        match c {
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => return !quoted,
        }
        false
    })
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
        ];
        for text in good {
            assert_eq!(fault(text), None, "{text}");
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
            ("a@x <c", "address"),
            ("a@x<c]", "address"),
            ("a@b.c>", "address"),
            ("Acme a@acme.test>", "address"),
            ("x@y.test\r\nBcc: victim@z.test", "header"),
            ("x\0@y.test", "header"),
        ];
        for (text, code) in bad {
            assert_eq!(fault(text).map(|(code, _)| code), Some(code), "{text:?}");
        }
    }
}
