//! The metrics of the page: totals, and a chart that the keyboard can read.

use idempost_needs::needs;
use serde_json::json;

use super::{InboxPage, email};

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_follow_what_happens_and_the_keyboard_reads_the_chart() {
    let page = InboxPage::new().await;
    page.look().await;
    page.click("nav [data-view=metrics]").await;
    page.says(".row[data-id=sent] b", "0").await;
    let mut other = email("Second");
    other["from"] = "a@other.test".into();
    page.send(&email("First"));
    page.send(&other);
    // Live, without a reload.
    page.says(".row[data-id=sent] b", "2").await;
    page.says(".metrics .total", "2").await;
    page.holds("document.querySelectorAll('.chart .point').length === 7").await;
    page.holds("[...document.querySelectorAll('.figures')][0].textContent.includes('other.test')").await;

    // A name is text, never markup.
    let segment = page.post("/segments", &json!({"name": "s"}))["id"].clone();
    page.post("/contacts", &json!({"email": "ada@example.com", "segments": [{"id": segment}]}));
    let hostile = "<img src=x onerror=alert(1)>";
    let broadcast = json!({"segment_id": segment, "from": "a@b.test", "subject": "s", "text": "x", "name": hostile, "send": true});
    page.post("/broadcasts", &broadcast);
    page.says(".metrics .total", "3").await;
    page.holds(&format!("[...document.querySelectorAll('.figures')][1].textContent.includes({hostile:?})"))
        .await;
    assert_eq!(page.eval("document.querySelectorAll('.metrics img').length").await, json!(0));

    // One bar is in the tab order; arrow keys move from there.
    assert_eq!(page.eval("document.querySelectorAll('.point[tabindex=\"0\"]').length").await, json!(1));
    let key = |key: &str| {
        format!(
            "(document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }})), true)"
        )
    };
    page.eval("(document.querySelector('.point[tabindex=\"0\"]').focus(), true)").await;
    page.holds("document.querySelector('.readout').textContent.endsWith(': 3')").await;
    page.eval(&key("ArrowLeft")).await;
    page.holds("document.querySelector('.readout').textContent.endsWith(': 0')").await;
    page.eval(&key("Home")).await;
    page.holds("document.activeElement.dataset.at === '0'").await;

    // Another metric, another range.
    page.click(".row[data-id=delivery_rate]").await;
    page.says(".metrics h1", "Delivery rate").await;
    page.eval("(document.querySelector('select').value = 'year', document.querySelector('select').dispatchEvent(new Event('change')), true)").await;
    page.holds("document.querySelectorAll('.chart .point').length === 12").await;
    page.holds(
        "document.querySelector('.chart').getAttribute('aria-label').startsWith('Delivery rate by month')",
    )
    .await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_has_complete_periods_fits_a_phone_and_keeps_what_is_open_over_live_updates() {
    let page = InboxPage::new().await;
    let emails = [0; 3].map(|_| page.send(&email("Early")));
    page.post("/_/clock", &json!({"advance": "24h"}));
    page.send(&email("Late"));
    page.post("/_/clock", &json!({"advance": "10s"}));
    for id in &emails {
        page.post(&format!("/_/messages/{id}/events"), &json!({"type": "opened"}));
    }
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true});
    page.command("Emulation.setDeviceMetricsOverride", phone).await;
    page.look().await;
    page.click("nav [data-view=metrics]").await;
    page.click(".row[data-id=open_rate]").await;
    // Three emails were opened on the day after their delivery, and one was delivered on it.
    page.holds(
        "document.querySelector('.point:last-child').getAttribute('aria-label').endsWith(': 300.0 %')",
    )
    .await;
    page.holds("[...document.querySelectorAll('.filled')].every((bar) => bar.getAttribute('y') >= 0)").await;
    page.holds("document.querySelector('.tick').getBoundingClientRect().height >= 10").await;
    page.holds("document.documentElement.scrollWidth <= innerWidth").await;

    page.eval("(document.querySelector('summary').focus(), document.querySelector('summary').click(), true)")
        .await;
    page.post(&format!("/_/messages/{}/events", emails[0]), &json!({"type": "clicked"}));
    page.send(&email("Live"));
    page.post("/_/clock", &json!({"advance": "10s"}));
    page.holds(
        "document.querySelector('.point:last-child').getAttribute('aria-label').endsWith(': 150.0 %')",
    )
    .await;
    page.holds(
        "document.querySelector('.metrics details').open && document.activeElement.tagName === 'SUMMARY'",
    )
    .await;

    for (range, bars) in [("day", 24), ("week", 7), ("month", 30), ("year", 12)] {
        page.eval(&format!("(document.querySelector('select').value = '{range}', document.querySelector('select').dispatchEvent(new Event('change')), true)")).await;
        page.holds(&format!("document.querySelectorAll('.chart .point').length === {bars}")).await;
    }
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_loads_after_the_view_was_left_does_not_replace_the_metrics() {
    let page = InboxPage::new().await;
    page.send(&email("First"));
    page.look().await;
    page.click("nav [data-view=templates]").await;
    page.delay_list().await;
    page.eval("(location.hash = '#/sent', true)").await;
    page.holds("window.release !== undefined").await;
    page.click("nav [data-view=metrics]").await;
    page.holds("document.querySelectorAll('.chart .point').length === 7").await;
    page.eval("(window.release(), true)").await;
    page.holds("window.drawn").await;
    assert_eq!(page.eval("document.querySelector('#detail .chart') !== null").await, true);
    page.end().await;
}
