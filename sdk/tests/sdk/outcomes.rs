//! Every sequence of results up to the attempt limit, through the public API: the number of requests, and the resulting error.

use std::{io::Write as _, time::Duration};

use idempost::{
    Client, Error, Outcome,
    call::{RateLimit, RetryPolicy},
    events::EventOccurrence,
    testing::ScriptedTransport,
    transport::TransportErrorKind,
};

use super::script::{Reply, email, untrusted};

/// The result of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Refused,
    Untrusted,
    Lost,
    Switching,
    Accepted,
    Garbled,
    Cut,
    /// A page that isn't the API's.
    Page,
    Invalid,
    Unauthorized,
    Concurrent,
    Limited,
    NotImplemented,
    Unavailable,
    /// A 5xx whose body names a client error.
    MisnamedUnavailable,
}

const STEPS: [Step; 15] = [
    Step::Refused,
    Step::Untrusted,
    Step::Lost,
    Step::Switching,
    Step::Accepted,
    Step::Garbled,
    Step::Cut,
    Step::Page,
    Step::Invalid,
    Step::Unauthorized,
    Step::Concurrent,
    Step::Limited,
    Step::NotImplemented,
    Step::Unavailable,
    Step::MisnamedUnavailable,
];

impl Step {
    /// Whether the service has certainly acted.
    fn acted(self) -> bool {
        matches!(self, Self::Accepted | Self::Garbled | Self::Cut)
    }

    /// Whether the service may have acted.
    fn may_have_acted(self) -> bool {
        self.acted()
            || matches!(
                self,
                Self::Lost
                    | Self::Switching
                    | Self::Page
                    | Self::Concurrent
                    | Self::Unavailable
                    | Self::MisnamedUnavailable
            )
    }

