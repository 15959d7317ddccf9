//! The life of a call: wait for a turn, authorize, send, judge, pause, send again, decode.
//!
//! What each attempt means is decided by [`classify`] and [`CallState`] alone. A session's access token can expire on its way, so a 401 is
//! followed by one renewal (shared by all calls that met it) and one more attempt with the same bytes and the same key, if the policy allows
//! another one: the service did not act on a request that it did not let in.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header, response};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;
use url::Url;

use super::{
    classify,
    core::Core,
    decode::{Decode, count_ids},
    limiter::{Permit, Verdict},
    operation::{IDEMPOTENCY_KEY, Operation},
    retry::{Cause, RetryEvent, RetryPolicy},
    state::{AttemptResult, CallState},
};
use crate::{
    auth::{Rejected, Token},
    error::{
        ApiError, ApiErrorKind, DecodeCause, DecodeError, Error, FileError, Outcome, RateLimitError, Result,
        TransportFailure, chain, request_id,
    },
    transport::{
        Collected, RequestDelivery, ResponseBody, TransportError, TransportErrorKind, TransportRequest,
    },
};

/// How long a call may take before its body is counted.
const BASE_TIMEOUT: Duration = Duration::from_mins(1);
/// The slowest line on which a large body still gets through.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Bytes of an error response that are kept; the rest is cut off.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

/// A call on its way.
pub(crate) type Running<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Carries out `operation` and decodes its response.
pub(crate) fn run<T: Send + 'static>(core: Arc<Core>, operation: Operation, decode: Decode<T>) -> Running<T> {
    let span = span(&operation);
    let work = decoded(core, operation, decode);
    // Boxed here, because a future that is moved into another one is copied whole.
    if span.is_disabled() { Box::pin(work) } else { Box::pin(work.instrument(span)) }
}

async fn decoded<T>(core: Arc<Core>, operation: Operation, decode: Decode<T>) -> Result<T> {
    let mut call = Execution::new(&core, operation.ready()?);
    loop {
        let failure = match call.attempt().await {
            Ok(response) => match call.decode(response, decode).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        call.pause_after(failure).await?;
    }
}

/// Carries out `operation` and returns its response as soon as the service has accepted; the body follows.
pub(crate) async fn open(core: &Core, operation: Operation) -> Result<http::Response<ResponseBody>> {
    let span = span(&operation);
    let work = async move {
        let mut call = Execution::new(core, operation.ready()?);
        loop {
            match call.attempt().await {
                Ok(response) => return Ok(response),
                Err(failure) => call.pause_after(failure).await?,
            }
        }
    };
    work.instrument(span).await
}

/// Names the call in logs. Neither an id nor a header is recorded: both can hold addresses.
fn span(operation: &Operation) -> tracing::Span {
    use tracing::field::Empty;
    tracing::debug_span!(
        "posthaste",
        operation = operation.name,
        method = %operation.method,
        route = %operation.route,
        status = Empty,
        attempts = Empty,
        request_id = Empty,
    )
}

/// The headers of a request, except the credential.
pub(crate) fn headers(core: &Core, operation: &Operation) -> HeaderMap {
    // Room for those that the transport adds: a full map hashes all of them anew.
    let mut headers = HeaderMap::with_capacity(core.headers.len() + operation.headers.len() + 8);
    // A default header can be another credential, so none leaves for a foreign address.
    let own = core
        .headers
        .iter()
        .filter(|(name, _)| operation.external_url.is_none() || *name == header::USER_AGENT);
    for (name, value) in own.chain(&operation.headers) {
        headers.insert(name.clone(), value.clone());
    }
    if let Some(key) = &operation.key {
        headers.insert(IDEMPOTENCY_KEY, key.header());
    }
    headers
}

/// The operation's URL: the path behind the base address, whose host is never read again and can't be replaced by a path.
pub(crate) fn address(base: &Url, operation: &Operation) -> Url {
    if let Some(url) = &operation.external_url {
        return url.clone();
    }
    let mut url = base.clone();
    match base.path().trim_end_matches('/') {
        "" => url.set_path(&operation.path),
        prefix => url.set_path(&format!("{prefix}{}", operation.path)),
    }
    if !operation.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&operation.query);
    }
    url
}

/// Why an attempt did not end the call.
struct Failure {
    /// None if it is the unreadable response that the execution keeps.
    error: Option<Error>,
    /// Why another attempt is safe and worthwhile, if it is.
    retry: Option<Cause>,
}

