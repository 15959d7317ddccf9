//! Headless Chromium, driven over WebDriver (Debian: `chromium`, `chromium-driver`).
//!
//! Tests that use it have `#[needs("chromium", "chromedriver")]`.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;
use thirtyfour::prelude::*;
use tokio::time::sleep;

/// Longer than any step takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// The browsers that tests have stopped using. A start takes longer than most tests, so the next one continues with one of these.
static IDLE: Mutex<Vec<Session>> = Mutex::new(Vec::new());

/// Ends the driver, and with it Chromium, when this process closes the pipe or exits, and removes their files.
const UNTIL_CLOSED: &str = "trap : HUP INT TERM
    TMPDIR=$(mktemp -d); export TMPDIR
    chromedriver --port=$1 &
    read -r _; kill $!; wait $!
    until rm -r \"$TMPDIR\"; do sleep 0.1; done";

/// Chromium with its driver.
struct Session {
    driver: WebDriver,
    process: Child,
}

/// Chromium, with nothing stored, in a window that no other test has used.
pub struct Browser {
    session: Option<Session>,
}

impl Browser {
    /// Takes an idle browser, or starts one with its driver on a free port.
    pub async fn start() -> Self {
        let idle = IDLE.lock().unwrap().pop();
        let session = match idle {
            Some(session) => {
                session.reset().await;
                session
            }
            None => Session::start().await,
        };
        Self { session: Some(session) }
    }

    /// The commands of WebDriver.
    pub fn driver(&self) -> &WebDriver {
        &self.session.as_ref().unwrap().driver
    }

    /// Leaves the browser to the next test. Dropped instead, as when a test fails, it is ended.
    pub async fn stop(mut self) {
        self.driver().goto("about:blank").await.unwrap();
        IDLE.lock().unwrap().extend(self.session.take());
    }
}

impl Session {
    async fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("sh")
            .args(["-c", UNTIL_CLOSED, "sh", &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut capabilities = DesiredCapabilities::chrome();
        capabilities.set_binary(on_path("chromium").to_str().unwrap()).unwrap();
        for argument in [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            // Without its driver, it ends.
            "--remote-debugging-pipe",
            // Host names that resolve to this machine, as after DNS rebinding.
            "--host-resolver-rules=MAP *.test 127.0.0.1",
        ] {
            capabilities.add_arg(argument).unwrap();
        }
        // Fails only if something has installed one. Thirtyfour's HTTP client brings none along.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let until = Instant::now() + TIMEOUT;
        let driver = loop {
            // A connection belongs to the runtime of a test, so none is kept for the next one.
            let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(2 * TIMEOUT);
            let builder = WebDriver::builder(format!("http://127.0.0.1:{port}"), capabilities.clone());
            match builder.client(client.build().unwrap()).await {
                Ok(driver) => break driver,
                Err(error) if Instant::now() > until => panic!("no browser: {error}"),
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        };
        Self { driver, process }
    }

    /// Replaces all windows, with their scripts and settings, by a new one, and deletes what pages have stored.
    async fn reset(&self) {
        let old = self.driver.windows().await.unwrap();
        let new = self.driver.new_window().await.unwrap();
        for window in old {
            self.driver.switch_to_window(window).await.unwrap();
            self.driver.close_window().await.unwrap();
        }
        self.driver.switch_to_window(new).await.unwrap();
        let everything = json!({"origin": "*", "storageTypes": "all"});
        for (command, parameters) in [
            ("Storage.clearDataForOrigin", everything),
            ("Network.clearBrowserCookies", json!({})),
            ("Network.clearBrowserCache", json!({})),
            ("Page.bringToFront", json!({})),
        ] {
            self.driver.cdp().send_raw(command, parameters).await.unwrap();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn on_path(name: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is installed"))
}
