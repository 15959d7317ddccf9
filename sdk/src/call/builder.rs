//! A lazy call to one operation, and its options.

use std::{
    borrow::Cow,
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
    admission::screen,
    core::Core,
    decode::{Decode, WithResponse, decode, decode_response, decode_with_response},
    execute,
    operation::{BATCH_VALIDATION, IDEMPOTENCY_KEY, Operation, RESERVED_HEADERS},
    preview::Preview,
    retry::{RetryEvent, RetryPolicy},
};
use crate::{
    body::Body,
    error::{Outcome, Result},
    problem::{Problem, Problems, Validate},
    types::IdempotencyKey,
};

/// A lazy call to one operation: set its options, then `.await` it.
///
/// ```
/// # async fn example(client: &idempost::Client, email: &idempost::Email) -> idempost::Result<()> {
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
/// Nothing is sent before the `.await`. Dropping the running future cancels the call, but can't undo anything that the service has already accepted:
/// whether the call was executed is then unknown. Another send with the same input uses another key, so the email could be sent twice. To retry
/// safely within 24 hours, await a clone of the call, which has the same key, or send again in a later process with the key that [`key`](Self::key)
/// returned.
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<T> {
    core: Arc<Core>,
    /// Boxed, since setting an option moves the call.
    operation: Box<Operation>,
    decode: Decode<T>,
}

impl<T> Call<T> {
    pub(crate) fn new(core: &Arc<Core>, operation: Operation) -> Self
    where
        T: DeserializeOwned,
    {
        Self { core: Arc::clone(core), operation: Box::new(operation), decode: decode::<T> }
    }

    /// Sets the idempotency key. The service executes a send once per key, however many requests arrive (`docs/specification.md`, POST /emails).
    ///
    /// A key has 1 to 256 visible ASCII characters, with spaces only between them, and is remembered for 24 hours, so a call doesn't repeat a request
    /// that may have been executed 23 hours ago or earlier. Without one, a send uses a random key for all its attempts.
    /// The service honors keys on `POST /emails` and `POST /emails/batch` only: on other operations the client sends the header but doesn't rely
    /// on it.
    pub fn idempotency_key<K>(mut self, key: K) -> Self
    where
        K: TryInto<IdempotencyKey>,
        Problem: From<K::Error>,
    {
        match key.try_into() {
            Ok(key) => self.operation.key = Some(key),
            Err(error) => self.operation.faults.push(error.into()),
        }
        self
    }

    /// Returns the idempotency key of all attempts, random or set by [`idempotency_key`](Self::idempotency_key); `None` if the service doesn't honor
    /// keys for this operation. If stored before the `.await`, the key makes a send repeatable after a crash.
    pub fn key(&self) -> Option<&IdempotencyKey> {
        self.operation.key.as_ref().filter(|_| self.operation.is_keyed())
    }

    setters! {
        /// Sets the timeout for the whole call, including all attempts and retry delays.
        timeout(Duration) => operation.timeout;
        /// Sets the retry policy of this call.
        retry(RetryPolicy) => operation.retry;
    }

    /// Sets a header, replacing a default header of the same name. Headers that the client itself sets are rejected.
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        match (HeaderName::from_str(name), HeaderValue::from_str(value)) {
            (Ok(name), _) if RESERVED_HEADERS.contains(&name) => {
                self.fault(
                    Problem::new("", "reserved", "a header must not be one that the client sets itself")
                        .with_value(name),
                );
            }
            (Ok(name), _) if name == IDEMPOTENCY_KEY => return self.idempotency_key(value),
            (Ok(name), Ok(value)) => drop(self.operation.headers.insert(name, value)),
            (Err(_), _) => {
                self.fault(
                    Problem::new("", "header", "a header must have a valid HTTP name").with_value(name),
                );
            }
            // A value can be a credential, so the problem doesn't quote it.
            (Ok(name), Err(_)) => {
                let rule = "a header value must contain only visible ASCII characters";
                self.fault(Problem::new("", "header", rule).with_value(format_args!("in {name}")));
            }
        }
        self
    }

    /// Skips validation: sends the input even if it breaks a rule known to this version. The service may have changed a limit.
    pub fn skip_validation(mut self) -> Self {
        self.operation.problems = None;
        self
    }

    /// Registers a callback for upload progress, with the bytes sent and the total. Each attempt starts at 0.
    pub fn on_upload(mut self, listener: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.operation.on_upload = Some(Arc::new(listener));
        self
    }

    /// Registers a callback that runs before each retry delay.
    pub fn on_retry(mut self, listener: impl Fn(&RetryEvent) + Send + Sync + 'static) -> Self {
        self.operation.on_retry = Some(Arc::new(listener));
        self
    }

    /// Registers a callback for the outcome that the call has if it is dropped: [`Outcome::NotSent`] at first, [`Outcome::Unknown`] from the moment a
    /// request can reach the service, and after each failed attempt the outcome of all attempts so far. It isn't called for reads.
    pub fn on_outcome(mut self, listener: impl Fn(Outcome) + Send + Sync + 'static) -> Self {
        self.operation.on_outcome = Some(Arc::new(listener));
        self
    }

    /// Builds the request without sending it. The preview omits the credential.
    ///
    /// # Errors
    /// The errors of the call that are detected before anything is sent. Recipients that the service looks up aren't read.
    pub fn preview(mut self) -> Result<Preview> {
        screen(&self.core.recipients, &mut self.operation)?;
        let operation = *self.operation;
        Ok(Preview {
            url: execute::operation_url(&self.core.base_url, &operation),
            headers: execute::request_headers(&self.core, &operation),
            operation,
        })
    }

    pub(super) fn into_parts(self) -> (Arc<Core>, Box<Operation>) {
        (self.core, self.operation)
    }

    fn fault(&mut self, problem: Problem) {
        self.operation.faults.push(problem);
    }
}

