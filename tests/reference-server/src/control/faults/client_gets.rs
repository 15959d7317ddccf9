//! Describes the response to a request with a fault.

use http::header;
use serde::Serialize;
use serde_json::Value;

use crate::state::faults::{Action, Rule, too_many};
use crate::wire::described;

/// The maximum length of a name or header in the summary, in characters.
const MAX_TEXT: usize = 64;

described! {
    /// The response to a request, or the reply at a stage of an SMTP session, with a fault.
    #[derive(Default)]
    pub struct ClientResponse {
        /// One line of text.
        summary: String,
        /// Whether the service handles the request.
        handled: bool,
        /// The status of a scripted response, or the code of a reply; `None` if the service's own response or none is sent.
        status: Option<u16>,
        /// The error's name in the body of a scripted response.
        name: Option<String>,
        end: End,
        /// The number of bytes of the body that are sent before the connection closes.
        body_bytes: Option<usize>,
        /// The delay of the response, in milliseconds.
        delay_ms: u64,
    }

    /// How the response ends.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "snake_case")]
    enum End {
        #[default]
        Complete,
        /// The connection closes in the middle of the body.
        Cut,
        /// The connection closes before the status line.
        Closed,
        /// The connection stays open.
        Never,
    }
}

impl ClientResponse {
    pub(super) fn from_rule(rule: &Rule) -> Self {
        let (asked, answer) =
            if rule.smtp.is_some() { ("command", "reply") } else { ("request", "response") };
        let none = |why: String, handled, end| Self::new(format!("no {answer}: {why}"), handled, end);
        match &rule.action {
            Action::Answer { status, headers, body } => {
                Self::scripted(status.as_u16(), headers.get(header::RETRY_AFTER), body)
            }
            Action::TooMany { retry_after } => {
                let response = too_many(retry_after.as_deref());
                let retry_after = response.headers().get(header::RETRY_AFTER);
                Self::scripted(response.status().as_u16(), retry_after, response.body())
            }
            Action::Reply { code, text } => {
                let text = text.chars().take(MAX_TEXT).collect::<String>();
                Self { status: Some(*code), ..Self::new(format!("{code} {text}"), false, End::Complete) }
            }
            Action::DropBefore => none(format!("connection closed, {asked} not handled"), false, End::Closed),
            Action::DropAfter => none(format!("{asked} handled, then connection closed"), true, End::Closed),
            Action::Stall => none(format!("connection left open, {asked} not handled"), false, End::Never),
            Action::Truncate(bytes) => {
                let summary = format!("the service's own {answer}, cut off after {bytes} bytes of the body");
                Self { body_bytes: Some(*bytes), ..Self::new(summary, true, End::Cut) }
            }
            Action::Delay(by) => {
                let delay_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
                let summary = format!("the service's own {answer}, {delay_ms} ms late");
                Self { delay_ms, ..Self::new(summary, true, End::Complete) }
            }
        }
    }

    fn new(summary: String, handled: bool, end: End) -> Self {
        Self { summary, handled, status: None, name: None, end, body_bytes: None, delay_ms: 0 }
    }

    /// A response in place of the service's own.
    fn scripted(status: u16, retry_after: Option<&http::HeaderValue>, body: &[u8]) -> Self {
        let body: Option<Value> = serde_json::from_slice(body).ok();
        let name = body.as_ref().and_then(|body| body["name"].as_str());
        let mut summary = status.to_string();
        if let Some(name) = name {
            summary.push(' ');
            summary.extend(name.chars().take(MAX_TEXT));
        }
        if let Some(value) = retry_after {
            summary.push_str(", retry-after: ");
            summary.extend(String::from_utf8_lossy(value.as_bytes()).chars().take(MAX_TEXT));
        }
        let name = name.map(str::to_owned);
        Self { status: Some(status), name, ..Self::new(summary, false, End::Complete) }
    }
}
