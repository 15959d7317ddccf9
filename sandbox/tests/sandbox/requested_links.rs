//! The links of an email, requested from servers that are slow, broken or hostile.

use std::time::{Duration, Instant};

use http::Method;
use idempost_sandbox::Settings;
use serde_json::{Value, json};

use crate::remote_server::RemoteServer;
use crate::served::Served;
use crate::support::{KEY, Sandbox, email_with};

/// Sends an email; returns the path of its mail.
fn sent(sandbox: &Served, email: &Value) -> String {
    sandbox.sent(email);
    format!("/_/messages/{}", sandbox.mails()[0].id)
}

/// Requests the links of an email; returns its check.
async fn request(sandbox: &Served, mail: &str) -> Value {
    let answer = sandbox.over_http(Method::POST, &format!("{mail}/check"), &Value::Null).await;
    answer.expect_status(200).json()
}

/// Sends an email with these links, a line each, and requests them.
async fn of_links(sandbox: &Served, urls: &[String]) -> Value {
    let links: Vec<_> = urls.iter().map(|url| format!("<p><a href=\"{url}\">x</a></p>\n")).collect();
    request(sandbox, &sent(sandbox, &email_with("html", links.concat()))).await
}

fn links(report: &Value) -> &[Value] {
    report["links"]["data"].as_array().unwrap()
}

/// The state of each link, in order.
fn states(report: &Value) -> Vec<&str> {
    links(report).iter().map(|link| link["state"].as_str().unwrap()).collect()
}

fn finding<'a>(report: &'a Value, code: &str) -> Option<&'a Value> {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["code"] == code)
}

/// The codes of findings that only requests have.
pub(crate) const CODES: [&str; 5] =
    ["link_broken", "link_unreachable", "link_not_public", "link_denied", "link_redirect_insecure"];

#[tokio::test]
async fn links_are_requested_only_on_request_each_once_and_without_their_content() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let mut email = email_with(
        "html",
        format!(
            "<a href='{0}'>a</a><a href='{0}#top'>b</a><map><area href='{1}'></map><a href='mailto:a@acme.com'>c</a><img src='{2}'><a href='{3}'>d</a>\
             <a href='{4}'>e</a><a href='{{{{url}}}}'>f</a>",
            server.url("/page?a=1&amp;b=2"),
            server.url("/area"),
            server.url("/image"),
            server.url("/only-get/405"),
            server.url("/only-get/501"),
        ),
    );
    email["text"] = format!("See {} or {}.", server.url("/page?a=1&b=2"), server.url("/text")).into();
    let mail = sent(&sandbox, &email);
    for side in ["", "/check", "/about", "/html", "/text", "/timeline"] {
        let found = sandbox.get(format!("{mail}{side}")).expect_status(200);
        assert!(side != "/check" || found.json().get("links").is_none());
    }
    assert_eq!(server.requests(), [""; 0]);
    let report = request(&sandbox, &mail).await;
    let expected = [
        "GET /only-get/405",
        "GET /only-get/501",
        "HEAD /area",
        "HEAD /only-get/405",
        "HEAD /only-get/501",
        "HEAD /page?a=1&b=2",
        "HEAD /text",
    ];
    assert_eq!(server.requests(), expected);
    assert_eq!((states(&report), &report["links"]["total"]), (vec!["ok"; 5], &json!(5)));
    assert_eq!(
        links(&report)[0],
        json!({"url": server.url("/page?a=1&b=2"), "state": "ok", "status": 200, "location": null, "reason": null})
    );
    assert!(CODES.iter().all(|code| finding(&report, code).is_none()), "{report:#}");
    // The sockets' buffers may hold this much; the client reads no content.
    assert!(server.written() < 16 << 20);
}

