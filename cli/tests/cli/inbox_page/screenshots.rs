//! The screenshots of the inbox in the documentation. Regenerate them with
//! `cargo test -p posthaste-cli --test cli -- --ignored inbox_page::screenshots`.

use std::path::PathBuf;

use posthaste_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::InboxPage;

/// Mails of a typical shop.
const MAILS: &str = include_str!("mails.json");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes tests/reference-server/docs/inbox-*.png"]
async fn the_screenshots_in_the_documentation_are_regenerated() {
    let morning = "2026-03-02T09:14:00Z".parse().unwrap();
    let page = InboxPage::with(Settings {
        clock: ClockStart::Running(morning),
        seed: Some(7),
        ..Settings::default()
    })
    .await;
    page.post("/webhooks", &json!({"endpoint": "http://127.0.0.1:9/hooks", "events": ["email.bounced"]}));
    for mail in serde_json::from_str::<Vec<Value>>(MAILS).unwrap() {
        page.server.service().clock().advance(Duration::from_secs(mail["after"].as_u64().unwrap()));
        page.send(&mail["email"]);
    }
    page.server.service().clock().advance(Duration::from_secs(100));
    for (name, dark, width, height, phone) in [
        ("light", false, 1280, 800, false),
        ("dark", true, 1280, 800, false),
        ("phone", false, 390, 800, true),
    ] {
        let scheme = if dark { "dark" } else { "light" };
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        page.command("Emulation.setDeviceMetricsOverride", metrics).await;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        page.command("Emulation.setEmulatedMedia", media).await;
        page.command("Emulation.setScrollbarsHidden", json!({"hidden": true})).await;
        page.look().await;
        if !phone {
            page.click(".row").await;
            page.find(".stage iframe").await;
        }
        // Until everything is drawn.
        sleep(Duration::from_millis(800)).await;
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/reference-server/docs");
        std::fs::create_dir_all(&folder).unwrap();
        let picture = page.driver().screenshot_as_png().await.unwrap();
        assert!(picture.len() < 250_000, "{name} has {} bytes", picture.len());
        std::fs::write(folder.join(format!("inbox-{name}.png")), picture).unwrap();
    }
    page.end().await;
}
