//! The sandbox behind reverse proxies under a path, with the configurations of `docs/sandbox.md`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use idempost_drivers::TIMEOUT;
use idempost_needs::needs;
use idempost_reference_server::Settings;
use serde_json::json;
use tokio::time::sleep;

use crate::browser::log_in;
use crate::inbox_page::InboxPage;
use crate::support::{Idempost, free_port};

const GUIDE: &str = include_str!("../../../docs/sandbox.md");

/// The configuration in the guide's code block of this language, for these ports.
fn configuration(language: &str, port: u16, sandbox: u16) -> String {
    let (_, rest) =
        GUIDE.split_once(&format!("\n```{language}\n")).expect("the guide has this configuration");
    let (text, _) = rest.split_once("\n```").unwrap();
    assert!(text.contains("8080") && text.contains("127.0.0.1:4010") && text.contains("/box"), "{text}");
    text.replace("8080", &port.to_string()).replace("4010", &sandbox.to_string()) + "\n"
}

/// A running proxy, stopped when dropped.
struct Proxy(Child);

impl Proxy {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Uses page, API and login through a proxy, which `start` starts for a folder, its own port and the sandbox's.
async fn behind(start: impl FnOnce(&Path, u16, u16) -> Proxy) {
    let port = free_port();
    let base = format!("http://localhost:{port}/box");
    let page = InboxPage::with(Settings { public_url: Some(base.clone()), ..Settings::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let sandbox: u16 = page.server.base_url().rsplit_once(':').unwrap().1.parse().unwrap();
    let _proxy = start(folder.path(), port, sandbox);
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", &base);
    let until = Instant::now() + TIMEOUT;
    while idempost.run(&["sandbox", "wait", "--timeout", "1s"]).code != Some(0) {
        assert!(Instant::now() < until, "the proxy doesn't start");
        sleep(Duration::from_millis(50)).await;
    }

    // A login: metadata, the consent page with its form and cookie, and the token.
    let login = log_in(&idempost, &page.browser, "allow").await;
    assert_eq!(login.status.code(), Some(0), "{}", String::from_utf8_lossy(&login.stderr));
    assert_eq!(page.server.service().token_events().len(), 1);

    // The page, without the trailing slash. Its stream isn't buffered.
    page.driver().goto(format!("{base}/_")).await.unwrap();
    page.find("#live[data-state=on]").await;
    assert_eq!(page.eval("location.href").await, json!(format!("{base}/_/")));
    let mail = json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Behind", "html": "<p>It works</p>"});
    let input = folder.path().join("mail.json");
    std::fs::write(&input, mail.to_string()).unwrap();
    idempost.run(&["emails", "send", "--yes", "--input", input.to_str().unwrap()]).ok();
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
        Proxy::start(Command::new("nginx").arg("-p").arg(folder).arg("-e").arg("stderr").arg("-c").arg(file))
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
        Proxy::start(Command::new("haproxy").arg("-db").arg("-f").arg(file))
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
        Proxy::start(
            caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(file).stderr(Stdio::null()),
        )
    })
    .await;
}
