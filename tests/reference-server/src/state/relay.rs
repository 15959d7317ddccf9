//! The real SMTP server for forwarded and released mails, and the allowed recipients.
//!
//! Every mail that leaves is an [`Outgoing`], which only [`Relay::admit`] creates: from the recipients that the caller names and the allow list
//! admits, in the canonical form that was compared. The headers of a mail never add a recipient.

pub mod address;
pub mod allow_list;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

pub use self::allow_list::AllowList;

use self::address::Canonical;

type Sending = Pin<Box<dyn Future<Output = Result<String, RelayError>> + Send>>;

/// A real SMTP server, given to [`Service::set_relay`](crate::Service::set_relay).
pub struct Relay {
    server: String,
    forwards: bool,
    allow: AllowList,
    send: Box<dyn Fn(Outgoing) -> Sending + Send + Sync>,
}

/// An outgoing mail: without Bcc fields, and only to permitted recipients.
#[derive(Clone, Debug)]
pub struct Outgoing {
    sender: Option<String>,
    recipients: Vec<String>,
    message: Bytes,
}

/// The reason why the server didn't accept a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayError {
    /// The code of its reply; `None` without a reply.
    pub code: Option<u16>,
    /// The text of its reply, or the reason for having none.
    pub text: String,
}

impl std::fmt::Display for RelayError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code} {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// A skipped recipient of a mail, as given, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAdmitted {
    pub recipient: String,
    pub reason: &'static str,
}

