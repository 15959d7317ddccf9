//! The program connects only to the configured service.

use idempost_conformance::peer::Act;

use crate::service::ScriptedPeer;
use crate::support::{Idempost, SEND};

#[test]
fn only_service_commands_open_connections_and_only_to_the_service() {
    // B-25
    let [service, proxy] = [(); 2].map(|()| ScriptedPeer::new([Act::answer(500, &[], "")]));
    let connections = || (service.connections(), proxy.connections());
    let mut idempost = Idempost::at(service.base_url(), "key").config("").env("IDEMPOST_RETRIES", "0");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        idempost = idempost.env(name, proxy.base_url());
    }
    for local in [
        "",
        "--version",
        "--help",
        "help emails send",
        "help --json",
        "emails send -h",
        "config list",
        "config set timeout 5s",
        "config path",
        "auth list",
        "completions bash",
        "man",
        "man --install",
        "skill",
        "skill --install",
        "domains create acme.test -n",
        "domains delete d -n",
        "sandbox run -- true",
    ] {
        idempost.run(local).ok();
        assert_eq!(connections(), (0, 0), "{local}");
    }
    for flag in ["--dry-run", "--sandbox"] {
        idempost.run(&(SEND, flag)).ok();
        assert_eq!(connections(), (0, 0), "{flag}");
    }
    idempost.run("emails list").fails(7);
    assert_eq!(connections(), (1, 0));
}
