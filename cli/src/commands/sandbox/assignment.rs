//! Commands that set environment variables, for a POSIX shell and for PowerShell.

use crate::actions::dry_run::quote;
use crate::settings::env::Env;

/// A shell to print commands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shell {
    Posix,
    PowerShell,
}

impl Shell {
    /// The names on the command line.
    pub(super) const NAMES: [&str; 2] = ["sh", "powershell"];

    /// The shell with this name; by default PowerShell on Windows, unless a POSIX shell started the program, and elsewhere a POSIX shell.
    pub(super) fn from_name(name: Option<&str>, env: &Env) -> Self {
        Self::named_or_detected(name, env, cfg!(windows))
    }

    fn named_or_detected(name: Option<&str>, env: &Env, windows: bool) -> Self {
        match name {
            Some("powershell") => Self::PowerShell,
            None if windows && env.get("MSYSTEM").is_none() && env.get("SHELL").is_none() => Self::PowerShell,
            _ => Self::Posix,
        }
    }

    /// One line that sets these variables.
    pub(super) fn line(self, variables: &[(&str, &str)]) -> String {
        let each = variables.iter().map(|(name, value)| match self {
            Self::Posix => format!("{name}={}", quote_value(value)),
            Self::PowerShell => format!("$env:{name} = {}", quote_powershell(value)),
        });
        let each: Vec<_> = each.collect();
        match self {
            Self::Posix => format!("export {}", each.join(" ")),
            Self::PowerShell => each.join("; "),
        }
    }
}

/// Quotes a value if necessary, for both shells and dotenv files, which can't escape a single quote.
pub(super) fn quote_value(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/@%+,".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    if !text.contains('\'') {
        return quote(text);
    }
    let escaped = text.chars().flat_map(|c| "\\\"$`".contains(c).then_some('\\').into_iter().chain([c]));
    format!("\"{}\"", escaped.collect::<String>())
}

/// Quotes a value for PowerShell, where typographic quotes also end a string.
fn quote_powershell(text: &str) -> String {
    let doubled = text.chars().flat_map(|c| {
        let is_quote = matches!(c, '\'' | '\u{2018}'..='\u{201b}');
        std::iter::repeat_n(c, if is_quote { 2 } else { 1 })
    });
    format!("'{}'", doubled.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_values_are_quoted() {
        assert_eq!(quote_value("http://127.0.0.1:4010"), "http://127.0.0.1:4010");
        assert_eq!(quote_value("sb_$HOME"), "'sb_$HOME'");
        assert_eq!(quote_value(r#"sb_it's "$HOME"\`"#), r#""sb_it's \"\$HOME\"\\\`""#);
        assert_eq!(quote_powershell("sb_it's ’$HOME"), "'sb_it''s ’’$HOME'");
    }

    #[test]
    fn a_line_sets_all_variables() {
        let variables = [("A", "1"), ("B", "$x")];
        assert_eq!(Shell::Posix.line(&variables), "export A=1 B='$x'");
        assert_eq!(Shell::PowerShell.line(&variables), "$env:A = '1'; $env:B = '$x'");
    }

    #[test]
    fn powershell_is_usual_on_windows_except_in_a_posix_shell() {
        let usual = |variables: &[(&str, &str)], windows| {
            Shell::named_or_detected(None, &Env::from_pairs(variables), windows)
        };
        assert_eq!((usual(&[], false), usual(&[], true)), (Shell::Posix, Shell::PowerShell));
        assert_eq!(usual(&[("MSYSTEM", "MINGW64")], true), Shell::Posix);
        assert_eq!(Shell::from_name(Some("powershell"), &Env::default()), Shell::PowerShell);
        assert_eq!(Shell::named_or_detected(Some("sh"), &Env::default(), true), Shell::Posix);
    }
}
