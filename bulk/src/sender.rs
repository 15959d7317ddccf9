//! The boundary between a job and the service: one attempt to send one batch.

use std::{
    future::Future,
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header::DATE};
use idempost::{
    Accepted, Client, Error, Outcome,
    call::RetryPolicy,
    emails::{AcceptedBatch, EmailMetric, EmailMetricsQuery},
    error::{ApiError, ApiErrorKind, Recovery},
    transport::TransportErrorKind,
};
use serde::Deserialize;

use crate::{
    clock::StatedTime, pace::Observation, plan::BatchKind, state::AttemptResult, stop_rule::Feedback,
};

/// The timeout for an attempt. The service responds to a batch in well under a second; after a timeout, the outcome is uncertain.
const TIMEOUT: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
/// A longer `Retry-After` counts as an exhausted quota, which a job doesn't wait for.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(5);

/// The names of errors that only the service returns for a list of domains.
const SERVICE_ERRORS: [&str; 4] =
    ["restricted_api_key", "invalid_permission", "invalid_access", "rate_limit_exceeded"];

/// One attempt to send a batch or a single email.
#[derive(Clone, Debug)]
pub(crate) struct SendRequest {
    pub(crate) kind: BatchKind,
    /// The number of emails.
    pub(crate) emails: u16,
    /// The idempotency key, the same for all attempts of a batch.
    pub(crate) key: String,
    /// The exact bytes of the JSON body, the same for all attempts of a batch.
    pub(crate) body: Bytes,
}

/// The outcome of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Decides what happens to the batch.
    pub(crate) result: AttemptResult,
    /// Affects the job's pace.
    pub(crate) observation: Observation,
    /// The response headers, which may announce the rate limit; empty without a response.
    pub(crate) headers: HeaderMap,
}

/// Makes single attempts, without retrying or waiting for a rate limit: the job does both.
pub(crate) trait Sender: Send + Sync + 'static {
    fn send(&self, request: SendRequest) -> impl Future<Output = Attempt> + Send;

    /// Returns the service's time, or `None` if its responses don't state it. Fails if there is no response.
    fn time(&self) -> impl Future<Output = Result<Option<StatedTime>, Attempt>> + Send;

    /// Counts the sent emails by delivery outcome since a time, in milliseconds since the Unix epoch.
    fn feedback(&self, ids: &[String], since: u64) -> impl Future<Output = Result<Feedback, Attempt>> + Send;
}

/// Returns the time that a response states.
pub(crate) fn response_time(headers: &HeaderMap, is_certain: bool) -> Option<StatedTime> {
    let text = headers.get(DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let since_epoch = Duration::try_from(date.as_duration()).ok()?;
    Some(StatedTime { since_epoch, is_certain })
}

impl Sender for Client {
    async fn send(&self, request: SendRequest) -> Attempt {
        let path = match request.kind {
            BatchKind::Batch => "/emails/batch",
            BatchKind::Single => "/emails",
        };
        let call = self
            .request(Method::POST, path)
            .body("application/json", request.body)
            .idempotency_key(request.key)
            .retry(RetryPolicy::never())
            .timeout(TIMEOUT);
        // A service without support for the header rejects the whole batch, which is then sent email by email.
        let call = match request.kind {
            BatchKind::Batch => call.header("x-batch-validation", "permissive"),
            BatchKind::Single => call,
        };
        match call.with_response_type::<Response>().with_response().await {
            Ok(response) => Attempt {
                result: response.value.result(request.emails),
                observation: Observation::Accepted,
                headers: response.headers,
            },
            Err(error) => classify_error(&error),
        }
    }

    async fn time(&self) -> Result<Option<StatedTime>, Attempt> {
        // Any response states the time, even a rejection.
        let call = self.request(Method::GET, "/domains").retry(RetryPolicy::never()).timeout(TIMEOUT);
        let error = match call.with_response().await {
            Ok(response) => return Ok(response_time(&response.headers, response.value["data"].is_array())),
            Err(error) => error,
        };
        let (time, is_final) = match &error {
            // A gateway may admit only requests that send.
            Error::Api(response) => {
                let is_certain = SERVICE_ERRORS.contains(&response.name.as_str());
                (response_time(&response.headers, is_certain), response.status.is_client_error())
            }
            Error::Decode(response) => (response_time(&response.headers, false), false),
            _ => (None, false),
        };
        if time.is_some() || is_final { Ok(time) } else { Err(classify_error(&error)) }
    }

    async fn feedback(&self, ids: &[String], since: u64) -> Result<Feedback, Attempt> {
        let metrics = [EmailMetric::Delivered, EmailMetric::Bounced, EmailMetric::Complained];
        // This machine's clock may be ahead of the service's, which rejects a start in the future.
        let since = UNIX_EPOCH + Duration::from_millis(since).saturating_sub(DAY);
        let query = EmailMetricsQuery::new().metrics(metrics).emails(ids).start_date(since);
        let call = self.emails().metrics(&query).retry(RetryPolicy::never()).timeout(TIMEOUT);
        let totals = call.await.map_err(|error| classify_error(&error))?.totals;
        let bounced = totals.bounced.unwrap_or_default();
        Ok(Feedback {
            known: totals.delivered.unwrap_or_default() + bounced,
            bounced,
            complained: totals.complained.unwrap_or_default(),
        })
    }
}

/// The response to a send.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Response {
    Batch(AcceptedBatch),
    Single(Accepted),
}

