//! The running service and its listeners, shared by `serve` and `run`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use posthaste_reference_server::mount::smtp::Options;
use posthaste_reference_server::mount::tls::Tls;
use posthaste_reference_server::persistence::{self, Persistence, PersistenceError};
use posthaste_reference_server::{Service, mount};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::forward::{Forward, Target};
use super::{KEY, ServerArgs};
use crate::context::Context;
use crate::diagnostics::Fail;

/// A service and its bound sockets, before it accepts connections.
pub(super) struct SandboxServer {
    pub(super) service: Arc<Service>,
    http: TcpListener,
    base_url: String,
    smtp: Option<(TcpListener, SocketAddr)>,
    smtps: Option<(TcpListener, SocketAddr)>,
    /// The certificate of both SMTP listeners.
    tls: Option<Tls>,
    forward: Option<Forward>,
    forwards_to: Option<String>,
    keeper: Option<Persistence>,
}

impl SandboxServer {
    /// Binds the sockets on 127.0.0.1; port 0 picks any free port.
    pub(super) async fn open(port: u16, server_args: &ServerArgs, context: &Context) -> Result<Self, Fail> {
        let target =
            server_args.smtp.as_deref().filter(|url| !url.is_empty()).map(Target::read).transpose()?;
        let (http, address) = bind(port, "--port").await?;
        let smtp = bind_if(server_args.smtp_port, "--smtp-port").await?;
        let smtps = bind_if(server_args.smtp_tls_port, "--smtp-tls-port").await?;
        let tls = (smtp.is_some() || smtps.is_some()).then(Tls::self_signed).transpose();
        let tls = tls.map_err(|error| Fail::local("couldn't create a certificate for SMTP", error))?;
        let (service, keeper) = match &server_args.data {
            Some(folder) => {
                resume(folder, server_args, context).map(|(service, keeper)| (service, Some(keeper)))?
            }
            None => (Service::new(server_args.settings()), None),
        };
        let forwards_to = target.as_ref().map(|target| target.name().to_owned());
        let forward = target.map(|target| Forward::start(target, &service, context));
        Ok(Self {
            service,
            http,
            base_url: format!("http://{address}"),
            smtp,
            smtps,
            tls,
            forward,
            forwards_to,
            keeper,
        })
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The URL of the SMTP server, if enabled.
    pub(super) fn smtp_url(&self) -> Option<String> {
        self.smtp.as_ref().map(|(_, address)| format!("smtp://{address}"))
    }

    /// The URL of the SMTP server over TLS, if enabled.
    pub(super) fn smtps_url(&self) -> Option<String> {
        self.smtps.as_ref().map(|(_, address)| format!("smtps://{address}"))
    }

    /// The SHA-256 fingerprint of their certificate.
    pub(super) fn fingerprint(&self) -> Option<String> {
        self.tls.as_ref().map(Tls::fingerprint)
    }

    /// The server that captured mails are forwarded to, without credentials.
    pub(super) fn forwards_to(&self) -> Option<&str> {
        self.forwards_to.as_deref()
    }

    /// The sandbox's URLs for programs.
    pub(super) fn describe(&self) -> Value {
        let mut addresses =
            json!({ "base_url": self.base_url, "inbox": format!("{}/_/", self.base_url), "api_key": KEY });
        let smtp =
            [("smtp", self.smtp_url()), ("smtps", self.smtps_url()), ("tls_sha256", self.fingerprint())];
        for (name, value) in smtp {
            if let Some(value) = value {
                addresses[name] = value.into();
            }
        }
        addresses
    }

    /// Serves on all sockets until `stop` is ready.
    pub(super) async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            // Dropping the sender also stops the server.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let http = mount::http::serve(self.http, Arc::clone(&self.service), until(stopped.clone()));
        let mail = |door: Option<(TcpListener, SocketAddr)>, implicit_tls| {
            let options = Options { tls: self.tls.clone(), implicit_tls, ..Options::new(KEY) };
            let (service, stopped) = (Arc::clone(&self.service), stopped.clone());
            async move {
                match door {
                    Some((listener, _)) => {
                        mount::smtp::serve(listener, service, options, until(stopped)).await
                    }
                    None => Ok(()),
                }
            }
        };
        let (smtp, smtps) = (mail(self.smtp, false), mail(self.smtps, true));
        let stop = async {
            stop.await;
            let _ = stopping.send(true);
        };
        let (http, smtp, smtps, ()) = tokio::join!(http, smtp, smtps, stop);
        if let Some(forward) = self.forward {
            forward.end().await;
        }
        if self.keeper.is_some_and(|keeper| !keeper.close()) {
            return Err(io::Error::other("the last changes couldn't be written"));
        }
        http.and(smtp).and(smtps)
    }
}

/// Opens a service that resumes from a folder.
fn resume(
    folder: &Path,
    server_args: &ServerArgs,
    context: &Context,
) -> Result<(Arc<Service>, Persistence), Fail> {
    let (warn, shown) = (context.out.warner(), folder.display().to_string());
    let report = move |outcome: Result<(), &PersistenceError>| match outcome {
        Err(error) => warn(&format!("couldn't write changes to {shown}: {error}; retrying")),
        Ok(()) => warn(&format!("all changes are written to {shown} again")),
    };
    persistence::open(folder, server_args.settings(), report).map_err(|error| {
        let hint = match &error {
            PersistenceError::InUse => "stop the other sandbox, or choose another folder",
            PersistenceError::Newer { .. } => "use the newer version, or choose another folder",
            PersistenceError::Older { .. } => {
                "export the emails with the older version (posthaste sandbox export), or choose another folder"
            }
            PersistenceError::Damaged(_) => {
                "the folder is unchanged; move it away to start over, or choose another folder"
            }
            _ => "choose a writable folder",
        };
        Fail::Local {
            message: format!("the sandbox can't resume from {}", folder.display()),
            source: Some(Box::new(error)),
            hint: Some(hint.to_owned()),
        }
    })
}

async fn bind_if(port: Option<u16>, flag: &str) -> Result<Option<(TcpListener, SocketAddr)>, Fail> {
    match port {
        Some(port) => bind(port, flag).await.map(Some),
        None => Ok(None),
    }
}

async fn bind(port: u16, flag: &str) -> Result<(TcpListener, SocketAddr), Fail> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await;
    let bound = listener.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| Fail::Local {
        message: format!("couldn't listen on port {port}"),
        source: Some(Box::new(error)),
        hint: Some(format!("choose another with {flag} N, or any free port with {flag} 0")),
    })
}
