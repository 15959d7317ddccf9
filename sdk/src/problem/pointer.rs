//! JSON pointers (RFC 6901).

/// Appends one reference token to a pointer, with `~` and `/` escaped.
pub fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    if !token.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        return pointer.push_str(token);
    }
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}
