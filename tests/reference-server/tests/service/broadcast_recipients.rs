//! `GET /broadcasts/{id}/recipients` and `GET /broadcasts/{id}/clicked-links`.

use idempost_reference_server::Settings;
use serde_json::{Value, json};

use crate::restarts::Restartable;
use crate::support::{Sandbox, UNKNOWN_ID, email_with};

/// Sends a broadcast. Returns its path.
fn broadcast(sandbox: &Sandbox, addresses: &[&str]) -> String {
    format!("/broadcasts/{}", sandbox.broadcast("s", addresses))
}

fn page(sandbox: &Sandbox, path: &str) -> Value {
    let answer = sandbox.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// The ID of the email to an address.
fn email_to(sandbox: &Sandbox, address: &str) -> String {
    sandbox.mails().iter().find(|mail| mail.to == [address]).unwrap().email_id.clone()
}

#[test]
fn recipients_are_listed_by_what_happened_to_them() {
    let sandbox = Sandbox::new();
    let all = [
        "ada@x.test",
        "opened@x.test",
        "clicked@x.test",
        "bounced@x.test",
        "complained@x.test",
        "suppressed@x.test",
    ];
    let path = broadcast(&sandbox, &all);
    // Emails outside of the broadcast are not among them.
    sandbox.sent(&email_with("to", "clicked@x.test"));
    sandbox.advance(100);
    let of = |kind: &str| {
        let mut found = sandbox.column(format!("{path}/recipients?type={kind}"), "email");
        found.sort_unstable();
        found
    };
    assert_eq!(
        of("sent"),
        ["ada@x.test", "bounced@x.test", "clicked@x.test", "complained@x.test", "opened@x.test"]
    );
    assert_eq!(of("delivered"), ["ada@x.test", "clicked@x.test", "complained@x.test", "opened@x.test"]);
    assert_eq!(of("opened"), ["clicked@x.test", "opened@x.test"]);
    assert_eq!(of("clicked"), ["clicked@x.test"]);
    assert_eq!(of("bounced"), ["bounced@x.test"]);
    assert_eq!(of("complained"), ["complained@x.test"]);
    assert_eq!(of("suppressed"), ["suppressed@x.test"]);
    assert_eq!(of("unsubscribed"), [""; 0]);
}

#[test]
fn items_have_the_fields_of_their_type() {
    let sandbox = Sandbox::new();
    let path = broadcast(&sandbox, &["ada@x.test"]);
    let contact = sandbox.get("/contacts/ada@x.test").json()["id"].clone();
    let email = email_to(&sandbox, "ada@x.test");
    for (kind, detail) in [
        ("opened", json!({})),
        ("opened", json!({})),
        ("clicked", json!({})),
        ("clicked", json!({ "link": "https://acme.test/docs" })),
        ("clicked", json!({ "link": "https://acme.test/docs" })),
        ("bounced", json!({ "type": "Transient" })),
    ] {
        sandbox.trigger(&email, kind, &detail);
    }
    let item = |kind: &str| {
        let mut items = sandbox.items(format!("{path}/recipients?type={kind}"));
        assert_eq!(items.len(), 1, "{kind}");
        let item = items[0].as_object_mut().unwrap();
        assert!(item.remove("id").unwrap().as_str().is_some_and(|id| !id.is_empty()));
        items.remove(0)
    };
    let ada = json!({ "contact_id": contact, "email": "ada@x.test" });
    let with = |more: &Value| {
        let fields = ada.as_object().unwrap().clone().into_iter().chain(more.as_object().unwrap().clone());
        Value::Object(fields.collect())
    };
    assert_eq!(item("delivered"), ada);
    assert_eq!(item("opened"), with(&json!({ "count": 2 })));
    assert_eq!(item("bounced"), with(&json!({ "bounce_type": "transient" })));
    let links = json!([{ "url": "https://acme.test/docs", "clicks": 2 }, { "url": "https://acme.test/pricing", "clicks": 1 }]);
    assert_eq!(item("clicked"), with(&json!({ "count": 3, "clicked_links": links })));
    assert_eq!(sandbox.delete("/contacts/ada@x.test").status, 200);
    assert_eq!(item("sent")["contact_id"], Value::Null);
}

#[test]
fn recipients_are_filtered_by_address_and_bounce_type() {
    let sandbox = Sandbox::new();
    let path = broadcast(
        &sandbox,
        &["ada@acme.test", "bounced+1@Acme.test", "bounced+2@other.test", "Eve@other.test"],
    );
    let found = |query: &str| sandbox.column(format!("{path}/recipients?{query}"), "email");
    assert_eq!(found("type=delivered&email=EVE"), ["Eve@other.test"]);
    assert_eq!(found("type=sent&email=acme").len(), 2);
    assert_eq!(found("type=bounced&email=acme&bounce_type=permanent"), ["bounced+1@Acme.test"]);
    assert_eq!(found("type=bounced&bounce_type=transient"), [""; 0]);
    sandbox.trigger(&email_to(&sandbox, "Eve@other.test"), "bounced", &json!({ "type": "Undetermined" }));
    assert_eq!(found("type=bounced&bounce_type=undetermined"), ["Eve@other.test"]);
    assert_eq!(found("type=bounced&bounce_type=permanent").len(), 2);
}

#[test]
fn recipients_are_paged_by_opaque_cursors_in_both_directions() {
    let sandbox = Sandbox::unread();
    let addresses: Vec<_> = (0..45).map(|n| format!("user{n:02}@x.test")).collect();
    let path = broadcast(&sandbox, &addresses.iter().map(String::as_str).collect::<Vec<_>>());
    for filter in ["", "&email=user"] {
        let path = format!("{path}/recipients?type=sent{filter}");
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = page(&sandbox, &format!("{path}{after}"));
            let items = page["data"].as_array().unwrap();
            found.extend(items.iter().map(|item| item["email"].as_str().unwrap().to_owned()));
            let last = items.last().unwrap()["id"].as_str().unwrap();
            if page["has_more"] == false {
                assert_eq!(items.len(), 5);
                let before = sandbox.column(format!("{path}&limit=3&before={last}"), "email");
                assert_eq!(before, found[41..44]);
                break;
            }
            assert_eq!(items.len(), 20, "the default page");
            after = format!("&after={last}");
        }
        let mut sorted = found.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, addresses, "each once");
    }
}

