//! One call under one sequence of events: it is made, possibly dropped, and compared with the model and the peer's record.

use std::{
    fmt,
    future::{IntoFuture as _, ready},
    time::Duration,
};

use http::Method;
use idempost::{
    Call, Client, Email, Error, Outcome,
    auth::{AuthError, MemoryStore, Session, TokenRecord},
    call::{RateLimit, RetryPolicy},
    error::Recovery,
    events::EventOccurrence,
    transport::Transport,
};
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{advance, sleep},
};

use super::{
    event::{Event, VALUED},
    prediction::{End, Prediction, predict},
    script::{self, Script},
    service::{Service, Signal},
    setting::{ATTEMPT, Drop, Limiter, Operation, Setting},
};

/// A call, its setting, and the event of each attempt.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) operation: Operation,
    pub(super) setting: Setting,
    pub(super) events: Vec<&'static Event>,
}

/// How time passes while a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// It passes by itself.
    Passes,
    /// The test advances it, since sockets take real time.
    Moved,
}

/// Evaluates an expression with the case's call, whose type depends on the operation.
macro_rules! with_call {
    ($case:expr, $client:expr, |$call:ident| $done:expr) => {
        match $case.operation {
            Operation::Send => {
                let email = Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
                let $call = $client.emails().send(&email);
                $done
            }
            Operation::Event => {
                let event = EventOccurrence::for_email("user.created", "ada@example.com");
                let $call = $client.events().send(&event);
                $done
            }
            Operation::Cancel => {
                let $call = $client.emails().cancel("4ef9a417-02e9-4d39-ad75-9611e0fcc33c");
                $done
            }
            Operation::Read => {
                let $call = $client.request(Method::GET, "/emails/1");
                $done
            }
        }
    };
}

impl Case {
    pub(super) fn predict(&self) -> Option<Prediction> {
        predict(self.operation, &self.setting, &self.events)
    }

    /// Whether its client may use a connection for several requests: not if an event is about connecting after the first request.
    pub(super) fn pools(&self) -> bool {
        let unconnected = usize::from(!matches!(self.setting.limiter, Limiter::Every(_)));
        self.events.iter().skip(unconnected).all(|event| event.act.connects())
    }

    /// Creates the call's client.
    pub(super) async fn client(
        &self,
        base_url: &str,
        transport: impl Transport,
        service: &Service,
    ) -> Client {
        let Setting { max_attempts, budget, limiter, session, .. } = self.setting;
        let retry = RetryPolicy::default().max_attempts(max_attempts).budget(budget);
        // A call can be dropped only in a delay that takes time.
        let delay = Duration::from_secs(u64::from(self.setting.drop == Some(Drop::Delay)));
        let builder = Client::builder()
            .base_url(base_url)
            .attempt_timeout(ATTEMPT)
            // Longer than all attempts and delays.
            .timeout(self.setting.deadline.unwrap_or(Duration::from_hours(1)))
            .retry(retry.base_delay(delay).max_delay(delay))
            .rate_limit(match limiter {
                Limiter::Off => RateLimit::Off,
                Limiter::Adaptive => RateLimit::Adaptive,
                Limiter::Every(interval) => RateLimit::PerSecond(interval.as_secs_f64().recip()),
            })
            .transport(transport);
        let builder =
            if session { builder.session(logged_in(service).await) } else { builder.api_key("re_test") };
        let client = builder.build().unwrap();
        if let Limiter::Every(_) = limiter {
            service.start(&[&VALUED]);
            client.request(Method::GET, "/").await.unwrap();
        }
        service.start(&self.events);
        client
    }

    /// Makes the call and checks it.
    pub(super) async fn run(
        &self,
        client: &Client,
        service: &Service,
        signals: &mut UnboundedReceiver<Signal>,
        clock: Clock,
    ) {
        with_call!(self, client, |call| {
            let (again, key) = (call.clone(), call.key().map(ToString::to_string));
            let ended = self.drive(call, self.setting.drop, service, signals, clock).await;
            if ended.is_some() {
                self.check(ended.map(|result| result.map(drop)).as_ref(), service, key.as_deref());
            } else {
                if clock == Clock::Passes {
                    sleep(Duration::from_hours(1)).await;
                }
                self.check(None, service, key.as_deref());
                // The same call again.
                service.start_again(&VALUED);
                if self.operation.is_idempotent() {
                    let result = self.drive(again, None, service, signals, clock).await;
                    assert!(matches!(result, Some(Ok(_))), "{self}");
                    let requests = service.requests();
                    assert!(requests.iter().all(|request| request.key == key), "{self}: {requests:?}");
                    assert!(!self.operation.is_keyed() || service.executions() == 1, "{self}: {requests:?}");
                }
            }
        });
    }

    /// Makes the call on this thread and checks it.
    pub(super) fn run_blocking(&self, client: &Client, service: &Service) {
        with_call!(self, client, |call| {
            let key = call.key().map(ToString::to_string);
            self.check(Some(&call.blocking().map(drop)), service, key.as_deref());
        });
    }

