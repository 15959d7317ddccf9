//! The execution of a call: admit, authorize, wait for the rate limiter, send, classify, delay, retry, decode.
//!
//! Only [`classify`] and [`CallState`] interpret the result of an attempt. An access token can expire in flight, so a 401 triggers one token refresh
//! (shared by all calls that received one) and, if the policy allows another attempt, one more attempt with the same bytes and the same key: the
//! service did not act on an unauthorized request.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use tracing::Instrument as _;
use url::Url;

use super::{
    admission::{Admitted, admit},
    classify,
    core::Core,
    decode::{Decode, count_ids, decode, ensure_api_response, ensure_requested_form},
    limiter::Permit,
    operation::{BATCH_VALIDATION, IDEMPOTENCY_KEY, Operation},
    rate_limiter::RateVerdict,
    retry::{Cause, FailedAttempt, RetryEvent, RetryPolicy},
    state::{AttemptResult, CallState},
    trace::{self, Trace},
};
use crate::{
    auth::{Rejected, Token},
    clock::{Instant, sleep, wall},
    error::{
        ApiError, ApiErrorKind, DecodeCause, DecodeError, Error, FileError, Outcome, RateLimitError, Result,
        TransportFailure, chain,
    },
    transport::{
        Collected, RequestDelivery, ResponseBody, TransportError, TransportErrorKind, TransportRequest,
        Upload, send_until,
    },
};

/// The default timeout of a call without a body; the size of the body adds to it.
const BASE_TIMEOUT: Duration = Duration::from_secs(60);
/// The slowest upload that a default timeout allows for.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// How long after a request that the service may have executed a call repeats it with the same idempotency key. The service remembers the key for
/// 24 hours (`docs/specification.md`, POST /emails); the last hour covers the time in transit and clocks of different speed.
const KEY_LIFETIME: Duration = Duration::from_secs(23 * 60 * 60);
/// The maximum number of bytes read from an error response.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

/// A running call.
pub(crate) type Running<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Executes `operation` and decodes its response.
pub(crate) fn run<T: Send + 'static>(
    core: Arc<Core>,
    operation: Box<Operation>,
    decode: Decode<T>,
) -> Running<T> {
    let span = trace::call_span(&operation);
    let work = async move {
        let mut value = None;
        let mut accept = |response| decode(response).map(|decoded| value = Some(decoded));
        execute(&core, operation, &mut accept).await?;
        Ok(value.expect("an accepted response has a value"))
    };
    // Boxed here, since moving a future into another one copies it entirely.
    if span.is_disabled() { Box::pin(work) } else { Box::pin(work.instrument(span)) }
}

/// Decodes a complete successful response and stores its value.
type Accept<'a> = &'a mut (dyn FnMut(http::Response<Bytes>) -> Result<(), Box<DecodeError>> + Send);

/// Executes `operation` until a response is accepted. All value types share this code.
async fn execute(core: &Arc<Core>, operation: Box<Operation>, accept: Accept<'_>) -> Result<()> {
    let mut call = Execution::new(core, admit_operation(core, operation).await?);
    loop {
        let failure = match call.attempt().await {
            Ok(response) => match call.decode(response, accept).await {
                Ok(()) => {
                    call.trace.record_success();
                    return Ok(());
                }
                Err(failure) => failure,
            },
            Err(failure) => failure,
        };
        call.delay_after(failure).await?;
    }
}

/// Executes `operation` and returns the response once the service has accepted it; the body hasn't been read yet.
pub(crate) async fn open(
    core: &Arc<Core>,
    operation: Box<Operation>,
) -> Result<http::Response<ResponseBody>> {
    let span = trace::call_span(&operation);
    let work = async move {
        let mut call = Execution::new(core, admit_operation(core, operation).await?);
        loop {
            match call.attempt().await {
                Ok(response) => {
                    call.refund_retries();
                    call.trace.record_success();
                    return Ok(response);
                }
                Err(failure) => call.delay_after(failure).await?,
            }
        }
    };
    work.instrument(span).await
}

async fn admit_operation(core: &Arc<Core>, mut operation: Box<Operation>) -> Result<Admitted> {
    operation.timeout = operation.timeout.or(core.timeout);
    let read = |operation| run(Arc::clone(core), Box::new(operation), decode::<Value>);
    admit(&core.recipients, operation, &read).await.inspect_err(trace::record_call_failure)
}

