//! Headless Chromium, driven over WebDriver (Debian: `chromium`, `chromium-driver`).
//!
//! Tests that use it have `#[needs("chromium", "chromedriver")]`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use thirtyfour::prelude::*;
use tokio::time::sleep;

/// Longer than any step takes on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// Chromium and its driver; stopped when dropped.
pub struct Browser {
    driver: WebDriver,
    process: Child,
    port: u16,
}

impl Browser {
    /// Starts both on a free port.
    pub async fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
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
            // Host names that resolve to this machine, as after DNS rebinding.
            "--host-resolver-rules=MAP *.test 127.0.0.1",
        ] {
            capabilities.add_arg(argument).unwrap();
        }
        // Fails only if something has installed one. Thirtyfour's HTTP client brings none along.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let until = Instant::now() + TIMEOUT;
        let driver = loop {
            match WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities.clone()).await {
                Ok(driver) => break driver,
                Err(error) if Instant::now() > until => panic!("no browser: {error}"),
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        Self { driver, process, port }
    }

    /// The commands of WebDriver.
    pub fn driver(&self) -> &WebDriver {
        &self.driver
    }

    /// Ends the session.
    pub async fn stop(self) {
        self.driver.clone().quit().await.unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Killing the driver would leave Chromium running, so the session is ended first, even if a test failed.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let session = self.driver.session_id();
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ =
                write!(stream, "DELETE /session/{session} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", self.port);
            let _ = stream.read(&mut [0; 1024]);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn on_path(name: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is installed"))
}
