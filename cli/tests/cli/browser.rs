//! Logins in a real browser.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use idempost_drivers::thirtyfour::prelude::*;
use idempost_drivers::{Browser, TIMEOUT};
use idempost_needs::needs;
use idempost_reference_server::Settings;
use tokio::time::sleep;

use crate::support::{Finish as _, Idempost, Ran};

/// Runs `auth login` until this browser shows the consent page.
async fn ask_for_consent(idempost: &Idempost, browser: &Browser) -> JoinHandle<Ran> {
    let (opener, address) = idempost.browser();
    let mut command = idempost.command();
    command.args(["auth", "login", "--store", "file"]).env("BROWSER", opener);
    let process = std::thread::spawn(move || command.finish());

    let until = Instant::now() + TIMEOUT;
    while !address.exists() {
        assert!(
            Instant::now() < until && !process.is_finished(),
            "no browser was opened: {:?}",
            process.join()
        );
        sleep(Duration::from_millis(20)).await;
    }
    let driver = browser.driver();
    driver.goto(std::fs::read_to_string(&address).unwrap()).await.unwrap();
    std::fs::remove_file(&address).unwrap();
    let heading = driver.find(By::Css("h1")).await.unwrap().text().await.unwrap();
    assert_eq!(heading, "idempost asks for access");
    process
}

/// Runs `auth login` with this browser; `decide` is the button that the user clicks.
pub(crate) async fn log_in(idempost: &Idempost, browser: &Browser, decide: &str) -> Ran {
    let process = ask_for_consent(idempost, browser).await;
    let driver = browser.driver();
    driver.find(By::Css(format!("button[value={decide}]"))).await.unwrap().click().await.unwrap();

    let ran = tokio::task::spawn_blocking(|| process.join().unwrap()).await.unwrap();
    // Neither the URL nor the page reveals the code or the decision.
    let ended = driver.current_url().await.unwrap();
    assert!(ended.query().is_none() && ended.host_str() == Some("127.0.0.1"), "{ended}");
    ran
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn access_is_allowed_and_denied_in_a_real_browser() {
    // AUTHZ-01, AUTHZ-20, AUTHZ-21
    let browser = Browser::start().await;
    let server = idempost_sandbox::start(Settings::default()).await;
    server.service().set_base_url(&server.base_url());
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", server.base_url());

    log_in(&idempost, &browser, "deny").await.fails_with(4, &["access was denied"]);
    assert_eq!(server.service().token_events(), []);

    log_in(&idempost, &browser, "allow").await.ok();
    assert_eq!(server.service().token_events().len(), 1);
    let sent = idempost.run("emails send --from hi@acme.test --to ada@example.com --subject Hello --text Hi");
    sent.ok();
    assert_eq!(server.service().mails("sb_local").len(), 1);
    browser.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes docs/assets/consent.png"]
async fn the_screenshot_of_the_consent_page_is_regenerated() {
    let browser = Browser::start().await;
    browser.driver().set_window_rect(0, 0, 860, 760).await.unwrap();
    let server = idempost_sandbox::start(Settings::default()).await;
    server.service().set_base_url(&server.base_url());
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", server.base_url());
    let process = ask_for_consent(&idempost, &browser).await;
    let picture = browser.driver().screenshot_as_png().await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/assets");
    std::fs::write(folder.join("consent.png"), picture).unwrap();
    browser.driver().find(By::Css("button[value=deny]")).await.unwrap().click().await.unwrap();
    tokio::task::spawn_blocking(|| process.join().unwrap()).await.unwrap();
    browser.stop().await;
}
