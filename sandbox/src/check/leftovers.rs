//! Finds leftovers of template engines: unreplaced placeholders, missing values, and dummy text.

use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::rules::{self, Rule};

/// The maximum length of a placeholder, in bytes.
const MAX_PLACEHOLDER: usize = 200;

/// Is called with the rule about a leftover, and its range.
type Found<'a> = &'a mut dyn FnMut(&'static Rule, Range<usize>);

/// Calls `on` with every leftover in a prose text, in order.
pub(super) fn find_in_text(text: &str, on: Found<'_>) {
    find_placeholders(text, false, on);
    empty_values(text, on);
    let starts =
        |at: usize| text.get(at..at + LOREM.len()).is_some_and(|word| word.eq_ignore_ascii_case(LOREM));
    if let Some(at) = memchr::memchr2_iter(b'l', b'L', text.as_bytes()).find(|at| starts(*at)) {
        on(&rules::DUMMY_TEXT, at..at + LOREM.len());
    }
}

const LOREM: &str = "lorem ipsum";

/// Calls `on` with every leftover in a URL.
pub(super) fn find_in_url(url: &str, on: Found<'_>) {
    let mut found = false;
    find_placeholders(url, true, &mut |rule, range| {
        found = true;
        on(rule, range);
    });
    // Braces are often percent-encoded.
    if !found && url.contains('%') {
        let decoded = percent_decode_str(url).decode_utf8_lossy();
        find_placeholders(&decoded, true, &mut |rule, _| {
            if !std::mem::replace(&mut found, true) {
                on(rule, 0..url.len());
            }
        });
    }
    let start = url.find("://").map_or(0, |at| at + 3);
    let mut at = start;
    for segment in url[start..].split(['/', '?', '&', '=', '#']) {
        let is_host = at == start && start > 0;
        let names = ["undefined", "null", "NaN", "[object Object]", "%5Bobject%20Object%5D"];
        // A host with this name is unreachable as well, but a query may contain it as a name.
        if names.contains(&segment) && !is_host {
            on(&rules::EMPTY_VALUE, at..at + segment.len());
        }
        at += segment.len() + 1;
    }
}

/// Returns whether a URL contains a placeholder, so that it can't be checked.
pub(super) fn is_template(url: &str) -> bool {
    let mut found = false;
    find_in_url(url, &mut |rule, _| found |= rule.code == rules::PLACEHOLDER.code);
    found
}

/// Finds `{{name}}`, `{{{name}}}`, `{% tag %}`, `<% code %>`, `[[name]]`, `%NAME%`, `*|NAME|*`, `${name}` and `#{name}`.
fn find_placeholders(text: &str, is_url: bool, on: Found<'_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) =
        bytes[at..].iter().position(|byte| matches!(byte, b'{' | b'[' | b'%' | b'*' | b'$' | b'#' | b'<'))
    {
        at += next;
        let length = placeholder_len(&bytes[at..], is_url);
        if length > 0 {
            on(&rules::PLACEHOLDER, at..at + length);
        }
        at += length.max(1);
    }
}

/// Returns the length of the placeholder that starts here, or 0.
fn placeholder_len(text: &[u8], is_url: bool) -> usize {
    let until = |open: usize, close: &[u8], fits: &dyn Fn(&[u8]) -> bool| {
        let window = &text[..text.len().min(MAX_PLACEHOLDER)];
        let inner = window.get(open..)?;
        let end = memchr::memmem::find(inner, close)?;
        fits(&inner[..end]).then_some(open + end + close.len())
    };
    let is_filled = |inner: &[u8]| inner.iter().any(u8::is_ascii_alphanumeric) && !inner.contains(&b'\n');
    let is_name = |inner: &[u8]| {
        let inner = inner.trim_ascii();
        inner.first().is_some_and(u8::is_ascii_alphabetic)
            && inner
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b' '))
    };
    let is_constant = |inner: &[u8]| {
        inner.len() > 1
            && inner[0].is_ascii_uppercase()
            && inner.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
            // `%E2%9C%93` is percent-encoded.
            && !(is_url && inner[..2].iter().all(u8::is_ascii_hexdigit))
            && !(inner.len() == 2 && inner.iter().all(u8::is_ascii_hexdigit))
    };
    let found = match text {
        [b'{', b'{', b'{', ..] => until(3, b"}}}", &is_filled),
        [b'{', b'{', ..] => until(2, b"}}", &is_filled),
        [b'{', b'%', ..] => until(2, b"%}", &is_filled),
        [b'<', b'%', ..] => until(2, b"%>", &is_filled),
        [b'[', b'[', ..] => until(2, b"]]", &is_name),
        [b'*', b'|', ..] => until(2, b"|*", &is_filled),
        [b'$' | b'#', b'{', ..] => until(2, b"}", &is_name),
        [b'%', ..] => until(1, b"%", &is_constant),
        _ => None,
    };
    found.unwrap_or(0)
}

