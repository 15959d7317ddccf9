//! One operation, described but not yet sent, and the options of this one call.

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
use http::{HeaderName, HeaderValue, header};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    core::Core,
    decode::{Decode, WithResponse, decode, decode_with_response},
    execute,
    operation::{IDEMPOTENCY_KEY, Operation},
    preview::Preview,
    retry::{RetryEvent, RetryPolicy},
};
use crate::{
    body::Body,
    error::Result,
    problem::{Problem, Problems},
    types::IdempotencyKey,
};

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
    core: Arc<Core>,
    operation: Operation,
    decode: Decode<T>,
}

impl<T> Call<T> {
    pub(crate) fn new(core: &Arc<Core>, operation: Operation) -> Self
    where
        T: DeserializeOwned,
    {
        Self { core: Arc::clone(core), operation, decode: decode::<T> }
    }

    /// Sets the idempotency key, under which the service sends once however many requests arrive (`SPEC.md`, POST /emails).
    ///
    /// 1 to 256 visible ASCII characters; the service remembers it for 24 hours. Without one, a send uses a random key for all its attempts.
    /// The service honors keys on `POST /emails` and `POST /emails/batch` alone: on other operations the header is sent, but the client
    /// doesn't rely on it.
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

    /// Sets a header; it replaces one of the client's own or a default header of the same name.
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
            (Err(_), _) => {
                self.fault(Problem::new("", "header", "an HTTP header needs a valid name").found(name));
            }
            // A value can be a credential, so it is not repeated.
            (Ok(name), Err(_)) => {
                let rule = "an HTTP header's value has only visible ASCII characters";
                self.fault(Problem::new("", "header", rule).found(format_args!("in {name}")));
            }
        }
        self
    }

    /// Sends the input even if it breaks a rule that this version knows of: the service may have moved a limit.
    pub fn unchecked(mut self) -> Self {
        self.operation.problems = None;
        self
    }

    /// Registers a callback for upload progress: bytes of the body sent so far, and in total. A new attempt begins again at 0.
    pub fn on_upload(mut self, listener: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.operation.on_upload = Some(Arc::new(listener));
        self
    }

    /// Registers a callback that runs before each retry delay.
    pub fn on_retry(mut self, listener: impl Fn(&RetryEvent) + Send + Sync + 'static) -> Self {
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
            url: execute::address(&self.core.base_url, &operation),
            headers: execute::headers(&self.core, &operation),
            operation,
        })
    }

    pub(super) fn into_parts(self) -> (Arc<Core>, Operation) {
        (self.core, self.operation)
    }

    fn fault(&mut self, problem: Problem) {
        self.operation.faults.push(problem);
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// Keeps the answer as it arrived beside the value: status, headers, and the body's bytes.
    pub fn raw(self) -> Call<WithResponse<T>> {
        Call { core: self.core, operation: self.operation, decode: decode_with_response::<T> }
    }

    /// Reads the answer as another type.
    pub fn typed<U: DeserializeOwned>(self) -> Call<U> {
        Call { core: self.core, operation: self.operation, decode: decode::<U> }
    }
}

impl Call<Bytes> {
    /// An operation whose answer's body is taken as it is.
    pub(crate) fn download(core: &Arc<Core>, operation: Operation) -> Self {
        Self { core: Arc::clone(core), operation, decode: |answer| Ok(answer.into_body()) }
    }
}

impl Call<serde_json::Value> {
    /// Adds a parameter to the query; it is percent-encoded.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.operation.query.push((Cow::Owned(name.into()), value.into()));
        self
    }

    /// Takes the answer's body as it is, for an operation that answers something else than JSON.
    pub fn bytes(self) -> Call<Bytes> {
        Call { core: self.core, operation: self.operation, decode: |answer| Ok(answer.into_body()) }
    }

    /// Gives the request a body of another media type than JSON.
    pub fn body(mut self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.operation = self.operation.with_body(Body::from(bytes.into()));
        self.header(header::CONTENT_TYPE, content_type)
    }

    /// Gives the request a JSON body.
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Self {
        self.operation = self.operation.with_json(&value);
        self
    }
}

impl<T> Call<T> {
    pub(crate) fn batch_validation(mut self, mode: HeaderValue) -> Self {
        self.operation.headers.insert("x-batch-validation", mode);
        self.operation.ids = None;
        // What is wrong with one email is now the service's to say; what is wrong with the batch is not.
        let whole = |problem: &Problem| problem.code == "count" && problem.path.matches('/').count() < 2;
        let problems = self.operation.problems.take().map(Problems::into_vec).unwrap_or_default();
        self.operation.problems = Problems::check(problems.into_iter().filter(whole)).err();
        self
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        execute::run(self.core, self.operation, self.decode)
    }
}

/// `Debug` names the operation: what it carries can be private.
impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("operation", &self.operation.name).finish_non_exhaustive()
    }
}
