//! The command that safely repeats a request of unknown outcome: the same one, with the request's idempotency key.

use std::ffi::OsString;

use idempost::Outcome;

use super::dry_run::quote;
use crate::diagnostics::{Fail, NextStep, Operation};
use crate::input::source;
use crate::literal;
use crate::output::terminal::is_hostile;

/// How a command takes an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFlag {
    /// `--idempotency-key`.
    Own,
    /// With `-H`, like any other header.
    Header,
}

/// The repeatable part of the command line.
#[derive(Debug)]
pub(crate) struct Repeat {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) key_flag: KeyFlag,
    /// Whether the API key comes from standard input.
    pub(crate) key_from_stdin: bool,
}

impl Repeat {
    /// The step after a failure, if its request may have been executed and had an idempotency key.
    pub(crate) fn next(&self, fail: &Fail, in_flight: Option<&Operation>) -> Option<NextStep> {
        let (outcome, key) = if let Some(operation) = in_flight {
            (operation.outcome, operation.idempotency_key.as_deref()?)
        } else {
            let error = fail.sdk()?;
            let unread = matches!(fail, Fail::UnknownOutcome { .. });
            let outcome = if unread { Outcome::Unknown } else { error.outcome() };
            (outcome, error.idempotency_key()?.as_str())
        };
        // A tool's arguments aren't shell words, and an edited body isn't an argument.
        if outcome != Outcome::Unknown
            || literal::is_enabled()
            || self.arguments.iter().any(|one| one == "--edit")
        {
            return None;
        }
        let when = "to repeat the request safely within 24 hours";
        let stdin = self.key_from_stdin || source::has_read_stdin();
        let when = if stdin { format!("{when}, with the same standard input") } else { when.to_owned() };
        Some(NextStep { command: self.with_key(key)?, when })
    }

    /// The command line with the key; `None` if an argument isn't Unicode.
    fn with_key(&self, key: &str) -> Option<String> {
        let arguments: Option<Vec<_>> = self.arguments.iter().skip(1).map(|one| one.to_str()).collect();
        let mut words: Vec<_> = arguments?.into_iter().map(quote_argument).collect();
        if !words.iter().any(|word| word.contains(key)) {
            let flag = match self.key_flag {
                KeyFlag::Own => ["--idempotency-key".to_owned(), quote_argument(key)],
                KeyFlag::Header => ["-H".to_owned(), quote_argument(&format!("Idempotency-Key: {key}"))],
            };
            let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
            words.splice(end..end, flag);
        }
        Some(format!("idempost {}", words.join(" ")))
    }
}

/// Quotes an argument for the shell if necessary.
pub(crate) fn quote_argument(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if cfg!(windows) {
        // PowerShell.
        format!("'{}'", text.replace('\'', "''"))
    } else if text.contains(|c| is_hostile(c) && c != '\n' && c != '\t') {
        // POSIX.1-2024; dash can't read it.
        let mut quoted = "$'".to_owned();
        for c in text.chars() {
            match c {
                '\n' => quoted += "\\n",
                '\\' | '\'' => quoted.extend(['\\', c]),
                c if is_hostile(c) => {
                    let mut bytes = [0; 4];
                    quoted.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")));
                }
                c => quoted.push(c),
            }
        }
        quoted + "'"
    } else {
        quote(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::terminal::safe_lines;

    fn repeated(arguments: &[&str], key_flag: KeyFlag) -> String {
        let arguments = arguments.iter().map(Into::into).collect();
        Repeat { arguments, key_flag, key_from_stdin: false }.with_key("order-17").unwrap()
    }

    #[test]
    fn the_key_is_added_before_positional_arguments_unless_it_is_given() {
        use KeyFlag::{Header, Own};
        for (arguments, flag, expected) in [
            (&["x", "emails", "batch", "a.json"][..], Own, "emails batch a.json --idempotency-key order-17"),
            (&["x", "emails", "batch", "--", "-a"], Own, "emails batch --idempotency-key order-17 -- -a"),
            (&["x", "send", "--idempotency-key=order-17"], Own, "send --idempotency-key=order-17"),
            (&["x", "api", "POST", "/emails"], Header, "api POST /emails -H 'Idempotency-Key: order-17'"),
        ] {
            assert_eq!(repeated(arguments, flag), format!("idempost {expected}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        for text in
            ["", "a b", "it's $HOME `x` !", "two\nlines\\n", "tab\tand\u{202e}bell\u{7}1", "ä*?", "a&b;c|d"]
        {
            let printed = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {}", quote_argument(text))])
                .output();
            assert_eq!(String::from_utf8(printed.unwrap().stdout).unwrap(), text);
            assert_eq!(safe_lines(&quote_argument(text)), quote_argument(text));
        }
    }
}
