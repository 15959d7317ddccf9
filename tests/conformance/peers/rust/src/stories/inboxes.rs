//! Inboxes, a beta feature: threads, labels, replies, drafts and the agent's settings.

use resend_rs::types::{
    CreateAttachment, CreateDomainOptions, CreateInboxDraftAttachment, CreateInboxDraftOptions,
    CreateInboxLabelOptions, CreateInboxOptions, DomainStatus, ForwardInboxThreadEmailOptions,
    InboxAgentAction, InboxAgentTone, InboxDraftType, InboxEmailDirection, InboxFolder, InboxThreadLabel,
    ListInboxThreadsOptions, ReplyInboxThreadEmailOptions, SearchInboxThreadsOptions, SendInboxDraftOptions,
    UpdateInboxAgentOptions, UpdateInboxDraftOptions, UpdateInboxLabelOptions, UpdateInboxOptions,
    UpdateInboxThreadFolder, UpdateInboxThreadOptions,
};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{NOTHING, eventually, everything, page, receive, refused};

const ADDRESS: &str = "support@rust-inbox.test";

fn names(labels: &[InboxThreadLabel]) -> Vec<&str> {
    let mut names: Vec<_> = labels.iter().map(|label| label.name.as_str()).collect();
    names.sort_unstable();
    names
}

