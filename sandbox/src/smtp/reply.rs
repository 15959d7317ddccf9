//! The server's replies, with codes of RFC 5321 and enhanced codes of RFC 3463.

use std::borrow::Cow;

/// A single-line reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// The enhanced code and the text.
    pub(super) text: Cow<'static, str>,
}

macro_rules! replies {
    ($($name:ident $code:literal $text:literal;)*) => {
        impl Reply {
            $(pub(super) const $name: Self = Self { code: $code, text: Cow::Borrowed($text) };)*
        }
    };
}

replies! {
    GREETING 220 "localhost ESMTP idempost sandbox: mail ends here";
    BYE 221 "2.0.0 Bye";
    START_TLS 220 "2.0.0 Start TLS";
    MAY_SEND 235 "2.7.0 Mail is now sent with this API key";
    MAY_RECEIVE 235 "2.7.0 Mail is now received for the account of this API key";
    OK 250 "2.0.0 OK";
    SENDER_OK 250 "2.1.0 Sender OK";
    RECIPIENT_OK 250 "2.1.5 Recipient OK";
    UNVERIFIED 252 "2.5.0 Can't verify the address; send a message to find out";
    GO_AHEAD 354 "Start mail input; end with <CRLF>.<CRLF>";
    CLOSING 421 "4.3.2 The sandbox is being stopped";
    BUSY 421 "4.7.0 Too many simultaneous connections";
    TIMEOUT 421 "4.4.2 Timed out waiting for a command";
    NOT_HTTP 421 "4.7.0 This is SMTP, not HTTP";
    TOO_MANY_REJECTIONS 421 "4.7.0 Too many rejected commands";
    FAILED 451 "4.3.0 The message couldn't be read";
    TOO_MANY_RECIPIENTS 452 "4.5.3 Too many recipients; send a separate message to the others";
    FULL 452 "4.3.1 The sandbox can't store any more mail";
    MEMORY_IN_USE 452 "4.3.1 Messages and requests in flight use all available memory; try again later";
    LINE_TOO_LONG 500 "5.5.6 The command is longer than 4096 bytes";
    UNKNOWN 500 "5.5.1 Unknown command";
    NOT_BASE64 501 "5.5.2 Not a valid Base64 response for AUTH";
    CANCELED 501 "5.7.0 AUTH was canceled";
    NOT_OFFERED 502 "5.5.1 This command was not offered in response to EHLO";
    HELLO_FIRST 503 "5.5.1 Send EHLO first";
    MAIL_FIRST 503 "5.5.1 Send MAIL FROM first";
    RECIPIENT_FIRST 503 "5.5.1 Send RCPT TO first";
    MAIL_IN_PROGRESS 503 "5.5.1 A mail transaction is in progress; send RSET to cancel it";
    AUTHENTICATED_ALREADY 503 "5.5.1 Already authenticated";
    MECHANISM 504 "5.5.4 Only PLAIN and LOGIN are offered";
    AUTHENTICATE_FIRST 530 "5.7.0 This sandbox has a password; authenticate with an API key that contains it";
    BAD_KEY 535 "5.7.8 The password must be an API key, which begins with sb_ or re_; the user resend sends mail, the user inbound receives it";
    UNKNOWN_KEY 535 "5.7.8 The API key was deleted, or it doesn't contain the password of this sandbox (sb_ and the password)";
    NEEDS_FULL_ACCESS 535 "5.7.8 The user inbound requires an API key with full access";
    TOO_LARGE 552 "5.3.4 The message exceeds the maximum SIZE";
    BAD_ADDRESS 553 "5.1.3 This is not a valid address";
    NEEDS_SMTPUTF8 553 "5.6.7 A non-ASCII address requires SMTPUTF8 on the MAIL command";
    BARE_LINE_END 554 "5.6.0 The message contains a bare CR or LF; lines must end with CRLF";
    BAD_IDEMPOTENCY_KEY 554 "5.6.0 Resend-Idempotency-Key must not contain control characters";
    INVALID_MESSAGE 554 "5.6.0 The mail isn't a message with headers (RFC 5322)";
    PARAMETER 555 "5.5.4 A parameter of this command is not supported";
}

impl Reply {
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
