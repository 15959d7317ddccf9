//! Sending from an axum handler, with a graceful shutdown: neither a browser that disconnects nor a deployment interrupts a send.

use axum::extract::{Path, State};
use axum::{Router, http::StatusCode, routing::post};
use idempost::{Client, Email};
use tokio::{net::TcpListener, sync::mpsc};

#[derive(Clone)]
struct App {
    client: Client,
    /// Each send holds a clone, so the channel closes when the last send is complete.
    sending: mpsc::Sender<()>,
}

async fn confirm(State(app): State<App>, Path(order): Path<u64>) -> StatusCode {
    let App { client, sending } = app;
    // If the browser disconnects, axum drops the handler; a spawned task continues.
    let send = tokio::spawn(async move {
        let email = Email::new("Acme <hi@acme.test>", "ada@example.com", format!("Order {order}"))
            .text("Thank you for your order.");
        let sent = client.emails().send(&email).idempotency_key(format!("order-{order}")).await;
        drop(sending);
        sent
    });
    match send.await {
        Ok(Ok(_)) => StatusCode::ACCEPTED,
        Ok(Err(error)) if error.is_retryable() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Serves until `stop` completes; then finishes the requests and sends in progress.
async fn serve(client: Client, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) {
    let (sending, mut all_sent) = mpsc::channel(1);
    let app =
        Router::new().route("/orders/{order}/confirm", post(confirm)).with_state(App { client, sending });
    axum::serve(listener, app).with_graceful_shutdown(stop).await.expect("axum never returns an error");
    all_sent.recv().await;
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    serve(Client::from_env()?, listener, async { drop(tokio::signal::ctrl_c().await) }).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::call::RetryPolicy;
    use idempost_reference_server::{ReferenceServer, Settings, faults::Action};
    use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::oneshot};

    use super::*;

    #[tokio::test]
    async fn a_send_survives_a_disconnect_and_a_shutdown() {
        // IDEM-07
        let server = ReferenceServer::start_http(Settings::default()).await;
        let retry = RetryPolicy::default().base_delay(Duration::from_millis(100));
        let client = Client::builder().base_url(server.base_url()).api_key(server.api_key()).retry(retry);
        let faults = server.service().faults();
        faults.add_once(Action::error(503, "internal_server_error", "The first attempt fails."));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(client.build().unwrap(), listener, async { drop(stopped.await) }));

        browser.write_all(b"POST /orders/17/confirm HTTP/1.1\r\nHost: acme.test\r\n\r\n").await.unwrap();
        while faults.pending() > 0 {
            tokio::task::yield_now().await;
        }
        drop(browser);
        stop.send(()).unwrap();
        serving.await.unwrap();
        assert_eq!(server.service().mails(&server.api_key())[0].subject, "Order 17");
    }
}
