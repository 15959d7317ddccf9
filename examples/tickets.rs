//! A help desk: every received email becomes exactly one ticket, whatever fails in between.
//!
//! The ticket and the cursor are written in one transaction, so a crash leaves both or neither.

use futures_util::TryStreamExt as _;
use idempost::{Client, received::ReceivedEmailSummary};
use rusqlite::{Connection, OptionalExtension as _, params};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Imports all emails received since the last run; returns the number of new tickets.
async fn take_in(client: &Client, desk: &mut Connection) -> Result<usize, Failure> {
    let mut tickets = 0;
    let last = desk.query_row("SELECT last FROM cursor", [], |row| row.get::<_, String>(0)).optional()?;
    let received = client.received();
    let Some(last) = last else {
        // The first run has no cursor: it imports all emails, oldest first.
        let all: Vec<_> = received.list().stream().try_collect().await?;
        all.iter().rev().try_for_each(|email| write_down(desk, email))?;
        return Ok(all.len());
    };
    let mut new = received.since(last).stream();
    while let Some(email) = new.try_next().await? {
        write_down(desk, &email)?;
        tickets += 1;
    }
    Ok(tickets)
}

fn write_down(desk: &mut Connection, email: &ReceivedEmailSummary) -> rusqlite::Result<()> {
    let both = desk.transaction()?;
    let ticket = params![email.id.as_str(), email.from, email.subject];
    both.execute("INSERT INTO ticket (email, sender, subject) VALUES (?1, ?2, ?3)", ticket)?;
    both.execute("INSERT OR REPLACE INTO cursor (one, last) VALUES (1, ?1)", [email.id.as_str()])?;
    both.commit()
}

fn open(path: &str) -> rusqlite::Result<Connection> {
    let desk = Connection::open(path)?;
    desk.execute_batch("CREATE TABLE IF NOT EXISTS ticket (email TEXT PRIMARY KEY, sender, subject)")?;
    desk.execute_batch("CREATE TABLE IF NOT EXISTS cursor (one INTEGER PRIMARY KEY, last TEXT NOT NULL)")?;
    Ok(desk)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the number of tickets is the program's result")]
async fn main() -> Result<(), Failure> {
    println!("{} new tickets", take_in(&Client::from_env()?, &mut open("desk.db")?).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Method;
    use idempost::call::RetryPolicy;
    use idempost_reference_server::ReferenceServer;
    use idempost_reference_server::faults::{Action, Rule};

    use super::*;

    fn arrive(server: &ReferenceServer, numbers: std::ops::Range<usize>) {
        for n in numbers {
            let mail =
                format!("From: ada@example.com\r\nTo: help@acme.test\r\nSubject: no {n}\r\n\r\nHelp!\r\n");
            server.service().receive(&server.api_key(), &["help@acme.test"], mail).unwrap();
        }
    }

    #[tokio::test]
    async fn every_email_becomes_one_ticket_despite_failures() {
        let server = ReferenceServer::start().await;
        let client = Client::builder().base_url(server.base_url()).api_key(server.api_key());
        let client = client.retry(RetryPolicy::never()).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("desk.db");
        let desk = || open(path.to_str().unwrap()).unwrap();
        arrive(&server, 0..3);
        assert_eq!(take_in(&client, &mut desk()).await.unwrap(), 3);
        arrive(&server, 3..253);
        // The request for the second page fails; the tickets from the first page are kept.
        let failing =
            Rule::new(Action::http_response(503, "busy")).on_request(Method::GET, "/emails/receiving");
        server.service().faults().add(failing.skip_first(1));
        take_in(&client, &mut desk()).await.unwrap_err();
        assert_eq!(take_in(&client, &mut desk()).await.unwrap(), 150);
        assert_eq!(take_in(&client, &mut desk()).await.unwrap(), 0);
        let desk = desk();
        let mut read = desk.prepare("SELECT subject FROM ticket ORDER BY rowid").unwrap();
        let subjects: Vec<String> =
            read.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(subjects, (0..253).map(|n| format!("no {n}")).collect::<Vec<_>>());
    }
}
