//! Recorded exchanges, as a JSON file.

use std::{collections::BTreeMap, fmt, fs, io, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, Method, Response, header::AUTHORIZATION};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::{reply::Reply, request::RecordedRequest};
use crate::transport::{RequestDelivery, TransportError, TransportErrorKind, TransportRequest};

/// The replacement for secrets.
const REDACTED: &str = "redacted";

/// Exchanges between a client and a service, recorded by a [`Recorder`](super::Recorder) and replayed by
/// [`ScriptedTransport::replay`](super::ScriptedTransport::replay).
///
/// Secrets aren't recorded. Request headers are omitted, and response headers are recorded only if the client reads them. Tokens, secrets and codes
/// in JSON and queries are replaced with `redacted`, and the queries of URLs are removed. Other content of the application's emails is recorded
/// unchanged, and so are downloaded files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    exchanges: Vec<Exchange>,
}

/// A request and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Exchange {
    request: Expected,
    #[serde(flatten)]
    result: Received,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Received {
    Response {
        status: u16,
        headers: BTreeMap<String, String>,
        #[serde(flatten)]
        body: Body,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut: Option<TransportErrorKind>,
    },
    Failure {
        delivery: RequestDelivery,
        kind: TransportErrorKind,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Json(Value),
    Text(String),
    Base64(String),
}

impl Recording {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// The file can't be read, or isn't a recording.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// Writes the recording to a file as JSON, for review and version control.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(path, text)
    }

    /// Returns the requests, each with its reply.
    pub(super) fn exchanges(&self) -> impl Iterator<Item = (Expected, Reply)> {
        self.exchanges.iter().map(|exchange| (exchange.request.clone(), exchange.result.to_reply()))
    }

    /// Adds a failed exchange.
    pub(super) fn push_failure(&mut self, request: Expected, error: &TransportError) {
        let result = Received::Failure { delivery: error.delivery(), kind: error.kind() };
        self.exchanges.push(Exchange { request, result });
    }

    /// Adds an exchange with a response, whose body may be truncated. A file is recorded byte for byte.
    pub(super) fn push_response(
        &mut self,
        request: Expected,
        response: &Response<Bytes>,
        cut: Option<TransportErrorKind>,
        is_file: bool,
    ) {
        let headers = response.headers().iter().filter_map(recorded_header);
        let result = Received::Response {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: Body::from_bytes(response.body(), is_file),
            cut,
        };
        self.exchanges.push(Exchange { request, result });
    }
}

impl Received {
    fn to_reply(&self) -> Reply {
        match self {
            Self::Failure { delivery, kind } => Reply::failure(*delivery, *kind),
            Self::Response { status, headers, body, cut } => {
                let reply = Reply::bytes(*status, body.bytes());
                let reply = headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value));
                if let Some(kind) = cut { reply.cut_off(*kind) } else { reply }
            }
        }
    }
}

impl Body {
    fn from_bytes(bytes: &[u8], is_file: bool) -> Self {
        match (serde_json::from_slice(bytes), std::str::from_utf8(bytes)) {
            (Ok(json), _) if !is_file => Self::Json(redact(json)),
            (_, Ok(text)) => Self::Text(text.to_owned()),
            _ => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Json(json) => json.to_string().into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }
}

/// Returns a header if the client reads it and it contains no secret.
fn recorded_header((name, value): (&http::HeaderName, &http::HeaderValue)) -> Option<(String, String)> {
    const READ: [&str; 12] = [
        "accept-ranges",
        "content-encoding",
        "content-range",
        "content-type",
        "date",
        "etag",
        "idempotent-replayed",
        "last-modified",
        "request-id",
        "retry-after",
        "x-request-id",
        "x-amzn-requestid",
    ];
    const GROUPS: [&str; 3] = ["ratelimit", "x-ratelimit", "x-resend-"];
    let read = READ.contains(&name.as_str()) || GROUPS.iter().any(|group| name.as_str().starts_with(group));
    read.then(|| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).flatten()
}

/// The request that an exchange or a rule replies to, without secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Expected {
    method: String,
    path: String,
    /// `None` for any query.
    query: Option<String>,
    /// `None` for any body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Value>,
}

