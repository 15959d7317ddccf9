//! The recipient guard: no request of a guarded client sends to another recipient. The server's record of sent email decides.

use http::Method;
use idempost::{
    Attachment, BatchEmail, BroadcastId, Client, EmailId, Error, Outcome, SegmentId,
    automations::{AutomationEmail, AutomationStatus, Connection, NewAutomation, Step},
    broadcasts::{BroadcastPatch, NewBroadcast},
    contacts::{ContactPatch, NewContact},
    emails::Email,
    events::EventOccurrence,
    inboxes::{InboxForward, InboxReply, NewInbox, NewInboxDraft},
    templates::NewTemplate,
    types::RecipientGuard,
};
use idempost_reference_server::{ClockStart, ReferenceServer, Settings};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::operations::Document;

const INSIDE: [&str; 5] = [
    "ada@acme.test",
    "Ada <bob@ACME.test>",
    "\"Doe, J\" <j.doe+x@acme.test>",
    "\"eve@evil.test\" <ada@acme.test>",
    "QA <qa@example.com>",
];
/// Other addresses, and texts that some parser could take for an allowed address.
const OUTSIDE: [&str; 16] = [
    "eve@evil.test",
    "Ada <eve@evil.test>",
    "qa@example.org",
    "QA@example.com",
    "ada@acme.test.evil.test",
    "ada@sub.acme.test",
    "ada@acme.test, eve@evil.test",
    "ada@acme.test;eve@evil.test",
    "ada@acme.test <eve@evil.test>",
    "eve@evil.test <ada@acme.test>",
    "\"ada@acme.test\" <eve@evil.test>",
    "\"ada@acme.test\"@evil.test",
    "\"eve@evil.test\"@acme.test",
    "eve%evil.test@acme.test",
    "ada@\u{430}cme.test",
    "<@evil.test:ada@acme.test>",
];

fn guard() -> RecipientGuard {
    RecipientGuard::new().allow_to(["*@acme.test", "qa@example.com"]).unwrap()
}

fn redirection() -> RecipientGuard {
    RecipientGuard::new().redirect_to(["qa@acme.test"]).unwrap()
}

/// A service with every kind of record that can be sent, and a client with a guard.
struct World {
    server: ReferenceServer,
    client: Client,
    /// A segment with allowed contacts, and one with a contact that isn't allowed.
    segments: [SegmentId; 2],
    /// A draft for each segment.
    drafts: Vec<BroadcastId>,
    /// Scheduled by a client without a guard, to an allowed recipient and to another.
    scheduled: Vec<EmailId>,
    contacts: Vec<String>,
    inbox: String,
    /// Threads and emails from an allowed sender and from another.
    received: Vec<(String, String)>,
    inbox_drafts: Vec<String>,
}

