//! Credentials and TLS.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::Path,
};

use idempost_bulk::queue::{NatsQueue, QueueAuth, QueueOptions};
use idempost_needs::needs;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};

use super::server::Server;

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, "authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// Writes a certificate and its key.
fn certificate(
    folder: &Path,
    name: &str,
    purpose: ExtendedKeyUsagePurpose,
    issuer: &CertifiedIssuer<'_, KeyPair>,
) {
    let mut params = CertificateParams::new([]).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).expect("written");
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).expect("written");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_server_with_tls_is_verified_and_verifies_the_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let issuer = authority();
    fs::write(file("ca.pem"), issuer.pem()).expect("written");
    fs::write(file("other.pem"), authority().pem()).expect("written");
    certificate(folder.path(), "server", ExtendedKeyUsagePurpose::ServerAuth, &issuer);
    certificate(folder.path(), "client", ExtendedKeyUsagePurpose::ClientAuth, &issuer);
    let tls = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}",
        file("server.pem"),
        file("server.key"),
        file("ca.pem"),
    );
    let server = Server::start_with("sync_interval: always", &tls);
    let address = server.address().replace("nats://", "tls://");
    let options = || QueueOptions::new(&address).expect("a valid address");

    let trusted =
        options().ca_file(file("ca.pem")).client_certificate(file("client.pem"), file("client.key"));
    assert!(NatsQueue::connect(trusted).await.is_ok());
    let untrusted =
        options().ca_file(file("other.pem")).client_certificate(file("client.pem"), file("client.key"));
    assert!(NatsQueue::connect(untrusted).await.is_err());
    assert!(NatsQueue::connect(options().ca_file(file("ca.pem"))).await.is_err());
    let error = NatsQueue::connect(options().ca_file(file("missing.pem"))).await.expect_err("no file");
    assert!(error.to_string().starts_with("invalid queue CA certificate: couldn't read"), "{error}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_user_name_with_a_password_is_accepted_in_the_address_and_as_an_option() {
    let server =
        Server::start_with("sync_interval: always", "authorization { user: ada, password: \"s3cr@t\" }");
    let address = server.address();
    let with_user = address.replace("nats://", "nats://ada:s3cr%40t@");
    assert!(NatsQueue::connect(QueueOptions::new(&with_user).expect("valid")).await.is_ok());
    let password = QueueAuth::UserPassword { user: "ada".to_owned(), password: "s3cr@t".to_owned().into() };
    let options = QueueOptions::new(&address).expect("valid").auth(password);
    assert!(NatsQueue::connect(options).await.is_ok());
}

#[needs("nats-server")]
#[tokio::test]
async fn an_nkey_is_accepted_as_a_seed_and_no_message_shows_it() {
    let key = nkeys::KeyPair::new_user();
    let (seed, public) = (key.seed().expect("a seed"), key.public_key());
    let server = Server::start_with(
        "sync_interval: always",
        &format!("authorization {{ users: [ {{ nkey: {public} }} ] }}"),
    );
    let options =
        QueueOptions::new(&server.address()).expect("valid").auth(QueueAuth::NkeySeed(seed.clone().into()));
    assert!(!format!("{options:?}").contains(&seed));
    let connected = NatsQueue::connect(options).await;
    assert!(connected.is_ok(), "{connected:?}");
}

#[needs("nats-server")]
#[tokio::test]
async fn a_credentials_file_without_credentials_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("queue.creds");
    fs::write(&path, "s3cret").expect("written");
    let options =
        QueueOptions::new("nats://127.0.0.1:1").expect("valid").auth(QueueAuth::CredentialsFile(path));
    let error = NatsQueue::connect(options).await.expect_err("no credentials");
    let text = format!("{error} {error:?}");
    assert!(text.contains("queue.creds doesn't contain a user JWT") && !text.contains("s3cret"), "{text}");
}