impl Expected {
    pub(super) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), query: None, json: None }
    }

    /// Describes a request as sent.
    pub(super) fn from_recorded(request: &RecordedRequest) -> Self {
        Self::describe(&request.method, &request.url, &request.headers, Some(&request.body))
    }

    /// Describes a request about to be sent. A body in several pieces, as with attachments, isn't recorded.
    pub(super) fn from_transport(request: &TransportRequest) -> Self {
        let body = request.body.as_bytes();
        Self::describe(&request.method, &request.url, &request.headers, body.as_deref())
    }

    /// A request without a credential in its headers may have one in its query or body, which are therefore omitted.
    fn describe(method: &Method, url: &Url, headers: &HeaderMap, body: Option<&[u8]>) -> Self {
        let mut expected = Self { query: Some(String::new()), ..Self::new(method.as_str(), url.path()) };
        if headers.contains_key(AUTHORIZATION) {
            let pairs = url.query_pairs().map(|(name, value)| {
                let value = if is_secret(&name) { REDACTED.into() } else { value };
                (name, value)
            });
            expected.query =
                Some(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish());
            expected.json = body.and_then(|body| serde_json::from_slice(body).ok()).map(redact);
        }
        expected
    }

    /// Returns whether this is the expected request.
    pub(super) fn matches(&self, sent: &Self) -> bool {
        let path =
            self.path.split('/').map(Some).chain([None]).zip(sent.path.split('/').map(Some).chain([None]));
        self.method == sent.method
            && { path }.all(|(expected, sent)| expected == sent || expected == Some("*") && sent.is_some())
            && (self.query.is_none() || self.query == sent.query)
            && (self.json.is_none() || self.json == sent.json)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        match self.query.as_deref() {
            None | Some("") => {}
            Some(query) => write!(f, "?{query}")?,
        }
        self.json.as_ref().map_or(Ok(()), |json| write!(f, " {json}"))
    }
}

fn is_secret(name: &str) -> bool {
    const NAMES: [&str; 7] = ["api_key", "code", "code_verifier", "password", "secret", "signature", "token"];
    NAMES.contains(&name) || name.ends_with("_token") || name.ends_with("_secret")
}

