//! A send-only websocket (RFC 6455).

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::{mpsc, watch};
use tokio::time::{interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

/// How long a client may take to read a message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of pings, which detect closed connections.
const PING: Duration = Duration::from_secs(30);
/// The maximum size of a received message, in bytes. Clients don't need to send any.
const MAX_RECEIVED: usize = 64 << 10;

/// Sends messages until the client disconnects or the mount stops.
pub(super) async fn serve(
    upgrade: OnUpgrade,
    mut messages: mpsc::Receiver<String>,
    mut stopped: watch::Receiver<bool>,
) {
    let Ok(connection) = upgrade.await else { return };
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_RECEIVED)).max_frame_size(Some(MAX_RECEIVED));
    let stream = TokioIo::new(connection);
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut ping = interval(PING);
    loop {
        let message = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => break,
            received = socket.next() => match received {
                Some(Ok(message)) if !message.is_close() => continue,
                _ => return,
            },
            message = messages.recv() => match message {
                Some(message) => Message::text(message),
                None => break,
            },
            _ = ping.tick() => Message::Ping(Vec::new().into()),
        };
        if !matches!(timeout(WRITE_TIMEOUT, socket.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(WRITE_TIMEOUT, socket.close(None)).await;
}
