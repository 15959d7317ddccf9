//! Topics and contact properties.

use idempost::{
    contact_properties::NewContactProperty,
    topics::{NewTopic, Subscription, Visibility},
};
use proptest::{option, prelude::*, sample::select};

use super::judged;
use crate::letters;

const TEXTS: [&str; 12] = ["", " ", "x", "a b", "a_1", "A-b", "é", "🦀", "a\tb", "a\r\nb", "EMAIL", "this"];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(&TEXTS[..]).prop_map(str::to_owned),
        1 => select(&[50, 51, 200, 201][..]).prop_map(letters),
        1 => "\\PC{0,60}",
    ]
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
        let topic = NewTopic::new(name, Subscription::from(subscription.to_owned()));
        let topic = description.into_iter().fold(topic, NewTopic::description);
        let topic = visibility.into_iter().map(Visibility::from).fold(topic, NewTopic::visibility);
        let valid = topic.check().is_ok();
        let (contract, service, details) = judged("/topics", &topic);
        prop_assert_eq!((contract, service), (valid, valid), "{}", details);
        let property: NewContactProperty = if number {
            NewContactProperty::number(key).fallback(1).into()
        } else {
            NewContactProperty::string(key).fallback("x").into()
        };
        let (contract, service, details) = judged("/contact-properties", &property);
        let valid = property.check().is_ok();
        prop_assert_eq!((contract, service), (valid, valid), "{}", details);
    }
}
