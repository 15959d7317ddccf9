//! `--web`: the page of a record.

use crate::service::Service;
use crate::support::{Idempost, Ran, SEND};

/// The URL that a command prints.
#[track_caller]
fn url(ran: Ran) -> String {
    ran.ok().trim().to_owned()
}

#[test]
fn web_prints_the_page_in_the_inbox_of_the_account() {
    let service = Service::start();
    let idempost = service.idempost();
    let id = idempost.run(&SEND).ok().trim().to_owned();
    let page = url(idempost.run(&["emails", "get", &id, "--web"]));
    let (start, end) = (format!("{}/_/?key=account_", service.base_url()), format!("#/sent/{id}"));
    let account = page.strip_prefix(&start).and_then(|rest| rest.strip_suffix(&end)).unwrap();
    let about = format!("/_/messages/{id}/about?key=account_{account}");
    assert_eq!(idempost.run(&["api", "GET", &about, "--json"]).json()["subject"], "Hello");
    assert!(!page.contains("sb_"), "{page}");
    let json = idempost.run(&["emails", "get", &id, "--web", "--json"]).json();
    assert_eq!(json, serde_json::json!({ "url": page }));

    // The default account needs no name; an alias leads to the ID.
    let idempost = idempost.env("IDEMPOST_API_KEY", "sb_local");
    let create = ["templates", "create", "Welcome", "--alias", "welcome", "--html", "<p>Hi</p>"];
    let id = idempost.run(&create).ok().trim().to_owned();
    let page = url(idempost.run(&["templates", "get", "welcome", "--web"]));
    assert_eq!(page, format!("{}/_/#/templates/{id}", service.base_url()));
    let mail = "From: a@x.test\r\nTo: b@x.test\r\nSubject: Hi\r\n\r\nHi\r\n";
    let id = idempost.run_with(&["sandbox", "receive", "-"], mail).ok().trim().to_owned();
    let page = url(idempost.run(&["received", "get", &id, "--web"]));
    assert_eq!(page, format!("{}/_/#/received/{id}", service.base_url()));
}

#[test]
fn web_fails_for_records_without_a_page_and_of_unknown_records() {
    let service = Service::start();
    let idempost = service.idempost();
    let id = idempost.run(&["segments", "create", "Readers"]).ok().trim().to_owned();
    idempost.run(&["segments", "get", &id, "--web"]).fails_with(2, &["--web", "has no page for this record"]);
    idempost.run(&["emails", "get", "00000000-0000-4000-8000-000000000000", "--web"]).fails(5);
    for without in [&["topics", "list", "--web"][..], &["inboxes", "get", "support@acme.test", "--web"]] {
        Idempost::new().run(without).fails(2);
    }
}

#[cfg(unix)]
#[test]
fn web_opens_the_browser_for_people_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start();
    let idempost = service.idempost();
    let id = idempost.run(&SEND).ok().trim().to_owned();
    let (script, opened) = (idempost.home().join("script"), idempost.home().join("opened"));
    let text = format!("#!/bin/sh\nprintf %s \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n", opened.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    let idempost = idempost.env("BROWSER", script.to_str().unwrap());
    let get = ["emails", "get", &id, "--web"];
    let page = idempost.run(&(&get, "--jq .url")).ok();
    let literal = idempost.command().args(get).env("IDEMPOST_LITERAL_VALUES", "1").output().unwrap();
    assert_eq!(Ran::of(literal).ok(), page);
    assert!(!opened.exists());
    let ran = idempost.run(&get);
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", format!("opened {page}")));
    crate::support::wait_until("the browser opens", || opened.exists());
    assert_eq!(std::fs::read_to_string(opened).unwrap(), page.trim());
}
