//! The table of findings: code, severity and sentence.

use serde::Serialize;

use idempost_reference_server::wire::described;

described! {
    /// A finding's severity.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// Informational: also occurs in correct mails.
        Note,
        /// Some recipients are affected, or it is probably a mistake.
        Warning,
        /// An error.
        Error,
    }
}

impl Severity {
    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule of the check. Its code is stable.
#[derive(Debug)]
pub struct Rule {
    /// The stable code.
    pub code: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// The problem, as a sentence. Some findings use a sentence with figures instead.
    pub sentence: &'static str,
}

macro_rules! rules {
    ($($name:ident $severity:ident $code:literal $sentence:literal;)*) => {
        $(pub(super) const $name: Rule = Rule { code: $code, severity: Severity::$severity, sentence: $sentence };)*

        /// All rules, errors first.
        pub const RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    // Errors
    MESSAGE_UNREADABLE Error "message_unreadable" "The message can't be parsed.";
    BODY_MISSING Error "body_missing" "The message has neither text nor HTML.";
    SUBJECT_MISSING Error "subject_missing" "The message has no subject.";
    PLACEHOLDER Error "placeholder" "A placeholder wasn't replaced.";
    EMPTY_VALUE Error "empty_value" "A value is missing: the code that rendered the email inserted `undefined`, `null`, `NaN` or `[object Object]`.";
    LINK_INVALID Error "link_invalid" "A link isn't a valid URL.";
    LINK_BLOCKED Error "link_blocked" "No mail client opens links of this kind.";
    URL_RELATIVE Error "url_relative" "A URL is relative, but an email has no base URL.";
    IMAGE_NOT_ATTACHED Error "image_not_attached" "A `cid:` URL refers to a part that isn't in the message.";
    CHARSET_INVALID Error "charset_invalid" "A body contains bytes that are invalid in its character set.";
    CHARSET_MISSING Error "charset_missing" "A body contains non-ASCII characters and declares no character set.";
    UNSUBSCRIBE_INVALID Error "unsubscribe_invalid" "`List-Unsubscribe` needs a URL in angle brackets, and `List-Unsubscribe-Post` an https one (RFC 2369, RFC 8058).";
    LINK_BROKEN Error "link_broken" "A link responds with an error status, or has invalid or too many redirects.";
    LINK_UNREACHABLE Error "link_unreachable" "A link's server can't be reached: no such name, no connection, an invalid certificate, or a timeout.";
    ATTACHMENT_BLOCKED Error "attachment_blocked" "Gmail rejects emails with files of this type.";
    // Warnings
    HTML_CLIPPED Warning "html_clipped" "Gmail clips HTML larger than 102 kB.";
    MESSAGE_LARGE Warning "message_large" "Many servers reject messages larger than 10 MB.";
    TEXT_MISSING Warning "text_missing" "The message has HTML but no text part.";
    TEXT_EMPTY Warning "text_empty" "The text part is empty, but the HTML isn't.";
    TEXT_DIFFERS Warning "text_differs" "The text part has hardly any words in common with the HTML.";
    CHARSET_CONFLICT Warning "charset_conflict" "The HTML's `meta` element declares a different character set than the message.";
    GARBLED Warning "garbled" "The text was probably decoded with the wrong character set.";
    IMAGE_WITHOUT_ALT Warning "image_without_alt" "An image has no `alt` text; decorative images need `alt=\"\"`.";
    IMAGES_ONLY Warning "images_only" "The HTML contains images and hardly any text, like spam.";
    SCRIPT Warning "script" "No mail client runs scripts.";
    LINK_PLACEHOLDER Warning "link_placeholder" "A link leads nowhere: `#`, nothing, or a domain reserved for examples.";
    LINK_PRIVATE Warning "link_private" "A URL has a private or local host, which recipients can't reach.";
    LINK_MISLEADING Warning "link_misleading" "A link's text shows a different domain than its URL.";
    LINK_NOT_PUBLIC Warning "link_not_public" "A link wasn't requested: it or its redirect contains a private address, a user name, or the port of another protocol.";
    LINK_DENIED Warning "link_denied" "A link's server rejects the check (401, 403, 407, 429, 451 or 999); recipients may still reach it.";
    LINK_REDIRECT_INSECURE Warning "link_redirect_insecure" "A link redirects to an `http:` URL.";
    ANCHOR_BROKEN Warning "anchor_broken" "A link leads to an ID that isn't in the HTML.";
    UNSUBSCRIBE_MISSING Warning "unsubscribe_missing" "The email is bulk mail without a `List-Unsubscribe` header, which Gmail and Yahoo require.";
    ONE_CLICK_MISSING Warning "one_click_missing" "`List-Unsubscribe` has no `List-Unsubscribe-Post`, which Gmail and Yahoo require for bulk mail (RFC 8058).";
    DUMMY_TEXT Warning "dummy_text" "The email contains dummy text.";
    CONTENT_UNSUPPORTED Warning "content_unsupported" "Fewer than half of mail clients show this element or image format.";
    // Notes
    SUBJECT_LONG Note "subject_long" "The subject is longer than 120 characters; mail clients show 40 to 80.";
    IMAGES_LARGE Note "images_large" "The attached images are larger than 1 MB in total.";
    LANGUAGE_MISSING Note "language_missing" "The HTML doesn't declare its language (`<html lang=…>`), which screen readers need.";
    LINK_WITHOUT_TEXT Note "link_without_text" "A link has neither text nor an image with `alt`.";
    URL_INSECURE Note "url_insecure" "A URL uses `http:` instead of `https:`.";
    FEATURE_UNSUPPORTED Note "feature_unsupported" "Some mail clients don't support this feature.";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_errors_come_first() {
        let codes: HashSet<_> = RULES.iter().map(|rule| rule.code).collect();
        assert_eq!(codes.len(), RULES.len());
        assert!(RULES.is_sorted_by(|a, b| a.severity >= b.severity));
        assert!(
            RULES.iter().all(|rule| rule.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        );
    }
}
