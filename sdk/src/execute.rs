//! The life of one call: authorize, attempt, judge, pause, attempt again, decode.
//!
//! A session's access token is asked for before each attempt. It can run out on the way there, so a 401 is answered with one renewal (for all calls that met it) and
//! one more attempt with the same bytes and the same key: the service did not act on a request that it did not let in.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument as _;
use url::Url;

use crate::{
    auth::{AuthError, Credentials, StoreError, Token},
    call::{Decode, IDEMPOTENCY_KEY, Operation, Retry, count_ids},
    client::{Client, Inner},
    error::{ApiError, Error, Result, Tried, Unreadable, chain},
    limiter::{Permit, Verdict},
    retry::{self, Cause, RetryPolicy},
    transport::{Outgoing, Reached, TransportError, TransportErrorKind},
};

/// What a call may take before it has sent a byte.
const PATIENCE: Duration = Duration::from_mins(1);
/// The slowest line on which a large body still goes through.
const SLOWEST_BYTES_PER_SECOND: u64 = 64 * 1024;

/// Carries out `operation` and reads its answer.
pub(crate) async fn run<T>(client: Client, operation: Operation, decode: Decode<T>) -> Result<T> {
    // Neither the path nor a header is recorded: both can hold addresses.
    let span = tracing::debug_span!("posthaste", operation = operation.name);
    live(client, operation, decode).instrument(span).await
}

async fn live<T>(client: Client, operation: Operation, decode: Decode<T>) -> Result<T> {
    let mut life = Life::begin(&client.inner, operation.ready()?);
    let mut read_again = life.tried.key.is_some();
    loop {
        let answer = life.until_accepted().await?;
        let counted = match life.operation.ids {
            Some(ids) => count_ids(answer, ids),
            None => Ok(answer),
        };
        match counted.and_then(decode) {
            Ok(value) => return Ok(value),
            // The service keeps the answer to a keyed request, so asking again fetches it.
            Err(_) if read_again => read_again = false,
            Err(undecoded) => {
                let unreadable = Unreadable::from_answer(undecoded.answer, undecoded.error, &life.tried);
                return Err(Error::Unreadable(Box::new(unreadable)));
            }
        }
    }
}

