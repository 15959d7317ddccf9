//! Reads every captured mail with a parser unrelated to the server's own, and compares it with
//! the requested email.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idempost_reference_server::{CapturedMail, RecordedRequest, Service};
use mailparse::{DispositionType, MailAddr, MailHeaderMap as _, ParsedMail};
use serde_json::Value;

/// Fails the test on drop if a mail didn't match its email.
pub(crate) struct IndependentParser(Arc<Mutex<Findings>>);

#[derive(Default)]
struct Findings {
    problems: Vec<String>,
    /// Keyed by email id, since a mail can be captured before its response or long after.
    mails: HashMap<String, CapturedMail>,
    emails: HashMap<String, Value>,
}

impl IndependentParser {
    /// Checks every mail this service captures from now on.
    pub(crate) fn for_service(service: &Service) -> Self {
        let findings = Arc::<Mutex<Findings>>::default();
        let ours = Arc::clone(&findings);
        service.on_captured(move |mail| {
            let mut findings = ours.lock().unwrap();
            let mut check = Check::new(mail);
            check.compare_mail(mail);
            if let Some(email) = findings.emails.remove(&mail.email_id) {
                check.compare_email(&email);
            } else {
                findings.mails.insert(mail.email_id.clone(), mail.clone());
            }
            findings.problems.extend(check.problems);
        });
        let ours = Arc::clone(&findings);
        service.on_request(move |request| {
            for (id, email) in emails(request) {
                let mut findings = ours.lock().unwrap();
                if let Some(mail) = findings.mails.remove(&id) {
                    let mut check = Check::new(&mail);
                    check.compare_email(&email);
                    findings.problems.extend(check.problems);
                } else {
                    findings.emails.insert(id, email);
                }
            }
        });
        Self(findings)
    }
}

impl Drop for IndependentParser {
    fn drop(&mut self) {
        let problems = std::mem::take(&mut self.0.lock().unwrap().problems);
        assert!(std::thread::panicking() || problems.is_empty(), "{}", problems.join("\n"));
    }
}

/// The emails a request created, by id.
fn emails(request: &RecordedRequest) -> Vec<(String, Value)> {
    let answer = serde_json::from_slice::<Value>(&request.answer_body).unwrap_or_default();
    let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
    let id = |value: &Value| value["id"].as_str().map(str::to_owned);
    if request.method != "POST" || !request.status.is_success() {
        return Vec::new();
    }
    match (request.path.as_str(), answer["data"].as_array(), body) {
        ("/emails", _, email) => id(&answer).map(|id| (id, email)).into_iter().collect(),
        // A permissive batch skips emails, and its response doesn't say which.
        ("/emails/batch", Some(ids), Value::Array(emails)) if ids.len() == emails.len() => {
            ids.iter().filter_map(id).zip(emails).collect()
        }
        _ => Vec::new(),
    }
}

struct Check<'a> {
    id: String,
    mime: &'a [u8],
    parsed: Option<ParsedMail<'a>>,
    problems: Vec<String>,
}

/// An attachment: name, content id and bytes.
type File = (String, Option<String>, Vec<u8>);

impl<'a> Check<'a> {
    fn new(mail: &'a CapturedMail) -> Self {
        let parsed = mailparse::parse_mail(&mail.mime);
        let problems =
            parsed.as_ref().err().map(|error| format!("{}: {error}", mail.id)).into_iter().collect();
        Self { id: mail.id.clone(), mime: &mail.mime, parsed: parsed.ok(), problems }
    }

