//! Inboxes, in beta: a help desk that sorts questions into threads, answers what it can, and drafts the rest for a colleague.

use idempost::{
    Client,
    inboxes::{
        InboxAgentPatch, InboxFolder, InboxForward, InboxPatch, InboxReply, InboxThreadPatch,
        InboxThreadSummary, InboxTone, NewInbox, NewInboxDraft, NewInboxLabel,
    },
    webhooks::{EventData, WebhookPayload},
};

/// Creates the inbox once; later, its address identifies it.
async fn open(client: &Client, address: &str) -> idempost::Result<()> {
    if !client.inboxes().list().await?.data.iter().any(|inbox| inbox.email_address == address) {
        client.inboxes().create(&NewInbox::new(address).name("Help desk")).await?;
    }
    client.inboxes().update(address, &InboxPatch::new().from_name("Acme Help")).await?;
    let agent = InboxAgentPatch::new().instructions("Be brief.").tone(InboxTone::ConciseProfessional);
    client.inboxes().update_agent(address, &agent).await?;
    Ok(())
}

/// The unread threads, and their total number.
async fn unread(client: &Client, inbox: &str) -> idempost::Result<(Vec<InboxThreadSummary>, u64)> {
    let total = client.inboxes().get(inbox).await?.unread.unwrap_or_default();
    Ok((client.inboxes().threads(inbox).read(false).await?.data, total))
}

/// Answers the newest email of a thread, and archives the thread.
async fn answer(
    client: &Client,
    inbox: &str,
    thread: &InboxThreadSummary,
    text: &str,
) -> idempost::Result<()> {
    let emails = client.inboxes().emails(inbox, &thread.id).page_size(100).await?.data;
    let Some(newest) = emails.last() else { return Ok(()) };
    client.inboxes().reply(inbox, &thread.id, &newest.id, &InboxReply::new().text(text)).await?;
    let archived = InboxThreadPatch::new().read(true).folder(InboxFolder::Archive);
    client.inboxes().update_thread(inbox, &thread.id, &archived).await?;
    Ok(())
}

/// Labels a thread for a colleague, who gets the email and a draft to complete.
async fn escalate(
    client: &Client,
    inbox: &str,
    thread: &InboxThreadSummary,
    to: &str,
) -> idempost::Result<()> {
    let known =
        client.inboxes().labels(inbox).await?.data.into_iter().find(|label| label.name == "Escalated");
    let label = match known {
        Some(label) => label.id,
        None => client.inboxes().create_label(inbox, &NewInboxLabel::new("Escalated")).await?.id,
    };
    client.inboxes().add_labels(inbox, &thread.id, [&label]).await?;
    let Some(first) = client.inboxes().emails(inbox, &thread.id).page_size(1).await?.data.pop() else {
        return Ok(());
    };
    client
        .inboxes()
        .forward(inbox, &thread.id, &first.id, &InboxForward::new(to).text("Can you help?"))
        .await?;
    let draft = NewInboxDraft::new().text("Thank you, a colleague …").reply_to(&thread.id, &first.id);
    client.inboxes().create_draft(inbox, &draft).await?;
    Ok(())
}

