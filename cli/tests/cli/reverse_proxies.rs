//! The sandbox behind reverse proxies under a path, with the configurations of `docs/sandbox.md`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use idempost_drivers::TIMEOUT;
use idempost_needs::needs;
use idempost_reference_server::Settings;
use serde_json::json;
use tokio::time::sleep;

use crate::browser::log_in;
use crate::inbox_page::InboxPage;
use crate::support::{Idempost, Running, free_port};

const GUIDE: &str = include_str!("../../../docs/sandbox.md");

/// The configuration in the guide's code block of this language, for these ports.
fn configuration(language: &str, port: u16, sandbox: u16) -> String {
    let (_, rest) =
        GUIDE.split_once(&format!("\n```{language}\n")).expect("the guide has this configuration");
    let (text, _) = rest.split_once("\n```").unwrap();
    assert!(text.contains("8080") && text.contains("127.0.0.1:4010") && text.contains("/box"), "{text}");
    text.replace("8080", &port.to_string()).replace("4010", &sandbox.to_string()) + "\n"
}

/// Uses page, API and login through a proxy. Its command is for a folder, its own port and the sandbox's.
async fn behind(proxy: impl FnOnce(&Path, u16, u16) -> Command) {
    let port = free_port();
    let base = format!("http://localhost:{port}/box");
    let page = InboxPage::with(Settings { public_url: Some(base.clone()), ..Settings::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let sandbox: u16 = page.server.base_url().rsplit_once(':').unwrap().1.parse().unwrap();
    let mut proxy = proxy(folder.path(), port, sandbox);
    let _proxy = Running(proxy.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", &base);
    let until = Instant::now() + TIMEOUT;
    while idempost.run(&["sandbox", "wait", "--timeout", "1s"]).code != Some(0) {
        assert!(Instant::now() < until, "the proxy doesn't start");
        sleep(Duration::from_millis(50)).await;
    }

    // A login: metadata, the consent page with its form and cookie, and the token.
    log_in(&idempost, &page.browser, "allow").await.ok();
    assert_eq!(page.server.service().token_events().len(), 1);

    // The page, without the trailing slash. Its stream isn't buffered.
    page.driver().goto(format!("{base}/_")).await.unwrap();
    page.find("#live[data-state=on]").await;
    assert_eq!(page.eval("location.href").await, json!(format!("{base}/_/")));
    let mail = json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Behind", "html": "<p>It works</p>"});
    idempost.run_with("emails send --yes --input -", &mail.to_string()).ok();
    page.waits_for_subjects(&["Behind"]).await;
    page.click(".row").await;
    page.find(".stage iframe").await;
    let loaded = page
        .eval("performance.getEntriesByType('resource').map((one) => one.name).concat([...document.querySelectorAll('[src], a[download]')].map((one) => one.src ?? one.href))")
        .await;
    let loaded: Vec<_> = loaded.as_array().unwrap().iter().map(|url| url.as_str().unwrap()).collect();
    assert!(loaded.len() > 30, "{loaded:?}");
    let outside: Vec<_> = loaded.iter().filter(|url| !url.starts_with(&format!("{base}/"))).collect();
    assert!(outside.is_empty(), "{outside:?}");
    assert_eq!(page.eval("window.wrong").await, json!([]));
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver", "nginx")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_api_and_login_work_behind_nginx_under_a_path() {
    behind(|folder, port, sandbox| {
        let here = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {here}/{kind}; "))
            .concat();
        // It even compresses event streams.
        let text = format!(
            "daemon off; master_process off; pid {here}/pid; error_log stderr; events {{}}\n\
             http {{ access_log off; {temporary} gzip on; gzip_min_length 0; gzip_types text/event-stream application/json;\n{}}}\n",
            configuration("nginx", port, sandbox)
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, text).unwrap();
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(folder).args(["-e", "stderr", "-c"]).arg(file);
        nginx
    })
    .await;
}

#[needs("chromium", "chromedriver", "haproxy")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_api_and_login_work_behind_haproxy_under_a_path() {
    behind(|folder, port, sandbox| {
        let text = format!(
            "defaults\n    compression algo gzip\n    compression type text/event-stream application/json\n\n{}",
            configuration("haproxy", port, sandbox)
        );
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, text).unwrap();
        let mut haproxy = Command::new("haproxy");
        haproxy.args(["-db", "-f"]).arg(file);
        haproxy
    })
    .await;
}

#[needs("chromium", "chromedriver", "caddy")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_api_and_login_work_behind_caddy_under_a_path() {
    behind(|folder, port, sandbox| {
        let text = configuration("caddyfile", port, sandbox).replacen("{\n", "{\n    encode gzip\n", 1);
        let file = folder.join("Caddyfile");
        std::fs::write(&file, format!("{{\n    admin off\n}}\n{text}")).unwrap();
        let mut caddy = Command::new("caddy");
        caddy.env("HOME", folder).env("XDG_DATA_HOME", folder).env("XDG_CONFIG_HOME", folder);
        caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(file).stderr(Stdio::null());
        caddy
    })
    .await;
}
