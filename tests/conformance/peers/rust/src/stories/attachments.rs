//! The attachments of sent emails, and links to share an email.

use resend_rs::types::{ContentDisposition, CreateAttachment, ShareEmailOptions};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{NOTHING, email, everything, fetched, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let note = CreateAttachment::from_content(b"a note".to_vec()).with_filename("note.txt");
    let logo =
        CreateAttachment::from_content(b"logo".to_vec()).with_filename("logo.png").with_content_id("logo");
    let sent =
        call!(client.emails.send(email("ada@example.com", "Two files").with_attachments([note, logo])))?.id;
    let files = call!(client.emails.list_attachments(&sent, everything()))?.data;
    assert_eq!(
        files.iter().map(|file| file.filename.as_deref()).collect::<Vec<_>>(),
        [Some("note.txt"), Some("logo.png")]
    );
    assert!(matches!(files[1].content_disposition, ContentDisposition::Inline));
    let file = call!(client.emails.get_attachment(&sent, &files[0].id))?;
    assert_eq!((file.size, file.content_type.as_str()), (6, "text/plain"));
    assert_eq!(fetched(client, &file.download_url).await?, "a note");
    refused(call!(client.emails.get_attachment(&sent, NOTHING)), "not_found");

    for options in [ShareEmailOptions::new(), ShareEmailOptions::new().with_expires_in("1h 30m")] {
        let shared = call!(client.emails.share(&sent, options))?;
        assert!(shared.id == sent && fetched(client, &shared.url).await?.contains("Two files"));
    }
    refused(
        call!(client.emails.share(&sent, ShareEmailOptions::new().with_expires_in("3 days"))),
        "validation_error",
    );
    Ok(())
}
