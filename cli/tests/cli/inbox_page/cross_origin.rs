//! A page from another origin, in the browser of a user who runs a sandbox.

use idempost_conformance::peer::{Act, Peer};
use idempost_needs::needs;
use serde_json::Value;

use super::{InboxPage, KEY, email};

/// Tries everything that a page can do without interaction, and puts the outcomes into its title.
const ATTACK: &str = "<!doctype html><title>at work</title><body><a id=way href='SANDBOX/_/'>x</a><script>
    const say = (promise) => promise.then((found) => found, (error) => 'refused');
    const read = (path, options) => say(fetch('SANDBOX' + path, options).then((answer) => answer.text()).then((text) => `read ${text.length}`));
    const element = (name, path) => new Promise((done) => {
      const one = document.createElement(name);
      one.onload = () => done('loaded');
      one.onerror = () => done('refused');
      one.src = 'SANDBOX' + path;
      document.body.append(one);
    });
    (async () => {
      const found = {
        fetch: await read('/_/messages?key=sb_local'),
        authorized: await read('/_/messages', { headers: { authorization: 'Bearer sb_local' } }),
        api: await read('/emails', { headers: { authorization: 'Bearer sb_local' } }),
        stream: await new Promise((done) => { const one = new EventSource('SANDBOX/_/stream?key=sb_local'); one.onmessage = one.onopen = () => done('heard'); one.onerror = () => { one.close(); done('refused'); }; }),
        script: await element('script', '/_/assets/app.js'),
        image: await element('img', '/_/assets/icon.svg'),
      };
      // These can't be read, but could have side effects.
      for (const [method, path] of [['POST', '/_/reset?key=sb_local'], ['POST', '/_/faults?key=sb_local'], ['POST', '/_/clock?key=sb_local'], ['GET', '/_/latest.html?key=sb_local']]) {
        await say(fetch('SANDBOX' + path, { method, mode: 'no-cors', body: method === 'POST' ? '{}' : undefined }));
      }
      const frame = document.createElement('iframe');
      frame.src = 'SANDBOX/_/';
      document.body.append(frame);
      await new Promise((done) => { frame.onload = done; });
      try { found.frame = frame.contentDocument ? 'open' : 'closed'; } catch { found.frame = 'closed'; }
      document.title = JSON.stringify(found);
    })();
  </script>";

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_can_neither_read_nor_change_anything() {
    let page = InboxPage::new().await;
    page.send(&email("Secret"));
    let sandbox = page.server.base_url();
    let attack = ATTACK.replace("SANDBOX", &sandbox);
    let attacker = Peer::acting([Act::answer(200, &[("content-type", "text/html")], attack)]).await;
    let port = attacker.address().port();
    for origin in [
        format!("http://evil.test:{port}"),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
    ] {
        page.driver().goto(format!("{origin}/")).await.unwrap();
        page.holds("document.title.startsWith('{')").await;
        let found: Value = serde_json::from_str(&page.driver().title().await.unwrap()).unwrap();
        for (what, outcome) in found.as_object().unwrap() {
            let expected = if what == "frame" { "closed" } else { "refused" };
            assert_eq!(outcome, expected, "{what} from {origin}");
        }
        assert_eq!(page.server.service().mails(KEY).len(), 1, "{origin} did something");
        assert_eq!(page.server.service().faults().pending(), 0);
    }
    // A link to the inbox isn't an attack.
    page.click("#way").await;
    page.waits_for_subjects(&["Secret"]).await;
    page.browser.stop().await;
}