impl World {
    async fn start(guard: RecipientGuard) -> Self {
        let noon = "2026-03-02T12:00:00Z".parse().unwrap();
        let settings =
            Settings { seed: Some(1), clock: ClockStart::Frozen(noon), beta: true, ..Settings::default() };
        let server = idempost_sandbox::start(settings).await;
        let builder = || Client::builder().base_url(server.base_url()).api_key(server.api_key());
        let (open, client) = (builder().build().unwrap(), builder().recipient_guard(guard).build().unwrap());
        let (mut segments, mut drafts, mut scheduled, mut contacts) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, email) in [("Staff", "ada@acme.test"), ("Readers", "eve@evil.test")] {
            let segment = open.segments().create(name).await.unwrap().id;
            let contact = open.contacts().create(&NewContact::new(email)).await.unwrap().id;
            open.contacts().add_to_segment(email, &segment).await.unwrap();
            let draft = NewBroadcast::new(&segment, "news@acme.test", "Your week").text("Hello");
            drafts.push(open.broadcasts().create(&draft).await.unwrap().id);
            let later =
                Email::new("hi@acme.test", email, "Later").text("Hello").scheduled_at("2026-03-03T12:00:00Z");
            scheduled.push(open.emails().send(&later).await.unwrap().id);
            segments.push(segment);
            contacts.push(contact.to_string());
        }
        let template = NewTemplate::new("Welcome", "<p>Hello</p>")
            .alias("welcome")
            .from("hi@acme.test")
            .subject("Hello");
        let template = open.templates().create(&template).await.unwrap().id;
        open.templates().publish(&template).await.unwrap();
        let automation = NewAutomation::new("Series")
            .status(AutomationStatus::Enabled)
            .step(Step::trigger("start", "user.created"))
            .step(Step::send_email("mail", AutomationEmail::new(template)))
            .connection(Connection::new("start", "mail"));
        open.automations().create(&automation).await.unwrap();
        let inbox = open.inboxes().create(&NewInbox::new("support@acme.test")).await.unwrap().id.to_string();
        let mut received = Vec::new();
        for (i, from) in ["ada@acme.test", "eve@evil.test"].into_iter().enumerate() {
            let mail = format!(
                "From: {from}\r\nTo: support@acme.test\r\nCc: eve@evil.test\r\nMessage-ID: <{i}@x.test>\r\nSubject: Help {i}\r\n\r\nHello\r\n"
            );
            let call = open.request(Method::POST, "/_/received?to=support@acme.test");
            call.body("message/rfc822", mail).await.unwrap();
            let threads = open.inboxes().threads(inbox.as_str()).await.unwrap().data;
            let thread = threads
                .iter()
                .find(|thread| thread.subject.as_deref() == Some(&format!("Help {i}")))
                .unwrap();
            let emails = open.inboxes().emails(inbox.as_str(), &thread.id).await.unwrap().data;
            received.push((thread.id.to_string(), emails[0].id.to_string()));
        }
        let mut inbox_drafts = Vec::new();
        for to in ["ada@acme.test", "eve@evil.test"] {
            let draft = NewInboxDraft::new().to(to).subject("Draft").text("Hello");
            inbox_drafts
                .push(open.inboxes().create_draft(inbox.as_str(), &draft).await.unwrap().id.to_string());
        }
        let segments = segments.try_into().unwrap();
        Self { server, client, segments, drafts, scheduled, contacts, inbox, received, inbox_drafts }
    }

    /// All addresses that received an email.
    fn reached(&self) -> Vec<String> {
        let mails = self.server.service().mails(&self.server.api_key());
        mails.iter().flat_map(|mail| mail.recipients().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    async fn raw(&self, method: Method, path: &str, body: impl Into<Vec<u8>>) -> Result<Value, Error> {
        self.client.request(method, path).body("application/json", body).skip_validation().await
    }

    /// Performs an operation; most fail.
    async fn perform(&self, act: &Act) {
        let Self { client, segments, drafts, scheduled, contacts, inbox, received, inbox_drafts, .. } = self;
        let (thread, email) = &received[act.which];
        let address = act.to[0].as_str();
        let mail = || {
            let mut email = Email::new("hi@acme.test", act.to.clone(), "Hello").text("It works");
            email = email.cc(act.cc.clone()).bcc(act.bcc.clone());
            if act.flag { email.attach(Attachment::from_bytes("a.txt", "content")) } else { email }
        };
        let done: Result<(), Error> = match act.kind {
            0 | 1 => client.emails().send(&mail()).skip_validation().await.map(drop),
            2 => {
                let one = |to: &str| BatchEmail::new("hi@acme.test", to, "Hello").text("It works");
                let batch: Vec<_> = act.to.iter().map(|to| one(to)).collect();
                client.emails().send_batch(&batch).skip_validation().permissive().await.map(drop)
            }
            3 => {
                let reply = InboxReply::new().text("Thanks").cc(act.cc.clone()).reply_all(act.flag);
                client
                    .inboxes()
                    .reply(inbox.as_str(), thread.as_str(), email.as_str(), &reply)
                    .skip_validation()
                    .await
                    .map(drop)
            }
            4 => {
                let forward = InboxForward::new(act.to.clone()).bcc(act.bcc.clone());
                client
                    .inboxes()
                    .forward(inbox.as_str(), thread.as_str(), email.as_str(), &forward)
                    .skip_validation()
                    .await
                    .map(drop)
            }
            5 => {
                client.inboxes().send_draft(inbox.as_str(), inbox_drafts[act.which].as_str()).await.map(drop)
            }
            6 => {
                let draft = NewInboxDraft::new().to(act.to.clone()).subject("Draft").text("Hello");
                match client.inboxes().create_draft(inbox.as_str(), &draft).skip_validation().await {
                    Ok(draft) => client.inboxes().send_draft(inbox.as_str(), &draft.id).await.map(drop),
                    Err(error) => Err(error),
                }
            }
            7 => client.broadcasts().send(&drafts[act.which]).await.map(drop),
            8 => client.broadcasts().send_at(&drafts[act.which], "in 1 hour").await.map(drop),
            9 => {
                let broadcast =
                    NewBroadcast::new(&segments[act.which], "news@acme.test", "Now").text("Hello");
                let broadcast = if act.flag { broadcast.send_now() } else { broadcast.send_at("in 1 hour") };
                client.broadcasts().create(&broadcast).await.map(drop)
            }
            10 => {
                let patch = BroadcastPatch::new().segment_id(&segments[act.which]);
                client.broadcasts().update(&drafts[0], &patch).await.map(drop)
            }
            11 => client.emails().reschedule(&scheduled[act.which], "in 1 minute").await.map(drop),
            12 => client
                .events()
                .send(&EventOccurrence::for_email("user.created", address))
                .skip_validation()
                .await
                .map(drop),
            13 => {
                let event = EventOccurrence::for_contact("user.created", contacts[act.which].as_str());
                client.events().send(&event).await.map(drop)
            }
            14 => {
                let change = json!({ "email": address });
                self.raw(Method::PATCH, &format!("/contacts/{}", contacts[act.which]), change.to_string())
                    .await
                    .map(drop)
            }
            15 => client
                .contacts()
                .update(contacts[act.which].as_str(), &ContactPatch::new().first_name("A"))
                .await
                .map(drop),
            _ => client.contacts().add_to_segment(contacts[act.which].as_str(), &segments[0]).await.map(drop),
        };
        if let Err(error) = done {
            assert_ne!(error.outcome(), Outcome::Unknown, "{error:?}");
        }
        // Less than a day, so that emails scheduled without a guard aren't sent.
        self.server.service().clock().advance(std::time::Duration::from_mins(1));
    }
}

/// One operation, and the recipients it could send to.
#[derive(Clone, Debug)]
struct Act {
    kind: u8,
    which: usize,
    flag: bool,
    to: Vec<String>,
    cc: Vec<String>,
    bcc: Vec<String>,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    // Most addresses are allowed, so that emails with one that isn't are rare enough for others to be sent.
    let address = || {
        prop_oneof![
            4 => prop::sample::select(&INSIDE[..]).prop_map(str::to_owned),
            1 => prop::sample::select(&OUTSIDE[..]).prop_map(str::to_owned),
        ]
    };
    let list = move |min| prop::collection::vec(address(), min..3);
    let act = (0..17_u8, 0..2_usize, any::<bool>(), list(1), list(0), list(0));
    prop::collection::vec(
        act.prop_map(|(kind, which, flag, to, cc, bcc)| Act { kind, which, flag, to, cc, bcc }),
        1..16,
    )
}

fn is_inside(address: &str) -> bool {
    let domain =
        address.split_once('@').filter(|(local, _)| !local.contains(['"', '%'])).map(|(_, domain)| domain);
    address == "qa@example.com" || domain.is_some_and(|domain| domain.eq_ignore_ascii_case("acme.test"))
}

/// All addresses that receive an email by these operations of a client with this guard.
fn reached(guard: RecipientGuard, acts: &[Act]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::start(guard).await;
        for act in acts {
            world.perform(act).await;
        }
        world.reached()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_operation_sends_to_a_recipient_that_isn_t_allowed(acts in acts()) {
        // G-13
        let reached = reached(guard(), &acts);
        prop_assert!(reached.iter().all(|address| is_inside(address)), "{reached:?}");
    }

    #[test]
    fn no_operation_of_a_redirecting_client_sends_elsewhere(acts in acts()) {
        // G-13
        let reached = reached(redirection(), &acts);
        prop_assert!(reached.iter().all(|address| address == "qa@acme.test"), "{reached:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_sends_to_allowed_recipients() {
    let world = World::start(guard()).await;
    let to = || vec!["ada@acme.test".to_owned()];
    for kind in [0, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13] {
        let before = world.reached().len();
        let act = Act { kind, which: 0, flag: kind == 9, to: to(), cc: Vec::new(), bcc: Vec::new() };
        world.perform(&act).await;
        assert!(world.reached().len() > before, "{kind} sent nothing");
    }
    assert!(world.reached().iter().all(|address| is_inside(address)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_by_method_and_path_evades_the_guard() {
    // G-13
    let world = World::start(guard()).await;
    let with = |fields: &str| format!(r#"{{"from":"hi@acme.test","subject":"s","text":"t",{fields}}}"#);
    let mut bodies: Vec<String> = OUTSIDE.iter().map(|to| with(&format!(r#""to":{}"#, json!(to)))).collect();
    for fields in [
        r#""to":"ada@acme.test","to":"eve@evil.test""#,
        r#""to":"eve@evil.test","to":"ada@acme.test""#,
        r#""to":"ada@acme.test","\u0074o":"eve@evil.test""#,
        r#""to":["ada@acme.test","eve@evil.test"]"#,
        r#""to":[["eve@evil.test"]]"#,
        r#""to":{"email":"eve@evil.test"}"#,
        r#""to":"ada@acme.test","cc":"eve@evil.test""#,
        r#""to":"ada@acme.test","bcc":["eve@evil.test"]"#,
        r#""to":"ada@acme.test","headers":{"Bcc":"eve@evil.test"}"#,
        r#""to":"ada@acme.test","headers":[{"name":"Bcc","value":"eve@evil.test"}]"#,
        r#""to":"ada@acme.test\r\nBcc: eve@evil.test""#,
        r#""to":"ada@acme.test","Bcc":"eve@evil.test""#,
        r#""to":"ada@acme.test","bcc ":"eve@evil.test""#,
        r#""to":"ada@acme.test","\u0000CC":"eve@evil.test""#,
        r#""to":"ada@acme.test","Headers":{"Bcc":"eve@evil.test"}"#,
        r#""to":"ada@acme.test","headers":{"Bcc ":"eve@evil.test"}"#,
        r#""to":"ada@acme.test","headers":{"Bcc:eve@evil.test\r\nX":"1"}"#,
        r#""to":"ada@acme.test","headers":{"X":"1\r\nBcc: eve@evil.test"}"#,
        r#""to":"ada@acme.test","headers":{"X":["1\r\nBcc: eve@evil.test"]}"#,
    ] {
        bodies.push(with(fields));
    }
    bodies.push(
        String::from_utf8_lossy(&[b"\xef\xbb\xbf", with(r#""to":"eve@evil.test""#).as_bytes()].concat())
            .into_owned(),
    );
    let paths = "/emails /emails/ /email /emails/sending /email/sending /emails?x=1 /%65mails /emails%2Fsending \
        /contacts/..%2F..%2Femails /Emails /emails/batch /emails/batch/ /unknown /events/send \
        /_/api/v1/send /api/v1/send /_/mailpit/api/v1/send";
    for path in paths.split(' ') {
        for body in
            bodies.iter().flat_map(|body| [body.clone(), format!("[{body}]"), format!("[null,{body}]")])
        {
            for method in [Method::POST, Method::PUT, Method::GET, Method::from_bytes(b"post").unwrap()] {
                let error = world.raw(method.clone(), path, body.clone()).await.unwrap_err();
                assert_eq!(error.outcome(), Outcome::NotSent, "{method} {path} {body}");
            }
        }
    }
    assert_eq!(world.reached(), Vec::<String>::new());
    // The same requests with an allowed recipient are sent.
    let sent = world.raw(Method::POST, "/emails", with(r#""to":"ada@acme.test""#)).await;
    assert!(sent.is_ok(), "{sent:?}");
    let download = world
        .client
        .request(Method::POST, "/emails")
        .body("application/json", with(r#""to":"eve@evil.test""#));
    assert_eq!(download.bytes().write_to(&mut Vec::new()).await.unwrap_err().outcome(), Outcome::NotSent);
    assert_eq!(world.reached(), ["ada@acme.test"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_each_rejected_recipient_and_its_field() {
    let world = World::start(guard()).await;
    let places = |error: Error| match error {
        Error::Invalid(problems) => problems
            .iter()
            .map(|one| format!("{} {}", one.path, one.found.as_deref().unwrap_or_default()))
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let email = Email::new("hi@acme.test", ["ada@acme.test", "Eve <eve@evil.test>"], "s")
        .text("t")
        .bcc("x@evil.test");
    let error = world.client.emails().send(&email).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotSent);
    assert!(error.to_string().contains("nothing was sent"), "{error}");
    assert_eq!(places(error), ["/to/1 eve@evil.test", "/bcc/0 x@evil.test"]);
    let batch =
        ["ada@acme.test", "eve@evil.test"].map(|to| BatchEmail::new("hi@acme.test", to, "s").text("t"));
    let error = world.client.emails().send_batch(&batch).await.unwrap_err();
    assert_eq!(places(error), ["/1/to/0 eve@evil.test"]);
    let error = world.client.broadcasts().send(&world.drafts[1]).await.unwrap_err();
    assert_eq!(places(error), ["/segment_id eve@evil.test"]);
    let preview = world.client.emails().send(&email).preview().unwrap_err();
    assert_eq!(places(preview).len(), 2);
    let unknown = world.client.request(Method::POST, "/campaigns").json(&json!({})).await.unwrap_err();
    assert_eq!(places(unknown), [" POST /campaigns"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn recipients_that_can_t_be_read_are_rejected() {
    let world = World::start(guard()).await;
    let client = Client::builder().base_url(world.server.base_url()).api_key(world.server.sending_key());
    let client = client.recipient_guard(guard()).build().unwrap();
    let error = client.broadcasts().send(&world.drafts[0]).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotSent);
    let Error::Invalid(problems) = error else { panic!("{error:?}") };
    assert!(problems[0].message.contains("can't read the recipients"), "{problems}");
    assert!(world.reached().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirected_email_names_its_original_recipients() {
    let world = World::start(redirection()).await;
    let email = Email::new("hi@acme.test", ["Ada <ada@example.com>", "bob@example.com"], "Hello")
        .cc("dan@b\u{fc}cher.example")
        .bcc("eve@example.com")
        .html("<p>It works</p>")
        .header("X-Order", "17")
        .attach(Attachment::from_bytes("a.txt", vec![b'x'; 300_000]))
        .attach(Attachment::from_bytes("b.txt", "b"));
    world.client.emails().send(&email).await.unwrap();
    let mails = world.server.service().mails(&world.server.api_key());
    let [mail] = &mails[..] else { panic!("{}", mails.len()) };
    assert_eq!((mail.to.as_slice(), mail.cc.len(), mail.bcc.len()), (&["qa@acme.test".to_owned()][..], 0, 0));
    assert_eq!(mail.subject, "[ada@example.com +3] Hello");
    let sizes: Vec<_> = mail.attachments.iter().map(|file| (file.filename.as_str(), file.size)).collect();
    assert_eq!(sizes, [("a.txt", 300_000), ("b.txt", 1)]);
    let mime = String::from_utf8_lossy(&mail.mime).replace("\r\n ", " ");
    for header in [
        "X-Original-To: ada@example.com, bob@example.com",
        "X-Original-Cc: dan@xn--bcher-kva.example",
        "X-Original-Bcc: eve@example.com",
        "X-Order: 17",
    ] {
        assert!(mime.contains(header), "{header}\n{mime}");
    }
    // Recipients that are already redirected stay unchanged.
    let email = Email::new("hi@acme.test", "qa@acme.test", "Hello").text("It works");
    world.client.emails().send(&email).await.unwrap();
    assert_eq!(world.server.service().mails(&world.server.api_key())[0].subject, "Hello");
}

/// A client that sends nothing.
fn unconnected(guard: RecipientGuard) -> Client {
    let builder = Client::builder().base_url("http://127.0.0.1:1").api_key("re_x");
    builder.recipient_guard(guard).build().unwrap()
}

#[test]
fn a_guard_only_becomes_narrower() {
    let allows = |guard: &RecipientGuard, to: &str| {
        unconnected(guard.clone()).emails().send(&Email::new("a@b.test", to, "s").text("t")).preview().is_ok()
    };
    let (wide, narrow) =
        (guard(), RecipientGuard::new().allow_to(["ada@acme.test", "eve@evil.test"]).unwrap());
    for both in [wide.clone().combine(&narrow).unwrap(), narrow.combine(&wide).unwrap()] {
        let allowed =
            ["ada@acme.test", "bob@acme.test", "eve@evil.test", "qa@example.com"].map(|to| allows(&both, to));
        assert_eq!(allowed, [true, false, false, false]);
    }
    assert!(!allows(&RecipientGuard::new().allow_to([""; 0]).unwrap(), "ada@acme.test"));
    for refused in [
        redirection().redirect_to(["other@acme.test"]),
        redirection().allow_to(["*@example.com"]),
        guard().redirect_to(["eve@evil.test"]),
        RecipientGuard::new().redirect_to(["*@acme.test"]),
        RecipientGuard::new().redirect_to([""; 0]),
    ] {
        assert!(refused.unwrap_err().to_string().starts_with("redirect_to must"));
    }
    let malformed = "|*|acme.test|*@|@acme.test|*@*.acme.test|Ada <ada@acme.test>|a*@acme.test|*@acme.test,x";
    for malformed in malformed.split('|') {
        let error = RecipientGuard::new().allow_to([malformed]).unwrap_err().to_string();
        assert!(error.contains("must be an address"), "{malformed}: {error}");
    }
    let both = guard().redirect_to(["qa@example.com"]).unwrap();
    let stored = json!({"allow_to": [["*@acme.test", "qa@example.com"]], "redirect_to": ["qa@example.com"]});
    assert_eq!(serde_json::to_value(&both).unwrap(), stored);
    assert_eq!(serde_json::from_value::<RecipientGuard>(stored).unwrap(), both);
}

#[test]
fn the_guard_knows_every_operation_that_changes_something() {
    // G-13
    let client = unconnected(guard());
    let operations = Document::read().operations();
    let changes: Vec<_> = operations.iter().filter(|operation| operation.method != Method::GET).collect();
    assert!(changes.len() > 80, "{}", changes.len());
    for operation in changes {
        let path: String = operation.pattern().split('/').skip(1).fold(String::new(), |path, segment| {
            path + "/" + if segment.starts_with('{') { "x" } else { segment }
        });
        let known = client.request(operation.method.clone(), &path).body("application/json", "{}").preview();
        let unknown = known.err().is_some_and(|error| format!("{error:?}").contains("doesn't know"));
        assert!(!unknown, "{} {path}: list it in sdk/src/call/admission.rs", operation.method);
    }
}
