//! Topics, topic subscriptions, contact properties, and the recipients of an email with a topic.

use std::{collections::BTreeSet, time::Duration};

use futures_util::TryStreamExt as _;
use http::{HeaderMap, HeaderValue, Method};
use idempost::{
    BatchEmail, Client, Email, Error, TopicId,
    contact_properties::{ContactPropertyPatch, NewContactProperty, PropertyType},
    contacts::{NewContact, TopicSubscription},
    emails::LastEvent,
    topics::{NewTopic, Subscription, Topic, TopicPatch, Visibility},
};
use idempost_conformance::{
    bench::{Bench, EXPECT, Expect, Reply},
    contract::{Contract, Request},
};
use idempost_reference_server::{Service, Settings};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use super::letters;

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

fn ask(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request, body.to_string())
}

fn wrong(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request.header(EXPECT, Expect::Refusal.as_str()), body.to_string())
}

async fn topic(client: &Client, default: Subscription) -> TopicId {
    client.topics().create(&NewTopic::new("News", default)).await.unwrap().id
}

fn letter(to: impl Into<idempost::Recipients>) -> Email {
    Email::new("Acme <hi@acme.test>", to, "Hello").text("It works")
}

/// Sends the email, advances the clock, and returns its status.
async fn outcome(bench: &Bench, email: &Email) -> Option<LastEvent> {
    let id = bench.client().emails().send(email).await.unwrap().id;
    bench.service().clock().advance(Duration::from_secs(10));
    bench.client().emails().get(id).await.unwrap().last_event
}

#[tokio::test]
async fn a_topic_round_trips() {
    let bench = Bench::start().await;
    let client = bench.client();
    let new =
        NewTopic::new("Digest", Subscription::OptOut).description("Weekly").visibility(Visibility::Public);
    let id = client.topics().create(&new).await.unwrap().id;
    let read = client.topics().get(&id).await.unwrap();
    assert_eq!((&read.id, read.name.as_str(), read.description.as_deref()), (&id, "Digest", Some("Weekly")));
    assert_eq!(
        (read.default_subscription, read.visibility),
        (Some(Subscription::OptOut), Some(Visibility::Public))
    );
    assert!(read.created_at.unwrap().unix_seconds().is_some());
    let patch = TopicPatch::new().name("Monthly").clear_description().visibility(Visibility::Private);
    assert_eq!(client.topics().update(&id, &patch).await.unwrap().id, id);
    let list = client.topics().list().await.unwrap().data;
    let [Topic { name, description: None, visibility: Some(Visibility::Private), .. }] = &list[..] else {
        panic!("{list:?}")
    };
    assert_eq!(name, "Monthly");
    assert!(client.topics().delete(&id).await.unwrap().deleted);
    let error = client.topics().get(&id).await.unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.status == 404), "{error:?}");
}

#[tokio::test]
async fn topics_and_properties_have_pages_of_twenty_by_default() {
    // PROP-03, LIST-A1
    let bench = Bench::start().await;
    let client = bench.client();
    for n in 0..45 {
        client.topics().create(&NewTopic::new(n.to_string(), Subscription::OptIn)).await.unwrap();
        client.contact_properties().create(NewContactProperty::string(format!("k{n}"))).await.unwrap();
    }
    let page = client.topics().list().await.unwrap();
    assert_eq!((page.data.len(), page.has_more, page.data[0].name.as_str()), (20, true, "44"));
    let page = client.contact_properties().list().await.unwrap();
    assert_eq!((page.data.len(), page.has_more, page.data[0].key.as_str()), (20, true, "k44"));
    let names: Vec<String> =
        client.topics().list().stream().map_ok(|topic| topic.name).try_collect().await.unwrap();
    assert_eq!(names, (0..45).rev().map(|n| n.to_string()).collect::<Vec<_>>());
    let keys: Vec<String> = client
        .contact_properties()
        .list()
        .page_size(7)
        .stream()
        .map_ok(|one| one.key)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(keys, (0..45).rev().map(|n| format!("k{n}")).collect::<Vec<_>>());
    for path in ["/topics", "/contact-properties"] {
        assert_eq!(bench.get_wrong(&format!("{path}?limit=0")).name(), "validation_error");
        assert_eq!(bench.get_wrong(&format!("{path}?limit=101")).name(), "validation_error");
        assert_eq!(bench.get(&format!("{path}?limit=100")).json["data"].as_array().unwrap().len(), 45);
        assert_eq!(bench.get(&format!("{path}?after={UNKNOWN_ID}")).name(), "validation_error");
    }
}

