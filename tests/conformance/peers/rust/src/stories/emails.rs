use resend_rs::idempotent::IdempotentTrait;
use resend_rs::types::{
    BatchValidation, CreateAttachment, CreateEmailBaseOptions, EmailEvent, Tag, UpdateEmailOptions,
};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{NOTHING, page, refused};

fn email(subject: &str) -> CreateEmailBaseOptions {
    crate::support::email("ada@example.com", subject)
}

pub async fn story(client: &Resend) -> Result<()> {
    let single = email("single")
        .with_reply("help@acme.test")
        .with_header("X-Order", "17")
        .with_tag(Tag::new("kind", "peer"))
        .with_attachment(CreateAttachment::from_content(b"bytes".to_vec()).with_filename("bytes.txt"));
    let sent = call!(client.emails.send(single.with_idempotency_key("single")))?;
    refused(
        call!(client.emails.send(email("another body").with_idempotency_key("single"))),
        "invalid_idempotent_request",
    );

    let two = vec![email("first"), email("second")];
    let batch = call!(client.batch.send(two.clone().with_idempotency_key("batch")))?;
    assert_eq!(call!(client.batch.send(two.with_idempotency_key("batch")))?[0].id, batch[0].id);
    let wrong = CreateEmailBaseOptions::new("nobody", ["ada@example.com"], "wrong").with_text("x");
    let mixed = vec![email("third"), wrong];
    let permissive =
        call!(client.batch.send_with_batch_validation(mixed.clone(), BatchValidation::Permissive))?;
    assert_eq!(permissive.errors.iter().map(|error| error.index).collect::<Vec<_>>(), [1]);
    refused(call!(client.batch.send(mixed)), "validation_error");

    let list = call!(client.emails.list(page(10)))?;
    let subjects: Vec<_> = list.data.iter().map(|item| item.subject.as_str()).collect();
    assert_eq!((subjects, list.has_more), (vec!["third", "second", "first", "single"], false));
    let rest = call!(client.emails.list(page(2).list_after(&batch[1].id)))?;
    assert_eq!(rest.data.iter().map(|item| item.subject.as_str()).collect::<Vec<_>>(), ["first", "single"]);
    let record = call!(client.emails.get(&sent.id))?;
    assert_eq!(
        (record.subject.as_str(), record.reply_to),
        ("single", Some(vec!["help@acme.test".to_owned()]))
    );
    refused(call!(client.emails.get(NOTHING)), "not_found");

    let later = call!(client.emails.send(email("later").with_scheduled_at("in 1 hour")))?.id;
    call!(client.emails.update(&later, UpdateEmailOptions::new().with_scheduled_at("in 2 hours")))?;
    call!(client.emails.cancel(&later))?;
    assert!(matches!(call!(client.emails.get(&later))?.last_event, EmailEvent::Canceled));
    Ok(())
}
