//! Imports a CSV file of contacts in one request, follows its progress, and counts the rows that failed.

use std::path::Path;

use idempost::{
    Client,
    contact_imports::{
        ContactImport, ContactImportStatus, ImportConflict, ImportPropertyType, NewContactImport,
    },
};

/// Imports a file with the columns `E-Mail` and `Town`, and waits for the end. The file is read while it is sent.
async fn import(client: &Client, file: &Path, segment: &str) -> idempost::Result<ContactImport> {
    let people = NewContactImport::from_file(file)
        .await?
        .email_column("E-Mail")
        .property_column("city", "Town", ImportPropertyType::String)
        .on_conflict(ImportConflict::Upsert)
        .segment(segment);
    let id = client.contact_imports().create(&people).await?.id;
    client.contact_imports().wait(&id).await
}

/// The rows without a valid contact. The service doesn't report which ones; `idempost contacts import --dry-run` does.
async fn failed(client: &Client) -> idempost::Result<u64> {
    let mut failed = 0;
    for import in client.contact_imports().list().status(ContactImportStatus::Completed).await?.data {
        let import = client.contact_imports().get(&import.id).await?;
        failed += import.counts.failed.unwrap_or_default();
    }
    Ok(failed)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the counts are the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(segment)) = (arguments.next(), arguments.next()) else {
        return Err("usage: contact_import FILE SEGMENT_ID".into());
    };
    let client = Client::from_env()?;
    let done = import(&client, file.as_ref(), &segment).await?;
    println!("{:?}: {:?}", done.status, done.counts);
    println!("{} rows of the latest imports failed", failed(&client).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idempost::http::Method;
    use idempost::{Error, call::RetryPolicy, contact_properties::NewContactProperty};
    use idempost_reference_server::faults::{Action, Rule};
    use idempost_reference_server::{ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn a_rejected_import_is_sent_again_from_its_start_and_one_of_unknown_outcome_is_not() {
        let server = ReferenceServer::start_http(Settings::default()).await;
        let retry = RetryPolicy::default().base_delay(Duration::from_millis(1));
        let client = Client::builder().base_url(server.base_url()).api_key(server.api_key());
        let client = client.retry(retry).build().unwrap();
        client.contact_properties().create(NewContactProperty::string("city")).await.unwrap();
        let segment = client.segments().create("All").await.unwrap().id;
        let rows = (0..2_000).map(|n| format!("p{n}@example.com,Town {n}\n"));
        let file = std::env::temp_dir().join(format!("idempost-import-{}.csv", std::process::id()));
        std::fs::write(&file, format!("E-Mail,Town\n{}nobody,\n", rows.collect::<String>())).unwrap();

        let fail = |fault| {
            server
                .service()
                .faults()
                .add(Rule::new(fault).on_request(Method::POST, "/contacts/imports").times(1))
        };
        fail(Action::TooMany { retry_after: None });
        let done = import(&client, &file, segment.as_str()).await.unwrap();
        assert_eq!(done.status, Some(ContactImportStatus::Completed));
        assert_eq!(done.counts.total, Some(2_001));
        fail(Action::DropAfter);
        let lost = import(&client, &file, segment.as_str()).await.unwrap_err();
        assert!(matches!(lost, Error::OutcomeUnknown(_)) && !lost.is_retryable(), "{lost:?}");
        assert_eq!(client.contact_imports().list().await.unwrap().data.len(), 2, "the service started both");
        let members = client.segments().contacts(&segment).await.unwrap().data;
        assert_eq!(members.len(), 2_000);
        std::fs::remove_file(&file).unwrap();
        assert!(matches!(import(&client, &file, segment.as_str()).await, Err(Error::File(_))));
        assert!(failed(&client).await.unwrap() >= 1);
    }
}
