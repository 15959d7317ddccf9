//! The life of one call: authorize, attempt, judge, pause, attempt again, decode.
//!
//! A session's access token is asked for before each attempt. It can run out on the way there, so a 401 is answered with one renewal (for all calls that met it) and
//! one more attempt with the same bytes and the same key: the service did not act on a request that it did not let in.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tracing::Instrument as _;
use url::Url;

use super::{
    core::Core,
    decode::{Decode, count_ids},
    operation::{IDEMPOTENCY_KEY, Operation},
    retry::{self, Cause, RetryEvent, RetryPolicy},
};
use crate::{
    auth::{Rejected, Token},
    error::{ApiError, DecodeError, Error, Result, Tried, chain},
    transport::{RequestDelivery, TransportError, TransportErrorKind, TransportRequest},
};

/// What a call may take before it has sent a byte.
const PATIENCE: Duration = Duration::from_mins(1);
/// The slowest line on which a large body still goes through.
const SLOWEST_BYTES_PER_SECOND: u64 = 64 * 1024;

/// Carries out `operation` and reads its answer.
pub(crate) async fn run<T>(core: Arc<Core>, operation: Operation, decode: Decode<T>) -> Result<T> {
    // Neither the path nor a header is recorded: both can hold addresses.
    let span = tracing::debug_span!("posthaste", operation = operation.name);
    execute(core, operation, decode).instrument(span).await
}

async fn execute<T>(core: Arc<Core>, operation: Operation, decode: Decode<T>) -> Result<T> {
    let mut call = Attempts::begin(&core, operation.ready()?);
    let mut read_again = call.tried.key.is_some();
    loop {
        let answer = call.until_accepted().await?;
        let counted = match call.operation.ids {
            Some(ids) => count_ids(answer, ids),
            None => Ok(answer),
        };
        match counted.and_then(decode) {
            Ok(value) => return Ok(value),
            // The service keeps the answer to a keyed request, so asking again fetches it.
            Err(_) if read_again => read_again = false,
            Err(undecoded) => {
                let unreadable = DecodeError::from_answer(undecoded.answer, undecoded.error, &call.tried);
                return Err(Error::Decode(Box::new(unreadable)));
            }
        }
    }
}

/// The headers of a request, but for the credential.
pub(crate) fn headers(client: &Core, operation: &Operation) -> HeaderMap {
    // Room for those that are added on the way out too: a full map hashes all of them anew.
    let mut headers = HeaderMap::with_capacity(client.headers.len() + operation.headers.len() + 8);
    // What the application adds to all requests can be another credential.
    let own = client
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

/// Where the operation goes: the base address with the path behind it. Its host is neither read again nor can a path replace it.
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

struct Attempts<'a> {
    client: &'a Core,
    url: Url,
    policy: RetryPolicy,
    patience: Duration,
    deadline: Option<Instant>,
    /// The access token that the service rejected, until the next one is asked for.
    rejected: Option<Rejected>,
    /// A 401 was answered with another token.
    reauthorized: bool,
    tried: Tried,
    operation: Operation,
}

impl<'a> Attempts<'a> {
    fn begin(client: &'a Core, operation: Operation) -> Self {
        if let Some(key) = operation.key.as_ref().filter(|_| operation.key_given)
            && client.keys.contradicts(key, &operation.body)
        {
            tracing::warn!("this idempotency key was given for another body before");
        }
        let patience = PATIENCE + Duration::from_secs(operation.body.len() / SLOWEST_BYTES_PER_SECOND);
        let limit = operation.timeout.or(client.timeout).unwrap_or(patience);
        let tried = Tried {
            operation: operation.name,
            attempts: 0,
            key: operation.key.clone(),
            idempotency: operation.idempotency,
            reads: operation.method == Method::GET || operation.method == Method::HEAD,
            unknown: false,
        };
        Self {
            client,
            url: address(&client.base_url, &operation),
            policy: operation.retry.clone().unwrap_or_else(|| client.retry.clone()),
            patience,
            deadline: Instant::now().checked_add(limit),
            rejected: None,
            reauthorized: false,
            tried,
            operation,
        }
    }

    /// Attempts until the service accepts, or says no for good, or there is no time or no attempt left.
    async fn until_accepted(&mut self) -> Result<http::Response<Bytes>> {
        loop {
            self.turn().await?;
            let (header, token) = self.authorize().await?;
            self.tried.attempts += 1;
            let (error, cause) = match self.attempt(header).await {
                Ok(answer)
                    if let Some(token) = token
                        && answer.status() == StatusCode::UNAUTHORIZED =>
                {
                    self.client.limiter.learn(answer.headers(), None);
                    self.rejected(token, answer)?;
                    continue;
                }
                Ok(answer) if answer.status().is_success() => {
                    if self.operation.external_url.is_none() {
                        self.client.limiter.learn(answer.headers(), None);
                    }
                    self.client.budget.succeeded();
                    return Ok(answer);
                }
                Ok(answer) => self.refused(answer),
                Err(error) => self.lost(error),
            };
            let Some(pause) = cause.as_ref().and_then(|cause| self.pause(cause)) else {
                tracing::debug!(attempts = self.tried.attempts, error = chain(&error), "gave up");
                return Err(error);
            };
            let cause = cause.map(|cause| cause.what).unwrap_or_default();
            tracing::debug!(attempt = self.tried.attempts, cause, ?pause, "trying again");
            if let Some(listener) = &self.operation.on_retry {
                listener(&RetryEvent { attempt: self.tried.attempts, pause, cause });
            }
            sleep(pause).await;
        }
    }

