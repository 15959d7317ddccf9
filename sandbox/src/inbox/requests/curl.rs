//! Renders a recorded request as a POSIX shell command.
//!
//! The request is untrusted, and users paste the command. Every argument is therefore in single quotes, where shells expand nothing. A body with
//! control characters, which a terminal would interpret when pasted, is escaped and piped.

use std::fmt::Write as _;

use idempost_reference_server::state::requests::KeptRequest;

/// The maximum length of a body as an argument, in bytes. Linux allows 128 KiB.
const MAX_ARGUMENT: usize = 100 << 10;

/// Returns the command that sends this request with this body to a service at this base URL.
pub(super) fn curl_command(address: &str, request: &KeptRequest, body: &[u8]) -> String {
    let query = request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("{address}{}{query}", request.path);
    // curl interprets brackets as patterns, and normalizes dots.
    let globoff = if url.contains(['[', ']', '{', '}']) { "--globoff " } else { "" };
    let as_is = if request.path.contains("/.") { "--path-as-is " } else { "" };
    let mut words = vec![
        format!("curl {globoff}{as_is}-X {} {}", quote(request.method.as_str()), quote(&url)),
        "-H \"Authorization: Bearer $IDEMPOST_API_KEY\"".to_owned(),
    ];
    for name in ["content-type", "idempotency-key"] {
        let value = request.headers.get(name).and_then(|value| std::str::from_utf8(value).ok());
        if let Some(value) = value.filter(|value| value.is_ascii() && !value.chars().any(char::is_control)) {
            words.push(format!("-H {}", quote(&format!("{name}: {value}"))));
        }
    }
    let mut before = String::new();
    match std::str::from_utf8(body) {
        Ok("") => {}
        Ok(text) if is_pasteable(text) => words.push(format!("--data-raw {}", quote(text))),
        _ => {
            before = format!("printf {} | ", quote(&escape_printf(body)));
            words.push("--data-binary @-".to_owned());
        }
    }
    before + &words.join(" \\\n  ")
}

fn is_pasteable(text: &str) -> bool {
    text.len() <= MAX_ARGUMENT && !text.chars().any(|char| char.is_control() && char != '\n')
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Escapes bytes for the format of `printf`.
fn escape_printf(bytes: &[u8]) -> String {
    let mut format = String::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            // At the start, it would be parsed as an option.
            b'-' if index > 0 => format.push('-'),
            b'%' => format.push_str("%%"),
            b'\\' => format.push_str("\\\\"),
            b' '..=b'~' if *byte != b'-' => format.push(char::from(*byte)),
            _ => {
                // Always three digits, since another digit may follow. Writing to a string can't fail.
                let _ = write!(format, "\\{byte:03o}");
            }
        }
    }
    format
}
