//! The program connects only to the configured service.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Idempost, SEND};

/// A listener that counts its connections.
fn counting() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let counted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&counted);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            let answer =
                b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            // The client may have disconnected.
            let _ = stream.and_then(|mut stream| stream.write_all(answer));
        }
    });
    (address, counted)
}

#[test]
fn only_service_commands_open_connections_and_only_to_the_service() {
    // B-25
    let (service, asked) = counting();
    let (proxy, proxied) = counting();
    let mut idempost = Idempost::new()
        .config("")
        .env("IDEMPOST_BASE_URL", format!("http://{service}"))
        .env("IDEMPOST_API_KEY", "key")
        .env("IDEMPOST_RETRIES", "0");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        idempost = idempost.env(name, format!("http://{proxy}"));
    }
    let dry_run = [&SEND[..], &["--dry-run"]].concat();
    let sandbox = [&["--sandbox"], &SEND[..]].concat();
    for local in [
        &[][..],
        &["--version"],
        &["--help"],
        &["help", "emails", "send"],
        &["help", "--json"],
        &["emails", "send", "-h"],
        &["config", "list"],
        &["config", "set", "timeout", "5s"],
        &["config", "path"],
        &["auth", "list"],
        &["completions", "bash"],
        &["man"],
        &["man", "--install"],
        &["skill"],
        &["skill", "--install"],
        &["domains", "create", "acme.test", "-n"],
        &["domains", "delete", "d", "-n"],
        &dry_run,
        &sandbox,
        &["sandbox", "run", "--", "true"],
    ] {
        idempost.run(local).ok();
        assert_eq!((asked.load(Ordering::SeqCst), proxied.load(Ordering::SeqCst)), (0, 0), "{local:?}");
    }
    idempost.run(&["emails", "list"]).fails(7);
    assert_eq!((asked.load(Ordering::SeqCst), proxied.load(Ordering::SeqCst)), (1, 0));
}
