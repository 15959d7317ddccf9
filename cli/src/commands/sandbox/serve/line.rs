//! One log line per request with `-v`; never contains a secret.

use http::header;
use idempost_sandbox::RecordedRequest;
use serde_json::Value;
use url::form_urlencoded;

/// OAuth parameters that may be logged. Codes, verifiers, tokens and `state` are secrets, and so may be unknown parameters.
const LOGGED_PARAMETERS: [&str; 4] = ["grant_type", "response_type", "client_id", "scope"];
/// Maximum characters of a value.
const MAX_VALUE_CHARS: usize = 64;

/// Formats a request and its response, with the size of the request body, the service's time, and an injected delay, if any.
pub(super) fn format_request(request: &RecordedRequest) -> String {
    let (status, bytes) = (request.status.as_u16(), request.body.len());
    let (asked, ended) = if is_oauth(&request.path) {
        (format_parameters(request), error(request).map(|error| format!(" {error}")).unwrap_or_default())
    } else {
        (request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default(), String::new())
    };
    let took = request.duration.as_secs_f64() * 1_000.0;
    let delayed = match request.delay.as_millis() {
        0 => String::new(),
        delay => format!(", {delay} ms late"),
    };
    format!(
        "{} {}{asked} → {status}{ended}, {bytes} bytes, {took:.1} ms{delayed}",
        request.method, request.path
    )
}

/// The endpoints of the authorization server; the list of grants is an ordinary resource.
fn is_oauth(path: &str) -> bool {
    ["/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"].contains(&path)
}

/// The loggable parameters of the query or body.
fn format_parameters(request: &RecordedRequest) -> String {
    let query = request.query.as_deref().unwrap_or_default();
    let mut given: Vec<(String, String)> = parse_pairs(query.as_bytes());
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(Value::Object(fields)) => given
            .extend(fields.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))),
        _ => given.extend(parse_pairs(&request.body)),
    }
    let harmless = given.into_iter().filter(|(name, _)| LOGGED_PARAMETERS.contains(&name.as_str()));
    harmless.flat_map(|(name, value)| [" ".to_owned(), name, "=".to_owned(), escape_text(&value)]).collect()
}

fn parse_pairs(form: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(form).into_owned().collect()
}

/// The error code, from the body or from the redirect URI.
fn error(request: &RecordedRequest) -> Option<String> {
    let location = request.answer_headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
    let error = match location {
        Some(location) => {
            let (_, query) = location.split_once('?')?;
            parse_pairs(query.as_bytes()).into_iter().find(|(name, _)| name == "error")?.1
        }
        None => serde_json::from_slice::<Value>(&request.answer_body).ok()?["error"].as_str()?.to_owned(),
    };
    Some(escape_text(&error))
}

/// Text from a client, safe for a terminal.
fn escape_text(text: &str) -> String {
    let shown = text.chars().take(MAX_VALUE_CHARS);
    shown
        .map(|character| match character {
            ' ' => '+',
            _ if character.is_ascii_graphic() => character,
            _ => '?',
        })
        .collect()
}
