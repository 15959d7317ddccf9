//! Sends COUNT emails in sequence: `load sdk|reqwest|hyper COUNT BASE_URL`. Prints emails per second.

use std::time::Instant;

use idempost_benchmarks::senders::{Failure, Hyper, Reqwest, Sdk};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the pace is the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, count, base] = arguments.as_slice() else {
        return Err("usage: load sdk|reqwest|hyper COUNT BASE_URL".into());
    };
    let count: u32 = count.parse()?;
    let start = Instant::now();
    match way.as_str() {
        "sdk" => {
            let sdk = Sdk::new(base)?;
            for _ in 0..count {
                sdk.send().await?;
            }
        }
        "reqwest" => {
            let reqwest = Reqwest::new(base)?;
            for _ in 0..count {
                reqwest.send().await?;
            }
        }
        "hyper" => {
            let hyper = Hyper::new(base)?;
            for _ in 0..count {
                hyper.send().await?;
            }
        }
        other => return Err(format!("no such way to send: {other}").into()),
    }
    println!("{way}: {:.0} emails a second", f64::from(count) / start.elapsed().as_secs_f64());
    Ok(())
}
