/// Returns why a text isn't valid JSON, in plain words and without the position.
#[doc(hidden)]
pub fn json_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(reason, _)| reason);
    let reason = match message {
        "EOF while parsing a value" => "expected a value, found the end of the text",
        "expected ident" => "expected `true`, `false` or `null`",
        "expected value" => "expected a value",
        "key must be a string" => "a key must be in double quotes",
        "trailing characters" => "there is text after the value",
        "recursion limit exceeded" => "it is nested too deeply",
        "control character (\\u0000-\\u001F) found while parsing a string" => {
            "a string must not contain line breaks or other control characters"
        }
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "a \\u escape is incomplete"
        }
        other => match other.strip_prefix("EOF while parsing ") {
            Some(what) => return format!("the text ends within {what}"),
            None => other,
        },
    };
    reason.to_owned()
}
