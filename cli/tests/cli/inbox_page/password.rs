//! The page of a sandbox with a password.

use idempost_needs::needs;
use idempost_reference_server::Settings;

use super::{InboxPage, email, send};

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_works_with_the_password_and_not_without() {
    let settings = Settings { password: Some("correct-horse".into()), ..Settings::default() };
    let page = InboxPage::with(settings).await;
    let url = page.server.base_url();
    page.driver().goto(format!("{url}/_/")).await.unwrap();
    assert_eq!(
        page.eval("document.querySelectorAll('script').length").await,
        0,
        "the page asks for the password"
    );

    // The browser asks for the password, or takes it from the URL.
    let with_password = url.replace("http://", "http://anybody:correct-horse@");
    page.driver().goto(format!("{with_password}/_/")).await.unwrap();
    page.find("#live[data-state=on]").await;
    for subject in ["First", "Second"] {
        let mut email = email(subject);
        email["html"] = "<p>It works</p>".into();
        send(page.server.service(), "sb_correct-horse", &email);
    }
    page.waits_for_subjects(&["Second", "First"]).await;
    page.click(".row").await;
    page.says(".mail h1", "Second").await;
    page.find("iframe").await;
    assert_eq!(
        page.eval("[...document.querySelectorAll('.bad:not([hidden])')].map((one) => one.outerHTML).join()")
            .await,
        ""
    );
}
