//! A service behind TLS, with valid and invalid certificates.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::date_time_ymd;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use crate::service::Service;
use crate::support::{Posthaste, Ran, SEND};

/// A trusted certificate authority, and an unknown one.
struct Front {
    address: String,
    connections: Arc<AtomicUsize>,
    authority: tempfile::TempDir,
    service: Service,
    _runtime: Runtime,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn certificate() -> CertificateParams {
    let mut params = CertificateParams::new([]).unwrap();
    params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
    params
}

impl Front {
    /// The service behind this certificate.
    fn behind(params: &CertificateParams, signed_by_the_known: bool) -> Self {
        let known = authority("known");
        let unknown = authority("unknown");
        let key = KeyPair::generate().unwrap();
        let issuer = if signed_by_the_known { &known } else { &unknown };
        let certificate = params.signed_by(&key, issuer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), known.pem()).unwrap();

        let config = ServerConfig::builder_with_protocol_versions(&[&TLS12, &TLS13])
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            );
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let service = Service::start();
        let inner = service.base_url().trim_start_matches("http://").to_owned();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        runtime.spawn(async move {
            while let Ok((outer, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let (acceptor, inner) = (acceptor.clone(), inner.clone());
                tokio::spawn(async move {
                    let Ok(mut outer) = acceptor.accept(outer).await else { return };
                    let mut inner = TcpStream::connect(inner).await.unwrap();
                    // The client may close without a TLS alert; the test checks what it has received.
                    let _ = copy_bidirectional(&mut outer, &mut inner).await;
                });
            }
        });
        Self { address, connections, authority: folder, service, _runtime: runtime }
    }

    fn send(&self) -> Ran {
        let authority: PathBuf = self.authority.path().join("ca.pem");
        Posthaste::new()
            .env("POSTHASTE_BASE_URL", &self.address)
            .env("POSTHASTE_API_KEY", "sb_test")
            .env("SSL_CERT_FILE", authority.to_str().unwrap())
            .run(&SEND)
    }

    /// The program rejects the certificate with this reason after one attempt, and nothing reaches the service.
    #[track_caller]
    fn is_refused(&self, reason: &str) {
        let stderr = self.send().fails(7);
        let host = self.address.trim_start_matches("https://");
        assert!(stderr.contains(host) && stderr.to_lowercase().contains(reason), "{reason}: {stderr}");
        assert_eq!((self.connections.load(Ordering::Relaxed), self.service.asked()), (1, 0), "{stderr}");
    }
}

#[test]
fn a_service_with_a_trusted_certificate_is_used() {
    let front = Front::behind(&certificate(), true);
    front.send().ok();
    assert_eq!(front.service.asked(), 1);
}

#[test]
fn an_expired_certificate_is_refused_without_a_retry() {
    // B-24
    let mut expired = certificate();
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2021, 1, 1);
    Front::behind(&expired, true).is_refused("expired");
}

#[test]
fn a_certificate_for_another_name_is_refused_without_a_retry() {
    // B-24
    let mut other = certificate();
    other.subject_alt_names = vec![SanType::DnsName("another.test".try_into().unwrap())];
    Front::behind(&other, true).is_refused("name");
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused_without_a_retry() {
    // B-24
    Front::behind(&certificate(), false).is_refused("unknown");
}