#[tokio::test]
async fn client_contract_and_service_enforce_the_limits_of_topics() {
    let bench = Bench::start().await;
    let topic_path = format!("/topics/{}", topic(&bench.client(), Subscription::OptIn).await);
    for (field, most) in [("name", 50), ("description", 200)] {
        for (length, fits) in [(most, true), (most + 1, false)] {
            let text = "é".repeat(length);
            let (mut new, mut patch) = (NewTopic::new("x", Subscription::OptIn), TopicPatch::new());
            if field == "name" {
                (new, patch) = (NewTopic::new(&text, Subscription::OptIn), patch.name(&text));
            } else {
                (new, patch) = (new.description(&text), patch.description(&text));
            }
            assert_eq!((new.check().is_ok(), patch.check().is_ok()), (fits, fits), "{field} {length}");
            let (new, patch) = (serde_json::to_value(new).unwrap(), serde_json::to_value(patch).unwrap());
            if fits {
                assert_eq!(bench.post("/topics", &new).status, 201);
                assert_eq!(ask(&bench, Method::PATCH, &topic_path, &patch).status, 200);
            } else {
                assert_eq!(bench.post_wrong("/topics", &new).name(), "validation_error");
                assert_eq!(wrong(&bench, Method::PATCH, &topic_path, &patch).name(), "validation_error");
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_topic_is_refused() {
    let bench = Bench::start().await;
    assert_eq!(bench.post_wrong("/topics", &json!({})).name(), "missing_required_field");
    for (field, value) in [
        ("name", json!("")),
        ("name", json!(" ")),
        ("name", json!(null)),
        ("default_subscription", json!("opt-in")),
        ("default_subscription", json!(null)),
        ("description", json!(1)),
        ("visibility", json!("everybody")),
    ] {
        let mut body = json!({ "name": "x", "default_subscription": "opt_in" });
        body[field] = value;
        assert_eq!(bench.post_wrong("/topics", &body).status, 422, "{body}");
    }
    let path = format!("/topics/{}", topic(&bench.client(), Subscription::OptIn).await);
    for body in
        [json!({ "default_subscription": "opt_out" }), json!({ "name": "" }), json!({ "visibility": "x" })]
    {
        assert_eq!(wrong(&bench, Method::PATCH, &path, &body).name(), "validation_error", "{body}");
    }
    let unknown = NewTopic::new("x", Subscription::from("maybe".to_owned()));
    let error = bench.client().topics().create(&unknown).await.unwrap_err();
    assert!(
        matches!(&error, Error::Invalid(problems) if problems[0].path == "/default_subscription"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_property_round_trips() {
    // GEN-06, PROP-01, PROP-02, PROP-03
    let bench = Bench::start().await;
    let client = bench.client();
    let city = client
        .contact_properties()
        .create(NewContactProperty::string("city").fallback("your town"))
        .await
        .unwrap()
        .id;
    let orders = client
        .contact_properties()
        .create(NewContactProperty::number("orders").fallback(0))
        .await
        .unwrap()
        .id;
    let list = bench.get("/contact-properties").json;
    let keys: BTreeSet<_> = list["data"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, "created_at fallback_value id key type".split(' ').collect());
    let list = client.contact_properties().list().await.unwrap().data;
    assert_eq!(
        (list[0].kind.clone(), list[0].fallback_value.clone()),
        (Some(PropertyType::Number), Some(json!(0)))
    );
    assert_eq!(
        (list[1].kind.clone(), list[1].fallback_value.clone()),
        (Some(PropertyType::String), Some(json!("your town")))
    );
    client
        .contact_properties()
        .update(&city, &ContactPropertyPatch::new().clear_fallback_value())
        .await
        .unwrap();
    let read = client.contact_properties().get(&city).await.unwrap();
    assert_eq!((read.key.as_str(), read.fallback_value), ("city", None));
    let error = client
        .contact_properties()
        .update(&orders, &ContactPropertyPatch::new().fallback_value("none"))
        .await
        .unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.name == "validation_error"), "{error:?}");
    // Keys are unique, and deleting a property removes the contacts' values.
    let error = client.contact_properties().create(NewContactProperty::number("city")).await.unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.status == 422), "{error:?}");
    let ada = NewContact::new("ada@example.com").property("city", "London").property("orders", 2);
    client.contacts().create(&ada).await.unwrap();
    assert!(client.contact_properties().delete(&city).await.unwrap().deleted);
    let held = client.contacts().get("ada@example.com").await.unwrap().properties;
    assert_eq!(held.into_keys().collect::<Vec<_>>(), ["orders"]);
}

#[tokio::test]
async fn client_contract_and_service_enforce_the_rules_of_properties() {
    let bench = Bench::start().await;
    for (key, fits) in [
        (letters(50), true),
        (letters(51), false),
        ("A_1".to_owned(), true),
        (String::new(), false),
        ("a b".to_owned(), false),
        ("é".to_owned(), false),
        ("EMAIL".to_owned(), false),
        ("FIRST_NAME".to_owned(), false),
        ("LAST_NAME".to_owned(), false),
        ("UNSUBSCRIBE_URL".to_owned(), false),
    ] {
        let property: NewContactProperty = NewContactProperty::string(&key).into();
        assert_eq!(property.check().is_ok(), fits, "{key}");
        let body = json!({ "key": key, "type": "string" });
        let reply = if fits {
            bench.post("/contact-properties", &body)
        } else {
            bench.post_wrong("/contact-properties", &body)
        };
        assert_eq!(reply.status.as_u16(), if fits { 201 } else { 422 }, "{key}");
    }
    for body in [
        json!({}),
        json!({ "key": "x" }),
        json!({ "type": "string" }),
        json!({ "key": "x", "type": "boolean" }),
        json!({ "key": "x", "type": "string", "fallback_value": 1 }),
        json!({ "key": "x", "type": "number", "fallback_value": "1" }),
        json!({ "key": "x", "type": "number", "fallback_value": true }),
    ] {
        assert_eq!(bench.post_wrong("/contact-properties", &body).status, 422, "{body}");
    }
}

#[tokio::test]
async fn every_list_of_contacts_works() {
    // GEN-06
    let bench = Bench::start().await;
    bench.client().contacts().create(&NewContact::new("ada@example.com")).await.unwrap();
    for path in [
        "/contacts",
        "/segments",
        "/topics",
        "/contact-properties",
        "/contacts/ada@example.com/segments",
        "/contacts/ada@example.com/topics",
    ] {
        let list = bench.get(path);
        assert_eq!((list.status.as_u16(), &list.json["object"]), (200, &json!("list")), "{path}");
    }
}

#[tokio::test]
async fn a_contact_updates_its_topic_subscriptions() {
    // GEN-06, TOPIC-01, TOPIC-02, TOPIC-03
    let bench = Bench::start().await;
    let client = bench.client();
    let (news, offers) =
        (topic(&client, Subscription::OptIn).await, topic(&client, Subscription::OptOut).await);
    let ada = client.contacts().create(&NewContact::new("ada@example.com")).await.unwrap().id;
    let list = bench.get("/contacts/ada@example.com/topics").json;
    let keys: BTreeSet<_> = list["data"][0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, "created_at description id name subscription".split(' ').collect());
    // Without a subscription, the default; then the contact's own, by address and by ID.
    let said = async |contact: &str| {
        let page = client.contacts().topics(contact).await.unwrap();
        assert!(!page.has_more);
        page.data.into_iter().map(|one| (one.id, one.subscription.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(
        said("ada@example.com").await,
        [(offers.clone(), Subscription::OptOut), (news.clone(), Subscription::OptIn)]
    );
    let choices = [(&news, Subscription::OptOut), (&offers, Subscription::OptIn)];
    let written = client.contacts().update_topics("ADA@example.com", choices).await.unwrap();
    assert_eq!(written.id, ada);
    let expected = [(offers.clone(), Subscription::OptIn), (news.clone(), Subscription::OptOut)];
    assert_eq!(said(ada.as_str()).await, expected);
    // The other form of the body.
    let path = format!("/contacts/{ada}/topics");
    let body = json!({ "topics": [{ "id": news, "subscription": "opt_in" }] });
    assert_eq!(ask(&bench, Method::PATCH, &path, &body).json["id"], json!(ada));
    assert_eq!(said(ada.as_str()).await[1].1, Subscription::OptIn);
    for body in [
        json!({}),
        json!("opt_in"),
        json!([{ "id": news }]),
        json!([{ "id": news, "subscription": "" }]),
        json!({ "topics": [{ "subscription": "opt_in" }] }),
    ] {
        assert_eq!(wrong(&bench, Method::PATCH, &path, &body).status, 422, "{body}");
    }
    let unknown = json!([{ "id": UNKNOWN_ID, "subscription": "opt_in" }]);
    assert_eq!(ask(&bench, Method::PATCH, &path, &unknown).name(), "validation_error");
    let error = client.contacts().topics("bob@example.com").await.unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.status == 404), "{error:?}");
    let error = client
        .contacts()
        .update_topics("ada@example.com", [("", Subscription::from("maybe".to_owned()))])
        .await
        .unwrap_err();
    assert!(matches!(&error, Error::Invalid(problems) if problems.len() == 2), "{error:?}");
}

#[tokio::test]
async fn all_topics_of_a_contact_are_listed_without_a_limit() {
    let bench = Bench::start().await;
    let client = bench.client();
    for _ in 0..25 {
        topic(&client, Subscription::OptIn).await;
    }
    client.contacts().create(&NewContact::new("ada@example.com")).await.unwrap();
    assert_eq!(client.contacts().topics("ada@example.com").await.unwrap().data.len(), 25);
    let list = client.contacts().topics("ada@example.com").page_size(10);
    assert_eq!(list.stream().try_collect::<Vec<_>>().await.unwrap().len(), 25);
}

#[tokio::test]
async fn contacts_that_opted_in_get_the_email_and_others_do_not() {
    // GEN-02, EMAIL-23, EMAIL-24, EMAIL-67, ERR-03
    let bench = Bench::start().await;
    let client = bench.client();
    for (default, choice, event) in [
        (Subscription::OptOut, Subscription::OptIn, LastEvent::Delivered),
        (Subscription::OptIn, Subscription::OptOut, LastEvent::Failed),
    ] {
        let topic = topic(&client, default).await;
        let address = format!("{choice}@example.com");
        let contact = NewContact::new(&address).topic(&topic, choice);
        client.contacts().create(&contact).await.unwrap();
        let before = bench.mails().len();
        let email = letter(address.as_str()).topic_id(&topic);
        let id = client.emails().send(&email).await.unwrap().id;
        bench.service().clock().advance(Duration::from_secs(10));
        let record = client.emails().get(&id).await.unwrap();
        assert_eq!((record.last_event, record.topic_id), (Some(event.clone()), Some(topic)));
        assert_eq!(bench.mails().len() - before, usize::from(event == LastEvent::Delivered));
    }
}

#[tokio::test]
async fn an_address_without_contact_gets_the_topics_default() {
    // EMAIL-25, EMAIL-26
    for (default, event, left) in
        [(Subscription::OptIn, LastEvent::Delivered, 1), (Subscription::OptOut, LastEvent::Failed, 0)]
    {
        let bench = Bench::start().await;
        let topic = topic(&bench.client(), default).await;
        let email = letter("stranger@example.com").topic_id(topic);
        assert_eq!(outcome(&bench, &email).await, Some(event));
        assert_eq!(bench.mails().len(), left);
    }
}

#[tokio::test]
async fn topics_apply_to_each_address_of_to_cc_and_bcc() {
    // EMAIL-27
    let bench = Bench::start().await;
    let client = bench.client();
    let topic = topic(&client, Subscription::OptIn).await;
    let no = NewContact::new("no@example.com").topic(&topic, Subscription::OptOut);
    client.contacts().create(&no).await.unwrap();
    let email = letter("yes@example.com").cc("no@example.com").bcc("no@example.com").topic_id(&topic);
    assert_eq!(outcome(&bench, &email).await, Some(LastEvent::Delivered));
    let mail = bench.mails().remove(0);
    assert_eq!((mail.to, mail.cc, mail.bcc), (vec!["yes@example.com".to_owned()], vec![], vec![]));
    // No recipient remains in `to`, so nothing is sent, not even to remaining recipients in other fields.
    let email = letter("no@example.com").cc("yes@example.com").topic_id(&topic);
    assert_eq!(outcome(&bench, &email).await, Some(LastEvent::Failed));
    assert_eq!(bench.mails().len(), 1);
    let item = client.emails().list().await.unwrap().data.remove(0);
    assert_eq!((item.last_event, item.to), (Some(LastEvent::Failed), vec!["no@example.com".to_owned()]));
}

#[tokio::test]
async fn topics_apply_to_batches() {
    let bench = Bench::start().await;
    let client = bench.client();
    let (news, offers) =
        (topic(&client, Subscription::OptIn).await, topic(&client, Subscription::OptOut).await);
    let email =
        |topic: &TopicId| BatchEmail::new("hi@acme.test", "ada@example.com", "Hi").text("x").topic_id(topic);
    let sent = client.emails().send_batch(&[email(&news), email(&offers)]).await.unwrap().data;
    bench.service().clock().advance(Duration::from_secs(10));
    let mut events = Vec::new();
    for one in sent {
        events.push(client.emails().get(one.id).await.unwrap().last_event.unwrap());
    }
    assert_eq!(events, [LastEvent::Delivered, LastEvent::Failed]);
    // An unknown topic is rejected like any invalid field, with its location.
    let missing = TopicId::from(UNKNOWN_ID);
    let error = client.emails().send_batch(&[email(&news), email(&missing)]).await.unwrap_err();
    assert!(matches!(&error, Error::Api(api) if api.message.contains("topic_id")), "{error:?}");
    assert_eq!(bench.mails().len(), 1);
}

#[tokio::test]
async fn topics_are_checked_when_a_scheduled_email_is_due() {
    let bench = Bench::start().await;
    let client = bench.client();
    let topic = topic(&client, Subscription::OptIn).await;
    client.contacts().create(&NewContact::new("ada@example.com")).await.unwrap();
    let email = letter("ada@example.com").topic_id(&topic).scheduled_at("in 1 hour");
    let id = client.emails().send(&email).await.unwrap().id;
    client.contacts().update_topics("ada@example.com", [(&topic, Subscription::OptOut)]).await.unwrap();
    assert_eq!(client.emails().get(&id).await.unwrap().last_event, Some(LastEvent::Scheduled));
    bench.service().clock().advance(Duration::from_hours(2));
    assert_eq!(client.emails().get(&id).await.unwrap().last_event, Some(LastEvent::Failed));
    assert!(bench.mails().is_empty());
}

#[test]
fn unknown_values_are_preserved() {
    // TOPIC-02, PROP-02, GEN-33
    let subscription = json!({ "id": "t", "name": "News", "description": null, "subscription": "weekly",
        "created_at": null });
    let read: TopicSubscription = serde_json::from_value(subscription.clone()).unwrap();
    assert!(matches!(read.subscription, Some(Subscription::Unknown(_))));
    assert_eq!(serde_json::to_value(read).unwrap(), subscription);
    let topic = json!({"id": "t", "name": "News", "description": "x", "default_subscription": "ask", "visibility": "team",
        "created_at": "2026-11-22T15:28:00Z"});
    let read: Topic = serde_json::from_value(topic.clone()).unwrap();
    assert!(matches!(read.visibility, Some(Visibility::Unknown(_))));
    assert!(matches!(read.default_subscription, Some(Subscription::Unknown(_))));
    assert_eq!(serde_json::to_value(read).unwrap(), topic);
    let property =
        json!({"id": "p", "key": "vip", "type": "date", "fallback_value": true, "created_at": null});
    let read: idempost::contact_properties::ContactProperty =
        serde_json::from_value(property.clone()).unwrap();
    assert!(matches!(read.kind, Some(PropertyType::Unknown(_))));
    assert_eq!(serde_json::to_value(read).unwrap(), property);
    // The service may omit optional fields.
    let least: TopicSubscription = serde_json::from_value(json!({ "id": "t", "name": "News" })).unwrap();
    assert_eq!((least.description, least.subscription), (None, None));
    serde_json::from_value::<Topic>(json!({ "id": "t", "name": "News", "new": 1 })).unwrap();
    serde_json::from_value::<idempost::contact_properties::ContactProperty>(
        json!({ "id": "p", "key": "vip" }),
    )
    .unwrap();
}

/// The subscription of a recipient: explicit, by default, or none because it is no contact.
#[derive(Clone, Copy, Debug)]
enum Person {
    In,
    Out,
    Silent,
    Stranger,
}

const PEOPLE: [(Person, &str); 4] = [
    (Person::In, "in@example.com"),
    (Person::Out, "out@example.com"),
    (Person::Silent, "silent@example.com"),
    (Person::Stranger, "stranger@example.com"),
];

fn person() -> impl Strategy<Value = (Person, &'static str)> {
    select(&PEOPLE[..])
}

/// The rule in one line.
fn gets(person: Person, default: &str) -> bool {
    match person {
        Person::In => true,
        Person::Out => false,
        Person::Silent | Person::Stranger => default == "opt_in",
    }
}

fn left<'a>(people: &[(Person, &'a str)], default: &str) -> Vec<&'a str> {
    people.iter().filter(|(person, _)| gets(*person, default)).map(|(_, address)| *address).collect()
}

