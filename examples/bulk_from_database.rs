//! An invoice to every customer in a database, each sent once, no matter how often the program is interrupted and restarted, or which
//! customers are added in between. The database is `customers.db`, with a table `customer (address, name, amount)`.

use std::path::{Path, PathBuf};

use futures_util::stream;
use idempost::{Client, ClientBuilder, call::RateLimit};
use idempost_bulk::{Bulk, ChangedRows, Input, Message, Report, RunOptions};
use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::mpsc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// An email per customer, in the form of a line of JSON Lines.
const ROWS: &str = "SELECT json_object('customer', rowid, 'to', address, 'variables', json_object('NAME', coalesce(name, ''),
    'AMOUNT', format('%.2f €', amount))) FROM customer ORDER BY address";

/// Plans and sends the invoices of a month. When run again, it continues with unsent rows and new customers.
async fn send_invoices(client: &Client, database: &Path, jobs: &Path, month: &str) -> Result<Report> {
    let message = Message::new()
        .from("Acme <billing@acme.test>")
        .subject(format!("Your invoice for {month}"))
        .html("<p>Dear {{{NAME|customer}}}, please pay {{{AMOUNT}}}.</p>");
    let rows =
        stream::unfold(customers(database.to_owned()), |mut rows| async { Some((rows.recv().await?, rows)) });
    // A customer that is already in the job is never planned again, even with another address.
    let bulk = Bulk::new(Input::try_rows(rows, jobs).await?, message).job(format!("invoices {month}"));
    let bulk = bulk.key("customer").add_rows(ChangedRows::Reject);
    let job = bulk.plan(client, jobs).await?;
    Ok(job.start(client, RunOptions::default())?.finish().await?)
}

/// Reads the customers with a cursor on a separate thread, a few rows ahead of their consumer.
fn customers(database: PathBuf) -> mpsc::Receiver<Result<Value>> {
    let (send, receive) = mpsc::channel(1_000);
    std::thread::spawn(move || {
        let read = || -> Result<()> {
            let database = Connection::open(database)?;
            for row in database.prepare(ROWS)?.query_map([], |row| row.get::<_, String>(0))? {
                send.blocking_send(Ok(serde_json::from_str(&row?)?))?;
            }
            Ok(())
        };
        // If the receiver is gone, the error doesn't matter.
        let _ = read().or_else(|error| send.blocking_send(Err(error)));
    });
    receive
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what became of the invoices is the program's result")]
async fn main() -> Result<()> {
    // The job paces itself.
    let client = ClientBuilder::from_env().rate_limit(RateLimit::Off).build()?;
    let report = send_invoices(&client, Path::new("customers.db"), Path::new("jobs"), "2026-11").await?;
    println!("{:?}; see {:?}", report.counts, report.files);
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Method;
    use idempost_bulk::Ending;
    use idempost_reference_server::ReferenceServer;
    use idempost_reference_server::faults::{Action, Rule};

    use super::*;

    #[tokio::test]
    async fn every_customer_gets_one_invoice_although_the_service_fails_and_the_program_runs_twice() {
        let server = ReferenceServer::start().await;
        let client = Client::builder().base_url(server.base_url()).api_key(server.api_key());
        let client = client.rate_limit(RateLimit::Off).build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("customers.db");
        let database = Connection::open(&path).unwrap();
        database.execute_batch("CREATE TABLE customer (address TEXT, name TEXT, amount REAL)").unwrap();
        for n in 0..250 {
            let name = (n % 2 == 0).then(|| format!("Ada & Søn {n}"));
            let row = (format!("c{n}@example.com"), name, f64::from(n));
            database.execute("INSERT INTO customer VALUES (?1, ?2, ?3)", row).unwrap();
        }
        let lost = Rule::new(Action::DropAfter).on_request(Method::POST, "/emails/batch");
        server.service().faults().add(lost.skip_first(1).times(1));

        let jobs = folder.path().join("jobs");
        for _ in 0..2 {
            let report = send_invoices(&client, &path, &jobs, "2026-11").await.unwrap();
            assert_eq!((report.ending.clone(), report.counts.sent), (Ending::Finished, 250), "{report:?}");
        }
        let mails = server.service().mails("sb_test");
        assert_eq!(mails.len(), 250);
        database.execute("UPDATE customer SET name = 'Ada' WHERE address = 'c7@example.com'", ()).unwrap();
        database.execute("INSERT INTO customer VALUES ('a-new@example.com', 'Eve', 7)", ()).unwrap();
        let report = send_invoices(&client, &path, &jobs, "2026-11").await.unwrap();
        assert_eq!((report.ending.clone(), report.counts.sent), (Ending::Finished, 251), "{report:?}");
        assert_eq!(server.service().mails("sb_test").len(), 251, "only the new customer");
        let html =
            |to: &str| mails.iter().find(|mail| mail.to == [to]).unwrap().html.as_deref().unwrap().to_owned();
        assert_eq!(html("c1@example.com"), "<p>Dear customer, please pay 1.00 €.</p>");
        assert_eq!(html("c2@example.com"), "<p>Dear Ada &amp; Søn 2, please pay 2.00 €.</p>");
    }
}