impl Response {
    fn result(self, emails: u16) -> AttemptResult {
        let (data, errors) = match self {
            Self::Batch(AcceptedBatch { data, errors, .. }) => (data, errors),
            Self::Single(accepted) => (vec![accepted], Vec::new()),
        };
        let ids = data.iter().map(|accepted| accepted.id.as_str().into()).collect();
        let errors = errors.into_iter().map(|error| (error.index, error.message.into())).collect();
        AttemptResult::from_response(emails, ids, errors)
    }
}

/// Classifies a failed attempt.
fn classify_error(error: &Error) -> Attempt {
    // Earlier requests of the job may have been sent.
    let reason = Box::<str>::from(error.reason());
    let (result, observation) = match error {
        Error::Api(response) => return error_response(error, response, reason),
        // The client's recipient guard rejected the request; another attempt wouldn't help.
        Error::Invalid(_) => (AttemptResult::Unauthorized { status: 0, message: reason }, Observation::Other),
        // The next attempt refreshes a rejected access token.
        Error::Auth(_) if error.is_retryable() => (AttemptResult::NotSent(reason), Observation::Unreachable),
        _ if error.recovery() == Recovery::Act => {
            let status = error.status().map_or(0, |status| status.as_u16());
            (AttemptResult::Unauthorized { status, message: reason }, Observation::Other)
        }
        Error::OutcomeUnknown(failure) => {
            let timeout = failure.transport.kind() == TransportErrorKind::Timeout;
            let observation = if timeout { Observation::Timeout } else { Observation::Unreachable };
            (AttemptResult::Uncertain(reason), observation)
        }
        _ if error.outcome() == Outcome::NotSent => {
            (AttemptResult::NotSent(reason), Observation::Unreachable)
        }
        _ => (AttemptResult::Uncertain(reason), Observation::ServerError),
    };
    Attempt { result, observation, headers: HeaderMap::new() }
}

