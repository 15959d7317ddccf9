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

use http::Request;
use idempost_drivers::thirtyfour::prelude::*;
use idempost_drivers::thirtyfour::session::scriptret::ScriptRet;
use idempost_drivers::{Browser, TIMEOUT};
use idempost_reference_server::{ReferenceServer, Service as Core, Settings};
use serde_json::{Value, json};

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
        send(self.server.service(), KEY, email)
    }

    /// Sends an email, and opens it on the page.
    async fn opens(&self, email: &Value) {
        self.send(email);
        self.look().await;
        self.click(".row").await;
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, body)
    }

    /// Sends a request without a socket; returns the response.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        ask(self.server.service(), KEY, method, path, body)
    }

    /// Delays the next list response until `release` is called; `drawn` reports that the page has received it.
    async fn delay_list(&self) {
        self.eval(
            "(() => {
               const real = window.fetch;
               window.fetch = async (path, options) => {
                 const answer = await real(path, options);
                 if (!String(path).includes('/_/messages?')) return answer;
                 window.fetch = real;
                 const body = await answer.text();
                 await new Promise((go) => { window.release = go; });
                 setTimeout(() => requestAnimationFrame(() => { window.drawn = true; }), 100);
                 return new Response(body, answer);
               };
               return true;
             })()",
        )
        .await;
    }

    /// Waits until this expression is true, and returns its value. `found` has the visible elements of a selector.
    async fn wait(&self, expression: &str) -> ScriptRet {
        // The page tries it again by itself: a request of the driver takes longer.
        let script = format!(
            "const done = arguments[0], until = performance.now() + 500;
             const shown = (one) => one.checkVisibility({{ opacityProperty: true, visibilityProperty: true }})
               && [one, ...one.children].some((part) => [...part.getClientRects()].some((box) => box.width > 0 && box.height > 0));
             const found = (css) => [...document.querySelectorAll(css)].filter((one) => shown(one.closest('select') ?? one));
             const attempt = () => {{ try {{ return {expression} || null; }} catch {{ return null; }} }};
             (function poll() {{
               const value = attempt();
               if (value !== null || performance.now() > until) done(value); else setTimeout(poll, 10);
             }})();"
        );
        let until = Instant::now() + TIMEOUT;
        loop {
            // It fails if the page is left in the meantime.
            let tried = self.driver().execute_async(script.as_str(), vec![]).await;
            match tried {
                Ok(value) if !value.json().is_null() => return value,
                tried => assert!(Instant::now() < until, "timed out waiting for {expression}: {tried:?}"),
            }
        }
    }

    /// The element, once it exists and is visible.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        self.wait(&format!("found({})[0]", json!(css))).await.element().unwrap()
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
        self.wait(&format!("found({})[0].innerText.trim() === {}", json!(css), json!(text))).await;
    }

    /// Waits until this condition holds on the page. While an element it uses is missing, it doesn't hold.
    async fn holds(&self, condition: &str) {
        self.wait(&format!("({condition}) === true")).await;
    }

    pub(crate) async fn eval(&self, expression: &str) -> Value {
        self.driver().execute(format!("return {expression}"), vec![]).await.unwrap().json().clone()
    }

    /// Waits until the list has these subjects, from the top.
    pub(crate) async fn waits_for_subjects(&self, subjects: &[&str]) {
        self.waits_for_texts(".row .subject", subjects).await;
    }

    /// Waits until exactly these texts are in the elements of a selector, from the top.
    async fn waits_for_texts(&self, css: &str, texts: &[&str]) {
        let (css, wanted) = (json!(css), json!(json!(texts).to_string()));
        let found = format!("[...document.querySelectorAll({css})].map((one) => one.textContent)");
        self.holds(&format!("JSON.stringify({found}) === {wanted}")).await;
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

/// Sends a request with this key to a service without a socket; returns the response.
fn ask(service: &Core, key: &str, method: &str, path: &str, body: &Value) -> Value {
    let request = Request::builder().method(method).uri(path);
    let request =
        request.header("authorization", format!("Bearer {key}")).header("content-type", "application/json");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    serde_json::from_slice(service.handle(request.body(body.into()).unwrap()).body()).unwrap()
}

/// Sends an email in the same way; returns its ID.
fn send(service: &Core, key: &str, email: &Value) -> String {
    let answer = ask(service, key, "POST", "/emails", email);
    answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn email(subject: &str) -> Value {
    json!({"from": "Acme <hi@acme.test>", "to": "Ada <ada@example.com>", "subject": subject, "text": "It works"})
}