impl Failure {
    fn new(error: Error, retry: Option<Cause>) -> Self {
        Self { error: Some(error), retry }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error, None)
    }
}

/// One call while it runs.
struct Execution<'a> {
    core: &'a Core,
    operation: Operation,
    url: Url,
    policy: RetryPolicy,
    attempt_timeout: Duration,
    deadline: Option<Instant>,
    read_only: bool,
    state: CallState,
    /// The access token that the service rejected, until the next one is asked for.
    rejected: Option<Rejected>,
    /// A 401 was followed by another token.
    reauthorized: bool,
    /// The response that was accepted and could not be read.
    unread: Option<Box<DecodeError>>,
    /// A complete response could not be decoded.
    undecodable: bool,
    /// Status and request ID of the last response, for the span.
    last_response: Option<(u16, Option<String>)>,
    /// The error of the attempt before this one.
    last_error: Option<Error>,
}

impl<'a> Execution<'a> {
    fn new(core: &'a Core, operation: Operation) -> Self {
        if let Some(key) = operation.key.as_ref().filter(|_| operation.key_given)
            && core.keys.contradicts(key, &operation.path, &operation.body)
        {
            tracing::warn!("this idempotency key was used for another body before");
        }
        let default = BASE_TIMEOUT + Duration::from_secs(operation.body.len() / MIN_BYTES_PER_SECOND);
        let timeout = operation.timeout.or(core.timeout).unwrap_or(default);
        let key = operation.key.clone().filter(|_| operation.keyed);
        Self {
            core,
            url: address(&core.base_url, &operation),
            policy: operation.retry.clone().unwrap_or_else(|| core.retry.clone()),
            attempt_timeout: core.attempt_timeout.unwrap_or(default),
            deadline: Instant::now().checked_add(timeout),
            read_only: operation.method == Method::GET || operation.method == Method::HEAD,
            state: CallState::new(operation.name, operation.idempotency, key),
            rejected: None,
            reauthorized: false,
            unread: None,
            undecodable: false,
            last_response: None,
            last_error: None,
            operation,
        }
    }

    /// Sends one request. Returns a response that the service accepted with.
    async fn attempt(&mut self) -> Result<http::Response<ResponseBody>, Failure> {
        let (credential, token) = self.authorize().await?;
        // Held until the response is judged; dropped unsent, it leaves the turn to the next call.
        let mut permit = self.wait_for_turn().await?;
        self.state.attempts += 1;
        permit.sent();
        let end = self.attempt_end();
        let sent = self.core.transport.send(self.request(credential));
        let (head, body) = match before(end, sent).await {
            Ok(response) => response.into_parts(),
            Err(error) => {
                if error.delivery() == RequestDelivery::NotSent {
                    permit.give_back();
                }
                return Err(self.transport_failure(error));
            }
        };
        self.trace(&head);
        if head.status.is_success() {
            self.learn(&head.headers, Verdict::Admitted);
            self.core.budget.succeeded();
            return Ok(http::Response::from_parts(head, body));
        }
        // An error keeps its status, whatever is missing of its body.
        let body = body.collect(MAX_ERROR_BYTES.min(self.core.response_limit), end).await;
        let error = ApiError::from_response(head, body.bytes);
        Err(match token {
            Some(token) if error.status == StatusCode::UNAUTHORIZED => self.token_rejected(token, error),
            _ => self.error_response(error),
        })
    }