    /// Waits until the client's pace allows another request, if the call has so much time left.
    async fn turn(&self) -> Result<()> {
        let Some(turn) = self.client.limiter.turn() else { return Ok(()) };
        if self.deadline.is_some_and(|deadline| deadline <= turn) {
            return Err(self
                .tried
                .lost(TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Timeout)));
        }
        sleep_until(turn).await;
        Ok(())
    }

    /// The credential for the next attempt, and the access token in it if that can be refreshed.
    async fn authorize(&mut self) -> Result<(Option<HeaderValue>, Option<Token>)> {
        if self.operation.external_url.is_some() {
            return Ok((None, None));
        }
        let rejected = self.rejected.take();
        match self.client.credentials.authorize(self.deadline, rejected).await {
            Ok(authorized) => Ok((Some(authorized.header), authorized.token)),
            Err(error) => Err(self.not_authorized(Error::Auth(error))),
        }
    }

    /// A 401: the first one of a call asks for another access token, the second one is final.
    fn rejected(&mut self, token: Token, answer: http::Response<Bytes>) -> Result<()> {
        let rejected = Rejected { token, response: ApiError::from_answer(answer, &self.tried) };
        if self.reauthorized {
            let error = self.client.credentials.give_up(rejected);
            return Err(self.not_authorized(error.into()));
        }
        self.reauthorized = true;
        self.rejected = Some(rejected);
        Ok(())
    }

    /// The outcome of an earlier attempt stays unknown.
    fn not_authorized(&self, error: Error) -> Error {
        if !self.tried.unknown {
            return error;
        }
        self.tried
            .lost(TransportError::new(RequestDelivery::NotSent, TransportErrorKind::Other).caused_by(error))
    }

    async fn attempt(
        &self,
        credential: Option<HeaderValue>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let limit = self.client.attempt_timeout.unwrap_or(self.patience);
        let end = [Instant::now().checked_add(limit), self.deadline].into_iter().flatten().min();
        let limit = self.client.answer_limit;
        let attempt = async {
            let response = self.client.transport.send(self.outgoing(credential)).await?;
            let (head, body) = response.into_parts();
            let body = body.collect(limit, end).await;
            match body.missing {
                Some(error) if head.status.is_success() || error.kind() != TransportErrorKind::TooLarge => {
                    Err(error)
                }
                _ => Ok(http::Response::from_parts(head, body.bytes)),
            }
        };
        match end {
            None => attempt.await,
            Some(end) => timeout_at(end, attempt).await.unwrap_or_else(|_| {
                Err(TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Timeout))
            }),
        }
    }

    fn outgoing(&self, credential: Option<HeaderValue>) -> TransportRequest {
        let mut headers = headers(self.client, &self.operation);
        if let Some(credential) = credential {
            headers.insert(header::AUTHORIZATION, credential);
        }
        TransportRequest {
            method: self.operation.method.clone(),
            url: self.url.clone(),
            headers,
            body: self.operation.body.clone(),
            idle_timeout: self.client.idle_timeout,
            new_connection: false,
            on_upload: self.operation.on_upload.clone(),
        }
    }

    fn refused(&mut self, answer: http::Response<Bytes>) -> (Error, Option<Cause>) {
        let error = ApiError::from_answer(answer, &self.tried);
        let cause = retry::after_refusal(&error, self.tried.idempotency);
        let limited = error.status == http::StatusCode::TOO_MANY_REQUESTS && cause.is_some();
        let pause = limited.then(|| error.retry_after().unwrap_or(Duration::from_secs(1)));
        if self.operation.external_url.is_none() {
            self.client.limiter.learn(&error.headers, pause);
        }
        let error = Error::Api(Box::new(error));
        self.tried.unknown |= error.outcome() == crate::Outcome::Unknown;
        (error, cause)
    }

    fn lost(&mut self, error: TransportError) -> (Error, Option<Cause>) {
        let cause = retry::after_transport_error(&error, self.tried.idempotency);
        let reached = error.delivery();
        let error = self.tried.lost(error);
        self.tried.unknown |= reached == RequestDelivery::Unknown;
        (error, cause)
    }

    /// The pause before the next attempt, if there may be one: the policy, the shared budget and the time that is left agree.
    fn pause(&self, cause: &Cause) -> Option<Duration> {
        if !self.policy.allows(self.tried.attempts) {
            return None;
        }
        let pause = self.policy.pause(self.tried.attempts, cause, rand::random());
        let in_time = self.deadline.is_none_or(|deadline| {
            Instant::now().checked_add(pause).is_some_and(|resumed| resumed < deadline)
        });
        (in_time && self.client.budget.take(cause)).then_some(pause)
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
