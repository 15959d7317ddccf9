//! Properties of the terminal, and escaping of untrusted text.
//!
//! [`escape_line`] shows control characters, and characters that reorder text, as `\u{…}`; all text output passes through it. JSON stays lossless.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::IsTerminal;

use crate::settings::ColorChoice;
use crate::settings::env::Env;

/// The width in columns if the terminal doesn't report one.
const DEFAULT_WIDTH: usize = 80;

/// The properties of the three standard streams, detected at startup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "five independent properties, not states")]
pub(crate) struct Terminal {
    /// Standard input is a terminal.
    pub(crate) stdin: bool,
    /// Standard output is a terminal, or forced by `IDEMPOST_FORCE_TTY`.
    pub(crate) stdout: bool,
    /// Standard error is a terminal, or forced by `IDEMPOST_FORCE_TTY`.
    pub(crate) stderr: bool,
    /// Width in columns; never 0.
    pub(crate) width: usize,
    /// Standard output is colored.
    pub(crate) color_stdout: bool,
    /// Standard error is colored.
    pub(crate) color_stderr: bool,
}

impl Terminal {
    /// Inspects the streams and the environment.
    pub(crate) fn detect(env: &Env, color: ColorChoice) -> Self {
        let terminals = [
            std::io::stdin().is_terminal(),
            std::io::stdout().is_terminal(),
            std::io::stderr().is_terminal(),
        ];
        let measured = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let found = Self::from_properties(terminals, measured, env, color);
        let [stdout, stderr] = interpret_colors();
        let shown = |colored, able| colored && (able || color == ColorChoice::Always);
        Self {
            color_stdout: shown(found.color_stdout, stdout),
            color_stderr: shown(found.color_stderr, stderr),
            ..found
        }
    }

    fn from_properties(
        [stdin, stdout, stderr]: [bool; 3],
        measured: Option<usize>,
        env: &Env,
        color: ColorChoice,
    ) -> Self {
        let columns =
            |name| env.get(name).and_then(|text| text.parse().ok()).filter(|&width: &usize| width > 0);
        let forced = columns("IDEMPOST_FORCE_TTY");
        let width = forced.or_else(|| columns("COLUMNS")).or(measured).filter(|&width| width > 0);
        let stdout = stdout || forced.is_some();
        let stderr = stderr || forced.is_some();
        Self {
            stdin,
            stdout,
            stderr,
            width: width.unwrap_or(DEFAULT_WIDTH),
            color_stdout: supports_color(stdout, env, color),
            color_stderr: supports_color(stderr, env, color),
        }
    }
}

/// Makes standard output and standard error interpret colors, and returns whether they do. A Windows console doesn't by default.
#[cfg(windows)]
fn interpret_colors() -> [bool; 2] {
    use winapi_util::console::Console;
    // Anything else, such as a pipe to another terminal program, interprets colors itself.
    let able = |console: std::io::Result<Console>| {
        console.map_or(true, |mut console| console.set_virtual_terminal_processing(true).is_ok())
    };
    [able(Console::stdout()), able(Console::stderr())]
}

#[cfg(not(windows))]
fn interpret_colors() -> [bool; 2] {
    [true; 2]
}

/// `--color` > `NO_COLOR` > `CLICOLOR_FORCE` > (terminal, `TERM` not `dumb`, `CLICOLOR` not 0).
fn supports_color(terminal: bool, env: &Env, choice: ColorChoice) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if env.get("NO_COLOR").is_some() => false,
        ColorChoice::Auto if env.get("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorChoice::Auto => {
            terminal
                && env.get("TERM").is_none_or(|term| term != "dumb")
                && env.get("CLICOLOR").is_none_or(|value| value != "0")
        }
    }
}

/// Shortens a text of any length, and appends its length in bytes.
pub(crate) fn shorten(text: &str) -> Cow<'_, str> {
    const MAX_BYTES: usize = 1_000;
    if text.len() <= MAX_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}… ({} bytes)", &text[..text.floor_char_boundary(MAX_BYTES)], text.len()))
}

/// Escapes text for one line of a terminal, including line feeds and tabs.
pub(crate) fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, is_hostile)
}

