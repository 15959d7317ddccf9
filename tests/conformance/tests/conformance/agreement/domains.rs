//! Domains.

use idempost::domains::{NewDomain, Region, Tls};
use proptest::{option, prelude::*, sample::select};

use super::judged;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("acme.test".to_owned()),
        2 => "[a-zA-Z0-9-]{1,3}(\\.[a-z0-9-]{1,3}){0,3}",
        1 => select(&["", ".", "a..b", "é.test", "a b.test", "https://a.test", "1.2.3.4", "a.test.", "a_b.test"][..]).prop_map(str::to_owned),
        1 => select(&[62_usize, 63, 64][..]).prop_map(|length| format!("{}.test", "x".repeat(length))),
        1 => any::<String>(),
    ]
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(&["send", "links", "a", "a-b", "Send", "-", "a-", "a.b", "", "é", "_"][..]).prop_map(str::to_owned),
        1 => select(&[63_usize, 64][..]).prop_map(|length| "x".repeat(length)),
    ]
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(words).prop_map(str::to_owned)
}

prop_compose! {
    fn domain()(
        name in name(),
        region in option::weighted(0.3, word(&["us-east-1", "eu-west-1", "mars-1", ""])),
        return_path in option::weighted(0.3, label()),
        tracking in option::weighted(0.3, label()),
        tls in option::weighted(0.3, word(&["opportunistic", "enforced", "ENFORCED"])),
        sending in option::weighted(0.4, any::<bool>()),
        receiving in option::weighted(0.4, any::<bool>()),
    ) -> NewDomain {
        let domain = NewDomain::new(name);
        let domain = region.into_iter().map(Region::from).fold(domain, NewDomain::region);
        let domain = return_path.into_iter().fold(domain, NewDomain::custom_return_path);
        let domain = tracking.into_iter().fold(domain, NewDomain::tracking_subdomain);
        let domain = tls.into_iter().map(Tls::from).fold(domain, NewDomain::tls);
        let domain = sending.into_iter().fold(domain, NewDomain::sending);
        receiving.into_iter().fold(domain, NewDomain::receiving)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn validation_contract_and_service_agree_on_domains(domain in domain()) {
        let checked = domain.check();
        let (contract, service, details) = judged("/domains", &domain);
        prop_assert!(checked.is_err() || contract, "the client accepts what violates the contract: {details}");
        prop_assert_eq!(service, checked.is_ok(), "{:?} {}", checked, details);
    }
}
