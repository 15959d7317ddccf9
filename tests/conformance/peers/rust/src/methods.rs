//! The public methods of the crate's services, read from its sources: `PEER_RESEND_RS` is their folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// `service.method`, by the name of the service's field in the client.
pub fn all() -> BTreeSet<String> {
    let root = PathBuf::from(std::env::var_os("PEER_RESEND_RS").expect("PEER_RESEND_RS is set")).join("src");
    let client = fs::read_to_string(root.join("client.rs")).expect("the client's source can be read");
    let services: BTreeMap<_, _> = client
        .lines()
        .filter_map(|line| line.strip_prefix("    pub ")?.strip_suffix("Svc,")?.split_once(": "))
        .map(|(field, service)| (service.to_owned(), field.to_owned()))
        .collect();
    let mut found = BTreeSet::new();
    for file in fs::read_dir(&root).expect("the sources can be listed") {
        let path = file.expect("the sources can be listed").path();
        let Ok(source) = fs::read_to_string(&path) else { continue };
        let mut service = None;
        for line in source.lines() {
            if let Some(of) = line.strip_prefix("impl ") {
                service = of.strip_suffix("Svc {").and_then(|name| services.get(name));
            } else if line == "}" {
                service = None;
            }
            let method = line.strip_prefix("    pub async fn ").or_else(|| line.strip_prefix("    pub fn "));
            if let (Some(service), Some(method)) = (service, method) {
                let end = method.find(['(', '<']).expect("a method has parameters");
                found.insert(format!("{service}.{}", &method[..end]));
            }
        }
    }
    let unread: Vec<_> = services
        .values()
        .filter(|field| !found.iter().any(|method| method.starts_with(&format!("{field}."))))
        .collect();
    assert!(unread.is_empty(), "no methods of {unread:?} were found in {}", root.display());
    found
}
