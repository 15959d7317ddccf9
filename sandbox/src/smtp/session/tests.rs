//! Sessions without sockets, with input in chunks of every size.

use proptest::prelude::*;

use crate::smtp::session::*;
use idempost_reference_server::settings::Settings;

/// Sends this input in chunks of this size. Returns the replies and the messages.
fn run_session(words: &[u8], piece: usize, settings: Settings) -> (String, Vec<Vec<u8>>) {
    run_session_with(&Service::new(settings), words, piece)
}

fn run_session_with(service: &Arc<Service>, words: &[u8], piece: usize) -> (String, Vec<Vec<u8>>) {
    let mut session = Session::new(Arc::clone(service), "sb_local".into(), Security::Plain);
    let (mut input, mut out, mut mails) = (BytesMut::new(), Vec::new(), Vec::new());
    for piece in words.chunks(piece.max(1)) {
        input.extend_from_slice(piece);
        loop {
            match session.advance(&mut input, &mut out) {
                Step::Go | Step::Delay(_) => {}
                Step::Read => break,
                Step::Mail(mail) => {
                    mails.push(mail.raw.clone());
                    session.delivered(&mail.deliver().0, &mut out);
                }
                Step::StartTls => unreachable!("it is not offered"),
                Step::Stall | Step::Bye => return (String::from_utf8(out).unwrap(), mails),
            }
        }
    }
    (String::from_utf8(out).unwrap(), mails)
}

fn reply_codes(words: &str) -> Vec<String> {
    let (answers, _) = run_session(words.as_bytes(), 7, Settings::default());
    let last = |line: &&str| line.as_bytes().get(3) == Some(&b' ');
    answers.lines().filter(last).map(|line| line[..3].to_owned()).collect()
}

const BEGIN: &str = "EHLO me\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n";

#[test]
fn commands_out_of_order_get_503() {
    assert_eq!(reply_codes("MAIL FROM:<a@b.test>\r\n"), ["503"]);
    assert_eq!(reply_codes("AUTH PLAIN\r\n"), ["503"]);
    assert_eq!(reply_codes("EHLO me\r\nRCPT TO:<c@d.test>\r\nDATA\r\n"), ["250", "503", "503"]);
    let twice = "EHLO me\r\nMAIL FROM:<>\r\nMAIL FROM:<>\r\nDATA\r\nAUTH PLAIN\r\n";
    assert_eq!(reply_codes(twice), ["250", "250", "503", "503", "503"]);
    let again = "EHLO me\r\nMAIL FROM:<>\r\nRSET\r\nRCPT TO:<c@d.test>\r\nNOOP\r\nQUIT\r\nNOOP\r\n";
    assert_eq!(reply_codes(again), ["250", "250", "250", "503", "250", "221"]);
}

#[test]
fn unsupported_and_unknown_commands_get_different_codes() {
    let words = "EHLO me\r\nSTARTTLS\r\nBDAT 3 LAST\r\nEXPN all\r\nVRFY ada\r\nHELP\r\nWIZ\r\n\r\nMAIL FROM ada\r\n\
         MAIL FROM:<a@b.test> FUTURE=1\r\nMAIL FROM:<a@b.test> BODY=BINARYMIME\r\nMAIL FROM:<a@b.test> SIZE=99999999999\r\n";
    let expected = ["250", "502", "502", "502", "252", "214", "500", "500", "501", "555", "555", "552"];
    assert_eq!(reply_codes(words), expected);
}

#[test]
fn postmaster_needs_no_domain() {
    let words = "EHLO me\r\nMAIL FROM:<>\r\nRCPT TO:<>\r\nRCPT TO:<PostMaster>\r\nRCPT TO:<ada>\r\nDATA\r\nSubject: x\r\n\r\n.\r\n";
    assert_eq!(reply_codes(words), ["250", "250", "553", "250", "553", "354", "250"]);
}

#[test]
fn help_lists_starttls_only_if_it_is_offered() {
    let (answers, _) = run_session(b"HELP\r\n", 99, Settings::default());
    assert!(answers.starts_with("214 2.0.0 EHLO HELO AUTH MAIL "), "{answers}");
    assert!(Reply::help(true).text.contains("EHLO HELO STARTTLS AUTH"));
}

