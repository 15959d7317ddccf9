//! Remote images, loaded from an image server that is slow, oversized or hostile.

use std::time::Duration;

use http::Method;
use idempost_sandbox::Settings;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::remote_server::{PNG, RemoteServer};
use crate::served::Served;
use crate::support::{KEY, Sandbox, email_of, email_with, wait_until};

const MIB: usize = 1 << 20;

/// Sends an email with this HTML; returns the path of its mail.
fn sent(sandbox: &Sandbox, html: &str) -> String {
    sandbox.sent(&email_with("html", html));
    format!("/_/messages/{}", sandbox.mails()[0].id)
}

fn images(urls: &[String]) -> String {
    urls.iter().map(|url| format!("<img src='{url}'>")).collect::<Vec<_>>().concat()
}

/// Returns the HTML of an email, with its loaded images.
fn shown(sandbox: &Sandbox, mail: &str) -> String {
    sandbox.get(format!("{mail}/html?images=loaded")).expect_status(200).text()
}

/// Loads the images of an email over HTTP; returns their list.
async fn load(sandbox: &Served, mail: &str) -> Value {
    let answer = sandbox.over_http(Method::POST, &format!("{mail}/images"), &Value::Null).await;
    answer.expect_status(200).json()
}

/// Sends an email with these images, and loads them.
async fn of_images(sandbox: &Served, urls: &[String]) -> Value {
    load(sandbox, &sent(sandbox, &images(urls))).await
}

fn states(list: &Value) -> Vec<&str> {
    list["images"].as_array().unwrap().iter().map(|image| image["state"].as_str().unwrap()).collect()
}

fn reason(list: &Value, at: usize) -> &str {
    list["images"][at]["reason"].as_str().unwrap_or("none")
}

#[tokio::test]
async fn images_are_requested_for_one_email_and_only_on_request() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let html = format!(
        "<img src={0}><p style=\"background:url('{0}')\"><img src={1}>",
        server.url("/png"),
        server.url("/status/404")
    );
    let (mail, other) = (sent(&sandbox, &html), sent(&sandbox, &html));
    for side in ["", "/about", "/html", "/html?images=loaded", "/images", "/text", "/timeline"] {
        sandbox.get(format!("{mail}{side}")).expect_status(200);
    }
    let list = sandbox.get(format!("{mail}/images")).json();
    assert_eq!((list["total"].as_u64(), states(&list)), (Some(2), vec!["blocked"; 2]));
    assert_eq!(list["images"][0]["host"], "127.0.0.1");
    assert_eq!(server.connections(), 0);

    let list = load(&sandbox, &mail).await;
    assert_eq!(states(&list), ["loaded", "failed"]);
    assert_eq!(list["images"][0]["size"], PNG.len());
    assert_eq!(reason(&list, 1), "the status is 404 Not Found");
    assert_eq!(server.requests().len(), 2);

    let page = shown(&sandbox, &mail);
    let picture = "data:image/png;base64,iVBORw0KGgowMTIzNDU2Nzg5";
    assert!(
        page.contains(&format!("<img src={picture}>")) && page.contains(&format!("url('{picture}')")),
        "{page}"
    );
    // Neither without the parameter, nor for another email, nor for others who look at it.
    for (mail, side) in [(&mail, "/html"), (&other, "/html?images=loaded")] {
        assert!(!sandbox.get(format!("{mail}{side}")).text().contains("data:image"), "{mail}{side}");
    }
    assert!(!sandbox.get("/_/latest.html").text().contains("data:image"));
    assert_eq!(server.requests().len(), 2);

    // Until they expire, by the sandbox's clock.
    sandbox.advance(3_600);
    assert!(!shown(&sandbox, &mail).contains("data:image"));
    load(&sandbox, &mail).await;
    assert!(shown(&sandbox, &mail).contains("data:image"));
}

#[tokio::test]
async fn received_and_unsent_emails_have_remote_images_too() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let raw =
        format!("From: a@b.test\r\nContent-Type: text/html\r\n\r\n<img src={}>\r\n", server.url("/png"));
    let received = sandbox.service.receive(KEY, &["ada@example.com"], raw).unwrap();
    let later = email_of(&json!({"html": images(&[server.url("/png")]), "scheduled_at": "in 1 hour"}));
    let unsent = sandbox.sent(&later);
    for mail in [format!("/_/received/{received}"), format!("/_/messages/{unsent}")] {
        assert_eq!(states(&load(&sandbox, &mail).await), ["loaded"], "{mail}");
        assert!(shown(&sandbox, &mail).contains("data:image"), "{mail}");
    }
}

#[tokio::test]
async fn no_url_and_no_redirect_reaches_an_address_that_is_not_public() {
    let (server, canary) = (RemoteServer::start().await, RemoteServer::start().await);
    let sandbox = server.sandbox().await;
    let (targets, redirects) = server.urls_that_are_not_public(&canary);
    let list = of_images(&sandbox, &[targets.clone(), redirects.clone()].concat()).await;
    assert_eq!(states(&list), vec!["failed"; targets.len() + redirects.len()], "{list:#}");
    for at in 0..targets.len() + redirects.len() {
        let reason = reason(&list, at);
        let rules =
            ["the address isn't public", "aren't requested", "only http and https", "the port must be"];
        assert!(rules.iter().any(|rule| reason.contains(rule)), "{}: {reason}", list["images"][at]["url"]);
    }
    assert_eq!(canary.connections(), 0);
    assert_eq!(server.requests().len(), redirects.len());

    // A redirect to a permitted address is followed, but not endlessly.
    let once = server.url("/redirect/%2Fpng");
    let endless = server.url("/redirect/..%2Fredirect%2F");
    let list = of_images(&sandbox, &[once, endless]).await;
    assert_eq!(states(&list), ["loaded", "failed"], "{list:#}");
}