fn handle(service: &Service, method: Method, path: &str, body: &Value) -> Value {
    let request = http::Request::builder().method(method).uri(path).header("authorization", "Bearer sb_test");
    let answer = service.handle(request.body(body.to_string().into()).unwrap());
    assert!(answer.status().is_success(), "{}", String::from_utf8_lossy(answer.body()));
    serde_json::from_slice(answer.body()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_recipients_who_want_the_topic_get_the_email(
        default in select(&["opt_in", "opt_out"][..]),
        to in vec(person(), 1..4),
        cc in vec(person(), 0..4),
        bcc in vec(person(), 0..4),
        upper in any::<bool>(),
    ) {
        let service = Service::new(Settings::default());
        let topic = handle(&service, Method::POST, "/topics", &json!({ "name": "x", "default_subscription": default }));
        for (address, choice) in [("in@example.com", Some("opt_in")), ("out@example.com", Some("opt_out")), ("silent@example.com", None)] {
            let topics: Vec<_> = choice.iter().map(|choice| json!({ "id": topic["id"], "subscription": choice })).collect();
            handle(&service, Method::POST, "/contacts", &json!({ "email": address, "topics": topics }));
        }
        let texts = |people: &[(Person, &str)]| -> Vec<String> {
            people.iter().map(|(_, address)| if upper { format!("Somebody <{}>", address.to_uppercase()) } else { (*address).to_owned() }).collect()
        };
        let email = json!({"from": "hi@acme.test", "to": texts(&to), "cc": texts(&cc), "bcc": texts(&bcc), "subject": "x",
            "text": "x", "topic_id": topic["id"]});
        let id = handle(&service, Method::POST, "/emails", &email);
        service.clock().advance(Duration::from_secs(10));
        let record = handle(&service, Method::GET, &format!("/emails/{}", id["id"].as_str().unwrap()), &Value::Null);
        let bare = |list: &[String]| -> Vec<String> {
            list.iter().map(|one| one.trim_start_matches("Somebody <").trim_end_matches('>').to_lowercase()).collect()
        };
        let mails = service.mails("sb_test");
        if left(&to, default).is_empty() {
            prop_assert_eq!(&record["last_event"], "failed");
            prop_assert!(mails.is_empty());
        } else {
            prop_assert_eq!(&record["last_event"], "delivered");
            prop_assert_eq!(mails.len(), 1);
            prop_assert_eq!(bare(&mails[0].to), left(&to, default));
            prop_assert_eq!(bare(&mails[0].cc), left(&cc, default));
            prop_assert_eq!(bare(&mails[0].bcc), left(&bcc, default));
        }
    }
}

const TEXTS: [&str; 12] = ["", " ", "x", "a b", "a_1", "A-b", "é", "🦀", "a\tb", "a\r\nb", "EMAIL", "this"];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(&TEXTS[..]).prop_map(str::to_owned),
        1 => select(&[50, 51, 200, 201][..]).prop_map(letters),
        1 => "\\PC{0,60}",
    ]
}

