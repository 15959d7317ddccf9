//! Several tabs of one browser.

use idempost_drivers::thirtyfour::WindowHandle;
use idempost_needs::needs;
use serde_json::{Value, json};

use super::{InboxPage, WATCH, email};

/// Counts the open event streams of a page, and lets the test decide when ten seconds are over and whether the page is hidden.
const COUNT: &str = "
    window.streams = 0;
    window.EventSource = class extends EventSource {
      constructor(...all) { super(...all); window.streams += 1; }
      close() { if (this.readyState !== 2) window.streams -= 1; super.close(); }
    };
    let later = null;
    const [start, clear] = [window.setTimeout, window.clearTimeout];
    window.setTimeout = (act, after, ...more) => (after === 10_000 ? (later = act) : start(act, after, ...more));
    window.clearTimeout = (timer) => (timer === later ? (later = null) : clear(timer));
    let hidden = false;
    Object.defineProperty(document, 'hidden', { get: () => hidden });
    window.hide = (value) => {
      hidden = value;
      document.dispatchEvent(new Event('visibilitychange'));
      later?.();
      return true;
    };";

/// More tabs than a browser opens connections to a server.
const TABS: usize = 8;

impl InboxPage {
    /// Opens the inbox in this many tabs.
    async fn tabs(&self) -> Vec<WindowHandle> {
        let mut tabs = vec![self.driver().window().await.unwrap()];
        while tabs.len() < TABS {
            tabs.push(self.driver().new_tab().await.unwrap());
        }
        for tab in &tabs {
            self.driver().switch_to_window(tab.clone()).await.unwrap();
            self.command(
                "Page.addScriptToEvaluateOnNewDocument",
                json!({"source": format!("{WATCH}{COUNT}")}),
            )
            .await;
            self.look().await;
        }
        tabs
    }

    /// Evaluates an expression in each tab.
    async fn of_each(&self, tabs: &[WindowHandle], expression: &str) -> Vec<Value> {
        let mut found = Vec::new();
        for tab in tabs {
            self.driver().switch_to_window(tab.clone()).await.unwrap();
            found.push(self.eval(expression).await);
        }
        found
    }

    /// Waits until each tab lists this email.
    async fn each_shows(&self, tabs: &[WindowHandle], subject: &str) {
        for tab in tabs {
            self.driver().switch_to_window(tab.clone()).await.unwrap();
            self.says(".row .subject", subject).await;
        }
    }
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_tabs_share_one_stream_and_a_hidden_one_leaves_it() {
    let page = InboxPage::new().await;
    let tabs = page.tabs().await;
    page.send(&email("To all"));
    page.each_shows(&tabs, "To all").await;
    let streams = page.of_each(&tabs, "window.streams").await;
    assert_eq!(streams.iter().filter_map(Value::as_u64).sum::<u64>(), 1, "{streams:?}");

    // The tab with the stream is hidden: another one takes over, and the hidden one still follows.
    let first = streams.iter().position(|open| *open == 1).unwrap();
    page.driver().switch_to_window(tabs[first].clone()).await.unwrap();
    page.eval("window.hide(true)").await;
    page.holds("window.streams === 0").await;
    page.send(&email("After the first"));
    page.each_shows(&tabs, "After the first").await;
    let streams = page.of_each(&tabs, "window.streams").await;
    assert_eq!(streams.iter().filter_map(Value::as_u64).sum::<u64>(), 1, "{streams:?}");
    assert_eq!(streams[first], 0);

    // All are hidden, so no connection is left. The tab that is shown first catches up.
    page.of_each(&tabs, "window.hide(true)").await;
    let streams = page.of_each(&tabs, "window.streams").await;
    assert_eq!(streams.iter().filter_map(Value::as_u64).sum::<u64>(), 0, "{streams:?}");
    page.send(&email("Unseen"));
    page.eval("window.hide(false)").await;
    page.says(".row .subject", "Unseen").await;
    let wrong = page.of_each(&tabs, "window.wrong").await;
    assert_eq!(wrong, vec![json!([]); TABS]);
    page.browser.stop().await;
}
