//! Times searches of the inbox among 10,000 emails, and what a send takes meanwhile: `search [COUNT]`.
//!
//! Each time is the median of 20 requests passed to the service without a socket. No search finds anything, so each examines all emails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use idempost_benchmarks::senders::Failure;
use idempost_sandbox::{Service, Settings};
use serde_json::json;

const ASKED: usize = 20;
/// Searches that examine each part of an email.
const SEARCHES: [&str; 9] = [
    "nowhere",
    "nowhere neither never",
    "\"quick brown cat\"",
    "-lorem -amet -quick",
    "subject:nowhere to:nobody",
    "has:attachment before:2h tag:kind=none",
    "event:bounced",
    "larger:1MB",
    "Straße",
];

fn ask(service: &Arc<Service>, request: http::request::Builder, body: Bytes) -> Result<(), Failure> {
    let response = service.handle(request.header("authorization", "Bearer sb_benchmark").body(body)?);
    let status = response.status();
    if status.is_success() { Ok(()) } else { Err(status.to_string().into()) }
}

fn email(number: usize, body: &str) -> Bytes {
    let sentence = "The quick brown fox jumps over the lazy dog, lorem ipsum dolor sit amet. ";
    let mut email = json!({"from": "Acme <hi@acme.test>", "to": format!("Ada {number} <ada.{number}@example.com>"),
        "subject": format!("Your order no. {number} is on its way"), "tags": [{"name": "kind", "value": "order"}]});
    email[body] = match body {
        "html" => format!("<h1>Order {number}</h1>{}", format!("<p>{sentence}</p>").repeat(15)),
        _ => format!("Order {number}\n\n{}", sentence.repeat(16)),
    }
    .into();
    email.to_string().into()
}

fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn timed(service: &Arc<Service>, query: &str) -> Result<f64, Failure> {
    let path = format!("/_/messages?query={}", encoded(query));
    let mut times = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let start = Instant::now();
        ask(service, Request::get(&path), Bytes::new())?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

/// The median time of a send, in µs, while another thread searches without a pause.
fn sends(service: &Arc<Service>, query: Option<&str>) -> Result<f64, Failure> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let searching = query.map(|query| {
            let path = format!("/_/messages?query={}", encoded(query));
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if ask(service, Request::get(&path), Bytes::new()).is_err() {
                        return false;
                    }
                }
                true
            })
        });
        let times = (0..200).map(|number| {
            let (body, start) = (email(number, "text"), Instant::now());
            ask(service, Request::post("/emails"), body).map(|()| start.elapsed().as_secs_f64() * 1e6)
        });
        let times = times.collect::<Result<Vec<_>, Failure>>();
        stop.store(true, Ordering::Relaxed);
        if searching.is_some_and(|searching| !searching.join().unwrap_or_default()) {
            return Err("a search failed".into());
        }
        Ok(median(times?))
    })
}

#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
fn main() -> Result<(), Failure> {
    let count: usize = std::env::args().nth(1).map_or(Ok(10_000), |count| count.parse())?;
    for body in ["text", "html"] {
        let service = idempost_sandbox::service(Settings::default());
        for number in 0..count {
            ask(&service, Request::post("/emails"), email(number, body))?;
        }
        for query in SEARCHES {
            println!("{count} emails of 1.2 KB {body}, {query:<40} {:>7.1} ms", timed(&service, query)?);
        }
        let (alone, meanwhile) = (sends(&service, None)?, sends(&service, Some("nowhere"))?);
        println!(
            "{count} emails of 1.2 KB {body}, a send: {alone:.0} µs alone, {meanwhile:.0} µs during searches"
        );
    }
    Ok(())
}
