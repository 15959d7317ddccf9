//! The limiter as an application uses it: through a client's calls.

use std::{future::poll_fn, pin::pin, time::Duration};

use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    Client, Email, Result,
    call::{RateLimit, RetryPolicy},
    testing::{Reply, ScriptedTransport},
};

type Answer = (u16, &'static [(&'static str, &'static str)]);

const ACCEPTED: &str = r#"{"id":"e1"}"#;

/// Creates a client whose transport responds as scripted and then accepts everything, each after 50 ms.
fn client(limit: RateLimit, answers: &[Answer]) -> (Client, ScriptedTransport) {
    let reply = |(status, headers): &Answer| {
        let body = match headers {
            _ if *status == 200 => ACCEPTED,
            [("x-error", "daily_quota_exceeded")] => r#"{"name":"daily_quota_exceeded"}"#,
            _ => r#"{"name":"rate_limit_exceeded"}"#,
        };
        let reply = Reply::bytes(*status, body).with_delay(DELAY);
        headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value))
    };
    let last = Reply::bytes(200, ACCEPTED).with_delay(DELAY).repeat();
    let script = ScriptedTransport::new(answers.iter().map(reply).chain([last]));
    let builder = Client::builder().base_url("https://api.example.com").api_key("re_x").rate_limit(limit);
    (builder.retry(RetryPolicy::never()).transport(script.clone()).build().unwrap(), script)
}

/// Sends an email. Returns the time until it was sent, or an error.
async fn send(client: &Client, limit: Duration) -> Result<Duration> {
    let email = Email::new("a@example.com", "b@example.com", "Hi").text("Hi");
    let start = Instant::now();
    client.emails().send(&email).timeout(limit).await?;
    Ok(start.elapsed().saturating_sub(DELAY))
}

const MINUTE: Duration = Duration::from_mins(1);
const DELAY: Duration = Duration::from_millis(50);

#[tokio::test(start_paused = true)]
async fn calls_without_a_slot_before_their_deadline_block_no_later_call() {
    let (client, script) = client(RateLimit::PerSecond(2.0), &[]);
    let start = Instant::now();
    let sent = join_all((0..1_000).map(|_| send(&client, MINUTE))).await;
    let sent = sent.iter().filter(|sent| sent.is_ok()).count();
    let left = script.take_requests().len();
    assert_eq!((sent, left, start.elapsed().as_millis()), (120, 120, 59_550));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(send(&client, MINUTE).await.unwrap(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn canceled_calls_release_their_slots() {
    let (client, _) = client(RateLimit::PerSecond(2.0), &[]);
    let calls = (0..100).map(|_| timeout(Duration::from_millis(100), send(&client, MINUTE)));
    assert_eq!(join_all(calls).await.iter().filter(|call| call.is_ok()).count(), 1);
    assert_eq!(send(&client, MINUTE).await.unwrap(), Duration::from_millis(400));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_while_calls_before_it_are_not_polled() {
    let (client, script) = client(RateLimit::PerSecond(2.0), &[]);
    let mut sends: FuturesUnordered<_> = (0..5).map(|_| send(&client, MINUTE)).collect();
    while let Some(sent) = sends.next().await {
        sent.unwrap();
        let waited = send(&client, MINUTE).await.unwrap();
        assert!(waited <= Duration::from_millis(1_500), "{waited:?}");
    }
    assert_eq!(script.take_requests().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_long_rarely_wakes() {
    let (client, _) = client(RateLimit::PerSecond(2.0), &[]);
    let mut polls = 0;
    let before = join_all((0..110).map(|_| send(&client, MINUTE)));
    let last = async {
        let mut last = pin!(send(&client, MINUTE));
        let counted = poll_fn(|context| {
            polls += 1;
            last.as_mut().poll(context)
        });
        assert_eq!(counted.await.unwrap(), Duration::from_secs(55));
    };
    // Each of them is polled only if it was woken.
    let last = async { FuturesUnordered::from_iter([last]).next().await };
    tokio::join!(before, last);
    assert!(polls < 15, "{polls} polls");
}

#[tokio::test(start_paused = true)]
async fn one_429_without_headers_slows_the_client_down_for_less_than_a_minute() {
    let (client, _) = client(RateLimit::Adaptive, &[(429, &[])]);
    send(&client, MINUTE).await.unwrap_err();
    sleep(MINUTE).await;
    for _ in 0..100 {
        assert_eq!(send(&client, MINUTE).await.unwrap(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_slows_down_no_other_call() {
    let (client, _) = client(RateLimit::Adaptive, &[(429, &[("x-error", "daily_quota_exceeded")])]);
    send(&client, MINUTE).await.unwrap_err();
    assert_eq!(send(&client, MINUTE).await.unwrap(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_new_client_sends_all_its_calls_at_once() {
    let (client, _) = client(RateLimit::Adaptive, &[]);
    let start = Instant::now();
    for sent in join_all((0..1_000).map(|_| send(&client, Duration::from_millis(60)))).await {
        sent.unwrap();
    }
    assert_eq!(start.elapsed().as_millis(), 50);
}

/// Admits one request per interval, like nginx's `limit_req`, and rejects the others with an HTML page.
fn bucket(interval: Duration) -> ScriptedTransport {
    let mut next = None;
    ScriptedTransport::from_fn(move |request| {
        let admitted = next.is_none_or(|next| next <= request.at);
        if admitted {
            next = Some(request.at + interval);
        }
        let (status, body) = if admitted { (200, ACCEPTED) } else { (429, "<h1>Too Many Requests</h1>") };
        Reply::bytes(status, body).with_delay(DELAY)
    })
}

#[tokio::test(start_paused = true)]
async fn all_200_calls_pass_a_proxy_that_admits_20_per_second_in_18_seconds() {
    let builder = Client::builder().base_url("https://api.example.com").api_key("re_x");
    let client = builder.transport(bucket(Duration::from_millis(50))).build().unwrap();
    let start = Instant::now();
    for sent in join_all((0..200).map(|_| send(&client, MINUTE))).await {
        sent.unwrap();
    }
    assert!(start.elapsed() <= Duration::from_secs(18), "{:?}", start.elapsed());
}