    /// Waits until the client's rate limit has a turn, if that comes before the deadline.
    async fn wait_for_turn(&mut self) -> Result<Permit<'a>, Failure> {
        self.core.limiter.acquire(self.deadline).await.map_err(|late| {
            let per_second = late.pace;
            let limit = Error::RateLimit(RateLimitError { per_second, available_in: late.available_in });
            // What the attempt before may have done matters more than why there is no other one.
            self.last_error.take().unwrap_or(limit).into()
        })
    }

    /// The credential for the next attempt, and the access token in it if that can be refreshed.
    async fn authorize(&mut self) -> Result<(Option<HeaderValue>, Option<Token>), Failure> {
        if self.operation.external_url.is_some() {
            return Ok((None, None));
        }
        let rejected = self.rejected.take();
        match self.core.credentials.authorize(self.deadline, rejected).await {
            Ok(authorized) => Ok((Some(authorized.header), authorized.token)),
            Err(error) => Err(self.unauthorized(Error::Auth(error)).into()),
        }
    }

    /// The error of a call that gets no credential: what an earlier attempt may have done stays open.
    fn unauthorized(&self, error: Error) -> Error {
        if self.state.outcome() != Outcome::Unknown {
            return error;
        }
        let cause = TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other).caused_by(error);
        Error::OutcomeUnknown(Box::new(TransportFailure::new(cause, self.state.summary())))
    }

    /// A 401 to an access token: the first one of a call asks for another token, the second one is final.
    fn token_rejected(&mut self, token: Token, error: ApiError) -> Failure {
        self.learn(&error.headers, Verdict::Unrelated);
        // Only the session can make it succeed, which it does before the next attempt.
        self.state.record(AttemptResult::Rejected { transient: !self.reauthorized });
        let rejected = Rejected { token, response: error.after(self.state.summary()) };
        if self.reauthorized {
            let error = self.core.credentials.give_up(rejected);
            return self.unauthorized(error.into()).into();
        }
        self.reauthorized = true;
        self.core.credentials.reject(&rejected.token);
        let error = Error::Api(Box::new(rejected.response.clone()));
        self.rejected = Some(rejected);
        Failure::new(error, Some(Cause::token_rejected()))
    }

    fn transport_failure(&mut self, error: TransportError) -> Failure {
        tracing::debug!(attempt = self.state.attempts, %error, "no response");
        let cause = Cause::transport_error(&error);
        let again = self.state.record(classify::transport_error(&error, self.read_only));
        Failure::new(self.without_response(error), again.then_some(cause))
    }

    /// The error of a call whose last attempt has no complete response.
    fn without_response(&self, error: TransportError) -> Error {
        match self.state.outcome() {
            Outcome::Unknown => {
                Error::OutcomeUnknown(Box::new(TransportFailure::new(error, self.state.summary())))
            }
            _ if error.kind() == TransportErrorKind::Body => Error::File(FileError::in_flight(error)),
            _ => Error::Unreachable(Box::new(TransportFailure::new(error, self.state.summary()))),
        }
    }

    fn error_response(&mut self, error: ApiError) -> Failure {
        let again = self.state.record(classify::error_response(&error, self.read_only));
        self.learn(
            &error.headers,
            match error.kind() {
                ApiErrorKind::RateLimited => Verdict::Throttled { retry_after: error.retry_after() },
                _ => Verdict::Unrelated,
            },
        );
        let cause = again.then(|| Cause::error_response(&error));
        Failure::new(Error::Api(Box::new(error.after(self.state.summary()))), cause)
    }

    /// Reads the whole body and decodes it.
    async fn decode<T>(
        &mut self,
        response: http::Response<ResponseBody>,
        decode: Decode<T>,
    ) -> Result<T, Failure> {
        let (head, body) = response.into_parts();
        let Collected { bytes, missing } = body.collect(self.core.response_limit, self.attempt_end()).await;
        let error = match missing {
            None => {
                let response = http::Response::from_parts(head, bytes);
                let counted = match self.operation.ids {
                    Some(ids) => count_ids(response, ids),
                    None => Ok(response),
                };
                match counted.and_then(decode) {
                    Ok(value) => return Ok(value),
                    Err(error) => error,
                }
            }
            Some(missing) if self.read_only => return Err(self.transport_failure(missing)),
            Some(missing) => {
                Box::new(DecodeError::new(head, &bytes, String::new(), DecodeCause::Incomplete(missing)))
            }
        };
        // The service keeps the response to a keyed request, so asking again fetches it: once if it is no JSON, since it won't be next time.
        let (incomplete, too_large) = match &error.source {
            DecodeCause::Incomplete(error) => (true, error.kind() == TransportErrorKind::TooLarge),
            DecodeCause::Json(_) => (false, false),
        };
        let transient = self.operation.keyed && !too_large;
        let again =
            self.state.record(AttemptResult::Accepted { transient }) && (incomplete || !self.undecodable);
        self.undecodable |= !incomplete;
        let cause = Cause::unreadable(error.status);
        self.unread = Some(error);
        Err(Failure { error: None, retry: again.then_some(cause) })
    }

    /// Pauses before another attempt, if policy, budget and deadline allow one; else ends the call with the error.
    async fn pause_after(&mut self, failure: Failure) -> Result<()> {
        let attempts = self.state.attempts;
        let Failure { error, retry } = failure;
        let pause = retry.as_ref().and_then(|cause| self.pause(cause));
        let (Some(cause), Some(pause)) = (retry, pause) else {
            // That the service accepted is what the caller has to know, whatever a later attempt brought.
            let unread = self.unread.take().map(|unread| Error::Decode(unread.after(self.state.summary())));
            let Some(error) = unread.or(error) else { return Ok(()) };
            tracing::debug!(attempts, error = chain(&error), "the call failed");
            return Err(error);
        };
        self.last_error = error;
        tracing::debug!(attempt = attempts, cause = cause.what, ?pause, "retrying");
        if cause.at_once {
            return Ok(());
        }
        if let Some(listener) = &self.operation.on_retry {
            listener(&RetryEvent { attempt: attempts, pause, cause: cause.what });
        }
        sleep(pause).await;
        Ok(())
    }

    fn pause(&self, cause: &Cause) -> Option<Duration> {
        let pause = self.policy.pause(self.state.attempts, cause, rand::random())?;
        if cause.at_once {
            return Some(Duration::ZERO);
        }
        let in_time = self.deadline.is_none_or(|deadline| {
            Instant::now().checked_add(pause).is_some_and(|resumed| resumed < deadline)
        });
        (in_time && self.core.budget.take(cause)).then_some(pause)
    }

    fn attempt_end(&self) -> Option<Instant> {
        [Instant::now().checked_add(self.attempt_timeout), self.deadline].into_iter().flatten().min()
    }

    fn request(&self, credential: Option<HeaderValue>) -> TransportRequest {
        let mut headers = headers(self.core, &self.operation);
        if let Some(credential) = credential {
            headers.insert(header::AUTHORIZATION, credential);
        }
        TransportRequest {
            method: self.operation.method.clone(),
            url: self.url.clone(),
            headers,
            body: self.operation.body.clone(),
            idle_timeout: self.core.idle_timeout,
            new_connection: false,
            on_upload: self.operation.on_upload.clone(),
        }
    }

    /// Adapts the client's pace to what the service announces. Other servers announce nothing about it.
    fn learn(&self, headers: &HeaderMap, verdict: Verdict) {
        if self.operation.external_url.is_none() {
            self.core.limiter.learn(headers, verdict);
        }
    }

    /// Logs the response to one attempt, and keeps what the span says of the call at its end.
    fn trace(&mut self, head: &response::Parts) {
        if tracing::Span::current().is_disabled() {
            return;
        }
        let (attempt, status) = (self.state.attempts, head.status.as_u16());
        let request_id = request_id(&head.headers).map(str::to_owned);
        tracing::debug!(attempt, status, request_id, "response");
        self.last_response = Some((status, request_id));
    }
}

