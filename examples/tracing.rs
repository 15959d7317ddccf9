//! Logging the client's requests: one span per call, with a child per attempt.

use idempost::{Accepted, Client, Email};
use tracing_subscriber::fmt::format::FmtSpan;

/// Sends a greeting. With a subscriber at level `debug`, a send that succeeds at its second attempt logs lines such as
///
/// ```text
/// DEBUG idempost{otel.name="emails.send" …}:attempt{otel.name="POST /emails" … http.response.status_code=503 …}: close
/// DEBUG idempost{otel.name="emails.send" …}: retrying attempt=1 cause="503" delay=300ms
/// DEBUG idempost{otel.name="emails.send" …}:attempt{… http.request.resend_count=1 … http.response.status_code=200 …}: close
/// DEBUG idempost{otel.name="emails.send" http.request.method="POST" url.template=/emails attempts=2 http.response.status_code=200}: close
/// ```
///
/// The fields are named as in OpenTelemetry's semantic conventions. They never contain an address, a body or a credential.
async fn run(client: &Client) -> idempost::Result<Accepted> {
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("It works");
    client.emails().send(&email).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the id is the program's result")]
async fn main() -> idempost::Result<()> {
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(std::io::stderr)
        .init();
    let accepted = run(&Client::from_env()?).await?;
    println!("{}", accepted.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
    };

    use idempost::call::RetryPolicy;
    use idempost_reference_server::{
        ReferenceServer,
        faults::{Action, Rule},
    };

    use super::*;

    /// Collects the log output.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_send_logs_a_span_and_its_attempts_and_nothing_private() {
        let server = ReferenceServer::start().await;
        let unavailable = Action::Answer {
            status: http::StatusCode::SERVICE_UNAVAILABLE,
            headers: http::HeaderMap::new(),
            body: bytes::Bytes::new(),
        };
        server.service().faults().add(Rule::new(unavailable).on_request(http::Method::POST, "/emails"));
        let client = Client::builder()
            .base_url(server.base_url())
            .api_key(server.api_key())
            .retry(RetryPolicy::default().base_delay(std::time::Duration::from_millis(1)))
            .build()
            .unwrap();
        // With a single subscriber, tracing disables a span for all threads if a test on a thread without the subscriber reaches it first.
        let _other = tracing::Dispatch::new(tracing_subscriber::registry());
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_span_events(FmtSpan::CLOSE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let _default = tracing::subscriber::set_default(subscriber);
        run(&client).await.unwrap();

        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("idempost{")).collect();
        let has = |parts: &[&str]| lines.iter().any(|line| parts.iter().all(|part| line.contains(part)));
        let call = "idempost{otel.name=\"emails.send\" http.request.method=\"POST\" url.template=/emails";
        let attempt = "attempt{otel.name=\"POST /emails\"";
        assert!(has(&[call, attempt, "http.response.status_code=503", "close"]), "{text}");
        assert!(has(&[call, "retrying attempt=1"]), "{text}");
        let again = "http.request.resend_count=1";
        assert!(
            has(&[call, attempt, again, "http.response.status_code=200", "request_id=", "close"]),
            "{text}"
        );
        assert!(has(&[call, "attempts=2 http.response.status_code=200}: ", "close"]), "{text}");
        for private in ["ada@", "acme.test", "It works", "Hello", "Bearer", server.api_key().as_str()] {
            assert!(!lines.iter().any(|line| line.contains(private)), "{private}: {text}");
        }
    }
}
