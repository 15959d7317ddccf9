//! The server's replies, with codes of RFC 5321 and enhanced codes of RFC 3463.

use std::borrow::Cow;

/// A single-line reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// The enhanced code and the text.
    pub(super) text: Cow<'static, str>,
}

const fn static_reply(code: u16, text: &'static str) -> Reply {
    Reply { code, text: Cow::Borrowed(text) }
}

impl Reply {
    pub(super) const GREETING: Self = static_reply(220, "localhost ESMTP idempost sandbox: mail ends here");
    pub(super) const BYE: Self = static_reply(221, "2.0.0 Bye");
    pub(super) const START_TLS: Self = static_reply(220, "2.0.0 Start TLS");
    pub(super) const MAY_SEND: Self = static_reply(235, "2.7.0 Mail is now sent with this API key");
    pub(super) const MAY_RECEIVE: Self =
        static_reply(235, "2.7.0 Mail is now received for the account of this API key");
    pub(super) const OK: Self = static_reply(250, "2.0.0 OK");
    pub(super) const SENDER_OK: Self = static_reply(250, "2.1.0 Sender OK");
    pub(super) const RECIPIENT_OK: Self = static_reply(250, "2.1.5 Recipient OK");
    pub(super) const UNVERIFIED: Self =
        static_reply(252, "2.5.0 Can't verify the address; send a message to find out");
    pub(super) const GO_AHEAD: Self = static_reply(354, "Start mail input; end with <CRLF>.<CRLF>");
    pub(super) const CLOSING: Self = static_reply(421, "4.3.2 The sandbox is being stopped");
    pub(super) const BUSY: Self = static_reply(421, "4.7.0 Too many simultaneous connections");
    pub(super) const TIMEOUT: Self = static_reply(421, "4.4.2 Timed out waiting for a command");
    pub(super) const NOT_HTTP: Self = static_reply(421, "4.7.0 This is SMTP, not HTTP");
    pub(super) const TOO_MANY_REJECTIONS: Self = static_reply(421, "4.7.0 Too many rejected commands");
    pub(super) const FAILED: Self = static_reply(451, "4.3.0 The message couldn't be read");
    pub(super) const TOO_MANY_RECIPIENTS: Self =
        static_reply(452, "4.5.3 Too many recipients; send a separate message to the others");
    pub(super) const FULL: Self = static_reply(452, "4.3.1 The sandbox can't store any more mail");
    pub(super) const MEMORY_IN_USE: Self =
        static_reply(452, "4.3.1 Messages and requests in flight use all available memory; try again later");
    pub(super) const LINE_TOO_LONG: Self = static_reply(500, "5.5.6 The command is longer than 4096 bytes");
    pub(super) const UNKNOWN: Self = static_reply(500, "5.5.1 Unknown command");
    pub(super) const NOT_BASE64: Self = static_reply(501, "5.5.2 Not a valid Base64 response for AUTH");
    pub(super) const CANCELED: Self = static_reply(501, "5.7.0 AUTH was canceled");
    pub(super) const NOT_OFFERED: Self =
        static_reply(502, "5.5.1 This command was not offered in response to EHLO");
    pub(super) const HELLO_FIRST: Self = static_reply(503, "5.5.1 Send EHLO first");
    pub(super) const MAIL_FIRST: Self = static_reply(503, "5.5.1 Send MAIL FROM first");
    pub(super) const RECIPIENT_FIRST: Self = static_reply(503, "5.5.1 Send RCPT TO first");
    pub(super) const MAIL_IN_PROGRESS: Self =
        static_reply(503, "5.5.1 A mail transaction is in progress; send RSET to cancel it");
    pub(super) const AUTHENTICATED_ALREADY: Self = static_reply(503, "5.5.1 Already authenticated");
    pub(super) const MECHANISM: Self = static_reply(504, "5.5.4 Only PLAIN and LOGIN are offered");
    pub(super) const AUTHENTICATE_FIRST: Self =
        static_reply(530, "5.7.0 This sandbox has a password; authenticate with an API key that contains it");
    pub(super) const BAD_KEY: Self = static_reply(
        535,
        "5.7.8 The password must be an API key, which begins with sb_ or re_; the user resend sends mail, the user inbound receives it",
    );
    pub(super) const UNKNOWN_KEY: Self = static_reply(
        535,
        "5.7.8 The API key was deleted, or it doesn't contain the password of this sandbox (sb_ and the password)",
    );
    pub(super) const NEEDS_FULL_ACCESS: Self =
        static_reply(535, "5.7.8 The user inbound requires an API key with full access");
    pub(super) const TOO_LARGE: Self = static_reply(552, "5.3.4 The message exceeds the maximum SIZE");
    pub(super) const BAD_ADDRESS: Self = static_reply(553, "5.1.3 This is not a valid address");
    pub(super) const NEEDS_SMTPUTF8: Self =
        static_reply(553, "5.6.7 A non-ASCII address requires SMTPUTF8 on the MAIL command");
    pub(super) const BARE_LINE_END: Self =
        static_reply(554, "5.6.0 The message contains a bare CR or LF; lines must end with CRLF");
    pub(super) const BAD_IDEMPOTENCY_KEY: Self =
        static_reply(554, "5.6.0 Resend-Idempotency-Key must not contain control characters");
    pub(super) const INVALID_MESSAGE: Self =
        static_reply(554, "5.6.0 The mail isn't a message with headers (RFC 5322)");
    pub(super) const PARAMETER: Self =
        static_reply(555, "5.5.4 A parameter of this command is not supported");

    /// Returns the list of commands.
    pub(super) fn help(offers_start_tls: bool) -> Self {
        let start_tls = if offers_start_tls { " STARTTLS" } else { "" };
        let text = format!(
            "2.0.0 EHLO HELO{start_tls} AUTH MAIL RCPT DATA RSET NOOP VRFY HELP QUIT; AUTH takes an API key as the password, \
             and the user resend to send or inbound to receive"
        );
        Self::new(214, text)
    }

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

    pub(super) fn is_rejection(&self) -> bool {
        self.code >= 500
    }
}
