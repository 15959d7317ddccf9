//! Path segments: an identifier is encoded as exactly one segment.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Problem;

/// All characters except the unreserved ones of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes `text` as one path segment: every reserved character is percent-encoded.
///
/// ```
/// assert_eq!(idempost::problem::path_segment("a+b@x.test")?, "a%2Bb%40x.test");
/// # Ok::<(), idempost::problem::Problem>(())
/// ```
///
/// # Errors
/// `text` is empty, `.` or `..`, which can't be a path segment.
pub fn path_segment(text: &str) -> Result<String, Problem> {
    match text {
        "" => Err(Problem::new("", "empty", "an identifier in a path must not be empty")),
        "." | ".." => {
            Err(Problem::new("", "charset", "an identifier in a path must not be `.` or `..`")
                .with_value(text))
        }
        text => Ok(utf8_percent_encode(text, ENCODED).to_string()),
    }
}

/// Returns why `path` can't be appended to the base URL unchanged.
pub(crate) fn find_fault(path: &str) -> Option<Problem> {
    let problem = |rule: &str| Some(Problem::new("", "url", rule).with_value(path));
    if !path.starts_with('/') || path.starts_with("//") {
        return problem("a path must start with a single `/`, relative to the base URL");
    }
    if path.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '#' | '\\')) {
        return problem(
            "a path must not contain whitespace, control characters, `#` or `\\`; percent-encode them",
        );
    }
    let only_path = path.split('?').next().unwrap_or(path);
    let folds = |segment: &str| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    };
    if only_path.split('/').any(folds) {
        return problem("a path must not contain the segments `.` or `..`");
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_identifier_stays_one_segment() {
        // GEN-31, A-33
        for (text, segment) in [
            ("a/b", "a%2Fb"),
            ("a?b#c", "a%3Fb%23c"),
            ("%2F", "%252F"),
            ("a b", "a%20b"),
            ("é", "%C3%A9"),
            ("%2e%2e", "%252e%252e"),
            ("d91cd9bd-1176-453e-8fc1-35364d380206", "d91cd9bd-1176-453e-8fc1-35364d380206"),
        ] {
            assert_eq!(path_segment(text).unwrap(), segment);
        }
        for text in ["", ".", ".."] {
            assert!(path_segment(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_raw_path_cannot_escape_the_base_url() {
        for path in
            ["", "emails", "//evil.test/x", "/a/../b", "/a/%2E%2e/b", "/a b", "/a#b", "https://evil.test"]
        {
            assert!(find_fault(path).is_some(), "{path}");
        }
        assert!(find_fault("/emails/a%2Fb?limit=5").is_none());
    }

    proptest! {
        #[test]
        fn every_segment_survives_a_round_trip(text in ".+") {
            // A-33
            prop_assume!(text != "." && text != "..");
            let segment = path_segment(&text).unwrap();
            let url = url::Url::parse("http://127.0.0.1/x/").unwrap().join(&segment).unwrap();
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 2);
            let back = percent_encoding::percent_decode_str(segments[1]).decode_utf8().unwrap();
            prop_assert_eq!(back, text);
        }
    }
}
