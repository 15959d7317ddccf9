//! Threads: how mails find theirs, folders, labels, lists and the search.

use http::Method;
use serde_json::{Value, json};

use super::{
    ADDRESS, UNKNOWN_ID, column, events, id_of, kinds, receive, receive_from, subjects, subscribe, with_inbox,
};
use crate::support::{Answer, Sandbox, expect_fields_of, race};

const DAY: u64 = 86_400;

fn thread(sandbox: &Sandbox, inbox: &str, subject: &str) -> String {
    let all = sandbox.items(format!("{inbox}/threads?folders=inbox,archive,spam,sent,trash"));
    let thread = all.iter().find(|thread| thread["subject"] == subject).unwrap();
    format!("{inbox}/threads/{}", id_of(thread))
}

fn put(sandbox: &Sandbox, path: &str, body: &Value) -> Answer {
    sandbox.ask(Method::PUT, path).json(body)
}

#[test]
fn a_mail_joins_the_thread_that_it_refers_to() {
    let (sandbox, inbox) = with_inbox();
    let first = ["From: ada@example.com", "Subject: Invoice", "Message-ID: <1@example.com>"];
    receive(&sandbox, &first, "one");
    let by_reply = [
        "From: bob@example.com",
        "Subject: New subject",
        "Message-ID: <2@example.com>",
        "In-Reply-To: <1@example.com>",
    ];
    receive(&sandbox, &by_reply, "two");
    let by_reference = [
        "From: eve@example.com",
        "Subject: x",
        "References: <0@x.test>\r\n <2@example.com> <unknown@x.test>",
    ];
    receive(&sandbox, &by_reference, "three");
    let by_subject = ["From: Bob <BOB@example.com>", "Subject: RE: Fwd: invoice"];
    receive(&sandbox, &by_subject, "four");
    let stranger = ["From: mallory@example.com", "Subject: Re: Invoice"];
    receive(&sandbox, &stranger, "five");
    let not_an_answer = ["From: ada@example.com", "Subject: Invoice", "Message-ID: <6@example.com>"];
    receive(&sandbox, &not_an_answer, "six");

    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads")), ["Invoice", "Re: Invoice", "Invoice"]);
    assert_eq!(column(&sandbox, &format!("{inbox}/threads"), "email_count"), [1, 1, 4]);
    let path = format!("{inbox}/threads/{}", id_of(&sandbox.items(format!("{inbox}/threads"))[2]));
    let texts = sandbox.column(format!("{path}/emails"), "text");
    assert_eq!(texts, ["one\r\n", "two\r\n", "three\r\n", "four\r\n"], "oldest first");
    assert_eq!(sandbox.get(&inbox).json()["unread"], 3, "unread threads");
}

#[test]
fn the_emails_of_a_thread_are_paged_from_the_oldest() {
    let (sandbox, inbox) = with_inbox();
    for n in 1..=5 {
        receive(&sandbox, &["From: ada@example.com", "Subject: Re: x"], &n.to_string());
    }
    let emails = format!("{}/emails", thread(&sandbox, &inbox, "Re: x"));
    let page = |query: &str| {
        let page = sandbox.get(format!("{emails}?{query}"));
        (page.column("text").concat().replace("\r\n", ""), page.json()["has_more"].as_bool().unwrap())
    };
    let ids: Vec<_> = sandbox.items(&emails).iter().map(id_of).collect();
    assert_eq!(page("limit=2"), ("12".to_owned(), true));
    assert_eq!(page(&format!("limit=2&after={}", ids[1])), ("34".to_owned(), true));
    assert_eq!(page(&format!("after={}", ids[3])), ("5".to_owned(), false));
    assert_eq!(page(&format!("limit=3&before={}", ids[4])), ("234".to_owned(), true));
    sandbox.get(format!("{emails}?after={UNKNOWN_ID}")).invalid("`after`");
    let one = sandbox.get(format!("{emails}/{}", ids[2])).json();
    expect_fields_of(&json!({"text": "3\r\n", "direction": "inbound", "read": false}), &one);
    for path in [format!("{emails}/{UNKNOWN_ID}"), format!("{inbox}/threads/{UNKNOWN_ID}/emails")] {
        sandbox.get(path).rejected(404, "not_found", "not found");
    }
}

