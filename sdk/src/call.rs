//! One operation, described but not yet sent, and the options that belong to this one call.

use std::{
    borrow::Cow,
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    body::{Body, BodyPart},
    check::{Problem, Problems},
    client::Client,
    error::{Error, Result},
    execute,
    keys::IdempotencyKey,
    path,
    retry::{Replay, RetryPolicy},
    transport::UploadListener,
};

/// The header that makes a send safe to repeat (`SPEC.md`, POST /emails).
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The routes on which the service honours it.
const KEYED_ROUTES: [&str; 2] = ["/emails", "/emails/batch"];

pub(crate) type RetryListener = Arc<dyn Fn(&Retry) + Send + Sync>;

/// Reads an answer; on failure gives the answer back with what is wrong with it.
pub(crate) type Decode<T> = fn(http::Response<Bytes>) -> Result<T, Box<Undecoded>>;

pub(crate) struct Undecoded {
    pub(crate) answer: http::Response<Bytes>,
    pub(crate) error: serde_path_to_error::Error<serde_json::Error>,
}

/// One operation on its way to being sent: set its options, then `.await` it.
///
/// ```
/// # async fn example(client: &posthaste::Client, email: &posthaste::Email) -> posthaste::Result<()> {
/// use std::time::Duration;
///
/// let accepted = client
///     .emails()
///     .send(email)
///     .idempotency_key("order-17")
///     .timeout(Duration::from_secs(10))
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Nothing happens before the `.await`. Dropping the future while it runs gives the call up; what the service has taken by then
/// stays taken.
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T> {
    client: Client,
    operation: Operation,
    decode: Decode<T>,
}

/// What a call asks for.
#[derive(Clone)]
pub(crate) struct Operation {
    /// For logs and errors: `emails.send`.
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    pub(crate) path: Cow<'static, str>,
    pub(crate) query: Vec<(Cow<'static, str>, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    pub(crate) replay: Replay,
    pub(crate) key: Option<IdempotencyKey>,
    /// The key is the caller's own and not a random one.
    pub(crate) key_given: bool,
    /// What is wrong with the input; it keeps the call from being sent.
    pub(crate) problems: Vec<Problem>,
    /// What is wrong with the call itself, so that there is nothing to send.
    pub(crate) faults: Vec<Problem>,
    /// How many ids the answer has to hold.
    pub(crate) ids: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) on_upload: Option<UploadListener>,
    pub(crate) on_retry: Option<RetryListener>,
}

impl Operation {
    pub(crate) fn new(name: &'static str, method: Method, path: impl Into<Cow<'static, str>>) -> Self {
        let path = path.into();
        let keyed = method == Method::POST && KEYED_ROUTES.contains(&path.as_ref());
        let replay = if method == Method::POST && !keyed { Replay::Unsafe } else { Replay::Safe };
        Self {
            name,
            method,
            path,
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Body::default(),
            replay,
            key: keyed.then(IdempotencyKey::random),
            key_given: false,
            problems: Vec::new(),
            faults: Vec::new(),
            ids: None,
            timeout: None,
            retry: None,
            on_upload: None,
            on_retry: None,
        }
    }

    pub(crate) fn get(name: &'static str, path: impl Into<Cow<'static, str>>) -> Self {
        Self::new(name, Method::GET, path)
    }

    /// An operation on one thing: its id becomes one encoded segment between `before` and `after`.
    pub(crate) fn on(name: &'static str, method: Method, before: &str, id: &str, after: &str) -> Self {
        match path::path_segment(id) {
            Ok(segment) => Self::new(name, method, format!("{before}{segment}{after}")),
            Err(problem) => {
                let mut operation = Self::new(name, method, "/");
                operation.faults.push(problem);
                operation
            }
        }
    }

    pub(crate) fn raw(method: Method, path: String) -> Self {
        let fault = path::fault(&path);
        let mut operation = match path.split_once('?') {
            Some((path, query)) => {
                let mut operation = Self::new("request", method, path.to_owned());
                let pairs = url::form_urlencoded::parse(query.as_bytes());
                operation
                    .query
                    .extend(pairs.map(|(name, value)| (Cow::Owned(name.into_owned()), value.into_owned())));
                operation
            }
            None => Self::new("request", method, path),
        };
        operation.faults.extend(fault);
        operation
    }

    pub(crate) fn with_body(mut self, body: Body) -> Self {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.body = body;
        self
    }

    /// The answer names each of so many things.
    pub(crate) fn with_ids(mut self, ids: usize) -> Self {
        self.ids = Some(ids);
        self
    }

    pub(crate) fn with_problems(mut self, problems: Vec<Problem>) -> Self {
        self.problems = problems;
        self
    }