/// The headers of a request, but for the credential.
pub(crate) fn headers(client: &Inner, operation: &Operation) -> HeaderMap {
    // Room for those that are added on the way out too: a full map hashes all of them anew.
    let mut headers = HeaderMap::with_capacity(client.headers.len() + operation.headers.len() + 8);
    // What the application adds to all requests can be another credential.
    let own = client
        .headers
        .iter()
        .filter(|(name, _)| operation.elsewhere.is_none() || *name == header::USER_AGENT);
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
    if let Some(url) = &operation.elsewhere {
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

struct Life<'a> {
    client: &'a Inner,
    url: Url,
    policy: RetryPolicy,
    patience: Duration,
    deadline: Option<Instant>,
    /// The access token that the service refused first.
    refused: Option<Token>,
    tried: Tried,
    operation: Operation,
}

impl<'a> Life<'a> {
    fn begin(client: &'a Inner, operation: Operation) -> Self {
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
            replay: operation.replay,
            reads: operation.method == Method::GET || operation.method == Method::HEAD,
            unknown: false,
        };
        Self {
            client,
            url: address(&client.base_url, &operation),
            policy: operation.retry.clone().unwrap_or_else(|| client.retry.clone()),
            patience,
            deadline: Instant::now().checked_add(limit),
            refused: None,
            tried,
            operation,
        }
    }

    /// Attempts until the service accepts, or says no for good, or there is no time or no attempt left.
    async fn until_accepted(&mut self) -> Result<http::Response<Bytes>> {
        loop {
            let mut permit = self.turn().await?;
            let (header, token) = self.authorize().await?;
            self.tried.attempts += 1;
            permit.sent();
            let (error, cause) = match self.attempt(header).await {
                Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED && token.is_some() => {
                    self.client.limiter.learn(answer.headers(), Verdict::Unrelated);
                    self.turned_out(token)?;
                    continue;
                }
                Ok(answer) if answer.status().is_success() => {
                    if self.operation.elsewhere.is_none() {
                        self.client.limiter.learn(answer.headers(), Verdict::Admitted);
                    }
                    self.client.budget.succeeded();
                    return Ok(answer);
                }
                Ok(answer) => {
                    let refused = self.refused(answer);
                    drop(permit);
                    refused
                }
                Err(error) => {
                    if error.reached() == Reached::Nowhere {
                        permit.give_back();
                    } else {
                        drop(permit);
                    }
                    self.lost(error)
                }
            };
            let Some(pause) = cause.as_ref().and_then(|cause| self.pause(cause)) else {
                tracing::debug!(attempts = self.tried.attempts, error = chain(&error), "gave up");
                return Err(error);
            };
            let cause = cause.map(|cause| cause.what).unwrap_or_default();
            tracing::debug!(attempt = self.tried.attempts, cause, ?pause, "trying again");
            if let Some(listener) = &self.operation.on_retry {
                listener(&Retry { attempt: self.tried.attempts, pause, cause });
            }
            sleep(pause).await;
        }
    }

    /// Waits until the client's pace allows another request, if the call has so much time left.
    async fn turn(&self) -> Result<Permit<'a>> {
        let turn = self.client.limiter.acquire(self.deadline).await;
        turn.map_err(|_| self.tried.lost(TransportError::new(Reached::Nowhere, TransportErrorKind::Timeout)))
    }

    /// The credential for the next attempt, and the access token in it if that can be renewed.
    async fn authorize(&self) -> Result<(Option<HeaderValue>, Option<Token>)> {
        let (session, origin) = match &self.client.credentials {
            _ if self.operation.elsewhere.is_some() => return Ok((None, None)),
            Credentials::Fixed(header) => return Ok((Some(header.clone()), None)),
            Credentials::Session(session, origin) => (session, origin),
        };
        let token = session.token(Some(origin), self.refused.as_ref());
        let token = match self.deadline {
            None => token.await,
            // The renewal goes on: whoever calls next finds its outcome.
            Some(end) => match timeout_at(end, token).await {
                Ok(token) => token,
                // The renewal goes on: whoever calls next finds its outcome.
                Err(_) => session.at_hand(origin).ok_or_else(|| {
                    let holder = Some("a renewal that takes longer than the call may".to_owned());
                    AuthError::Busy(StoreError::Busy { holder }).into()
                }),
            },
        };
        match token {
            Ok(token) => Ok((token.header.clone(), Some(token))),
            // What an attempt before may have done stays open.
            Err(error) if self.tried.unknown => {
                let cause = TransportError::new(Reached::Nowhere, TransportErrorKind::Other).caused_by(error);
                Err(self.tried.lost(cause))
            }
            Err(error) => Err(error),
        }
    }

    /// A 401: the first one of a call asks for another access token, the second one is final.
    fn turned_out(&mut self, token: Option<Token>) -> Result<()> {
        if self.refused.is_none() {
            self.refused = token;
            return Ok(());
        }
        let Credentials::Session(session, _) = &self.client.credentials else { return Ok(()) };
        let error = token.map_or(AuthError::StillRefused, |token| session.give_up(&token));
        if self.tried.unknown {
            let cause = TransportError::new(Reached::Nowhere, TransportErrorKind::Other).caused_by(error);
            return Err(self.tried.lost(cause));
        }
        Err(error.into())
    }

    async fn attempt(
        &self,
        credential: Option<HeaderValue>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let limit = self.client.attempt_timeout.unwrap_or(self.patience);
        let end = [Instant::now().checked_add(limit), self.deadline].into_iter().flatten().min();
        let attempt = self.client.transport.send(self.outgoing(credential));
        match end {
            None => attempt.await,
            Some(end) => timeout_at(end, attempt)
                .await
                .unwrap_or_else(|_| Err(TransportError::new(Reached::Unknown, TransportErrorKind::Timeout))),
        }
    }

    fn outgoing(&self, credential: Option<HeaderValue>) -> Outgoing {
        let mut headers = headers(self.client, &self.operation);
        if let Some(credential) = credential {
            headers.insert(header::AUTHORIZATION, credential);
        }
        Outgoing {
            method: self.operation.method.clone(),
            url: self.url.clone(),
            headers,
            body: self.operation.body.clone(),
            answer_limit: self.client.answer_limit,
            idle: self.client.idle_timeout,
            on_upload: self.operation.on_upload.clone(),
        }
    }

    fn refused(&mut self, answer: http::Response<Bytes>) -> (Error, Option<Cause>) {
        let error = ApiError::from_answer(answer, &self.tried);
        let cause = retry::after_refusal(&error, self.tried.replay);
        let quota = error.name.ends_with("quota_exceeded");
        let verdict = if error.status == StatusCode::TOO_MANY_REQUESTS && !quota {
            Verdict::Throttled { retry_after: error.retry_after() }
        } else {
            Verdict::Unrelated
        };
        if self.operation.elsewhere.is_none() {
            self.client.limiter.learn(&error.headers, verdict);
        }
        let error = Error::Api(Box::new(error));
        self.tried.unknown |= error.outcome() == crate::Outcome::Unknown;
        (error, cause)
    }

    fn lost(&mut self, error: TransportError) -> (Error, Option<Cause>) {
        let cause = retry::after_transport_error(&error, self.tried.replay);
        let reached = error.reached();
        let error = self.tried.lost(error);
        self.tried.unknown |= reached == Reached::Unknown;
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
