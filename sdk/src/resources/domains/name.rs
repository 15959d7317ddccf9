//! The syntax of domain names and labels (RFC 1035, 2.3; RFC 1123, 2.1), to which `docs/specification.md` only refers.

use url::Host;

use crate::problem::Validator;

/// The maximum length of a label, in characters.
const MAX_LABEL_CHARS: usize = 63;
/// The maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 253;

/// Validates a domain name at the current location.
pub(super) fn check_domain(v: &mut Validator, name: &str) {
    let found = name.escape_debug();
    if name.is_empty() {
        return v.report("empty", "a domain name must not be empty");
    }
    if !name.is_ascii() {
        let ascii = match Host::parse(name) {
            Ok(Host::Domain(ascii)) => format!("; use `{ascii}`"),
            _ => String::new(),
        };
        return v.report_found("charset", format!("a domain name must be ASCII{ascii}"), name);
    }
    if name.len() > MAX_NAME_CHARS {
        return v.report_found("length", "a domain name must have at most 253 characters", found);
    }
    if name.split('.').any(|label| label.len() > MAX_LABEL_CHARS) {
        return v.report_found(
            "length",
            "each label of a domain name must have at most 63 characters",
            found,
        );
    }
    if !name.split('.').all(is_label) {
        let rule = "a domain name must consist of labels of letters, digits and hyphens, separated by dots, without scheme, port or path";
        return v.report_found("charset", rule, found);
    }
    match name.rsplit_once('.') {
        None => {
            let rule = "a domain name must have at least two labels, such as `example.com`";
            v.report_found("type", rule, found);
        }
        Some((_, last)) if last.bytes().all(|byte| byte.is_ascii_digit()) => {
            v.report_found("type", "a domain name must not be an IP address", found);
        }
        Some(_) => {}
    }
}

/// Validates the label of a subdomain at the current location.
pub(super) fn check_label(v: &mut Validator, label: &str) {
    let found = label.escape_debug();
    if label.is_empty() {
        v.report("empty", "a label must not be empty");
    } else if label.len() > MAX_LABEL_CHARS {
        v.report_found("length", "a label must have at most 63 characters", found);
    } else if !is_label(label) {
        let rule =
            "a label must contain only letters, digits and hyphens, and must not start or end with a hyphen";
        v.report_found("charset", rule, found);
    }
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;

    fn problem(check: impl FnOnce(&mut Validator)) -> Option<Problem> {
        Validator::run(check).err().map(|problems| problems[0].clone())
    }

    #[test]
    fn valid_dns_names_pass_and_others_are_reported_with_a_reason() {
        //
        let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        for right in ["acme.test", "ACME.test", "a.b", "3com.example", "xn--bcher-kva.example", &longest] {
            assert_eq!(problem(|v| check_domain(v, right)), None);
        }
        let (too_long, long_label) = (format!("{longest}c"), format!("{}.test", "a".repeat(64)));
        for (wrong, code) in [
            ("", "empty"),
            ("acme", "type"),
            ("192.0.2.1", "type"),
            (&too_long, "length"),
            (&long_label, "length"),
            (".", "charset"),
            ("acme..test", "charset"),
            ("acme.test.", "charset"),
            ("https://acme.test", "charset"),
            ("acme.test/x", "charset"),
            ("a_b.test", "charset"),
            ("-a.test", "charset"),
            ("a-.test", "charset"),
            ("a b.test", "charset"),
            ("bücher.example", "charset"),
        ] {
            assert_eq!(
                problem(|v| check_domain(v, wrong)).map(|problem| problem.code),
                Some(code),
                "{wrong}"
            );
        }
        let message = problem(|v| check_domain(v, "bücher.example")).unwrap().message;
        assert!(message.contains("xn--bcher-kva.example"), "{message}");
        assert_eq!(problem(|v| check_label(v, &"a".repeat(63))), None);
        for (wrong, code) in
            [("", "empty"), ("a.b", "charset"), ("-a", "charset"), (&"a".repeat(64), "length")]
        {
            assert_eq!(problem(|v| check_label(v, wrong)).map(|problem| problem.code), Some(code), "{wrong}");
        }
    }
}
