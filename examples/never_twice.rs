//! Sending from a job queue, at most once per job: the key comes from the job, and the error decides what to do with it.

use idempost::{Client, Email, Outcome};

#[derive(Debug, PartialEq)]
enum Verdict {
    Done,
    /// Queue the job again: the same key makes the retry safe.
    Retry,
    /// A retry won't help; a developer has to look.
    DeadLetter(String),
}

async fn run(client: &Client, job: u64, address: &str) -> Verdict {
    let email = Email::new("Acme <hi@acme.test>", address, "Your order")
        .text(format!("Order {job} has been shipped."));
    match client.emails().send(&email).idempotency_key(format!("order-{job}-shipped")).await {
        Ok(_) => Verdict::Done,
        // The service accepted the email, but its response could not be read: sending again would change nothing.
        Err(error) if error.outcome() == Outcome::Accepted => Verdict::Done,
        Err(error) if error.is_retryable() => Verdict::Retry,
        Err(error) => Verdict::DeadLetter(error.to_string()),
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the verdict is the program's result")]
async fn main() -> idempost::Result<()> {
    println!("{:?}", run(&Client::from_env()?, 17, "ada@example.com").await);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost::RetryPolicy;
    use idempost_reference_server::{ReferenceServer, Settings, faults::Action};

    use super::*;

    #[tokio::test]
    async fn a_lost_response_and_a_retry_send_one_email() {
        // IDEM-07
        let server = ReferenceServer::over_http(Settings::default()).await;
        let client = Client::builder()
            .base_url(server.base_url())
            .api_key(server.api_key())
            .retry(RetryPolicy::never())
            .build()
            .unwrap();
        server.service().faults().next(Action::DropAfter);
        assert_eq!(run(&client, 17, "ada@example.com").await, Verdict::Retry);
        assert_eq!(run(&client, 17, "ada@example.com").await, Verdict::Done);
        assert_eq!(server.service().mails("sb_test").len(), 1);
        assert!(matches!(run(&client, 18, "nobody").await, Verdict::DeadLetter(_)));
    }
}