/// Escapes text that may have several lines: keeps line feeds and tabs. CRLF line endings, as in mail, become line feeds.
pub(crate) fn safe_lines(text: &str) -> Cow<'_, str> {
    let hostile = |c| is_hostile(c) && c != '\n' && c != '\t';
    if text.contains("\r\n") {
        return Cow::Owned(escape(&text.replace("\r\n", "\n"), hostile).into_owned());
    }
    escape(text, hostile)
}

fn escape(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hostile) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hostile(c) {
            // Writing to a String can't fail.
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character controls a terminal, reorders text or is invisible.
pub(crate) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            | '\u{2028}' | '\u{2029}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terminal(tty: bool, env: &[(&str, &str)], color: ColorChoice) -> Terminal {
        Terminal::from_properties([tty; 3], Some(132), &Env::from_pairs(env), color)
    }

    proptest! {
        #[test]
        fn no_control_or_bidirectional_character_survives(text in any::<String>()) {
            // G-02
            prop_assert!(!escape_line(&text).chars().any(is_hostile));
            prop_assert!(!safe_lines(&text).chars().any(|c| is_hostile(c) && c != '\n' && c != '\t'));
        }

        #[test]
        fn every_hostile_character_becomes_visible(
            c in prop::char::ranges(vec!['\0'..='\u{1F}', '\u{7F}'..='\u{9F}', '\u{202A}'..='\u{202E}',
                '\u{2066}'..='\u{2069}', '\u{200E}'..='\u{200F}', '\u{2028}'..='\u{2029}', '\u{E0000}'..='\u{E007F}'].into()),
        ) {
            // G-01, G-02
            let text = format!("a{c}b");
            prop_assert_eq!(escape_line(&text), format!("a\\u{{{:x}}}b", u32::from(c)));
        }

        #[test]
        fn printable_text_is_unchanged(text in "[ -~äöüéßЖ漢字😀👩🏽‍🚀]*") {
            prop_assert_eq!(escape_line(&text), text.as_str());
        }
    }

    #[test]
    fn a_clipboard_escape_sequence_is_shown_and_has_no_effect() {
        // G-01
        assert_eq!(escape_line("\u{1b}]52;c;YQ==\u{7}x"), "\\u{1b}]52;c;YQ==\\u{7}x");
        assert_eq!(safe_lines("a\n\tb\r"), "a\n\tb\\u{d}");
        assert_eq!(safe_lines("a\r\nb\r\r\n"), "a\nb\\u{d}\n");
    }

    #[test]
    fn color_precedence_is_flag_no_color_force_terminal() {
        // G-07
        assert!(terminal(false, &[("NO_COLOR", "1")], ColorChoice::Always).color_stdout);
        assert!(!terminal(true, &[("CLICOLOR_FORCE", "1")], ColorChoice::Never).color_stdout);
        assert!(
            !terminal(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], ColorChoice::Auto).color_stdout
        );
        assert!(terminal(false, &[("CLICOLOR_FORCE", "1")], ColorChoice::Auto).color_stdout);
        assert!(terminal(true, &[("TERM", "xterm")], ColorChoice::Auto).color_stderr);
        assert!(
            terminal(true, &[("NO_COLOR", "")], ColorChoice::Auto).color_stdout,
            "an empty variable is unset"
        );
        for off in [("TERM", "dumb"), ("CLICOLOR", "0")] {
            assert!(!terminal(true, &[off], ColorChoice::Auto).color_stdout);
        }
        assert!(!terminal(false, &[], ColorChoice::Auto).color_stdout);
    }

    #[test]
    fn a_forced_terminal_has_the_given_width() {
        // G-07
        let forced = terminal(false, &[("IDEMPOST_FORCE_TTY", "40"), ("COLUMNS", "99")], ColorChoice::Auto);
        assert!(forced.stdout && forced.stderr && !forced.stdin);
        assert_eq!(forced.width, 40);
        assert_eq!(terminal(true, &[("COLUMNS", "99")], ColorChoice::Auto).width, 99);
        assert_eq!(terminal(true, &[("COLUMNS", "0")], ColorChoice::Auto).width, 132);
        assert_eq!(terminal(true, &[("COLUMNS", "wide")], ColorChoice::Auto).width, 132);
    }

    #[test]
    fn a_terminal_without_a_known_width_has_the_default_one() {
        for measured in [None, Some(0)] {
            let terminal =
                Terminal::from_properties([true; 3], measured, &Env::from_pairs(&[]), ColorChoice::Auto);
            assert_eq!(terminal.width, DEFAULT_WIDTH);
        }
    }
}
