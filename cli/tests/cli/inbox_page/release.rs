//! Releasing an email to a real server with its button.

use std::sync::{Arc, Mutex};

use idempost_needs::needs;
use idempost_reference_server::{AllowList, Relay, RelayError};

use super::{InboxPage, email};

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_released_after_confirmation_and_its_timeline_shows_the_replies() {
    let page = InboxPage::new().await;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sent);
    let allow = AllowList::new(&["*@acme.test"]).unwrap();
    page.server.service().set_relay(Relay::new("smtp://mail.acme.test", false, allow, move |mail| {
        seen.lock().unwrap().push(mail.recipients().to_vec());
        let is_refused = mail.recipients().iter().any(|to| to.starts_with("refused@"));
        let hostile =
            RelayError { code: Some(550), text: "5.1.1 <img src=x onerror='window.pwned=1'>".to_owned() };
        async move { if is_refused { Err(hostile) } else { Ok("250 2.0.0 Queued".to_owned()) } }
    }));
    page.opens(&email("Hello")).await;
    page.click("[data-tab=timeline]").await;
    page.click("#release-mail").await;
    page.find("#release-to").await.send_keys("qa@acme.test, ops@acme.test").await.unwrap();
    page.click("#release-dialog form.stack button").await;
    page.holds("document.querySelector('#release-send').parentElement.textContent.includes('qa@acme.test, ops@acme.test, and nobody else?')").await;
    assert!(sent.lock().unwrap().is_empty(), "released before the confirmation");
    // Other recipients need another confirmation.
    page.find("#release-to").await.send_keys(" eve@evil.test").await.unwrap();
    page.holds("document.querySelector('#release-send').closest('[hidden]') !== null").await;
    page.click("#release-dialog form.stack button").await;
    page.click("#release-send").await;
    page.holds(
        "document.querySelector('#release-dialog [role=alert]').textContent.includes(\"allowed by --smtp-allow\")",
    )
    .await;
    assert!(sent.lock().unwrap().is_empty());

    page.eval("document.getElementById('release-to').value = 'refused@acme.test'").await;
    page.click("#release-dialog form.stack button").await;
    page.click("#release-send").await;
    page.holds(
        "document.querySelector('#release-dialog [role=alert]').textContent.includes('550 5.1.1 <img')",
    )
    .await;
    page.eval("document.getElementById('release-to').value = 'qa@acme.test'").await;
    page.click("#release-dialog form.stack button").await;
    page.click("#release-send").await;
    page.says("#toasts .toast", "Released: 250 2.0.0 Queued").await;
    page.holds("!document.getElementById('release-dialog').open").await;
    assert_eq!(*sent.lock().unwrap(), [["refused@acme.test"], ["qa@acme.test"]]);
    page.says(".timeline li:last-child strong", "released to qa@acme.test: 250 2.0.0 Queued").await;
    page.holds("[...document.querySelectorAll('.timeline strong')].some((one) => one.textContent.startsWith('not released to refused@acme.test: 550'))").await;
    assert_eq!(
        page.eval("window.pwned === undefined && !document.querySelector('.timeline img, dialog img')").await,
        true
    );
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_there_is_no_button() {
    let page = InboxPage::new().await;
    page.opens(&email("Hello")).await;
    page.find(".acts a[download]").await;
    page.holds("document.getElementById('release-mail').hidden").await;
    page.end().await;
}
