//! `received`.

use std::fs;

use serde_json::json;

use crate::service::Service;

const MAIL: &str = concat!(
    "From: Ada <ada@example.com>\r\nTo: in@acme.test\r\nSubject: Files\r\nMIME-Version: 1.0\r\n",
    "Content-Type: multipart/mixed; boundary=m\r\n\r\n",
    "--m\r\nContent-Type: text/plain\r\n\r\nHere\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../../evil.txt\"\r\n\r\none\r\n",
    "--m\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"../../evil.txt\"\r\n\r\ntwo\r\n--m--\r\n",
);

#[test]
fn a_received_mail_is_read_and_its_attachments_are_saved_safely() {
    let service = Service::start();
    let posthaste = service.posthaste();
    let id = posthaste.run_with(&["sandbox", "receive", "-", "--to", "in@acme.test"], MAIL).ok();
    let id = id.trim();
    assert_eq!(
        posthaste.run(&["received", "ls", "--columns", "id,subject"]).ok().trim(),
        format!("{id}\tFiles")
    );
    assert_eq!(posthaste.run(&["emails", "receiving", "list", "--columns", "id"]).ok().trim(), id);
    let shown = posthaste.run(&["received", "get", id]).ok();
    assert!(shown.contains("Ada <ada@example.com>") && shown.contains("Here"), "{shown}");
    let list = posthaste.run(&["received", "attachments", id, "--columns", "filename,size"]).ok();
    assert_eq!(list.trim(), "../../evil.txt\t3\n../../evil.txt\t3");

    let folder = posthaste.home().join("saved/deep");
    let name = folder.to_str().unwrap();
    let saved = posthaste.run(&["received", "attachments", id, "--download", name]).ok();
    let paths: Vec<_> = saved.lines().collect();
    assert_eq!(paths, [format!("{name}/_._.._evil.txt"), format!("{name}/_._.._evil-2.txt")]);
    assert_eq!(
        fs::read_to_string(paths[0]).unwrap() + fs::read_to_string(paths[1]).unwrap().as_str(),
        "onetwo"
    );
    let again = posthaste.run(&["received", "attachments", id, "--download", name, "--json"]).json();
    assert_eq!(again["data"][0]["path"], format!("{name}/_._.._evil-3.txt"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
    posthaste.run(&["received", "get", "00000000-0000-4000-8000-000000000000"]).fails(5);
}

#[test]
fn the_checks_of_the_sender_are_set_and_shown() {
    let service = Service::start();
    let posthaste = service.posthaste();
    let checks = ["--spf", "pass", "--dkim", "gray", "--dmarc", "fail"];
    let receive: Vec<_> = ["sandbox", "receive", "-"].into_iter().chain(checks).collect();
    let id = posthaste.run_with(&receive, MAIL).ok();
    let shown = posthaste.run(&["received", "get", id.trim()]).ok();
    assert!(shown.contains("authentication  spf pass, dkim gray, dmarc fail\n"), "{shown}");
    let json = posthaste.run(&["received", "get", id.trim(), "--html-format", "cid", "--json"]).json();
    assert_eq!(json["authentication"], json!({"spf": "pass", "dkim": "gray", "dmarc": "fail"}));
    assert_eq!(json["html_format"], "cid");
    posthaste.run(&["sandbox", "receive", "mail.eml", "--spf", "good"]).fails(2);
    posthaste.run(&["received", "get", id.trim(), "--html-format", "inline"]).fails(2);
}

#[test]
fn a_mail_is_composed_from_flags() {
    let service = Service::start();
    let posthaste = service.posthaste();
    let file = posthaste.home().join("log.txt");
    fs::write(&file, "a log").unwrap();
    let flags =
        ["--from", "ada@example.com", "--to", "in@acme.test", "--subject", "Help", "--text", "It broke"];
    let mut arguments = vec!["sandbox", "receive"];
    arguments.extend(flags);
    arguments.extend(["--attach", file.to_str().unwrap()]);
    let id = posthaste.run(&arguments).ok();
    let email = posthaste.run(&["received", "get", id.trim(), "--json"]).json();
    assert_eq!((&email["subject"], &email["received_for"]), (&json!("Help"), &json!(["in@acme.test"])));
    assert_eq!(email["attachments"][0]["filename"], "log.txt");
    let stderr = posthaste.run(&["sandbox", "receive", "--from", "ada@example.com"]).fails(2);
    assert!(stderr.contains("--to") && stderr.contains("--subject"), "{stderr}");
    posthaste.run(&["sandbox", "receive", "/nowhere.eml"]).fails(2);
}