    fn reply(self) -> Reply {
        match self {
            Self::Refused => Reply::connection_refused(),
            Self::Untrusted => untrusted(),
            Self::Lost => Reply::connection_lost(),
            Self::Switching => Reply::bytes(101, ""),
            Self::Accepted => Reply::bytes(200, r#"{"object":"x","id":"i","event":"e"}"#),
            Self::Garbled => Reply::bytes(200, r#"{"id":"i"} x"#),
            Self::Cut => {
                let start = Reply::bytes(200, r#"{"id":"#).header("content-type", "application/json");
                start.cut_off(TransportErrorKind::Closed)
            }
            Self::Page => Reply::bytes(200, "<!DOCTYPE html><title>Sign in</title>"),
            Self::Invalid => Reply::error(422, "validation_error"),
            Self::Unauthorized => Reply::error(401, "missing_api_key"),
            Self::Concurrent => Reply::error(409, "concurrent_idempotent_requests"),
            Self::Limited => Reply::error(429, "rate_limit_exceeded"),
            Self::NotImplemented => Reply::bytes(501, ""),
            Self::Unavailable => Reply::bytes(503, ""),
            Self::MisnamedUnavailable => Reply::error(502, "validation_error"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    /// With a key, so the service acts once.
    Send,
    /// A `POST` whose key the service ignores.
    Event,
    Cancel,
    Read,
}

async fn run(operation: Operation, client: &Client) -> Result<(), Error> {
    let event = EventOccurrence::for_email("user.created", "b@x.test");
    match operation {
        Operation::Send => client.emails().send(&email()).await.map(drop),
        Operation::Event => client.events().send(&event).idempotency_key("k").await.map(drop),
        Operation::Cancel => client.emails().cancel("i").await.map(drop),
        Operation::Read => client.request(http::Method::GET, "/x").await.map(drop),
    }
}

async fn check(operation: Operation, sequence: &[Step], attempts: usize) {
    let script = ScriptedTransport::new(sequence.iter().map(|step| step.reply()));
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .api_key("re_test")
        .rate_limit(RateLimit::Off)
        .retry(
            RetryPolicy::default().max_attempts(u32::try_from(attempts).unwrap()).base_delay(Duration::ZERO),
        )
        .transport(script.clone())
        .build()
        .unwrap();
    let result = run(operation, &client).await;
    let sent = script.take_requests().len();
    let (seen, what) = (&sequence[..sent], format!("{operation:?} {sequence:?}: {result:?}"));
    let idempotent = operation != Operation::Event;
    let reads = operation == Operation::Read;
    if !idempotent {
        assert!(!seen[..sent - 1].iter().any(|step| step.may_have_acted()), "retried: {what}");
    }
    let Err(error) = result else {
        assert_eq!(seen.last(), Some(&Step::Accepted), "{what}");
        return;
    };
    assert_ne!(seen.last(), Some(&Step::Accepted), "{what}");
    let last = *seen.last().unwrap();
    let nothing_done = [Outcome::NotSent, Outcome::Rejected];
    if reads {
        // A read does nothing; one that was accepted and can't be decoded reports that.
        assert!(nothing_done.contains(&error.outcome()) || seen.contains(&Step::Garbled), "{what}");
    } else if seen.iter().any(|step| step.acted()) {
        assert_eq!(error.outcome(), Outcome::Accepted, "{what}");
        assert!(error.to_string().contains("accepted"), "{what}");
    } else if seen.iter().any(|step| step.may_have_acted()) {
        assert_eq!(error.outcome(), Outcome::Unknown, "{what}");
    } else {
        let expected = match last {
            Step::Refused | Step::Untrusted => Outcome::NotSent,
            _ => Outcome::Rejected,
        };
        assert_eq!(error.outcome(), expected, "{what}");
    }
    if last == Step::Invalid && error.outcome() != Outcome::Accepted {
        assert_eq!(error.status().unwrap().as_u16(), 422, "{what}");
    }
    if error.is_retryable() && !idempotent {
        assert!(!seen.iter().any(|step| step.may_have_acted()), "not safe to retry: {what}");
    }
    assert_eq!(error.idempotency_key().is_some(), operation == Operation::Send, "{what}");
    assert_eq!(error.attempts() as usize, sent, "{what}");
    // The loop stops only at the limit, at a final result, or after a second response that isn't JSON.
    let unread_twice = seen.iter().filter(|step| matches!(step, Step::Garbled | Step::Page)).count() >= 2;
    assert!(sent == attempts || !error.is_retryable() || unread_twice, "gave up too early: {what}");
    assert!(!error.to_string().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_outcome_is_right_after_every_sequence_of_results_up_to_the_attempt_limit() {
    // B-02, B-16
    let mut tried = 0_u32;
    for operation in [Operation::Send, Operation::Event, Operation::Cancel, Operation::Read] {
        for first in STEPS {
            check(operation, &[first], 1).await;
            tried += 1;
            for second in STEPS {
                for third in STEPS {
                    check(operation, &[first, second, third], 3).await;
                    tried += 1;
                }
            }
        }
    }
    // Written past the test's output capture: the number of sequences is part of the result.
    writeln!(std::io::stderr(), "outcomes: {tried} sequences of results checked").unwrap();
    assert_eq!(tried, 4 * (15 + 15 * 15 * 15));
}

#[tokio::test]
async fn a_response_over_the_limit_is_not_called_a_missing_one() {
    let list = serde_json::json!({ "object": "list", "data": [], "has_more": false });
    let transport = ScriptedTransport::new([Reply::json(200, list)]);
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .api_key("re_test")
        .response_limit(10)
        .transport(transport)
        .build()
        .unwrap();
    let error = client.emails().list().await.unwrap_err();
    let Error::Unreachable(failure) = &error else { panic!("{error:?}") };
    assert_eq!(failure.transport.kind(), TransportErrorKind::TooLarge);
    assert_eq!(error.to_string(), "the service's response can't be read; nothing was done");
}

#[tokio::test(start_paused = true)]
async fn a_read_whose_response_ends_early_is_not_called_unanswered() {
    let cut = Reply::bytes(200, r#"{"object":"li"#).cut_off(TransportErrorKind::Closed);
    let client = ScriptedTransport::new([cut.repeat()]).client();
    let error = client.emails().list().await.unwrap_err();
    let text = "the response from the service is incomplete; nothing was done";
    assert!(error.to_string() == text && matches!(error, Error::Unreachable(_)), "{error:?}");
}
