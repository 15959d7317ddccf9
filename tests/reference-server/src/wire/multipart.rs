//! `multipart/form-data` (RFC 7578): the parts of a form, as slices of one buffer.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use mail_parser::{HeaderValue as Parsed, MessageParser, MimeHeaders as _};
use memchr::memmem::{self, Finder};

use crate::wire::paging::quote;
use crate::wire::problem::Problem;

/// The maximum number of parts.
const MAX_PARTS: usize = 32;
/// The maximum size of the head of a part, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub content: Bytes,
}

/// Splits the body of a request into its parts.
pub fn parts(headers: &HeaderMap, body: &Bytes) -> Result<Vec<Part>, Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let boundary = kind.and_then(boundary).ok_or_else(|| {
        let found = kind.map_or("none".to_owned(), |kind| quote(&String::from_utf8_lossy(kind.as_bytes())));
        Problem::bad_request(format!(
            "The header `content-type` must be `multipart/form-data` with a boundary; found {found}."
        ))
    })?;
    split(&boundary, body).map_err(|fault| {
        Problem::bad_request(format!("The request body is not a well-formed form: {fault}."))
    })
}

fn boundary(kind: &HeaderValue) -> Option<String> {
    let header = [b"content-type: ", kind.as_bytes(), b"\r\n\r\n"].concat();
    let message = MessageParser::new().parse_headers(&header)?;
    let kind = message.content_type()?;
    let is_form = kind.c_type.eq_ignore_ascii_case("multipart")
        && kind.c_subtype.as_ref().is_some_and(|subtype| subtype.eq_ignore_ascii_case("form-data"));
    kind.attribute("boundary").filter(|text| is_form && !text.is_empty()).map(str::to_owned)
}

fn split(boundary: &str, body: &Bytes) -> Result<Vec<Part>, String> {
    let delimiter = format!("\r\n--{boundary}");
    let finder = Finder::new(&delimiter);
    // Without a preamble, the first delimiter has no line break.
    let first = if body.starts_with(&delimiter.as_bytes()[2..]) {
        Some(delimiter.len() - 2)
    } else {
        finder.find(body).map(|start| start + delimiter.len())
    };
    let mut at = first.ok_or("its boundary doesn't occur")?;
    let mut parts = Vec::new();
    while !body[at..].starts_with(b"--") {
        if parts.len() == MAX_PARTS {
            return Err(format!("it has more than {MAX_PARTS} parts"));
        }
        let rest = &body[at..];
        let end = memmem::find(&rest[..rest.len().min(MAX_HEAD)], b"\r\n\r\n");
        let head = end.ok_or("a part has no end of its headers")?;
        let name = name(&rest[..head + 4]).ok_or("a part has no name")?;
        let start = at + head + 4;
        let length = finder.find(&body[start..]).ok_or("its last boundary is missing")?;
        parts.push(Part { name, content: body.slice(start..start + length) });
        at = start + length + delimiter.len();
    }
    Ok(parts)
}

/// The name in the head of a part, which starts with the rest of the boundary's line.
fn name(head: &[u8]) -> Option<String> {
    let lines = &head[memmem::find(head, b"\r\n")? + 2..];
    let message = MessageParser::new().with_mime_headers().parse_headers(lines)?;
    match message.header("content-disposition")? {
        Parsed::ContentType(disposition) if disposition.c_type.eq_ignore_ascii_case("form-data") => {
            disposition.attribute("name").map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kind: &str, body: &str) -> Result<Vec<(String, String)>, String> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
        let parts = parts(&headers, &Bytes::from(body.to_owned())).map_err(|problem| problem.message)?;
        let text = |part: Part| (part.name, String::from_utf8(part.content.to_vec()).unwrap());
        Ok(parts.into_iter().map(text).collect())
    }

    #[test]
    fn parts_are_exact_slices_of_the_body() {
        let part = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let body = "--b \t\r\ncontent-disposition: form-data; name=\"file\"; filename=\"müller \\\"x\\\".csv\"\r\nContent-Type: text/csv\r\n\r\n\
            a\r\n--bo\r\n\r\n--b\r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--b--\r\nepilogue";
        let expected = Ok(vec![part("file", "a\r\n--bo\r\n"), part("empty", "")]);
        for kind in ["multipart/form-data; boundary=b", "Multipart/Form-Data; charset=utf-8; Boundary=\"b\""]
        {
            // A delimiter is followed by a line break or `--`.
            let body = body.replace("--bo", "-bo");
            let expected = expected.clone().map(|mut parts: Vec<(String, String)>| {
                parts[0].1 = "a\r\n-bo\r\n".to_owned();
                parts
            });
            assert_eq!(found(kind, &body), expected, "{kind}");
            assert_eq!(found(kind, &format!("preamble\r\n{body}")), expected, "{kind}");
        }
        assert_eq!(found("multipart/form-data; boundary=b", "--b--"), Ok(Vec::new()));
    }

    #[test]
    fn malformed_forms_are_rejected_with_the_reason() {
        let form = "multipart/form-data; boundary=b";
        let head = "--b\r\nContent-Disposition: form-data; name=x\r\n\r\n";
        for (kind, body, reason) in [
            ("application/json", String::new(), "found \"application/json\""),
            ("multipart/form-data", String::new(), "with a boundary"),
            ("multipart/mixed; boundary=b", String::new(), "multipart/form-data"),
            (form, String::new(), "doesn't occur"),
            (form, "--c\r\n".to_owned(), "doesn't occur"),
            (form, "--b\r\nContent-Type: text/csv\r\n\r\nx\r\n--b--".to_owned(), "no name"),
            (form, "--b\r\nContent-Disposition: form-data; name=x".to_owned(), "end of its headers"),
            (form, format!("{head}cut off"), "last boundary"),
            (form, format!("{}--b--", format!("{head}x\r\n").repeat(33)), "more than 32 parts"),
        ] {
            let message = found(kind, &body).unwrap_err();
            assert!(message.contains(reason), "{reason}: {message}");
        }
    }
}
