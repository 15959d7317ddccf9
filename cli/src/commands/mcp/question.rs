//! The confirmation of a change: its sender, all recipients and the content.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Host;

use super::Access;
use super::tools::Tool;
use crate::output::terminal::is_hostile;

/// The maximum number of characters of a question. A longer question is rejected, since an omitted part could matter.
const MAX_QUESTION: usize = 8_000;
/// The number of characters shown of a body.
const MAX_BODY: usize = 200;
/// Body fields; all others are shown completely.
const BODIES: [&str; 2] = ["html", "text"];

/// Returns the question about a request, or why it can't be asked.
pub(super) fn build_question(tool: &Tool, request: &Value) -> Result<String, String> {
    let mut request = request.get("dry_run").unwrap_or(request).clone();
    let mut lines = vec![format!("Run `idempost {}`?", tool.command), String::new()];
    let email = &request["body"];
    lines.extend(email["from"].as_str().map(|from| format!("From: {}", bare_address(from))));
    let mut domains = BTreeMap::<String, usize>::new();
    for (name, field) in [("To", "to"), ("Cc", "cc"), ("Bcc", "bcc")] {
        let addresses: Vec<_> = match &email[field] {
            Value::String(one) => vec![bare_address(one)],
            Value::Array(all) => {
                all.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), bare_address)).collect()
            }
            _ => continue,
        };
        for address in &addresses {
            let domain = address.rsplit_once('@').map_or(address.as_str(), |(_, domain)| domain);
            *domains.entry(domain.to_owned()).or_default() += 1;
        }
        lines.push(format!("{name} ({}): {}", addresses.len(), addresses.join(", ")));
    }
    lines.extend(email["subject"].as_str().map(|subject| format!("Subject: {subject}")));
    let counts: Vec<_> = domains.iter().map(|(domain, count)| format!("{count} at {domain}")).collect();
    if !counts.is_empty() {
        lines.extend([format!("Recipients: {}", counts.join(", ")), String::new()]);
    } else if tool.access == Access::Send {
        // The service knows those of a reply, a draft and a broadcast.
        lines.extend(["Recipients: not part of this request".to_owned(), String::new()]);
    }
    if let Some(body) = request.get_mut("body") {
        shorten(body);
    }
    let json = serde_json::to_string_pretty(&request).unwrap_or_default();
    // Escape lines before joining: a subject can contain line breaks.
    let lines = lines.iter().map(String::as_str).chain(json.split('\n')).map(escape_invisible);
    let text = lines.collect::<Vec<_>>().join("\n");
    match text.chars().count() {
        length if length > MAX_QUESTION => Err(format!(
            "the request is too long to show to the user ({length} characters; the limit is {MAX_QUESTION}), so it can't be confirmed; \
             nothing was done. Shorten it, for example with fewer recipients"
        )),
        _ => Ok(text),
    }
}

/// The address without its display name, which can look like another address. An internationalized domain is shown in its ASCII form.
fn bare_address(address: &str) -> String {
    let address = address.trim();
    let address = address
        .strip_suffix('>')
        .and_then(|named| named.rsplit_once('<'))
        .map_or(address, |(_, address)| address);
    match address.rsplit_once('@').map(|(local, domain)| (local, Host::parse(domain))) {
        Some((local, Ok(host))) => format!("{local}@{host}"),
        _ => address.to_owned(),
    }
}

