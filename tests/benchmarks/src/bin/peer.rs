//! The peer in a process of its own, so that its instructions aren't counted: prints its URL and serves until it is killed.
//! With `full`, its response to a send has the headers of the sandbox's.

use idempost_benchmarks::peer;
use idempost_benchmarks::senders::Failure;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the address is the program's result")]
async fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let full = std::env::args().nth(1).is_some_and(|word| word == "full");
    Ok(peer::serve(listener, full).await?)
}
