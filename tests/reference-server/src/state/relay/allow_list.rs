//! The patterns of allowed recipients.

use super::address::{Canonical, is_dot_atom, normalize_domain};

/// Patterns of addresses: `ada@example.com`, `*@example.com`, `qa+*@example.com`, `*@*.example.com`. Without any, all addresses are allowed.
///
/// The domain is compared in lower case and ASCII, the local part exactly: `Ada@` and `ada+tag@` don't match `ada@`. Local parts that may name
/// a recipient at another domain (`user%other.test@`, `other.test!user@`) match no pattern.
#[derive(Clone, Debug, Default)]
pub struct AllowList(Vec<Pattern>);

#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    local: String,
    domain: String,
    /// Matches the subdomains instead.
    subdomains: bool,
}

impl AllowList {
    /// Reads patterns.
    ///
    /// # Errors
    /// Returns the first invalid pattern, and the rule that it violates.
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, (String, &'static str)> {
        let read = |text: &T| Pattern::read(text.as_ref()).map_err(|rule| (text.as_ref().to_owned(), rule));
        patterns.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The patterns as given.
    #[doc(hidden)]
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|pattern| pattern.text.as_str())
    }

    pub(super) fn allows(&self, address: &Canonical) -> bool {
        self.0.is_empty() || (!address.is_routed() && self.0.iter().any(|pattern| pattern.matches(address)))
    }
}

impl Pattern {
    fn read(text: &str) -> Result<Self, &'static str> {
        let (local, of) =
            text.rsplit_once('@').ok_or("must be an address, or a pattern such as *@example.com")?;
        if !is_dot_atom(local) {
            return Err("must have a local part without spaces, quotes and commas");
        }
        if local.contains(['%', '!']) {
            return Err("must have a local part without % and !, which servers may read as a route");
        }
        let parent = of.strip_prefix("*.");
        let domain = normalize_domain(parent.unwrap_or(of)).ok_or(
            "must have a domain name after the @; only its first label can be a *, for all subdomains",
        )?;
        Ok(Self { text: text.to_owned(), local: local.to_owned(), domain, subdomains: parent.is_some() })
    }

    fn matches(&self, address: &Canonical) -> bool {
        let of = match address.domain.strip_suffix(&self.domain) {
            Some(labels) if self.subdomains => labels.len() > 1 && labels.ends_with('.'),
            rest => rest == Some(""),
        };
        of && matches_glob(&self.local, &address.local)
    }
}