impl Relay {
    /// Creates a server with this name, which must not contain credentials. `send` returns the server's reply; it fails if the server doesn't accept
    /// the mail for all of its recipients. With `forwards`, every captured mail is sent, otherwise only released ones.
    pub fn new<F>(
        server: impl Into<String>,
        forwards: bool,
        allow: AllowList,
        send: impl Fn(Outgoing) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, RelayError>> + Send + 'static,
    {
        Self { server: server.into(), forwards, allow, send: Box::new(move |mail| Box::pin(send(mail))) }
    }

    /// The URL of the server, without credentials.
    pub fn server(&self) -> &str {
        &self.server
    }

    #[doc(hidden)]
    pub fn is_forwarding(&self) -> bool {
        self.forwards
    }

    #[doc(hidden)]
    pub fn allow(&self) -> &AllowList {
        &self.allow
    }

    #[doc(hidden)]
    pub async fn send(&self, mail: Outgoing) -> Result<String, RelayError> {
        (self.send)(mail).await
    }

    /// The mail for the allowed recipients; `None` if there are none. Each recipient is one address, without a display name.
    #[doc(hidden)]
    pub fn admit<'a>(
        &self,
        sender: Option<&str>,
        recipients: impl IntoIterator<Item = &'a str>,
        message: &Bytes,
    ) -> (Option<Outgoing>, Vec<NotAdmitted>) {
        let (mut admitted, mut not_admitted) = (Vec::new(), Vec::new());
        for recipient in recipients {
            let found = Canonical::read(recipient).and_then(|address| {
                let is_allowed = self.allow.allows(&address);
                if is_allowed { Ok(address.to_string()) } else { Err("isn't allowed by --smtp-allow") }
            });
            match found {
                Ok(address) if admitted.contains(&address) => {}
                Ok(address) => admitted.push(address),
                Err(reason) => not_admitted.push(NotAdmitted { recipient: recipient.to_owned(), reason }),
            }
        }
        let outgoing = (!admitted.is_empty()).then(|| Outgoing {
            sender: sender.filter(|sender| !sender.is_empty()).map(str::to_owned),
            recipients: admitted,
            message: strip_bcc(message),
        });
        (outgoing, not_admitted)
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Outgoing {
    /// The envelope sender; `None` for the null reverse path.
    pub fn sender(&self) -> Option<&str> {
        self.sender.as_deref()
    }

    /// The envelope recipients: `local@domain`, in canonical form and each once.
    pub fn recipients(&self) -> &[String] {
        &self.recipients
    }

    /// The same mail for each recipient alone.
    pub fn by_recipient(&self) -> impl Iterator<Item = Self> {
        self.recipients.iter().map(|one| Self { recipients: vec![one.clone()], ..self.clone() })
    }

    /// The message (RFC 5322). Every line end is CRLF.
    pub fn message(&self) -> &Bytes {
        &self.message
    }
}

/// The message without Bcc fields, and with CRLF between lines: a bare CR or LF could end the message early for another server, which
/// would then read the rest as commands.
fn strip_bcc(message: &Bytes) -> Bytes {
    let text = with_line_ends(message);
    let mut kept = Vec::with_capacity(text.len());
    let mut is_bcc = false;
    let mut rest = &*text;
    while !rest.is_empty() && !rest.starts_with(b"\r\n") {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at(end);
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
            is_bcc = name.eq_ignore_ascii_case(b"bcc") || name.eq_ignore_ascii_case(b"resent-bcc");
        }
        if !is_bcc {
            kept.extend_from_slice(line);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    if kept == message[..] { message.clone() } else { kept.into() }
}

fn with_line_ends(text: &[u8]) -> Cow<'_, [u8]> {
    let mut before = 0;
    let is_clean = text.iter().all(|byte| {
        let is_paired = (*byte == b'\n') == (before == b'\r');
        before = *byte;
        is_paired
    });
    if is_clean && before != b'\r' {
        return Cow::Borrowed(text);
    }
    let mut lines = Vec::with_capacity(text.len() + text.len() / 32 + 2);
    let mut rest = text;
    while let Some(end) = memchr::memchr2(b'\r', b'\n', rest) {
        lines.extend_from_slice(&rest[..end]);
        lines.extend_from_slice(b"\r\n");
        rest = rest[end..].strip_prefix(b"\r\n").unwrap_or(&rest[end + 1..]);
    }
    lines.extend_from_slice(rest);
    Cow::Owned(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaned(message: &str) -> String {
        String::from_utf8(strip_bcc(&Bytes::copy_from_slice(message.as_bytes())).to_vec()).unwrap()
    }

    #[test]
    fn bcc_fields_are_removed_with_their_continuations() {
        for (message, expected) in [
            (
                "To: a@b.test\r\nBcc: c@d.test,\r\n e@f.test\r\n\tg@h.test\r\nSubject: x\r\n\r\nBcc: body\r\n",
                "To: a@b.test\r\nSubject: x\r\n\r\nBcc: body\r\n",
            ),
            ("bCC : c@d.test\r\nResent-BCC: e@f.test\r\nSubject: Bcc\r\n\r\n", "Subject: Bcc\r\n\r\n"),
            (
                "Subject: x\nBcc: c@d.test\n\nline\n.\nRCPT TO:<e@f.test>\n",
                "Subject: x\r\n\r\nline\r\n.\r\nRCPT TO:<e@f.test>\r\n",
            ),
            ("Subject: x\rBcc: c@d.test\r\rbody", "Subject: x\r\n\r\nbody"),
            ("Bcc: c@d.test", ""),
            ("Subject: none\r\n\r\nBcc: body\r\n", "Subject: none\r\n\r\nBcc: body\r\n"),
        ] {
            assert_eq!(cleaned(message), expected, "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bare_line_end_and_no_bcc_field_leaves(parts in prop::collection::vec(
            prop::sample::select(vec!["Bcc: x@evil.test", "To: a@b.test", "\r", "\n", "\r\n", " ", "\t", ".", "bcc", ":", "text", "ü"]), 0..40,
        )) {
            let left = cleaned(&parts.concat());
            let bytes = left.as_bytes();
            for (place, byte) in bytes.iter().enumerate() {
                prop_assert_eq!(*byte == b'\n', place > 0 && bytes[place - 1] == b'\r', "{:?}", left);
            }
            let head = left.split("\r\n\r\n").next().unwrap_or_default();
            prop_assert!(left.starts_with("\r\n") || !head.lines().any(|line| line.to_lowercase().starts_with("bcc:")), "{left:?}");
        }
    }
}
