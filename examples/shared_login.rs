//! Servers on several machines share one login through a database: the first one that needs a new access token refreshes it for all. (On one machine,
//! `FileStore` is enough.)
//!
//! A store needs two things from a database: records that are durable when `write` completes, and a lock that ends with its holder's connection.
//! They must not be one transaction: the record written under the lock announces that a refresh is about to begin. If it were part of
//! the lock's transaction, it would be rolled back with the lock when that very process dies. Here the lock is an open transaction in a
//! separate file. With PostgreSQL it is `pg_advisory_lock` on a separate connection, and the record is an ordinary row.
//!
//! `LOGIN_DATABASE` is the path of the database. `Session::start` writes a new login to it, as in `login.rs`.

use std::{path::PathBuf, time::Duration};

use idempost::{
    Client, Email,
    auth::{LockedStore, Session, StoreError, TokenRecord, TokenStore},
    transport::BoxFuture,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

/// A login as a row of a database. Anyone who can read the database can read the tokens.
#[derive(Clone)]
struct Database {
    records: PathBuf,
    lock: PathBuf,
}

impl Database {
    fn at(path: impl Into<PathBuf>) -> Self {
        let records = path.into();
        Self { lock: records.with_extension("lock"), records }
    }

    /// Runs a query on a blocking thread.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.records.clone();
        blocking(move || {
            let database = Connection::open(path)?;
            database.busy_timeout(Duration::from_secs(5))?;
            // Each commit waits for the disk.
            database.pragma_update(None, "synchronous", "FULL")?;
            let table = "CREATE TABLE IF NOT EXISTS login (id INTEGER PRIMARY KEY CHECK (id = 1), record BLOB NOT NULL)";
            database.execute(table, ())?;
            work(&database)
        })
        .await?
        .map_err(|error| StoreError::unavailable("the database of the login").with_source(error))
    }

    async fn record(&self) -> Result<Option<TokenRecord>, StoreError> {
        let find = |database: &Connection| {
            let row = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
            database.query_row("SELECT record FROM login", (), row).optional()
        };
        self.with(find).await?.map(|record| TokenRecord::from_json(&record)).transpose()
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| StoreError::unavailable("a thread for the database").with_source(error))
}

impl TokenStore for Database {
    fn read(&self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        Box::pin(self.record())
    }

    fn lock(&self, timeout: Duration) -> BoxFuture<'_, Result<Box<dyn LockedStore>, StoreError>> {
        Box::pin(async move {
            let path = self.lock.clone();
            let taken = blocking(move || {
                let lock = Connection::open(path)?;
                lock.busy_timeout(timeout)?;
                lock.execute_batch("BEGIN IMMEDIATE")?;
                Ok(lock)
            });
            match taken.await? {
                Ok(lock) => Ok(Box::new(Locked { database: self.clone(), _lock: lock }) as _),
                Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == ErrorCode::DatabaseBusy => {
                    Err(StoreError::Busy { holder: None })
                }
                Err(error) => Err(StoreError::unavailable("the lock of the login").with_source(error)),
            }
        })
    }
}

/// The transaction ends with the connection, and the connection ends with the process, no matter how it dies.
struct Locked {
    database: Database,
    _lock: Connection,
}

impl LockedStore for Locked {
    fn read(&mut self) -> BoxFuture<'_, Result<Option<TokenRecord>, StoreError>> {
        let database = self.database.clone();
        Box::pin(async move { database.record().await })
    }

    fn write<'a>(&'a mut self, record: &'a TokenRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        let (database, record) = (self.database.clone(), record.to_json());
        let replace = move |database: &Connection| {
            database.execute("INSERT OR REPLACE INTO login (id, record) VALUES (1, ?1)", (record,)).map(drop)
        };
        Box::pin(async move { database.with(replace).await })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        let database = self.database.clone();
        let delete = |database: &Connection| database.execute("DELETE FROM login", ()).map(drop);
        Box::pin(async move { database.with(delete).await })
    }
}

/// A client with a session, created when a server starts.
fn start(base_url: &str, session: &Session) -> idempost::Result<Client> {
    Client::builder().base_url(base_url).session(session.clone()).build()
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the email's id is the program's result")]
async fn main() -> idempost::Result<()> {
    let setting = |name| std::env::var(name).unwrap_or_default();
    let session = Session::open(Database::at(setting("LOGIN_DATABASE")));
    let client = start(&setting("IDEMPOST_BASE_URL"), &session)?;
    let email =
        Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("From one of many servers");
    let sent = client.emails().send(&email).await;
    // A refresh in flight would lose the new tokens at the end of the program.
    session.close().await;
    println!("accepted as {}", sent?.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use idempost_reference_server::{ReferenceServer, Settings, TokenEventKind};

    use super::*;

    async fn login(server: &ReferenceServer, database: &Database) {
        let issued = server.service().grant("idempost-cli", &server.api_key(), "full_access");
        let token = format!("{}/oauth/token", server.base_url());
        // Without an access token, the first call must refresh.
        let record = TokenRecord::new(server.base_url(), token, "idempost-cli", issued.refresh_token.into());
        Session::start(database.clone(), &record).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_that_need_a_token_concurrently_refresh_it_once() {
        let server = ReferenceServer::start_http(Settings::default()).await;
        let folder = tempfile::tempdir().unwrap();
        let database = Database::at(folder.path().join("app.db"));
        login(&server, &database).await;

        let server_with = || start(&server.base_url(), &Session::open(database.clone())).unwrap();
        let servers: Vec<_> = (0..4).map(|_| server_with()).collect();
        let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Hello").text("x");
        let sends = servers.iter().flat_map(|client| [client, client]);
        let sends = sends.map(|client| async { client.emails().send(&email).await });
        for sent in join_all(sends).await {
            sent.unwrap();
        }

        let events: Vec<_> = server.service().token_events().into_iter().map(|event| event.kind).collect();
        assert_eq!(events, [TokenEventKind::Issued, TokenEventKind::Rotated { generation: 2 }]);
        assert_eq!(database.record().await.unwrap().unwrap().generation, 2);
    }

    #[tokio::test]
    async fn a_record_written_under_the_lock_survives_its_holder() {
        let server = ReferenceServer::start_http(Settings::default()).await;
        let folder = tempfile::tempdir().unwrap();
        let database = Database::at(folder.path().join("app.db"));
        login(&server, &database).await;

        let mut locked = database.lock(Duration::ZERO).await.unwrap();
        assert!(matches!(database.lock(Duration::ZERO).await, Err(StoreError::Busy { .. })));
        let mut record = locked.read().await.unwrap().unwrap();
        record.generation += 7;
        locked.write(&record).await.unwrap();
        drop(locked);
        assert_eq!(database.record().await.unwrap().unwrap().generation, record.generation);

        let mut locked = database.lock(Duration::ZERO).await.unwrap();
        locked.remove().await.unwrap();
        assert!(database.record().await.unwrap().is_none());
    }
}