fn redact(json: Value) -> Value {
    match json {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value =
                    if value.is_string() && is_secret(&name) { REDACTED.into() } else { redact(value) };
                (name, value)
            });
            fields.collect()
        }
        Value::Array(items) => items.into_iter().map(redact).collect(),
        // `Re: what?` parses as a URL, too.
        Value::String(text) if text.contains(char::is_whitespace) => text.into(),
        Value::String(text) => match Url::parse(&text) {
            Ok(mut url) if matches!(url.scheme(), "http" | "https") && url.query().is_some() => {
                url.set_query(None);
                url.as_str().into()
            }
            _ => text.into(),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        Client, Email, Error, Outcome,
        api_keys::NewApiKey,
        call::RetryPolicy,
        testing::{Recorder, ScriptedTransport},
    };

    fn client(transport: impl crate::transport::Transport) -> Client {
        let builder = Client::builder().base_url("https://api.example.com").api_key("re_sentinel");
        builder.retry(RetryPolicy::never()).transport(transport).build().unwrap()
    }

    /// Makes the calls of a small program, and returns their results.
    async fn run(client: &Client) -> Vec<String> {
        let email = Email::new("a@x.test", "b@x.test", "Hello").text("Hi");
        let download = "https://files.test/f1?signature=sentinel";
        vec![
            format!("{:?}", client.emails().send(&email).await.unwrap().id),
            format!("{:?}", client.emails().send(&email).await.map_err(|error| error.outcome())),
            client.api_keys().create(&NewApiKey::new("ci")).await.unwrap().id.to_string(),
            format!("{:?}", client.received().download(download).await.unwrap()),
            client.emails().get("e9").await.unwrap_err().to_string(),
            format!("{:?}", client.emails().list().page_size(2).await.unwrap().data.len()),
            format!("{:?}", client.emails().send(&email).await.map_err(|error| error.outcome())),
        ]
    }

    fn service() -> ScriptedTransport {
        let emails = json!({"data": [], "has_more": false, "next": "https://files.test/x?token=sentinel"});
        ScriptedTransport::new([
            Reply::json(200, json!({"id": "e1"}))
                .header("set-cookie", "sentinel")
                .header("ratelimit-limit", "2"),
            Reply::connection_lost(),
            Reply::json(201, json!({"id": "k1", "token": "re_sentinel_2"})),
            Reply::bytes(200, vec![0_u8, 159, 146, 150]),
            Reply::error(404, "not_found"),
            Reply::json(200, emails),
            Reply::bytes(200, "{\"id\":").cut_off(TransportErrorKind::Closed),
        ])
    }

    #[tokio::test(start_paused = true)]
    async fn a_recording_replays_the_same_results_from_its_file_without_a_secret() {
        // AUTH-08
        let recorder = Recorder::new(service());
        let results = run(&client(recorder.clone())).await;
        let path = std::env::temp_dir().join(format!("idempost-recording-{}.json", std::process::id()));
        recorder.recording().save(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("sentinel") && text.contains("ratelimit-limit"), "{text}");

        let script = ScriptedTransport::replay(&Recording::load(&path).unwrap());
        fs::remove_file(path).unwrap();
        assert_eq!(run(&client(script.clone())).await, results);
        assert_eq!(script.finish().len(), results.len());
        assert_eq!(results[1], format!("Err({:?})", Outcome::Unknown));
    }

    #[tokio::test(start_paused = true)]
    async fn a_replay_fails_the_test_if_another_body_is_sent() {
        let recorder = Recorder::new(service());
        let email = Email::new("a@x.test", "b@x.test", "Hello").text("Hi");
        client(recorder.clone()).emails().send(&email).await.unwrap();
        let script = ScriptedTransport::replay(&recorder.recording());
        let changed = email.clone().subject("Other");
        let changing = client(script.clone());
        let panicked = tokio::spawn(async move { changing.emails().send(&changed).await }).await.unwrap_err();
        let message = *panicked.into_panic().downcast::<String>().unwrap();
        assert!(message.contains("\"Other\"") && message.contains("expected: POST /emails {"), "{message}");
        client(script).emails().send(&email).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn text_that_only_looks_like_a_url_is_recorded_unchanged() {
        let email = json!({
            "id": "e1", "from": "a@x.test", "to": ["b@x.test"], "created_at": "2026-11-21T04:46:00Z",
            "subject": "Re: shall we?", "text": "Note: https://x.test/?a=1 or not?",
            "html": "https://x.test/ is it?",
        });
        let recorder = Recorder::new(ScriptedTransport::new([Reply::json(200, email.clone())]));
        client(recorder.clone()).emails().get("e1").await.unwrap();
        let replayed =
            client(ScriptedTransport::replay(&recorder.recording())).emails().get("e1").bytes().await;
        assert_eq!(serde_json::from_slice::<Value>(&replayed.unwrap()).unwrap(), email);
    }

    #[tokio::test(start_paused = true)]
    async fn a_downloaded_file_is_replayed_unchanged_even_if_it_is_json() {
        for file in ["{ \"token\" :  1.50 }\n", "12345678901234567890123", "\"https://x.test/?a=1\""] {
            let recorder = Recorder::new(ScriptedTransport::new([Reply::bytes(200, file)]));
            client(recorder.clone()).received().download("https://files.test/f1").await.unwrap();
            let script = ScriptedTransport::replay(&recorder.recording());
            let replayed = client(script).received().download("https://files.test/f1").await.unwrap();
            assert_eq!(replayed, file);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_resumed_download_is_replayed() {
        for (name, value) in [("etag", "\"1\""), ("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT")] {
            let first = Reply::bytes(200, "start ").header("accept-ranges", "bytes").header(name, value);
            let rest = Reply::bytes(206, "end").header("content-range", "bytes 6-8/9");
            let service = [first.cut_off(TransportErrorKind::Closed), rest];
            let recorder = Recorder::new(ScriptedTransport::new(service));
            let download = async |client: Client| {
                let mut file = Vec::new();
                let call = client.received().download("https://files.test/f1").retry(RetryPolicy::default());
                call.write_to(&mut file).await.map(|_| file)
            };
            assert_eq!(download(client(recorder.clone())).await.unwrap(), b"start end");
            let script = ScriptedTransport::replay(&recorder.recording());
            assert_eq!(download(client(script.clone())).await.unwrap(), b"start end", "{name}");
            script.finish();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_of_the_service_is_recorded_as_its_response() {
        let recorder = Recorder::new(ScriptedTransport::new([Reply::error(422, "validation_error")]));
        client(recorder.clone()).domains().verify("d1").await.unwrap_err();
        let script = ScriptedTransport::replay(&recorder.recording());
        let error = client(script).domains().verify("d1").await.unwrap_err();
        assert!(matches!(&error, Error::Api(api) if api.name == "validation_error"), "{error:?}");
    }
}
