//! Downloads a file of SIZE bytes into a writer that discards it: `download BASE_URL [SIZE]`.
//!
//! Prints the program's peak memory use in KiB and the number of bytes written.

use idempost::Client;
use idempost_benchmarks::memory;
use idempost_benchmarks::senders::Failure;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().ok_or("usage: download BASE_URL [SIZE]")?;
    let size = arguments.next().unwrap_or_else(|| "1".to_owned());
    let client = Client::new(&base, "re_benchmark")?;
    let url = format!("{base}/file/{size}");
    let written = client.received().download(&url).write_to(&mut tokio::io::sink()).await?;
    println!("peak {} KiB, {written} bytes written", memory::peak()?);
    Ok(())
}
