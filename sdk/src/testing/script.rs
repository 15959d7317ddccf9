//! A transport that follows a script.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::Response;

use super::{
    recording::{Expected, Recording},
    reply::Reply,
    request::RecordedRequest,
};
use crate::{
    Client,
    transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest},
};

/// A [`Transport`] that replies according to a script and records the requests. Clones share both.
///
/// A request for which the script has no reply fails the test: it panics with the request and the script's expectations. [`finish`](Self::finish)
/// fails if any reply is left, or if such a panic was lost in another task.
#[derive(Clone)]
pub struct ScriptedTransport(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    rules: Vec<Rule>,
    requests: Vec<RecordedRequest>,
    unexpected: Vec<String>,
}

struct Rule {
    /// The requests to reply to; `None` for requests that match no other rule.
    expected: Option<Expected>,
    source: Source,
}

enum Source {
    Queue(VecDeque<Reply>),
    /// The reply, and those after it, which are never used.
    Repeated(Reply, VecDeque<Reply>),
    Function(Function),
}

type Function = Arc<Mutex<dyn FnMut(&RecordedRequest) -> Reply + Send>>;

impl ScriptedTransport {
    /// Creates a script of replies to any requests, in order of arrival.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self(Arc::default()).with_source(None, Source::queue(replies))
    }

    /// Creates a script that computes each reply from its request.
    pub fn from_fn(reply: impl FnMut(&RecordedRequest) -> Reply + Send + 'static) -> Self {
        Self(Arc::default()).with_source(None, Source::Function(Arc::new(Mutex::new(reply))))
    }

    /// Creates a script from recorded exchanges. Each request gets the recorded response of the first unused exchange with the same method, path,
    /// query and JSON body.
    pub fn replay(recording: &Recording) -> Self {
        let script = Self(Arc::default());
        let rules = recording.exchanges().map(|(expected, reply)| (Some(expected), Source::queue([reply])));
        rules.fold(script, |script, (expected, source)| script.with_source(expected, source))
    }

    /// Adds replies to requests with this method and path, in order of arrival. A `*` in the path matches one segment; the path includes the base
    /// URL's path. These replies take precedence over those of [`new`](Self::new).
    #[must_use]
    pub fn reply_to(self, method: &str, path: &str, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.with_source(Some(Expected::new(method, path)), Source::queue(replies))
    }

    /// Returns a client with this transport, the base URL `https://api.example.com` and the API key `re_test`.
    ///
    /// # Panics
    /// Never: the settings are valid.
    #[must_use]
    pub fn client(&self) -> Client {
        let builder = Client::builder().base_url("https://api.example.com").api_key("re_test");
        builder.transport(self.clone()).build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the requests that arrived since the last call, in order of arrival.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.script().requests)
    }

    /// Like [`take_requests`](Self::take_requests), but for the end of a script: all replies must have been used.
    ///
    /// # Panics
    /// A reply wasn't used, or a request was unexpected.
    #[track_caller]
    pub fn finish(&self) -> Vec<RecordedRequest> {
        let script = self.script();
        let (unused, unexpected) = (script.unused_replies().join("; "), script.unexpected.join("; "));
        drop(script);
        assert!(unexpected.is_empty(), "{unexpected}");
        assert!(unused.is_empty(), "replies that were not used: {unused}");
        self.take_requests()
    }

    fn with_source(self, expected: Option<Expected>, source: Source) -> Self {
        self.script().rules.push(Rule { expected, source });
        self
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and returns its reply.
    fn reply(&self, request: &RecordedRequest) -> Reply {
        let mut script = self.script();
        script.requests.push(request.clone());
        let sent = Expected::from_recorded(request);
        let function = match script.next(&sent) {
            Some(Next::Reply(reply)) => return reply,
            Some(Next::Function(function)) => function,
            None => {
                let message = script.unexpected_request(&sent);
                script.unexpected.push(message.clone());
                drop(script);
                panic!("{message}");
            }
        };
        // The function may itself use the script.
        drop(script);
        let mut function = function.lock().unwrap_or_else(PoisonError::into_inner);
        function(request)
    }
}

