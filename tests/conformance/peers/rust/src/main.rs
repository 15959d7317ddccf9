//! The crate `resend-rs`, with only its base URL changed.

use resend_rs::{
    ConfigBuilder, Error, Resend,
    list_opts::ListOptions,
    types::{BatchValidation, CreateAttachment, CreateEmailBaseOptions, Tag},
};

fn email(subject: &str) -> CreateEmailBaseOptions {
    CreateEmailBaseOptions::new("Acme <hi@acme.test>", ["ada@example.com"], subject)
        .with_html("<p>It works</p>")
}

fn name(error: &Error) -> String {
    match error {
        Error::Resend(response) => response.name.clone(),
        other => panic!("{other}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let base_url = std::env::var("PEER_BASE_URL").expect("PEER_BASE_URL is set");
    let base_url = base_url.parse().expect("PEER_BASE_URL is an address");
    let client = Resend::with_config(ConfigBuilder::new("re_rust").base_url(base_url).build());

    let single = email("single")
        .with_reply("help@acme.test")
        .with_header("X-Order", "17")
        .with_tag(Tag::new("kind", "peer"))
        .with_attachment(CreateAttachment::from_content(b"bytes".to_vec()).with_filename("bytes.txt"));
    let sent = client.emails.send(single.with_idempotency_key("single")).await?;
    let again = client.emails.send(email("another body").with_idempotency_key("single")).await;
    assert_eq!(name(&again.unwrap_err()), "invalid_idempotent_request");

    let batch = client.batch.send(vec![email("first"), email("second")]).await?;
    assert_eq!(batch.len(), 2);
    let wrong = CreateEmailBaseOptions::new("nobody", ["ada@example.com"], "wrong").with_text("x");
    let mixed = vec![email("third"), wrong];
    let permissive =
        client.batch.send_with_batch_validation(mixed.clone(), BatchValidation::Permissive).await?;
    assert_eq!(permissive.errors.iter().map(|error| error.index).collect::<Vec<_>>(), [1]);
    assert_eq!(name(&client.batch.send(mixed).await.unwrap_err()), "validation_error");

    let list = client.emails.list(ListOptions::default().with_limit(10)).await?;
    let subjects: Vec<_> = list.data.iter().map(|item| item.subject.as_str()).collect();
    assert_eq!((subjects, list.has_more), (vec!["third", "second", "first", "single"], false));
    let rest = client.emails.list(ListOptions::default().with_limit(2).list_after(&batch[1].id)).await?;
    assert_eq!(rest.data.iter().map(|item| item.subject.as_str()).collect::<Vec<_>>(), ["first", "single"]);

    let record = client.emails.get(&sent.id).await?;
    assert_eq!(
        (record.subject.as_str(), record.reply_to),
        ("single", Some(vec!["help@acme.test".to_owned()]))
    );
    let missing = client.emails.get("4ef9a417-02e9-4d39-ad75-9611e0fcc33c").await;
    assert_eq!(name(&missing.unwrap_err()), "not_found");

    println!("resend-rs: sent {}", sent.id);
    Ok(())
}
