//! Executes a call, noting every retry. `-v` traces requests and responses, `-vv` also headers, `-vvv` also bodies. Secrets are redacted.

use std::time::Instant;

use idempost::{
    Call, Error, List,
    body::BodyPart,
    call::{Preview, WithResponse},
    page::Item,
};
use serde::de::DeserializeOwned;

use crate::context::{Context, Identity};
use crate::output::http_trace::{format_failure, format_response, headers, redact_body};

/// Executes the call that `make` builds, and traces it according to `-v`.
pub(crate) async fn execute<T: DeserializeOwned + Send + 'static>(
    context: &Context,
    make: impl Fn() -> Call<T>,
) -> idempost::Result<WithResponse<T>> {
    respond(context, &|| make().with_response()).await
}

/// Like [`execute`], for a call that returns its response.
pub(crate) async fn respond<T: Send + 'static>(
    context: &Context,
    make: &dyn Fn() -> Call<WithResponse<T>>,
) -> idempost::Result<WithResponse<T>> {
    let level = context.global.verbose;
    let make = || {
        let (note, in_flight) = (context.out.note_printer(), context.in_flight.clone());
        let retried = in_flight.clone();
        make()
            .on_retry(move |retry| {
                retried.record_retry();
                note(&format!("{}; retrying in {:.1} s", retry.cause, retry.delay.as_secs_f64()));
            })
            .on_outcome(move |outcome| in_flight.record_outcome(outcome))
    };
    if level == 0 {
        return make().await;
    }
    // A call that can't be previewed fails below and is reported there.
    if let (Ok(preview), Ok(identity)) = (make().preview(), context.identity()) {
        context.out.trace(&format_request(&preview, &identity, level));
    }
    let started = Instant::now();
    let result = make().await;
    let took = started.elapsed();
    match &result {
        Ok(raw) => context.out.trace(&format_response(raw.status, &raw.headers, &raw.body, took, level)),
        Err(Error::Api(error)) => {
            context.out.trace(&format_response(error.status, &error.headers, &error.body, took, level));
        }
        Err(error) => {
            context.out.trace(&format_failure(took, error));
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
            context.out.trace(&format!("{}, page by page", format_request(&preview, &identity, 1)));
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

fn format_request(preview: &Preview, identity: &Identity, level: u8) -> String {
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
        lines.extend(redact_body('>', &body));
    }
    lines.join("\n")
}
