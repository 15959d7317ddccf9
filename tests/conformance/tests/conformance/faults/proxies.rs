use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use idempost::{
    Error, Outcome,
    error::Recovery,
    transport::{ReqwestTransport, TransportErrorKind},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket},
};

use super::{email, patient};

/// A proxy that answers the first request of each connection with these bytes; returns its address and the number of connections.
async fn proxy(response: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
            let read = stream.read(&mut [0; 4096]).await.unwrap();
            assert!(read > 0);
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    });
    (address, connections)
}

/// The error of a send through this proxy.
async fn through(proxy: String) -> Error {
    let transport =
        ReqwestTransport::with_config(move |http| http.proxy(reqwest::Proxy::all(proxy.as_str()).unwrap()));
    let client = patient("https://service.invalid").transport(transport).build().unwrap();
    let error = client.emails().send(&email()).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotSent, "{error:?}");
    error
}

#[tokio::test]
async fn a_connection_that_a_proxy_refuses_is_not_retried() {
    // B-25
    for status in ["403 Forbidden", "502 Bad Gateway", "307 Temporary Redirect"] {
        let response = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let (address, connections) = proxy(response.leak()).await;
        let error = through(format!("http://me:sentinel@{address}")).await;
        let Error::Unreachable(failure) = &error else { panic!("{error:?}") };
        assert_eq!(failure.transport.kind(), TransportErrorKind::Proxy, "{error:?}");
        assert_eq!((connections.load(Ordering::Relaxed), error.recovery()), (1, Recovery::Act), "{status}");
        let text = "couldn't connect to service.invalid through the transport's proxy: the proxy refused the connection";
        assert_eq!(failure.transport.to_string(), text);
    }
}

#[tokio::test]
async fn a_proxy_that_requires_a_password_is_an_invalid_setting() {
    // B-25
    let (address, connections) =
        proxy("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
    let error = through(format!("http://me:sentinel@{address}")).await;
    assert!(matches!(error, Error::Settings(_)), "{error:?}");
    let text = "the transport's proxy must contain the user and the password that the proxy requires (found one that responded with a 407)";
    assert_eq!((error.to_string().as_str(), connections.load(Ordering::Relaxed)), (text, 1));
}

#[tokio::test]
async fn a_proxy_that_is_down_is_named_and_tried_again() {
    // B-25
    // Nothing listens on the bound port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = socket.local_addr().unwrap();
    let (closing, connections) = proxy("").await;
    for address in [closed, closing] {
        let error = through(format!("http://{address}")).await;
        let Error::Unreachable(failure) = &error else { panic!("{error:?}") };
        assert_eq!((error.attempts(), error.recovery()), (3, Recovery::Wait), "{error:?}");
        let text = "couldn't connect to service.invalid through the transport's proxy";
        assert_eq!(failure.transport.to_string(), text);
    }
    assert_eq!(connections.load(Ordering::Relaxed), 3);
}
