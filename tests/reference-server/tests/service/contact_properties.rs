//! Contact properties: keys, types, fallbacks, and cascading deletion.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Answer, RESERVED_KEYS, Sandbox, expect_fields_of, race};

fn patch(sandbox: &Sandbox, id: &str, body: &Value) -> Answer {
    sandbox.patch(format!("/contact-properties/{id}"), body)
}

#[test]
fn a_property_is_created_read_updated_and_deleted() {
    // PROP-01, PROP-02
    let sandbox = Sandbox::new();
    let city = sandbox.created(
        "/contact-properties",
        &json!({ "key": "city", "type": "string", "fallback_value": "your town" }),
    );
    let orders = sandbox.created("/contact-properties", &json!({ "key": "orders", "type": "number" }));
    let shown = sandbox.get(format!("/contact-properties/{city}")).json();
    let mut expected = json!({"object": "contact_property", "id": city, "key": "city", "type": "string",
        "fallback_value": "your town", "created_at": "2026-03-02 12:00:00.000000+00"});
    assert_eq!(shown, expected);
    let list = sandbox.get("/contact-properties").json();
    expect_fields_of(&json!({ "id": orders, "fallback_value": null }), &list["data"][0]);
    expected.as_object_mut().unwrap().remove("object");
    assert_eq!(list["data"][1], expected);
    let fallback = |id: &str, body: Value| {
        let answer = patch(&sandbox, id, &body);
        assert_eq!(answer.json(), json!({ "object": "contact_property", "id": id }), "{}", answer.text());
        sandbox.get(format!("/contact-properties/{id}")).json()["fallback_value"].clone()
    };
    assert_eq!(fallback(&city, json!({ "fallback_value": "" })), "");
    assert_eq!(fallback(&city, json!({})), "", "omitted fields are unchanged");
    assert_eq!(fallback(&city, json!({ "fallback_value": null })), Value::Null);
    assert_eq!(fallback(&orders, json!({ "fallback_value": -2.5 })), -2.5);
    let path = format!("/contact-properties/{city}");
    let gone = sandbox.delete(&path);
    assert_eq!(gone.json(), json!({ "object": "contact_property", "id": city, "deleted": true }));
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(sandbox.ask(method, &path).send("").status, 404);
    }
    sandbox.get("/contact-properties/city").rejected(422, "invalid_parameter", "UUID");
    // Its key can be reused, even with another type.
    sandbox.created("/contact-properties", &json!({ "key": "city", "type": "number", "fallback_value": 0 }));
}

#[test]
fn keys_are_short_ascii_unique_and_not_reserved() {
    let sandbox = Sandbox::new();
    let new = |key: &str| sandbox.post("/contact-properties", &json!({ "key": key, "type": "string" }));
    assert_eq!(new(&"k".repeat(50)).status, 201);
    new(&"k".repeat(51)).invalid("51");
    for key in ["", " ", "a b", "a-b", "a.b", "é", "a\n"] {
        new(key).invalid("`key` must consist of ASCII letters, digits and underscores; found");
    }
    for key in RESERVED_KEYS {
        new(key).invalid(&format!("`key` must not be reserved; found {key}"));
    }
    for key in ["city", "City", "CITY_2", "_", "1", "email"] {
        assert_eq!(new(key).status, 201, "{key}");
    }
    new("city").invalid("city");
}

