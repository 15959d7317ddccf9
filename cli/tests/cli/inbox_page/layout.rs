//! The layout of the page at every width, with the fonts of common systems.

use idempost_needs::needs;
use serde_json::json;

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
        for width in WIDTHS {
            self.resize(width).await;
            let arguments = vec![json!(width), json!(["Noto Sans", "DejaVu Sans"])];
            let broken = self.driver().execute_async(include_str!("labels.js"), arguments).await.unwrap();
            assert_eq!(*broken.json(), json!([]), "{state}, {width} px");
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

    // A single unread email.
    page.send(&email("One"));
    page.find(".row").await;
    page.has_whole_labels("one unread mail").await;

    let mut later = email("Later");
    later["scheduled_at"] = "in 2 days".into();
    page.send(&later);
    // The page doesn't have to show each of them as it arrives.
    page.driver().goto("about:blank").await.unwrap();
    for number in 0..1_200 {
        page.send(&email(&format!("Mail {number}")));
        let mail = json!({"from": "a@example.com", "to": "b@acme.test", "subject": "In", "text": "x"});
        page.post("/_/received", &mail);
    }
    page.look().await;
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

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_shows_people_subject_first_words_and_marks() {
    let page = InboxPage::new().await;
    page.send(&json!({
        "from": "Acme <hi@acme.test>", "to": ["Ada <ada@example.com>", "bob@example.org"], "subject": "Sign in",
        "text": "Hello Ada,\n\nyour verification code is 482913.", "tags": [{"name": "kind", "value": "code"}],
        "attachments": [{"filename": "terms.txt", "content": "YWJj"}],
    }));
    let mail =
        json!({"from": "eve@example.com", "to": "support@acme.test", "subject": "Help", "text": "It broke"});
    page.post("/_/received", &mail);
    page.look().await;
    let shown = "[...document.querySelectorAll('.row .who, .row .subject, .row .code bdi, .row .words, .row .labels')].map((one) => one.textContent).join('|')";
    page.holds(&format!(
        "{shown} === 'unread, Ada +1 from Acme|Sign in|482913|Hello Ada, your verification code is 482913.|kind=code'"
    ))
    .await;
    page.holds("document.querySelector('.row .marks [title=\"1 attachment\"]') !== null").await;
    let height = "document.querySelector('.row').getBoundingClientRect().height";
    let comfortable = page.eval(height).await.as_f64().unwrap();

    // The choice is kept.
    page.click("[data-act=density]").await;
    page.find("[data-act=density][aria-pressed=true]").await;
    page.look().await;
    page.find(".row").await;
    let compact = page.eval(height).await.as_f64().unwrap();
    assert!(compact < comfortable * 0.7, "{compact} px instead of {comfortable} px");
    page.find(".row .words").await;
    page.click(".tray[data-tray=received]").await;
    page.holds(&format!("{shown} === 'unread, eve@example.com to support@acme.test|Help|It broke'")).await;
    page.end().await;
}

/// The elements of the open email that scroll vertically.
const SCROLLING: &str = "[...document.querySelectorAll('#detail, #detail *')]
    .filter((one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY)).length";

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_starts_in_the_upper_third_and_has_one_scrollbar() {
    let page = InboxPage::new().await;
    let mut mail = email("A long mail");
    mail["to"] = json!((0..40).map(|number| format!("person{number}@example.com")).collect::<Vec<_>>());
    mail["html"] = "<p>Lorem</p>".repeat(300).into();
    mail["text"] = "Lorem\n".repeat(300).into();
    page.opens(&mail).await;
    let top = "document.querySelector('.stage').getBoundingClientRect().top / innerHeight";
    page.find(".stage iframe").await;
    let starts = page.eval(top).await.as_f64().unwrap();
    assert!(starts < 0.34, "the mail starts at {starts} of the height");
    // Only its frame scrolls.
    assert_eq!(page.eval(SCROLLING).await, 0);
    for tab in ["text", "source"] {
        page.click(&format!(".tab[data-tab={tab}]")).await;
        page.holds(&format!("{SCROLLING} === 1")).await;
    }

    // The addresses open on a click.
    page.holds("!document.querySelector('.people .meta').checkVisibility()").await;
    page.click(".people summary").await;
    page.find(".people .meta dd").await;
    page.click(".people summary").await;

    // At full height, the email fills the window.
    page.click(".tab[data-tab=html]").await;
    page.keys(['f']).await;
    page.find("[data-act=full][aria-pressed=true]").await;
    let starts = page.eval(top).await.as_f64().unwrap();
    assert!(starts < 0.15, "in full height the mail starts at {starts} of the height");
    page.holds("!document.getElementById('list').checkVisibility()").await;
    page.keys(['\u{E00C}']).await;
    page.find(".row").await;
    page.find(".mail h1").await;
    page.end().await;
}
