//! Contacts, their segments, and audiences, the former name of segments.

use serde_json::{Value, json};

use crate::support::{Sandbox, UNKNOWN_ID, expect_fields_of};

fn contact(sandbox: &Sandbox, email: &str) -> String {
    sandbox.created("/contacts", &json!({ "email": email }))
}

fn keys(item: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = item.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn data(sandbox: &Sandbox, path: &str) -> Value {
    sandbox.get(path).json()["data"].clone()
}

#[test]
fn a_contact_is_referred_to_by_id_or_address() {
    // CONT-01, CONT-02
    let sandbox = Sandbox::new();
    for (email, segment) in [
        ("ada@example.com", "ada@example.com"),
        ("a+b/c#d%e?f@x.test", "A%2BB%2Fc%23d%25e%3Ff%40x.test"),
        ("%2e@x.test", "%252e@x.test"),
        ("a&b=c@x.test", "a%26b%3Dc%40x.test"),
    ] {
        let id = sandbox.created("/contacts", &json!({ "email": email, "first_name": "Ada" }));
        let (by_id, by_address) = (format!("/contacts/{id}"), format!("/contacts/{segment}"));
        let shown = sandbox.get(&by_id).json();
        assert_eq!(shown["email"], email);
        assert_eq!(sandbox.get(&by_address).json(), shown);
        let all = "created_at email first_name id last_name object properties unsubscribed";
        assert_eq!(keys(&shown), all.split(' ').collect::<Vec<_>>());
        let changed = sandbox.patch(&by_address, &json!({ "first_name": null, "unsubscribed": true }));
        assert_eq!(changed.json(), json!({ "object": "contact", "id": id }));
        let shown = sandbox.get(&by_id).json();
        assert_eq!(shown["first_name"], Value::Null);
        assert_eq!(shown["unsubscribed"], true);
        let deleted = json!({ "object": "contact", "contact": id, "deleted": true });
        assert_eq!(sandbox.delete(&by_id).json(), deleted);
        sandbox.delete(&by_id).rejected(404, "not_found", "");
    }
    for unknown in [UNKNOWN_ID, "nobody@example.com", "nobody", "a%2Fb", "..x", "%20"] {
        sandbox.get(format!("/contacts/{unknown}")).rejected(404, "not_found", "");
    }
}

#[test]
fn an_address_identifies_one_contact() {
    let sandbox = Sandbox::new();
    let first = sandbox.created("/contacts", &json!({ "email": "Ada@Example.com", "first_name": "Ada" }));
    let again = sandbox.post("/contacts", &json!({ "email": "ada@example.com", "last_name": "L" }));
    assert_eq!(again.json()["id"], json!(first), "{}", again.text());
    let ada = sandbox.get(format!("/contacts/{first}")).json();
    expect_fields_of(&json!({ "first_name": "Ada", "last_name": "L" }), &ada);
    assert_eq!(data(&sandbox, "/contacts").as_array().unwrap().len(), 1);

    contact(&sandbox, "bob@example.com");
    sandbox.patch("/contacts/bob@example.com", &json!({ "email": "ADA@example.com" })).expect_status(409);
    sandbox.patch("/contacts/bob@example.com", &json!({ "email": "cyd@example.com" })).expect_status(200);
    assert_eq!(sandbox.get("/contacts/bob@example.com").status, 404);
    assert_eq!(sandbox.get("/contacts/cyd@example.com").json()["email"], "cyd@example.com");
}

#[test]
fn properties_are_merged_and_null_removes_one() {
    let sandbox = Sandbox::new();
    sandbox.created("/contact-properties", &json!({ "key": "city", "type": "string" }));
    sandbox.created("/contact-properties", &json!({ "key": "orders", "type": "number" }));
    let ada = json!({ "email": "ada@example.com", "properties": { "city": "London", "orders": 3 } });
    let path = format!("/contacts/{}", sandbox.created("/contacts", &ada));
    let change = |properties: Value| {
        assert_eq!(sandbox.patch(&path, &json!({ "properties": properties })).status, 200);
        sandbox.get(&path).json()["properties"].clone()
    };
    let (city, orders) =
        (json!({ "type": "string", "value": "London" }), json!({ "type": "number", "value": 4.5 }));
    assert_eq!(change(json!({ "orders": 4.5 })), json!({ "city": city, "orders": orders }));
    assert_eq!(change(json!({ "city": null })), json!({ "orders": orders }));
    for properties in [json!({ "town": "x" }), json!({ "city": 1 }), json!({ "orders": "many" })] {
        let answer = sandbox.post("/contacts", &json!({ "email": "b@x.test", "properties": properties }));
        answer.invalid("");
    }
}

#[test]
fn an_invalid_contact_is_rejected() {
    let sandbox = Sandbox::new();
    sandbox.post("/contacts", &json!({ "first_name": "Ada" })).invalid("Missing `email`");
    let nameless = json!({ "email": "ada@example.com", "segments": [{ "name": "x" }] });
    sandbox.post("/contacts", &nameless).invalid("Missing `segments[0].id`");
    for (field, value) in [
        ("email", json!(1)),
        ("email", json!("nobody")),
        ("email", json!("Ada <ada@example.com>")),
        ("first_name", json!(1)),
        ("first_name", json!("A\nda")),
        ("unsubscribed", json!("yes")),
        ("properties", json!(["x"])),
        ("properties", json!({ "city": [true] })),
        ("segments", json!("x")),
        ("segments", json!(["x"])),
        ("segments", json!([{ "id": UNKNOWN_ID }])),
        ("topics", json!([{ "id": UNKNOWN_ID, "subscription": "maybe" }])),
        ("topics", json!([{ "id": UNKNOWN_ID, "subscription": "opt_in" }])),
        ("audience_id", json!(UNKNOWN_ID)),
    ] {
        let mut body = json!({ "email": "ada@example.com" });
        body[field] = value;
        sandbox.post("/contacts", &body).invalid(field);
    }
    assert_eq!(data(&sandbox, "/contacts"), json!([]), "no contact was created");
}

#[test]
fn membership_is_the_same_from_both_sides() {
    // CONT-06, SEG-01, SEG-02, SEG-03
    let sandbox = Sandbox::new();
    let segment = sandbox.created("/segments", &json!({ "name": "Weekly" }));
    let [ada, bob] = ["ada@example.com", "bob@example.com"].map(|email| {
        sandbox.created("/contacts", &json!({ "email": email, "segments": [{ "id": segment }] }))
    });
    let members = data(&sandbox, &format!("/segments/{segment}/contacts"));
    assert_eq!((&members[0]["id"], &members[1]["id"]), (&json!(bob), &json!(ada)), "newest first");
    assert_eq!(keys(&members[0]), ["created_at", "email", "first_name", "id", "last_name", "unsubscribed"]);
    assert_eq!(data(&sandbox, &format!("/contacts?segment_id={segment}")), members);
    for (member, id) in [(&members[0], &bob), (&members[1], &ada)] {
        let record = sandbox.get(format!("/contacts/{id}")).json();
        expect_fields_of(member, &record);
    }

    let path = format!("/contacts/ada%40example.com/segments/{segment}");
    let mut membership =
        json!({ "object": "contact_segment", "id": segment, "contact_id": ada, "segment_id": segment });
    let added = membership.clone();
    membership["deleted"] = json!(true);
    assert_eq!(sandbox.delete(&path).json(), membership);
    sandbox.delete(&path).rejected(404, "not_found", "");
    assert_eq!(data(&sandbox, &format!("/contacts/{ada}/segments")), json!([]));
    assert_eq!(data(&sandbox, &format!("/segments/{segment}/contacts")), json!([members[0]]));
    for _ in 0..2 {
        assert_eq!(sandbox.act(&path).json(), added);
    }
    let segments = data(&sandbox, &format!("/contacts/{ada}/segments"));
    assert_eq!(keys(&segments[0]), ["created_at", "id", "name"]);
    assert_eq!(segments, data(&sandbox, "/segments"));
    let join = |id: &str| sandbox.act(format!("/contacts/{ada}/segments/{id}"));
    join(UNKNOWN_ID).rejected(404, "not_found", "");
    join("x").rejected(422, "invalid_parameter", "");
    sandbox.get(format!("/contacts?segment_id={UNKNOWN_ID}")).invalid("segment_id");
}

#[test]
fn segments_are_created_renamed_and_deleted_and_their_contacts_stay() {
    let sandbox = Sandbox::new();
    let made = sandbox.post("/segments", &json!({ "name": "Monthly" }));
    assert_eq!((made.status.as_u16(), keys(&made.json())), (201, vec!["id", "name", "object"]));
    let segment = made.id();
    let ada = json!({ "email": "ada@example.com", "segments": [{ "id": segment }] });
    let ada = sandbox.created("/contacts", &ada);
    let path = format!("/segments/{segment}");
    assert_eq!(sandbox.patch(&path, &json!({ "name": "Daily" })).status, 200);
    assert_eq!(sandbox.get(&path).json()["name"], "Daily");
    assert_eq!(sandbox.delete(&path).json()["deleted"], true);
    assert_eq!(sandbox.delete(format!("/segments/{UNKNOWN_ID}")).json()["deleted"], true, "like Resend");
    sandbox.get(&path).rejected(404, "not_found", "");
    assert_eq!(data(&sandbox, "/contacts")[0]["id"], json!(ada));
    assert_eq!(data(&sandbox, &format!("/contacts/{ada}/segments")), json!([]));
    sandbox.post("/segments", &json!({})).invalid("Missing `name`");
    for name in ["", " "] {
        sandbox.post("/segments", &json!({ "name": name })).invalid("name");
    }
    sandbox.get("/segments/x").rejected(422, "invalid_parameter", "");
}

#[test]
fn audiences_are_segments_under_their_former_name() {
    // AUD-01, AUD-03, VER-01
    let sandbox = Sandbox::new();
    let [audience, other] =
        ["Weekly", "Monthly"].map(|name| sandbox.created("/segments", &json!({ "name": name })));
    assert_eq!(sandbox.get("/audiences").json(), sandbox.get("/segments").json());
    let old = sandbox.created("/contacts", &json!({ "email": "old@x.test", "audience_id": audience }));

    let contacts = format!("/audiences/{audience}/contacts");
    let made = sandbox
        .post(&contacts, &json!({ "email": "new@example.com", "first_name": "New", "last_name": "Er" }));
    assert_eq!((made.status.as_u16(), keys(&made.json())), (201, vec!["id", "object"]));
    let id = made.id();
    let list = sandbox.get(&contacts).json();
    let member = |id: &str, email: &str, [first, last]: [Option<&str>; 2]| {
        json!({ "id": id, "email": email, "first_name": first, "last_name": last, "unsubscribed": false,
            "created_at": "2026-03-02 12:00:00.000000+00" })
    };
    let members =
        [member(&id, "new@example.com", [Some("New"), Some("Er")]), member(&old, "old@x.test", [None; 2])];
    assert_eq!(list, json!({ "object": "list", "data": members, "has_more": false }));
    for path in [format!("/segments/{audience}/contacts"), "/contacts".to_owned()] {
        assert_eq!(data(&sandbox, &path), json!(members), "{path}");
    }
    for name in [id.as_str(), "new%40example.com"] {
        let one = format!("{contacts}/{name}");
        let changed = sandbox.patch(&one, &json!({ "last_name": "Reader" }));
        assert_eq!(changed.json(), json!({ "object": "contact", "id": id }), "{}", changed.text());
        assert_eq!(sandbox.get(&one).json(), sandbox.get(format!("/contacts/{id}")).json());
        assert_eq!(sandbox.get(&one).json()["last_name"], "Reader");
        // In another audience it is not found, and not changed.
        let elsewhere = format!("/audiences/{other}/contacts/{name}");
        sandbox.get(&elsewhere).rejected(404, "not_found", "");
        sandbox.patch(&elsewhere, &json!({})).rejected(404, "not_found", "");
        assert_eq!(sandbox.delete(&elsewhere).status, 200);
        assert_eq!(sandbox.get(&one).status, 200);
    }
    for _ in 0..2 {
        let deleted = sandbox.delete(format!("{contacts}/new%40example.com"));
        let document = json!({ "object": "contact", "contact": "new@example.com", "deleted": true });
        assert_eq!(deleted.expect_status(200).json(), document);
    }
    sandbox.get(format!("/contacts/{id}")).rejected(404, "not_found", "");
    let nowhere = format!("/audiences/{UNKNOWN_ID}/contacts");
    sandbox.post(&nowhere, &json!({ "email": "a@b.test" })).rejected(404, "not_found", "");
}
