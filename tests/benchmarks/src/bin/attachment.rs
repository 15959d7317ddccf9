//! Sends one email with or without an attachment of 30 MiB from a file: `attachment BASE_URL [FILE]`.
//!
//! Prints the program's peak memory use in KiB and the size of the body as counted by the peer.

use idempost::{Attachment, Client, Email};
use idempost_benchmarks::memory;
use idempost_benchmarks::senders::Failure;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the figures are the program's result")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().ok_or("usage: attachment BASE_URL [FILE]")?;
    let client = Client::new(&base, "re_benchmark")?;
    let mut email = Email::new("hi@acme.test", "ada@example.com", "Report").text("Attached.");
    if let Some(file) = arguments.next() {
        email = email.attach(Attachment::from_file(file).await?);
    }
    client.emails().send(&email).await?;
    let peak = memory::peak()?;
    let sent = client.request(http::Method::GET, "/last").await?;
    println!("peak {peak} KiB, body {sent} bytes");
    Ok(())
}
