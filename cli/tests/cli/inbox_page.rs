//! The sandbox's inbox in a real browser: somebody looks while mail is sent, and somebody else means ill.

mod elsewhere;
mod hostile;
mod screenshots;
mod use_of_it;

use std::time::Instant;

use bytes::Bytes;
use http::Request;
use posthaste_reference_server::{ReferenceServer, Settings};
use serde_json::{Value, json};
use thirtyfour::prelude::*;
use tokio::time::sleep;

use crate::chromium::{Browser, PATIENCE};

const KEY: &str = "sb_local";

/// Notes on every page what goes wrong in it: exceptions, promises that nobody caught, and what its own policy had to stop.
const WATCH: &str = "
    window.wrong = [];
    addEventListener('error', (event) => wrong.push(`error: ${event.message}`));
    addEventListener('unhandledrejection', (event) => wrong.push(`rejected: ${event.reason}`));
    addEventListener('securitypolicyviolation', (event) => wrong.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    for (const kind of ['error', 'warn']) { const say = console[kind]; console[kind] = (...all) => { wrong.push(`console: ${all}`); say(...all); }; }";

/// A sandbox, and a browser that looks at its inbox.
struct Desk {
    server: ReferenceServer,
    browser: Browser,
}

impl Desk {
    async fn with(settings: Settings) -> Self {
        let server = ReferenceServer::over_http(settings).await;
        server.service().listens_at(&server.base_url());
        let browser = Browser::start().await;
        let desk = Self { server, browser };
        desk.driver().set_window_rect(0, 0, 1280, 900).await.unwrap();
        desk.command("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH})).await;
        desk
    }

    async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    fn driver(&self) -> &WebDriver {
        self.browser.driver()
    }

    async fn command(&self, name: &str, parameters: Value) {
        self.driver().cdp().send_raw(name, parameters).await.unwrap();
    }

    /// Opens the inbox, and waits until the stream of events is there.
    async fn look(&self) {
        self.driver().goto(format!("{}/_/", self.server.base_url())).await.unwrap();
        self.find("#live[data-state=on]").await;
    }

    /// Sends an email without a socket, and answers its id.
    fn send(&self, email: &Value) -> String {
        let answer = self.post("/emails", email);
        answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = Request::post(path).header("authorization", format!("Bearer {KEY}"));
        let request = request.header("content-type", "application/json").body(Bytes::from(body.to_string()));
        serde_json::from_slice(self.server.service().handle(request.unwrap()).body()).unwrap()
    }

    /// The element, as soon as there is one that is seen.
    async fn find(&self, css: &str) -> WebElement {
        let until = Instant::now() + PATIENCE;
        loop {
            for found in self.driver().find_all(By::Css(css)).await.unwrap() {
                if found.is_displayed().await.unwrap_or(false) {
                    return found;
                }
            }
            assert!(Instant::now() < until, "there is no {css} to be seen");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Clicks what is there now, also if it is drawn anew in this very moment.
    async fn click(&self, css: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.find(css).await.click().await {
                Ok(()) => return,
                Err(error) => assert!(Instant::now() < until, "{css} can't be clicked: {error}"),
            }
        }
    }

    /// Waits until an element says exactly this.
    async fn says(&self, css: &str, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.find(css).await.text().await.unwrap_or_default();
            if found == text {
                return;
            }
            assert!(Instant::now() < until, "{css} says {found:?} and not {text:?}");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Waits until this holds in the page. Where an element that it asks is not there yet, it does not.
    async fn holds(&self, condition: &str) {
        let until = Instant::now() + PATIENCE;
        let tried = format!("(() => {{ try {{ return {condition}; }} catch {{ return false; }} }})()");
        while self.eval(&tried).await != json!(true) {
            assert!(Instant::now() < until, "it never held that {condition}");
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn eval(&self, expression: &str) -> Value {
        self.driver().execute(format!("return {expression}"), vec![]).await.unwrap().json().clone()
    }

    /// Waits until these are the subjects in the list, from the top.
    async fn waits_for_subjects(&self, subjects: &[&str]) {
        let wanted = serde_json::to_string(subjects).unwrap();
        self.holds(&format!(
            "JSON.stringify([...document.querySelectorAll('.row .subject')].map((one) => one.textContent)) === {}",
            json!(wanted)
        ))
        .await;
    }

    /// Types into whatever has the focus.
    async fn keys(&self, keys: impl IntoIterator<Item = char> + Clone) {
        for key in keys {
            self.driver().action_chain().key_down(key).key_up(key).perform().await.unwrap();
        }
    }

    /// Ends, if nothing has gone wrong in the page itself.
    async fn end(self) {
        assert_eq!(self.eval("window.wrong").await, json!([]));
        self.browser.stop().await;
    }
}

fn email(subject: &str) -> Value {
    json!({"from": "Acme <hi@acme.test>", "to": "Ada <ada@example.com>", "subject": subject, "text": "It works"})
}
