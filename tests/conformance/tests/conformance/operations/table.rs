//! The table: `operationId: |client, id, …| the call;`

#![expect(deprecated, reason = "audiences are offered as long as the service supports them")]

use idempost::{
    BatchEmail, Email,
    api_keys::NewApiKey,
    automations::{AutomationPatch, NewAutomation, Step},
    broadcasts::{BroadcastPatch, NewBroadcast, RecipientType},
    contact_imports::NewContactImport,
    contact_properties::{ContactPropertyPatch, NewContactProperty},
    contacts::{ContactPatch, NewContact},
    domains::{DomainPatch, NewDomain, NewDomainClaim},
    emails::{EmailMetric, EmailMetricsQuery, MetricsDimension},
    events::{EventOccurrence, EventPatch, NewEvent},
    inboxes::{
        InboxAgentPatch, InboxDraftPatch, InboxForward, InboxLabelPatch, InboxPatch, InboxReply,
        InboxThreadPatch, NewInbox, NewInboxDraft, NewInboxLabel,
    },
    segments::SegmentMetricsQuery,
    templates::{NewTemplate, TemplatePatch},
    topics::{NewTopic, Subscription, TopicPatch},
    webhooks::{EventType, NewWebhook, WebhookPatch, WebhookStatus},
};

use super::{Operation, as_json};

macro_rules! operations {
    ($($id:ident: |$client:ident $(, $outer:ident $(, $inner:ident $(, $innermost:ident)?)?)?| $call:expr;)+) => {
        /// Every operation that the client has a method for, in the order of the contract.
        pub(crate) const OPERATIONS: &[Operation] = &[$(Operation {
            id: stringify!($id),
            call: stringify!($call),
            run: |$client, ids| {
                let _ = ids;
                $(let $outer = ids[0]; $(let $inner = ids[1]; $(let $innermost = ids[2];)?)?)?
                Box::pin(async move { Ok(as_json(&$call.await?)) })
            },
        },)+];
    };
}

const ID: &str = "78261eea-8f8b-4381-83c6-79fa7120f1cf";