    fn compare<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        if found != expected {
            self.problems.push(format!(
                "{}: {what} is {found:.300?} to the second parser and not {expected:.300?}",
                self.id
            ));
        }
    }

    /// Compares the mail with the service's own record of it.
    fn compare_mail(&mut self, mail: &CapturedMail) {
        self.check_lines();
        let Some(parsed) = self.parsed.take() else { return };
        self.compare("the subject", &first(&parsed, "Subject"), &Some(mail.subject.clone()));
        self.compare("From", &addresses(&parsed, "From"), &vec![mailbox(&mail.from)]);
        for (name, left_for) in [("To", &mail.to), ("Cc", &mail.cc)] {
            // Unreachable recipients are in the header, too.
            let mut found = addresses(&parsed, name);
            let expected: Vec<_> = left_for.iter().map(|one| mailbox(one)).collect();
            found.retain(|one| expected.contains(one));
            self.compare(name, &found, &expected);
        }
        self.compare("Bcc", &first(&parsed, "Bcc"), &None);
        for (kind, body) in [("text/plain", &mail.text), ("text/html", &mail.html)] {
            let found = body_text(&parsed, kind).map(|found| normalize_line_endings(&found));
            let expected = body
                .as_deref()
                .map(normalize_line_endings)
                .or((kind == "text/plain" && mail.html.is_none()).then(String::new));
            self.compare(kind, &found, &expected);
        }
        let mut found: Vec<_> =
            files(&parsed).into_iter().map(|(name, id, bytes)| (name, id, bytes.len())).collect();
        let mut expected: Vec<_> = mail
            .attachments
            .iter()
            .map(|one| (one.filename.clone(), one.content_id.clone(), one.size))
            .collect();
        found.sort();
        expected.sort();
        self.compare("the list of files", &found, &expected);
    }

    /// Compares the mail with those fields of the request that the record doesn't have.
    fn compare_email(&mut self, email: &Value) {
        let Some(parsed) = self.parsed.take() else { return };
        for (name, value) in email["headers"].as_object().into_iter().flatten() {
            let own =
                ["from", "to", "cc", "bcc", "subject", "date", "message-id", "mime-version", "return-path"];
            let name = name.as_str();
            if own.iter().any(|own| own.eq_ignore_ascii_case(name))
                || name.to_ascii_lowercase().starts_with("content-")
                || (name.eq_ignore_ascii_case("reply-to") && !email["reply_to"].is_null())
            {
                continue;
            }
            let Some(value) = value.as_str() else { continue };
            let decoded = parsed.headers.get_all_values(name);
            let raw = parsed.headers.get_all_headers(name);
            let raw = raw
                .into_iter()
                .map(|header| String::from_utf8_lossy(header.get_value_raw()).replace("\r\n", ""));
            let found: Vec<_> = decoded.into_iter().chain(raw).collect();
            if !found.iter().any(|found| found == value) {
                self.problems.push(format!("{}: {name} is {found:.300?} and not {value:.300?}", self.id));
            }
        }
        for address in strings(&email["reply_to"]).filter(|one| !one.trim().is_empty()) {
            let found = addresses(&parsed, "Reply-To").contains(&mailbox(address));
            self.compare(&format!("whether Reply-To has {address}"), &found, &true);
        }
        let found = files(&parsed);
        for attachment in email["attachments"].as_array().into_iter().flatten() {
            let Some(bytes) = attachment["content"].as_str().and_then(|base64| STANDARD.decode(base64).ok())
            else {
                continue;
            };
            let is_there = found.iter().any(|(_, _, found)| *found == bytes);
            self.compare("whether the bytes of an attachment are there", &is_there, &true);
        }
    }

    /// RFC 5322, 2.1.1 and 2.2: lines have at most 998 characters, end in CRLF, and fold only at existing white space.
    fn check_lines(&mut self) {
        let text = String::from_utf8_lossy(self.mime);
        let longest = text.split("\r\n").map(str::len).max().unwrap_or_default();
        self.compare("whether all lines are short enough", &(longest <= 998), &true);
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        let stray = head.replace("\r\n", "").contains(|char: char| char.is_ascii_control());
        self.compare("whether its headers have control characters", &stray, &false);
        let empty = head.split("\r\n").any(|line| line.trim().is_empty());
        self.compare("whether its headers have a line of white space", &empty, &false);
    }
}

fn first(parsed: &ParsedMail<'_>, name: &str) -> Option<String> {
    parsed.headers.get_first_value(name)
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter().filter_map(Value::as_str)
}

/// Display names and addresses of a header.
fn addresses(parsed: &ParsedMail<'_>, name: &str) -> Vec<(Option<String>, String)> {
    let Some(header) = parsed.headers.get_first_header(name) else { return Vec::new() };
    let list = mailparse::addrparse_header(header);
    let list = list.unwrap_or_else(|error| panic!("{name}: {error}: {}", header.get_value()));
    let singles = list.iter().flat_map(|one| match one {
        MailAddr::Single(single) => vec![single.clone()],
        MailAddr::Group(group) => group.addrs.clone(),
    });
    singles.map(|one| (trimmed_name(&one.display_name.unwrap_or_default()), one.addr)).collect()
}

/// Trims trailing spaces, which this parser removes from encoded names.
fn trimmed_name(name: &str) -> Option<String> {
    Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())
}

/// Splits a requested address: `email` or `Name <email>`.
fn mailbox(text: &str) -> (Option<String>, String) {
    let Some((name, address)) = text.trim().strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) else {
        return (None, text.trim().to_owned());
    };
    let name = name.trim();
    let name = match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => {
            let mut plain = String::new();
            let mut chars = quoted.chars();
            while let Some(char) = chars.next() {
                plain.extend(if char == '\\' { chars.next() } else { Some(char) });
            }
            plain
        }
        None => name.to_owned(),
    };
    (trimmed_name(&name), address.to_owned())
}

/// Normalizes line endings; the last one may belong to the boundary.
fn normalize_line_endings(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim_end_matches('\n').to_owned()
}

fn is_file(part: &ParsedMail<'_>) -> bool {
    part.get_content_disposition().disposition == DispositionType::Attachment
        || part.headers.get_first_header("Content-Disposition").is_some()
}

/// The leaf parts of a mail.
fn leaves<'a, 'b>(parsed: &'b ParsedMail<'a>) -> Vec<&'b ParsedMail<'a>> {
    if parsed.subparts.is_empty() {
        return vec![parsed];
    }
    parsed.subparts.iter().flat_map(leaves).collect()
}

fn body_text(parsed: &ParsedMail<'_>, kind: &str) -> Option<String> {
    let part = leaves(parsed).into_iter().find(|part| !is_file(part) && part.ctype.mimetype == kind)?;
    Some(part.get_body().unwrap())
}

fn files(parsed: &ParsedMail<'_>) -> Vec<File> {
    let files = leaves(parsed).into_iter().filter(|part| is_file(part)).map(|part| {
        let disposition = part.get_content_disposition();
        let name = disposition.params.get("filename").cloned().unwrap_or_default();
        let id = first(part, "Content-ID").map(|id| id.trim_matches(['<', '>']).to_owned());
        (name, id, part.get_body_raw().unwrap())
    });
    files.collect()
}
