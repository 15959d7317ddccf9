use futures_util::TryStreamExt as _;
use http::Method;
use idempost::Error;
use idempost_conformance::bench::Bench;
use serde_json::Value;

const MAIL: &str = concat!(
    "From: Ada <ada@example.com>\r\nTo: in@acme.test\r\nSubject: Two files\r\nMessage-ID: <m1@example.com>\r\n",
    "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: text/html\r\n\r\n<img src=\"cid:logo@acme\">\r\n",
    "--m\r\nContent-Type: image/png\r\nContent-ID: <logo@acme>\r\nContent-Disposition: inline; filename=logo.png\r\n",
    "Content-Transfer-Encoding: base64\r\n\r\niVBORw0KGgo=\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"notes.txt\"\r\n\r\nnotes\r\n--m--\r\n",
);

/// Receives an email for the bench's account.
fn arrives(bench: &Bench) -> String {
    let request = bench.request(Method::POST, "/_/received").header("content-type", "message/rfc822");
    let request = request.body(MAIL.into()).unwrap();
    let answer = bench.service().handle(request);
    assert_eq!(answer.status(), 201);
    let body: Value = serde_json::from_slice(answer.body()).unwrap();
    body["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn emails_received_after_a_given_one_are_streamed_oldest_first() {
    let bench = Bench::start().await;
    let last = arrives(&bench);
    let mut expected: Vec<_> = (0..1_000).map(|_| arrives(&bench)).collect();
    let client = bench.client();
    let mut new = client.received().since(last.as_str()).stream();
    let mut seen = Vec::new();
    while let Some(email) = new.try_next().await.unwrap() {
        seen.push(email.id.to_string());
        if seen.len() % 100 == 50 && expected.len() < 1_200 {
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