/// Words that often precede a value.
const GREETINGS: [&str; 9] = ["hi", "hello", "hey", "dear", "welcome", "thanks", "hallo", "bonjour", "hola"];

/// Finds `undefined`, `null` and `NaN` where a value belongs: alone, after a greeting, or after `:`, `=`, `#` or a currency sign. Elsewhere, they may
/// be ordinary words; `[object Object]` never is.
fn empty_values(text: &str, on: Found<'_>) {
    let trimmed = text.trim();
    let mut before = "";
    let mut colon = false;
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let word = word.trim_end();
        if word.is_empty() {
            continue;
        }
        let bare = word.trim_end_matches([',', '.', '!', '?', ';', ':', ')']);
        let value = bare.trim_start_matches(['$', '€', '£', '¥', '#', '=', ':', '(']);
        let is_marked = value.len() < bare.len() && !bare.starts_with('(');
        if matches!(value, "undefined" | "null" | "NaN") {
            let greeted = GREETINGS.iter().any(|greeting| before.eq_ignore_ascii_case(greeting));
            if trimmed.len() == word.len() || is_marked || greeted || (colon && at >= text.trim_end().len()) {
                on(&rules::EMPTY_VALUE, start..start + word.len());
            }
        } else if value.starts_with("[object") && text[start..].starts_with("[object Object]") {
            on(&rules::EMPTY_VALUE, start..start + "[object Object]".len());
        }
        colon = word.ends_with([':', '=']);
        before = bare;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str, find: fn(&str, Found<'_>)) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        find(text, &mut |rule, range| found.push((rule.code, &text[range])));
        found
    }

    fn in_words(text: &str) -> Vec<(&str, &str)> {
        left(text, find_in_text)
    }

    fn in_address(text: &str) -> Vec<(&str, &str)> {
        left(text, find_in_url)
    }

    #[test]
    fn placeholders_of_common_template_languages_are_found() {
        for (text, found) in [
            ("Hi {{name}}!", "{{name}}"),
            ("Hi {{{ contact.first_name|there }}}!", "{{{ contact.first_name|there }}}"),
            ("{% if x %}", "{% if x %}"),
            ("<%= name %>", "<%= name %>"),
            ("Hi [[first name]],", "[[first name]]"),
            ("Hi %FIRST_NAME%,", "%FIRST_NAME%"),
            ("Hi *|FNAME|*", "*|FNAME|*"),
            ("Total ${order.total}", "${order.total}"),
            ("Total #{total}", "#{total}"),
            ("é {{{{x}}}} é", "{{{{x}}}"),
        ] {
            assert_eq!(in_words(text), [("placeholder", found)], "{text}");
        }
    }

    #[test]
    fn ordinary_text_has_no_leftovers() {
        for text in [
            "100% of 50% off",
            "50% OFF, 20%, %20%",
            "{} {{}} {{ }} [[]] [[1]] ${} $5 #1 *bold* a | b",
            "A null pointer is undefined behavior; NaN isn't a number.",
            "Is it null? (undefined)",
            "{{\n\nnot closed here}}",
            "%AB%",
            "the lorem of ipsum",
            "Nullable Undefined",
        ] {
            assert_eq!(in_words(text), [], "{text}");
        }
    }

    #[test]
    fn empty_values_are_found_where_values_belong() {
        for (text, found) in [
            ("Hi undefined,", "undefined,"),
            ("Dear null!", "null!"),
            (" NaN ", "NaN"),
            ("Total: $NaN", "$NaN"),
            ("Order #undefined was sent", "#undefined"),
            ("Your name: null", "null"),
            ("You bought [object Object].", "[object Object]"),
        ] {
            assert_eq!(in_words(text), [("empty_value", found)], "{text}");
        }
        assert_eq!(in_words("x LOREM Ipsum"), [("dummy_text", "LOREM Ipsum")]);
    }

    #[test]
    fn urls_have_placeholders_and_empty_values() {
        for (url, found) in [
            ("https://a.test/{{id}}?x=1", &[("placeholder", "{{id}}")][..]),
            ("https://a.test/%7B%7Bid%7D%7D", &[("placeholder", "https://a.test/%7B%7Bid%7D%7D")]),
            ("%UNSUBSCRIBE_URL%", &[("placeholder", "%UNSUBSCRIBE_URL%")]),
            ("https://a.test/users/undefined", &[("empty_value", "undefined")]),
            ("https://a.test/?id=null&x=NaN", &[("empty_value", "null"), ("empty_value", "NaN")]),
            ("https://a.test/%E2%9C%93?q=%DATE%20%AB%CD%EF", &[]),
            ("https://null.test/nullable", &[]),
        ] {
            assert_eq!(in_address(url), found, "{url}");
        }
    }
}
