//! What is told of a request with `-v`: never a secret.

use http::header;
use posthaste_reference_server::RecordedRequest;
use serde_json::Value;
use url::form_urlencoded;

/// What of an OAuth request may be told. Codes, verifiers, tokens and `state` are secrets, and whatever has another name may be one.
const HARMLESS: [&str; 4] = ["grant_type", "response_type", "client_id", "scope"];
/// The most characters of a value.
const LONGEST: usize = 64;

/// One line for a request and its answer: the size is the request body's, the time how long the service took, and a scripted delay stands behind it.
pub(super) fn line(request: &RecordedRequest) -> String {
    let (status, bytes) = (request.status.as_u16(), request.body.len());
    let (asked, ended) = if is_oauth(&request.path) {
        (told(request), error(request).map(|error| format!(" {error}")).unwrap_or_default())
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

/// The endpoints of the authorization server; the list of grants is a resource like any other.
fn is_oauth(path: &str) -> bool {
    ["/oauth/authorize", "/oauth/token", "/oauth/register", "/oauth/revoke"].contains(&path)
}

/// The harmless parameters, of the query or of the body.
fn told(request: &RecordedRequest) -> String {
    let query = request.query.as_deref().unwrap_or_default();
    let mut given: Vec<(String, String)> = pairs(query.as_bytes());
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(Value::Object(fields)) => given
            .extend(fields.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))),
        _ => given.extend(pairs(&request.body)),
    }
    let harmless = given.into_iter().filter(|(name, _)| HARMLESS.contains(&name.as_str()));
    harmless.flat_map(|(name, value)| [" ".to_owned(), name, "=".to_owned(), plain(&value)]).collect()
}

fn pairs(form: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(form).into_owned().collect()
}

/// The name of the error, in the body or in the address that the browser is sent to.
fn error(request: &RecordedRequest) -> Option<String> {
    let location = request.answer_headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
    let error = match location {
        Some(location) => {
            let (_, query) = location.split_once('?')?;
            pairs(query.as_bytes()).into_iter().find(|(name, _)| name == "error")?.1
        }
        None => serde_json::from_slice::<Value>(&request.answer_body).ok()?["error"].as_str()?.to_owned(),
    };
    Some(plain(&error))
}

/// Text of somebody else, harmless to a terminal.
fn plain(text: &str) -> String {
    let shown = text.chars().take(LONGEST);
    shown
        .map(|character| match character {
            ' ' => '+',
            _ if character.is_ascii_graphic() => character,
            _ => '?',
        })
        .collect()
}
