//! The layout of the page in every width, with the fonts of common systems.

use idempost_needs::needs;
use serde_json::{Value, json};

use super::{InboxPage, email};

/// From the smallest phone to a large screen, with the widths on both sides of each breakpoint.
const WIDTHS: [u32; 13] = [320, 360, 390, 480, 481, 640, 768, 832, 833, 1024, 1152, 1280, 1920];

impl InboxPage {
    async fn resize(&self, width: u32) {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 800});
        self.command("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Fails if a label of this view breaks in any width or font.
    async fn has_whole_labels(&self, state: &str) {
        for font in ["Noto Sans", "DejaVu Sans"] {
            self.eval(&format!("(document.body.style.fontFamily = {}, true)", json!(format!("'{font}'"))))
                .await;
            for width in WIDTHS {
                self.resize(width).await;
                let broken =
                    self.driver().execute(include_str!("labels.js"), vec![]).await.unwrap().json().clone();
                let view = self.eval("location.hash").await;
                assert_eq!(broken, json!([]), "{state}, {view}, {font}, {width} px");
            }
        }
    }

    async fn open(&self, hash: &str, shown: &str) {
        self.resize(1280).await;
        self.eval(&format!("(location.hash = '{hash}', true)")).await;
        self.find(shown).await;
    }
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_label_breaks_from_320_to_1920_pixels() {
    let page = InboxPage::new().await;
    page.look().await;
    page.has_whole_labels("empty").await;

    // A single unread mail.
    page.send(&email("One"));
    page.find(".row").await;
    page.has_whole_labels("one unread mail").await;

    let mut later = email("Later");
    later["scheduled_at"] = "in 2 days".into();
    page.send(&later);
    for number in 0..1_200 {
        page.send(&email(&format!("Mail {number}")));
        let mail = json!({"from": "a@example.com", "to": "b@acme.test", "subject": "In", "text": "x"});
        page.post("/_/received", &mail);
    }
    page.says(".tray[data-tray=unsent] .count", "1").await;
    page.says(".tray[data-tray=received] .count", "1,200").await;
    page.has_whole_labels("sent, unsent and received").await;
    page.eval("(document.querySelector('.rows .pick').click(), true)").await;
    page.find("[data-bulk=unread]").await;
    page.has_whole_labels("one selected").await;

    for (hash, shown) in [
        ("#/unsent", "#list .row .event"),
        ("#/received", "#list .row"),
        ("#/requests", "#list .row .method"),
        ("#/metrics", "#list .metric"),
        ("#/templates", "#list input"),
    ] {
        page.open(hash, shown).await;
        page.has_whole_labels("views").await;
    }
    page.open("#/sent", "#list .row .event").await;
    page.click("#list .row").await;
    page.find(".tab[data-tab=timeline]").await;
    for tab in ["text", "source", "headers", "check", "request", "timeline"] {
        page.resize(1280).await;
        page.click(&format!(".tab[data-tab={tab}]")).await;
        page.holds(&format!("document.querySelector('.panel[data-tab={tab}]').textContent !== ''")).await;
        page.has_whole_labels("an open mail").await;
    }
    page.end().await;
}
