//! The client's behavior when the service or the network misbehaves.

mod answers;
mod connections;
mod http2;
mod model;
mod proxies;
mod redirects;
mod sizes;
mod uploads;

use std::time::Duration;

use idempost::{
    Accepted, Client, Email, Error,
    call::{RateLimit, RetryPolicy},
};
use idempost_conformance::peer::Peer;

/// A client with three attempts and minimal delays.
fn client(base_url: &str) -> Client {
    patient(base_url).build().unwrap()
}

fn patient(base_url: &str) -> idempost::ClientBuilder {
    let retry =
        RetryPolicy::default().base_delay(Duration::from_millis(1)).max_delay(Duration::from_millis(2));
    Client::builder().base_url(base_url).api_key("sb_test").retry(retry).rate_limit(RateLimit::Off)
}

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

async fn send(peer: &Peer) -> Result<Accepted, Error> {
    let result = client(&peer.base_url()).emails().send(&email()).await;
    peer.judge();
    result
}