/// Validates the client's request against the contract and the service.
fn judged(path: &'static str, body: &Value) -> (bool, bool, String) {
    let service = Service::new(Settings::default());
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer sb_test"));
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let body = body.to_string();
    let mut asked = http::Request::post(path).body(body.clone().into()).unwrap();
    asked.headers_mut().clone_from(&headers);
    let request =
        Request { method: Method::POST, path: path.into(), query: String::new(), headers, body: body.into() };
    let breaches = Contract::get().breaches_of_request(&request);
    let answer = service.handle(asked);
    let details = format!("{breaches:?}; {}", String::from_utf8_lossy(answer.body()));
    (breaches.is_empty(), answer.status().is_success(), details)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn client_contract_and_service_agree_on_topics_and_properties(
        name in text(),
        description in option::of(text()),
        subscription in select(&["opt_in", "opt_out", "opt-in", ""][..]),
        visibility in option::of(select(&["public", "private", "x"][..])),
        key in text(),
        number in any::<bool>(),
    ) {
        let mut topic = NewTopic::new(name, Subscription::from(subscription.to_owned()));
        if let Some(description) = description {
            topic = topic.description(description);
        }
        if let Some(visibility) = visibility {
            topic = topic.visibility(Visibility::from(visibility.to_owned()));
        }
        let (contract, service, details) = judged("/topics", &serde_json::to_value(&topic).unwrap());
        prop_assert_eq!((contract, service), (topic.check().is_ok(), topic.check().is_ok()), "{}", details);
        let property: NewContactProperty = if number {
            NewContactProperty::number(key).fallback(1).into()
        } else {
            NewContactProperty::string(key).fallback("x").into()
        };
        let (contract, service, details) = judged("/contact-properties", &serde_json::to_value(&property).unwrap());
        prop_assert_eq!((contract, service), (property.check().is_ok(), property.check().is_ok()), "{}", details);
    }
}