impl<T: DeserializeOwned> Call<T> {
    /// Returns the value together with the response: status, headers and body.
    pub fn with_response(self) -> Call<WithResponse<T>> {
        Call { core: self.core, operation: self.operation, decode: decode_with_response::<T> }
    }

    /// Returns the response without the decoded value, for passing on its body. The body is still decoded: an unexpected format is an error.
    pub fn response(self) -> Call<WithResponse<()>> {
        Call { core: self.core, operation: self.operation, decode: decode_response::<T> }
    }

    /// Deserializes the response into another type.
    pub fn with_response_type<U: DeserializeOwned>(self) -> Call<U> {
        Call { core: self.core, operation: self.operation, decode: decode::<U> }
    }
}

impl Call<Bytes> {
    /// Creates a call whose response body is returned as bytes.
    pub(crate) fn download(core: &Arc<Core>, operation: Operation) -> Self {
        let decode = |answer: http::Response<Bytes>| Ok(answer.into_body());
        Self { core: Arc::clone(core), operation: Box::new(operation), decode }
    }
}

/// Parts of the request and the response beyond the operation's own methods, such as parameters that this version doesn't know.
impl<T> Call<T> {
    /// Adds a query parameter to the call. Name and value are percent-encoded.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.reject_download();
        self.operation.query.push((Cow::Owned(name.into()), value.into()));
        self
    }

    /// Returns the response body as bytes instead of the decoded value.
    pub fn bytes(self) -> Call<Bytes> {
        Call { core: self.core, operation: self.operation, decode: |answer| Ok(answer.into_body()) }
    }

    /// Sets a request body with the given media type. Like [`json`](Self::json), it replaces the call's body.
    pub fn body(mut self, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.replace_body();
        *self.operation = self.operation.with_body(Body::from(bytes.into()));
        self.header(header::CONTENT_TYPE, content_type)
    }

    /// Sets a JSON request body. It replaces the call's input, including attachments, and isn't validated.
    ///
    /// This makes it possible to add a field that this version doesn't know to the serialized input:
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, email: &idempost::Email) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut body = serde_json::to_value(email)?;
    /// body["a_new_field"] = true.into();
    /// let accepted = client.emails().send(email).json(&body).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Self {
        self.replace_body();
        *self.operation = self.operation.with_json(&value);
        self
    }

    /// Discards data derived from the input: its problems, and the expected number of IDs in the response.
    fn replace_body(&mut self) {
        self.reject_download();
        self.operation.problems = None;
        self.operation.ids = None;
    }

    /// Rejects downloads: their URLs are signed, and may have another host.
    fn reject_download(&mut self) {
        if self.operation.external_url.is_some() {
            self.fault(Problem::new("", "url", "a download must not have a query or a body"));
        }
    }
}

impl<T> Call<T> {
    /// Sets a query parameter.
    pub(crate) fn with_query(mut self, name: &'static str, value: &str) -> Self {
        self.operation.query.retain(|(known, _)| known != name);
        *self.operation = self.operation.with_query(name, value);
        self
    }

    /// Sets a validated JSON body, replacing the current one.
    pub(crate) fn with_input(mut self, input: &(impl Serialize + Validate)) -> Self {
        *self.operation = self.operation.validate(input).with_json(input);
        self
    }

    pub(crate) fn batch_validation(mut self, mode: HeaderValue) -> Self {
        self.operation.headers.insert(BATCH_VALIDATION, mode);
        // The service validates each email of a permissive batch; rules of the batch itself still apply.
        let whole = |problem: &Problem| problem.code == "count" && problem.path.matches('/').count() < 2;
        let problems = self.operation.problems.take().map(Problems::into_vec).unwrap_or_default();
        self.operation.problems = Problems::check(problems.into_iter().filter(whole)).err();
        self
    }
}

/// A clone represents the same call: it has the same idempotency key.
impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), operation: self.operation.clone(), decode: self.decode }
    }
}

impl<T: Send + 'static> IntoFuture for Call<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        execute::run(self.core, self.operation, self.decode)
    }
}

partial_debug! {
    /// `Debug` prints only the operation's name: the request can hold private data.
    Call<T> { operation = [operation.name] }
}