#[test]
fn the_hundredth_email_is_the_last_of_its_thread() {
    let (sandbox, inbox) = with_inbox();
    for _ in 0..101 {
        receive(&sandbox, &["From: ada@example.com", "Subject: Re: x"], "y");
    }
    let counts = column(&sandbox, &format!("{inbox}/threads"), "email_count");
    assert_eq!(counts, [json!(1), json!(100)]);
}

#[test]
fn threads_move_between_folders_and_count_as_unread_in_the_inbox_only() {
    let (sandbox, inbox) = with_inbox();
    subscribe(&sandbox);
    receive_from(&sandbox, "ada@example.com", "One", "x");
    receive_from(&sandbox, "bob@example.com", "Two", "xy");
    events(&sandbox);
    let (one, two) = (thread(&sandbox, &inbox, "One"), thread(&sandbox, &inbox, "Two"));
    let unread = || sandbox.get(&inbox).json()["unread"].clone();
    assert_eq!(unread(), 2);
    let shown = sandbox.patch(&one, &json!({ "read": true })).json();
    let id = one.rsplit('/').next().unwrap();
    let expected = json!({ "object": "inbox_thread", "id": id, "subject": "One", "folder": "inbox", "labels": [], "read": true });
    assert_eq!(shown, expected);
    assert_eq!(column(&sandbox, &format!("{one}/emails"), "read"), [json!(true)]);
    assert!(events(&sandbox).is_empty(), "reading is no event");
    assert_eq!(sandbox.patch(&two, &json!({ "folder": "archive" })).json()["folder"], "archive");
    assert_eq!(unread(), 0);
    let seen = events(&sandbox);
    assert_eq!(kinds(&seen), ["inbox.thread.folder.updated"]);
    assert_eq!((&seen[0].1["from"], &seen[0].1["to"]), (&json!("inbox"), &json!("archive")));
    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads")), ["One"]);
    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads?folders=archive&read=false")), ["Two"]);
    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads?folders=inbox&folders=archive")), ["Two", "One"]);
    assert!(subjects(&sandbox, &format!("{inbox}/threads?read=false")).is_empty());

    receive_from(&sandbox, "bob@example.com", "Re: Two", "more");
    let listed = subjects(&sandbox, &format!("{inbox}/threads"));
    assert_eq!(listed, ["Two", "One"], "an answer returns it to the inbox");
    assert_eq!(unread(), 1);
    sandbox.patch(&two, &json!({ "folder": "spam" }));
    receive_from(&sandbox, "bob@example.com", "Re: Two", "again");
    assert_eq!(sandbox.get(&two).json()["folder"], "spam", "but not from spam");
    for (body, part) in [
        (json!({ "folder": "sent" }), "`folder` must be one of"),
        (json!({}), "at least one of `read`, `folder`"),
        (json!({ "read": "yes" }), "`read` must be a boolean"),
    ] {
        sandbox.patch(&one, &body).invalid(part);
    }
}

#[test]
fn a_thread_is_deleted_thirty_days_after_it_was_moved_to_the_trash() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "One", "x");
    let one = thread(&sandbox, &inbox, "One");
    let id = one.rsplit('/').next().unwrap().to_owned();
    let reply = json!({ "text": "later", "thread_id": id, "reply_to_email_id": column(&sandbox, &format!("{one}/emails"), "id")[0] });
    sandbox.created(&format!("{inbox}/drafts"), &reply);
    let gone = |deleted| json!({ "object": "inbox_thread", "id": id, "deleted": deleted });
    assert_eq!(sandbox.delete(&one).json(), gone(true));
    assert_eq!(sandbox.delete(&one).json(), gone(false), "it was there");
    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads?folders=trash")), ["One"]);

    sandbox.advance(29 * DAY);
    assert_eq!(sandbox.patch(&one, &json!({ "folder": "inbox" })).status, 200);
    sandbox.advance(2 * DAY);
    assert_eq!(sandbox.get(&one).status, 200, "it was restored in time");
    sandbox.delete(&one);
    sandbox.advance(30 * DAY - 1);
    assert_eq!(sandbox.get(&one).status, 200);
    assert_eq!(sandbox.get(&inbox).json()["drafts"], 1);
    sandbox.advance(1);
    sandbox.get(&one).rejected(404, "not_found", "Thread not found");
    assert_eq!(sandbox.get(&inbox).json()["drafts"], 0, "its drafts are deleted, too");
    assert!(sandbox.items(format!("{inbox}/drafts")).is_empty());
}

