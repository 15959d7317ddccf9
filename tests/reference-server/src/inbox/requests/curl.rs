//! A recorded request once more, as a command for a POSIX shell.
//!
//! A stranger may have sent what a user pastes here. So every word is in single quotes, where a shell expands nothing; and a body with control
//! characters, which a terminal takes for keys when they are pasted, is written in escapes and piped.

use std::fmt::Write as _;

use crate::state::requests::RecordedRequest;

/// The longest body that is an argument, in bytes: Linux takes 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// The command that sends this request with this body to a service at this address.
pub(super) fn command(address: &str, request: &RecordedRequest, body: &[u8]) -> String {
    let query = request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("{address}{}{query}", request.path);
    // curl would take brackets for a pattern, and remove dots.
    let globoff = if url.contains(['[', ']', '{', '}']) { "--globoff " } else { "" };
    let as_is = if request.path.contains("/.") { "--path-as-is " } else { "" };
    let mut words = vec![
        format!("curl {globoff}{as_is}-X {} {}", quoted(request.method.as_str()), quoted(&url)),
        "-H \"Authorization: Bearer $POSTHASTE_API_KEY\"".to_owned(),
    ];
    for name in ["content-type", "idempotency-key"] {
        let value = request.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(value) = value.filter(|value| !value.chars().any(char::is_control)) {
            words.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
        }
    }
    let mut before = String::new();
    match std::str::from_utf8(body) {
        Ok("") => {}
        Ok(text) if is_pasteable(text) => words.push(format!("--data-raw {}", quoted(text))),
        _ => {
            before = format!("printf {} | ", quoted(&escaped(body)));
            words.push("--data-binary @-".to_owned());
        }
    }
    before + &words.join(" \\\n  ")
}

fn is_pasteable(text: &str) -> bool {
    text.len() <= LONGEST_ARGUMENT && !text.chars().any(|char| char.is_control() && char != '\n')
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// As a format of `printf`.
fn escaped(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            // Not at the beginning, where it would be an option.
            b'-' if index > 0 => format.push('-'),
            b'%' => format.push_str("%%"),
            b'\\' => format.push_str("\\\\"),
            b' '..=b'~' if *byte != b'-' => format.push(char::from(*byte)),
            _ => {
                // Three digits, since one more may follow. Writing to a string does not fail.
                let _ = write!(format, "\\{byte:03o}");
            }
        }
    }
    format
}