#[test]
fn clicked_links_are_listed_the_most_clicked_first() {
    let sandbox = Sandbox::new();
    let path = broadcast(&sandbox, &["ada@x.test", "bob@x.test", "clicked@x.test"]);
    let [ada, bob] = ["ada@x.test", "bob@x.test"].map(|address| email_to(&sandbox, address));
    for (email, link) in
        [(&ada, "docs"), (&ada, "docs"), (&ada, "docs"), (&bob, "docs"), (&bob, "pricing"), (&bob, "about")]
    {
        sandbox.trigger(email, "clicked", &json!({ "link": format!("https://acme.test/{link}") }));
    }
    let links = format!("{path}/clicked-links");
    let counts: Vec<_> = sandbox
        .items(&links)
        .iter()
        .map(|item| {
            (item["url"].as_str().unwrap().to_owned(), item["clicks"].clone(), item["unique_clicks"].clone())
        })
        .collect();
    let row = |path: &str, clicks: u64, unique: u64| {
        (format!("https://acme.test/{path}"), json!(clicks), json!(unique))
    };
    assert_eq!(counts, [row("docs", 4, 2), row("pricing", 2, 2), row("about", 1, 1)]);
    // A page continues after its link, although the order has changed.
    let first = page(&sandbox, &format!("{links}?limit=1"));
    assert_eq!(first["has_more"], true);
    let docs = first["data"][0]["id"].as_str().unwrap();
    for _ in 0..5 {
        sandbox.trigger(&bob, "clicked", &json!({ "link": "https://acme.test/about" }));
    }
    assert_eq!(sandbox.column(format!("{links}?after={docs}"), "url"), ["https://acme.test/pricing"]);
    assert_eq!(sandbox.column(format!("{links}?before={docs}"), "url"), ["https://acme.test/about"]);
}

