//! The server's replies, with codes of RFC 5321 and enhanced codes of RFC 3463.

use std::borrow::Cow;

/// A single-line reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// The enhanced code and the text.
    pub(super) text: Cow<'static, str>,
}

const fn fixed(code: u16, text: &'static str) -> Reply {
    Reply { code, text: Cow::Borrowed(text) }
}

impl Reply {
    pub(super) const GREETING: Self = fixed(220, "localhost ESMTP idempost sandbox: mail ends here");
    pub(super) const BYE: Self = fixed(221, "2.0.0 Bye");
    pub(super) const START_TLS: Self = fixed(220, "2.0.0 Start TLS");
    pub(super) const MAY_SEND: Self = fixed(235, "2.7.0 Mail is now sent with this API key");
    pub(super) const MAY_RECEIVE: Self =
        fixed(235, "2.7.0 Mail is now received for the account of this API key");
    pub(super) const OK: Self = fixed(250, "2.0.0 OK");
    pub(super) const SENDER_OK: Self = fixed(250, "2.1.0 Sender OK");
    pub(super) const RECIPIENT_OK: Self = fixed(250, "2.1.5 Recipient OK");
    pub(super) const UNVERIFIED: Self = fixed(252, "2.5.0 Send a message to find out");
    pub(super) const HELP: Self = fixed(
        214,
        "2.0.0 EHLO HELO STARTTLS AUTH MAIL RCPT DATA RSET NOOP VRFY HELP QUIT; AUTH takes an API key as the password, \
         and the user resend to send or inbound to receive",
    );
    pub(super) const GO_AHEAD: Self = fixed(354, "End with a line that is a dot");
    pub(super) const CLOSING: Self = fixed(421, "4.3.2 The sandbox is being stopped");
    pub(super) const BUSY: Self = fixed(421, "4.7.0 Too many connections at a time");
    pub(super) const TIMEOUT: Self = fixed(421, "4.4.2 Timed out waiting for a command");
    pub(super) const NOT_HTTP: Self = fixed(421, "4.7.0 This is SMTP, not HTTP");
    pub(super) const TOO_MANY_REFUSALS: Self = fixed(421, "4.7.0 Too many rejected commands");
    pub(super) const FAILED: Self = fixed(451, "4.3.0 The message couldn't be read");
    pub(super) const TOO_MANY_RECIPIENTS: Self =
        fixed(452, "4.5.3 Too many recipients; send a separate message to the others");
    pub(super) const FULL: Self = fixed(452, "4.3.1 The sandbox cannot keep any more mail");
    pub(super) const MEMORY_IN_USE: Self = fixed(
        452,
        "4.3.1 The mails and requests in flight take all memory that they may use; try again later",
    );
    pub(super) const LINE_TOO_LONG: Self = fixed(500, "5.5.6 The command is longer than 4096 bytes");
    pub(super) const UNKNOWN: Self = fixed(500, "5.5.1 Unknown command");
    pub(super) const NOT_BASE64: Self = fixed(501, "5.5.2 Not a valid Base64 response for AUTH");
    pub(super) const CANCELED: Self = fixed(501, "5.7.0 AUTH was canceled");
    pub(super) const NOT_OFFERED: Self = fixed(502, "5.5.1 This command was not offered in response to EHLO");
    pub(super) const HELLO_FIRST: Self = fixed(503, "5.5.1 Send EHLO first");
    pub(super) const MAIL_FIRST: Self = fixed(503, "5.5.1 Send MAIL FROM first");
    pub(super) const RECIPIENT_FIRST: Self = fixed(503, "5.5.1 Send RCPT TO first");
    pub(super) const MAIL_IN_PROGRESS: Self =
        fixed(503, "5.5.1 A mail transaction is in progress; send RSET to cancel it");
    pub(super) const AUTHENTICATED_ALREADY: Self = fixed(503, "5.5.1 Already authenticated");
    pub(super) const MECHANISM: Self = fixed(504, "5.5.4 Only PLAIN and LOGIN are offered");
    pub(super) const AUTHENTICATE_FIRST: Self =
        fixed(530, "5.7.0 This sandbox has a password; authenticate with an API key that contains it");
    pub(super) const BAD_KEY: Self = fixed(
        535,
        "5.7.8 The password must be an API key, which begins with sb_ or re_; the user resend sends mail, the user inbound receives it",
    );
    pub(super) const TOO_LARGE: Self = fixed(552, "5.3.4 The message is larger than SIZE allows");
    pub(super) const BAD_ADDRESS: Self = fixed(553, "5.1.3 This is not a valid address");
    pub(super) const NEEDS_SMTPUTF8: Self =
        fixed(553, "5.6.7 An address beyond ASCII needs SMTPUTF8 on the MAIL command");
    pub(super) const BARE_LINE_END: Self =
        fixed(554, "5.6.0 A line of the mail ends in a bare CR or LF, where only CRLF ends lines");
    pub(super) const BAD_IDEMPOTENCY_KEY: Self =
        fixed(554, "5.6.0 Resend-Idempotency-Key must not hold control characters");
    pub(super) const NOT_A_MAIL: Self = fixed(554, "5.6.0 The mail is not a message with headers (RFC 5322)");
    pub(super) const PARAMETER: Self = fixed(555, "5.5.4 A parameter of this command is not supported");

    pub(super) fn new(code: u16, text: String) -> Self {
        Self { code, text: text.into() }
    }

    /// Returns the reply to an unparsable message, with the reason.
    pub(super) fn too_complex(reason: &str) -> Self {
        Self::new(554, format!("5.6.0 The mail {reason}"))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.code.to_string().as_bytes());
        out.push(b' ');
        // Text quoted from the client can't start a new line.
        out.extend(self.text.bytes().map(|byte| if byte.is_ascii_control() { b'?' } else { byte }));
        out.extend_from_slice(b"\r\n");
    }

    pub(super) fn is_refusal(&self) -> bool {
        self.code >= 500
    }
}
