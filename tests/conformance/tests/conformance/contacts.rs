//! Contacts, their segments, and audiences, the former name of segments.

use futures_util::TryStreamExt as _;
use http::Method;
use idempost::{
    Client, ContactId, Error, SegmentId,
    contacts::{ContactPatch, NewContact},
};
use idempost_conformance::bench::{Bench, EXPECT, Expect, Reply};
use serde_json::{Value, json};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

/// A bench with a segment of `count` contacts; their IDs, newest first.
async fn crowd(n: usize) -> (Bench, Client, SegmentId, Vec<String>) {
    let bench = Bench::start().await;
    let client = bench.client();
    let segment = client.segments().create("Weekly").await.unwrap().id;
    let mut ids = Vec::new();
    for i in 0..n {
        let contact = NewContact::new(format!("person{i}@example.com")).segment(&segment);
        ids.insert(0, client.contacts().create(&contact).await.unwrap().id.as_str().to_owned());
    }
    (bench, client, segment, ids)
}

fn ids(list: &Value) -> Vec<String> {
    list["data"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn keys(item: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = item.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn refused(reply: &Reply, status: u16, name: &str) {
    assert_eq!((reply.status.as_u16(), reply.name()), (status, name), "{}", reply.message());
}

fn send(bench: &Bench, method: Method, path: &str, body: &Value, expect: Option<Expect>) -> Reply {
    let mut request = bench.request(method, path).header("content-type", "application/json");
    if let Some(expect) = expect {
        request = request.header(idempost_conformance::bench::EXPECT, expect.as_str());
    }
    bench.ask(request, if body.is_null() { String::new() } else { body.to_string() })
}

#[tokio::test]
async fn a_contact_is_referred_to_by_id_or_address() {
    // CONT-01, CONT-02
    let bench = Bench::start().await;
    let client = bench.client();
    for email in ["ada@example.com", "a+b/c#d%e?f@x.test", "%2e@x.test", "a&b=c@x.test"] {
        let id = client.contacts().create(&NewContact::new(email).first_name("Ada")).await.unwrap().id;
        let by_id = client.contacts().get(&id).await.unwrap();
        let by_address = client.contacts().get(email).await.unwrap();
        assert_eq!((&by_id.id, by_address.email.as_str()), (&by_address.id, email));
        let shouted = client.contacts().get(email.to_ascii_uppercase().as_str()).await.unwrap();
        assert_eq!(shouted.id, id, "addresses are case-insensitive");
        let raw = bench.get(&format!("/contacts/{}", idempost::problem::path_segment(email).unwrap())).json;
        assert_eq!(
            keys(&raw),
            ["created_at", "email", "first_name", "id", "last_name", "object", "properties", "unsubscribed"]
        );
        let patch = ContactPatch::new().clear_first_name().unsubscribed(true);
        assert_eq!(client.contacts().update(email, &patch).await.unwrap().id, id);
        let changed = client.contacts().get(&id).await.unwrap();
        assert!(changed.first_name.is_none() && changed.unsubscribed == Some(true));
        let gone = send(&bench, Method::DELETE, &format!("/contacts/{id}"), &Value::Null, None).json;
        assert_eq!(gone, json!({"object": "contact", "contact": id, "deleted": true}));
        assert!(matches!(client.contacts().delete(&id).await, Err(Error::Api(api)) if api.status == 404));
    }
    for unknown in [UNKNOWN_ID, "nobody@example.com", "nobody", "a/b", "..x", " "] {
        let answer = client.contacts().get(unknown).await;
        assert!(matches!(answer, Err(Error::Api(api)) if api.status == 404), "{unknown}");
    }
    for dots in ["", ".", ".."] {
        assert!(matches!(client.contacts().get(dots).await, Err(Error::Invalid(_))), "{dots}");
    }
}

#[tokio::test]
async fn an_address_identifies_one_contact() {
    let bench = Bench::start().await;
    let client = bench.client();
    let first =
        client.contacts().create(&NewContact::new("Ada@Example.com").first_name("Ada")).await.unwrap().id;
    let again =
        client.contacts().create(&NewContact::new("ada@example.com").last_name("L")).await.unwrap().id;
    assert_eq!(first, again);
    let ada = client.contacts().get(&first).await.unwrap();
    assert_eq!((ada.first_name.as_deref(), ada.last_name.as_deref()), (Some("Ada"), Some("L")));
    assert_eq!(client.contacts().list().await.unwrap().data.len(), 1);

    client.contacts().create(&NewContact::new("bob@example.com")).await.unwrap();
    let taken =
        client.contacts().update("bob@example.com", &ContactPatch::new().email("ADA@example.com")).await;
    assert!(matches!(taken, Err(Error::Api(api)) if api.status == 409));
    client.contacts().update("bob@example.com", &ContactPatch::new().email("cyd@example.com")).await.unwrap();
    assert!(client.contacts().get("bob@example.com").await.is_err());
    assert_eq!(client.contacts().get("cyd@example.com").await.unwrap().email, "cyd@example.com");
}

#[tokio::test]
async fn properties_are_merged_and_null_removes_one() {
    let bench = Bench::start().await;
    let client = bench.client();
    bench.post("/contact-properties", &json!({"key": "city", "type": "string"}));
    bench.post("/contact-properties", &json!({"key": "orders", "type": "number"}));
    let ada = NewContact::new("ada@example.com").property("city", "London").property("orders", 3);
    let id = client.contacts().create(&ada).await.unwrap().id;
    let patch = ContactPatch::new().property("orders", 4.5);
    client.contacts().update(&id, &patch).await.unwrap();
    let held = bench.get(&format!("/contacts/{id}")).json["properties"].clone();
    let expected =
        json!({"city": {"type": "string", "value": "London"}, "orders": {"type": "number", "value": 4.5}});
    assert_eq!(held, expected);
    client.contacts().update(&id, &ContactPatch::new().clear_property("city")).await.unwrap();
    let held = client.contacts().get(&id).await.unwrap().properties;
    assert_eq!(held.keys().collect::<Vec<_>>(), ["orders"]);
    for properties in [json!({"town": "x"}), json!({"city": 1}), json!({"orders": "many"})] {
        let reply = bench.post("/contacts", &json!({"email": "b@x.test", "properties": properties}));
        refused(&reply, 422, "validation_error");
    }
}

#[tokio::test]
async fn client_and_service_refuse_invalid_contacts() {
    let bench = Bench::start().await;
    refused(&bench.post_wrong("/contacts", &json!({"first_name": "Ada"})), 422, "missing_required_field");
    for (field, value) in [
        ("email", json!(1)),
        ("first_name", json!(1)),
        ("unsubscribed", json!("yes")),
        ("properties", json!(["x"])),
        ("properties", json!({"city": [true]})),
        ("segments", json!("x")),
        ("segments", json!(["x"])),
        ("segments", json!([{"name": "x"}])),
        ("topics", json!([{"id": UNKNOWN_ID, "subscription": "maybe"}])),
    ] {
        let mut body = json!({"email": "ada@example.com"});
        body[field] = value;
        let reply = bench.post_wrong("/contacts", &body);
        assert_eq!(reply.status, 422, "{body}: {}", reply.message());
    }
    for (field, value) in [
        ("email", json!("nobody")),
        ("email", json!("Ada <ada@example.com>")),
        ("first_name", json!("A\nda")),
        ("segments", json!([{"id": UNKNOWN_ID}])),
        ("topics", json!([{"id": UNKNOWN_ID, "subscription": "opt_in"}])),
        ("audience_id", json!(UNKNOWN_ID)),
    ] {
        let mut body = json!({"email": "ada@example.com"});
        body[field] = value;
        refused(&bench.post("/contacts", &body), 422, "validation_error");
    }
    for wrong in ["", "nobody", "Ada <a@b.c>"] {
        assert!(matches!(
            bench.client().contacts().create(&NewContact::new(wrong)).await,
            Err(Error::Invalid(_))
        ));
    }
    assert!(bench.client().contacts().list().await.unwrap().data.is_empty(), "no contact was created");
}

#[tokio::test]
async fn membership_is_the_same_from_both_sides() {
    // CONT-06, SEG-01, SEG-02, SEG-03
    let (bench, client, segment, all) = crowd(3).await;
    client.contacts().remove_from_segment(ContactId::from(all[1].as_str()), &segment).await.unwrap();
    let members = bench.get(&format!("/segments/{segment}/contacts")).json;
    assert_eq!((ids(&members), &members["has_more"]), (vec![all[0].clone(), all[2].clone()], &json!(false)));
    let item = &members["data"][0];
    assert_eq!(keys(item), ["created_at", "email", "first_name", "id", "last_name", "unsubscribed"]);
    assert_eq!(bench.get(&format!("/contacts?segment_id={segment}")).json, members);
    assert_eq!(bench.get(&format!("/contacts/{}/segments", all[1])).json["data"], json!([]));

    let path = format!("/contacts/person1%40example.com/segments/{segment}");
    for _ in 0..2 {
        let added = send(&bench, Method::POST, &path, &Value::Null, None).json;
        assert_eq!((&added["contact_id"], &added["segment_id"]), (&json!(all[1]), &json!(segment)));
    }
    let segments = bench.get(&format!("/contacts/{}/segments", all[1])).json;
    assert_eq!(keys(&segments["data"][0]), ["created_at", "id", "name"]);
    assert_eq!(segments["data"], bench.get("/segments").json["data"]);
    let gone = send(&bench, Method::DELETE, &path, &Value::Null, None);
    assert_eq!((gone.status.as_u16(), &gone.json["deleted"]), (200, &json!(true)));
    refused(&send(&bench, Method::DELETE, &path, &Value::Null, None), 404, "not_found");
    let nowhere = format!("/contacts/{}/segments/{UNKNOWN_ID}", all[0]);
    refused(&send(&bench, Method::POST, &nowhere, &Value::Null, None), 404, "not_found");
    let nothing = format!("/contacts/{}/segments/x", all[0]);
    refused(&send(&bench, Method::POST, &nothing, &Value::Null, None), 422, "invalid_parameter");
    refused(&bench.get(&format!("/contacts?segment_id={UNKNOWN_ID}")), 422, "validation_error");
}

#[tokio::test]
async fn segments_are_created_renamed_and_deleted_and_their_contacts_stay() {
    let (bench, client, segment, all) = crowd(2).await;
    let made = bench.post("/segments", &json!({"name": "Monthly"}));
    assert_eq!((made.status.as_u16(), keys(&made.json)), (201, vec!["id", "name", "object"]));
    client.segments().rename(&segment, "Daily").await.unwrap();
    assert_eq!(client.segments().get(&segment).await.unwrap().name.as_deref(), Some("Daily"));
    assert!(client.segments().delete(&segment).await.unwrap().deleted);
    assert!(client.segments().delete(UNKNOWN_ID).await.unwrap().deleted, "like Resend");
    assert!(matches!(client.segments().get(&segment).await, Err(Error::Api(api)) if api.status == 404));
    assert_eq!(ids(&bench.get("/contacts").json), all);
    assert_eq!(bench.get(&format!("/contacts/{}/segments", all[0])).json["data"], json!([]));
    refused(&bench.post_wrong("/segments", &json!({})), 422, "missing_required_field");
    for name in ["", " "] {
        refused(&bench.post_wrong("/segments", &json!({"name": name})), 422, "validation_error");
        assert!(matches!(client.segments().create(name).await, Err(Error::Invalid(_))));
    }
    refused(&bench.get("/segments/x"), 422, "invalid_parameter");
}

#[tokio::test]
async fn the_lists_page_forwards_and_backwards() {
    // CONT-05, SEG-02, AUD-01, VER-01, LIST-B1, LIST-B2, LIST-B3, LIST-B4
    let (bench, client, segment, contacts) = crowd(5).await;
    let ada = ContactId::from(contacts[0].as_str());
    let mut segments = vec![segment.as_str().to_owned()];
    for name in ["b", "c", "d", "e"] {
        let id = client.segments().create(name).await.unwrap().id;
        client.contacts().add_to_segment(&ada, &id).await.unwrap();
        segments.insert(0, id.as_str().to_owned());
    }
    for (path, all) in [
        ("/contacts".to_owned(), &contacts),
        (format!("/segments/{segment}/contacts"), &contacts),
        ("/segments".to_owned(), &segments),
        ("/audiences".to_owned(), &segments),
        (format!("/contacts/{ada}/segments"), &segments),
        ("/contacts/person4%40example.com/segments".to_owned(), &segments),
    ] {
        let page = |query: String| {
            let list = bench.get(&format!("{path}?{query}")).json;
            (ids(&list), list["has_more"] == true)
        };
        assert_eq!(
            (page(String::new()), page("limit=100".into())),
            ((all.clone(), false), (all.clone(), false))
        );
        assert_eq!(page("limit=2".into()), (all[..2].to_vec(), true));
        assert_eq!(page(format!("limit=2&after={}", all[1])), (all[2..4].to_vec(), true));
        assert_eq!(page(format!("limit=2&after={}", all[3])), (all[4..].to_vec(), false));
        assert_eq!(page(format!("limit=2&before={}", all[4])), (all[2..4].to_vec(), true));
        assert_eq!(page(format!("before={}", all[2])), (all[..2].to_vec(), false));
        for wrong in ["limit=0", "limit=101", "limit=x"] {
            refused(&bench.get_wrong(&format!("{path}?{wrong}")), 422, "validation_error");
        }
        refused(&bench.get(&format!("{path}?after={UNKNOWN_ID}")), 422, "validation_error");
        refused(&bench.get(&format!("{path}?after={0}&before={0}", all[0])), 422, "validation_error");
    }
    let walked: Vec<_> =
        client.segments().contacts(&segment).page_size(2).stream().try_collect().await.unwrap();
    let walked: Vec<_> = walked.into_iter().map(|contact| contact.id.as_str().to_owned()).collect();
    assert_eq!(walked, contacts);
    let back = client.contacts().list().before(contacts[4].as_str()).page_size(2).stream();
    let back: Vec<_> = back.map_ok(|contact| contact.id.as_str().to_owned()).try_collect().await.unwrap();
    assert_eq!(back, contacts[..4].iter().rev().cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn paging_through_a_changing_list_skips_and_repeats_nothing() {
    let (_bench, client, segment, all) = crowd(9).await;
    let mut walk = client.segments().contacts(&segment).page_size(3).stream();
    let mut seen = Vec::new();
    for round in 0.. {
        let Some(contact) = walk.try_next().await.unwrap() else { break };
        seen.push(contact.id.as_str().to_owned());
        // One contact is added, and one that was already listed leaves the segment.
        let late = NewContact::new(format!("late{round}@example.com")).segment(&segment);
        client.contacts().create(&late).await.unwrap();
        client.contacts().remove_from_segment(&contact, &segment).await.unwrap();
    }
    assert_eq!(seen, all);
}

#[tokio::test]
#[expect(deprecated, reason = "the clause is about the deprecated operation")]
async fn audiences_are_segments_under_their_former_name() {
    // AUD-01, AUD-02 (it is marked, or the expectation above would fail), AUD-03, VER-01
    let (bench, client, ..) = crowd(1).await;
    client.segments().create("Monthly").await.unwrap();
    let audiences = client.audiences().list().await.unwrap();
    let names: Vec<_> = audiences.data.iter().filter_map(|one| one.name.as_deref()).collect();
    assert_eq!(names, ["Monthly", "Weekly"]);
    assert_eq!(bench.get("/audiences").json, bench.get("/segments").json);
    assert_eq!(keys(&bench.get("/audiences").json["data"][0]), ["created_at", "id", "name"]);
    // The former name in a new contact refers to the same segment.
    let id = audiences.data[1].id.as_str();
    let made = bench.post("/contacts", &json!({"email": "old@example.com", "audience_id": id}));
    assert_eq!(made.status, 201);
    assert_eq!(
        ids(&bench.get(&format!("/segments/{id}/contacts")).json)[0],
        made.json["id"].as_str().unwrap()
    );
}

#[tokio::test]
async fn the_routes_for_contacts_of_audiences_still_work() {
    // AUD-03, VER-01
    let (bench, client, audience, members) = crowd(1).await;
    let other = client.segments().create("Other").await.unwrap().id;
    let contacts = format!("/audiences/{audience}/contacts");
    let made = bench.post(&contacts, &json!({ "email": "new@example.com", "first_name": "New" }));
    assert_eq!((made.status.as_u16(), keys(&made.json)), (201, vec!["id", "object"]));
    let id = made.json["id"].as_str().unwrap();
    assert_eq!(ids(&bench.get(&contacts).json), [id, &members[0]]);
    let delete = |path: &str| bench.ask(bench.request(Method::DELETE, path), "");
    for name in [id, "new%40example.com"] {
        let one = format!("{contacts}/{name}");
        let changed = send(&bench, Method::PATCH, &one, &json!({ "last_name": "Reader" }), None);
        assert_eq!(
            (changed.status.as_u16(), &changed.json),
            (200, &json!({ "object": "contact", "id": id }))
        );
        assert_eq!(bench.get(&one).json, bench.get(&format!("/contacts/{id}")).json);
        assert_eq!(bench.get(&one).json["last_name"], "Reader");
        // In another audience it is not found, and not changed.
        let elsewhere = format!("/audiences/{other}/contacts/{name}");
        refused(&bench.get(&elsewhere), 404, "not_found");
        refused(&send(&bench, Method::PATCH, &elsewhere, &json!({}), None), 404, "not_found");
        assert_eq!(delete(&elsewhere).status, 200);
        assert_eq!(bench.get(&one).status, 200);
    }
    for _ in 0..2 {
        let deleted = delete(&format!("{contacts}/new%40example.com"));
        let document = json!({ "object": "contact", "contact": "new@example.com", "deleted": true });
        assert_eq!((deleted.status.as_u16(), deleted.json), (200, document));
    }
    refused(&bench.get(&format!("/contacts/{id}")), 404, "not_found");
    refused(
        &bench.post(&format!("/audiences/{UNKNOWN_ID}/contacts"), &json!({ "email": "a@b.test" })),
        404,
        "not_found",
    );
}

/// A form with a file and other parts.
fn form(file: &str, parts: &[(&str, Value)]) -> String {
    let mut form = String::new();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (name, value) in parts {
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        form.extend([head, text(value), "\r\n".to_owned()]);
    }
    let head =
        "Content-Disposition: form-data; name=\"file\"; filename=\"x.csv\"\r\nContent-Type: text/csv\r\n\r\n";
    form + "--b\r\n" + head + file + "\r\n--b--\r\n"
}

#[tokio::test]
async fn contact_imports_keep_the_contract_in_both_directions() {
    let bench = Bench::start().await;
    let segment = bench.post("/segments", &json!({ "name": "All" })).json["id"].clone();
    let form_request = || {
        bench
            .request(Method::POST, "/contacts/imports")
            .header("content-type", "multipart/form-data; boundary=b")
    };
    let map = json!({ "email": "E-Mail", "first_name": "Name" });
    let parts =
        [("column_map", map), ("on_conflict", json!("skip")), ("segments", json!([{ "id": segment }]))];
    let reply = bench.ask(form_request(), form("E-Mail,Name\nada@example.com,Ada\n", &parts));
    assert_eq!((reply.status.as_u16(), &reply.json["object"]), (201, &json!("contact_import")));
    for wrong in [("on_conflict", json!("replace")), ("column_map", json!([])), ("segments", json!([{}]))] {
        let request = form_request().header(EXPECT, Expect::Refusal.as_str());
        assert_eq!(bench.ask(request, form("email\n", &[wrong])).status, 422);
    }
    let request = form_request().header(EXPECT, Expect::Tolerance.as_str());
    assert_eq!(bench.ask(request, form("email\n", &[("on_error", json!("stop"))])).status, 201);
    assert_eq!(bench.get("/contacts/imports?limit=1&status=queued").status, 200);
    bench.get_wrong("/contacts/imports?status=done");
    let id = reply.json["id"].as_str().unwrap();
    bench.service().clock().advance(std::time::Duration::from_secs(1));
    let done = bench.get(&format!("/contacts/imports/{id}"));
    assert_eq!((&done.json["status"], &done.json["counts"]["created"]), (&json!("completed"), &json!(1)));
}

#[tokio::test]
async fn the_client_streams_an_import_again_at_every_attempt_and_repeats_none_of_unknown_outcome() {
    use idempost::{
        Error,
        contact_imports::{ContactImportStatus, ImportConflict, NewContactImport},
    };
    use idempost_reference_server::faults::{Action, Rule};

    let bench = Bench::start().await;
    let fault = |action| {
        bench.service().faults().add(Rule::new(action).on(Method::POST, "/contacts/imports").times(1))
    };
    let client = bench.client();
    let rows: Vec<_> = (0..500).map(|n| bytes::Bytes::from(format!("p{n}@example.com\n"))).collect();
    let rows = [vec![bytes::Bytes::from("email\n")], rows].concat();
    let length = rows.iter().map(|row| row.len() as u64).sum();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rows.concat()).unwrap();
    let streamed = rows.clone();
    let open = move || futures_util::stream::iter(streamed.clone().into_iter().map(Ok));
    for import in [
        NewContactImport::from_stream(length, open),
        NewContactImport::from_bytes(rows.concat()),
        NewContactImport::from_file(file.path()).await.unwrap(),
    ] {
        let busy = || Action::TooMany { retry_after: Some("0".into()) };
        fault(busy());
        fault(busy());
        let sent = bench.requests().len();
        let id =
            client.contact_imports().create(&import.on_conflict(ImportConflict::Upsert)).await.unwrap().id;
        let attempts: Vec<_> = bench.requests()[sent..].iter().map(|request| request.body.clone()).collect();
        assert!(attempts.len() == 3 && attempts.iter().all(|body| *body == attempts[0]));
        let done = client.contact_imports().wait(&id).await.unwrap();
        assert_eq!((done.status, done.counts.total), (Some(ContactImportStatus::Completed), Some(500)));
    }
    assert_eq!(client.contacts().list().await.unwrap().data.len(), 500);

    // A file that changes between two attempts is never imported in part.
    let import = NewContactImport::from_file(file.path()).await.unwrap();
    std::fs::write(file.path(), "email\n").unwrap();
    assert!(matches!(client.contact_imports().create(&import).await, Err(Error::File(_))));
    assert_eq!(client.contact_imports().list().await.unwrap().data.len(), 3);

    // Each request starts an import, so one that may have arrived isn't repeated.
    for action in [Action::DropAfter, Action::error(503, "service_unavailable", "busy")] {
        fault(action);
        let sent = bench.requests().len();
        let import = NewContactImport::from_bytes("email\nada@example.com\n");
        let error = client.contact_imports().create(&import).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (idempost::Outcome::Unknown, false), "{error}");
        assert_eq!(bench.requests().len(), sent + 1);
    }
    assert_eq!(client.contact_imports().list().await.unwrap().data.len(), 4);
}
