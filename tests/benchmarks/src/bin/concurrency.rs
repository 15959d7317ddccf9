//! Times concurrent sends of a new client, with the SDK and with reqwest alone: `concurrency ROUNDS BASE_URL HTTP2_BASE_URL`. Prints the medians of
//! the rounds, in which the two take turns.

use std::pin::Pin;
use std::time::Instant;

use futures_util::future::try_join_all;
use idempost_benchmarks::senders::{Failure, Reqwest, Sdk};

type Sends = Pin<Box<dyn Future<Output = Result<Vec<String>, Failure>>>>;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the table is the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rounds, http1, http2] = arguments.as_slice() else {
        return Err("usage: concurrency ROUNDS BASE_URL HTTP2_BASE_URL".into());
    };
    let rounds: usize = rounds.parse()?;
    println!("           sends   reqwest      SDK   ratio");
    for (protocol, base) in [("HTTP/1.1", http1), ("HTTP/2", http2)] {
        for count in [1, 10, 100, 1_000] {
            let (mut reqwest, mut sdk) = (Vec::new(), Vec::new());
            for round in 0..=rounds {
                let over_http2 = protocol == "HTTP/2";
                let times = [
                    timed(with_reqwest(base, over_http2, count)?).await?,
                    timed(with_sdk(base, over_http2, count)?).await?,
                ];
                // The first round fills the caches.
                if round > 0 {
                    reqwest.push(times[0]);
                    sdk.push(times[1]);
                }
            }
            let (reqwest, sdk) = (median(reqwest), median(sdk));
            println!("{protocol:<8} {count:>7} {reqwest:>6.0} ms {sdk:>5.0} ms {:>7.3}", sdk / reqwest);
        }
    }
    Ok(())
}

fn with_reqwest(base: &str, http2: bool, count: usize) -> Result<Sends, Failure> {
    let reqwest = if http2 { Reqwest::over_http2(base)? } else { Reqwest::new(base)? };
    Ok(Box::pin(async move { try_join_all((0..count).map(|_| reqwest.send())).await }))
}

fn with_sdk(base: &str, http2: bool, count: usize) -> Result<Sends, Failure> {
    let sdk = if http2 { Sdk::over_http2(base)? } else { Sdk::new(base)? };
    Ok(Box::pin(async move { try_join_all((0..count).map(|_| sdk.send())).await }))
}

/// In milliseconds.
async fn timed(sends: Sends) -> Result<f64, Failure> {
    let start = Instant::now();
    sends.await?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
