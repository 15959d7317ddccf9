//! `AUTH PLAIN` (RFC 4616) and `AUTH LOGIN`: the password is an API key, and the user selects its purpose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smtp_proto::{AUTH_LOGIN, AUTH_PLAIN};

/// The next expected input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Login {
    Plain,
    UserName,
    /// The password; the user name has been received.
    Password(String),
}

/// The result of processing a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoginStep {
    /// Send this Base64-encoded prompt, and expect this input.
    Ask(&'static str, Login),
    /// User name and password were received.
    Complete {
        user: String,
        password: String,
    },
    Garbled,
    Unknown,
}

const USER_NAME: &str = "VXNlcm5hbWU6";
const PASSWORD: &str = "UGFzc3dvcmQ6";

impl Login {
    /// Starts `AUTH`, possibly with an initial response.
    pub(super) fn begin(mechanism: u64, first: &str) -> LoginStep {
        match (mechanism, first) {
            (AUTH_PLAIN, "") => LoginStep::Ask("", Self::Plain),
            (AUTH_PLAIN, first) => Self::Plain.process_response(first.as_bytes()),
            (AUTH_LOGIN, "") => LoginStep::Ask(USER_NAME, Self::UserName),
            (AUTH_LOGIN, first) => Self::UserName.process_response(first.as_bytes()),
            _ => LoginStep::Unknown,
        }
    }

    /// Processes the client's response to a prompt.
    pub(super) fn process_response(self, line: &[u8]) -> LoginStep {
        // `=` stands for an empty initial response (RFC 4954, 4).
        let bytes = if line == b"=" { Ok(Vec::new()) } else { STANDARD.decode(line.trim_ascii()) };
        let Some(text) = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return LoginStep::Garbled;
        };
        match self {
            // Authorization identity, user name, password; separated by NUL.
            Self::Plain => match text.splitn(3, '\0').collect::<Vec<_>>().as_slice() {
                [_, user, password] => {
                    LoginStep::Complete { user: (*user).to_owned(), password: (*password).to_owned() }
                }
                _ => LoginStep::Garbled,
            },
            Self::UserName => LoginStep::Ask(PASSWORD, Self::Password(text)),
            Self::Password(user) => LoginStep::Complete { user, password: text },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(user: &str, password: &str) -> LoginStep {
        LoginStep::Complete { user: user.into(), password: password.into() }
    }

    #[test]
    fn auth_plain_works_with_and_without_an_initial_response() {
        let answer = STANDARD.encode("\0anybody\0sb_mine");
        assert_eq!(Login::begin(AUTH_PLAIN, &answer), complete("anybody", "sb_mine"));
        assert_eq!(Login::begin(AUTH_PLAIN, ""), LoginStep::Ask("", Login::Plain));
        assert_eq!(Login::Plain.process_response(answer.as_bytes()), complete("anybody", "sb_mine"));
        assert_eq!(Login::begin(AUTH_PLAIN, "="), LoginStep::Garbled);
        assert_eq!(Login::Plain.process_response(b"sb_mine"), LoginStep::Garbled);
    }

    #[test]
    fn auth_login_prompts_for_user_name_and_password() {
        assert_eq!(Login::begin(AUTH_LOGIN, ""), LoginStep::Ask("VXNlcm5hbWU6", Login::UserName));
        assert_eq!(
            Login::begin(AUTH_LOGIN, "YQ=="),
            LoginStep::Ask("UGFzc3dvcmQ6", Login::Password("a".into()))
        );
        let answer = STANDARD.encode("sb_mine");
        assert_eq!(Login::Password("a".into()).process_response(answer.as_bytes()), complete("a", "sb_mine"));
        assert_eq!(STANDARD.decode(USER_NAME).unwrap(), b"Username:");
        assert_eq!(STANDARD.decode(PASSWORD).unwrap(), b"Password:");
    }

    #[test]
    fn other_mechanisms_are_rejected() {
        assert_eq!(Login::begin(smtp_proto::AUTH_CRAM_MD5, ""), LoginStep::Unknown);
    }
}