fn error_response(error: &Error, response: &ApiError, reason: Box<str>) -> Attempt {
    let status = response.status.as_u16();
    let retry_after = response.retry_after();
    let name = || if response.name.is_empty() { "rate limit" } else { &response.name }.into();
    let (result, observation) = match (response.kind(), response.status) {
        (ApiErrorKind::QuotaExceeded, _) => {
            (AttemptResult::Quota { name: name(), retry_after }, Observation::Other)
        }
        (ApiErrorKind::RateLimited, _) if retry_after.is_some_and(|delay| delay > MAX_RETRY_AFTER) => {
            (AttemptResult::Quota { name: name(), retry_after }, Observation::Other)
        }
        (ApiErrorKind::RateLimited, _) => {
            (AttemptResult::Throttled { retry_after }, Observation::Throttled { retry_after })
        }
        // The sender's domain isn't verified, which may affect only one row.
        (ApiErrorKind::Validation, StatusCode::FORBIDDEN) => {
            (AttemptResult::Rejected { status, message: reason }, Observation::Other)
        }
        (ApiErrorKind::Conflict, _) if response.name == "resource_locked" => {
            (AttemptResult::NotSent(reason), Observation::ServerError)
        }
        // Only its key can conflict: a proxy may have repeated the request, and written its own response instead of the service's second one.
        (ApiErrorKind::Conflict, _) => (AttemptResult::Uncertain(reason), Observation::ServerError),
        _ if error.outcome() == Outcome::Unknown => {
            (AttemptResult::Uncertain(reason), Observation::ServerError)
        }
        // One row may name a missing template while others name an existing one.
        _ if error.recovery() == Recovery::Act
            && (response.kind() != ApiErrorKind::NotFound || response.is_html()) =>
        {
            (AttemptResult::Unauthorized { status, message: reason }, Observation::Other)
        }
        (ApiErrorKind::IdempotencyConflict, _) if response.name == "invalid_idempotent_request" => {
            (AttemptResult::KeyUsed, Observation::Other)
        }
        // The service didn't execute the request (421, 425), or this was a read, after a server error.
        _ if error.is_retryable() => (AttemptResult::NotSent(reason), Observation::ServerError),
        _ => (AttemptResult::Rejected { status, message: reason }, Observation::Other),
    };
    Attempt { result, observation, headers: response.headers.clone() }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::UNIX_EPOCH;

    use idempost::transport::{BoxFuture, ResponseBody, Transport, TransportError, TransportRequest};
    use idempost_reference_server::{ReferenceServer, faults::Action};

    use super::*;

    async fn attempt(server: &ReferenceServer, client: &Client, action: Action) -> AttemptResult {
        server.service().faults().add_once(action);
        let body = Bytes::from_static(
            br#"[{"from":"hi@acme.test","to":"ada@example.com","subject":"Hi","text":"Hello"}]"#,
        );
        let request = SendRequest { kind: BatchKind::Batch, emails: 1, key: "k".into(), body };
        Sender::send(client, request).await.result
    }

    #[tokio::test]
    async fn a_5xx_leaves_a_batch_uncertain_whatever_its_name() {
        // B-14
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for status in [500, 502, 503, 504, 524] {
            for name in [
                "",
                "validation_error",
                "not_found",
                "invalid_api_key",
                "restricted_api_key",
                "resource_locked",
                "rate_limit_exceeded",
                "daily_quota_exceeded",
                "invalid_idempotent_request",
                "concurrent_idempotent_requests",
                "internal_server_error",
            ] {
                let result = attempt(&server, &client, Action::error(status, name, "no")).await;
                assert!(matches!(result, AttemptResult::Uncertain(_)), "{status} {name}: {result:?}");
            }
        }
    }

    #[tokio::test]
    async fn every_response_states_the_time_of_the_service() {
        // F-11
        let server = ReferenceServer::start().await;
        let now = UNIX_EPOCH.elapsed().unwrap();
        for key in [server.api_key(), "re_unknown".to_owned()] {
            let client = Client::new(&server.base_url(), &key).unwrap();
            let time = Sender::time(&client).await.unwrap().unwrap();
            assert!(time.since_epoch.abs_diff(now) < Duration::from_mins(1), "{time:?}");
        }
        let client = Client::new("http://127.0.0.1:9", "re_x").unwrap();
        let failed = Sender::time(&client).await.unwrap_err();
        let AttemptResult::NotSent(reason) = &failed.result else { panic!("{failed:?}") };
        // Other requests of the job may have been sent.
        assert!(reason.starts_with("127.0.0.1:9 is unreachable") && !reason.contains("nothing"), "{reason}");
    }

    /// Responds to every request with this status and body, and this `Date`.
    struct Fixed(u16, &'static str, Option<&'static str>);

    impl Transport for Fixed {
        fn send(
            &self,
            _: TransportRequest,
        ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
            let builder =
                self.2.iter().fold(http::Response::builder(), |builder, date| builder.header(DATE, *date));
            let response = builder.status(self.0).body(self.1.into()).unwrap();
            Box::pin(std::future::ready(Ok(response)))
        }
    }

    pub(crate) fn client_of(status: u16, body: &'static str, date: Option<&'static str>) -> Client {
        let transport = Fixed(status, body, date);
        Client::builder().base_url("https://a.test").api_key("re_x").transport(transport).build().unwrap()
    }

    #[tokio::test]
    async fn a_page_of_a_proxy_states_no_certain_time_and_none_without_a_date() {
        // F-11
        const DATE: &str = "Thu, 01 Jan 1970 00:00:09 GMT";
        const REJECTION: &str = r#"{"statusCode":401,"name":"missing_api_key","message":"no"}"#;
        const RESTRICTED: &str = r#"{"statusCode":401,"name":"restricted_api_key","message":"no"}"#;
        let certain = Some(Some((9, true)));
        let stated = Some(Some((9, false)));
        for (status, body, date, expected) in [
            (200, r#"{"object":"list","data":[]}"#, Some(DATE), certain),
            (401, RESTRICTED, Some(DATE), certain),
            (200, "{}", Some(DATE), stated),
            (401, r#"{"name":"UnauthorizedError","message":"no"}"#, Some(DATE), stated),
            (200, "<html>", Some(DATE), stated),
            (200, "<html>", None, None),
            (502, "<html>", Some(DATE), stated),
            (502, "<html>", None, None),
            // A service without a clock.
            (200, "{}", None, Some(None)),
            (401, REJECTION, None, Some(None)),
            (403, "<html>", None, Some(None)),
        ] {
            let time = Sender::time(&client_of(status, body, date)).await.ok();
            assert_eq!(
                time.map(|time| time.map(|time| (time.since_epoch.as_secs(), time.is_certain))),
                expected,
                "{status} {body} {date:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_read_that_fails_is_no_contact_with_the_service() {
        for (status, body) in [
            (500, r#"{"name":"internal_server_error","message":"no"}"#),
            (502, "<html>"),
            (503, "<html>"),
            (200, "<html>"),
        ] {
            let client = client_of(status, body, None);
            let time = Sender::time(&client).await.unwrap_err();
            let feedback = Sender::feedback(&client, &["1".into()], 0).await.unwrap_err();
            for result in [time.result, feedback.result] {
                let is_silence = matches!(result, AttemptResult::NotSent(_) | AttemptResult::Uncertain(_));
                assert!(is_silence, "{status} {body}: {result:?}");
            }
        }
    }

    #[tokio::test]
    async fn only_a_response_of_the_api_rejects_a_batch() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for status in [421, 425] {
            let result =
                attempt(&server, &client, Action::http_response(status, "<html>Not here</html>")).await;
            assert!(matches!(result, AttemptResult::NotSent(_)), "{status}: {result:?}");
        }
        for status in [302, 400, 404, 405, 422] {
            let result =
                attempt(&server, &client, Action::http_response(status, "<html>Not the API</html>")).await;
            assert!(matches!(result, AttemptResult::Unauthorized { .. }), "{status}: {result:?}");
        }
        for (status, name) in
            [(403, "validation_error"), (404, "not_found"), (413, "too_large"), (422, "validation_error")]
        {
            let result = attempt(&server, &client, Action::error(status, name, "no")).await;
            assert!(matches!(result, AttemptResult::Rejected { .. }), "{status}: {result:?}");
        }
    }

    #[tokio::test]
    async fn a_status_that_does_not_say_whether_the_service_acted_leaves_a_batch_uncertain() {
        // B-14
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for status in [303, 408, 409, 500, 600] {
            for body in ["", "<html>Not the API</html>", r#"{"name":"new","message":"no"}"#] {
                let result = attempt(&server, &client, Action::http_response(status, body)).await;
                assert!(matches!(result, AttemptResult::Uncertain(_)), "{status} {body}: {result:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_200_that_is_not_the_api_s_leaves_a_batch_uncertain() {
        // B-05
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        for body in [
            "<html><title>Sign in</title></html>",
            "",
            r#"{"status":"ok"}"#,
            r#"{"data":[{"id":7}]}"#,
            r#"{"data":[{"id":""}]}"#,
            r#"{"data":[],"errors":[{"message":"no"}]}"#,
        ] {
            let result = attempt(&server, &client, Action::http_response(200, body)).await;
            assert!(matches!(result, AttemptResult::Uncertain(_)), "{body}: {result:?}");
        }
    }
}
