//! A service behind TLS, with valid and invalid certificates.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::date_time_ymd;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::service::Service;
use crate::support::{Finish, Idempost, Ran, SEND};

/// A trusted certificate authority, and an unknown one.
struct Front {
    address: String,
    connections: Arc<AtomicUsize>,
    authority: tempfile::TempDir,
    known: CertifiedIssuer<'static, KeyPair>,
    service: Service,
    _runtime: Runtime,
}

/// The authority that signs a certificate.
#[derive(Clone, Copy)]
enum Signer {
    Known,
    Unknown,
    Itself,
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
    fn behind(params: &CertificateParams, signed_by: Signer) -> Self {
        Self::configured(params, signed_by, None, false)
    }

    /// With a response, it replaces the service: it is written, and then the connection ends without a TLS alert.
    fn configured(
        params: &CertificateParams,
        signed_by: Signer,
        response: Option<&'static str>,
        demands_certificate: bool,
    ) -> Self {
        let known = authority("known");
        let key = KeyPair::generate().unwrap();
        let certificate = match signed_by {
            Signer::Known => params.signed_by(&key, &known),
            Signer::Unknown => params.signed_by(&key, &authority("unknown")),
            Signer::Itself => params.self_signed(&key),
        };
        let certificate = certificate.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), known.pem()).unwrap();

        let config = ServerConfig::builder_with_protocol_versions(&[&TLS12, &TLS13]);
        let config = if demands_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(known.der().clone()).unwrap();
            config.with_client_cert_verifier(WebPkiClientVerifier::builder(roots.into()).build().unwrap())
        } else {
            config.with_no_client_auth()
        };
        let config = config.with_single_cert(
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
                    let mut outer = match acceptor.accept(outer).into_fallible().await {
                        Ok(outer) => outer,
                        Err((_, mut refused)) => {
                            // Unread bytes would reset the connection, and the client would lose the alert.
                            let _ = copy(&mut refused, &mut sink()).await;
                            return;
                        }
                    };
                    if let Some(response) = response {
                        // For the same reason.
                        let (mut request, mut part) = (Vec::new(), [0; 4096]);
                        while !request.ends_with(b"}") {
                            let read = outer.read(&mut part).await.unwrap();
                            assert_ne!(read, 0, "the request is incomplete");
                            request.extend_from_slice(&part[..read]);
                        }
                        outer.write_all(response.as_bytes()).await.unwrap();
                        outer.flush().await.unwrap();
                        return;
                    }
                    let mut inner = TcpStream::connect(inner).await.unwrap();
                    // The client may close without a TLS alert; the test checks what it has received.
                    let _ = copy_bidirectional(&mut outer, &mut inner).await;
                });
            }
        });
        Self { address, connections, authority: folder, known, service, _runtime: runtime }
    }

    fn send(&self) -> Ran {
        self.send_with(&[])
    }

    fn send_with(&self, flags: &[&str]) -> Ran {
        let authority = self.authority();
        self.untrusted().env("SSL_CERT_FILE", authority).run(&(SEND, flags))
    }

    fn authority(&self) -> String {
        self.authority.path().join("ca.pem").to_str().unwrap().to_owned()
    }

    /// The program, which trusts only the system's authorities.
    fn untrusted(&self) -> Idempost {
        Idempost::at(&self.address, "sb_test")
    }

    /// Asserts that the program rejects the certificate with this reason after one attempt, and that nothing reaches the service.
    #[track_caller]
    fn is_refused(&self, reason: &str) {
        let stderr = self.send().fails(4);
        let host = self.address.trim_start_matches("https://");
        assert!(stderr.to_lowercase().contains(reason), "{reason}: {stderr}");
        let name = host.split(':').next().unwrap();
        assert_eq!(stderr.matches(name).count(), 1, "{stderr}");
        assert_eq!((self.connections.load(Ordering::Relaxed), self.service.asked()), (1, 0), "{stderr}");
    }
}

