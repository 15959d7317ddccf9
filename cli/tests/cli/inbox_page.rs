//! The sandbox's inbox in a real browser: normal use, and malicious mail.

mod cross_origin;
mod everyday;
mod handling;
mod hostile;
mod layout;
mod links;
mod metrics;
mod password;
mod preview;
mod release;
mod screenshots;
mod tabs;

use std::time::Instant;

use bytes::Bytes;
use http::Request;
use idempost_drivers::thirtyfour::prelude::*;
use idempost_drivers::{Browser, TIMEOUT};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::{Value, json};
use tokio::time::sleep;

const KEY: &str = "sb_local";

/// Records failures on every page: exceptions, unhandled promise rejections, and violations of the page's content security policy.
const WATCH: &str = "
    window.wrong = [];
    addEventListener('error', (event) => wrong.push(`error: ${event.message}`));
    addEventListener('unhandledrejection', (event) => wrong.push(`rejected: ${event.reason}`));
    addEventListener('securitypolicyviolation', (event) => wrong.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    for (const kind of ['error', 'warn']) { const say = console[kind]; console[kind] = (...all) => { wrong.push(`console: ${all}`); say(...all); }; }";

/// A sandbox, and a browser that shows its inbox.
pub(crate) struct InboxPage {
    pub(crate) server: ReferenceServer,
    pub(crate) browser: Browser,
}

impl InboxPage {
    pub(crate) async fn with(settings: Settings) -> Self {
        let server = idempost_sandbox::start(settings).await;
        server.service().set_base_url(&server.base_url());
        let browser = Browser::start().await;
        let page = Self { server, browser };
        page.driver().set_window_rect(0, 0, 1280, 900).await.unwrap();
        page.command("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH})).await;
        page
    }

    async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) fn driver(&self) -> &WebDriver {
        self.browser.driver()
    }

    async fn command(&self, name: &str, parameters: Value) {
        self.driver().cdp().send_raw(name, parameters).await.unwrap();
    }

    /// Opens the inbox and waits for the event stream.
    async fn look(&self) {
        self.driver().goto(format!("{}/_/", self.server.base_url())).await.unwrap();
        self.find("#live[data-state=on]").await;
    }

    /// Sends an email without a socket; returns its ID.
    fn send(&self, email: &Value) -> String {
        let answer = self.post("/emails", email);
        answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = Request::post(path).header("authorization", format!("Bearer {KEY}"));
        let request = request.header("content-type", "application/json").body(Bytes::from(body.to_string()));
        serde_json::from_slice(self.server.service().handle(request.unwrap()).body()).unwrap()
    }

    /// The element, once it exists and is visible.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        let until = Instant::now() + TIMEOUT;
        loop {
            for found in self.driver().find_all(By::Css(css)).await.unwrap() {
                if found.is_displayed().await.unwrap_or(false) {
                    return found;
                }
            }
            assert!(Instant::now() < until, "no visible {css}");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Clicks the current element, even if it is being redrawn.
    pub(crate) async fn click(&self, css: &str) {
        let until = Instant::now() + TIMEOUT;
        loop {
            match self.find(css).await.click().await {
                Ok(()) => return,
                Err(error) => assert!(Instant::now() < until, "{css} can't be clicked: {error}"),
            }
        }
    }

    /// Waits until an element has exactly this text.
    async fn says(&self, css: &str, text: &str) {
        let until = Instant::now() + TIMEOUT;
        loop {
            let found = self.find(css).await.text().await.unwrap_or_default();
            if found == text {
                return;
            }
            assert!(Instant::now() < until, "{css} is {found:?}, expected {text:?}");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Waits until this condition holds on the page. While an element it uses is missing, it doesn't hold.
    async fn holds(&self, condition: &str) {
        let until = Instant::now() + TIMEOUT;
        let tried = format!("(() => {{ try {{ return {condition}; }} catch {{ return false; }} }})()");
        while self.eval(&tried).await != json!(true) {
            assert!(Instant::now() < until, "timed out waiting for {condition}");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn eval(&self, expression: &str) -> Value {
        self.driver().execute(format!("return {expression}"), vec![]).await.unwrap().json().clone()
    }

    /// Waits until the list has these subjects, from the top.
    pub(crate) async fn waits_for_subjects(&self, subjects: &[&str]) {
        let wanted = serde_json::to_string(subjects).unwrap();
        self.holds(&format!(
            "JSON.stringify([...document.querySelectorAll('.row .subject')].map((one) => one.textContent)) === {}",
            json!(wanted)
        ))
        .await;
    }

    /// Types into the focused element.
    async fn keys(&self, keys: impl IntoIterator<Item = char> + Clone) {
        for key in keys {
            self.driver().action_chain().key_down(key).key_up(key).perform().await.unwrap();
        }
    }

    /// Stops, and fails if anything has gone wrong on the page.
    async fn end(self) {
        assert_eq!(self.eval("window.wrong").await, json!([]));
        self.browser.stop().await;
    }
}

fn email(subject: &str) -> Value {
    json!({"from": "Acme <hi@acme.test>", "to": "Ada <ada@example.com>", "subject": subject, "text": "It works"})
}
