//! The syntax of domain names and labels (RFC 1035, 2.3; RFC 1123, 2.1; `SPEC.md` says "domain name" and "label").

use url::Host;

use crate::problem::Problem;

/// Characters of one label.
const LABEL_CHARS: usize = 63;
/// Characters of a whole name.
const NAME_CHARS: usize = 253;

/// Validates a domain name.
pub(super) fn domain_problem(path: &str, name: &str) -> Option<Problem> {
    let problem = |code, rule: &str| Some(Problem::new(path, code, rule).found(name));
    if name.is_empty() {
        return Some(Problem::new(path, "empty", "a domain name must not be empty"));
    }
    if !name.is_ascii() {
        return match Host::parse(name) {
            Ok(Host::Domain(ascii)) => {
                problem("charset", &format!("a domain name is written in ASCII letters, here `{ascii}`"))
            }
            _ => problem("charset", "a domain name is written in ASCII letters"),
        };
    }
    if name.len() > NAME_CHARS {
        return problem("length", "a domain name has at most 253 characters");
    }
    let mut labels = 0;
    for label in name.split('.') {
        labels += 1;
        if label.len() > LABEL_CHARS {
            return problem("length", "each label of a domain name has at most 63 characters");
        }
        if !is_label(label) {
            return problem(
                "charset",
                "a domain name is labels of letters, digits and hyphens with dots between them, without scheme, port or path",
            );
        }
    }
    if labels < 2 {
        return problem("type", "a domain name has at least two labels, such as `example.com`");
    }
    if name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
        return problem("type", "a domain name is no address of a machine");
    }
    None
}

/// Validates the label of a subdomain.
pub(super) fn label_problem(path: &str, label: &str) -> Option<Problem> {
    let problem = |code, rule: &str| Some(Problem::new(path, code, rule).found(label));
    if label.is_empty() {
        return Some(Problem::new(path, "empty", "a label must not be empty"));
    }
    if label.len() > LABEL_CHARS {
        return problem("length", "a label has at most 63 characters");
    }
    if !is_label(label) {
        return problem("charset", "one label of letters, digits and hyphens, with no hyphen at its ends");
    }
    None
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

    #[test]
    fn valid_domain_names_pass_and_others_are_refused_with_the_broken_rule() {
        let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        for right in ["acme.test", "ACME.test", "a.b", "3com.example", "xn--bcher-kva.example", &longest] {
            assert_eq!(domain_problem("/name", right), None);
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
            assert_eq!(domain_problem("/name", wrong).map(|problem| problem.code), Some(code), "{wrong}");
        }
        let message = domain_problem("/name", "bücher.example").unwrap().message;
        assert!(message.contains("xn--bcher-kva.example"), "{message}");
        assert_eq!(label_problem("/x", &"a".repeat(63)), None);
        for (wrong, code) in
            [("", "empty"), ("a.b", "charset"), ("-a", "charset"), (&"a".repeat(64), "length")]
        {
            assert_eq!(label_problem("/x", wrong).map(|problem| problem.code), Some(code), "{wrong}");
        }
    }
}