enum Next {
    Reply(Reply),
    Function(Function),
}

impl Script {
    fn next(&mut self, sent: &Expected) -> Option<Next> {
        let (certain, any): (Vec<_>, Vec<_>) =
            self.rules.iter_mut().partition(|rule| rule.expected.is_some());
        let matching = certain
            .into_iter()
            .filter(|rule| rule.expected.as_ref().is_some_and(|known| known.matches(sent)));
        matching.chain(any).find_map(|rule| rule.source.next())
    }

    fn unused_replies(&self) -> Vec<String> {
        let left = self.rules.iter().filter_map(|rule| {
            let (Source::Queue(replies) | Source::Repeated(_, replies)) = &rule.source else { return None };
            let expected =
                rule.expected.as_ref().map_or_else(|| "any request".to_owned(), Expected::to_string);
            (!replies.is_empty()).then(|| format!("{expected}: {replies:?}"))
        });
        left.collect()
    }

    fn unexpected_request(&self, sent: &Expected) -> String {
        let left = self.unused_replies();
        let left = if left.is_empty() { "no reply is left".to_owned() } else { left.join("; ") };
        format!("unexpected {sent}; expected: {left}")
    }
}

impl Source {
    fn queue(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::Queue(replies.into_iter().collect())
    }

    fn next(&mut self) -> Option<Next> {
        match self {
            Self::Queue(replies) => {
                let reply = replies.pop_front()?;
                if reply.repeated {
                    *self = Self::Repeated(reply.clone(), std::mem::take(replies));
                }
                Some(Next::Reply(reply))
            }
            Self::Repeated(reply, _) => Some(Next::Reply(reply.clone())),
            Self::Function(function) => Some(Next::Function(Arc::clone(function))),
        }
    }
}

impl Transport for ScriptedTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let recorded = RecordedRequest::read(&request).await?;
            let sent = recorded.body.len() as u64;
            self.reply(&recorded).perform(&request, sent).await
        })
    }
}

