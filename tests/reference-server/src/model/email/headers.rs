//! Custom headers (`SPEC.md`, POST /emails, `headers`).

use crate::mime::limits::MAX_NAME;
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, Ignored, Problems, has_control};

/// Headers that the service writes itself. A custom one of the same name would make the message ambiguous, so it is ignored, and reported
/// among the ignored fields; the specification doesn't define this.
const OWN: [&str; 13] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
    "content-id",
    "return-path",
];

pub(crate) fn take(
    fields: &mut Fields<'_>,
    has_reply_to: bool,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Vec<(String, String)> {
    let Some(json) = fields.take("headers") else { return Vec::new() };
    let at = format!("{}.", fields.name("headers"));
    let pointer = fields.pointer("headers");
    let Some(mut given) = Fields::read(json, at, pointer, problems) else { return Vec::new() };

    let mut headers = Vec::new();
    for name in given.names() {
        let Some(value) = given.take_text(&name, problems) else { continue };
        if !is_field_name(&name) {
            problems.wrong(|| {
                format!(
                    "`{}` must have header names of at most {MAX_NAME} characters of printable ASCII without `:`; found {}.",
                    fields.name("headers"),
                    quoted(&name)
                )
            });
        } else if has_control(&value) {
            problems.wrong(|| {
                format!("`{}` must not hold control characters; found {}.", given.name(&name), quoted(&value))
            });
        } else if OWN.iter().any(|own| own.eq_ignore_ascii_case(&name))
            || (has_reply_to && name.eq_ignore_ascii_case("reply-to"))
        {
            ignored.note(&given.pointer(&name));
        } else {
            headers.push((name, value.into_owned()));
        }
    }
    headers
}

/// RFC 5322, 3.6.8: printable ASCII except colon. (Space isn't printable there.)
fn is_field_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}