#[tokio::test]
async fn every_kind_of_failure_has_its_finding_with_place_and_reason() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let expected = [
        (server.url("/ok"), "ok", ""),
        (server.url("/status/404"), "broken", "the status is 404 Not Found"),
        (server.url("/status/500"), "broken", "the status is 500 Internal Server Error"),
        (server.url("/status/403"), "denied", "the status is 403 Forbidden"),
        (server.url("/status/999"), "denied", "the status is 999"),
        (server.url("/loop"), "broken", "more than 5 redirects"),
        (server.url("/nowhere"), "broken", "the redirect has no valid location"),
        (server.redirect_to("/ok"), "ok", "a redirect leads to an http: URL"),
        (server.redirect_to("/status/410"), "broken", "the status is 410 Gone"),
        (server.url("/headers"), "unreachable", "http://"),
        (server.url("/cut"), "unreachable", "http://"),
        ("http://nowhere.invalid/".to_owned(), "unreachable", ""),
        (format!("https://{}/", server.address), "unreachable", ""),
    ];
    let urls: Vec<_> = expected.iter().map(|(url, ..)| url.clone()).collect();
    let report = of_links(&sandbox, &urls).await;
    assert_eq!(links(&report).len(), expected.len());
    for (link, (url, state, reason)) in links(&report).iter().zip(&expected) {
        assert_eq!((link["url"].as_str(), &link["state"]), (Some(url.as_str()), &json!(state)), "{link}");
        assert!(link["reason"].as_str().unwrap_or_default().starts_with(reason), "{link}");
    }
    assert_eq!(links(&report)[7]["location"], server.url("/ok"));
    for (code, severity, count, line, reason) in [
        ("link_broken", "error", 5, 2, "the status is 404 Not Found: http://127.0.0.1"),
        ("link_unreachable", "error", 4, 10, "http://127.0.0.1"),
        ("link_denied", "warning", 2, 4, "the status is 403 Forbidden: http://127.0.0.1"),
        ("link_redirect_insecure", "warning", 1, 8, "a redirect leads to an http: URL: http://127.0.0.1"),
    ] {
        let found = finding(&report, code).unwrap();
        let place = &found["places"][0];
        assert_eq!((&found["severity"], &found["count"]), (&json!(severity), &json!(count)), "{found:#}");
        assert_eq!((&place["part"], &place["line"]), (&json!("html"), &json!(line)), "{found:#}");
        assert!(place["excerpt"].as_str().unwrap().starts_with(reason), "{found:#}");
    }
    assert_eq!(finding(&report, "link_not_public"), None);
}

#[tokio::test]
async fn no_link_and_no_redirect_reaches_an_address_that_is_not_public() {
    let (server, canary) = (RemoteServer::start().await, RemoteServer::start().await);
    let sandbox = server.sandbox().await;
    let (targets, redirects) = server.urls_that_are_not_public(&canary);
    let report = of_links(&sandbox, &[targets.clone(), redirects.clone()].concat()).await;
    let count = targets.len() + redirects.len();
    assert_eq!(states(&report), vec!["not_public"; count], "{report:#}");
    assert!(!links(&report).iter().any(|link| !link["status"].is_null()));
    let found = finding(&report, "link_not_public").unwrap();
    assert_eq!((&found["severity"], &found["count"]), (&json!("warning"), &json!(count)));
    assert!(
        found["places"][0]["excerpt"].as_str().unwrap().contains("the address isn't public"),
        "{found:#}"
    );
    assert_eq!(canary.connections(), 0);
    assert_eq!(server.requests().len(), redirects.len());
}