#[test]
fn invalid_requests_are_rejected() {
    let sandbox = Sandbox::new();
    let path = broadcast(&sandbox, &["bounced@x.test", "clicked@x.test"]);
    let other = broadcast(&sandbox, &["ada@x.test"]);
    sandbox.get(format!("{path}/recipients")).rejected(
        422,
        "missing_required_parameter",
        "`type` is required",
    );
    for wrong in ["", "Sent", "failed", "received", "unique_opened"] {
        sandbox.get(format!("{path}/recipients?type={wrong}")).invalid("`type` must be one of `sent`");
    }
    sandbox.get(format!("{path}/recipients?type=sent&bounce_type=permanent")).invalid("`bounce_type`");
    sandbox.get(format!("{path}/recipients?type=bounced&bounce_type=hard")).invalid("`bounce_type`");
    let foreign = sandbox.column(format!("{other}/recipients?type=sent"), "id").remove(0);
    for list in ["recipients?type=sent&", "recipients?type=sent&email=x&", "clicked-links?"] {
        for cursor in [UNKNOWN_ID, "", "!", "b2Zmc2V0OjA", "AAAAAAAAAAAAAAAAAAAAAA", &foreign] {
            for direction in ["after", "before"] {
                sandbox.get(format!("{path}/{list}{direction}={cursor}")).invalid(&format!("`{direction}`"));
            }
        }
        let unknown = sandbox.get(format!("{path}/{list}after={foreign}"));
        unknown.invalid(&format!("there is none with the id {foreign}"));
        sandbox.get(format!("{path}/{list}limit=0")).invalid("`limit`");
    }
    for list in ["recipients?type=sent", "recipients", "clicked-links"] {
        let answer = sandbox.get(format!("/broadcasts/{UNKNOWN_ID}/{list}"));
        answer.rejected(404, "not_found", "Broadcast not found.");
        assert_eq!(sandbox.get(format!("/broadcasts/x/{list}")).status, 422);
    }
}

#[test]
fn a_draft_has_neither_recipients_nor_links() {
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({ "name": "s" }));
    let message = json!({ "segment_id": segment, "from": "news@acme.test", "subject": "s", "html": "x" });
    let id = sandbox.created("/broadcasts", &message);
    for list in ["recipients?type=sent", "clicked-links"] {
        let empty = json!({ "object": "list", "data": [], "has_more": false });
        assert_eq!(page(&sandbox, &format!("/broadcasts/{id}/{list}")), empty);
    }
}

#[test]
fn evicted_emails_leave_the_lists() {
    let sandbox = Sandbox::with(&Settings { keep_mails: 3, ..Settings::default() });
    let path = broadcast(&sandbox, &["clicked+1@x.test", "clicked+2@x.test"]);
    let listed = || {
        let links = sandbox.items(format!("{path}/clicked-links"));
        (
            sandbox.items(format!("{path}/recipients?type=clicked")).len(),
            links.first().map(|link| link["clicks"].clone()),
        )
    };
    assert_eq!(listed(), (2, Some(json!(2))));
    for left in [2, 1, 0] {
        sandbox.sent(&email_with("to", "ada@x.test"));
        assert_eq!(listed(), (left, (left > 0).then(|| json!(left))));
    }
}

#[test]
fn recipients_and_links_survive_a_restart() {
    let mut sandbox = Restartable::new();
    let path = broadcast(&sandbox, &["clicked@x.test", "bounced@x.test", "ada@x.test"]);
    sandbox.trigger(&email_to(&sandbox, "ada@x.test"), "bounced", &json!({ "type": "Transient" }));
    let lists =
        ["recipients?type=sent", "recipients?type=clicked", "recipients?type=bounced", "clicked-links"];
    let read = |sandbox: &Sandbox| lists.map(|list| page(sandbox, &format!("{path}/{list}")));
    let before = read(&sandbox);
    sandbox.restart();
    assert_eq!(read(&sandbox), before);
}
