//! The links of an email, requested with a click.

use idempost_needs::needs;

use super::preview::{ImageServer, SANDBOX};
use super::{InboxPage, email};

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_requested_after_a_click_by_the_sandbox_and_shown_as_text() {
    let (server, canary) = (ImageServer::start().await, ImageServer::start().await);
    let page = InboxPage::that_may_load_from(&server).await;
    let mut mail = email("Links");
    mail["html"] = format!(
        "<a href='{}'>Shop</a> <a href='{}'>Offer</a> <a href='{}'>Unsubscribe</a>",
        server.url("/shop?<b onload=1>"),
        server.url(&format!("/redirect?{}", canary.url("/offer"))),
        server.url("/out"),
    )
    .into();
    page.opens(&mail).await;
    page.click(".tab[data-tab=check]").await;
    page.says("[data-act=links]", "Request links").await;
    assert_eq!(server.requests(), []);

    page.click("[data-act=links]").await;
    page.says(".requested [role=status]", "2 of 3 links checked").await;
    page.says("[data-act=links]", "Request again").await;
    page.click(".requested summary").await;
    let states = "[...document.querySelectorAll('.requested .places li')].map((link) => link.querySelector('b').textContent).join()";
    page.holds(&format!("{states} === '200,not public,skipped'")).await;
    page.holds("document.querySelector('.requested').textContent.includes(\"the address isn't public\")")
        .await;
    page.holds("document.querySelectorAll('.requested a, .requested b[onload]').length === 0").await;
    assert_eq!(canary.requests(), []);
    let mut requests = server.requests();
    requests.sort();
    let [redirect, shop] = &requests[..] else { panic!("{requests:?}") };
    assert!(redirect.0.starts_with("/redirect?"), "{requests:?}");
    assert!(shop.0.starts_with("/shop?"), "{requests:?}");
    assert!(requests.iter().all(|(_, agent)| agent.starts_with(SANDBOX)), "{requests:?}");

    page.click("[data-act=links]").await;
    page.says(".requested [role=status]", "2 of 3 links checked").await;
    page.end().await;
    assert_eq!(server.requests().len(), 4);
}
