//! Times `GET /emails?limit=100` of the reference server while it holds few and many emails: `page COUNT...`.
//!
//! Each time is the median of 1,000 requests passed to the service without a socket: the newest page, and the page after the email in the middle.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use idempost_benchmarks::senders::Failure;
use idempost_sandbox::{Service, Settings};
use serde_json::Value;

const ASKED: usize = 1_000;
const EMAIL: &[u8] =
    br#"{"from":"Acme <hi@acme.test>","to":"ada@example.com","subject":"Hello","text":"It works"}"#;

fn ask(
    service: &Arc<Service>,
    request: http::request::Builder,
    body: &'static [u8],
) -> Result<Bytes, Failure> {
    let request: Request<Bytes> =
        request.header("authorization", "Bearer sb_benchmark").body(Bytes::from_static(body))?;
    let response = service.handle(request);
    if !response.status().is_success() {
        return Err(response.status().to_string().into());
    }
    Ok(response.into_body())
}

fn median(service: &Arc<Service>, query: &str) -> Result<f64, Failure> {
    let mut times = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let start = Instant::now();
        ask(service, Request::get(format!("/emails?limit=100{query}")), b"")?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ASKED / 2])
}

#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
fn main() -> Result<(), Failure> {
    let service = idempost_sandbox::service(Settings::default());
    let mut ids = Vec::new();
    for count in std::env::args().skip(1) {
        let count: usize = count.parse()?;
        while ids.len() < count {
            let answer: Value = serde_json::from_slice(&ask(&service, Request::post("/emails"), EMAIL)?)?;
            ids.push(answer["id"].as_str().unwrap_or_default().to_owned());
        }
        let newest = median(&service, "")?;
        let middle = median(&service, &format!("&after={}", ids[ids.len() / 2]))?;
        println!("{count:>7} emails: newest page {newest:.0} µs, a page in the middle {middle:.0} µs");
    }
    Ok(())
}
