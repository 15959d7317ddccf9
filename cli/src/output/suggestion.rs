//! The commands that messages suggest. They get this command line's flags that select the account, so that they act on the same one.

use std::borrow::Cow;
use std::sync::OnceLock;

const PROGRAM: &str = "idempost ";

static ACCOUNT: OnceLock<Account> = OnceLock::new();

/// Flags, quoted for the shell, each followed by a space.
#[derive(Debug)]
pub(crate) struct Account {
    /// `--profile` and `--base-url`.
    pub(crate) service: String,
    /// `--api-key-file`, which `auth` commands don't use.
    pub(crate) key: String,
}

/// Sets the flags until the process exits.
pub(crate) fn set_account(account: Account) {
    // Set once: a process runs one command.
    let _ = ACCOUNT.set(account);
}

/// A message whose commands select this command's account. A command with flags of its own before its name stays as it is.
pub(crate) fn complete(text: &str) -> Cow<'_, str> {
    ACCOUNT.get().map_or(Cow::Borrowed(text), |account| account.complete(text))
}

impl Account {
    fn complete<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.service.is_empty() && self.key.is_empty() {
            return text.into();
        }
        let mut parts = text.split(PROGRAM);
        let mut completed = parts.next().unwrap_or_default().to_owned();
        for command in parts {
            completed += PROGRAM;
            // A new sandbox has its own account.
            let is_new = ["sandbox serve", "sandbox run"].iter().any(|start| command.starts_with(start));
            if command.starts_with(|c: char| c.is_ascii_lowercase()) && !is_new {
                completed += &self.service;
                completed += if command.starts_with("auth ") { "" } else { &self.key };
            }
            completed += command;
        }
        completed.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_commands_select_the_account() {
        let account =
            Account { service: "--profile work ".to_owned(), key: "--api-key-file 'my key' ".to_owned() };
        for (text, expected) in [
            ("log in: idempost auth login", "log in: idempost --profile work auth login"),
            (
                "idempost domains get d1, or idempost auth logout",
                "idempost --profile work --api-key-file 'my key' domains get d1, or idempost --profile work auth logout",
            ),
            ("idempost --profile NAME auth login", "idempost --profile NAME auth login"),
            ("start one: idempost sandbox serve", "start one: idempost sandbox serve"),
            ("allow `idempost` to use", "allow `idempost` to use"),
        ] {
            assert_eq!(account.complete(text), expected);
        }
        let none = Account { service: String::new(), key: String::new() };
        assert_eq!(none.complete("idempost auth login"), "idempost auth login");
    }
}
