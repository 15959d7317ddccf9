use resend_rs::types::{
    ForwardReceivingEmail, GetInboundEmailOptions, InboundEmailHtmlFormat, InboundEmailId,
};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{NOTHING, everything, fetched, receive, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let mail = json!({
        "from": "Grace <grace@example.com>", "to": "help@acme.test", "subject": "A question", "text": "Where is it?",
        "attachments": [{"filename": "note.txt", "content": "YSBub3Rl"}],
    });
    let id = receive(client, &mail).await?;
    assert_eq!(*call!(client.receiving.list(everything()))?[0].id, *id);
    let cid = GetInboundEmailOptions::default().with_html_format(InboundEmailHtmlFormat::Cid);
    for options in [GetInboundEmailOptions::default(), cid] {
        let received = call!(client.receiving.get(&id, options))?;
        assert_eq!((received.from.as_str(), received.attachments.len()), ("grace@example.com", 1));
    }
    let files = call!(client.receiving.list_attachments(&id, everything()))?;
    let file = call!(client.receiving.get_attachment(&files[0].id, &id))?;
    assert_eq!(fetched(client, &file.download_url).await?, "a note");
    refused(call!(client.receiving.get(NOTHING, GetInboundEmailOptions::default())), "not_found");

    let forward =
        || ForwardReceivingEmail::new(InboundEmailId::new(&id), "help@acme.test", ["bob@example.com"]);
    // It copies the attachments of the original, but not its text.
    let as_it_is = call!(client.receiving.forward(forward().with_text("For you")))?.id;
    let forwarded = call!(client.emails.get(&as_it_is))?;
    assert_eq!(
        (forwarded.to, forwarded.subject.as_str()),
        (vec!["bob@example.com".to_owned()], "A question")
    );
    let wrapped = call!(client.receiving.forward(forward().with_passthrough(false).with_text("For you")))?.id;
    assert_eq!(call!(client.emails.get(&wrapped))?.subject, "Fwd: A question");
    Ok(())
}