#[tokio::test]
async fn a_link_that_may_unsubscribe_is_never_requested_and_has_no_finding() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let url = |path: &str| server.url(path);
    let html = format!(
        "<p>Read <a href='{}'>the news</a>, or <a href='{}#x'>more</a>.</p>\
         <p><a href='{}'>Unsubscribe</a> | <a href='{}'>Privacy</a></p>\
         <div>To unsubscribe, click <a href='{}'>here</a>.</div>\
         <div><a href='{}'>Manage</a> <a href='{}'><img src=x alt='Opt out'></a> <a href='{}' title='Se désabonner'>x</a></div>\
         <p><a href='{}'>Sandbox</a></p>",
        url("/news"),
        url("/header"),
        url("/u/1"),
        url("/privacy"),
        url("/u/2"),
        url("/unsubscribe?u=3"),
        url("/u/4"),
        url("/u/5"),
        url("/_/unsubscribe/token"),
    );
    let mut email = email_with("html", html);
    email["text"] = format!("News: {}\n\n\nNewsletter abbestellen:\n{}\n", url("/text"), url("/u/6")).into();
    email["headers"] = json!({
        "List-Unsubscribe": format!("<mailto:u@acme.com>, <{}>", url("/header")),
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    });
    let mut later = email.clone();
    later["scheduled_at"] = "in 1 hour".into();
    let unsent = sandbox.sent(&later);
    for mail in [sent(&sandbox, &email), format!("/_/messages/{unsent}")] {
        let report = request(&sandbox, &mail).await;
        assert_eq!(server.requests(), ["HEAD /news", "HEAD /privacy", "HEAD /text"], "{report:#}");
        server.forget_requests();
        let (skipped, requested): (Vec<_>, Vec<_>) =
            links(&report).iter().partition(|link| link["state"] == "skipped");
        assert_eq!((skipped.len(), requested.len()), (8, 3), "{report:#}");
        assert!(
            skipped
                .iter()
                .all(|link| link["reason"] == "not requested, since it may unsubscribe the recipient")
        );
        assert!(CODES.iter().all(|code| finding(&report, code).is_none()), "{report:#}");
    }
    // A mail without HTML.
    let email = email_with("text", format!("{}\n\nUnsubscribe: {}\n", url("/text"), url("/u/7")));
    let report = request(&sandbox, &sent(&sandbox, &email)).await;
    assert_eq!((states(&report), server.requests()), (vec!["ok", "skipped"], vec!["HEAD /text".to_owned()]));
}

#[tokio::test]
async fn links_of_received_mails_are_requested_too() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let raw = format!(
        "From: a@b.test\r\nContent-Type: text/html\r\n\r\n<a href={}>x</a>\r\n",
        server.url("/status/404")
    );
    let received = sandbox.service.receive(KEY, &["ada@example.com"], raw).unwrap();
    let report = request(&sandbox, &format!("/_/received/{received}")).await;
    assert_eq!((states(&report), report["id"].as_str().unwrap()), (vec!["broken"], received.as_str()));
}

#[tokio::test]
async fn of_thousands_of_links_a_hundred_are_requested_a_few_at_a_time() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox().await;
    let urls: Vec<_> = (0..10_050).map(|n| server.url(&format!("/ok?{n}"))).collect();
    let report = of_links(&sandbox, &urls).await;
    assert_eq!((&report["links"]["total"], states(&report)), (&json!(10_000), vec!["ok"; 100]));
    assert_eq!(server.requests().len(), 100);
    assert!(server.most_at_once() <= 6, "{}", server.most_at_once());
}

#[tokio::test]
async fn slow_servers_cannot_prolong_a_check_and_links_without_time_have_no_finding() {
    let server = RemoteServer::start().await;
    let sandbox = server.sandbox_with_timeout(Duration::from_millis(1_500)).await;
    let urls: Vec<_> = (0..50).map(|n| server.url(&format!("/slow/{n}"))).collect();
    let started = Instant::now();
    let report = of_links(&sandbox, &urls).await;
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    let unreachable = states(&report).iter().filter(|state| **state == "unreachable").count();
    assert!((6..=18).contains(&unreachable), "{unreachable}");
    assert_eq!(finding(&report, "link_unreachable").unwrap()["count"], unreachable);
    assert!(states(&report).iter().all(|state| ["unreachable", "skipped"].contains(state)));
    assert_eq!(links(&report)[0]["reason"], "timed out after 1.5 s");
    assert_eq!(links(&report)[49]["reason"], "timed out after 4.5 s");
}

#[test]
fn requests_are_rejected_while_fetching_is_disabled() {
    let sandbox = Sandbox::with(&Settings { fetch_remote: false, ..Settings::default() });
    sandbox.sent(&email_with("html", "<a href=https://acme.com>x</a>"));
    let path = format!("/_/messages/{}/check", sandbox.mail().id);
    let answer = sandbox.post(&path, &Value::Null);
    answer.rejected(403, "fetching_disabled", "--no-fetch");
    assert_eq!(sandbox.get(path).status, 200);
}
