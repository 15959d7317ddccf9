use std::fs::{self, File};

use resend_rs::types::{
    ContactImport, ContactImportColumnMap, ContactImportOnConflict, ContactImportPropertyMapping,
    ContactImportPropertyType, ContactImportStatus, ContactImportTopic, ContactImportTopicSubscription,
    CreateContactImportOptions, CreateContactPropertyOptions, CreateTopicOptions, PropertyType,
    SubscriptionType,
};
use resend_rs::{Resend, Result, Value, json};

use crate::call;
use crate::support::{NOTHING, eventually, everything, page, refused};

fn csv(content: &str) -> File {
    let path = std::env::temp_dir().join(format!("peer-{}.csv", std::process::id()));
    fs::write(&path, content).expect("the file can be written");
    let file = File::open(&path).expect("the file can be read");
    fs::remove_file(path).expect("the file can be removed");
    file
}

/// The counts of an import, whose fields are private.
async fn counts(client: &Resend, import: &str) -> Result<Value> {
    let done = |import: &ContactImport| matches!(import.status, ContactImportStatus::Completed);
    let import = eventually(async || call!(client.contacts.get_import(import)), done).await?;
    assert!(import.completed_at.is_some());
    Ok(json!(import.counts))
}

pub async fn story(client: &Resend) -> Result<()> {
    let segment = call!(client.segments.create("Imported"))?.id;
    let topic = call!(client.topics.create(CreateTopicOptions::new("News", SubscriptionType::OptOut)))?.id;
    call!(client.contacts.create_property(CreateContactPropertyOptions::new("city", PropertyType::String)))?;
    let town =
        ContactImportPropertyMapping { column: "Town".to_owned(), r#type: ContactImportPropertyType::String };
    let options = CreateContactImportOptions::new()
        .with_column_map(
            ContactImportColumnMap::new()
                .with_email("Mail")
                .with_first_name("Given")
                .with_property("city", town),
        )
        .with_segment(&segment)
        .with_topic(ContactImportTopic {
            id: topic.to_string(),
            subscription: ContactImportTopicSubscription::OptIn,
        });
    let file = csv("Mail,Given,Town\nada@example.com,Ada,London\nnobody,,\n");
    let mapped = call!(client.contacts.create_import(file, options))?.id;
    assert_eq!(
        counts(client, &mapped).await?,
        json!({"total": 2, "created": 1, "updated": 0, "skipped": 0, "failed": 1})
    );
    let ada = call!(client.contacts.get("ada@example.com"))?;
    assert_eq!(ada.properties.expect("properties")["city"].value, "London");
    assert_eq!(call!(client.contacts.list_contact_segment(&ada.id, everything()))?[0].id, segment);

    let options = CreateContactImportOptions::new().with_on_conflict(ContactImportOnConflict::Skip);
    let file = csv("email,first_name\nada@example.com,Augusta\nbob@example.com,Bob\n");
    let skipping = call!(client.contacts.create_import(file, options))?.id;
    assert_eq!(
        counts(client, &skipping).await?,
        json!({"total": 2, "created": 1, "updated": 0, "skipped": 1, "failed": 0})
    );
    let first = call!(client.contacts.list_imports(page(1)))?;
    assert!(first.has_more && first[0].id == skipping);
    let wrong = csv("E-Mail\nada@example.com\n");
    refused(
        call!(client.contacts.create_import(wrong, CreateContactImportOptions::new())),
        "validation_error",
    );
    refused(call!(client.contacts.get_import(NOTHING)), "not_found");
    Ok(())
}