#[test]
fn a_service_with_a_trusted_certificate_is_used() {
    let front = Front::behind(&certificate(), Signer::Known);
    front.send().ok();
    assert_eq!(front.service.asked(), 1);
}

#[test]
fn an_invalid_certificate_is_refused_without_a_retry() {
    // B-24
    let (mut expired, mut other) = (certificate(), certificate());
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2021, 1, 1);
    other.subject_alt_names = vec![SanType::DnsName("another.test".try_into().unwrap())];
    for (params, signer, reason) in [
        (expired, Signer::Known, "expired"),
        (other, Signer::Known, "name"),
        (certificate(), Signer::Unknown, "unknown"),
        (certificate(), Signer::Itself, "unknown"),
    ] {
        Front::behind(&params, signer).is_refused(reason);
    }
}

#[test]
fn a_service_that_demands_a_client_certificate_is_refused_without_a_retry() {
    // B-24
    let front = Front::configured(&certificate(), Signer::Known, None, true);
    let connections = || front.connections.load(Ordering::Relaxed);
    let before = Cell::new(0);
    let ran = refused(|| {
        before.set(connections());
        front.send_with(&["--json"])
    });
    assert_eq!(ran.error(4)["outcome"], "not_sent");
    assert_eq!((connections(), front.service.asked()), (before.get() + 1, 0));
}

/// Sends until the program reads why it is rejected. Over TLS 1.3, the rejection arrives after the request was sent; if the connection ends before
/// it is read, the outcome is unknown.
fn refused(send: impl FnMut() -> Ran) -> Ran {
    std::iter::repeat_with(send).take(20).find(|ran| ran.code == Some(4)).unwrap()
}

#[test]
fn a_client_certificate_is_sent_by_flag_variable_or_profile() {
    let front = Front::configured(&certificate(), Signer::Known, None, true);
    let folder = front.authority.path();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        folder.join(name).to_str().unwrap().to_owned()
    };
    let (key, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let own = certificate().signed_by(&key, &front.known).unwrap();
    let both = file("own.pem", &format!("{}{}", own.pem(), key.serialize_pem()));
    let foreign = certificate().signed_by(&key, &authority("unknown")).unwrap();
    let foreign = file("foreign.pem", &format!("{}{}", foreign.pem(), key.serialize_pem()));
    let trusted = front.untrusted().env("IDEMPOST_CACERT", front.authority());
    refused(|| trusted.run(&SEND)).fails_with(4, &["--client-cert FILE"]);
    let stderr = refused(|| trusted.run(&(SEND, &["--client-cert", &foreign]))).fails(4);
    assert!(!stderr.contains("--client-cert FILE"), "{stderr}");
    assert_eq!(front.service.asked(), 0);
    trusted.run(&(SEND, &["--client-cert", &both])).ok();
    let trusted = trusted.config(&format!("[defaults]\nclient_cert = {both:?}\n"));
    trusted.run(&SEND).ok();
    let trusted = trusted.config("").env("IDEMPOST_CLIENT_CERT", &both);
    trusted.run(&SEND).ok();
    assert_eq!(front.service.asked(), 3);
    trusted.run(&["doctor"]).ok_with(&["own.pem is the client's certificate (IDEMPOST_CLIENT_CERT)"]);

    for (name, text, rule) in [
        ("none.pem", None, "no such file"),
        ("only.pem", Some(own.pem()), "must contain a certificate and its private key"),
        ("key.pem", Some(key.serialize_pem()), "must contain a certificate and its private key"),
        ("text.pem", Some("hello".to_owned()), "must contain a certificate and its private key"),
        ("other.pem", Some(format!("{}{}", own.pem(), other.serialize_pem())), "the key of another one"),
    ] {
        let path = match text {
            Some(text) => file(name, &text),
            None => folder.join(name).to_str().unwrap().to_owned(),
        };
        let stderr = trusted.run(&(SEND, &["--client-cert", &path])).fails_with(2, &["--client-cert", rule]);
        assert!(!stderr.contains("PRIVATE KEY"), "{stderr}");
    }
}

