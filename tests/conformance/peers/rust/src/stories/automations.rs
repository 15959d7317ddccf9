//! Events and automations.

use resend_rs::types::{
    AutomationStatus, AutomationTemplate, Connection, ContactIdOrEmail, CreateAutomationOptions,
    CreateContactOptions, CreateEventOptions, CreateTemplateOptions, SendEmailStepConfig, SendEventOptions,
    Step, TriggerStepConfig, UpdateAutomationOptions, UpdateEventOptions,
};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{eventually, everything, refused, text};

pub async fn story(client: &Resend) -> Result<()> {
    let name = "rust.signed_up".to_owned();
    let event = call!(
        client.events.create(CreateEventOptions { name: name.clone(), schema: json!({"plan": "string"}) })
    )?
    .id;
    call!(
        client
            .events
            .update(&event, UpdateEventOptions { schema: json!({"plan": "string", "seats": "number"}) })
    )?;
    assert_eq!(call!(client.events.get(&name))?.id, event);
    assert_eq!(call!(client.events.list(everything()))?[0].name, name);

    let template = CreateTemplateOptions::new("Sign-up", "<p>Welcome</p>")
        .with_from("hi@acme.test")
        .with_subject("Welcome");
    let template = call!(client.templates.create(template))?.id;
    call!(client.templates.publish(&template))?;
    call!(client.contacts.create(CreateContactOptions::new("dan@example.com")))?;
    let trigger = TriggerStepConfig { event_name: name.clone() };
    let welcome = SendEmailStepConfig::new(AutomationTemplate::new(template.to_string()));
    let series = CreateAutomationOptions {
        name: "Sign-up series".to_owned(),
        status: AutomationStatus::Enabled,
        steps: vec![
            Step::Trigger { key: "start".to_owned(), config: trigger },
            Step::SendEmail { key: "welcome".to_owned(), config: welcome },
        ],
        connections: vec![Connection::new("start", "welcome")],
    };
    let automation = call!(client.automations.create(series))?.id;
    assert_eq!(call!(client.automations.get(&automation))?.steps.len(), 2);
    call!(client.events.send(SendEventOptions {
        event: name.clone(),
        contact_id_or_email: ContactIdOrEmail::Email("dan@example.com".to_owned()),
        payload: json!({"plan": "pro"}),
    }))?;
    // The crate can't send the filter by status.
    let completed = || everything().with_other("status", json!("completed"));
    let runs = eventually(
        async || call!(client.automations.list_runs(&automation, None, completed())),
        |page| !page.is_empty(),
    );
    // The fields of a run are private.
    let run = text(&json!(runs.await?[0])["id"]);
    assert_eq!(json!(call!(client.automations.get_run(&automation, &run))?)["status"], "completed");
    assert_eq!(call!(client.emails.list(everything()))?[0].subject, "Welcome");

    call!(client.automations.update(&automation, UpdateAutomationOptions::new().with_name("Sign-ups")))?;
    let copy = call!(client.automations.duplicate(&automation))?.id;
    assert_eq!(call!(client.automations.list(everything()))?.data.len(), 2);
    assert!(matches!(call!(client.automations.stop(&automation))?.status, AutomationStatus::Disabled));
    for id in [&automation, &copy] {
        assert!(call!(client.automations.delete(id))?.deleted);
    }
    call!(client.events.delete(&event))?;
    refused(call!(client.automations.get(&automation)), "not_found");
    Ok(())
}