#[test]
fn labels_are_unique_ignoring_case_and_filter_threads() {
    let (sandbox, inbox) = with_inbox();
    subscribe(&sandbox);
    let labels = format!("{inbox}/labels");
    let urgent = sandbox.created(&labels, &json!({ "name": "Urgent", "color": "#ab12ef" }));
    let later = sandbox.created(&labels, &json!({ "name": "Later" }));
    sandbox.post(&labels, &json!({ "name": "URGENT" })).invalid("must be unique");
    sandbox.post(&labels, &json!({ "name": "x", "color": "red" })).invalid("`color` must be a color");
    assert_eq!(sandbox.column(&labels, "name"), ["Urgent", "Later"], "oldest first");
    assert_eq!(sandbox.get(&labels).json().get("has_more"), None);
    assert_eq!(sandbox.items(&labels)[0]["color"], "#AB12EF");
    sandbox.patch(format!("{labels}/{later}"), &json!({ "name": "LATER" }));
    sandbox.patch(format!("{labels}/{later}"), &json!({ "name": "urgent" })).invalid("unique");

    for (from, subject) in
        [("ada@example.com", "One"), ("bob@example.com", "Two"), ("eve@example.com", "Three")]
    {
        receive_from(&sandbox, from, subject, subject);
    }
    events(&sandbox);
    let (one, two) = (thread(&sandbox, &inbox, "One"), thread(&sandbox, &inbox, "Two"));
    let added = sandbox.post(&format!("{one}/labels"), &json!({ "labels": [urgent, later] }));
    assert_eq!(added.json()["data"].as_array().unwrap().len(), 2);
    sandbox.post(&format!("{two}/labels"), &json!({ "labels": [later] }));
    let seen = events(&sandbox);
    assert_eq!(kinds(&seen), ["inbox.thread.labels.updated"; 3], "one label an event");
    let shown = json!([{ "id": later, "name": "LATER", "color": seen[2].1["added"][0]["color"] }]);
    assert_eq!((&seen[2].1["added"], &seen[2].1["removed"]), (&shown, &json!([])));
    assert_eq!(seen[2].1["thread"], sandbox.get(&two).json());
    let labeled = |ids: &str| subjects(&sandbox, &format!("{inbox}/threads?labels={ids}"));
    assert_eq!(labeled(&urgent), ["One"]);
    assert_eq!(labeled(&format!("{urgent},{later}")), ["Two", "One"], "any of them, each thread once");
    sandbox.patch(&one, &json!({ "folder": "archive" }));
    assert_eq!(labeled(&urgent), ["One"], "labels search the archive, too");
    sandbox.patch(&one, &json!({ "folder": "trash" }));
    assert!(labeled(&urgent).is_empty());
    for empty in ["folders=", "labels=", "folders=,&labels="] {
        assert_eq!(subjects(&sandbox, &format!("{inbox}/threads?{empty}")), ["Three", "Two"], "{empty}");
    }
    sandbox.get(format!("{inbox}/threads?labels={UNKNOWN_ID}")).rejected(404, "not_found", "Label not found");

    let left = sandbox.delete(format!("{one}/labels/{later}")).json();
    let urgent_only = json!([{ "id": urgent, "name": "Urgent", "color": "#AB12EF" }]);
    assert_eq!(left, json!({ "object": "list", "data": urgent_only }));
    sandbox.delete(format!("{one}/labels/{later}")).rejected(404, "not_found", "Label");
    let replace =
        |labels: &[&str]| put(&sandbox, &format!("{one}/labels"), &json!({ "labels": labels })).ids();
    assert_eq!(replace(&[&later]), [&*later]);
    assert_eq!(replace(&[]), [""; 0]);
    for body in
        [json!({ "labels": [] }), json!({ "labels": vec![&urgent; 11] }), json!({ "labels": [UNKNOWN_ID] })]
    {
        sandbox.post(&format!("{one}/labels"), &body).invalid("labels");
    }
    assert_eq!(sandbox.delete(format!("{labels}/{later}")).json()["deleted"], true);
    assert_eq!(sandbox.get(&two).json()["labels"], json!([]), "a deleted label is no longer shown");
}

