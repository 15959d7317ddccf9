//! Responses of the service, in every call of the client.
//!
//! ```text
//! OPERATION STATUS ["broken"]
//! NAME: VALUE
//!
//! BODY
//! ```

use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use idempost::{Client, Error};
use tokio::time::Instant;

use super::transport::{Answer, block_on};
use crate::operations::OPERATIONS;
use crate::text;

const KEY: &str = "re_the-key-of-this-client";
/// The maximum length of a call, which is longer than all retries with the longest delay that the client honors.
const TIMEOUT: Duration = Duration::from_secs(200);

pub(crate) fn run(data: &[u8]) {
    let (line, rest) = text::first_line(data);
    let (operation, line) = text::number(line);
    let answer = Answer::read(line, rest);
    let operation = &OPERATIONS[operation % OPERATIONS.len()];
    let builder = Client::builder().base_url("http://127.0.0.1:9").api_key(KEY).timeout(TIMEOUT);
    let client = builder.transport(answer.clone()).build().expect("the settings are valid");
    let ids = ["78261eea-8f8b-4381-83c6-79fa7120f1cf"; 3];
    let (result, took) = block_on(async {
        let started = Instant::now();
        let result = (operation.run)(&client, ids).await;
        (result, started.elapsed())
    });
    let sent = answer.sent.load(Ordering::SeqCst);
    assert!((1..=3).contains(&sent), "{sent} requests");
    assert!(took <= TIMEOUT, "the call took {took:?}");
    match result {
        Ok(_) => assert!(answer.status.is_success(), "{} as success", answer.status),
        Err(error) => check(&error, &answer),
    }
}

fn check(error: &Error, answer: &Answer) {
    let shown = error.to_string();
    assert!(!shown.chars().any(char::is_control), "the message isn't one line of text: {shown:?}");
    let mut chain = format!("{shown} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        chain = format!("{chain} {cause} {cause:?}");
        source = cause.source();
    }
    assert!(!chain.contains(KEY), "the key is shown: {chain}");
    if let Some(response) = error.response() {
        assert_eq!(response.status, answer.status);
        assert_eq!(response.headers, answer.headers);
        assert!(
            answer.body.starts_with(&response.body) && response.body.len() >= answer.body.len().min(1 << 20)
        );
    }
    // A caller that adds the delay to a time must not overflow.
    let _ = (error.retry_after(), error.is_retryable(), error.outcome(), error.request_id());
}
