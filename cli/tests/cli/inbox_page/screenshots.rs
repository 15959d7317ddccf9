//! The screenshots of the inbox in the documentation, and others for inspection. Regenerate them with `cargo test -p idempost-cli --test cli --
//! --ignored regenerated`; the others are made by `--ignored inbox_page::screenshots`.

use std::path::Path;

use idempost_reference_server::{ClockStart, Settings};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use super::preview::ImageServer;
use super::{InboxPage, KEY};

/// Emails of a typical shop.
const MAILS: &str = include_str!("mails.json");

/// An email with a layout for phones, dark styles, and a remote image in place of `IMAGE`.
const RESPONSIVE: &str = include_str!("responsive.html");

/// A page with these emails.
async fn shop(server: &ImageServer) -> InboxPage {
    let morning = "2026-03-02T09:14:00Z".parse().unwrap();
    let page = InboxPage::with(Settings {
        clock: ClockStart::Running(morning),
        seed: Some(7),
        remote_servers: vec![server.address()],
        ..Settings::default()
    })
    .await;
    page.post("/webhooks", &json!({"endpoint": "http://127.0.0.1:9/hooks", "events": ["email.bounced"]}));
    for mail in serde_json::from_str::<Vec<Value>>(MAILS).unwrap() {
        page.server.service().clock().advance(Duration::from_secs(mail["after"].as_u64().unwrap()));
        page.send(&mail["email"]);
    }
    page.server.service().clock().advance(Duration::from_secs(100));
    page
}

/// Sends, schedules and receives kinds of emails that a shop doesn't have.
fn every_kind(page: &InboxPage) {
    let send = |mut change: Value| {
        let mut mail =
            json!({"from": "Acme <hi@acme.test>", "to": "Ada <ada@example.com>", "text": "It works"});
        mail.as_object_mut().unwrap().append(change.as_object_mut().unwrap());
        page.send(&mail)
    };
    send(json!({"subject": "Your sign-in code", "text": "Hello Ada,\n\nyour verification code is 482913."}));
    send(json!({"subject": "", "text": "No subject"}));
    send(json!({"subject": "Unbroken".repeat(30), "text": "unbroken".repeat(60)}));
    send(json!({"subject": "שלום עולם — مرحبا بالعالم", "html": "<p dir=rtl>שלום עולם</p>"}));
    send(
        json!({"subject": "To many", "to": (0..40).map(|number| format!("person{number}@example.com")).collect::<Vec<_>>()}),
    );
    send(json!({"subject": "Bounced", "to": "bounced@example.com"}));
    send(json!({"subject": "Later", "scheduled_at": "in 2 days"}));
    let canceled = send(json!({"subject": "Canceled", "scheduled_at": "in 2 days"}));
    page.post(&format!("/emails/{canceled}/cancel"), &json!({}));
    for (subject, checks) in
        [("Help", "spf=pass&dkim=pass&dmarc=pass"), ("Forged", "spf=fail&dkim=fail&dmarc=fail")]
    {
        let mail = json!({"from": "Eve <eve@example.com>", "to": "support@acme.test", "subject": subject, "text": "It broke again."});
        page.post(&format!("/_/received?{checks}"), &mail);
    }
}

impl InboxPage {
    /// Opens the page in a window of this size.
    async fn look_at_size(&self, scheme: &str, width: u32, height: u32, phone: bool) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone});
        self.command("Emulation.setDeviceMetricsOverride", metrics).await;
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        self.command("Emulation.setEmulatedMedia", media).await;
        self.command("Emulation.setScrollbarsHidden", json!({"hidden": true})).await;
        self.look().await;
    }

    async fn save(&self, folder: &Path, name: &str) {
        // Until everything is drawn.
        sleep(Duration::from_millis(800)).await;
        std::fs::create_dir_all(folder).unwrap();
        let picture = self.driver().screenshot_as_png().await.unwrap();
        assert!(picture.len() < 250_000, "{name} has {} bytes", picture.len());
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes docs/assets/inbox-*.png"]
async fn the_screenshots_in_the_documentation_are_regenerated() {
    let page = shop(&ImageServer::start().await).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/assets");
    for (name, scheme, width, phone) in
        [("light", "light", 1280, false), ("dark", "dark", 1280, false), ("phone", "light", 390, true)]
    {
        page.look_at_size(scheme, width, 800, phone).await;
        if !phone {
            page.click(".row").await;
            page.find(".stage iframe").await;
        }
        page.save(&folder, &format!("inbox-{name}")).await;
    }
    page.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes target/tmp/inbox/*.png, to look at"]
async fn every_view_is_drawn_in_all_widths_in_light_and_dark() {
    let server = ImageServer::start().await;
    let page = shop(&server).await;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inbox");
    every_kind(&page);
    let html = RESPONSIVE.replace("IMAGE", &server.url("/picture.png"));
    let mail = page.send(&json!({"from": "Acme <hello@acme.test>", "to": "Ada <ada@example.com>", "subject": "Spring collection", "html": html}));
    for (width, scheme) in
        [320, 390, 768, 1280, 1920].into_iter().flat_map(|width| [(width, "light"), (width, "dark")])
    {
        let name = format!("{width}-{scheme}");
        for view in ["sent", "unsent", "received", "templates", "requests", "metrics"] {
            page.look_at_size(scheme, width, 900, width < 768).await;
            page.eval(&format!("(location.hash = '#/{view}', true)")).await;
            page.save(&folder, &format!("{name}-{view}")).await;
        }
        let tabs = page.server.service().mails(KEY);
        let id = &tabs.iter().find(|found| found.email_id == mail).unwrap().id;
        page.eval(&format!("(location.hash = '#/sent/{id}', true)")).await;
        page.find(".tab").await;
        let tabs = page.eval("[...document.querySelectorAll('.tab')].map((tab) => tab.dataset.tab)").await;
        for tab in tabs.as_array().unwrap().iter().filter_map(Value::as_str) {
            page.click(&format!(".tab[data-tab={tab}]")).await;
            page.save(&folder, &format!("{name}-tab-{tab}")).await;
            if tab == "check" {
                page.click("[data-act=links]").await;
                page.click(".requested summary").await;
                page.save(&folder, &format!("{name}-requested-links")).await;
            }
        }
    }
    // One email in three widths and three modes.
    page.look_at_size("light", 1280, 1100, false).await;
    page.click(".row").await;
    page.click(".tab[data-tab=html]").await;
    page.click("[data-act=images]").await;
    page.holds("document.querySelector('.remote')?.textContent.includes('1 of 1 remote image loaded')").await;
    for width in ["320", "600", "1024"] {
        for colors in ["light", "dark", "inverted"] {
            page.click(&format!("[data-width='{width}']")).await;
            page.click(&format!("[data-colors={colors}]")).await;
            page.save(&folder, &format!("mail-{width}-{colors}")).await;
        }
    }
    page.end().await;
}