#[tokio::test]
async fn slow_large_and_mistyped_images_fail_with_a_reason_and_within_limits() {
    let server = RemoteServer::start().await;
    let slow = [("/slow", "timed out after 0.5 s"), ("/stall", "timed out after 0.5 s")];
    let others = [
        ("/huge", "the image is larger than 5 MiB"),
        ("/endless", "the image is larger than 5 MiB"),
        ("/html", "the content type is text/html"),
        ("/svg", "the content type is image/svg+xml"),
        ("/lie", "the content isn't PNG, JPEG, GIF, WebP, AVIF, BMP or ICO"),
        ("/png/0", "the content isn't PNG, JPEG, GIF, WebP, AVIF, BMP or ICO"),
        ("/untyped", "none"),
        ("/zipped", "none"),
    ];
    for (timeout, expected) in [(500, slow.as_slice()), (30_000, &others)] {
        let sandbox = server.sandbox_with_timeout(Duration::from_millis(timeout)).await;
        let urls: Vec<_> = expected.iter().map(|(path, _)| server.url(path)).collect();
        let list = of_images(&sandbox, &urls).await;
        for (at, (path, expected)) in expected.iter().enumerate() {
            assert_eq!(reason(&list, at), *expected, "{path}");
        }
    }
    // The server may also have written what the sockets' buffers hold.
    assert!(server.written() < 32 * MIB, "{}", server.written());
}

#[tokio::test]
async fn of_thousands_of_images_a_hundred_are_loaded_a_few_at_a_time() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let urls: Vec<_> = (0..5_000).map(|n| server.url(&format!("/png?{n}"))).collect();
    let list = of_images(&sandbox, &urls).await;
    assert_eq!((list["total"].as_u64(), states(&list)), (Some(5_000), vec!["loaded"; 100]));
    assert_eq!(server.requests().len(), 100);
    assert!(server.most_at_once() <= 6, "{}", server.most_at_once());
}

#[tokio::test]
async fn the_images_of_an_email_are_bounded_in_all() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let urls: Vec<_> = (0..8).map(|n| server.url(&format!("/png/{}?{n}", 4 * MIB))).collect();
    let list = of_images(&sandbox, &urls).await;
    let loaded = states(&list).iter().filter(|state| **state == "loaded").count();
    assert!((1..=4).contains(&loaded), "{list:#}");
    let failed = list["images"].as_array().unwrap().iter().filter(|image| image["state"] == "failed");
    let reasons: Vec<_> = failed.map(|image| &image["reason"]).collect();
    let expected = "the images of this email are too large in total";
    assert!(!reasons.is_empty() && reasons.iter().all(|reason| **reason == expected), "{list:#}");
    // A single large image then fits.
    let list = of_images(&sandbox, &urls[..1]).await;
    assert_eq!(states(&list), ["loaded"]);
}

#[tokio::test]
async fn a_client_that_disconnects_ends_the_requests_for_images() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox_with_timeout(Duration::from_mins(10)).await;
    let first = sent(&sandbox, &images(&[server.url("/slow/1")]));
    // More than may run at the same time.
    let address = sandbox.server.base_url().replace("http://", "");
    let mut streams = Vec::new();
    for _ in 0..4 {
        let request = format!(
            "POST {first}/images HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\ncontent-length: 0\r\n\r\n"
        );
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    wait_until("both images are requested", || server.requests().len() >= 2).await;
    drop(streams);
    assert_eq!(states(&of_images(&sandbox, &[server.url("/png")]).await), ["loaded"]);
}

#[test]
fn loading_is_rejected_while_fetching_is_disabled() {
    let sandbox = Sandbox::with(&Settings { fetch_remote: false, ..Settings::default() });
    let mail = sent(&sandbox, "<img src=https://cdn.example/logo.png>");
    let answer = sandbox.post(&format!("{mail}/images"), &Value::Null);
    answer.rejected(403, "fetching_disabled", "--no-fetch");
    let list = sandbox.get(format!("{mail}/images")).json();
    assert_eq!((list["can_load"].as_bool(), states(&list)), (Some(false), vec!["blocked"]));
}

#[test]
fn only_pdf_is_shown_and_it_stays_isolated() {
    let sandbox = Sandbox::new();
    let file = |name: &str, content: &str| json!({"filename": name, "content": content});
    // `%PDF-1.7` and `<script>`.
    let files = json!([
        file("a.pdf", "JVBERi0xLjc="),
        file("b.pdf", "PHNjcmlwdD4="),
        file("c.html", "PHNjcmlwdD4="),
        file("d.svg", "PHNjcmlwdD4=")
    ]);
    sandbox.sent(&email_with("attachments", files));
    let path = |index: usize| format!("/_/messages/{}/files/{index}", sandbox.mail().id);
    let shown = sandbox.get(path(0) + "?as=pdf");
    assert_eq!(
        (shown.header("content-type"), shown.header("content-disposition")),
        (Some("application/pdf"), None)
    );
    assert_eq!(shown.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
    for index in 1..4 {
        assert_eq!(sandbox.get(path(index) + "?as=pdf").status, 422, "{index}");
        assert_eq!(sandbox.get(path(index) + "?as=html").status, 422, "{index}");
        let download = sandbox.get(path(index));
        assert!(download.header("content-disposition").unwrap().starts_with("attachment"), "{index}");
    }
}