operations! {
    send_email: |client| client.emails().send(&Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works"));
    list_emails: |client| client.emails().list();
    send_batch: |client| client.emails().send_batch(&[BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("It works")]).permissive();
    get_email_metrics: |client| client.emails().metrics(&EmailMetricsQuery::new().metrics([EmailMetric::Sent]).dimensions([MetricsDimension::Period]));
    get_email: |client, id| client.emails().get(id);
    list_attachments: |client, id| client.emails().attachments(id);
    get_attachment: |client, id, attachment| client.emails().attachment(id, attachment);
    update_email: |client, id| client.emails().reschedule(id, "in 1 hour");
    share_email: |client, id| client.emails().share(id).expires_in(std::time::Duration::from_mins(90));
    cancel_email: |client, id| client.emails().cancel(id);

    create_broadcast: |client| client.broadcasts().create(&NewBroadcast::new(ID, "hi@acme.test", "Hello").text("It works"));
    list_broadcasts: |client| client.broadcasts().list();
    get_broadcast: |client, id| client.broadcasts().get(id);
    update_broadcast: |client, id| client.broadcasts().update(id, &BroadcastPatch::new().name("Week 47"));
    delete_broadcast: |client, id| client.broadcasts().delete(id);
    send_broadcast: |client, id| client.broadcasts().send(id);
    cancel_broadcast: |client, id| client.broadcasts().cancel(id);
    list_broadcast_recipients: |client, id| client.broadcasts().recipients(id, RecipientType::Clicked);
    list_broadcast_clicked_links: |client, id| client.broadcasts().clicked_links(id);
    duplicate_broadcast: |client, id| client.broadcasts().duplicate(id);

    create_template: |client| client.templates().create(&NewTemplate::new("Welcome", "<p>Hello</p>"));
    list_templates: |client| client.templates().list();
    get_template: |client, id| client.templates().get(id);
    update_template: |client, id| client.templates().update(id, &TemplatePatch::new().clear_subject());
    delete_template: |client, id| client.templates().delete(id);
    publish_template: |client, id| client.templates().publish(id);
    duplicate_template: |client, id| client.templates().duplicate(id);

    create_domain: |client| client.domains().create(&NewDomain::new("acme.test"));
    list_domains: |client| client.domains().list();
    get_domain: |client, id| client.domains().get(id);
    update_domain: |client, id| client.domains().update(id, &DomainPatch::new().open_tracking(true));
    delete_domain: |client, id| client.domains().delete(id);
    verify_domain: |client, id| client.domains().verify(id);

    claim_domain: |client| client.domains().claim(&NewDomainClaim::new("acme.test"));
    get_domain_claim: |client, id| client.domains().get_claim(id);
    verify_domain_claim: |client, id| client.domains().verify_claim(id);

    create_contact: |client| client.contacts().create(&NewContact::new("ada@example.com"));
    list_contacts: |client| client.contacts().list();
    get_contact: |client, id| client.contacts().get(id);
    update_contact: |client, id| client.contacts().update(id, &ContactPatch::new().first_name("Ada"));
    delete_contact: |client, id| client.contacts().delete(id);
    list_contact_segments: |client, id| client.contacts().segments(id);
    add_contact_to_segment: |client, id, segment| client.contacts().add_to_segment(id, segment);
    remove_contact_from_segment: |client, id, segment| client.contacts().remove_from_segment(id, segment);

    create_contact_import: |client| client.contact_imports().create(&NewContactImport::from_bytes("email\nada@example.com\n"));
    list_contact_imports: |client| client.contact_imports().list();
    get_contact_import: |client, id| client.contact_imports().get(id);

    create_segment: |client| client.segments().create("Weekly");
    list_segments: |client| client.segments().list();
    get_segment_metrics: |client| client.segments().metrics(&SegmentMetricsQuery::new().by_segment());
    get_segment: |client, id| client.segments().get(id);
    rename_segment: |client, id| client.segments().rename(id, "Weekly");
    delete_segment: |client, id| client.segments().delete(id);
    list_segment_contacts: |client, id| client.segments().contacts(id);
    list_audiences: |client| client.audiences().list();

    create_topic: |client| client.topics().create(&NewTopic::new("News", Subscription::OptIn).description("Weekly"));
    list_topics: |client| client.topics().list();
    get_topic: |client, id| client.topics().get(id);
    update_topic: |client, id| client.topics().update(id, &TopicPatch::new().name("Weekly"));
    delete_topic: |client, id| client.topics().delete(id);
    list_contact_topics: |client, id| client.contacts().topics(id);
    update_contact_topics: |client, id| client.contacts().update_topics(id, [(ID, Subscription::OptOut)]);

    create_contact_property: |client| client.contact_properties().create(NewContactProperty::number("orders").fallback(0));
    list_contact_properties: |client| client.contact_properties().list();
    get_contact_property: |client, id| client.contact_properties().get(id);
    update_contact_property: |client, id| client.contact_properties().update(id, &ContactPropertyPatch::new().fallback_value("x"));
    delete_contact_property: |client, id| client.contact_properties().delete(id);

    add_suppression: |client| client.suppressions().add("ada@example.com");
    list_suppressions: |client| client.suppressions().list();
    add_suppressions: |client| client.suppressions().add_batch(["ada@example.com", "bob@example.com"]);
    remove_suppressions: |client| client.suppressions().remove_batch(["ada@example.com"]);
    get_suppression: |client, id| client.suppressions().get(id);
    remove_suppression: |client, id| client.suppressions().remove(id);

    create_automation: |client| client.automations().create(&NewAutomation::new("Welcome").step(Step::trigger("start", "user.created")));
    list_automations: |client| client.automations().list();
    get_automation: |client, id| client.automations().get(id);
    update_automation: |client, id| client.automations().update(id, &AutomationPatch::new().name("Welcome"));
    delete_automation: |client, id| client.automations().delete(id);
    duplicate_automation: |client, id| client.automations().duplicate(id);
    stop_automation: |client, id| client.automations().stop(id);
    list_automation_runs: |client, id| client.automations().runs(id);
    get_automation_run: |client, id, run| client.automations().run(id, run);

    create_event: |client| client.events().create(&NewEvent::new("user.created"));
    list_events: |client| client.events().list();
    send_event: |client| client.events().send(&EventOccurrence::for_email("user.created", "ada@example.com"));
    get_event: |client, id| client.events().get(id);
    update_event: |client, id| client.events().update(id, &EventPatch::clear_schema());
    delete_event: |client, id| client.events().delete(id);

    list_received_emails: |client| client.received().list();
    get_received_email: |client, id| client.received().get(id);
    list_received_attachments: |client, id| client.received().attachments(id);
    get_received_attachment: |client, id, attachment| client.received().attachment(id, attachment);

    create_webhook: |client| client.webhooks().create(&NewWebhook::new("https://acme.test/hook", [EventType::EmailSent]));
    list_webhooks: |client| client.webhooks().list();
    get_webhook: |client, id| client.webhooks().get(id);
    update_webhook: |client, id| client.webhooks().update(id, &WebhookPatch::new().status(WebhookStatus::Disabled));
    delete_webhook: |client, id| client.webhooks().delete(id);
    list_webhook_events: |client, id| client.webhooks().events(id);
    get_webhook_event: |client, id, event| client.webhooks().event(id, event);
    list_webhook_event_attempts: |client, id, event| client.webhooks().attempts(id, event);
    replay_webhook_event: |client, id, event| client.webhooks().replay(id, event);
    rotate_webhook_signing_secret: |client, id| client.webhooks().rotate_secret(id);

    create_api_key: |client| client.api_keys().create(&NewApiKey::new("CI"));
    list_api_keys: |client| client.api_keys().list();
    update_api_key: |client, id| client.api_keys().rename(id, "Build");
    delete_api_key: |client, id| client.api_keys().delete(id);

    list_oauth_grants: |client| client.oauth_grants().list();
    revoke_oauth_grant: |client, id| client.oauth_grants().revoke(id);

    create_inbox: |client| client.inboxes().create(&NewInbox::new("support@acme.test"));
    list_inboxes: |client| client.inboxes().list();
    get_inbox: |client, id| client.inboxes().get(id);
    update_inbox: |client, id| client.inboxes().update(id, &InboxPatch::new().name("Help"));
    delete_inbox: |client, id| client.inboxes().delete(id);
    get_inbox_agent: |client, id| client.inboxes().agent(id);
    update_inbox_agent: |client, id| client.inboxes().update_agent(id, &InboxAgentPatch::new().clear_tone());
    list_inbox_labels: |client, id| client.inboxes().labels(id);
    create_inbox_label: |client, id| client.inboxes().create_label(id, &NewInboxLabel::new("Urgent"));
    update_inbox_label: |client, id, label| client.inboxes().update_label(id, label, &InboxLabelPatch::new().name("Later"));
    delete_inbox_label: |client, id, label| client.inboxes().delete_label(id, label);
    list_inbox_threads: |client, id| client.inboxes().threads(id);
    search_inbox_threads: |client, id| client.inboxes().search(id).query("invoice -paid");
    get_inbox_thread: |client, id, thread| client.inboxes().thread(id, thread);
    update_inbox_thread: |client, id, thread| client.inboxes().update_thread(id, thread, &InboxThreadPatch::new().read(true));
    delete_inbox_thread: |client, id, thread| client.inboxes().delete_thread(id, thread);
    add_inbox_thread_labels: |client, id, thread| client.inboxes().add_labels(id, thread, [ID]);
    replace_inbox_thread_labels: |client, id, thread| client.inboxes().replace_labels(id, thread, [ID]);
    remove_inbox_thread_label: |client, id, thread, label| client.inboxes().remove_label(id, thread, label);
    list_inbox_emails: |client, id, thread| client.inboxes().emails(id, thread);
    get_inbox_email: |client, id, thread, email| client.inboxes().email(id, thread, email);
    reply_to_inbox_email: |client, id, thread, email| client.inboxes().reply(id, thread, email, &InboxReply::new().text("x"));
    forward_inbox_email: |client, id, thread, email| client.inboxes().forward(id, thread, email, &InboxForward::new("a@acme.test"));
    list_inbox_drafts: |client, id| client.inboxes().drafts(id);
    create_inbox_draft: |client, id| client.inboxes().create_draft(id, &NewInboxDraft::new().text("x"));
    get_inbox_draft: |client, id, draft| client.inboxes().draft(id, draft);
    update_inbox_draft: |client, id, draft| client.inboxes().update_draft(id, draft, &InboxDraftPatch::new().clear_to());
    delete_inbox_draft: |client, id, draft| client.inboxes().delete_draft(id, draft);
    send_inbox_draft: |client, id, draft| client.inboxes().send_draft(id, draft);

    get_usage: |client| client.usage().get();

    get_log: |client, id| client.logs().get(id);
    list_logs: |client| client.logs().list();
}