pub async fn story(client: &Resend) -> Result<()> {
    let domain = CreateDomainOptions::new("rust-inbox.test")
        .with_capabilities(json!({"sending": "enabled", "receiving": "enabled"}));
    let domain = call!(client.domains.create(domain))?.id;
    call!(client.domains.verify(&domain))?;
    eventually(
        async || call!(client.domains.get(&domain)),
        |domain| matches!(domain.status, DomainStatus::Verified),
    )
    .await?;
    let options = CreateInboxOptions::new(ADDRESS).with_name("Support").with_from_name("Acme Support");
    let inbox = call!(client.inboxes.create(options))?.id;
    call!(client.inboxes.update(&inbox, UpdateInboxOptions::new().with_name("Help")))?;
    let record = call!(client.inboxes.get(ADDRESS))?;
    assert_eq!((&record.id, record.name.as_str(), &record.domain_id), (&inbox, "Help", &domain));
    assert_eq!(call!(client.inboxes.list(page(5)))?[0].id, inbox);

    let settings = UpdateInboxAgentOptions::new()
        .with_instructions("Be kind.")
        .with_tone(InboxAgentTone::ConciseCasual)
        .with_actions([InboxAgentAction::DraftReply, InboxAgentAction::Archive]);
    call!(client.inboxes.update_agent(&inbox, settings))?;
    let agent = call!(client.inboxes.get_agent(ADDRESS))?;
    assert_eq!((agent.instructions.as_deref(), agent.actions.len()), (Some("Be kind."), 2));

    let label = call!(
        client.inboxes.create_label(&inbox, CreateInboxLabelOptions::new("Urgent").with_color("#E93D82"))
    )?
    .id;
    let other = call!(client.inboxes.create_label(ADDRESS, CreateInboxLabelOptions::new("Later")))?.id;
    call!(client.inboxes.update_label(&inbox, &label, UpdateInboxLabelOptions::new().with_name("Now")))?;
    let labels = call!(client.inboxes.list_labels(&inbox))?.data;
    assert_eq!(labels.iter().map(|label| label.name.as_str()).collect::<Vec<_>>(), ["Now", "Later"]);

    let mail = json!({
        "from": "Grace <grace@example.com>", "to": ADDRESS, "subject": "A question", "text": "Where is my order?",
        "attachments": [{"filename": "note.txt", "content": "YSBub3Rl"}],
    });
    receive(client, &mail).await?;
    let unread = || ListInboxThreadsOptions::new().with_folders([InboxFolder::Inbox]).with_read(false);
    let threads = async || call!(client.inboxes.list_threads(&inbox, unread(), everything()));
    let threads = eventually(threads, |page| !page.is_empty()).await?;
    let thread = &threads[0];
    assert_eq!(
        (thread.subject.as_deref(), thread.email_count, thread.has_attachment),
        (Some("A question"), 1, true)
    );
    let search = SearchInboxThreadsOptions::new()
        .with_query("order")
        .with_from(["grace@example.com"])
        .with_has_attachment(true);
    assert_eq!(call!(client.inboxes.search_threads(ADDRESS, search, everything()))?[0].thread.id, thread.id);
    let read = UpdateInboxThreadOptions::new().with_read(true).with_folder(UpdateInboxThreadFolder::Archive);
    assert!(call!(client.inboxes.update_thread(&inbox, &thread.id, read))?.read);
    assert!(matches!(call!(client.inboxes.get_thread(&inbox, &thread.id))?.folder, InboxFolder::Archive));

    let added = call!(client.inboxes.add_thread_labels(&inbox, &thread.id, &[&label]))?.data;
    assert_eq!(names(&added), ["Now"]);
    let set = call!(client.inboxes.set_thread_labels(&inbox, &thread.id, &[&label, &other]))?.data;
    assert_eq!(names(&set), ["Later", "Now"]);
    let rest = call!(client.inboxes.remove_thread_label(&inbox, &thread.id, &label))?.data;
    assert_eq!(names(&rest), ["Later"]);

    let emails = call!(client.inboxes.list_thread_emails(&inbox, &thread.id, page(5)))?;
    let email = call!(client.inboxes.get_thread_email(&inbox, &thread.id, &emails[0].id))?;
    assert!(matches!(email.direction, InboxEmailDirection::Inbound) && email.attachments.len() == 1);
    let answer = || {
        ReplyInboxThreadEmailOptions::new()
            .with_text("On its way.")
            .with_reply_all(true)
            .with_idempotency_key("reply")
    };
    let reply = call!(client.inboxes.reply_thread_email(&inbox, &thread.id, &email.id, answer()))?.id;
    assert_eq!(call!(client.inboxes.reply_thread_email(&inbox, &thread.id, &email.id, answer()))?.id, reply);
    let file = CreateAttachment::from_content(b"more".to_vec()).with_filename("more.txt");
    let forward =
        ForwardInboxThreadEmailOptions::new(["bob@example.com"]).with_text("For you").with_attachment(file);
    call!(client.inboxes.forward_thread_email(&inbox, &thread.id, &email.id, forward))?;
    let sent = call!(client.emails.list(page(2)))?.data;
    assert_eq!(
        sent.iter().map(|email| email.subject.as_str()).collect::<Vec<_>>(),
        ["Fwd: A question", "Re: A question"]
    );

    let plan = CreateInboxDraftAttachment::new(b"a plan".to_vec(), "plan.txt", "text/plain");
    let draft = CreateInboxDraftOptions::new()
        .with_to(["ada@example.com"])
        .with_subject("Plan")
        .with_text("Draft")
        .with_attachment(plan);
    let draft = call!(client.inboxes.create_draft(&inbox, draft))?.id;
    let follow_up =
        CreateInboxDraftOptions::reply(thread.id.to_string(), email.id.to_string()).with_text("More");
    let follow_up = call!(client.inboxes.create_draft(&inbox, follow_up.with_idempotency_key("draft")))?.id;
    assert_eq!(call!(client.inboxes.list_drafts(&inbox, everything()))?.data.len(), 2);
    call!(client.inboxes.update_draft(&inbox, &draft, UpdateInboxDraftOptions::new().with_text("The plan")))?;
    let record = call!(client.inboxes.get_draft(&inbox, &draft))?;
    assert!(matches!(record.r#type, InboxDraftType::Standalone) && record.attachments.len() == 1);
    assert_eq!(record.text.as_deref(), Some("The plan"));
    call!(client.inboxes.send_draft(
        &inbox,
        &draft,
        SendInboxDraftOptions::new().with_header("X-Order", "17")
    ))?;
    assert_eq!(call!(client.emails.list(page(1)))?[0].subject, "Plan");
    assert!(call!(client.inboxes.delete_draft(&inbox, &follow_up))?.deleted);

    assert!(call!(client.inboxes.delete_thread(&inbox, &thread.id))?.deleted);
    assert!(call!(client.inboxes.delete_label(&inbox, &label))?.deleted);
    refused(call!(client.inboxes.get_thread(&inbox, NOTHING)), "not_found");
    assert!(call!(client.inboxes.delete(ADDRESS))?.deleted);
    Ok(())
}
