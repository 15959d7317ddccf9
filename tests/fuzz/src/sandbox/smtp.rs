//! SMTP sessions: the first byte is the size of the chunks in which the rest arrives.

use bytes::Bytes;
use idempost_sandbox::smtp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::service::{KEY, Sandbox};
use crate::sdk::transport::block_on;

pub(crate) fn run(data: &[u8]) {
    let Some((chunk, session)) = data.split_first() else { return };
    let (replies, sandbox) = converse(session, session.len().max(1));
    check_replies(&replies);
    let received = mails(&sandbox);
    // A mail needs an end of data, which no other sequence of bytes is.
    let ends = session.windows(5).filter(|window| window == b"\r\n.\r\n").count();
    assert!(received.len() <= ends, "{} mails from {ends} ends of data", received.len());
    // What arrives together and what arrives in pieces is the same session.
    let (in_pieces, other) = converse(session, usize::from(*chunk).max(1));
    assert_eq!(String::from_utf8_lossy(&replies), String::from_utf8_lossy(&in_pieces));
    assert_eq!(received, mails(&other));

    // Any message passes unchanged through dot-stuffing.
    if session.len() < 4_096 {
        transparent(session);
    }
}

/// Sends this session in chunks, and returns the replies.
fn converse(session: &[u8], chunk: usize) -> (Vec<u8>, Sandbox) {
    let sandbox = Sandbox::new();
    let replies = block_on(async {
        let (client, server) = tokio::io::duplex(64 << 10);
        let (mut reader, mut writer) = tokio::io::split(client);
        let options = smtp::Options::new(KEY);
        let serving = smtp::serve_connection(server, sandbox.service.clone(), &options);
        let sending = async {
            for piece in session.chunks(chunk) {
                if writer.write_all(piece).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            // A client that has sent everything ends its side.
            let _ = writer.shutdown().await;
        };
        let mut replies = Vec::new();
        let reading = reader.read_to_end(&mut replies);
        let (_, (), _) = tokio::join!(serving, sending, reading);
        replies
    });
    (replies, sandbox)
}

/// Every line is a code, a separator and text (RFC 5321, 4.2).
fn check_replies(replies: &[u8]) {
    let text = std::str::from_utf8(replies).expect("replies are text");
    for line in text.split_inclusive('\n') {
        let line = line.strip_suffix("\r\n").unwrap_or_else(|| panic!("{line:?} has no end"));
        assert!(!line.chars().any(char::is_control), "{line:?} has control characters");
        assert!(line.len() <= 510, "{line:?} is too long");
        let bytes = line.as_bytes();
        let is_code = bytes.len() >= 3
            && bytes[..3].iter().all(u8::is_ascii_digit)
            && (b'2'..=b'5').contains(&bytes[0]);
        assert!(is_code && bytes.get(3).is_none_or(|next| b" -".contains(next)), "{line:?} is no reply");
    }
}

/// The raw messages that were received or captured, in order.
fn mails(sandbox: &Sandbox) -> Vec<Bytes> {
    let received = sandbox.json("/_/received?limit=100");
    let ids = received["data"].as_array().into_iter().flatten().filter_map(|mail| mail["id"].as_str());
    let mut mails: Vec<_> = ids.map(|id| sandbox.get(&format!("/_/received/{id}/download"))).collect();
    let captured = sandbox.service.mails(KEY);
    mails.extend(captured.iter().map(|mail| Bytes::from(mail.subject.clone())));
    mails
}

/// Sends these bytes as the body of a message, with stuffed dots, and compares it with the received one.
fn transparent(bytes: &[u8]) {
    // Lines end with CRLF, as SMTP requires; others are rejected.
    let lines: Vec<_> =
        bytes.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| line.len() <= 998).collect();
    let mut message = b"Subject: x\r\n\r\n".to_vec();
    let mut stuffed = message.clone();
    for line in lines {
        message.extend_from_slice(line);
        message.extend_from_slice(b"\r\n");
        if line.starts_with(b".") {
            stuffed.push(b'.');
        }
        stuffed.extend_from_slice(line);
        stuffed.extend_from_slice(b"\r\n");
    }
    let begin = b"EHLO me\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n";
    let session = [&begin[..], &stuffed, b".\r\nQUIT\r\n"].concat();
    let (replies, sandbox) = converse(&session, session.len());
    let received = mails(&sandbox);
    if replies.windows(14).any(|window| window == b"2.0.0 Received") {
        assert_eq!(received, [message], "the message was changed");
    } else {
        assert!(received.is_empty());
    }
}