/// Escapes characters in a line that reorder, hide or break it, and in runs of spaces, which push text out of sight.
fn escape_invisible(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut spaces = 0;
    let indent = line.len() - line.trim_start_matches(' ').len();
    for (at, c) in line.char_indices() {
        let is_invisible = c.is_whitespace()
            || matches!(
                c,
                '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{2800}' | '\u{3164}' | '\u{FEFF}'
            );
        spaces = if is_invisible && at >= indent { spaces + 1 } else { 0 };
        if is_hostile(c) || is_invisible && (c != ' ' || spaces > 2) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Truncates the bodies of an email, or of each email of a batch, and states their lengths. Members of the same name elsewhere, such as a header
/// `text`, are shown completely.
fn shorten(body: &mut Value) {
    if let Value::Array(emails) = body {
        return emails.iter_mut().for_each(shorten);
    }
    for name in BODIES {
        if let Some(Value::String(text)) = body.get_mut(name)
            && let Some((end, _)) = text.char_indices().nth(MAX_BODY)
        {
            *text = format!("{}… ({} characters)", &text[..end], text.chars().count());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn asked(body: &Value) -> Result<String, String> {
        let tool = Tool {
            command: "emails send".to_owned(),
            access: Access::Send,
            description: String::new(),
            parameters: Vec::new(),
        };
        build_question(&tool, &json!({"dry_run": {"method": "POST", "path": "/emails", "body": body}}))
    }

    proptest! {
        /// Names of any text and length, and any number of recipients.
        #[test]
        fn a_question_shows_every_recipient_or_isn_t_asked(
            names in prop::collection::vec(
                prop_oneof![
                    Just("Ada Lovelace (ada@acme.test)".to_owned() + &" ".repeat(200)),
                    Just("\u{202E}tset.emca@ada\u{202C}".to_owned()), Just("ada@acme.test\nBcc: x".to_owned()),
                    Just("x".repeat(300)), any::<String>(),
                ],
                1..60,
            ),
            subject in prop_oneof![Just("Hi\nTo (1): ada@acme.test\n".to_owned()), any::<String>()],
        ) {
            let to: Vec<_> = names.iter().enumerate().map(|(i, name)| format!("{} <r{i}@evil.test>", name.replace(['<', '>'], ""))).collect();
            let (first, rest) = to.split_at(to.len() / 2);
            let body = json!({"from": "hi@acme.test", "to": first, "bcc": rest, "subject": subject, "text": "x".repeat(50_000)});
            if let Ok(question) = asked(&body) {
                let header: Vec<_> = question.split('\n').take(7).collect();
                let recipients = header.iter().filter(|line| line.starts_with("To (")).count();
                prop_assert_eq!((recipients, header[6].starts_with("Recipients: ")), (1, true), "{}", question);
                for i in 0..to.len() {
                    let address = format!("r{i}@evil.test");
                    let shown = header.iter().any(|line| {
                        line.split_once("): ").is_some_and(|(_, list)| list.split(", ").any(|one| one == address))
                    });
                    prop_assert!(shown, "{}", question);
                }
                let count = format!("Recipients: {} at evil.test", to.len());
                prop_assert!(question.contains(&count), "{}", question);
                let hidden = question.contains(['\u{202E}', '\u{202C}', '\u{200B}']) || question.contains("   ada");
                prop_assert!(!hidden, "{}", question);
                prop_assert!(question.chars().count() <= MAX_QUESTION);
            } else {
                prop_assert!(names.iter().map(|name| name.chars().count() * 12 + 60).sum::<usize>() + subject.chars().count() * 24 > 5_000);
            }
        }
    }

    #[test]
    fn addresses_are_bare_and_their_domains_are_those_that_are_looked_up() {
        let body = json!({
            "from": "Acme <hi@acme.test>", "subject": "Hello", "text": "x",
            "to": ["\"ada@acme.test\" <eve@evil.test>", "bob@\u{430}cme.test"], "cc": "Dan <dan@acme.test>",
        });
        let question = asked(&body).unwrap();
        let expected = "Run `idempost emails send`?\n\nFrom: hi@acme.test\nTo (2): eve@evil.test, bob@xn--cme-5cd.test\nCc (1): dan@acme.test\n\
                        Subject: Hello\nRecipients: 1 at acme.test, 1 at evil.test, 1 at xn--cme-5cd.test\n";
        assert!(question.starts_with(expected), "{question}");
    }

    #[test]
    fn only_the_bodies_of_emails_are_shortened() {
        let long = "x".repeat(300);
        let email = json!({"to": "ada@acme.test", "html": long, "headers": {"text": long}, "tags": [{"name": "html", "value": "1"}]});
        let shown = |body: &Value| {
            let question = asked(body).unwrap();
            (question.matches("… (300 characters)").count(), question.matches(&long).count())
        };
        assert_eq!(shown(&email), (1, 1));
        assert_eq!(shown(&json!([email, {"text": long}])), (2, 1));
    }

    #[test]
    fn a_request_without_recipients_says_so() {
        let question = asked(&json!({"text": "On its way."})).unwrap();
        assert!(question.contains("\nRecipients: not part of this request\n"), "{question}");
    }
}
