use resend_rs::types::{
    CreateBroadcastOptions, CreateContactOptions, SendBroadcastOptions, UpdateBroadcastOptions,
};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{eventually, everything, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let segment = call!(client.segments.create("Readers"))?.id;
    call!(
        client.contacts.create(
            CreateContactOptions::new("ada@example.com").with_first_name("Ada").with_segment(&segment)
        )
    )?;
    let letter = CreateBroadcastOptions::new(&segment, "Acme <news@acme.test>", "Hello, {{{FIRST_NAME}}}")
        .with_html("<p>News</p>")
        .with_name("Week 47")
        .with_reply("help@acme.test");
    let made = call!(client.broadcasts.create(letter))?.id;
    call!(client.broadcasts.update(&made, UpdateBroadcastOptions::new().with_name("Week 48")))?;
    let draft = call!(client.broadcasts.get(&made))?;
    assert_eq!((draft.name.as_str(), draft.status.as_str()), ("Week 48", "draft"));

    let copy = call!(client.broadcasts.duplicate(&made))?.id;
    call!(client.broadcasts.send(SendBroadcastOptions::new(&copy).with_scheduled_at("in 1 hour")))?;
    assert_eq!(call!(client.broadcasts.get(&copy))?.status, "scheduled");
    call!(client.broadcasts.cancel(&copy))?;
    assert!(call!(client.broadcasts.delete(&copy))?);

    call!(client.broadcasts.send(SendBroadcastOptions::new(&made)))?;
    eventually(async || call!(client.broadcasts.get(&made)), |broadcast| broadcast.status == "sent").await?;
    assert_eq!(call!(client.emails.list(everything()))?[0].subject, "Hello, Ada");
    assert_eq!(call!(client.broadcasts.list(everything()))?[0].id, made);
    refused(call!(client.broadcasts.delete(&made)), "validation_error");
    Ok(())
}