    pub(crate) fn path_and_query(&self) -> String {
        if self.query.is_empty() {
            return self.path.clone().into_owned();
        }
        let pairs = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
        format!("{}?{pairs}", self.path)
    }
}

impl<T> Call<T> {
    pub(crate) fn new(client: &Client, operation: Operation) -> Self
    where
        T: DeserializeOwned,
    {
        Self { client: client.clone(), operation, decode: decode::<T> }
    }

    /// Names this send, so that the service does it once however often it is asked (`SPEC.md`, POST /emails).
    ///
    /// 1 to 256 visible ASCII characters; the service remembers it for 24 hours. Without one, a send makes a random key of its own
    /// and keeps it over all its attempts. On operations other than sends the service ignores it.
    pub fn idempotency_key<K>(mut self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey>,
        Problem: From<K::Error>,
    {
        match key.try_into() {
            Ok(key) => {
                self.operation.key = Some(key);
                self.operation.key_given = true;
            }
            Err(error) => self.operation.faults.push(error.into()),
        }
        self
    }

    /// The longest that this call may take, with all its attempts and pauses.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.operation.timeout = Some(limit);
        self
    }

    /// How often this call is tried.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.operation.retry = Some(policy);
        self
    }

    /// Adds a header; one of the client's own is replaced.
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        match (HeaderName::from_str(name), HeaderValue::from_str(value)) {
            (Ok(name), _) if name == header::AUTHORIZATION || name == header::HOST => {
                self.fault(Problem::new("", "reserved", "a header that the client sets itself").found(name));
            }
            (Ok(name), Ok(value)) if name == IDEMPOTENCY_KEY => {
                return self.idempotency_key(value.to_str().unwrap_or_default());
            }
            (Ok(name), Ok(value)) => drop(self.operation.headers.insert(name, value)),
            _ => {
                self.fault(
                    Problem::new("", "header", "not an HTTP header").found(format!("{name}: {value}")),
                );
            }
        }
        self
    }

    /// Sends the input even if it breaks a rule that this version knows of: the service may have moved a limit.
    pub fn unchecked(mut self) -> Self {
        self.operation.problems.clear();
        self
    }

    /// Is told how many bytes of the body have gone out, and of how many, each time some have. A new attempt begins again at 0.
    pub fn on_upload(mut self, listener: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.operation.on_upload = Some(Arc::new(listener));
        self
    }

    /// Is told before each pause that ends in another attempt.
    pub fn on_retry(mut self, listener: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        self.operation.on_retry = Some(Arc::new(listener));
        self
    }

    /// What would be sent, without sending it and without the credential.
    ///
    /// # Errors
    /// The same as the call's, as far as they are found before the network.
    pub fn preview(self) -> Result<Preview> {
        let operation = self.operation.ready()?;
        Ok(Preview {
            base: self.client.inner.base.clone(),
            headers: execute::headers(&self.client.inner, &operation),
            operation,
        })
    }

    fn fault(&mut self, problem: Problem) {
        self.operation.faults.push(problem);
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// Keeps the answer as it arrived beside the value: status, headers, and the body's bytes.
    pub fn raw(self) -> Call<Raw<T>> {
        Call { client: self.client, operation: self.operation, decode: decode_raw::<T> }
    }

    /// Reads the answer as another type.
    pub fn typed<U: DeserializeOwned>(self) -> Call<U> {
        Call { client: self.client, operation: self.operation, decode: decode::<U> }
    }
}

impl Call<serde_json::Value> {
    /// Adds a parameter to the query; it is percent-encoded.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.operation.query.push((Cow::Owned(name.into()), value.into()));
        self
    }

    /// Gives the request a JSON body.
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_vec(value) {
            Ok(text) => self.operation = self.operation.with_body(Body::from(text)),
            Err(error) => {
                self.fault(Problem::new("", "type", "the body can't be written as JSON").found(error));
            }
        }
        self
    }
}

impl Call<crate::AcceptedBatch> {
    pub(crate) fn batch_validation(mut self, mode: HeaderValue) -> Self {
        self.operation.headers.insert("x-batch-validation", mode);
        self.operation.ids = None;
        // What is wrong with one email is now the service's to say; what is wrong with the batch is not.
        self.operation
            .problems
            .retain(|problem| problem.code == "count" && problem.path.matches('/').count() < 2);
        self
    }
}

impl Operation {
    /// The operation, if nothing keeps it from being sent.
    pub(crate) fn ready(mut self) -> Result<Self> {
        let mut problems = std::mem::take(&mut self.faults);
        problems.append(&mut self.problems);
        Problems::check(problems)?;
        Ok(self)
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(execute::run(self.client, self.operation, self.decode))
    }
}

