//! Names of domains and their labels (RFC 1035, 2.3.1 and 2.3.4; RFC 1123, 2.1).
//!
//! The specification doesn't define domain names further. A name must be in its ASCII form: others are rejected with an error that contains the ASCII
//! form (RFC 5890), so that the registered name is the one in DNS and in addresses.

use url::Host;

/// The maximum length of a label, in characters.
const MAX_LABEL: usize = 63;
/// The maximum length of a name, in characters.
const MAX_NAME: usize = 253;

/// Parses the name of a domain, and converts it to lower case. The error continues a sentence that starts with the field's name.
pub(super) fn domain(text: &str) -> Result<String, String> {
    if !text.is_ascii() {
        return Err(match Host::parse(text) {
            Ok(Host::Domain(ascii)) => format!("must be written in ASCII letters, here `{ascii}`"),
            _ => "must be a domain name in ASCII letters".to_owned(),
        });
    }
    if text.len() > MAX_NAME {
        return Err(format!("must have at most {MAX_NAME} characters"));
    }
    let labels: Vec<_> = text.split('.').collect();
    if labels.iter().any(|label| label_fault(label).is_some()) {
        return Err("must be a domain name such as `example.com`, without scheme, port or path".to_owned());
    }
    if labels.len() < 2 {
        return Err("must have at least two labels, such as `example.com`".to_owned());
    }
    if labels.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err("must be a domain name, not an IP address".to_owned());
    }
    Ok(text.to_ascii_lowercase())
}

/// Parses one label: the part before the first dot of a subdomain.
pub(super) fn parse_label(text: &str) -> Result<String, &'static str> {
    label_fault(text).map_or_else(|| Ok(text.to_ascii_lowercase()), Err)
}

fn label_fault(text: &str) -> Option<&'static str> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if text.is_empty() || text.len() > MAX_LABEL {
        Some("must be a label of 1 to 63 characters")
    } else if !text.bytes().all(inner) {
        Some("must be one label of letters, digits and hyphens")
    } else if text.starts_with('-') || text.ends_with('-') {
        Some("must neither begin nor end with a hyphen")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_names_are_converted_to_lower_case() {
        let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        assert_eq!(longest.len(), 253);
        for (name, kept) in [
            ("Acme.Test", "acme.test"),
            ("a.b", "a.b"),
            ("3com.example", "3com.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            (&longest, &longest),
        ] {
            assert_eq!(domain(name).as_deref(), Ok(kept));
        }
        assert_eq!(parse_label(&"a".repeat(63)), Ok("a".repeat(63)));
    }

    #[test]
    fn invalid_names_are_rejected() {
        let label_too_long = format!("{}.test", "a".repeat(64));
        let too_long = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(62));
        for wrong in [
            "",
            "acme",
            ".",
            "acme..test",
            ".acme.test",
            "acme.test.",
            "https://acme.test",
            "acme.test/x",
            "acme.test:443",
            "a_b.test",
            "-acme.test",
            "acme-.test",
            "*.acme.test",
            "a b.test",
            "a@b.test",
            "192.0.2.1",
            &label_too_long,
            &too_long,
        ] {
            assert!(domain(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            domain("bücher.example").unwrap_err(),
            "must be written in ASCII letters, here `xn--bcher-kva.example`"
        );
        for wrong in ["", "a.b", "-a", "a-", "a_b", "ä", &"a".repeat(64)] {
            assert!(parse_label(wrong).is_err(), "{wrong}");
        }
    }
}
