//! What `serve` and `run` have in common: a service with its doors open.

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
use super::{Behaviour, KEY};
use crate::context::Context;
use crate::diagnostics::Fail;

/// A service, and the sockets on which it is reached; nobody is served yet.
pub(super) struct House {
    pub(super) service: Arc<Service>,
    http: TcpListener,
    base_url: String,
    smtp: Option<(TcpListener, SocketAddr)>,
    smtps: Option<(TcpListener, SocketAddr)>,
    /// The certificate for both.
    tls: Option<Tls>,
    forward: Option<Forward>,
    forwards_to: Option<String>,
    keeper: Option<Persistence>,
}

impl House {
    /// Opens the doors on 127.0.0.1; port 0 is any that is free.
    pub(super) async fn open(port: u16, behaviour: &Behaviour, context: &Context) -> Result<Self, Fail> {
        let target = behaviour.smtp.as_deref().filter(|url| !url.is_empty()).map(Target::read).transpose()?;
        let (http, address) = bind(port, "--port").await?;
        let smtp = bind_if(behaviour.smtp_port, "--smtp-port").await?;
        let smtps = bind_if(behaviour.smtp_tls_port, "--smtp-tls-port").await?;
        let tls = (smtp.is_some() || smtps.is_some()).then(Tls::self_signed).transpose();
        let tls = tls.map_err(|error| Fail::local("no certificate can be made for SMTP", error))?;
        let (service, keeper) = match &behaviour.data {
            Some(folder) => {
                go_on(folder, behaviour, context).map(|(service, keeper)| (service, Some(keeper)))?
            }
            None => (Service::new(behaviour.settings()), None),
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

    /// The SMTP server, if that was asked for.
    pub(super) fn smtp_url(&self) -> Option<String> {
        self.smtp.as_ref().map(|(_, address)| format!("smtp://{address}"))
    }

    /// The SMTP server over TLS, if that was asked for.
    pub(super) fn smtps_url(&self) -> Option<String> {
        self.smtps.as_ref().map(|(_, address)| format!("smtps://{address}"))
    }

    /// The SHA-256 fingerprint of the certificate of both.
    pub(super) fn fingerprint(&self) -> Option<String> {
        self.tls.as_ref().map(Tls::fingerprint)
    }

    /// Where captured mails go on to, if that was asked for; without who logs in.
    pub(super) fn forwards_to(&self) -> Option<&str> {
        self.forwards_to.as_deref()
    }

    /// What a program needs to know of it.
    pub(super) fn describe(&self) -> Value {
        let mut told =
            json!({ "base_url": self.base_url, "inbox": format!("{}/_/", self.base_url), "api_key": KEY });
        let smtp =
            [("smtp", self.smtp_url()), ("smtps", self.smtps_url()), ("tls_sha256", self.fingerprint())];
        for (name, value) in smtp {
            if let Some(value) = value {
                told[name] = value.into();
            }
        }
        told
    }

    /// Serves at all doors until `stop` is ready.
    pub(super) async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            // Dropping the sender is a wish to stop, too.
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
            return Err(io::Error::other("the last changes could not be written"));
        }
        http.and(smtp).and(smtps)
    }
}

/// A service that goes on from what is in a folder.
fn go_on(
    folder: &Path,
    behaviour: &Behaviour,
    context: &Context,
) -> Result<(Arc<Service>, Persistence), Fail> {
    let (warn, shown) = (context.out.warner(), folder.display().to_string());
    let told = move |outcome: Result<(), &PersistenceError>| match outcome {
        Err(error) => warn(&format!("nothing can be kept in {shown} any more: {error}; it is tried again")),
        Ok(()) => warn(&format!("everything is kept in {shown} again")),
    };
    persistence::open(folder, behaviour.settings(), told).map_err(|error| {
        let hint = match &error {
            PersistenceError::InUse => "stop the other one, or choose another folder",
            PersistenceError::Newer { .. } => "use the newer version, or choose another folder",
            PersistenceError::Older { .. } => {
                "take the emails out with the older version (posthaste sandbox export), or choose another folder"
            }
            PersistenceError::Damaged(_) => {
                "nothing in it was changed; move it away to begin anew, or choose another folder"
            }
            _ => "choose a folder that can be written",
        };
        Fail::Local {
            message: format!("the sandbox cannot go on from {}", folder.display()),
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
        message: format!("port {port} of this machine cannot be used"),
        source: Some(Box::new(error)),
        hint: Some(format!("choose another with {flag} N, or any with {flag} 0")),
    })
}