    /// Runs a call to its end, or until it is dropped.
    async fn drive<T: Send + 'static>(
        &self,
        call: Call<T>,
        drop: Option<Drop>,
        service: &Service,
        signals: &mut UnboundedReceiver<Signal>,
        clock: Clock,
    ) -> Option<Result<T, Error>> {
        let delays = service.signals();
        let call = call.on_retry(move |retry| delays.send(Signal::Delay(retry.delay)).unwrap());
        let mut running = call.into_future();
        let interval = match self.setting.limiter {
            Limiter::Every(interval) => Some(interval),
            Limiter::Off | Limiter::Adaptive => None,
        };
        if let Some(interval) = interval {
            tokio::select! {
                biased;
                result = &mut running => return Some(result),
                () = ready(()) => {}
            }
            if drop == Some(Drop::Limiter) {
                return None;
            }
            pass(interval, clock).await;
        }
        loop {
            let signal = tokio::select! {
                biased;
                result = &mut running => return Some(result),
                signal = signals.recv() => signal.unwrap(),
            };
            match (signal, drop) {
                (Signal::Silent, Some(Drop::Stall)) | (Signal::Delay(_), Some(Drop::Delay)) => return None,
                (Signal::Silent, _) => pass(ATTEMPT, clock).await,
                (Signal::Delay(delay), _) => {
                    pass(delay, clock).await;
                    if let Some(interval) = interval {
                        pass(interval, clock).await;
                    }
                }
            }
        }
    }

    /// Compares the end of the call (`None` if it was dropped) with the model, and both with what the service saw.
    fn check(&self, ended: Option<&Result<(), Error>>, service: &Service, key: Option<&str>) {
        let predicted = self.predict().unwrap();
        let (requests, executions) = (service.requests(), service.executions());
        let context = || format!("{self}: {ended:?}\n{predicted:?}\n{requests:?}");

        assert_eq!(requests.len(), predicted.requests, "{}", context());
        assert!(predicted.attempts <= self.setting.max_attempts, "{}", context());
        assert_eq!(key.is_some(), self.operation.is_keyed(), "{}", context());
        let complete = requests.iter().filter(|request| request.is_complete);
        let received = complete.map(|request| request.received).max();
        for request in &requests {
            assert_eq!(request.key.as_deref(), key, "{}", context());
            assert!(!request.is_complete || Some(request.received) == received, "{}", context());
        }
        if !self.operation.is_idempotent() {
            let earlier = requests.split_last().map_or(&[][..], |(_, earlier)| earlier);
            let executed = earlier.iter().any(|request| request.executed || request.may_be_executed);
            assert!(!executed, "{}", context());
        }
        if self.operation.is_keyed() || !self.operation.is_idempotent() {
            assert!(executions <= 1, "{}", context());
        }

        let error = match ended {
            None => return assert_eq!(predicted.end, End::Dropped, "{}", context()),
            Some(Ok(())) => {
                assert!(executions > 0 || self.operation == Operation::Read, "{}", context());
                return assert_eq!(predicted.end, End::Value, "{}", context());
            }
            Some(Err(error)) => error,
        };
        let outcome = error.outcome();
        if self.operation != Operation::Read {
            match outcome {
                Outcome::NotSent | Outcome::Rejected => assert_eq!(executions, 0, "{}", context()),
                Outcome::Accepted => assert!(executions > 0, "{}", context()),
                _ => {}
            }
        }
        let repeats = outcome == Outcome::Unknown && !self.operation.is_idempotent();
        if repeats || outcome == Outcome::Accepted {
            assert_eq!(error.recovery(), Recovery::Never, "{}", context());
        }
        let (end, names_key) = match error {
            Error::Api(_) => (End::ErrorResponse, true),
            Error::Decode(_) => (End::Unreadable, true),
            Error::OutcomeUnknown(_) if outcome == Outcome::Unknown => (End::NoResponse, true),
            Error::Unreachable(_) if outcome == Outcome::NotSent => (End::NoResponse, true),
            Error::RateLimit(_) => (End::TooLate, false),
            Error::Auth(error) if matches!(**error, AuthError::TokenRejected { .. }) => {
                (End::TokenRejected, false)
            }
            _ => panic!("{}", context()),
        };
        assert_eq!((end, outcome), (predicted.end, predicted.outcome), "{}", context());
        assert_eq!(error.attempts(), predicted.attempts, "{}", context());
        assert_eq!(error.retry_budget_exhausted(), predicted.budget_exhausted, "{}", context());
        if end != End::TokenRejected {
            assert_eq!(error.is_retryable(), predicted.is_retryable, "{}", context());
        }
        let named = error.idempotency_key().map(ToString::to_string);
        assert_eq!(named.as_deref(), key.filter(|_| names_key), "{}", context());
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events: Vec<_> = self.events.iter().map(|event| event.name).collect();
        write!(
            f,
            "{:?}, {}, {} attempts, {events:?}",
            self.operation, self.setting.name, self.setting.max_attempts
        )
    }
}

async fn pass(time: Duration, clock: Clock) {
    if clock == Clock::Moved {
        advance(time + Duration::from_millis(1)).await;
    }
}

/// A session whose token endpoint always issues new tokens.
async fn logged_in(service: &Service) -> Session {
    let refresh_token = "rt_1".to_owned().into();
    let mut record =
        TokenRecord::new(script::BASE_URL, script::TOKEN_ENDPOINT, "idempost-cli", refresh_token);
    record.access_token = Some(serde_json::from_str(r#""at_1""#).unwrap());
    record.expires_in = Duration::from_hours(24);
    let builder = Session::builder().transport(Script(service.clone()));
    builder.start(MemoryStore::new(), &record).await.unwrap()
}
