//! Faults of the SMTP listener: the stage of a session that fails, and the reply.

use crate::wire::words;

words! {
    /// A stage of an SMTP session, with its name in a rule.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SmtpStage {
        /// The connection, before the greeting.
        Connect = "CONNECT",
        /// `EHLO` or `HELO`.
        Ehlo = "EHLO",
        /// `AUTH`.
        Auth = "AUTH",
        /// `MAIL FROM`.
        Mail = "MAIL",
        /// `RCPT TO`.
        Rcpt = "RCPT",
        /// The command `DATA`.
        Data = "DATA",
        /// The end of the message after `DATA`.
        EndOfData = "END-OF-DATA",
    }
}

impl SmtpStage {
    /// Whether the stage precedes `AUTH`, so that the session has no account yet.
    #[doc(hidden)]
    pub fn is_before_login(self) -> bool {
        matches!(self, Self::Connect | Self::Ehlo | Self::Auth)
    }

    /// The code of a fault without one: a temporary failure.
    pub fn default_code(self) -> u16 {
        match self {
            Self::Connect => 421,
            Self::Auth => 454,
            _ => 451,
        }
    }

    /// The enhanced status code (RFC 3463) and the text that servers send with this code at this stage.
    pub fn default_reply(self, code: u16) -> (&'static str, &'static str) {
        match (code, self) {
            (421, _) => ("4.3.2", "Service not available, closing the connection"),
            (450, Self::Rcpt) => ("4.2.1", "Mailbox temporarily unavailable"),
            (451, Self::Rcpt) => ("4.7.1", "Greylisted, try again later"),
            (451, _) => ("4.3.0", "Temporary failure, try again later"),
            (452, Self::Rcpt) => ("4.5.3", "Too many recipients"),
            (452, _) => ("4.3.1", "Insufficient system storage"),
            (454, Self::Auth) => ("4.7.0", "Temporary authentication failure"),
            (500, _) => ("5.5.2", "Syntax error, command not recognized"),
            (501 | 504 | 555, _) => ("5.5.4", "Parameter not accepted"),
            (502, _) => ("5.5.1", "Command not implemented"),
            (503, _) => ("5.5.1", "Bad sequence of commands"),
            (521, _) => ("5.3.2", "This host does not accept mail"),
            (530, _) => ("5.7.0", "Authentication required"),
            (534, _) => ("5.7.9", "Authentication mechanism is too weak"),
            (535, _) => ("5.7.8", "Authentication credentials invalid"),
            (550, Self::Rcpt) => ("5.1.1", "No such mailbox"),
            (551, Self::Rcpt) => ("5.1.6", "The mailbox has moved"),
            (552, Self::Rcpt) => ("5.2.2", "Mailbox full"),
            (552, _) => ("5.3.4", "Message too big"),
            (553, Self::Mail) => ("5.1.8", "Sender address rejected"),
            (553, _) => ("5.1.3", "Address not valid"),
            (550 | 554, Self::Connect) => ("5.7.1", "Connections from this address are refused"),
            (550 | 554, Self::Mail) => ("5.7.1", "Sender address rejected"),
            (550 | 554, Self::EndOfData) => ("5.7.1", "Message rejected as spam"),
            (554, _) => ("5.7.1", "Transaction failed"),
            (556, _) => ("5.1.10", "The domain does not accept mail"),
            (..500, _) => ("4.0.0", "Temporary failure"),
            _ => ("5.0.0", "Permanent failure"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_of_the_enhanced_status_code_is_that_of_the_reply() {
        for (_, stage) in SmtpStage::WORDS {
            assert_eq!(stage.default_code() / 100, 4);
            for code in 400..600_u16 {
                let (enhanced, text) = stage.default_reply(code);
                assert_eq!(enhanced.split('.').next(), Some(&*(code / 100).to_string()), "{stage:?} {code}");
                assert_eq!(enhanced.split('.').count(), 3);
                assert!(!text.is_empty());
            }
        }
    }
}
