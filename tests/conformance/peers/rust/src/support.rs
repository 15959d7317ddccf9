//! Shared helpers.

use std::fmt::Debug;
use std::time::Duration;

use resend_rs::list_opts::{ListOptions, TimeNotSpecified};
use resend_rs::types::CreateEmailBaseOptions;
use resend_rs::{Error, Method, Resend, Result, Value};

/// An ID of no record.
pub const NOTHING: &str = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c";

pub fn email(to: &str, subject: &str) -> CreateEmailBaseOptions {
    CreateEmailBaseOptions::new("Acme <hi@acme.test>", [to], subject).with_html("<p>It works</p>")
}

pub fn page(limit: u8) -> ListOptions<TimeNotSpecified> {
    ListOptions::default().with_limit(limit)
}

pub fn everything() -> ListOptions<TimeNotSpecified> {
    ListOptions::default()
}

/// Checks that a call failed with the error of this name.
#[track_caller]
pub fn refused<T: Debug>(answer: Result<T>, name: &str) {
    match answer {
        Err(Error::Resend(response)) => assert_eq!(response.name, name, "{}", response.message),
        other => panic!("not refused as {name}: {other:?}"),
    }
}

/// Polls until `settled` holds for the response.
pub async fn eventually<T: Debug>(
    ask: impl AsyncFn() -> Result<T>,
    settled: impl Fn(&T) -> bool,
) -> Result<T> {
    let mut answer = ask().await?;
    for _ in 0..200 {
        if settled(&answer) {
            return Ok(answer);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer = ask().await?;
    }
    panic!("it did not come about within ten seconds: {answer:?}")
}

/// A request for which the client has no method.
pub async fn post(client: &Resend, path: &str, body: &Value) -> Result<Value> {
    client.send_raw(Method::POST, path, None::<()>, Some(body), None).await
}

/// Receives an email; only the sandbox defines how one arrives.
pub async fn receive(client: &Resend, mail: &Value) -> Result<String> {
    Ok(text(&post(client, "/_/received", mail).await?["id"]))
}

/// Fetches the content of a signed URL.
pub async fn fetched(client: &Resend, url: &str) -> Result<String> {
    Ok(client.client().get(url).send().await?.error_for_status()?.text().await?)
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