#[test]
fn labels_that_are_added_at_the_same_time_all_stay() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "One", "x");
    let one = thread(&sandbox, &inbox, "One");
    let [first, second] =
        ["a", "b"].map(|name| sandbox.created(&format!("{inbox}/labels"), &json!({ "name": name })));
    let add = |label: &str| drop(sandbox.post(&format!("{one}/labels"), &json!({ "labels": [label] })));
    for round in 0..300 {
        put(&sandbox, &format!("{one}/labels"), &json!({ "labels": [] })).expect_status(200);
        race(|| add(&first), || add(&second));
        let labels = sandbox.get(&one).json()["labels"].clone();
        assert_eq!(labels.as_array().unwrap().len(), 2, "{round}");
    }
}

#[test]
fn a_label_of_another_inbox_is_unknown() {
    let (sandbox, inbox) = with_inbox();
    let other = sandbox.created("/inboxes", &json!({ "email_address": "sales@acme.test" }));
    let label = sandbox.created(&format!("/inboxes/{other}/labels"), &json!({ "name": "Urgent" }));
    sandbox.created(&format!("{inbox}/labels"), &json!({ "name": "Urgent" }));
    receive_from(&sandbox, "ada@example.com", "One", "x");
    let one = thread(&sandbox, &inbox, "One");
    let answer = sandbox.post(&format!("{one}/labels"), &json!({ "labels": [label] }));
    answer.invalid(&format!("label of this inbox; found {label}"));
    for path in [format!("{inbox}/labels/{label}"), one.replace(&inbox, &format!("/inboxes/{other}"))] {
        sandbox.delete(&path).rejected(404, "not_found", "not found");
    }
}

