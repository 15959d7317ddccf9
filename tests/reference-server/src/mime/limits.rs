//! Limits of header fields.

/// The maximum length of an unencoded word, with the spaces before it, in bytes: a line has at most 998, and the first one includes the
/// field's name.
pub const MAX_WORD: usize = 690;
/// The maximum length of a field name, in bytes.
pub const MAX_NAME: usize = 300;

/// Whether a value needs no encoding: parsers return it unchanged, and no line is too long.
pub fn is_plain(value: &str) -> bool {
    value.is_ascii() && !value.starts_with(' ') && !value.ends_with(' ') && has_short_words(value)
}

pub fn has_short_words(value: &str) -> bool {
    let mut length = 0;
    let mut before = 0;
    value.bytes().all(|byte| {
        // The spaces before a word are on its line.
        length = if byte == b' ' && before != b' ' { 1 } else { length + 1 };
        before = byte;
        length <= MAX_WORD
    })
}
