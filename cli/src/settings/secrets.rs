//! Redacts secrets in TOML files before printing: by tokens, since even invalid files are printed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Settings that don't belong in a shared file, even misspelled (`api-key`).
const NAMES: [&str; 4] = ["apikey", "accesstoken", "refreshtoken", "clientsecret"];

fn is_secret(name: &str) -> bool {
    NAMES.contains(&name.replace(['_', '-'], "").to_ascii_lowercase().as_str())
}

/// The keys of secrets, and the text with their values masked byte for byte, so that all positions stay valid.
///
/// A value extends to the end of its line, or of the line that closes its brackets; the value of a table extends to the next table. So in a broken
/// file, too much is masked rather than too little. User information in URLs is also masked.
pub(super) fn mask(text: &Arc<str>) -> (Vec<Range<usize>>, Arc<str>) {
    let source = Source::new(text);
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    // The secret key before the next `=`, and the start of the open value.
    let (mut key, mut open): (Option<Range<usize>>, Option<usize>) = (None, None);
    let (mut depth, mut header, mut line_start, mut in_table) = (0_usize, false, true, false);
    for token in source.lex() {
        let span = token.span().start()..token.span().end();
        let raw = &text[span.clone()];
        match token.kind() {
            TokenKind::Whitespace => continue,
            TokenKind::LeftSquareBracket if line_start && depth == 0 => {
                values.extend(open.take().map(|start| start..span.start));
                (depth, header) = (1, true);
            }
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                (depth, key) = (depth + 1, if header { key } else { None });
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => depth = depth.saturating_sub(1),
            TokenKind::Comma => key = None,
            TokenKind::Equals => {
                if let Some(key) = key.take() {
                    keys.push(key);
                    open.get_or_insert(span.end);
                }
            }
            TokenKind::Newline | TokenKind::Eof => {
                let name = key.take();
                if (depth == 0 && !in_table) || token.kind() == TokenKind::Eof {
                    values.extend(open.take().map(|start| start..span.start));
                }
                if std::mem::take(&mut header) {
                    in_table = name.is_some();
                    keys.extend(name);
                    open = in_table.then_some(span.end);
                }
                line_start = true;
                continue;
            }
            TokenKind::Dot | TokenKind::Comment => {}
            TokenKind::Atom
            | TokenKind::BasicString
            | TokenKind::LiteralString
            | TokenKind::MlBasicString
            | TokenKind::MlLiteralString => {
                let mut name = Cow::Borrowed("");
                source.get(token).into_iter().for_each(|raw| raw.decode_key(&mut name, &mut ()));
                if is_secret(&name) {
                    key = Some(span.clone());
                }
                values.extend(user_info(raw).map(|part| span.start + part.start..span.start + part.end));
            }
        }
        line_start = false;
    }
    if values.is_empty() {
        return (keys, Arc::clone(text));
    }
    let mut shown = text.as_bytes().to_vec();
    for value in values {
        let bytes = shown[value].iter_mut();
        bytes.filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b'*');
    }
    (keys, String::from_utf8_lossy(&shown).into())
}

/// A URL without its user information; any other text is unchanged.
pub(crate) fn mask_user_info(text: &str) -> Cow<'_, str> {
    match user_info(text) {
        Some(part) => Cow::Owned(format!("{}***{}", &text[..part.start], &text[part.end..])),
        None => Cow::Borrowed(text),
    }
}

/// The part of a URL before the `@`.
fn user_info(text: &str) -> Option<Range<usize>> {
    let start = text.find("://")? + 3;
    let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |end| start + end);
    Some(start..start + text[start..end].rfind('@')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_to_their_end_and_nothing_else_changes() {
        // G-08
        for (text, expected) in [
            ("a = 1\napi_key = \"x\" # y\nb = 2\n", "a = 1\napi_key =********\nb = 2\n"),
            ("p.api_key = [\n 'x',\n]\nb = 2\n", "p.api_key =**\n*****\n*\nb = 2\n"),
            ("p = { a = \"token\", api-key = \"é\" }\n", "p = { a = \"token\", api-key =*******\n"),
            ("[p.api_key]\nx = 1\n\n[q]\ny = 2\n", "[p.api_key]\n*****\n\n[q]\ny = 2\n"),
            ("api_key = \"\"\"\nx\ny = 1", "api_key =****\n*\n*****"),
            ("b = \"https://me:x@a.test/@\"\n", "b = \"https://****@a.test/@\"\n"),
            ("b = \"api_key\"\nc = 1\n", "b = \"api_key\"\nc = 1\n"),
        ] {
            assert_eq!(&*mask(&text.into()).1, expected);
        }
    }
}
