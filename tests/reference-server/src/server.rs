//! A running server for tests.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::mount;
use crate::service::Service;
use crate::settings::Settings;

/// A service behind a socket on 127.0.0.1, which stops when dropped.
pub struct ReferenceServer {
    service: Arc<Service>,
    base_url: String,
    _door: ServerKind,
}

enum ServerKind {
    #[cfg(feature = "wiremock")]
    Wiremock(#[expect(dead_code, reason = "kept because it stops when dropped")] wiremock::MockServer),
    Http(
        #[expect(dead_code, reason = "kept because the server stops when it is dropped")] oneshot::Sender<()>,
    ),
}

impl ReferenceServer {
    /// Starts with the default settings and repeatable IDs, as [`start_with`](Self::start_with) does.
    #[cfg(feature = "wiremock")]
    pub async fn start() -> Self {
        Self::start_with(Settings { seed: Some(0), ..Settings::default() }).await
    }

    /// Starts with these settings, behind `wiremock`: requests are handled one at a time. Scheduled work, such as deliveries and webhooks, runs when
    /// a request arrives or the clock is moved; [`start_http`](Self::start_http) doesn't wait for that.
    #[cfg(feature = "wiremock")]
    pub async fn start_with(settings: Settings) -> Self {
        Self::start_wiremock(Service::new(settings)).await
    }

    /// Starts with an existing service, behind `wiremock`.
    #[cfg(feature = "wiremock")]
    pub async fn start_wiremock(service: Arc<Service>) -> Self {
        let server = wiremock::MockServer::builder().disable_request_recording().start().await;
        wiremock::Mock::given(wiremock::matchers::any())
            .respond_with(mount::wiremock::Mounted(Arc::clone(&service)))
            .mount(&server)
            .await;
        service.set_base_url(&server.uri());
        Self { service, base_url: server.uri(), _door: ServerKind::Wiremock(server) }
    }

    /// Starts with these settings, behind `hyper`: requests are handled concurrently, and scripted faults may drop the connection. It runs
    /// on the caller's runtime.
    ///
    /// # Panics
    /// If no socket can be bound on 127.0.0.1.
    pub async fn start_http(settings: Settings) -> Self {
        Self::start_http_service(Service::new(settings)).await
    }

    /// Starts with an existing service, behind `hyper`.
    ///
    /// # Panics
    /// If no socket can be bound on 127.0.0.1.
    pub async fn start_http_service(service: Arc<Service>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a socket on 127.0.0.1");
        let address = listener.local_addr().expect("the address of a bound socket");
        let base_url = format!("http://{address}");
        // Before the task of the listener runs, so that links in the first responses already contain the address.
        service.set_base_url(&base_url);
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&service);
        tokio::spawn(async move {
            let stopped = async {
                // An error means that the sender was dropped, which stops the server.
                let _ = stopped.await;
            };
            mount::http::serve(listener, serving, stopped).await
        });
        Self { service, base_url, _door: ServerKind::Http(stop) }
    }

    /// The base URL for clients: `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// An API key with full access.
    pub fn api_key(&self) -> String {
        "sb_test".into()
    }

    /// An API key of the same tenant with sending access only.
    pub fn sending_key(&self) -> String {
        "sb_test_sending".into()
    }

    /// The service behind the socket: its clock, faults and captured emails.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }
}

impl std::fmt::Debug for ReferenceServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReferenceServer").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}