#[test]
fn a_fallback_matches_its_type_and_the_type_is_immutable() {
    let sandbox = Sandbox::new();
    sandbox.post("/contact-properties", &json!({})).invalid("Missing `key`");
    sandbox.post("/contact-properties", &json!({ "key": "x" })).invalid("Missing `type`");
    for (r#type, fallback, fits) in [
        ("string", json!("1"), true),
        ("string", json!(1), false),
        ("number", json!(1), true),
        ("number", json!("1"), false),
        ("number", json!(true), false),
        ("string", json!([]), false),
        ("string", Value::Null, true),
    ] {
        let key = format!("k{fits}_{}", fallback.to_string().len());
        let body = json!({ "key": format!("{key}_{type}"), "type": r#type, "fallback_value": fallback });
        let answer = sandbox.post("/contact-properties", &body);
        if fits {
            assert_eq!(answer.status, 201, "{}", answer.text());
        } else {
            answer.invalid(&format!("`fallback_value` must be of the property's type, {type}; found a"));
        }
    }
    for wrong in [json!("boolean"), json!("String"), json!(1)] {
        let body = json!({ "key": "x", "type": wrong });
        sandbox.post("/contact-properties", &body).invalid("type");
    }
    let id = sandbox.created("/contact-properties", &json!({ "key": "x", "type": "number" }));
    for (field, value) in [("key", json!("y")), ("type", json!("string")), ("fallback_value", json!("1"))] {
        patch(&sandbox, &id, &json!({ field: value })).invalid(field);
    }
}

#[test]
fn deleting_a_property_deletes_its_values_on_all_contacts() {
    let sandbox = Sandbox::new();
    let city = sandbox.created("/contact-properties", &json!({ "key": "city", "type": "string" }));
    sandbox.created("/contact-properties", &json!({ "key": "orders", "type": "number" }));
    for (address, properties) in [
        ("ada@example.com", json!({ "city": "London", "orders": 3 })),
        ("bob@example.com", json!({ "city": "Paris" })),
    ] {
        sandbox.created("/contacts", &json!({ "email": address, "properties": properties }));
    }
    sandbox.delete(format!("/contact-properties/{city}"));
    // A new property with the same key starts without values.
    sandbox.created("/contact-properties", &json!({ "key": "city", "type": "string" }));
    let properties = |address: &str| sandbox.get(format!("/contacts/{address}")).json()["properties"].clone();
    assert_eq!(properties("ada@example.com"), json!({ "orders": { "type": "number", "value": 3 } }));
    assert_eq!(properties("bob@example.com"), json!({}));
}

#[test]
fn a_contact_gets_no_value_of_a_property_that_is_deleted_meanwhile() {
    let sandbox = Sandbox::unread();
    sandbox.created("/contacts", &json!({ "email": "ada@example.com" }));
    // Many properties are checked after it, so that the deletion overlaps with the change.
    let keys: Vec<_> = (0..900).map(|n| format!("k{n}")).collect();
    for key in &keys {
        sandbox.created("/contact-properties", &json!({ "key": key, "type": "string" }));
    }
    let mut values: Value = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
    values["gone"] = "here".into();
    for round in 0..30 {
        let gone = sandbox.created("/contact-properties", &json!({ "key": "gone", "type": "string" }));
        let delete = || {
            (0..round).for_each(|_| drop(sandbox.get("/contact-properties?limit=1")));
            sandbox.delete(format!("/contact-properties/{gone}"));
        };
        race(delete, || drop(sandbox.patch("/contacts/ada@example.com", &json!({ "properties": values }))));
        let contact = sandbox.get("/contacts/ada@example.com").json();
        assert_eq!(contact["properties"], json!({}), "{round}");
    }
}

#[test]
fn a_boolean_value_is_stored_as_given_whatever_the_type_of_its_property() {
    // GEN-06
    let sandbox = Sandbox::new();
    sandbox
        .created("/contact-properties", &json!({ "key": "vip", "type": "string", "fallback_value": "no" }));
    sandbox.created("/contact-properties", &json!({ "key": "score", "type": "number" }));
    let contact = json!({ "email": "ada@example.com", "properties": { "vip": true, "score": false } });
    sandbox.created("/contacts", &contact);
    let read = || sandbox.get("/contacts/ada@example.com").json()["properties"].clone();
    let boolean = |value: bool| json!({ "type": "boolean", "value": value });
    assert_eq!(read(), json!({ "vip": boolean(true), "score": boolean(false) }));
    let change = |properties: Value| {
        let ask = sandbox.ask(Method::PATCH, "/contacts/ada@example.com");
        ask.json(&json!({ "properties": properties }))
    };
    assert_eq!(change(json!({ "vip": "yes", "score": true })).status, 200);
    assert_eq!(read(), json!({ "vip": { "type": "string", "value": "yes" }, "score": boolean(true) }));
    assert_eq!(change(json!({ "vip": true })).status, 200);
    change(json!({ "vip": [true] })).invalid("a string, a number, a boolean or null");

    let segment = sandbox.created("/segments", &json!({ "name": "All" }));
    sandbox.act(format!("/contacts/ada@example.com/segments/{segment}"));
    let broadcast = json!({ "segment_id": segment, "from": "hi@acme.test", "subject": "{{{contact.vip}}}",
        "text": "{{{contact.score|none}}}", "send": true });
    sandbox.created("/broadcasts", &broadcast);
    let mail = sandbox.mail();
    assert_eq!((mail.subject.as_str(), mail.text.as_deref().map(str::trim)), ("true", Some("true")));
}
