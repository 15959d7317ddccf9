//! Reads a list of COUNT emails: `listing stream COUNT BASE_URL` with the SDK, `listing decode COUNT` with serde alone, from pages in memory.
//!
//! `listing idle BASE_URL` reads one item, for the base memory use of a connected client. Prints the program's peak memory use in KiB.

use futures_util::TryStreamExt as _;
use idempost::Client;
use idempost_benchmarks::senders::Failure;
use idempost_benchmarks::{listing, memory};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let read = match arguments.as_slice() {
        ["idle", base] => {
            let client = Client::new(&format!("{base}/1"), "re_benchmark")?;
            client.emails().list().page_size(1).await?.data.len()
        }
        ["stream", count, base] => {
            let client = Client::new(&format!("{base}/{count}"), "re_benchmark")?;
            let mut emails = client.emails().list().stream();
            let mut read = 0;
            while let Some(email) = emails.try_next().await? {
                read += usize::from(!email.subject.is_empty());
            }
            read
        }
        ["decode", count] => {
            let count = count.parse()?;
            let page = listing::page(0, u64::MAX);
            let mut read = 0;
            while read < count {
                read += listing::decode(page.as_bytes())?.0;
            }
            read
        }
        _ => return Err("usage: listing idle BASE_URL | stream COUNT BASE_URL | decode COUNT".into()),
    };
    println!("{read} items, peak {} KiB", memory::peak()?);
    Ok(())
}