/// The span has its last fields when the call is over, canceled calls included.
impl Drop for Execution<'_> {
    fn drop(&mut self) {
        let span = tracing::Span::current();
        if span.is_disabled() {
            return;
        }
        span.record("attempts", self.state.attempts);
        if let Some((status, request_id)) = &self.last_response {
            span.record("status", status);
            if let Some(id) = request_id {
                span.record("request_id", id.as_str());
            }
        }
    }
}

/// The response head, unless the time is over before it arrives.
async fn before(
    end: Option<Instant>,
    sent: impl Future<Output = Result<http::Response<ResponseBody>, TransportError>>,
) -> Result<http::Response<ResponseBody>, TransportError> {
    match end {
        None => sent.await,
        Some(end) => timeout_at(end, sent).await.unwrap_or_else(|_| {
            Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_behind_the_base_address_and_never_replaces_its_host() {
        // GEN-12, GEN-30, GEN-31
        let goes = |base: &str, path: &str| {
            let mut operation = Operation::raw(Method::GET, "/".to_owned());
            operation.path = path.to_owned().into();
            let before = address(&Url::parse(base).unwrap(), &operation).to_string();
            operation.query.push(("after".into(), "a&b=c d".into()));
            assert_eq!(
                address(&Url::parse(base).unwrap(), &operation).as_str(),
                format!("{before}?after=a%26b%3Dc+d")
            );
            before
        };
        assert_eq!(goes("http://[::1]:4010", "/emails"), "http://[::1]:4010/emails");
        assert_eq!(goes("https://api.test/mail/v1/", "/emails"), "https://api.test/mail/v1/emails");
        assert_eq!(goes("https://api.test", "/domains/a%2Fb%40c"), "https://api.test/domains/a%2Fb%40c");
        assert_eq!(goes("https://api.test", "//evil.test/x"), "https://api.test//evil.test/x");
    }
}