/// `Debug` names the operation: what it carries can be private.
impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("operation", &self.operation.name).finish_non_exhaustive()
    }
}

/// A value together with the answer that it was read from.
#[derive(Clone)]
#[non_exhaustive]
pub struct Raw<T> {
    /// The value.
    pub value: T,
    /// The status: any of 2xx.
    pub status: StatusCode,
    /// All headers of the answer.
    pub headers: HeaderMap,
    /// The body as it arrived, after decompression.
    pub body: Bytes,
}

/// `Debug` leaves the body out: it can hold private text.
impl<T: fmt::Debug> fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw")
            .field("value", &self.value)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// One pause before another attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retry {
    /// The attempt that failed, from 1.
    pub attempt: u32,
    /// How long the client waits now.
    pub pause: Duration,
    /// Why: `503 service_unavailable`.
    pub cause: String,
}

/// A request that was not sent.
pub struct Preview {
    base: String,
    headers: HeaderMap,
    operation: Operation,
}

impl Preview {
    /// The HTTP method.
    pub fn method(&self) -> &Method {
        &self.operation.method
    }

    /// The whole address.
    pub fn url(&self) -> String {
        format!("{}{}", self.base, self.operation.path_and_query())
    }

    /// The address without the base.
    pub fn path_and_query(&self) -> String {
        self.operation.path_and_query()
    }

    /// The headers, without the credential.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The key that the request would carry.
    pub fn key(&self) -> Option<&IdempotencyKey> {
        self.operation.key.as_ref()
    }

    /// The body in the order in which it would be sent; the contents of attachments are told by their size.
    pub fn body_parts(&self) -> Vec<BodyPart> {
        self.operation.body.parts()
    }
}

/// `Debug` names the operation: what it carries can be private.
impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preview").field("operation", &self.operation.name).finish_non_exhaustive()
    }
}

pub(crate) fn decode<T: DeserializeOwned>(answer: http::Response<Bytes>) -> Result<T, Box<Undecoded>> {
    // An answer without a body says nothing, and `null` is how JSON says so.
    let body: &[u8] = if answer.body().is_empty() { b"null" } else { answer.body() };
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    // Only now is it worth keeping track of where in the body the decoder is.
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let again = serde_path_to_error::deserialize(&mut deserializer);
    let again = again.and_then(|value: T| match deserializer.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(serde_path_to_error::Error::new(serde_path_to_error::Track::new().path(), error)),
    });
    again.map_err(|error| Box::new(Undecoded { answer, error }))
}

/// Whether the answer names as many things as were sent; else nobody could say which is which.
pub(crate) fn count_ids(
    answer: http::Response<Bytes>,
    ids: usize,
) -> Result<http::Response<Bytes>, Box<Undecoded>> {
    #[derive(serde::Deserialize)]
    struct Named {
        data: Vec<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice::<Named>(answer.body()) {
        Ok(named) if named.data.len() != ids => {
            let text = format!("{ids} emails were sent and {} ids came back", named.data.len());
            let error = <serde_json::Error as serde::de::Error>::custom(text);
            let error = serde_path_to_error::Error::new(serde_path_to_error::Track::new().path(), error);
            Err(Box::new(Undecoded { answer, error }))
        }
        _ => Ok(answer),
    }
}

fn decode_raw<T: DeserializeOwned>(answer: http::Response<Bytes>) -> Result<Raw<T>, Box<Undecoded>> {
    let (status, headers, body) = (answer.status(), answer.headers().clone(), answer.body().clone());
    Ok(Raw { value: decode(answer)?, status, headers, body })
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::invalid(problem)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_posts_without_a_key_are_unsafe_to_repeat() {
        let replay = |method, path: &str| Operation::raw(method, path.to_owned()).replay;
        assert_eq!(replay(Method::POST, "/emails"), Replay::Safe);
        assert_eq!(replay(Method::POST, "/emails/batch"), Replay::Safe);
        assert_eq!(replay(Method::POST, "/email"), Replay::Unsafe);
        assert_eq!(replay(Method::POST, "/broadcasts"), Replay::Unsafe);
        for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(replay(method, "/x"), Replay::Safe);
        }
    }

    #[test]
    fn a_query_is_encoded_and_one_in_the_path_is_kept() {
        let mut operation = Operation::raw(Method::GET, "/emails?limit=5".to_owned());
        operation.query.push(("after".into(), "a&b=c d".into()));
        assert_eq!(operation.path_and_query(), "/emails?limit=5&after=a%26b%3Dc+d");
        assert_eq!(Operation::raw(Method::GET, "/emails".to_owned()).path_and_query(), "/emails");
    }
}