#[test]
fn a_service_that_supports_only_an_outdated_version_is_refused_without_a_retry() {
    // B-24: the response to the client's first message is the fatal alert `protocol_version` of TLS 1.0.
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // A record's length follows its type and version. Unread bytes would reset the connection.
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        stream.read_exact(&mut vec![0; length]).unwrap();
        stream.write_all(&[0x15, 3, 1, 0, 2, 2, 70]).unwrap();
        drop(stream);
        listener.set_nonblocking(true).unwrap();
        listener
    });
    let stderr = Idempost::at(format!("https://{host}"), "sb_test").run(&SEND).fails(4);
    assert!(stderr.contains(&host) && stderr.to_lowercase().contains("version"), "{stderr}");
    assert!(serving.join().unwrap().accept().is_err(), "a second connection: {stderr}");
}

#[test]
fn a_response_whose_tls_connection_ends_without_an_alert_is_incomplete() {
    // B-24: an attacker can cut a connection. Without a length, only the alert marks the end of a body.
    let response = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"id\":\"1\"}";
    let front = Front::configured(&certificate(), Signer::Known, Some(response), false);
    let error = front.send_with(&["--retries", "1", "--json"]).error(9);
    assert!(error["outcome"] == "accepted" && error["idempotency_key"].is_string(), "{error}");
    assert_eq!(front.connections.load(Ordering::Relaxed), 2, "the response is fetched again");
}

#[test]
fn an_unknown_authority_is_trusted_by_flag_variable_or_profile() {
    let front = Front::behind(&certificate(), Signer::Known);
    front.untrusted().run(&SEND).fails_with(4, &["--cacert FILE"]);
    let authority = front.authority();
    front.untrusted().run(&(SEND, &["--cacert", &authority])).ok();
    front.untrusted().env("IDEMPOST_CACERT", &authority).run(&SEND).ok();
    let profile = front.untrusted().config(&format!("[defaults]\ncacert = {authority:?}\n"));
    profile.run(&SEND).ok();
    assert_eq!(front.service.asked(), 3);
    let report = profile.run(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "certificates").unwrap();
    assert!(found["message"].as_str().unwrap().contains("config.toml:2"), "{found}");
}

#[test]
fn a_relative_path_in_the_configuration_file_is_the_same_file_in_each_folder() {
    let front = Front::behind(&certificate(), Signer::Known);
    let beside = front.untrusted().config("[defaults]\ncacert = \"ca.pem\"\n");
    std::fs::copy(front.authority(), beside.config_file().with_file_name("ca.pem")).unwrap();
    beside.run(&SEND).ok();
    let set = front.untrusted();
    let mut command = set.command();
    command.args(["config", "set", "cacert", "ca.pem"]).current_dir(front.authority.path());
    command.finish().ok();
    set.run(&SEND).ok();
}

#[test]
fn a_file_without_a_readable_certificate_is_an_error_and_nothing_is_sent() {
    let front = Front::behind(&certificate(), Signer::Known);
    let broken = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    for (name, text, rule) in [
        ("none.pem", None, "no such file"),
        ("text.pem", Some("hello"), "contains no certificate in PEM format"),
        ("broken.pem", Some(broken), "contains an invalid certificate"),
    ] {
        for variable in ["IDEMPOST_CACERT", "SSL_CERT_FILE"] {
            let idempost = front.untrusted();
            let file = idempost.home().join(name);
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            let idempost = idempost.env(variable, file.to_str().unwrap());
            idempost.run(&SEND).fails_with(2, &[variable, rule]);
            idempost.run(&["doctor"]).exits(1).prints(&[rule]);
        }
    }
    assert_eq!(front.connections.load(Ordering::Relaxed), 0);
}
