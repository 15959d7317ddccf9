//! Webhooks, and the events that the crate reads; verifying them is left to other crates.

use resend_rs::events::{EmailEventType, Event, try_parse_event};
use resend_rs::types::{CreateWebhookOptions, UpdateWebhookOptions, WebhookStatus};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{email, everything, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let options = CreateWebhookOptions::new("https://acme.test/hooks", [EmailEventType::EmailSent]);
    let made = call!(client.webhooks.create(options))?;
    assert!(made.signing_secret.starts_with("whsec_"));
    let hook = made.id;
    let disabled = UpdateWebhookOptions::default().with_status(WebhookStatus::Disabled);
    call!(client.webhooks.update(&hook, disabled))?;
    assert_eq!(call!(client.webhooks.get(&hook))?.status, "disabled");
    call!(
        client.webhooks.update(&hook, UpdateWebhookOptions::default().with_status(WebhookStatus::Enabled))
    )?;
    assert_eq!(call!(client.webhooks.list(everything()))?[0].id, hook);
    assert_ne!(call!(client.webhooks.rotate_signing_secret(&hook))?.signing_secret, made.signing_secret);

    let sent = call!(client.emails.send(email("ada@example.com", "For the webhook")))?.id;
    let event = call!(client.webhooks.list_events(&hook, everything()))?.data.remove(0).id;
    let payload = call!(client.webhooks.get_event(&hook, &event))?.payload;
    match try_parse_event(&payload.to_string())? {
        Event::EmailEvent(event) => assert_eq!(event.data.email_id, sent),
        other => panic!("{other:?}"),
    }
    call!(client.webhooks.replay_event(&hook, &event))?;
    call!(client.webhooks.list_event_attempts(&hook, &event, everything()))?;
    assert!(call!(client.webhooks.delete(&hook))?);
    refused(call!(client.webhooks.get(&hook)), "not_found");
    Ok(())
}
