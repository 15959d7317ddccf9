//! `api-keys`: command lines, requests, messages, and where the key is written.

use serde_json::json;

use crate::service::Service;
use crate::support::{Idempost, mode};

#[test]
fn a_key_is_created_used_renamed_and_deleted() {
    let service = Service::start();
    let made = service.run(&["api-keys", "create", "--name", "CI"]).says(&["won't be shown again"]);
    let token = made.ok();
    let own = Idempost::at(service.base_url(), token.trim());
    let listed = own.run(&["api-keys", "list", "--json"]).json();
    assert_eq!(listed["data"][0]["name"], "CI");
    assert!(!listed.to_string().contains(token.trim()));
    let id = listed["data"][0]["id"].as_str().unwrap();
    service.run(&["api-keys", "rename", id, "Build"]).ok();
    assert_eq!(service.run(&["api-keys", "list", "--columns", "name"]).ok(), "Build\n");
    service.run(&["api-keys", "delete", id]).ok();
    own.run(&["api-keys", "list"]).fails(4);
}

#[test]
fn a_key_is_written_only_to_a_private_file() {
    let (service, idempost) = Service::with_program();
    let create = "api-keys create --name n --permission sending_access --token-file n.key --json";
    let ran = idempost.run(&create);
    let token = idempost.read("n.key");
    assert_eq!(ran.hides(&[token.trim()]).json()["token"], json!(null));
    assert_eq!(mode(idempost.home().join("n.key")), 0o600);
    assert_eq!(service.bodies()[0]["permission"], "sending_access");
    let asked = service.asked();
    idempost.run(&create).fails(1);
    // An existing file isn't overwritten.
    assert_eq!((service.asked(), idempost.read("n.key")), (asked, token));
    let refused = idempost.run("api-keys create --name n --token-file x.key --api-key-file n.key");
    refused.fails(4);
    assert!(!idempost.home().join("x.key").exists(), "no key, no file");
}
