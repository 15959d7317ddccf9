//! Executes a call, noting every retry. `-v` traces requests and responses, `-vv` also headers, `-vvv` also bodies. Secrets are redacted.

use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode, header};
use idempost::{
    Call, Error, List,
    body::BodyPart,
    call::{Preview, WithResponse},
    page::Item,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::{Context, Identity};
use crate::output::secret;

/// Maximum bytes shown of a body.
const MAX_SHOWN_BYTES: usize = 4_000;
/// Executes the call that `make` builds, with the trace that `-v` selects.
pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
    context: &Context,
    make: impl Fn() -> Call<T>,
) -> idempost::Result<WithResponse<T>> {
    let level = context.global.verbose;
    let make = || {
        let note = context.out.noter();
        make().on_retry(move |retry| {
            note(&format!("{}; retrying in {:.1} s", retry.cause, retry.delay.as_secs_f64()));
        })
    };
    if level == 0 {
        return make().with_response().await;
    }
    // A call that can't be previewed fails below and is reported there.
    if let (Ok(preview), Ok(identity)) = (make().preview(), context.identity()) {
        context.out.trace(&request(&preview, &identity, level));
    }
    let started = Instant::now();
    let result = make().with_response().await;
    let took = started.elapsed();
    match &result {
        Ok(raw) => context.out.trace(&response(raw.status, &raw.headers, &raw.body, took, level)),
        Err(Error::Api(error)) => {
            context.out.trace(&response(error.status, &error.headers, &error.body, took, level));
        }
        Err(error) => {
            context.out.trace(&format!("< no complete response after {} ms: {error}", took.as_millis()));
        }
    }
    result
}

/// Traces the pages of a list: the request, and each page as it arrives.
#[derive(Debug)]
pub(crate) struct Pages<'a> {
    context: &'a Context,
    asked: Instant,
}

impl<'a> Pages<'a> {
    /// Starts the trace.
    pub(crate) fn begin<T: Item>(context: &'a Context, list: &List<T>) -> Self {
        if context.global.verbose > 0
            && let (Ok(preview), Ok(identity)) = (list.call().preview(), context.identity())
        {
            context.out.trace(&format!("{}, page by page", request(&preview, &identity, 1)));
        }
        Self { context, asked: Instant::now() }
    }

    /// Traces a page.
    pub(crate) fn page(&mut self, items: usize, has_more: bool) {
        if self.context.global.verbose > 0 {
            let more = if has_more { "more available" } else { "last page" };
            self.context
                .out
                .trace(&format!("< {items} items in {} ms, {more}", self.asked.elapsed().as_millis()));
        }
        self.asked = Instant::now();
    }
}

fn request(preview: &Preview, identity: &Identity, level: u8) -> String {
    let mut lines = vec![format!("> {} {} as {identity}", preview.method(), preview.url())];
    if level >= 2 {
        lines.push("> authorization: Bearer [redacted]".to_owned());
        lines.extend(headers('>', preview.headers()));
    }
    if level >= 3 {
        let mut body = Vec::new();
        for part in preview.body_parts() {
            match part {
                BodyPart::Text(text) => body.extend_from_slice(&text),
                BodyPart::Encoded { bytes, .. } => {
                    body.extend_from_slice(format!("[{bytes} bytes]").as_bytes());
                }
                _ => {}
            }
        }
        lines.extend(shown('>', &body));
    }
    lines.join("\n")
}

fn response(status: StatusCode, all: &HeaderMap, body: &[u8], took: Duration, level: u8) -> String {
    let mut lines = vec![format!("< {status} in {} ms", took.as_millis())];
    if level >= 2 {
        lines.extend(headers('<', all));
    }
    if level >= 3 {
        lines.extend(shown('<', body));
    }
    lines.join("\n")
}

fn headers(sign: char, headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers.iter().map(move |(name, value)| {
        let secret = matches!(*name, header::AUTHORIZATION | header::SET_COOKIE | header::COOKIE)
            || value.is_sensitive();
        let value = if secret { "[redacted]".into() } else { String::from_utf8_lossy(value.as_bytes()) };
        format!("{sign} {name}: {value}")
    })
}

/// The body with secrets redacted; `None` if it is empty.
fn shown(sign: char, body: &[u8]) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(mut json) => {
            secret::cover(&mut json);
            json.to_string()
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let cut = text.floor_char_boundary(MAX_SHOWN_BYTES);
    let more = if cut < text.len() { "…" } else { "" };
    Some(format!("{sign} {}{more}", &text[..cut]))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn secrets_are_redacted_in_headers_and_at_every_depth_of_a_body() {
        // G-08
        let headers = HeaderMap::from_iter([
            (header::SET_COOKIE, HeaderValue::from_static("sentinel")),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ]);
        let body = br#"{"data":[{"signing_secret":"sentinel","id":"1"}],"access_token":"sentinel"}"#;
        let shown = response(StatusCode::OK, &headers, body, Duration::from_millis(7), 3);
        assert_eq!(
            shown,
            "< 200 OK in 7 ms\n< set-cookie: [redacted]\n< content-type: application/json\n\
             < {\"data\":[{\"signing_secret\":\"[redacted]\",\"id\":\"1\"}],\"access_token\":\"[redacted]\"}"
        );
        assert_eq!(response(StatusCode::OK, &headers, body, Duration::from_millis(7), 1), "< 200 OK in 7 ms");
    }

    #[test]
    fn a_large_body_is_cut_at_a_character_boundary() {
        let text = shown('<', "é".repeat(10_000).as_bytes()).unwrap();
        assert!(text.ends_with("é…") && text.len() <= MAX_SHOWN_BYTES + 8);
    }
}
