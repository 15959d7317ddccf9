//! A worker that sends a queue and stops before the daily quota is used up, so that urgent emails can still be sent.

use idempost::{Client, Email, Error, error::ApiErrorKind, usage::EmailQuota};

/// The number of emails per day that the queue leaves for others.
const RESERVE: u64 = 10;

/// The number of emails that the queue may send now; `None` if there is no quota.
async fn available(client: &Client) -> idempost::Result<Option<u64>> {
    let emails = client.usage().get().await?.emails;
    let least = [&emails.daily, &emails.monthly].into_iter().filter_map(EmailQuota::remaining).min();
    Ok(least.map(|left| left.saturating_sub(RESERVE)))
}

/// Sends until the queue is empty or the quota is used up; returns what remains in the queue.
async fn work<'a>(client: &Client, queue: &'a [Email]) -> idempost::Result<&'a [Email]> {
    let available = available(client).await?.unwrap_or(u64::MAX);
    for (sent, email) in queue.iter().enumerate() {
        if sent as u64 >= available {
            return Ok(&queue[sent..]);
        }
        match client.emails().send(email).with_response().await {
            Ok(accepted) => {
                tracing::info!(id = %accepted.value.id, used = ?accepted.quota_used().daily, "sent");
            }
            // Other senders have used up the quota in the meantime. A retry would fail until it resets.
            Err(Error::Api(error)) if error.kind() == ApiErrorKind::QuotaExceeded => {
                return Ok(&queue[sent..]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(&[])
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what is left is the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    let queue = ["ada@example.com", "bob@example.com"]
        .map(|to| Email::new("Acme <hi@acme.test>", to, "Hello").text("It works"));
    println!("{} emails are left for tomorrow", work(&client, &queue).await?.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost_reference_server::{ClockStart, ReferenceServer, Settings};

    use super::*;

    fn queue(length: usize) -> Vec<Email> {
        (0..length).map(|_| Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")).collect()
    }

    #[tokio::test]
    async fn the_queue_leaves_the_reserve_and_continues_the_next_day() {
        let clock = ClockStart::Frozen("2026-03-02T12:00:00Z".parse().unwrap());
        let settings = Settings { daily_quota: Some(15), clock, ..Settings::default() };
        let server = ReferenceServer::start_with(settings).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let queue = queue(7);
        let rest = work(&client, &queue).await.unwrap();
        assert_eq!(rest.len(), 2);
        assert_eq!(client.usage().get().await.unwrap().emails.daily.remaining(), Some(RESERVE));
        assert_eq!(work(&client, rest).await.unwrap().len(), 2);
        server.service().clock().advance(Duration::from_hours(24));
        assert!(work(&client, rest).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn without_a_quota_the_whole_queue_is_sent() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let queue = queue(3);
        assert!(work(&client, &queue).await.unwrap().is_empty());
        let usage = client.usage().get().await.unwrap();
        assert_eq!((usage.emails.daily.sent, usage.emails.daily.limit), (Some(3), None));
    }
}
