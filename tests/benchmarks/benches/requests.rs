//! One email after the other over one connection, three ways: `cargo bench -p idempost-benchmarks`.

use divan::Bencher;
use idempost_benchmarks::peer;
use idempost_benchmarks::senders::{Hyper, Reqwest, Sdk};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

/// The peer on a thread and a runtime of its own, and a runtime for the sender.
fn start() -> (Runtime, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener for tokio");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).expect("a listener");
            peer::serve(listener, peer::Options::default(), None).await
        })
    });
    (Builder::new_current_thread().enable_all().build().expect("a runtime"), base)
}

#[divan::bench]
fn sdk(bencher: Bencher<'_, '_>) {
    let (runtime, base) = start();
    let sdk = Sdk::new(&base).expect("a client");
    bencher.bench_local(|| runtime.block_on(sdk.send()).expect("accepted"));
}

#[divan::bench]
fn reqwest(bencher: Bencher<'_, '_>) {
    let (runtime, base) = start();
    let reqwest = Reqwest::new(&base).expect("a client");
    bencher.bench_local(|| runtime.block_on(reqwest.send()).expect("accepted"));
}

#[divan::bench]
fn hyper(bencher: Bencher<'_, '_>) {
    let (runtime, base) = start();
    let hyper = Hyper::new(&base).expect("a client");
    bencher.bench_local(|| runtime.block_on(hyper.send()).expect("accepted"));
}
