//! The peer in a process of its own, so that its instructions aren't counted: `peer [full] [http2] [tls=FILE] [MILLISECONDS]`. Prints its URL and
//! serves until it is killed. With `full`, its response to a send has the headers of the sandbox's; with `tls`, it serves HTTPS and writes its
//! certificate to the file; with a number, each response takes that long.

use std::sync::Arc;
use std::time::Duration;

use idempost_benchmarks::peer::{self, Options};
use idempost_benchmarks::senders::Failure;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the address is the program's result")]
async fn main() -> Result<(), Failure> {
    let (mut options, mut tls) = (Options::default(), None);
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "full" => options.full = true,
            "http2" => options.http2 = true,
            word if word.starts_with("tls=") => tls = Some(acceptor(&word[4..])?),
            milliseconds => options.delay = Duration::from_millis(milliseconds.parse()?),
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    println!("{scheme}://{}", listener.local_addr()?);
    Ok(peer::serve(listener, options, tls).await?)
}

/// A self-signed certificate, which is also written to the file.
fn acceptor(file: &str) -> Result<TlsAcceptor, Failure> {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    std::fs::write(file, own.cert.pem())?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
