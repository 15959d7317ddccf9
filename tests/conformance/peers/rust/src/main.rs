//! The crate `resend-rs`, with only its base URL changed: a file per resource, each with its own API key and therefore its own sandbox account.
//! Every public method of its services is called or listed here with a reason.

mod methods;
mod stories;
mod support;

use std::collections::BTreeSet;
use std::sync::Mutex;

use resend_rs::{ConfigBuilder, Resend};

/// Why a method isn't called.
const REASONS: &[(&str, &str)] =
    &[("domains.claim", CLAIM), ("domains.get_claim", CLAIM), ("domains.verify_claim", CLAIM)];
const CLAIM: &str =
    "it reads no claim of the service: it expects the record type `t_x_t`, where the service has `TXT`";

static CALLED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Calls a method of a service and records its name.
#[macro_export]
macro_rules! call {
    ($client:ident.$service:ident.$method:ident($($argument:tt)*)) => {{
        $crate::record(concat!(stringify!($service), ".", stringify!($method)));
        $client.$service.$method($($argument)*).await
    }};
}

fn record(method: &str) {
    CALLED.lock().expect("no story panicked").insert(method.to_owned());
}

/// A client with its own key, and therefore its own account.
fn client(account: &str) -> Resend {
    let base_url = std::env::var("PEER_BASE_URL").expect("PEER_BASE_URL is set");
    let base_url = base_url.parse().expect("PEER_BASE_URL is an address");
    Resend::with_config(ConfigBuilder::new(format!("re_rust_{account}")).base_url(base_url).build())
}

macro_rules! tell {
    ($($story:ident)*) => {
        $(if let Err(error) = stories::$story::story(&client(stringify!($story))).await {
            panic!("resend-rs: {}: {error}", stringify!($story));
        })*
    };
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let methods = methods::all();
    tell! {
        emails attachments templates domains contacts imports broadcasts metrics automations receiving suppressions account webhooks
        grants inboxes
    }
    let called = CALLED.lock().expect("no story panicked");
    println!("resend-rs: {} of {} methods called, all ok", called.len(), methods.len());
    for (method, reason) in REASONS {
        println!("  not called: {method}: {reason}");
    }
    let reason = |method: &str| REASONS.iter().any(|(known, _)| *known == method);
    let uncalled = methods.difference(&called);
    let mut wrong: Vec<_> = uncalled
        .filter(|method| !reason(method))
        .map(|method| format!("{method} isn't called and has no reason"))
        .collect();
    let stale = REASONS.iter().filter(|(method, _)| called.contains(*method) || !methods.contains(*method));
    wrong.extend(stale.map(|(method, _)| format!("{method} is called or unknown, but has a reason")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