partial_debug!(ScriptedTransport { unused = [script().unused_replies()] });

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        Email, Outcome,
        call::RetryPolicy,
        transport::{RequestDelivery, TransportErrorKind},
    };

    fn email() -> Email {
        Email::new("a@x.test", "b@x.test", "Hello").text("Hi")
    }

    fn message(work: impl FnOnce()) -> String {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        *failed.unwrap_err().downcast::<String>().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn replies_come_by_method_and_path_before_those_in_order() {
        let found = json!({"id": "e7", "to": [], "from": "a@x.test", "created_at": "2026-11-21T04:46:00Z", "subject": "s"});
        let script = ScriptedTransport::new([Reply::json(200, json!({"id": "e1"}))]).reply_to(
            "GET",
            "/emails/*",
            [Reply::error(503, "service_unavailable"), Reply::json(200, found).repeat()],
        );
        let client = script.client();
        for _ in 0..3 {
            assert_eq!(client.emails().get("e7").await.unwrap().id.as_str(), "e7");
        }
        client.emails().send(&email()).await.unwrap();
        let paths: Vec<_> = script.finish().iter().map(|request| request.path().to_owned()).collect();
        assert_eq!(paths, ["/emails/e7", "/emails/e7", "/emails/e7", "/emails/e7", "/emails"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unexpected_request_fails_the_test_even_if_its_panic_is_lost() {
        let script = ScriptedTransport::new([]).reply_to("GET", "/emails/*", [Reply::connection_lost()]);
        let client = script.client();
        let lost = tokio::spawn(async move { client.emails().send(&email()).await }).await;
        assert!(lost.unwrap_err().is_panic());
        let message = message(|| drop(script.finish()));
        for part in
            ["unexpected POST /emails {", "\"subject\":\"Hello\"", "expected: GET /emails/*: [failure Closed"]
        {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn unused_replies_fail_the_test() {
        let script = ScriptedTransport::new([Reply::connection_lost(), Reply::error(503, "")]);
        let message = message(|| drop(script.finish()));
        assert_eq!(message, "replies that were not used: any request: [failure Closed (Unknown), 503]");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_at_the_idle_timeout_as_over_a_network() {
        let half = || Reply::bytes(200, "{\"id\":").header("content-type", "application/json").incomplete();
        for silent in [Reply::stall(RequestDelivery::Unknown), Reply::stall(RequestDelivery::NotSent), half()]
        {
            let script = ScriptedTransport::new([silent, Reply::json(200, json!({"id": "e1"}))]);
            let start = tokio::time::Instant::now();
            script.client().emails().send(&email()).await.unwrap();
            assert!((30..32).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
            script.finish();
        }
        let script = ScriptedTransport::new([half().repeat()]);
        let (client, mut file) = (script.client(), Vec::new());
        let download = client.received().download("https://files.test/f1").write_to(&mut file);
        let error = tokio::time::timeout(Duration::from_secs(60), download).await.unwrap().unwrap_err();
        assert!(error.is_retryable() && file == b"{\"id\":", "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn replies_after_a_repeated_one_are_unused() {
        let repeated = Reply::json(200, json!({"id": "e1"})).repeat();
        let script = ScriptedTransport::new([repeated, Reply::error(503, "")]);
        for _ in 0..2 {
            script.client().emails().send(&email()).await.unwrap();
        }
        let message = message(|| drop(script.finish()));
        assert_eq!(message, "replies that were not used: any request: [503]");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stall_is_ended_by_the_timeout_with_the_outcome_of_its_delivery() {
        for (delivery, outcome) in
            [(RequestDelivery::NotSent, Outcome::NotSent), (RequestDelivery::Unknown, Outcome::Unknown)]
        {
            let script = ScriptedTransport::new([Reply::stall(delivery)]);
            let call = script.client().emails().send(&email()).retry(RetryPolicy::never());
            let error = call.timeout(Duration::from_secs(3)).await.unwrap_err();
            assert_eq!(error.outcome(), outcome, "{error:?}");
            assert_eq!(script.finish().len(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_is_delayed_by_the_paused_clock_and_computed_from_its_request() {
        let script = ScriptedTransport::from_fn(|request| {
            let id = request.json()["subject"].clone();
            Reply::json(200, json!({"id": id})).with_delay(Duration::from_secs(5))
        });
        let start = tokio::time::Instant::now();
        let accepted = script.client().emails().send(&email()).await.unwrap();
        assert_eq!((accepted.id.as_str(), start.elapsed().as_secs()), ("Hello", 5));
        assert_eq!(script.take_requests()[0].at, start);
    }

    #[tokio::test(start_paused = true)]
    async fn neither_requests_nor_replies_show_a_credential_in_debug() {
        // AUTH-08
        let script = ScriptedTransport::new([Reply::json(200, json!({"id": "sentinel"}))]);
        let shown = format!("{script:?}");
        script.client().emails().send(&email().text("sentinel")).await.unwrap();
        let requests = script.finish();
        assert_eq!(requests[0].header("authorization"), "Bearer re_test");
        let shown = format!("{shown} {requests:?}");
        assert!(
            shown.contains("/emails") && !shown.contains("re_test") && !shown.contains("sentinel"),
            "{shown}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_cut_or_never_ends_is_not_a_success() {
        let start = || Reply::bytes(200, r#"{"id":"#);
        for reply in [start().cut_off(TransportErrorKind::Closed), start().incomplete()] {
            let script = ScriptedTransport::new([reply]);
            let error =
                script.client().emails().send(&email()).retry(RetryPolicy::never()).await.unwrap_err();
            assert_eq!((error.outcome(), error.attempts()), (Outcome::Unknown, 1), "{error:?}");
            script.finish();
        }
    }
}
