//! The peer in a process of its own, so that its instructions aren't counted: `peer [full] [http2] [MILLISECONDS]`. Prints its URL and serves until
//! it is killed. With `full`, its response to a send has the headers of the sandbox's; with a number, each response takes that long.

use std::time::Duration;

use idempost_benchmarks::peer::{self, Options};
use idempost_benchmarks::senders::Failure;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the address is the program's result")]
async fn main() -> Result<(), Failure> {
    let mut options = Options::default();
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "full" => options.full = true,
            "http2" => options.http2 = true,
            milliseconds => options.delay = Duration::from_millis(milliseconds.parse()?),
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(peer::serve(listener, options).await?)
}