/// Returns the request headers without the credential.
pub(crate) fn request_headers(core: &Core, operation: &Operation) -> HeaderMap {
    // Leaves room for the headers that the transport adds: growing the map would rehash all headers.
    let mut headers = HeaderMap::with_capacity(core.headers.len() + operation.headers.len() + 8);
    // A default header can contain another credential, so none is sent to an external URL.
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

/// Returns the operation's URL: its path appended to the base URL. A path can't change the host.
pub(crate) fn operation_url(base: &Url, operation: &Operation) -> Url {
    if let Some(url) = &operation.external_url {
        return url.clone();
    }
    let mut url = base.clone();
    match base.path().trim_end_matches('/') {
        "" => url.set_path(&operation.path),
        prefix => url.set_path(&format!("{prefix}{}", operation.path)),
    }
    if let Some(query) = operation.encoded_query() {
        url.set_query(Some(&query));
    }
    url
}

/// An attempt that failed.
struct Failure {
    /// `None` if the execution holds the error: an accepted response that couldn't be read.
    error: Option<Error>,
    /// The cause of a retry, if one is safe and worthwhile.
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

/// The state of a running call.
struct Execution<'a> {
    core: &'a Core,
    operation: Box<Operation>,
    url: Url,
    policy: RetryPolicy,
    attempt_timeout: Duration,
    started: Instant,
    deadline: Option<Instant>,
    read_only: bool,
    state: CallState,
    /// The access token that the service rejected, until the next one has been requested.
    rejected: Option<Rejected>,
    /// Whether a 401 has already led to a new token.
    reauthorized: bool,
    /// The error of an accepted response that couldn't be read.
    unread: Option<Error>,
    /// When the last attempt was sent, on the limiter's clock.
    sent_at: Duration,
    /// When the first attempt was sent that the service may have executed.
    uncertain_since: Option<Clocks>,
    /// The deadline of the last attempt.
    attempt_end: Option<Instant>,
    /// Whether a complete response couldn't be decoded.
    undecodable: bool,
    trace: Trace,
    /// The error of the previous attempt.
    last_error: Option<Error>,
    /// The cost of this call's retries, withdrawn from the client's budget; `None` if the budget doesn't cover another retry.
    withdrawn: Option<i64>,
}

impl<'a> Execution<'a> {
    fn new(core: &'a Core, operation: Admitted) -> Self {
        let operation = operation.into_inner();
        let default = BASE_TIMEOUT + Duration::from_secs(operation.body.len() / MIN_BYTES_PER_SECOND);
        let timeout = operation.timeout.unwrap_or(default);
        let key = operation.key.clone().filter(|_| operation.is_keyed());
        let started = Instant::now();
        Self {
            core,
            url: operation_url(&core.base_url, &operation),
            policy: operation.retry.clone().unwrap_or_else(|| core.retry.clone()),
            attempt_timeout: core.attempt_timeout.unwrap_or(timeout),
            started,
            deadline: started.checked_add(timeout),
            read_only: operation.method == Method::GET || operation.method == Method::HEAD,
            state: CallState::new(operation.name, operation.idempotency, key),
            rejected: None,
            reauthorized: false,
            unread: None,
            sent_at: Duration::ZERO,
            uncertain_since: None,
            attempt_end: None,
            undecodable: false,
            trace: Trace::new(core, &operation),
            last_error: None,
            withdrawn: Some(0),
            operation,
        }
    }

    /// Sends one request, and returns the response if the service accepted.
    async fn attempt(&mut self) -> Result<http::Response<ResponseBody>, Failure> {
        let (credential, token) = self.authorize().await?;
        // Held until the response is classified. Dropping a permit before sending passes its slot to the next call.
        let mut permit = self.wait_for_turn().await?;
        if let Some(failure) = self.forgotten_key_failure() {
            return Err(failure);
        }
        self.state.attempts += 1;
        self.sent_at = permit.mark_sent();
        if self.state.outcome() != Outcome::Accepted {
            self.report_outcome(Outcome::Unknown);
        }
        let span = self.trace.begin_attempt(&self.operation, &self.url);
        let end =
            [Instant::now().checked_add(self.attempt_timeout), self.deadline].into_iter().flatten().min();
        self.attempt_end = end;
        let request = self.request(credential, &span);
        let sent = send_until(end, &*self.core.transport, request, &self.url).instrument(span);
        let (head, body) = match sent.await {
            Ok(response) => response.into_parts(),
            Err(error) => {
                if error.delivery() == RequestDelivery::NotSent {
                    permit.release();
                }
                return Err(self.transport_failure(error));
            }
        };
        self.trace.record_response(&head);
        if head.status.is_success() {
            self.update_limiter(&head.headers, RateVerdict::Admitted);
            if self.operation.external_url.is_some()
                && let Err(error) = ensure_requested_form(&self.operation.headers, &head)
            {
                self.trace.record_undecodable();
                self.state.record(AttemptResult::Rejected { transient: false });
                return Err(Error::Decode(error).with_call(self.state.summary()).into());
            }
            return Ok(http::Response::from_parts(head, body));
        }
        // An error response counts even if its body is incomplete.
        let body = body.collect(MAX_ERROR_BYTES.min(self.core.response_limit), end).await;
        let is_download = self.operation.external_url.is_some();
        let error = ApiError { is_download, ..ApiError::from_response(head, body.bytes) };
        Err(match token {
            // A new token would have the same permissions.
            Some(token)
                if error.status == StatusCode::UNAUTHORIZED && error.kind() != ApiErrorKind::Permission =>
            {
                self.token_rejected(token, error)
            }
            _ => self.error_response(error),
        })
    }

    /// Waits for a slot of the client's rate limiter, unless the slot comes after the deadline.
    async fn wait_for_turn(&mut self) -> Result<Permit<'a>, Failure> {
        #[cfg(feature = "otel")]
        self.trace.recorder.queue();
        self.core.limiter.acquire(self.deadline).await.map_err(|late| {
            let per_second = late.rate;
            let limit = Error::RateLimit(RateLimitError { per_second, available_in: late.available_in });
            // The outcome of the previous attempt matters more than the reason for not making another one.
            self.last_error.take().unwrap_or(limit).into()
        })
    }

    /// Returns a failure if the service may have executed an earlier attempt, and may have forgotten its key since: while this call waited, the machine
    /// may have slept.
    fn forgotten_key_failure(&mut self) -> Option<Failure> {
        if !self.state.may_have_acted() {
            self.uncertain_since = Some(Clocks::now());
        }
        self.is_key_forgotten_in(Duration::ZERO).then(|| {
            self.state.expire_key();
            let error = self.last_error.take().map(|error| error.with_call(self.state.summary()));
            Failure { error, retry: None }
        })
    }

    /// Returns whether, after this delay, the service may have forgotten the key of an attempt that it may have executed.
    fn is_key_forgotten_in(&self, delay: Duration) -> bool {
        let uncertain = self.operation.is_keyed() && self.state.may_have_acted();
        let since = self.uncertain_since.filter(|_| uncertain);
        since.is_some_and(|since| since.elapsed_at(Clocks::now()).saturating_add(delay) >= KEY_LIFETIME)
    }

    /// Returns the credential for the next attempt, and its access token if it can be refreshed.
    async fn authorize(&mut self) -> Result<(Option<HeaderValue>, Option<Token>), Failure> {
        if self.operation.external_url.is_some() {
            return Ok((None, None));
        }
        let rejected = self.rejected.take();
        match self.core.credentials.authorize(self.deadline, rejected).await {
            Ok(authorized) => Ok((Some(authorized.header), authorized.token)),
            Err(error) => Err(self.unauthorized_error(Error::Auth(error)).into()),
        }
    }

    /// Returns the error of a call without a credential. The outcome of earlier attempts still counts.
    fn unauthorized_error(&self, error: Error) -> Error {
        if self.state.outcome() != Outcome::Unknown {
            return error;
        }
        let cause =
            TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other).with_source(error);
        Error::OutcomeUnknown(Box::new(TransportFailure::new(cause, self.state.summary())))
    }

    /// Handles a 401 in response to an access token: the first in a call leads to a new token, the second is final.
    fn token_rejected(&mut self, token: Token, error: ApiError) -> Failure {
        self.update_limiter(&error.headers, RateVerdict::Unrelated);
        // The session resolves it before the next attempt.
        self.state.record(AttemptResult::Rejected { transient: !self.reauthorized });
        let response = ApiError { call: self.state.summary(), ..error };
        let rejected = Rejected { token, response };
        if self.reauthorized {
            let error = self.core.credentials.give_up(rejected);
            return self.unauthorized_error(error.into()).into();
        }
        self.reauthorized = true;
        self.core.credentials.reject(&rejected.token);
        let error = Error::Api(Box::new(rejected.response.clone()));
        self.rejected = Some(rejected);
        Failure::new(error, Some(Cause::token_rejected()))
    }

    fn transport_failure(&mut self, error: TransportError) -> Failure {
        self.trace.record_no_response(&error);
        let cause = Cause::transport_error(&error);
        let again = self.state.record(classify::transport_error(&error, self.read_only));
        Failure::new(self.no_response_error(error), again.then_some(cause))
    }

    /// Returns the error of a call whose last attempt has no complete response.
    fn no_response_error(&self, error: TransportError) -> Error {
        match self.state.outcome() {
            Outcome::Unknown => {
                Error::OutcomeUnknown(Box::new(TransportFailure::new(error, self.state.summary())))
            }
            _ if error.kind() == TransportErrorKind::Body => Error::File(FileError::in_flight(error)),
            _ => match error.into_settings() {
                Ok(error) => Error::Settings(error),
                Err(error) => {
                    Error::Unreachable(Box::new(TransportFailure::new(error, self.state.summary())))
                }
            },
        }
    }

    fn error_response(&mut self, error: ApiError) -> Failure {
        let again =
            self.state.record(classify::error_response(&error, self.operation.is_keyed(), self.read_only));
        self.update_limiter(
            &error.headers,
            match error.kind() {
                ApiErrorKind::RateLimited => RateVerdict::Throttled { retry_after: error.retry_after() },
                _ => RateVerdict::Unrelated,
            },
        );
        let cause = again.then(|| Cause::error_response(&error));
        Failure::new(Error::Api(Box::new(error)).with_call(self.state.summary()), cause)
    }

    /// Reads the whole body and decodes it.
    async fn decode(
        &mut self,
        response: http::Response<ResponseBody>,
        accept: Accept<'_>,
    ) -> Result<(), Failure> {
        let (head, body) = response.into_parts();
        let Collected { bytes, missing } = body.collect(self.core.response_limit, self.attempt_end).await;
        let body = bytes.clone();
        let error = match missing {
            None => {
                let checked = self.check(http::Response::from_parts(head, bytes));
                match checked.and_then(accept) {
                    Ok(()) => {
                        self.refund_retries();
                        return Ok(());
                    }
                    Err(error) => error,
                }
            }
            Some(missing) if self.read_only => {
                return Err(self.transport_failure(TransportError { in_body: true, ..missing }));
            }
            Some(missing) => Box::new(DecodeError::new(head, &bytes, "", DecodeCause::Incomplete(missing))),
        };
        self.trace.record_undecodable();
        // The service stores the response to a keyed request, so a retry fetches it. A complete response that isn't JSON is fetched again only once:
        // a login or maintenance page won't disappear soon.
        let incomplete = matches!(error.source, DecodeCause::Incomplete(_));
        let result = classify::classify_unreadable(&error, &body, self.operation.is_keyed(), self.read_only);
        let again = self.state.record(result) && (incomplete || !self.undecodable);
        self.undecodable |= !incomplete;
        let retry = again.then(|| Cause::unreadable_response(error.status));
        let error = Error::Decode(error).with_call(self.state.summary());
        if matches!(result, AttemptResult::Accepted { .. }) {
            self.refund_retries();
            self.unread = Some(error);
            return Err(Failure { error: None, retry });
        }
        Err(Failure::new(error, retry))
    }

    /// Checks a complete response to a change before it is decoded.
    fn check(&self, response: http::Response<Bytes>) -> Result<http::Response<Bytes>, Box<DecodeError>> {
        let keyed = self.operation.is_keyed();
        // The response to any other request built by the caller may have any format.
        let has_record = keyed || !self.operation.is_raw();
        let response =
            if self.read_only || !has_record { response } else { ensure_api_response(response, keyed)? };
        let sent = [&self.operation.headers, &self.core.headers];
        let permissive = sent.iter().any(|headers| headers.contains_key(BATCH_VALIDATION));
        match self.operation.ids {
            Some(ids) => count_ids(response, ids, permissive),
            None => Ok(response),
        }
    }

    /// Waits before the next attempt if policy, budget and deadline allow one; otherwise returns the error.
    async fn delay_after(&mut self, failure: Failure) -> Result<()> {
        self.trace.end_attempt();
        self.report_outcome(self.state.outcome());
        let attempts = self.state.attempts;
        let Failure { error, retry } = failure;
        let delay = retry.as_ref().and_then(|cause| self.delay(cause, error.as_ref()));
        let (Some(cause), Some(delay)) = (retry, delay) else {
            // The caller has to learn that the service accepted the request, whatever the result of a later attempt.
            let unread = self.unread.take().map(|error| error.with_call(self.state.summary()));
            let Some(mut error) = unread.or(error) else { return Ok(()) };
            if self.withdrawn.is_none()
                && let Some(call) = error.call_mut()
            {
                call.budget_exhausted = true;
            }
            tracing::debug!(attempts, error = chain(&error), "the call failed");
            self.trace.record_failure(&error);
            return Err(error);
        };
        self.last_error = error;
        tracing::debug!(attempt = attempts, cause = cause.what, ?delay, "retrying");
        if cause.immediate {
            return Ok(());
        }
        if let Some(listener) = &self.operation.on_retry {
            listener(&RetryEvent { attempt: attempts, delay, cause: cause.what });
        }
        sleep(delay).await;
        Ok(())
    }

    fn report_outcome(&self, outcome: Outcome) {
        // A read does nothing.
        if let Some(listener) = self.operation.on_outcome.as_ref().filter(|_| !self.read_only) {
            listener(outcome);
        }
    }

    fn delay(&mut self, cause: &Cause, error: Option<&Error>) -> Option<Duration> {
        let attempt = self.state.attempts;
        let default = self.policy.delay(attempt, cause, rand::random());
        if cause.immediate {
            return default.map(|_| Duration::ZERO);
        }
        let delay = match self.unread.as_ref().or(error) {
            Some(error) => {
                let elapsed = self.started.elapsed();
                self.policy.decide(&FailedAttempt { attempt, elapsed, error, default })?
            }
            None => default?,
        };
        let in_time = self.deadline.is_none_or(|deadline| {
            Instant::now().checked_add(delay).is_some_and(|resumed| resumed < deadline)
        });
        if !in_time || self.is_key_forgotten_in(delay) {
            return None;
        }
        let cost = self.core.budget.take(cause);
        self.withdrawn = self.withdrawn.zip(cost).map(|(before, cost)| before + cost);
        cost.map(|_| delay)
    }

    /// Returns the call's retries to the budget: the service has accepted the request, which the status alone doesn't show.
    fn refund_retries(&mut self) {
        self.core.budget.record_success(self.withdrawn.replace(0).unwrap_or(0));
    }

    #[cfg_attr(
        not(feature = "otel"),
        expect(unused_variables, reason = "the headers of a trace alone need it")
    )]
    fn request(&self, credential: Option<HeaderValue>, span: &tracing::Span) -> TransportRequest {
        let mut headers = request_headers(self.core, &self.operation);
        #[cfg(feature = "otel")]
        if self.operation.external_url.is_none() {
            super::otel::propagate(span, &mut headers);
        }
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
            upload: Upload::new(self.operation.on_upload.clone()),
        }
    }

    /// Passes rate limit headers to the client's limiter. Responses from other servers don't count.
    fn update_limiter(&self, headers: &HeaderMap, verdict: RateVerdict) {
        if self.operation.external_url.is_none() {
            self.core.limiter.observe_response(self.sent_at, headers, verdict);
        }
    }
}

