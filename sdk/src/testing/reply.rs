//! Script replies.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use crate::{
    clock::sleep,
    transport::{RequestDelivery, ResponseBody, TransportError, TransportErrorKind, TransportRequest},
};

/// The reply to one request.
#[derive(Clone)]
#[must_use]
pub struct Reply {
    action: Action,
    delay: Duration,
    pub(super) repeated: bool,
}

#[derive(Clone)]
enum Action {
    Respond { status: StatusCode, headers: HeaderMap, body: Bytes, end: End },
    Fail(RequestDelivery, TransportErrorKind),
    Stall(RequestDelivery),
}

/// How a body ends.
#[derive(Clone, Copy)]
enum End {
    Complete,
    Fails(TransportErrorKind),
    Stalls,
}

impl Reply {
    /// Creates a response with a JSON body.
    ///
    /// # Panics
    /// The status isn't between 100 and 999.
    #[track_caller]
    pub fn json(status: u16, body: impl Into<Value>) -> Self {
        let body: Value = body.into();
        Self::bytes(status, body.to_string()).header(CONTENT_TYPE.as_str(), "application/json")
    }

    /// Creates a response with these bytes and without a content type.
    ///
    /// # Panics
    /// The status isn't between 100 and 999.
    #[track_caller]
    pub fn bytes(status: u16, body: impl Into<Bytes>) -> Self {
        let Ok(status) = StatusCode::from_u16(status) else { panic!("{status} isn't an HTTP status") };
        let (headers, body) = (HeaderMap::new(), body.into());
        Self::new(Action::Respond { status, headers, body, end: End::Complete })
    }

    /// Creates an API error response with this error name, such as `rate_limit_exceeded`.
    ///
    /// # Panics
    /// The status isn't between 100 and 999.
    #[track_caller]
    pub fn error(status: u16, name: &str) -> Self {
        Self::json(status, json!({ "statusCode": status, "name": name, "message": "scripted" }))
    }

    /// Fails the request without a response.
    pub fn failure(delivery: RequestDelivery, kind: TransportErrorKind) -> Self {
        Self::new(Action::Fail(delivery, kind))
    }

    /// Refuses the connection: nothing was sent.
    pub fn connection_refused() -> Self {
        Self::failure(RequestDelivery::NotSent, TransportErrorKind::Connect)
    }

    /// Breaks the connection before the response: the service may have acted.
    pub fn connection_lost() -> Self {
        Self::failure(RequestDelivery::Unknown, TransportErrorKind::Closed)
    }

    /// Doesn't respond until a timeout ends the attempt, at the latest the client's
    /// [`idle_timeout`](crate::ClientBuilder::idle_timeout): either the request was sent, or the connection is never established
    /// ([`RequestDelivery::NotSent`]).
    pub fn stall(delivery: RequestDelivery) -> Self {
        Self::new(Action::Stall(delivery))
    }

    /// Adds a header to a response.
    ///
    /// # Panics
    /// The name or the value is invalid.
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
            panic!("`{name}: {value}` isn't a header")
        };
        if let Action::Respond { headers, .. } = &mut self.action {
            headers.append(name, value);
        }
        self
    }

    /// Breaks the connection after the response's bytes, before its body is complete.
    pub fn cut_off(self, kind: TransportErrorKind) -> Self {
        self.with_end(End::Fails(kind))
    }

    /// Sends nothing after the response's bytes, although its body isn't complete.
    pub fn incomplete(self) -> Self {
        self.with_end(End::Stalls)
    }

    setters! {
        /// Delays the reply, using Tokio's clock. As over a network, a delay beyond the client's
        /// [`idle_timeout`](crate::ClientBuilder::idle_timeout) ends the attempt.
        with_delay(Duration) => delay;
        /// Uses this reply for all later requests as well.
        repeat = true => repeated;
    }

    fn new(action: Action) -> Self {
        Self { action, delay: Duration::ZERO, repeated: false }
    }

    fn with_end(mut self, how: End) -> Self {
        if let Action::Respond { end, .. } = &mut self.action {
            *end = how;
        }
        self
    }

    /// Produces the reply to a request with a body of this length.
    pub(super) async fn perform(
        self,
        request: &TransportRequest,
        sent: u64,
    ) -> Result<Response<ResponseBody>, TransportError> {
        let reaches = !matches!(
            self.action,
            Action::Fail(RequestDelivery::NotSent, _) | Action::Stall(RequestDelivery::NotSent)
        );
        request.report_connecting();
        if reaches {
            request.report_uploaded(sent);
        }
        let delay = if let Action::Stall(_) = self.action { Duration::MAX } else { self.delay };
        if delay > request.idle_timeout {
            sleep(request.idle_timeout).await;
            let (delivery, kind) = if reaches {
                (RequestDelivery::Unknown, TransportErrorKind::Timeout)
            } else {
                (RequestDelivery::NotSent, TransportErrorKind::Connect)
            };
            return Err(TransportError::new(delivery, kind));
        }
        if !delay.is_zero() {
            sleep(delay).await;
        }
        match self.action {
            Action::Respond { status, headers, body, end } => {
                let mut response = Response::new(ended_body(body, end, request.idle_timeout));
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
            Action::Fail(delivery, kind) => Err(TransportError::new(delivery, kind)),
            Action::Stall(_) => std::future::pending().await,
        }
    }
}

fn ended_body(body: Bytes, end: End, idle_timeout: Duration) -> ResponseBody {
    let (kind, silence) = match end {
        End::Complete => return ResponseBody::from(body),
        End::Fails(kind) => (kind, Duration::ZERO),
        End::Stalls => (TransportErrorKind::Timeout, idle_timeout),
    };
    let start = stream::iter(Some(Ok(body.clone())).filter(|_| !body.is_empty()));
    ResponseBody::stream(start.chain(stream::once(async move {
        if !silence.is_zero() {
            sleep(silence).await;
        }
        Err(TransportError::new(RequestDelivery::Unknown, kind))
    })))
}

/// `Debug` omits headers and body, which can contain secrets.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Respond { status, .. } => write!(f, "{}", status.as_u16()),
            Action::Fail(delivery, kind) => write!(f, "failure {kind:?} ({delivery:?})"),
            Action::Stall(delivery) => write!(f, "stall ({delivery:?})"),
        }
    }
}