#[test]
fn a_search_finds_words_phrases_addresses_and_dates() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "Invoice 7", "The amount is  due\r\ntomorrow.");
    sandbox.advance(DAY);
    receive_from(&sandbox, "Bob <bob@example.org>", "Order", "No invoice yet");
    let html = ["From: eve@example.com", "Subject: Newsletter", "Content-Type: text/html"];
    receive(&sandbox, &html, "<p>Our <b>Grand</b> sale</p>");
    let file = [
        "From: joe@example.com",
        "Subject: Files",
        "MIME-Version: 1.0",
        "Content-Type: multipart/mixed; boundary=b",
    ];
    receive(
        &sandbox,
        &file,
        "--b\r\nContent-Type: text/plain\r\n\r\nsee file\r\n--b\r\nContent-Type: application/pdf; name=terms.pdf\r\n\
        Content-Disposition: attachment; filename=terms.pdf\r\n\r\nx\r\n--b--",
    );
    let found = |query: &str| subjects(&sandbox, &format!("{inbox}/threads/search?{query}"));
    assert_eq!(found("query=INVOICE"), ["Order", "Invoice 7"]);
    assert_eq!(found("query=invoice+-order"), ["Invoice 7"]);
    assert_eq!(found("query=%22is+due+tomorrow%22"), ["Invoice 7"], "a phrase across lines");
    assert_eq!(found("query=%22due+is%22"), Vec::<String>::new());
    assert_eq!(found("query=grand+sale"), ["Newsletter"], "the text of HTML");
    assert_eq!(found("query=terms.pdf"), ["Files"], "the name of an attachment");
    assert_eq!(found("has_attachment=true"), ["Files"]);
    assert_eq!(found("from=bob,ada"), ["Order", "Invoice 7"], "any of them");
    assert_eq!(found("from=bob&query=amount"), Vec::<String>::new(), "all conditions");
    assert_eq!(found("to=SUPPORT@acme&end_date=2026-03-02"), ["Invoice 7"]);
    assert_eq!(found("start_date=2026-03-03&read=false&query=e"), ["Files", "Newsletter", "Order"]);
    assert_eq!(found("end_date=2026-03-02T12:00:00Z"), ["Invoice 7"], "on or before");
    assert_eq!(found("limit=2").len(), 2);

    let hit = sandbox.items(format!("{inbox}/threads/search?query=amount")).remove(0);
    let path = format!("{inbox}/threads/{}/emails", id_of(&hit));
    assert_eq!(hit["matched_email_id"], column(&sandbox, &path, "id")[0]);
    assert_eq!(sandbox.items(format!("{inbox}/threads/search"))[0]["matched_email_id"], Value::Null);
    let pages = |query: &str| {
        let page = sandbox.get(format!("{inbox}/threads/search?query=e&{query}"));
        (page.column("subject"), page.json()["has_more"].clone())
    };
    let second = id_of(&sandbox.items(format!("{inbox}/threads/search?query=e"))[1]);
    assert_eq!(pages(&format!("limit=1&after={second}")), (vec!["Order".to_owned()], json!(true)));
    assert_eq!(pages(&format!("before={second}")), (vec!["Files".to_owned()], json!(false)));
    for longest in
        ["x".repeat(256), "x+".repeat(32)].map(|query| format!("query={query}&from=x{}", ",x".repeat(19)))
    {
        sandbox.get(format!("{inbox}/threads/search?{longest}")).expect_status(200);
    }
    for (query, part) in [
        (format!("query={}", "x".repeat(257)), "found 257 characters"),
        (format!("query={}", "x+".repeat(33)), "33 words"),
        (format!("from={}", "x,".repeat(21)), "`from` must have at most 20 values; found 21"),
        ("start_date=yesterday".to_owned(), "`start_date` must be a date"),
        ("folders=attic".to_owned(), "`folders` must be one of"),
        ("has_attachment=1".to_owned(), "`has_attachment` must be one of `true`, `false`"),
    ] {
        sandbox.get(format!("{inbox}/threads/search?{query}")).invalid(part);
    }
}

#[test]
fn a_search_examines_a_thousand_threads_at_most() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "Needle", "x");
    for n in 0..1_000 {
        let headers = ["From: bob@example.com", &format!("Subject: Hay {n}"), &format!("To: {ADDRESS}")];
        receive(&sandbox, &headers, "x");
    }
    assert!(sandbox.items(format!("{inbox}/threads/search?query=needle")).is_empty());
    sandbox.patch(thread(&sandbox, &inbox, "Hay 999"), &json!({ "folder": "archive" }));
    assert_eq!(subjects(&sandbox, &format!("{inbox}/threads/search?query=needle")), ["Needle"]);
}

#[test]
fn unread_threads_are_counted_exactly_under_concurrent_changes() {
    let (sandbox, inbox) = with_inbox();
    receive_from(&sandbox, "ada@example.com", "Invoice", "x");
    let thread = format!("{inbox}/threads/{}", id_of(&sandbox.items(format!("{inbox}/threads"))[0]));
    for _ in 0..50 {
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (sandbox, thread) = (&sandbox, &thread);
                scope.spawn(move || {
                    for step in 0..20 {
                        sandbox.patch(thread, &json!({ "read": (worker + step) % 2 == 0 }));
                    }
                });
            }
        });
        sandbox.patch(&thread, &json!({ "read": true }));
        assert_eq!(sandbox.get(&inbox).json()["unread"], 0);
    }
}
