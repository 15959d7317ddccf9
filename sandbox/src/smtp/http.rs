//! Detects HTTP requests among the commands.
//!
//! A web page can make a browser send an HTTP request to any port of this machine, and the body of a `POST` can contain SMTP commands. The connection
//! is therefore closed at the first line of a request, as in Postfix (`smtpd_forbidden_commands`).

/// The methods of browsers and proxies (RFC 9110, RFC 5789), and the preface of HTTP/2. None is an SMTP command.
const METHODS: [&[u8]; 10] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH", b"PRI"];

/// Returns whether this is an HTTP request line or header. It can't be an SMTP command, whose first word contains no colon.
pub(super) fn is_part_of_a_request(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let mut words = line.split(u8::is_ascii_whitespace);
    let first = words.next().unwrap_or_default();
    let last = words.next_back().unwrap_or_default();
    let is_method = METHODS.iter().any(|method| method.eq_ignore_ascii_case(first));
    let is_version = last.len() >= 5 && last[..5].eq_ignore_ascii_case(b"HTTP/");
    let name = first.split(|byte| *byte == b':').next().unwrap_or_default();
    let is_header = name.len() < first.len()
        && !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    is_method || is_version || is_header
}