/// Called by the webhook handler for `inbox.email.received`.
fn sender(event: &WebhookPayload) -> Option<String> {
    let EventData::InboxEmailReceived(received) = &event.data else { return None };
    let email: idempost::inboxes::InboxEmail = serde_json::from_value(received.email.clone()?).ok()?;
    email.from
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the inbox is the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::from_env()?;
    let inbox = "help@acme.test";
    open(&client, inbox).await?;
    let (threads, total) = unread(&client, inbox).await?;
    println!("{total} unread");
    for thread in &threads {
        match thread.subject.as_deref() {
            Some(subject) if subject.contains("price") => {
                answer(&client, inbox, thread, "See acme.test/prices.").await?;
            }
            _ => {
                escalate(&client, inbox, thread, "expert@acme.test").await?;
            }
        }
    }
    for found in client.inboxes().search(inbox).query("\"last invoice\" -paid").from(["ada"]).await?.data {
        println!("{:?}: {:?}", found.subject, found.matched_email_id);
    }
    for draft in client.inboxes().drafts(inbox).await?.data {
        println!("{:?} to {:?}", draft.snippet, draft.to);
    }
    for line in std::io::stdin().lines() {
        println!("{:?}", sender(&serde_json::from_str(&line?)?));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::{ReferenceServer, Settings};
    use serde_json::json;

    use idempost::inboxes::{InboxDraftPatch, InboxLabelPatch};

    use super::*;

    const INBOX: &str = "help@acme.test";

    async fn start() -> (ReferenceServer, Client) {
        let server = ReferenceServer::start_http(Settings { beta: true, ..Settings::default() }).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        open(&client, INBOX).await.unwrap();
        (server, client)
    }

    fn receive(server: &ReferenceServer, subject: &str) {
        let mail = format!("From: ada@example.com\r\nSubject: {subject}\r\n\r\nHello");
        server.service().receive(&server.api_key(), &[INBOX], mail).unwrap();
    }

    #[tokio::test]
    async fn questions_are_answered_or_escalated() {
        let (server, client) = start().await;
        open(&client, INBOX).await.unwrap();
        assert_eq!(client.inboxes().agent(INBOX).await.unwrap().tone, Some(InboxTone::ConciseProfessional));
        receive(&server, "Your prices");
        receive(&server, "It smokes");
        let (threads, total) = unread(&client, INBOX).await.unwrap();
        assert_eq!((threads.len(), total), (2, 2));
        answer(&client, INBOX, &threads[1], "See acme.test/prices.").await.unwrap();
        escalate(&client, INBOX, &threads[0], "expert@acme.test").await.unwrap();
        let mails = server.service().mails(&server.api_key());
        let subjects: Vec<_> = mails.iter().map(|mail| mail.subject.as_str()).collect();
        assert_eq!(subjects, ["Fwd: It smokes", "Re: Your prices"]);
        assert_eq!(mails[1].from, "Acme Help <help@acme.test>");
        let (threads, total) = unread(&client, INBOX).await.unwrap();
        assert_eq!((threads.len(), total, threads[0].has_draft), (1, 1, true));

        let thread = &threads[0].id;
        let label = &threads[0].labels[0];
        client
            .inboxes()
            .update_label(INBOX, &label.id, &InboxLabelPatch::new().color("#ab12ef"))
            .await
            .unwrap();
        assert_eq!(
            client.inboxes().thread(INBOX, thread).await.unwrap().labels[0].color.as_deref(),
            Some("#AB12EF")
        );
        assert!(client.inboxes().remove_label(INBOX, thread, &label.id).await.unwrap().data.is_empty());
        client.inboxes().replace_labels(INBOX, thread, [&label.id]).await.unwrap();
        client.inboxes().delete_label(INBOX, &label.id).await.unwrap();
        assert!(client.inboxes().threads(INBOX).await.unwrap().data[0].labels.is_empty());
        assert!(client.inboxes().delete_thread(INBOX, thread).await.unwrap().deleted);
    }

    #[tokio::test]
    async fn a_draft_is_completed_and_sent_once() {
        let (_server, client) = start().await;
        let draft =
            client.inboxes().create_draft(INBOX, &NewInboxDraft::new().subject("Offer")).await.unwrap().id;
        let changes = InboxDraftPatch::new().to("ada@example.com").text("Dear Ada");
        client.inboxes().update_draft(INBOX, &draft, &changes).await.unwrap();
        let sent = client.inboxes().send_draft(INBOX, &draft).await.unwrap();
        let stored = client.inboxes().draft(INBOX, &draft).await.unwrap();
        assert_eq!(stored.email_id.as_ref(), Some(&sent.id));
        let again = client.inboxes().send_draft(INBOX, &draft).await.unwrap_err();
        assert!(matches!(again, idempost::Error::Api(error) if error.status == 409));
        client.inboxes().delete_draft(INBOX, &draft).await.unwrap();
        let threads = client.inboxes().threads(INBOX).folders([InboxFolder::Sent]).await.unwrap().data;
        let email = client.inboxes().email(INBOX, &threads[0].id, sent.id).await.unwrap();
        assert_eq!(email.text.as_deref(), Some("Dear Ada"));
        client.inboxes().delete(INBOX).await.unwrap();
        assert!(client.inboxes().list().await.unwrap().data.is_empty());
    }

    #[test]
    fn the_sender_is_read_from_the_event() {
        let data = json!({ "source": "system", "inbox_id": "i1", "email": { "id": "e1", "from": "ada@example.com" } });
        let event =
            json!({ "type": "inbox.email.received", "created_at": "2026-11-22T15:28:00.000Z", "data": data });
        assert_eq!(sender(&serde_json::from_value(event).unwrap()).as_deref(), Some("ada@example.com"));
    }
}
