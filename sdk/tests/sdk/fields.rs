//! What the declarations of inputs say about their fields, and how JSON sets them.

use idempost::problem::{Problems, Validate as _};
use idempost::topics::{NewTopic, TopicPatch};
use idempost::types::fields::{Field, Input, Kind};
use idempost::{contacts::NewContact, templates::TemplatePatch};
use serde_json::{Value, json};

fn field<I: Input>(name: &str) -> Field {
    *I::FIELDS.iter().find(|field| field.name == name).unwrap()
}

fn problems<I: Input>(json: &Value) -> Vec<(String, &'static str)> {
    let (input, shape) = I::read(json);
    let found = Problems::merge(shape, input.check()).err().map(Problems::into_vec).unwrap_or_default();
    found.into_iter().map(|problem| (problem.path, problem.code)).collect()
}

#[test]
fn a_declaration_states_what_each_field_takes() {
    let subscription = field::<NewTopic>("default_subscription");
    assert_eq!(subscription.kind, Kind::Choice(&["opt_in", "opt_out"]));
    assert!(subscription.required && !field::<NewTopic>("description").required);
    assert!(field::<TopicPatch>("description").clearable && !field::<TopicPatch>("name").clearable);
    assert_eq!(field::<TemplatePatch>("reply_to").kind, Kind::List(&Kind::Text));
    assert_eq!(field::<NewContact>("unsubscribed").kind, Kind::Boolean);
}

#[test]
fn json_sets_and_clears_fields() {
    let (topic, shape) = NewTopic::read(&json!({"name": "News", "default_subscription": "opt_in"}));
    shape.unwrap();
    assert_eq!(topic, NewTopic::new("News", "opt_in"));
    let (patch, shape) = TopicPatch::read(&json!({"description": null, "name": "x"}));
    shape.unwrap();
    assert_eq!(patch, TopicPatch::new().name("x").clear_description());
}

#[test]
fn all_problems_of_shape_and_rules_are_reported_once() {
    let json = json!({"description": 5, "visibility": "all", "extra": 1});
    let expected = [
        ("/name", "required"),
        ("/default_subscription", "required"),
        ("/description", "type"),
        ("/extra", "unknown"),
        ("/visibility", "type"),
    ];
    assert_eq!(problems::<NewTopic>(&json), expected.map(|(path, code)| (path.to_owned(), code)));
    let json = json!({"email": "ada@example.com", "segments": ["s1", 2], "properties": {"a": "b"}});
    assert_eq!(problems::<NewContact>(&json), [("/segments/1".to_owned(), "type")]);
    assert_eq!(problems::<TopicPatch>(&json!([])), [(String::new(), "type")]);
}