/// Whether the pattern, in which `*` stands for any characters, matches the text.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(place) = text.find(part) else { return false };
        text = &text[place + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(patterns: &[&str], address: &str) -> bool {
        let list = AllowList::new(patterns).unwrap();
        Canonical::read(address).is_ok_and(|address| list.allows(&address))
    }

    #[test]
    fn addresses_match_in_any_spelling_of_the_same_mailbox() {
        for (pattern, address) in [
            ("ada@example.com", "ada@example.com"),
            ("ada@example.com", "ada@EXAMPLE.Com"),
            ("ada@EXAMPLE.com", "\"ada\"@example.com"),
            ("*@example.com", "ada@example.com"),
            ("*@example.com", "ada+tag@example.com"),
            ("ada+*@example.com", "ada+tag@example.com"),
            ("*-qa-*@example.com", "x-qa-y@example.com"),
            ("*@*.example.com", "ada@a.example.com"),
            ("*@*.example.com", "ada@a.b.example.com"),
            ("*@bücher.example", "ada@xn--bcher-kva.example"),
            ("*@xn--bcher-kva.example", "ada@BÜCHER.example"),
            ("*@example.com", "grüße@example.com"),
        ] {
            assert!(allows(&[pattern], address), "{pattern} {address}");
        }
    }

    #[test]
    fn other_mailboxes_and_addresses_that_hide_one_match_no_pattern() {
        let patterns = ["ada@example.com", "*@allowed.test"];
        for address in [
            "Ada@example.com",
            "ada+tag@example.com",
            "bob@example.com",
            "ada@sub.example.com",
            "ada@example.com.evil.test",
            "ada@evilallowed.test",
            "ada@allowed.test.",
            "ada@.allowed.test",
            "eve@evil.test,ada@allowed.test",
            "eve@evil.test ada@allowed.test",
            "eve@evil.test>,<ada@allowed.test",
            "eve@evil.test;ada@allowed.test",
            "<eve@evil.test>ada@allowed.test",
            "\"eve@evil.test\"@allowed.test",
            "\"eve@evil.test> RCPT TO:<eve@evil.test\"@allowed.test",
            "\"eve\\@evil.test\"@allowed.test",
            "Ada <ada@allowed.test>",
            "ada(eve@evil.test)@allowed.test",
            "ada@allowed.test(comment)",
            "(comment)ada@allowed.test",
            "@evil.test:ada@allowed.test",
            "@evil.test,@other.test:ada@allowed.test",
            "eve%evil.test@allowed.test",
            "evil.test!eve@allowed.test",
            "eve@evil.test@allowed.test",
            "ada@allowed.test\r\nRCPT TO:<eve@evil.test>",
            "ada\r\n@allowed.test",
            "ada\0@allowed.test",
            "ada\u{85}@allowed.test",
            "ada\u{2028}@allowed.test",
            "ada\u{200b}@allowed.test",
            "ada @allowed.test",
            " ada@allowed.test",
            "ada@allowed.test ",
            "ada@\u{430}llowed.test",
            "ada@a\u{443}.test",
            "ada@\u{ff41}llowed.test",
            "ada@allowed\u{3002}test",
            "ada@al\u{ad}lowed.test",
            "ada@al\u{200c}lowed.test",
            "ada\u{ff20}allowed.test",
            "ada@[127.0.0.1]",
            "ada@allowed.test:25",
            "ada@allowed.test/..",
            "ada@",
            "@allowed.test",
            "allowed.test",
            "",
            "*",
            ".ada@allowed.test",
            "a..b@allowed.test",
        ] {
            assert!(!allows(&patterns, address), "{address:?}");
        }
        let long = format!("{}@allowed.test", "a".repeat(400));
        assert!(!allows(&patterns, &long));
    }

    #[test]
    fn invalid_patterns_name_their_rule() {
        for (pattern, part) in [
            ("example.com", "must be an address"),
            ("*", "must be an address"),
            ("*@*", "a domain name"),
            ("*@ex*.com", "a domain name"),
            ("*@a.*.com", "a domain name"),
            ("*@", "a domain name"),
            ("@example.com", "a local part"),
            ("a b@example.com", "a local part"),
            ("a@example.com,b@example.com", "a local part"),
            ("a%b@example.com", "a route"),
        ] {
            let (found, rule) = AllowList::new(&["ada@example.com", pattern]).unwrap_err();
            assert!(found == pattern && rule.contains(part), "{pattern}: {rule}");
        }
        assert!(allows(&[], "anyone@example.com"), "without patterns all addresses are allowed");
        assert!(!allows(&[], "a@b.test,c@d.test"), "but only addresses");
    }

    /// The same, by exhaustive search.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|skipped| naive(rest, &text[skipped..])),
            Some((byte, rest)) => text.first() == Some(byte) && naive(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn globs_match_like_a_naive_matcher(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            prop_assert_eq!(matches_glob(&pattern, &text), naive(pattern.as_bytes(), text.as_bytes()));
        }

        #[test]
        fn an_allowed_address_is_one_plain_address_of_the_allowed_domain(parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    "ada", "eve", "@", "allowed.test", "evil.test", "\"", "\\", "<", ">", ",", ";", ":", "(", ")", " ", "\r\n", "\0", "%", "!", ".", "*",
                    "+tag", "RCPT TO:", "[", "]", "\u{430}", "\u{ff20}", "\u{3002}", "\u{200b}", "ALLOWED.test", "xn--", "ü",
                ]).prop_map(str::to_owned),
                any::<char>().prop_map(String::from),
            ], 0..8,
        )) {
            let text = parts.concat();
            let list = AllowList::new(&["*@allowed.test"]).unwrap();
            if let Ok(address) = Canonical::read(&text) && list.allows(&address) {
                let sent = address.to_string();
                let (local, domain) = sent.split_once('@').unwrap();
                prop_assert_eq!(domain, "allowed.test");
                prop_assert!(!local.contains(|char: char| char.is_control() || char.is_whitespace() || "@<>,;:()\"\\[]%!".contains(char)), "{}", sent);
                prop_assert_eq!(Canonical::read(&sent), Ok(address));
            }
        }
    }
}
