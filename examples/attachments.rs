//! Attachments: bytes, a file that is streamed, an inline image, and a URL that the service fetches.

use std::path::Path;

use idempost::{Accepted, Attachment, Client, Email};

async fn run(client: &Client, report: &Path) -> idempost::Result<Accepted> {
    let logo =
        Attachment::from_bytes("logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>").content_id("logo");
    let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Your report")
        .html("<img src='cid:logo'><p>The report is attached.</p>")
        .attach(logo)
        .attach(Attachment::from_file(report).await?.content_type("text/csv"));
    client.emails().send(&email).on_upload(|sent, total| tracing::debug!(sent, total, "uploading")).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the id is the program's result")]
async fn main() -> idempost::Result<()> {
    let report = std::env::args().nth(1).unwrap_or_else(|| "report.csv".to_owned());
    println!("{}", run(&Client::from_env()?, report.as_ref()).await?.id);
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;
    use mail_parser::{MessageParser, MimeHeaders as _};

    use super::*;

    #[tokio::test]
    async fn both_files_arrive_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.csv");
        std::fs::write(&report, "apples,17\n".repeat(50_000)).unwrap();
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        run(&client, &report).await.unwrap();
        let mail = &server.service().mails("sb_test")[0];
        let message = MessageParser::default().parse(&mail.mime[..]).unwrap();
        let attached: Vec<_> =
            message.attachments().map(|part| (part.attachment_name(), part.contents().len())).collect();
        assert!(attached.contains(&(Some("report.csv"), 500_000)), "{attached:?}");
        assert!(message.body_html(0).unwrap().contains("cid:logo"));
    }
}
