//! `POST /api/v1/send`: sends an email in Mailpit's format. The sandbox captures it like any other email.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use idempost_reference_server::delivery;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::draft::Draft;
use idempost_reference_server::model::received::format_mailbox;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::moment::Moment;
use idempost_reference_server::wire::problem::{self, Problem};

/// A message in Mailpit's format, which is serialized with the fields of `POST /emails`.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "PascalCase"), default)]
struct Message {
    from: Mailbox,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<Mailbox>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cc: Vec<Mailbox>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bcc: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reply_to: Vec<Mailbox>,
    subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(rename(deserialize = "HTML"), skip_serializing_if = "String::is_empty")]
    html: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<File>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    headers: Map<String, Value>,
    #[serde(skip_serializing)]
    tags: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Mailbox {
    name: String,
    email: String,
}

impl Serialize for Mailbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_mailbox(Some(&self.name), &self.email))
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "PascalCase"), default)]
struct File {
    content: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    filename: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    content_type: String,
    #[serde(rename(deserialize = "ContentID"), skip_serializing_if = "String::is_empty")]
    content_id: String,
}

/// Accepts an email. Its errors are JSON, as in Mailpit.
pub(super) fn accept(call: &AccountCall<'_>) -> Response<Bytes> {
    match send(call) {
        Ok(id) => super::json(&json!({ "ID": id })),
        Err(problem) => problem::json(StatusCode::BAD_REQUEST, &json!({ "Error": problem.message })),
    }
}

fn send(call: &AccountCall<'_>) -> Result<String, Problem> {
    let message: Message = serde_json::from_slice(call.request.body())
        .map_err(|error| Problem::bad_request(format!("The body can't be read: {error}.")))?;
    if !message.tags.is_empty() {
        return Err(Problem::validation("`Tags` must be empty: tags of the sandbox have names and values."));
    }
    let (state, tenant, now) = (call.state, &call.tenant, call.now());
    let draft = Draft::parse(state, json!(message).to_string().as_bytes(), tenant, now)?;
    delivery::check_sender(state, tenant, &draft.from)?;
    let email = delivery::accept(Moment { state, tenant, at: now }, draft);
    let captured = lock(&tenant.emails).get(email).and_then(|email| email.captured_id());
    Ok(captured.unwrap_or(email).to_string())
}
