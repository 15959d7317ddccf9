//! `--web`: the page of a record.

use crate::service::Service;
use crate::support::{Finish as _, Idempost, SEND, wait_until};

#[test]
fn web_prints_the_page_in_the_inbox_of_the_account() {
    let (service, idempost) = Service::with_program();
    let id = service.done(&SEND);
    let page = service.done(&["emails", "get", &id, "--web"]);
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
    let id = idempost.run(&create).ok();
    let page = idempost.run("templates get welcome --web").ok();
    assert_eq!(page, format!("{}/_/#/templates/{id}", service.base_url()));
    let mail = "From: a@x.test\r\nTo: b@x.test\r\nSubject: Hi\r\n\r\nHi\r\n";
    let id = idempost.run_with("sandbox receive -", mail).ok();
    let page = idempost.run(&["received", "get", id.trim(), "--web"]).ok();
    assert_eq!(page, format!("{}/_/#/received/{id}", service.base_url()));
}

#[test]
fn web_fails_for_records_without_a_page_and_of_unknown_records() {
    let service = Service::start();
    let id = service.done("segments create Readers");
    service.run(&["segments", "get", &id, "--web"]).fails_with(2, &["--web", "has no page for this record"]);
    service.run(&["emails", "get", "00000000-0000-4000-8000-000000000000", "--web"]).fails(5);
    for without in ["topics list --web", "inboxes get support@acme.test --web"] {
        Idempost::new().run(without).fails(2);
    }
}

#[test]
fn web_opens_the_browser_for_people_alone() {
    let service = Service::start();
    let id = service.done(&SEND);
    let idempost = service.idempost();
    let (browser, opened) = idempost.browser();
    let idempost = idempost.env("BROWSER", browser);
    let get = ["emails", "get", &id, "--web"];
    let page = idempost.run(&(&get, "--jq .url")).ok();
    let literal = idempost.command().args(get).env("IDEMPOST_LITERAL_VALUES", "1").finish();
    assert_eq!(literal.ok(), page);
    assert!(!opened.exists());
    let ran = idempost.run(&get);
    assert_eq!((ran.stdout.as_str(), ran.stderr), ("", format!("opened {page}")));
    wait_until("the browser opens", || opened.exists());
    assert_eq!(std::fs::read_to_string(opened).unwrap(), page.trim());
}
