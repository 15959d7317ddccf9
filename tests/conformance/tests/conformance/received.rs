use std::time::Duration;

use futures_util::TryStreamExt as _;
use http::Method;
use idempost::{
    Error,
    received::{ContentDisposition, HtmlFormat},
};
use idempost_conformance::bench::Bench;
use serde_json::{Value, json};

const MAIL: &str = concat!(
    "From: Ada <ada@example.com>\r\nTo: in@acme.test\r\nSubject: Two files\r\nMessage-ID: <m1@example.com>\r\n",
    "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: text/html\r\n\r\n<img src=\"cid:logo@acme\">\r\n",
    "--m\r\nContent-Type: image/png\r\nContent-ID: <logo@acme>\r\nContent-Disposition: inline; filename=logo.png\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"notes.txt\"\r\n\r\nnotes\r\n--m--\r\n",
);

/// Receives a mail for the bench's account.
fn arrives(bench: &Bench) -> String {
    let request = bench.request(Method::POST, "/_/received").header("content-type", "message/rfc822");
    let request = request.body(MAIL.into()).unwrap();
    let answer = bench.service().handle(request);
    assert_eq!(answer.status(), 201);
    let body: Value = serde_json::from_slice(answer.body()).unwrap();
    body["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn received_emails_and_their_attachments_are_listed() {
    // GEN-08, GEN-23, RECV-01, RECV-02, RECV-03, RECV-04, RECV-05, RECV-06, RECV-08, RECV-09, RECV-10, RECV-11, RECV-13, RECV-14
    // RATT-01, RATT-02, RATT-03
    let bench = Bench::start().await;
    let id = arrives(&bench);
    let client = bench.client();
    let page = client.received().list().await.unwrap();
    let email = &page.data[0];
    assert_eq!((email.id.as_str(), email.to.as_slice()), (id.as_str(), &["in@acme.test".to_owned()][..]));
    assert_eq!(email.from.as_deref(), Some("ada@example.com"));
    assert_eq!(email.subject.as_deref(), Some("Two files"));
    assert_eq!(email.message_id.as_deref(), Some("<m1@example.com>"));
    let sizes: Vec<_> = email.attachments.iter().map(|file| file.size).collect();
    assert_eq!(sizes, [Some(8), Some(5)]);
    let raw = bench.get("/emails/receiving").json;
    let item = &raw["data"][0];
    for field in ["bcc", "cc", "reply_to"] {
        assert_eq!(item[field], json!([]), "{field}");
    }
    assert!(
        item["created_at"].as_str().unwrap().contains('T')
            && item["created_at"].as_str().unwrap().ends_with('Z')
    );

    // SENT-13: received mails are not listed among sent emails.
    assert_eq!(bench.get("/emails").json["data"], json!([]));

    let files = client.received().attachments(id.as_str()).await.unwrap().data;
    let dispositions: Vec<_> = files.iter().map(|one| one.content_disposition.clone().unwrap()).collect();
    assert_eq!(dispositions, [ContentDisposition::Inline, ContentDisposition::Attachment]);
    let whole = client.received().get(id.as_str()).html_format(HtmlFormat::Cid).await.unwrap();
    assert_eq!(whole.html_format, Some(HtmlFormat::Cid));
    let cid = files[0].content_id.as_deref().unwrap();
    assert!(whole.html.unwrap().contains(&format!("cid:{cid}")));
    assert_eq!(files[1].content_id, None);
    assert_eq!(client.received().download(&whole.raw.unwrap().download_url).await.unwrap(), MAIL);
}

#[tokio::test]
async fn images_are_part_of_the_html_unless_requested_otherwise_and_checks_of_the_sender_are_reported() {
    let bench = Bench::start().await;
    let id = arrives(&bench);
    let email = bench.client().received().get(id.as_str()).await.unwrap();
    let html = email.html.as_deref().unwrap();
    assert!(html.contains("src=\"data:image/png;base64,iVBORw0KGgo=\""), "{html}");
    assert_eq!(email.html_format, Some(HtmlFormat::DataUri));
    assert!(!email.is_authenticated());
    let request = bench.request(Method::POST, "/_/received?spf=gray&dkim=pass&dmarc=pass");
    let request = request.header("content-type", "message/rfc822").body(MAIL.into()).unwrap();
    assert_eq!(bench.service().handle(request).status(), 201);
    let newest = bench.client().received().list().page_size(1).await.unwrap().data.remove(0);
    assert!(bench.client().received().get(&newest.id).await.unwrap().is_authenticated());
}

#[tokio::test]
async fn a_download_url_works_without_a_key_until_it_expires() {
    // RATT-04, RATT-05
    let bench = Bench::start().await;
    let id = arrives(&bench);
    let client = bench.client();
    let file = client.received().attachments(id.as_str()).await.unwrap().data.remove(1);
    assert_eq!(client.received().download(&file.download_url).await.unwrap(), "notes");
    let refused = |result: Result<_, Error>| match result {
        Err(Error::Api(error)) => assert_eq!(error.status, 403),
        other => panic!("{other:?}"),
    };
    let changed = format!("{}A", &file.download_url[..file.download_url.len() - 1]);
    let changed =
        if changed == file.download_url { format!("{}B", &changed[..changed.len() - 1]) } else { changed };
    refused(client.received().download(&changed).await);
    bench.service().clock().advance(Duration::from_secs(3_599));
    client.received().download(&file.download_url).await.unwrap();
    bench.service().clock().advance(Duration::from_secs(1));
    refused(client.received().download(&file.download_url).await);
    let anew = client.received().attachment(id.as_str(), &file.id).await.unwrap();
    assert_eq!(client.received().download(&anew.download_url).await.unwrap(), "notes");
}

#[tokio::test]
async fn received_emails_are_listed_on_one_page_or_in_pages() {
    // RECV-12, RATT-06
    let bench = Bench::start().await;
    let mut ids: Vec<_> = (0..25).map(|_| arrives(&bench)).collect();
    ids.reverse();
    let client = bench.client();
    let of = |items: Vec<idempost::received::ReceivedEmailSummary>| -> Vec<_> {
        items.into_iter().map(|email| email.id.to_string()).collect()
    };
    assert_eq!(of(client.received().list().await.unwrap().data), ids);
    assert_eq!(of(client.received().list().page_size(10).stream().try_collect().await.unwrap()), ids);
    assert_eq!(
        of(client.received().list().page_size(2).before(ids[5].as_str()).await.unwrap().data),
        ids[3..5]
    );
    let list = format!("/emails/receiving/{}/attachments", ids[0]);
    let all = bench.get(&list).json["data"].as_array().unwrap().clone();
    let first = all[0]["id"].as_str().unwrap();
    assert_eq!(bench.get(&format!("{list}?after={first}")).json["data"][0]["id"], all[1]["id"]);
    for wrong in ["limit=0", "limit=101", "after=x", "after=00000000-0000-4000-8000-000000000000"] {
        for path in ["/emails/receiving", &list] {
            let path = format!("{path}?{wrong}");
            // An unknown cursor keeps the contract.
            let reply = if wrong.starts_with("limit") { bench.get_wrong(&path) } else { bench.get(&path) };
            assert_eq!(reply.status, 422, "{path}");
        }
    }
    let others = bench.get(&format!("/emails/receiving/{}/attachments", ids[1])).json;
    let others = others["data"].as_array().unwrap();
    assert!(!others.is_empty() && !others.iter().any(|one| all.contains(one)));
}

#[tokio::test]
async fn an_unknown_received_email_is_not_found() {
    // RATT-07, RECV-14
    let bench = Bench::start().await;
    for end in ["", "/attachments", "/attachments/00000000-0000-4000-8000-000000000000"] {
        let reply = bench.get(&format!("/emails/receiving/00000000-0000-4000-8000-000000000000{end}"));
        assert_eq!((reply.status.as_u16(), reply.name()), (404, "not_found"), "{end}");
    }
    assert_eq!(bench.get("/emails/receiving/x").status, 422);
}

#[tokio::test]
async fn emails_received_after_a_given_one_are_streamed_oldest_first() {
    let bench = Bench::start().await;
    let last = arrives(&bench);
    let mut expected: Vec<_> = (0..3_000).map(|_| arrives(&bench)).collect();
    let client = bench.client();
    let mut new = client.received().since(last.as_str()).stream();
    let mut seen = Vec::new();
    while let Some(email) = new.try_next().await.unwrap() {
        seen.push(email.id.to_string());
        if seen.len() % 100 == 50 && expected.len() < 3_500 {
            // In the middle of a page.
            expected.extend((0..25).map(|_| arrives(&bench)));
        }
    }
    assert_eq!(seen, expected);
    let end = seen.pop().unwrap();
    assert!(client.received().since(end.as_str()).await.unwrap().data.is_empty());
    let forgotten = client.received().since("00000000-0000-4000-8000-000000000000").await.unwrap_err();
    assert!(matches!(&forgotten, Error::Api(error) if error.status == 422), "{forgotten}");
}
