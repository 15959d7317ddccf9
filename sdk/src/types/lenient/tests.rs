#![allow(unreachable_pub, dead_code, reason = "the macro declares public types")]

use serde_json::json;

use super::*;
use crate::types::{EmailId, Timestamp};

record! {
    /// A summary.
    #[derive(PartialEq)]
    pub struct Summary {
        /// An ID.
        pub id: EmailId,
        /// A text.
        pub name: String,
        /// A number.
        pub size: Option<u64>,
        /// Another.
        pub priority as "prio" or "rank": Option<u16>,
        /// A switch.
        pub on: Option<bool>,
        /// A list.
        pub to: Vec<String>,
        /// A time.
        pub created_at: Option<Timestamp>,
    }
    /// The detail record.
    pub struct Detail: Summary {
        /// A body.
        pub html: Option<String>,
        /// Nested.
        pub inner: Option<Inner>,
    }
}

record! {
    /// A nested record.
    #[derive(PartialEq)]
    pub struct Inner {
        /// A text.
        pub text: Option<String>,
    }
}

fn read(value: Value) -> Detail {
    serde_json::from_value(value).unwrap()
}

#[test]
fn documented_types_are_read_and_written_unchanged() {
    let sent = json!({
        "id": "e1", "name": "n", "size": 12, "prio": 10, "on": true, "to": ["a", "b"], "created_at": "2026-01-01T00:00:00Z",
        "html": "<p>", "inner": { "text": "t" },
    });
    let detail = read(sent.clone());
    assert_eq!(
        (detail.id.as_str(), detail.size, detail.priority, detail.on),
        ("e1", Some(12), Some(10), Some(true))
    );
    assert_eq!(detail.malformed_fields().count(), 0);
    assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
}

#[test]
fn scalars_of_other_types_convert_and_keep_their_raw_value() {
    let sent = json!({
        "id": 7, "name": 1.5, "size": "12", "prio": 10.0, "on": "true", "to": "a", "created_at": 1_700_000_000, "html": false,
        "inner": { "text": 5 },
    });
    let detail = read(sent.clone());
    assert_eq!((detail.id.as_str(), detail.name.as_str(), detail.size), ("7", "1.5", Some(12)));
    assert_eq!(
        (detail.priority, detail.on, detail.to.as_slice()),
        (Some(10), Some(true), ["a".to_owned()].as_slice())
    );
    assert_eq!(detail.created_at.as_ref().map(Timestamp::as_str), Some("1700000000"));
    assert_eq!(
        (detail.html.as_deref(), detail.inner.as_ref().unwrap().text.as_deref()),
        (Some("false"), Some("5"))
    );
    assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
    let names: Vec<_> = detail.malformed_fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["created_at", "html", "id", "name", "on", "prio", "size", "to"]);
}

#[test]
fn unreadable_and_out_of_range_values_are_absent_and_keep_their_raw_value() {
    for size in [json!(1e30), json!(-1), json!(1.5), json!("much"), json!([]), json!({}), json!(true)] {
        let sent = json!({
            "id": "e", "name": [], "size": size, "prio": 70_000, "on": 2, "to": ["a", {}, 5], "created_at": {}, "html": ["x"], "inner": 5,
        });
        let detail = read(sent.clone());
        assert_eq!((detail.name.as_str(), detail.size, detail.priority, detail.on), ("", None, None, None));
        assert_eq!(detail.to, ["a", "5"]);
        assert!(detail.created_at.is_none() && detail.html.is_none() && detail.inner.is_none());
        assert_eq!(serde_json::to_value(&detail).unwrap(), sent);
    }
}

#[test]
fn null_and_missing_fields_are_absent() {
    let sent = json!({
        "id": "e", "name": null, "size": null, "prio": null, "rank": 3, "on": null, "to": null, "created_at": null, "html": null,
        "inner": null,
    });
    for sent in [sent, json!({ "id": "e", "rank": 3 })] {
        let detail = read(sent);
        assert!(detail.name.is_empty() && detail.to.is_empty() && detail.on.is_none());
        assert_eq!((detail.priority, detail.malformed_fields().count()), (Some(3), 0));
    }
}

#[test]
fn a_record_without_its_identifier_is_rejected_with_the_field_name() {
    // B-20
    for (sent, message) in [
        (json!({ "name": "n" }), "missing field `id`"),
        (json!({ "id": null }), "missing field `id`"),
        (json!({ "id": ["e"] }), "field `id` has an unexpected type: an array"),
    ] {
        assert_eq!(serde_json::from_value::<Summary>(sent).unwrap_err().to_string(), message);
    }
}

#[test]
fn malformed_values_never_show_in_debug() {
    let summary: Summary = serde_json::from_value(json!({ "id": "e", "on": "sentinel" })).unwrap();
    let shown = format!("{summary:?}");
    assert!(shown.contains("\"on\"") && !shown.contains("sentinel"), "{shown}");
}
