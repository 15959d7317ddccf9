//! The credential from the command line or the environment; never a flag's value, which other users can see.

use std::io::{BufRead as _, Read as _};

use secrecy::SecretString;

use super::env::Env;
use super::value::{Credential, Setting, Source};
use crate::diagnostics::{Diagnostic, Origin};

type Make = fn(SecretString) -> Credential;

/// Longer than any API key.
const MAX_BYTES: u64 = 16 * 1024;

/// `--api-key-file`, then `IDEMPOST_API_KEY`, then `IDEMPOST_ACCESS_TOKEN`.
pub(crate) fn find(file: Option<&str>, env: &Env) -> Result<Option<Setting<Credential>>, Box<Diagnostic>> {
    if let Some(file) = file {
        let value = Credential::ApiKey(parse_key(read(file), &Origin::flag("--api-key-file", file))?);
        let source = if file == "-" { "standard input".to_owned() } else { file.to_owned() };
        return Ok(Some(Setting { value, source: Source::Given(source) }));
    }
    let variables: [(&str, Make); 2] =
        [("IDEMPOST_API_KEY", Credential::ApiKey), ("IDEMPOST_ACCESS_TOKEN", Credential::AccessToken)];
    for (name, make) in variables {
        if let Some(text) = env.raw(name) {
            let checked =
                text.to_str().ok_or("must be plain ASCII text").and_then(|text| check(text).map(|()| text));
            let invalid = |rule| {
                Diagnostic::new("credential", format!("the credential {rule}"), Some(Origin::env(name)))
            };
            let text = checked.map_err(invalid)?;
            return Ok(Some(Setting {
                value: make(SecretString::from(text)),
                source: Source::Env(name.to_owned()),
            }));
        }
    }
    Ok(None)
}

/// Reads an API key from standard input: everything, or one line from a terminal.
pub(crate) fn read_key(terminal: bool) -> Result<SecretString, Box<Diagnostic>> {
    parse_key(if terminal { read_line() } else { read("-") }, &Origin::flag("--with-token", "-"))
}

fn parse_key(text: std::io::Result<String>, origin: &Origin) -> Result<SecretString, Box<Diagnostic>> {
    let invalid = |rule| Diagnostic::new("credential", rule, Some(origin.clone()));
    let text = text.map_err(|error| invalid(format!("couldn't read the API key: {error}")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let key = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text);
    check(key).map_err(|rule| invalid(format!("the API key {rule}")))?;
    Ok(SecretString::from(key))
}

fn read_line() -> std::io::Result<String> {
    let mut line = String::new();
    std::io::BufReader::new(std::io::stdin().lock().take(MAX_BYTES)).read_line(&mut line)?;
    Ok(line)
}

fn read(file: &str) -> std::io::Result<String> {
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(file)?.take(MAX_BYTES).read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Validates a credential; the error doesn't contain it.
fn check(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        Err("is empty")
    } else if text.len() as u64 >= MAX_BYTES {
        // Only this much is read.
        Err("is too long")
    } else if text.contains(['\n', '\r']) {
        Err("must be one line")
    } else if text.contains(|c: char| c.is_whitespace()) {
        Err("must not contain a space")
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Err("must be plain ASCII text")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn of_file(text: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, text).unwrap();
        let env = Env::from_pairs(&[("IDEMPOST_API_KEY", "sb_other")]);
        match find(path.to_str(), &env) {
            Ok(Some(Setting { value: Credential::ApiKey(key), .. })) => Ok(key.expose_secret().to_owned()),
            Ok(other) => panic!("{other:?}"),
            Err(found) => Err(found.problem.message),
        }
    }

    #[test]
    fn a_byte_order_mark_and_a_trailing_line_ending_are_not_part_of_the_key() {
        //
        assert_eq!(of_file("sb_test\n"), Ok("sb_test".to_owned()));
        assert_eq!(of_file("sb_test\r\n"), Ok("sb_test".to_owned()));
        assert_eq!(of_file("\u{feff}sb_test\r\n"), Ok("sb_test".to_owned()));
        assert_eq!(of_file("sb_test\n\n"), Err("the API key must be one line".to_owned()));
    }

    #[test]
    fn an_invalid_key_is_refused_without_being_repeated() {
        //
        let long = "sb_secret".repeat(4_000);
        for wrong in ["", "sb secret", "sb_secret\u{0}", "sb_secrét", "sb_secret\nx", &long] {
            let message = of_file(wrong).unwrap_err();
            assert!(!message.contains("secr"), "{message}");
        }
    }

    #[test]
    fn the_key_precedes_the_token_and_neither_is_shown() {
        //
        let env =
            Env::from_pairs(&[("IDEMPOST_API_KEY", "sb_hidden"), ("IDEMPOST_ACCESS_TOKEN", "token_hidden")]);
        let found = find(None, &env).unwrap().unwrap();
        assert!(matches!(found.value, Credential::ApiKey(_)));
        assert!(!format!("{found:?}").contains("hidden"));
        let env = Env::from_pairs(&[("IDEMPOST_API_KEY", ""), ("IDEMPOST_ACCESS_TOKEN", "token_hidden")]);
        assert!(matches!(find(None, &env).unwrap().unwrap().value, Credential::AccessToken(_)));
        assert!(find(None, &Env::default()).unwrap().is_none());
    }
}