/// Returns all sequences of CR, LF and dot up to this length.
fn line_ends(longest: usize) -> Vec<Vec<u8>> {
    let (mut all, mut last) = (Vec::new(), vec![Vec::new()]);
    for _ in 0..longest {
        last = last.iter().flat_map(|text| b"\r\n.".map(|byte| [&text[..], &[byte]].concat())).collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn only_one_sequence_of_cr_lf_and_dot_ends_data() {
    const END: &[u8] = b"\r\n.\r\n";
    let service = Service::new(Settings::default());
    let find = |text: &[u8]| text.windows(END.len()).position(|window| window == END);
    for between in line_ends(7) {
        let second = "MAIL FROM:<a@b.test>\r\nRCPT TO:<evil@d.test>\r\nDATA\r\nSubject: two\r\n\r\n.\r\n";
        let first = [b"Subject: one\r\n\r\nbody", &between[..], second.as_bytes()].concat();
        let end = find(&first).unwrap();
        // The CRLF before the dot belongs to the last line.
        let text = &first[..end + 2];
        let is_clean = !has_bare_line_end(text);
        let ends_between = end < b"Subject: one\r\n\r\nbody".len() + between.len();
        // Anything left of the sequence after the end precedes the next command, and breaks its line unless it consists of complete lines.
        let gap =
            first.get(end + END.len()..b"Subject: one\r\n\r\nbody".len() + between.len()).unwrap_or_default();
        // (The grammar skips a CR before a command.)
        let before = gap.iter().rfind(|byte| **byte != b'\r');
        let next_is_a_command = before.is_none_or(|byte| *byte == b'\n');
        for piece in [1, 3, 10_000] {
            let words = [BEGIN.as_bytes(), &first[..]].concat();
            let (answers, mails) = run_session_with(&service, &words, piece);
            let after = answers.split_once("354 ").unwrap().1;
            let verdict = after.lines().nth(1).unwrap();
            assert_eq!(verdict.starts_with("250 "), is_clean, "{between:?}: {answers}");
            let accepted_second = after.contains("354 ");
            assert_eq!(accepted_second, ends_between && next_is_a_command, "{between:?}: {answers}");
            assert_eq!(
                mails.len(),
                usize::from(is_clean) + usize::from(accepted_second),
                "{between:?}: {answers}"
            );
            if is_clean {
                let unstuffed = String::from_utf8_lossy(text).replace("\r\n.", "\r\n");
                assert_eq!(String::from_utf8_lossy(&mails[0]), unstuffed, "{between:?}");
            }
        }
    }
}

#[test]
fn http_request_closes_the_session() {
    let mail = format!("{BEGIN}Subject: x\r\n\r\ninjected\r\n.\r\nQUIT\r\n");
    for head in [
        "POST / HTTP/1.1\r\nHost: localhost:2525\r\nContent-Type: text/plain\r\n\r\n",
        "GET /?x=1 HTTP/1.1\r\n\r\n",
        "PUT /x HTTP/1.0\r\n\r\n",
        "DELETE /x HTTP/1.1\r\n",
        "PATCH / HTTP/1.1\n",
        "OPTIONS * HTTP/1.1\r\n",
        "HEAD / HTTP/1.1\r\n",
        "TRACE / HTTP/1.1\r\n",
        "CONNECT a.test:25 HTTP/1.1\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "post / http/1.1\r\n",
        "BREW / HTTP/1.1\r\n",
        "POST /\r\n",
        "Host: localhost\r\n",
        "content-type: text/plain\r\n",
        "X-Own:1\r\n",
        "NOOP\r\nGET / HTTP/1.1\r\n",
        "EHLO me\r\nHost: localhost\r\n",
    ] {
        let words = format!("{head}{mail}");
        for piece in [1, 7, 10_000] {
            let (answers, mails) = run_session(words.as_bytes(), piece, Settings::default());
            assert!(mails.is_empty(), "{head}: {answers}");
            assert!(answers.ends_with("421 4.7.0 This is SMTP, not HTTP\r\n"), "{head}: {answers}");
            assert!(!answers.contains("354"), "{head}: {answers}");
        }
    }
    let long = format!("POST /{} HTTP/1.1\r\nHost: localhost\r\n\r\n{mail}", "a".repeat(9_000));
    let (answers, mails) = run_session(long.as_bytes(), 10_000, Settings::default());
    assert!(mails.is_empty() && answers.ends_with("421 4.7.0 This is SMTP, not HTTP\r\n"), "{answers}");
}

#[test]
fn smtp_commands_are_never_detected_as_http() {
    let words = "EHLO [127.0.0.1]\r\nMAIL FROM:<a:b@c.test>\r\nMAIL FROM:<host@d.test>\r\nRCPT TO:<a@b.test>\r\nVRFY get\r\nNOOP Host: x\r\nHELP post\r\nQUIT\r\n";
    assert!(!run_session(words.as_bytes(), 5, Settings::default()).0.contains("421"));
}

#[test]
fn empty_message_is_rejected() {
    assert_eq!(reply_codes(&format!("{BEGIN}.\r\nNOOP\r\n")), ["250", "250", "250", "354", "554", "250"]);
}

#[test]
fn message_over_the_limit_is_read_to_its_end_and_rejected() {
    let settings = || Settings { body_limit: 100, ..Settings::default() };
    let words = |long| format!("{BEGIN}Subject: x\r\n\r\n{}\r\n.\r\nNOOP\r\n", "a".repeat(long));
    // 14 bytes for the header, 2 for the line end.
    let (answers, mails) = run_session(words(84).as_bytes(), 9, settings());
    assert_eq!((mails.len(), answers.contains("552 ")), (1, false), "{answers}");
    for (long, piece) in [(85, 9), (85, 10_000), (5_000, 9)] {
        let (answers, mails) = run_session(words(long).as_bytes(), piece, settings());
        assert!(mails.is_empty());
        assert!(answers.contains("\r\n552 5.3.4 ") && answers.ends_with("250 2.0.0 OK\r\n"), "{answers}");
    }
}

#[test]
fn message_beyond_the_memory_limit_is_deferred() {
    let settings = Settings { keep_mail_bytes: 10, ..Settings::default() };
    let (answers, _) = run_session(format!("{BEGIN}Subject: x\r\n\r\n.\r\n").as_bytes(), 50, settings);
    assert!(answers.ends_with("452 4.3.1 The sandbox can't store any more mail\r\n"), "{answers}");
}

#[test]
fn too_long_line_gets_one_reply_and_is_skipped() {
    for long in [MAX_LINE_LENGTH, 3 * MAX_LINE_LENGTH] {
        let words = format!("NOOP {}\r\nNOOP\r\n", "a".repeat(long));
        for piece in [1, 100, 100_000] {
            let (answers, _) = run_session(words.as_bytes(), piece, Settings::default());
            assert_eq!(
                answers, "500 5.5.6 The command is longer than 4096 bytes\r\n250 2.0.0 OK\r\n",
                "{long} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn recipients_are_limited_and_non_ascii_addresses_need_smtputf8() {
    let mut words = "EHLO me\r\nMAIL FROM:<a@b.test>\r\n".to_owned();
    words += &"RCPT TO:<c@d.test>\r\n".repeat(MAX_RECIPIENTS + 1);
    assert_eq!(reply_codes(&words).last().map(String::as_str), Some("452"));
    assert_eq!(reply_codes("EHLO me\r\nMAIL FROM:<é@b.test>\r\n"), ["250", "553"]);
    assert_eq!(reply_codes("EHLO me\r\nMAIL FROM:<é@b.test> SMTPUTF8\r\n"), ["250", "250"]);
}

#[test]
fn client_is_disconnected_after_repeated_rejections() {
    let (answers, _) = run_session("WIZ\r\n".repeat(60).as_bytes(), 5, Settings::default());
    assert_eq!(answers.lines().count(), MAX_REJECTIONS + 2);
    assert!(answers.ends_with("421 4.7.0 Too many rejected commands\r\n"), "{answers}");
}

proptest! {
    #[test]
    fn arbitrary_input_gets_line_replies(
        words in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..80),
                prop::sample::select(vec![
                    "EHLO me\r\n", "MAIL FROM:<a@b.test>", "RCPT TO:<c@d.test>\r\n", " SIZE=18446744073709551616", "\r\n",
                    "DATA\r\n", ".\r\n", "\n", "\r", ".", "AUTH PLAIN\r\n", "AUTH LOGIN YQ==\r\n", "AHgAc2JfeA==\r\n",
                    "BDAT 99999999999999999999\r\n", "RSET\r\n", "RCPT TO:<@x,@y:\"q\\ q\"@d.test>\r\n", "MAIL FROM:<\u{0}@\u{e9}>",
                    " BY=99999999999;R MT-PRIORITY=9 HOLDFOR=1 AUTH=<> ENVID=+41\r\n", "Subject: x\r\n\r\n",
                ])
                .prop_map(|word| word.as_bytes().to_vec()),
            ],
            0..30,
        ),
        piece in 1_usize..200,
    ) {
        let settings = Settings { body_limit: 200, ..Settings::default() };
        let (answers, mails) = run_session(&words.concat(), piece, settings);
        for line in answers.split_terminator("\r\n") {
            prop_assert!(line.len() >= 4 && line.as_bytes()[..3].iter().all(u8::is_ascii_digit), "{line:?}");
            prop_assert!(!line.contains(['\r', '\n', '\0']), "{line:?}");
        }
        for mail in mails {
            prop_assert!(mail.len() <= 200 && !has_bare_line_end(&mail));
        }
    }
}
