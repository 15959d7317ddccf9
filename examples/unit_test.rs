//! A unit test without a server: the test scripts the responses that the client of the function under test receives.

use idempost::{Client, Email, Outcome};

/// What the shop shows the customer after an order.
#[derive(Debug, PartialEq)]
enum Notice {
    Sent,
    /// The receipt may have been sent; a job tries again, under the same key.
    Later,
    CheckAddress,
}

async fn send_receipt(client: &Client, order: u64, address: &str) -> Notice {
    let email = Email::new("Acme <hi@acme.test>", address, format!("Your order {order}")).text("Thank you!");
    match client.emails().send(&email).idempotency_key(format!("receipt-{order}")).await {
        Ok(_) => Notice::Sent,
        Err(error)
            if matches!(error.outcome(), Outcome::NotSent | Outcome::Rejected) && !error.is_retryable() =>
        {
            Notice::CheckAddress
        }
        Err(_) => Notice::Later,
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the notice is the program's result")]
async fn main() -> idempost::Result<()> {
    println!("{:?}", send_receipt(&Client::from_env()?, 17, "ada@example.com").await);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost::testing::{Reply, ScriptedTransport};
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_receipt_is_sent_under_the_key_of_its_order() {
        let script =
            ScriptedTransport::new([Reply::connection_lost(), Reply::json(200, json!({"id": "e1"}))]);
        assert_eq!(send_receipt(&script.client(), 17, "ada@example.com").await, Notice::Sent);
        let requests = script.finish();
        assert_eq!(requests.len(), 2);
        assert!(requests.iter().all(|request| request.header("idempotency-key") == "receipt-17"));
        assert_eq!(requests[0].json()["subject"], "Your order 17");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_receipt_is_repeated_unless_its_address_is_invalid() {
        let script = ScriptedTransport::new([Reply::connection_lost().repeat()]);
        assert_eq!(send_receipt(&script.client(), 17, "ada@example.com").await, Notice::Later);
        let script = ScriptedTransport::new([Reply::error(422, "validation_error")]);
        assert_eq!(send_receipt(&script.client(), 17, "ada@example.com").await, Notice::CheckAddress);
        let script = ScriptedTransport::new([]);
        assert_eq!(send_receipt(&script.client(), 17, "ada@@example.com").await, Notice::CheckAddress);
        script.finish();
    }
}
