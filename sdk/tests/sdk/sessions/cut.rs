//! Truncated token responses. Their refresh token counts as soon as its value is complete, wherever the connection breaks.

use std::io::Write as _;

use idempost::{
    testing::{Reply, ScriptedTransport},
    transport::TransportErrorKind,
};

use super::*;

/// A token response of typical size, with the refresh token in the middle.
fn response() -> Vec<u8> {
    let filler = "x".repeat(560);
    let text = format!(
        r#"{{"access_token":"{filler}","expires_in":900,"refresh_token":"rt_whole","scope":"full_access","token_type":"Bearer"}}"#
    );
    text.into_bytes()
}

/// Whether the first `length` bytes contain the complete refresh token.
fn holds_refresh_token(length: usize) -> bool {
    let body = response();
    let value = br#""refresh_token":"rt_whole""#;
    let end = body.windows(value.len()).position(|window| window == value).unwrap() + value.len();
    length >= end
}

async fn check(session: Session, store: &MemoryStore, length: usize, whole: usize) {
    let token = session.access_token().await;
    let record = store.read().await.unwrap().unwrap();
    if holds_refresh_token(length) {
        assert_eq!((refresh_token(&record), record.generation), ("rt_whole", 2), "{length} bytes");
        assert!(record.pending.is_none(), "{length} bytes");
        assert_eq!(token.is_ok(), length == whole, "{length} bytes: {token:?}");
    } else {
        assert!(matches!(auth(&token.unwrap_err()), AuthError::OutcomeUnknown { .. }), "{length} bytes");
        assert!(record.pending.is_some() && record.generation == 1, "{length} bytes");
    }
}

/// A login whose access token has expired by the session's clock.
async fn expired(token_endpoint: &str) -> (MemoryStore, SessionBuilder) {
    let store = MemoryStore::new();
    let mut record = TokenRecord::new(ADDRESS, token_endpoint, CLIENT, "rt_spent".to_owned().into());
    record.expires_in = Duration::ZERO;
    let builder = || Session::builder().max_wait(Duration::ZERO);
    builder().start(store.clone(), &record).await.unwrap();
    (store, builder())
}

#[tokio::test(start_paused = true)]
async fn a_token_response_cut_at_any_byte_keeps_a_complete_refresh_token() {
    // D-12
    let whole = response().len();
    let ends: [fn(Reply) -> Reply; 3] = [
        |start| start.cut_off(TransportErrorKind::Closed),
        |start| start.cut_off(TransportErrorKind::Timeout),
        Reply::incomplete,
    ];
    for end in ends {
        for length in 0..=whole {
            let start = Reply::bytes(200, response()[..length].to_vec());
            let script = ScriptedTransport::new([if length == whole { start } else { end(start) }]);
            let (store, builder) = expired("http://127.0.0.1:9/oauth/token").await;
            check(builder.transport(script).open(store.clone()), &store, length, whole).await;
        }
    }
}

#[tokio::test]
async fn a_token_response_cut_on_the_wire_keeps_a_complete_refresh_token() {
    // D-12
    let body = response();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/oauth/token", listener.local_addr().unwrap());
    let lengths: Vec<_> = (0..=body.len()).collect();
    let whole = body.len();
    let sizes = lengths.clone();
    let server = std::thread::spawn(move || {
        for length in sizes {
            let (mut stream, _) = listener.accept().unwrap();
            read_request(&mut stream);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {whole}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body[..length]).unwrap();
        }
    });
    for length in lengths {
        let (store, builder) = expired(&endpoint).await;
        check(builder.open(store.clone()), &store, length, whole).await;
    }
    server.join().unwrap();
}

/// Reads a request with its body: a connection closed over unread bytes is reset, and the response is lost with it.
fn read_request(stream: &mut std::net::TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let read = std::io::Read::read(stream, &mut buffer).unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if read == 0 || body.len() >= length.unwrap_or(0) {
            return;
        }
    }
}
