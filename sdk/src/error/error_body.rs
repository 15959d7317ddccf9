//! Names and messages of error responses, in the formats used by the service and by proxies.

use serde_json::Value;

/// The maximum length of a text body used as the message, in characters.
const MAX_TEXT: usize = 300;

/// Returns name and message; each is empty if missing.
///
/// Supported formats: `{name, message}` (the service's own), `{error, error_description}` (RFC 6749), `{title, detail}` (RFC 9457), an `error`
/// object or text, `errors[0]`, plain text, the title of an HTML page, and the `Message` of an XML document (file storage).
pub(super) fn read(body: &[u8]) -> (String, String) {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => from_object(&Value::Object(fields)),
        Ok(Value::String(text)) => (String::new(), first_line(&text)),
        Ok(_) => (String::new(), String::new()),
        Err(_) => (String::new(), from_text(&String::from_utf8_lossy(body))),
    }
}

fn from_object(body: &Value) -> (String, String) {
    let text = |pointers: &[&str]| {
        let found = pointers.iter().filter_map(|pointer| body.pointer(pointer)?.as_str());
        found.map(str::trim).find(|text| !text.is_empty()).map(str::to_owned)
    };
    let error = text(&["/error"]);
    let (code, sentence) = match error {
        Some(error) if is_name(&error) => (Some(error), None),
        sentence => (None, sentence),
    };
    let name = text(&["/name"]).or(code).or_else(|| {
        text(&["/code", "/error/name", "/error/code", "/error/type", "/errors/0/code"])
            .filter(|name| is_name(name))
    });
    let message = text(&["/message", "/error_description", "/detail", "/error/message", "/errors/0/message"])
        .or(sentence)
        .or_else(|| text(&["/title", "/errors/0/detail", "/errors/0"]));
    (name.unwrap_or_default(), message.unwrap_or_default())
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Returns whether a body starts like HTML or XML.
pub(crate) fn is_markup(body: &[u8]) -> bool {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start().starts_with(b"<")
}

fn from_text(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') || text.starts_with('[') || text.contains('\u{fffd}') {
        // Invalid JSON, or not text.
        return String::new();
    }
    if !text.starts_with('<') {
        return first_line(text);
    }
    let element = |name: &str| {
        // ASCII case folding preserves byte positions.
        let lower = text.to_ascii_lowercase();
        let start = lower.find(&format!("<{name}"))?;
        let start = start + lower[start..].find('>')? + 1;
        let end = start + lower[start..].find("</")?;
        let words: Vec<&str> = text[start..end].split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    first_line(&["title", "h1", "message"].into_iter().find_map(element).unwrap_or_default())
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_of_other_formats_have_a_message() {
        // B-07
        for (body, name, message) in [
            (
                r#"{"statusCode":422,"name":"validation_error","message":"no `to`"}"#,
                "validation_error",
                "no `to`",
            ),
            (r#"{"error":"invalid_grant","error_description":"used"}"#, "invalid_grant", "used"),
            (
                r#"{"type":"about:blank","title":"Not allowed","detail":"Too old","status":403}"#,
                "",
                "Too old",
            ),
            (r#"{"title":"Not allowed"}"#, "", "Not allowed"),
            (r#"{"error":"Something broke."}"#, "", "Something broke."),
            (r#"{"error":"bad_thing"}"#, "bad_thing", ""),
            (r#"{"error":{"code":"bad_thing","message":"It broke."}}"#, "bad_thing", "It broke."),
            (r#"{"errors":[{"code":"e1","message":"It broke."}]}"#, "e1", "It broke."),
            (r#"{"errors":["It broke."]}"#, "", "It broke."),
            (r#"{"code":"two words","message":"x"}"#, "", "x"),
            (r#""It broke.""#, "", "It broke."),
            ("upstream connect error\nreset", "", "upstream connect error"),
            ("<html><head><TITLE>502  Bad\nGateway</TITLE></head></html>", "", "502 Bad Gateway"),
            ("<!DOCTYPE html><h1 class=x>Sorry</h1>", "", "Sorry"),
            ("<html>no title</html>", "", ""),
            (
                "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
                "",
                "Request has expired",
            ),
            ("", "", ""),
            ("null", "", ""),
            ("[1]", "", ""),
            ("{", "", ""),
            (r#"{"name":7,"message":[1]}"#, "", ""),
            (r#"{"name":" ","message":""}"#, "", ""),
        ] {
            assert_eq!(read(body.as_bytes()), (name.to_owned(), message.to_owned()), "{body}");
        }
        assert_eq!(read(b"\xff\xfe"), (String::new(), String::new()));
        assert_eq!(read("é".repeat(9_000).as_bytes()).1.chars().count(), 300);
    }
}
