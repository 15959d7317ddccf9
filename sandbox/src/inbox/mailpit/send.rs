//! `POST /api/v1/send`: sends an email in Mailpit's format. The sandbox captures it like any other email.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use idempost_reference_server::delivery;
use idempost_reference_server::lock::lock;
use idempost_reference_server::model::email::draft::Draft;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::moment::Moment;
use idempost_reference_server::wire::problem::{self, Problem};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Message {
    from: Mailbox,
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    bcc: Vec<String>,
    reply_to: Vec<Mailbox>,
    subject: String,
    text: String,
    #[serde(rename = "HTML")]
    html: String,
    attachments: Vec<File>,
    headers: Map<String, Value>,
    tags: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Mailbox {
    name: String,
    email: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct File {
    content: String,
    filename: String,
    content_type: String,
    #[serde(rename = "ContentID")]
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
    let draft = Draft::parse(state, message.fields().to_string().as_bytes(), tenant, now)?;
    delivery::check_sender(state, tenant, &draft.from)?;
    let email = delivery::accept(Moment { state, tenant, at: now }, draft);
    let captured = lock(&tenant.emails).get(email).and_then(|email| email.captured_id());
    Ok(captured.unwrap_or(email).to_string())
}

impl Message {
    /// Converts the message to the fields of `POST /emails`.
    fn fields(self) -> Value {
        let mut fields = Map::new();
        let mailboxes = |all: Vec<Mailbox>| all.iter().map(Mailbox::text).collect::<Vec<_>>();
        let files = self.attachments.into_iter().map(File::fields).collect::<Vec<_>>();
        let lists = [
            ("to", mailboxes(self.to)),
            ("cc", mailboxes(self.cc)),
            ("bcc", self.bcc.into_iter().map(Value::String).collect()),
            ("reply_to", mailboxes(self.reply_to)),
            ("attachments", files),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        fields.extend(lists.map(|(name, list)| (name.to_owned(), list.into())));
        let texts =
            [("html", self.html), ("text", self.text)].into_iter().filter(|(_, text)| !text.is_empty());
        fields.extend(texts.map(|(name, text)| (name.to_owned(), text.into())));
        fields.insert("from".to_owned(), self.from.text());
        fields.insert("subject".to_owned(), self.subject.into());
        if !self.headers.is_empty() {
            fields.insert("headers".to_owned(), self.headers.into());
        }
        fields.into()
    }
}

impl Mailbox {
    fn text(&self) -> Value {
        idempost_reference_server::model::received::format_mailbox(Some(&self.name), &self.email).into()
    }
}

impl File {
    fn fields(self) -> Value {
        let Self { content, filename, content_type, content_id } = self;
        let all = [("filename", filename), ("content_type", content_type), ("content_id", content_id)];
        let given = all.into_iter().filter(|(_, text)| !text.is_empty());
        let mut fields: Map<_, _> = given.map(|(name, text)| (name.to_owned(), text.into())).collect();
        fields.insert("content".to_owned(), content.into());
        fields.into()
    }
}