/// Both clocks: the monotonic one stops on some systems while the machine sleeps, and the wall clock can be set.
#[derive(Clone, Copy)]
struct Clocks {
    monotonic: Instant,
    wall: SystemTime,
}

impl Clocks {
    fn now() -> Self {
        Self { monotonic: Instant::now(), wall: wall() }
    }

    /// Returns the time until `now`, by whichever clock shows more.
    fn elapsed_at(self, now: Self) -> Duration {
        let by_wall = now.wall.duration_since(self.wall).unwrap_or_default();
        by_wall.max(now.monotonic.saturating_duration_since(self.monotonic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_that_shows_more_time_counts() {
        let (begun, hour) = (Clocks::now(), Duration::from_secs(3600));
        for (monotonic, wall, elapsed) in [(hour, hour * 2, 2), (hour * 3, hour, 3)] {
            let now = Clocks { monotonic: begun.monotonic + monotonic, wall: begun.wall + wall };
            assert_eq!(begun.elapsed_at(now), hour * elapsed);
        }
        let set_back = Clocks { monotonic: begun.monotonic + hour, wall: begun.wall - hour };
        assert_eq!(begun.elapsed_at(set_back), hour);
    }

    #[test]
    fn a_path_is_appended_to_the_base_url_and_never_replaces_its_host() {
        // GEN-12, GEN-30, GEN-31
        let goes = |base: &str, path: &str| {
            let mut operation = Operation::raw(Method::GET, "/".to_owned());
            operation.path = path.to_owned().into();
            let before = operation_url(&Url::parse(base).unwrap(), &operation).to_string();
            operation.query.push(("after".into(), "a&b=c d".into()));
            assert_eq!(
                operation_url(&Url::parse(base).unwrap(), &operation).as_str(),
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
