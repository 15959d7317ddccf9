//! The running service and its listeners, shared by `serve` and `run`.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use idempost_sandbox::mount::http::reachable_address;
use idempost_sandbox::persistence::{self, Persistence, PersistenceError};
use idempost_sandbox::smtp::Options;
use idempost_sandbox::tls::Tls;
use idempost_sandbox::{Service, Settings, mount, smtp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::ServerArgs;
use super::forward::Forward;
use super::serve::reach::ListenArgs;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::files;

/// The maximum size of a certificate or key, in bytes.
const MAX_PEM: u64 = 1 << 20;

/// A service and its bound sockets, before it accepts connections.
pub(super) struct SandboxServer {
    pub(super) service: Arc<Service>,
    http: TcpListener,
    pub(super) base_url: String,
    /// The API key that the sandbox suggests, which contains the password, if any.
    pub(super) key: String,
    smtp: Option<(TcpListener, SocketAddr)>,
    smtps: Option<(TcpListener, SocketAddr)>,
    /// The certificate of both SMTP listeners.
    tls: Option<Tls>,
    /// Whether the listener without implicit TLS offers STARTTLS.
    starttls: bool,
    forward: Option<Forward>,
    relay: Option<(&'static str, String)>,
    keeper: Option<Persistence>,
}

impl SandboxServer {
    /// Binds the sockets; port 0 picks any free port.
    pub(super) async fn open(
        port: u16,
        reach: &ListenArgs,
        server_args: &ServerArgs,
        context: &Context,
    ) -> Result<Self, Fail> {
        let key = reach.key()?;
        let settings = || -> Result<Settings, Fail> {
            Ok(Settings {
                password: reach.password()?.map(Into::into),
                allowed_hosts: reach.allowed_hosts.clone(),
                allow_private_addresses: reach.allow_private_addresses,
                ..server_args.settings()
            })
        };
        let target = server_args.relay.target([server_args.smtp_port, server_args.smtp_tls_port])?;
        let (http, address) = bind(reach.host, port, "--port").await?;
        let smtp = bind_if(reach.host, server_args.smtp_port, "--smtp-port").await?;
        let smtps = bind_if(reach.host, server_args.smtp_tls_port, "--smtp-tls-port").await?;
        let starttls =
            server_args.smtp_starttls || server_args.smtp_cert.is_some() || !reach.host.is_loopback();
        let tls = if smtps.is_some() || (smtp.is_some() && starttls) {
            Some(server_args.certificate()?)
        } else {
            None
        };
        let (service, keeper) = match &server_args.data {
            Some(folder) => {
                resume(folder, settings()?, context).map(|(service, keeper)| (service, Some(keeper)))?
            }
            None => (idempost_sandbox::service(settings()?), None),
        };
        let (warn, limit) = (context.out.warning_printer(), server_args.keep_accounts);
        service.on_evicted(move |account| {
            warn(&format!(
                "deleted the least recently used account {account} with all its data: --keep-accounts is {limit}"
            ));
        });
        if let Some(target) = &target {
            if target.readable {
                let name = &target.name;
                context.out.warn(&format!("the password for {name} is sent unencrypted; add ?tls=required"));
            }
            service.set_relay(target.relay());
        }
        let relay = target.as_ref().map(|target| {
            let purpose = if target.forwards { "forward" } else { "release" };
            (purpose, target.name.clone())
        });
        let forward = target.filter(|target| target.forwards);
        let forward = forward.map(|target| Forward::start(target, &service, context));
        Ok(Self {
            service,
            http,
            base_url: format!("http://{}", reachable_address(address)),
            key,
            smtp,
            smtps,
            tls,
            starttls,
            forward,
            relay,
            keeper,
        })
    }

    pub(super) fn has_password(&self) -> bool {
        self.service.settings().password.is_some()
    }

    /// The URL of the SMTP server, if enabled.
    pub(super) fn smtp_url(&self) -> Option<String> {
        self.smtp.as_ref().map(|(_, address)| format!("smtp://{}", reachable_address(*address)))
    }

    /// The address of the SMTP server, if enabled.
    pub(super) fn smtp_address(&self) -> Option<SocketAddr> {
        self.smtp.as_ref().map(|(_, address)| reachable_address(*address))
    }

    /// The URL of the SMTP server over TLS, if enabled.
    pub(super) fn smtps_url(&self) -> Option<String> {
        self.smtps.as_ref().map(|(_, address)| format!("smtps://{}", reachable_address(*address)))
    }

    /// The certificate, if it is self-signed, in PEM.
    pub(super) fn self_signed(&self) -> Option<&str> {
        self.tls.as_ref()?.self_signed_pem()
    }

    /// The SHA-256 fingerprint of the SMTP listeners' certificate.
    pub(super) fn fingerprint(&self) -> Option<String> {
        self.tls.as_ref().map(Tls::fingerprint)
    }

    /// The real SMTP server, without credentials, and whether it is for forwarding or releasing.
    pub(super) fn relay(&self) -> Option<(&'static str, &str)> {
        self.relay.as_ref().map(|(purpose, name)| (*purpose, name.as_str()))
    }

    /// The sandbox's URLs for programs.
    pub(super) fn describe(&self) -> Value {
        let mut addresses = json!({ "base_url": self.base_url, "inbox": format!("{}/_/", self.base_url), "api_key": self.key });
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
    pub(super) async fn serve(self, stop: Pin<Box<dyn Future<Output = ()> + Send + '_>>) -> io::Result<()> {
        let (stopping, stopped) = watch::channel(false);
        let until = |mut stopped: watch::Receiver<bool>| async move {
            // Dropping the sender also stops the server.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let http = mount::http::serve(self.http, Arc::clone(&self.service), until(stopped.clone()));
        let mail = |door: Option<(TcpListener, SocketAddr)>, implicit_tls| {
            let tls = self.tls.clone().filter(|_| implicit_tls || self.starttls);
            let options = Options { tls, implicit_tls, ..Options::new(self.key.as_str()) };
            let (service, stopped) = (Arc::clone(&self.service), stopped.clone());
            async move {
                match door {
                    Some((listener, _)) => smtp::serve(listener, service, options, until(stopped)).await,
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
        // The process ends, and freeing each record would delay it.
        std::mem::forget(self.service);
        http.and(smtp).and(smtps)
    }
}

impl ServerArgs {
    /// The certificate for SMTP.
    fn certificate(&self) -> Result<Tls, Fail> {
        let (Some(certificate), Some(key)) = (&self.smtp_cert, &self.smtp_key) else {
            let made = Tls::self_signed();
            return made.map_err(|error| Fail::local("couldn't create a certificate for SMTP", error));
        };
        let read = |path: &Path| {
            let found = files::read(path, MAX_PEM, false)
                .and_then(|found| found.ok_or(io::ErrorKind::NotFound.into()));
            found.map_err(|error| Fail::local(format!("couldn't read {}", path.display()), error))
        };
        Tls::from_pem(&read(certificate)?, &read(key)?).map_err(|error| {
            let files = format!("{} and {}", certificate.display(), key.display());
            Fail::local(format!("couldn't use {files} for SMTP"), error)
        })
    }
}

/// Opens a service that resumes from a folder.
fn resume(folder: &Path, settings: Settings, context: &Context) -> Result<(Arc<Service>, Persistence), Fail> {
    let (warn, shown) = (context.out.warning_printer(), folder.display().to_string());
    let report = move |outcome: Result<(), &PersistenceError>| match outcome {
        Err(error) => warn(&format!("couldn't write changes to {shown}: {error}; retrying")),
        Ok(()) => warn(&format!("all changes are written to {shown} again")),
    };
    persistence::open(folder, settings, report).map_err(|error| {
        let hint = match &error {
            PersistenceError::InUse => "stop the other sandbox, or choose another folder",
            PersistenceError::Newer { .. } => "use the newer version, or choose another folder",
            PersistenceError::Older { .. } => {
                "export the emails with the older version (idempost sandbox export), or choose another folder"
            }
            PersistenceError::Damaged(_) => {
                "the folder is unchanged; move it away to start over, or choose another folder"
            }
            _ => "choose a writable folder",
        };
        Fail::local(format!("the sandbox can't resume from {}", folder.display()), error).hint(hint)
    })
}

async fn bind_if(
    host: IpAddr,
    port: Option<u16>,
    flag: &str,
) -> Result<Option<(TcpListener, SocketAddr)>, Fail> {
    match port {
        Some(port) => bind(host, port, flag).await.map(Some),
        None => Ok(None),
    }
}

async fn bind(host: IpAddr, port: u16, flag: &str) -> Result<(TcpListener, SocketAddr), Fail> {
    let listener = TcpListener::bind((host, port)).await;
    let bound = listener.and_then(|listener| listener.local_addr().map(|address| (listener, address)));
    bound.map_err(|error| {
        Fail::local(format!("couldn't listen on {}", SocketAddr::new(host, port)), error)
            .hint(format!("choose another with {flag} N, or any free port with {flag} 0"))
    })
}
