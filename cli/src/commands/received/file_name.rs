//! Sanitizes file names chosen by senders.

use crate::output::terminal::is_hostile;

/// Maximum length in bytes; leaves space for a number.
const MAX_NAME_BYTES: usize = 200;

/// Maximum length of an extension in bytes, with its dot. Longer text after a dot belongs to the name.
const MAX_EXTENSION_BYTES: usize = 50;

/// Names that Windows treats as devices: with any extension, with spaces before it, and some with a number, which may be superscript.
const DEVICES: [&str; 8] = ["CON", "CONIN$", "CONOUT$", "PRN", "AUX", "NUL", "COM", "LPT"];

/// Returns the name without folders, control characters, bidirectional marks, and characters special to file systems or shells. It is neither
/// hidden nor empty.
pub(crate) fn safe(name: &str) -> String {
    let name: String = name
        .chars()
        .filter(|char| !is_bidirectional(*char))
        .map(|char| if char.is_control() || "/\\:*?\"<>|".contains(char) { '_' } else { char })
        .collect();
    let name = trim_end(name.trim_start());
    let hidden = name.starts_with(['.', '-', '~']);
    let name = if hidden { format!("_{}", &name[1..]) } else { name.to_owned() };
    let (stem, extension) = split_extension(&name);
    let shortened = |stem: &str| {
        let stem = &stem[..stem.floor_char_boundary(MAX_NAME_BYTES - extension.len())];
        if extension.is_empty() { trim_end(stem).to_owned() } else { stem.to_owned() }
    };
    let mut stem = shortened(stem);
    let is_digit = |char: char| char.is_ascii_digit() || "¹²³".contains(char);
    let letters = stem.split('.').next().unwrap_or_default().trim_end().trim_end_matches(is_digit);
    if DEVICES.iter().any(|device| letters.eq_ignore_ascii_case(device)) {
        stem = shortened(&format!("_{stem}"));
    }
    let stem = if stem.is_empty() { "attachment" } else { &stem };
    format!("{stem}{extension}")
}

/// Windows removes dots and spaces at the end of a name.
fn trim_end(name: &str) -> &str {
    name.trim_end_matches(|char: char| char == '.' || char.is_whitespace())
}

/// Returns the name itself for the first file, and a numbered one for others.
pub(crate) fn with_number(name: &str, number: usize) -> String {
    let (stem, extension) = split_extension(name);
    if number == 1 { name.to_owned() } else { format!("{stem}-{number}{extension}") }
}

fn split_extension(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= MAX_EXTENSION_BYTES => name.split_at(dot),
        _ => (name, ""),
    }
}

/// Bidirectional marks, which make `gpj.exe` look like `exe.jpg`, and other invisible characters.
fn is_bidirectional(char: char) -> bool {
    (is_hostile(char) && !char.is_control())
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_changed_once() {
        let spaces = " ".repeat(60);
        for name in [
            format!("nul.{}.gz", "é".repeat(120)),
            format!("con {}", "x".repeat(300)),
            format!("con{}x.txt", " ".repeat(300)),
            format!("a.{spaces}b.{spaces}c"),
        ] {
            let name = safe(&name);
            assert!(name.len() <= MAX_NAME_BYTES, "{name}");
            assert_eq!(safe(&name), name);
            assert!(!name.starts_with("con  "), "{name}");
        }
    }

    #[test]
    fn a_hostile_name_cannot_leave_the_folder() {
        for (name, expected) in [
            ("invoice.pdf", "invoice.pdf"),
            ("Größe 1.txt", "Größe 1.txt"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            ("..\\..\\boot.ini", "_._.._boot.ini"),
            ("/etc/passwd", "_etc_passwd"),
            ("a\0b\r\nc\u{1b}[31m.txt", "a_b__c_[31m.txt"),
            (".bashrc", "_bashrc"),
            ("-rf", "_rf"),
            ("", "attachment"),
            (" . ", "attachment"),
            ("..", "attachment"),
            ("photo\u{202e}gpj.exe", "photogpj.exe"),
            ("con.txt", "_con.txt"),
            ("COM1", "_COM1"),
            ("CON .txt", "_CON .txt"),
            ("lpt\u{b9}.log", "_lpt\u{b9}.log"),
            ("CONOUT$", "_CONOUT$"),
            ("C:evil", "C_evil"),
            ("x. ", "x"),
            ("x.\u{3000}.", "x"),
        ] {
            assert_eq!(safe(name), expected, "{name:?}");
        }
        let long = safe(&format!("{}.pdf", "é".repeat(1_000)));
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with("é.pdf"), "{long}");
        assert_eq!(safe(&format!("{} b", "a".repeat(199))), "a".repeat(199));
        let extension = "x".repeat(49);
        assert_eq!(
            safe(&format!("{}.{extension}", "é".repeat(100))),
            format!("{}.{extension}", "é".repeat(75))
        );
    }

    #[test]
    fn a_number_is_inserted_before_the_extension() {
        assert_eq!(with_number("a.tar.gz", 1), "a.tar.gz");
        assert_eq!(with_number("a.tar.gz", 2), "a.tar-2.gz");
        assert_eq!(with_number("README", 3), "README-3");
    }
}
