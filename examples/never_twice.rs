//! Sending from a job queue, at most once per job: the key comes from the job, and the error decides what to do with it. The service knows a key
//! for 24 hours; `docs/web-applications.md` shows a queue whose jobs can be older.

use idempost::{Client, Email, Outcome, error::Recovery};

#[derive(Debug, PartialEq)]
enum Verdict {
    Done,
    /// Queue the job again: within 24 hours, the same key makes the retry safe.
    Retry,
    /// Stop the queue until an operator has corrected the account, its domain or the key.
    Hold(String),
    /// A retry doesn't help: this email can't be sent.
    DeadLetter(String),
}

async fn run(client: &Client, job: u64, address: &str) -> Verdict {
    let email = Email::new("Acme <hi@acme.test>", address, "Your order")
        .text(format!("Order {job} has been shipped."));
    match client.emails().send(&email).idempotency_key(format!("order-{job}-shipped")).await {
        Ok(_) => Verdict::Done,
        // The service accepted the email, but its response could not be read: sending again would change nothing.
        Err(error) if error.outcome() == Outcome::Accepted => Verdict::Done,
        Err(error) => match error.recovery() {
            Recovery::Wait => Verdict::Retry,
            Recovery::Act => Verdict::Hold(error.to_string()),
            _ => Verdict::DeadLetter(error.to_string()),
        },
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
    use idempost::call::RetryPolicy;
    use idempost_reference_server::{ReferenceServer, Settings, faults::Action};

    use super::*;

    #[tokio::test]
    async fn a_lost_response_and_a_retry_send_one_email() {
        // IDEM-07
        let server = ReferenceServer::start_http(Settings::default()).await;
        let client = Client::builder()
            .base_url(server.base_url())
            .api_key(server.api_key())
            .retry(RetryPolicy::never())
            .build()
            .unwrap();
        server.service().faults().add_once(Action::DropAfter);
        assert_eq!(run(&client, 17, "ada@example.com").await, Verdict::Retry);
        assert_eq!(run(&client, 17, "ada@example.com").await, Verdict::Done);
        assert_eq!(server.service().mails("sb_test").len(), 1);
        assert!(matches!(run(&client, 18, "nobody").await, Verdict::DeadLetter(_)));
    }

    #[tokio::test]
    async fn an_unverified_domain_stops_the_queue_and_an_invalid_address_drops_its_job() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let unverified = Action::error(403, "validation_error", "The acme.test domain is not verified.");
        server.service().faults().add_once(unverified);
        let held = run(&client, 18, "ada@example.com").await;
        assert!(matches!(&held, Verdict::Hold(reason) if reason.contains("not verified")), "{held:?}");
        assert!(matches!(run(&client, 19, "ada@@example.com").await, Verdict::DeadLetter(_)));
        assert_eq!(run(&client, 18, "ada@example.com").await, Verdict::Done);
    }
}
